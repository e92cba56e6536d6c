from __future__ import annotations

import numpy as np
import pytest

from daace import Constraints, Goal, Landscape, LinearGaussianNetwork, PathOptimizer, Problem
from daace._typing import FloatArray, Labels
from daace.planners.descent import Finishing
from daace.planners.descent.last_step import shorten_last_step
from daace.planners.seeding import find_goal_points


class Steps:
    """The density's own posterior, rounded down to tenths: a judge without slopes."""

    def __init__(self, density: LinearGaussianNetwork) -> None:
        self.density = density
        self.classes_: Labels = density.classes_

    def log_posterior(self, X: FloatArray) -> FloatArray:
        shares = np.floor(10 * self.density.predict_proba(X)) / 10
        return np.asarray(np.log(np.maximum(shares, 1e-9)))


def problem(network: LinearGaussianNetwork, row: int, **rules: object) -> Problem:
    start = network.sample(1, rng=np.random.default_rng(row), label="malignant")[0][0]
    constraints = Constraints(**rules)  # type: ignore[arg-type]
    goal, judge = Goal("benign", min_posterior=0.6), Steps(network)
    return Problem(start, Landscape(network), goal, constraints, posterior=judge)


def first_path(p: Problem) -> FloatArray:
    return np.stack([p.x, find_goal_points(p).inside[-1]])


@pytest.mark.parametrize("row", range(3))
def test_the_end_is_cheaper_and_still_meets_the_goal(
    network: LinearGaussianNetwork, row: int
) -> None:
    p = problem(network, row, only_down=[network.features_[3]], fixed=[network.features_[9]])
    path = first_path(p)
    tighter = shorten_last_step(p, path, network.pool("benign").principal_axes[1])
    assert p.met_by(tighter[-1])
    assert p.feasible.contains(tighter)
    assert p.path_cost(tighter) < 0.95 * p.path_cost(path)
    np.testing.assert_array_equal(tighter[0], path[0])


def test_an_end_that_cannot_be_drawn_back_stays(network: LinearGaussianNetwork) -> None:
    p = problem(network, 0)
    path = np.stack([p.x, p.x])  # no way to take back
    np.testing.assert_array_equal(shorten_last_step(p, path, np.eye(len(p.x))), path)


def test_plans_with_a_judge_of_steps_are_tightened(
    network: LinearGaussianNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = problem(network, 1)
    plan = PathOptimizer().solve(p, rng=np.random.default_rng(0))
    monkeypatch.setattr(Finishing, "_shorten", lambda self, i, path: path)
    loose = PathOptimizer().solve(p, rng=np.random.default_rng(0))
    assert plan.found
    assert plan.cost < 0.97 * loose.cost
