from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from daace import Constraints, GaussianMixture, Goal, Landscape, PathOptimizer, Plan, Problem
from daace.exceptions import InvalidInput


def solve(problem: Problem, **settings: object) -> Plan:
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    return planner.solve(problem, rng=np.random.default_rng(0))


def half_plane(**rules: object) -> Problem:
    """Plain length to `2 x1 + x2 >= 5`, where two equal Gaussians are as probable."""
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 2.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )
    goal = Goal("well", min_log_prob=-30.0)
    return Problem(np.zeros(2), Landscape(density, penalty=0), goal, Constraints(**rules))  # type: ignore[arg-type]


def closest(l1: float) -> np.ndarray:
    """Return the minimum of `|x| + l1 (|x1| + |x2|)` on `2 x1 + x2 = 5`, by hand.

    `x / |x| + l1 = m (2, 1)` where both change; x2 stays if `(1 + l1) / 2 <= l1`.
    """
    if l1 >= 1:
        return np.array([2.5, 0.0])
    m = (6 * l1 + np.sqrt(36 * l1**2 - 20 * (2 * l1**2 - 1))) / 10
    way = np.array([2 * m - l1, m - l1])
    return 5 / (way @ [2, 1]) * way


@pytest.mark.parametrize("l1", [0.0, 0.3, 0.8, 1.2, 5.0])
def test_the_end_is_the_minimum_with_the_term(l1: float) -> None:
    problem = half_plane()
    plan = solve(problem, l1=l1, vertices=0)
    np.testing.assert_allclose(plan.waypoints[-1], closest(l1), atol=1e-3)
    assert plan.cost == pytest.approx(np.linalg.norm(plan.waypoints[-1]))
    if l1 > 1:
        assert plan.waypoints[-1, 1] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_over_terrain_it_is_no_worse_than_slsqp_on_split_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = rng.normal(size=(4, 4)) * 0.4 + np.eye(4)
    density = GaussianMixture(
        [1, 1], [np.zeros(4), rng.normal(size=4) * 2], [spread @ spread.T] * 2, ["ill", "well"]
    )
    problem = Problem(np.zeros(4), Landscape(density, penalty=1.0), Goal("well", min_posterior=0.9))
    l1 = 2.0

    def end(u: np.ndarray) -> np.ndarray:
        return problem.x + u[:4] - u[4:]

    def total(u: np.ndarray) -> float:
        return problem.path_cost(np.stack([problem.x, end(u)])) + l1 * u.sum()

    plain = solve(problem, vertices=0)
    plan = solve(problem, vertices=0, l1=l1)
    begin = plain.waypoints[-1] - problem.x
    oracle = minimize(
        total,
        np.concatenate([np.maximum(begin, 0), np.maximum(-begin, 0)]),
        bounds=[(0, None)] * 8,
        constraints={"type": "ineq", "fun": lambda u: problem.region.slack(end(u)[None])[0]},
        method="SLSQP",
    )
    mine = plan.cost + l1 * np.abs(plan.waypoints[-1] - problem.x).sum()
    assert plan.found
    assert mine <= oracle.fun * (1 + 1e-3)
    assert mine < plain.cost + l1 * np.abs(plain.waypoints[-1] - problem.x).sum()
    assert (plan.waypoints[-1] == problem.x).sum() > (plain.waypoints[-1] == problem.x).sum()


def test_what_the_end_does_not_change_does_not_change_on_the_way() -> None:
    problem = half_plane()
    plan = solve(problem, l1=3.0, vertices=2)
    assert len(plan.waypoints) == 4
    assert (plan.waypoints[:, 1] == 0.0).all()
    assert problem.met_by(plan.waypoints[-1])


def test_the_rules_hold_with_the_term() -> None:
    problem = half_plane(upper={"x1": 2.0}, only_up=["x2"])
    plan = solve(problem, l1=3.0)
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    np.testing.assert_allclose(plan.waypoints[-1], [2.0, 1.0], atol=1e-3)


def test_a_negative_term_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'l1' must be"):
        PathOptimizer(l1=-1.0)
