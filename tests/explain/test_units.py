"""Terrain and answers do not depend on the units of a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Explainer, LinearGaussianNetwork, Table

AMOUNTS = ("savings", "income", "hours")


def rows_in(units: dict[str, float]) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 600
    kind = rng.integers(3, size=n)
    savings = np.where(rng.uniform(size=n) < 0.4, 0.0, np.rint(rng.gamma(2, 900, size=n)))
    frame = pd.DataFrame(
        {
            "savings": savings,
            "income": np.rint(rng.normal(20_000 + 9_000 * kind, 4_000)),
            "hours": np.rint(rng.normal(40, 5, size=n)).clip(30, 50),
            "housing": np.array(["own", "rent", "free"])[(kind + (rng.random(n) < 0.2)) % 3],
            "class": np.where(rng.random(n) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )
    return frame.assign(**{name: frame[name] * units[name] for name in AMOUNTS})


def fit(frame: pd.DataFrame) -> Explainer:
    kinds = dict.fromkeys(AMOUNTS, "number")  # thousands have fractions
    density = LinearGaussianNetwork(profiles=2).fit(
        Table.from_frame(frame, target="class", kinds=kinds)
    )
    return Explainer(density, judge="density", round=False)


def refused(explainer: Explainer, frame: pd.DataFrame, count: int) -> pd.DataFrame:
    rows = frame.drop(columns="class")
    chance = explainer.density.predict_proba(explainer.density.to_model(rows))[:, 1]
    return rows[chance < 0.4].head(count)


@pytest.fixture(scope="module")
def dollars():
    frame = rows_in(dict.fromkeys(AMOUNTS, 1.0))
    return fit(frame), frame


def test_powers_of_two_change_nothing_at_all(dollars):
    explainer, frame = dollars
    units = {"savings": 2.0**-6, "income": 2.0**-10, "hours": 2.0**5}
    other = fit(rows_in(units))
    for name in ("log_joint", "log_measure"):
        there, here = (
            getattr(one.density, name)(one.density.to_model(rows.drop(columns="class")))
            for one, rows in ((other, rows_in(units)), (explainer, frame))
        )
        assert np.array_equal(there, here)
    for k in refused(explainer, frame, 3).index:
        a = explainer.explain(frame.drop(columns="class").loc[[k]], target="yes")
        b = other.explain(rows_in(units).drop(columns="class").loc[[k]], target="yes")
        assert a.found
        assert a.cost == b.cost
        for name in AMOUNTS:
            assert b.path[name].to_numpy() == pytest.approx(
                a.path[name].to_numpy() * units[name], rel=1e-11
            )
        assert a.path["housing"].tolist() == b.path["housing"].tolist()


@pytest.mark.parametrize("thousand", [1e-3, 1e3])
def test_thousands_give_the_same_terrain_and_answers(dollars, thousand):
    explainer, frame = dollars
    units = dict.fromkeys(AMOUNTS, thousand)
    other, scaled = fit(rows_in(units)), rows_in(units)
    X = explainer.density.to_model(frame.drop(columns="class"))
    there = other.density.to_model(scaled.drop(columns="class"))
    assert there == pytest.approx(X, abs=1e-12)
    assert other.density.log_prob(there) == pytest.approx(explainer.density.log_prob(X), abs=1e-7)
    rules = Constraints(fixed=["hours"])
    for k in refused(explainer, frame, 3).index:
        a, b = (
            replace(one, constraints=rules).explain(
                rows.loc[[k]].drop(columns="class"), target="yes"
            )
            for one, rows in ((explainer, frame), (other, scaled))
        )
        assert b.cost == pytest.approx(a.cost, rel=1e-6)
        assert b.path["housing"].tolist() == a.path["housing"].tolist()
