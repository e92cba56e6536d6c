"""How far the rows of a class reach, what is told of them, and that paths end within."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import daace
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.explain.asking.query import Query
from daace.explain.judging.reach import find_reach

BOX = np.array([-100.0]), np.array([100.0])
NUMBER = Encoding.of_numbers(["a"])


def reach_of(values: np.ndarray, encoding: Encoding = NUMBER) -> list[float]:
    X = values.reshape(len(values), -1)
    box = tuple(np.resize(side, X.shape[1]) for side in BOX)
    return find_reach(X, np.zeros(len(X), dtype=int), box, encoding)[:, 0, 0].tolist()


def test_rows_that_are_spread_evenly_reach_as_far_as_they_do():
    np.testing.assert_allclose(reach_of(np.arange(50.0)), [-0.5, 49.5], atol=0.05)


def test_copies_of_a_row_are_no_ten_rows():
    others = np.random.default_rng(0).normal(size=(60, 4))
    copied = np.vstack([others, np.tile([[40.0, 3.0, 3.0, 3.0]], (30, 1))])
    box = np.full(4, -100.0), np.full(4, 100.0)
    names = Encoding.of_numbers(["a", "b", "c", "d"])
    _, high = find_reach(copied, np.zeros(90, dtype=int), box, names)[:, 0, 0]
    assert high < 30.0


def test_most_rows_of_a_small_class_are_within_reach():
    iris = daace.load_table("iris")
    explainer = daace.fit(iris)
    rows = explainer.density.to_model(iris.to_frame())
    for k, label in enumerate(iris.classes):
        lower, upper = explainer.committee.box(k)
        own = rows[iris.y == label]
        assert ((own >= lower) & (own <= upper)).all(axis=1).mean() > 0.8


def test_a_value_of_ten_rows_is_a_side_itself():
    assert reach_of(np.repeat(np.arange(3.0), 10)) == [0.0, 2.0]
    low, high = reach_of(np.r_[np.zeros(10), np.arange(1.0, 51.0)])
    assert (low, round(high)) == (0.0, 50)


@pytest.mark.parametrize("few", [1, 4])
def test_fewer_rows_say_nothing(few):
    assert reach_of(np.r_[np.zeros(few), np.ones(few)]) == [-100.0, 100.0]


def test_a_wrong_number_does_not_widen_it():
    low, high = reach_of(np.r_[np.linspace(0.0, 50.0, 398), 90.0, -90.0])
    assert 0.0 < low < 2.0
    assert 48.0 < high < 50.0


def test_atoms_are_within_reach_and_no_row_beside_them_alone_counts():
    encoding = Encoding((Feature("savings", atoms=(0.0,)),))
    at_zero = np.tile([0.0, 1.0], (50, 1))
    one_beside = np.array([[70.0, 0.0]])
    assert reach_of(np.vstack([at_zero, one_beside]), encoding) == [-100.0, 100.0]
    many = np.column_stack([np.linspace(40, 60, 30), np.zeros(30)])
    low, high = reach_of(np.vstack([at_zero, many]), encoding)
    assert low == 0.0
    assert 59 < high < 61


@pytest.fixture(scope="module")
def homes() -> pd.DataFrame:
    """One number in a thousand is wrong, so that its feature hardly seems to vary."""
    rng = np.random.default_rng(0)
    crowd, income = rng.gamma(9, 0.3, 400) + 1, rng.normal(4, 1, 400)
    dear = income - 1.5 * crowd + rng.normal(0, 0.5, 400) > -1.5
    crowd[0] = 900.0
    return pd.DataFrame({"crowd": crowd, "income": income, "dear": np.where(dear, "yes", "no")})


def test_paths_stay_where_rows_of_the_target_are(homes):
    explainer = daace.fit(homes, target="dear", density="linear-gaussian")
    real, row = homes[homes["dear"] == "yes"]["crowd"], homes.loc[5].drop("dear")

    def sides(judge: str) -> tuple[float, float]:
        query = Query.of_row(replace(explainer, judge=judge)._settings(), row, "yes")
        feasible, scaling = query.problem(0, None).feasible, explainer.density.standardizer_
        lower, upper = scaling.inverse(np.stack([feasible.lower, feasible.upper]))[:, 0].tolist()
        return lower, upper

    low, high = sides("committee")
    assert real.min() <= low < high <= max(real.max(), row["crowd"])
    low, high = sides("density")  # which believes that a wrong number widens everything
    assert low < 0 < real.max() < high
