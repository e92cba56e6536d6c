"""A simulated table of loan applications: every kind of column, and a known rule of decision."""

from __future__ import annotations

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray

EDUCATION = ("basic", "secondary", "vocational", "university")
PURPOSE = ("business", "car", "education", "furniture", "repairs")


def draw_loans(rows: int = 3000, *, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate loan applications; neither the applicants nor the rule of decision are real.

    Education, income, savings and credit score share a hidden standing. A third of the applicants
    have no savings at all, and some have no credit score yet. The decision is drawn from
    `log_odds_granted`: p(granted) = 1 / (1 + exp(-log odds)).

    Args:
        rows: number of applications.
        rng: source of the rows.

    Example:
        >>> draw_loans(100, rng=np.random.default_rng(0))["housing"].unique().tolist()
        ['rent', 'own', 'family']
    """
    standing = rng.normal(size=rows)
    age = np.clip(18 + rng.gamma(3.0, 8.0, rows), 18, 80).astype(int)
    study: IntArray = np.searchsorted(
        [-1.0, 0.2, 0.9], 0.6 * standing + 0.8 * rng.normal(size=rows)
    )
    income = np.exp(7.5 + 0.12 * study + 0.25 * standing + 0.3 * rng.normal(size=rows)).round(-1)
    years = (rng.beta(1.2, 1.8, rows) * (age - 16)).astype(int)
    has_savings = rng.random(rows) < 1 / (1 + np.exp(-0.7 - standing))
    savings = has_savings * np.exp(7.8 + 0.6 * standing + rng.normal(size=rows)).round(2)
    owns = 1 / (1 + np.exp(-0.06 * (age - 45) - 0.6 * standing))
    at_home = (1 - owns) * np.where(age < 28, 0.5, 0.1)
    drawn = rng.random(rows)
    housing = np.where(drawn < owns, "own", np.where(drawn < owns + at_home, "family", "rent"))
    amount = (income * rng.lognormal(0.8, 0.6, rows)).round(-2)
    months = np.clip(6 + amount / (0.25 * income) * rng.lognormal(0.0, 0.3, rows), 6, 84)
    late = np.minimum(rng.poisson(0.8 * np.exp(-0.6 * standing)), 6)
    score = np.clip(640 + 50 * standing - 30 * late + 25 * rng.normal(size=rows), 300, 850).round()
    frame = pd.DataFrame(
        {
            "age": age,
            "education": pd.Categorical(np.array(EDUCATION)[study], EDUCATION, ordered=True),
            "employed_years": years,
            "income": income,
            "savings": savings,
            "housing": housing,
            "purpose": rng.choice(PURPOSE, rows, p=[0.1, 0.35, 0.1, 0.25, 0.2]),
            "amount": amount,
            "months": months.astype(int),
            "late_payments": late,
            "credit_score": np.where(
                rng.random(rows) < 0.5 * np.exp((18 - age) / 12), np.nan, score
            ),
        }
    )
    granted = rng.random(rows) < 1 / (1 + np.exp(-log_odds_granted(frame)))
    return frame.assign(decision=np.where(granted, "granted", "refused"))


def log_odds_granted(frame: pd.DataFrame) -> FloatArray:
    """Return log p(granted | x) - log p(refused | x), the rule behind the simulated decisions.

    Args:
        frame: applications, as from `draw_loans`.
    """
    burden = frame["amount"] / frame["months"] / frame["income"]  # instalment per income
    score = (frame["credit_score"].fillna(600) - 640) / 50
    odds = (
        0.2
        - 8.0 * (burden - 0.25)
        + 1.0 * score
        - 0.6 * frame["late_payments"]
        + 0.3 * np.log1p(frame["savings"] / 500)
        + 0.05 * np.minimum(frame["employed_years"], 20)
        + 0.2 * frame["education"].cat.codes
        + frame["housing"].map({"own": 0.5, "family": 0.0, "rent": -0.3}).astype(float)
        + frame["purpose"].map(lambda purpose: -0.5 if purpose == "business" else 0.0).astype(float)
    )
    return np.asarray(odds, dtype=np.float64)
