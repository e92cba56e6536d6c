from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.planners.seeding import find_goal_points
from daace.planners.seeding.climbing import Ascent, _climb_one, _climb_smaller, climb_to_goal

from ..clocks import Countdown

CORRELATED = np.array([[1.0, 0.99], [0.99, 1.0]])


def problem(**goal: float) -> Problem:
    """A fixed feature of a correlated pair: draws with it set are implausible, the goal is not."""
    density = GaussianMixture([1, 1], [[0, 0], [3, 0]], [CORRELATED, CORRELATED], ["a", "b"])
    rules = Constraints(fixed=["x2"])
    return Problem(np.array([0.0, 0.0]), Landscape(density), Goal("b", **goal), rules)


def test_it_climbs_to_a_goal_that_no_draw_meets() -> None:
    p = problem(min_posterior=0.9)
    far = np.array([[9.0, 0.0], [-6.0, 0.0]])
    found = climb_to_goal(p, far).inside
    assert len(found)
    assert p.region.contains(found).all()
    assert (found[:, 1] == 0.0).all()


def test_it_says_how_far_each_threshold_alone_would_have_to_yield() -> None:
    p = problem(min_posterior=0.9, min_log_prob=10.0)
    result = climb_to_goal(p, np.array([[2.0, 0.0]]))
    assert len(result.inside) == 0
    relaxed = problem(min_posterior=0.9, min_log_prob=10.0 + result.log_prob - 1e-3)
    assert len(climb_to_goal(relaxed, np.array([[2.0, 0.0]])).inside)
    axis = np.column_stack([np.linspace(-3, 6, 9001), np.zeros(9001)])
    slack = p.region.slack(axis)
    assert result.log_prob == pytest.approx(slack[slack[:, 1] >= 0, 0].max(), abs=1e-3)
    assert result.posterior == -np.inf  # no point at all is as plausible as asked for


def test_the_default_planner_uses_it() -> None:
    p = problem(min_posterior=0.9)
    plan = PathOptimizer().solve(p, rng=np.random.default_rng(0))
    assert plan.found
    assert (plan.waypoints[:, 1] == 0.0).all()


@pytest.mark.parametrize("ascend", [_climb_smaller, partial(_climb_one, which=0)])
def test_codes_stay_to_the_last_bit(ascend: Ascent) -> None:
    """A step of scipy may move a column without a slope by a rounding error."""
    housing = Feature("housing", "category", levels=("own", "rent", "free"), dtype="str")
    density = GaussianMixture(
        [1, 1], [[0.0], [3.0]], [np.eye(1)] * 2, ["a", "b"],
        tables=[[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]],
        encoding=Encoding((Feature("income"), housing)),
    )  # fmt: skip
    p = Problem(np.array([0.0, 1.0]), Landscape(density), Goal("b", min_posterior=0.9))

    def slacks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert x[1] == 1.0
        gradients = np.array([[1.0, 1e-13], [1.0, -1e-13]])
        return gradients @ x - 4.0, gradients

    assert ascend(p, p.x, slacks)[1] == 1.0


class Linear:
    """The log-odds of 'b' are 3 x1 - 4.5; counts the questions."""

    classes_ = np.array(["a", "b"])
    smooth = True
    asked = 0

    def log_posterior(self, X: np.ndarray) -> np.ndarray:
        self.asked += 1
        odds = 3 * X[:, 0] - 4.5
        return -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))

    def log_posterior_and_gradient(
        self, X: np.ndarray, index: int
    ) -> tuple[np.ndarray, np.ndarray]:
        logs = self.log_posterior(X)
        return logs, np.exp(logs[:, [1 - index]]) * [[3.0 if index else -3.0, 0.0]]


@pytest.mark.parametrize("least", [-4.0, 10.0])
def test_a_classifier_is_asked_at_the_foot_and_at_the_top(least: float) -> None:
    """Also where the goal is out of reach: only the density could be better then."""
    judge = Linear()
    p = replace(problem(min_posterior=0.9, min_log_prob=least), posterior=judge)
    result = climb_to_goal(p, np.array([[9.0, 0.0], [-6.0, 0.0]]))
    asked = judge.asked
    axis = np.column_stack([np.linspace(-3, 6, 9001), np.zeros(9001)])
    slack = p.region.slack(axis)
    assert bool(len(result.inside)) == bool((slack >= 0).all(axis=1).any())
    if len(result.inside):
        assert p.region.contains(result.inside).all()
    else:
        assert result.log_prob == pytest.approx(slack[slack[:, 1] >= 0, 0].max(), abs=1e-3)
    assert asked <= 20


def test_what_one_start_has_climbed_to_serves_another_where_its_rules_allow_it() -> None:
    centres = np.zeros((2, 12))
    centres[1, 0] = 6.0
    density = GaussianMixture([1, 1], centres, [np.eye(12)] * 2, ["a", "b"])
    goal = Goal("b", min_log_prob=-12.2)  # 0.5 nats below the top: no draw is so high
    p = Problem(np.zeros(12), Landscape(density), goal, Constraints(fixed=["x2"]))
    first = find_goal_points(p)
    assert not p.region.contains(p.feasible.nearest(density.pool("b").X)).any()
    assert len(first.inside)
    hurried = find_goal_points(p, clock=Countdown(1))
    assert (len(hurried.inside), len(hurried.nearly)) == (0, len(first.nearly))
    assert p.region.contains(first.inside).all()
    assert np.array_equal(find_goal_points(p, beyond=first.inside).inside, first.inside)
    other = replace(p, start=np.full(12, 0.1))  # where x2 is fixed at another value
    assert (find_goal_points(other, beyond=first.inside).inside[:, 1] == 0.1).all()


def test_a_climb_ends_when_time_is_over_and_keeps_what_it_has() -> None:
    p = problem(min_posterior=0.9)
    far = np.array([[9.0, 0.0], [-6.0, 0.0]])
    clock = Countdown(1000)
    both = climb_to_goal(p, far, clock=clock).inside
    assert len(both) == 2
    looks = 1000 - clock.looks
    np.testing.assert_array_equal(
        climb_to_goal(p, far, clock=Countdown(looks - 1)).inside, both[:1]
    )
    none = climb_to_goal(p, far, clock=Countdown(1))
    assert (len(none.inside), none.log_prob, none.posterior) == (0, -np.inf, -np.inf)
