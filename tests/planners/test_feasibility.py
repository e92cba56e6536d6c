from __future__ import annotations

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.planners.feasibility import reach

CORRELATED = np.array([[1.0, 0.99], [0.99, 1.0]])


def problem(**goal: float) -> Problem:
    """A fixed feature of a correlated pair: draws with it set are implausible, the goal is not."""
    density = GaussianMixture([1, 1], [[0, 0], [3, 0]], [CORRELATED, CORRELATED], ["a", "b"])
    rules = Constraints(fixed=["x2"])
    return Problem(np.array([0.0, 0.0]), Landscape(density), Goal("b", **goal), rules)


def test_it_climbs_to_a_goal_that_no_draw_meets() -> None:
    p = problem(min_posterior=0.9)
    far = np.array([[9.0, 0.0], [-6.0, 0.0]])
    found = reach(p, far).inside
    assert len(found)
    assert p.region.contains(found).all()
    assert (found[:, 1] == 0.0).all()


def test_it_says_how_far_each_threshold_alone_would_have_to_yield() -> None:
    p = problem(min_posterior=0.9, min_log_prob=10.0)
    result = reach(p, np.array([[2.0, 0.0]]))
    assert len(result.inside) == 0
    relaxed = problem(min_posterior=0.9, min_log_prob=10.0 + result.log_prob - 1e-3)
    assert len(reach(relaxed, np.array([[2.0, 0.0]])).inside)
    axis = np.column_stack([np.linspace(-3, 6, 9001), np.zeros(9001)])
    slack = p.region.slack(axis)
    assert result.log_prob == pytest.approx(slack[slack[:, 1] >= 0, 0].max(), abs=1e-3)
    assert result.posterior == -np.inf  # no point at all is as plausible as asked for


def test_the_default_planner_uses_it() -> None:
    p = problem(min_posterior=0.9)
    plan = PathOptimizer().solve(p, rng=np.random.default_rng(0))
    assert plan.found
    assert (plan.waypoints[:, 1] == 0.0).all()
