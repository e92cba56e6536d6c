"""Does every judge accept its own answers? Random problems with whole numbers and other rules.

    python -m benchmarks.judged [PROBLEMS] [SEED]

Each judge (the density, a rule on the parity of an age, logistic regression, a forest, LightGBM,
a one-hot encoder) gets its share of the problems, and is then asked about `e.path.iloc[[-1]]` and
about `e.counterfactual` as a frame. An answer that is denied is printed; the exit code is then 1.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import daace

WHOLE = ["age", "children"]


def people(rng: np.random.Generator, rows: int = 600) -> pd.DataFrame:
    age, children = rng.integers(20, 70, rows), rng.poisson(1.2, rows)
    income = np.exp(rng.normal(7.5, 0.4, rows)) + 10 * age
    debt = rng.normal(20, 6, rows) - 2 * children
    score = 0.05 * (age - 45) + 0.002 * (income - 2000) - 0.1 * (debt - 20) - 0.3 * children
    granted = np.where(score + rng.normal(0, 0.7, rows) > 0, "yes", "no")
    return pd.DataFrame(
        {"age": age, "children": children, "income": income, "debt": debt, "granted": granted}
    )


def parity(rows: pd.DataFrame) -> np.ndarray:
    return np.where(rows["age"].astype(int) % 2 == 0, 0.9, 0.1)


def judges(frame: pd.DataFrame) -> dict[str, Any]:
    X, y = frame.drop(columns="granted"), frame["granted"]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), WHOLE), remainder=StandardScaler()
    )
    return {
        "density": None,
        "parity": parity,
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "forest": RandomForestClassifier(40, min_samples_leaf=3, random_state=0).fit(X, y),
        "LightGBM": lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, random_state=0).fit(X, y),
        "one-hot": make_pipeline(encoder, LogisticRegression(max_iter=500)).fit(X, y),
    }


def rules(row: pd.Series, rng: np.random.Generator) -> daace.Constraints:
    chosen: dict[str, Any] = {"integer": WHOLE}
    if rng.random() < 0.4:
        most = float(row["income"] + 20 * row["debt"] + rng.uniform(0, 1000))
        chosen["links"] = [daace.Link({"income": 1, "debt": 20}, at_most=most)]
    if rng.random() < 0.3:
        chosen["max_changed"] = int(rng.integers(1, 4))
    if rng.random() < 0.3:
        chosen["only_up"] = ["age"]
    if rng.random() < 0.3:
        chosen["lower"] = {"children": 0}
    if rng.random() < 0.2:
        chosen["upper"] = {"debt": float(max(row["debt"], 30.0))}
    if rng.random() < 0.2:
        chosen["max_rise"] = {"income": 333.3}
    return daace.Constraints(**chosen)


def probability(judge: Any, density: Any, rows: pd.DataFrame, target: str) -> float:
    """Return what a judge says of one row, asked as a user would."""
    k = density.class_index(target)
    if judge is None:
        return float(density.predict_proba(density.to_model(rows))[0, k])
    if judge is parity:
        return float(judge(rows)[0] if k == 1 else 1 - judge(rows)[0])
    return float(judge.predict_proba(rows)[0, list(judge.classes_).index(target)])


def main(problems: int = 1000, seed: int = 0) -> int:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    frame = people(rng)
    density = daace.LinearGaussianNetwork().fit(
        daace.Table.from_frame(frame, target="granted", kinds="number")
    )
    asked = judges(frame)
    all_denied = 0
    for name, judge in asked.items():
        outcomes: Counter[str] = Counter()
        explainer = daace.Explainer(density, classifier=judge, plausibility=-1.0)
        for _ in range(-(-problems // len(asked))):
            row = frame.iloc[int(rng.integers(len(frame)))]
            target = "no" if row["granted"] == "yes" else "yes"
            least = float(rng.choice([0.5, 0.6, 0.8]))
            e = explainer.explain(
                row, target=target, constraints=rules(row, rng), min_posterior=least,
                seed=int(rng.integers(1000)),
            )  # fmt: skip
            outcomes[str(e.status)] += 1
            if not e.found:
                continue
            end = e.path.iloc[[-1]]
            said = [
                probability(judge, density, rows, target)
                for rows in (end, pd.DataFrame([e.counterfactual]))
            ]
            dense = density.log_prob(density.to_model(end))[0] >= e.provenance.min_log_prob
            if min(said) < least or not dense or (end[WHOLE] % 1 != 0).any(axis=None):
                outcomes["denied"] += 1
                print(f"denied: {name} says {said}, asked for {least}: {end.to_dict('records')}")
        all_denied += outcomes["denied"]
        print(name, dict(outcomes), flush=True)
    print(f"{all_denied} denied")
    return int(all_denied > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
