from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from daace import Constraints, GaussianMixture, Goal, Landscape, Link, Problem
from daace.data.synthetic import random_mixture
from daace.landscape.path import gauss_rule, straight_paths
from daace.planners.descent.objective import Objective
from daace.planners.descent.quasi_newton import Metric
from daace.planners.descent.sqp import minimize


def batch(problem: Problem, ends: np.ndarray, vertices: int) -> tuple[Objective, np.ndarray]:
    count = len(ends)
    shape = (count, vertices + 1, len(problem.x))
    objective = Objective(
        landscape=problem.landscape,
        region=problem.region,
        rule=gauss_rule(16),
        starts=np.repeat(problem.x[None], count, axis=0),
        lower=np.broadcast_to(problem.feasible.lower, shape),
        upper=np.broadcast_to(problem.feasible.upper, shape),
        direction=problem.feasible.direction,
        slabs=problem.feasible.slabs,
        weights=problem.feasible.weights if problem.feasible.weighted else None,
        unit=np.ones(count),
    )
    return objective, straight_paths(problem.x, ends, vertices)[:, 1:].copy()


def slsqp(objective: Objective, Z: np.ndarray, *others: dict[str, Any]) -> float:
    """Return the cost at which scipy's SLSQP ends, under the goal and other constraints."""

    def cost(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = objective.evaluate(z.reshape(Z.shape))
        return float(values.cost[0]), values.gradient.ravel()

    def slack(z: np.ndarray) -> np.ndarray:
        return objective.evaluate(z.reshape(Z.shape)).slack[0]

    oracle = scipy_minimize(
        cost,
        Z.ravel(),
        jac=True,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": slack}, *others],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return float(oracle.fun)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("vertices", [0, 2])
@pytest.mark.parametrize("weights", [{}, {"x1": 30.0, "x3": 0.1}])
def test_it_ends_where_slsqp_ends(penalty: float, vertices: int, weights: dict[str, float]) -> None:
    rng = np.random.default_rng(4)
    density = GaussianMixture(*random_mixture(4, components=1, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    goal, rules = Goal("c1", min_posterior=0.8), Constraints(weights=weights)
    problem = Problem(start, Landscape(density, penalty=penalty), goal, rules)
    pool = density.pool("c1")
    inside = pool.X[(problem.region.slack_of(pool.log_joint, pool.X) > 0).all(axis=1)]
    end = inside[np.argmin(((inside - start) ** 2).sum(axis=1))][None]
    objective, Z = batch(problem, end, vertices)
    metric = Metric.of(pool, objective.weights)
    outcome = minimize(objective, Z, metric, tolerance=1e-9)
    assert outcome.violation[0] <= 1e-6
    assert outcome.cost[0] == pytest.approx(slsqp(objective, Z), rel=1e-4)


@pytest.mark.parametrize("bounded", [False, True])
def test_paths_of_a_batch_do_not_disturb_each_other(bounded: bool) -> None:
    """The rest of the batch decides neither how far a path goes nor where bounds hold it."""
    rng = np.random.default_rng(2)
    density = GaussianMixture(*random_mixture(3, components=1, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    pool = density.pool("c1")
    metric, near = Metric.of(pool), {}
    if bounded:  # two features cannot go all the way
        near = {f"x{j + 1}": 2.0 for j in range(2)}
    rules = Constraints(max_rise=near, max_fall=near)
    problem = Problem(start, Landscape(density, penalty=3.0), Goal("c1"), rules)
    ends = np.clip(pool.X[:12], problem.feasible.lower, problem.feasible.upper)
    objective, Z = batch(problem, ends, 1)
    together = minimize(objective, Z, metric, iterations=8)
    for k in range(12):
        alone_objective, alone_Z = batch(problem, ends[k : k + 1], 1)
        alone = minimize(alone_objective, alone_Z, metric, iterations=8)
        np.testing.assert_allclose(together.Z[k], alone.Z[0], rtol=1e-9, atol=1e-9)


def test_a_path_is_evaluated_no_more_often_than_there_are_rounds() -> None:
    """A step that is shortened again and again does not make the other paths wait."""
    rng = np.random.default_rng(3)
    density = GaussianMixture(*random_mixture(3, components=2, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    problem = Problem(start, Landscape(density, penalty=4.0), Goal("c1", min_posterior=0.9))
    objective, Z = batch(problem, density.pool("c1").X[:8], 2)
    outcome = minimize(objective, Z, Metric.of(density.pool("c1")), iterations=5)
    assert outcome.evaluations <= 8 * (1 + 5)


def test_bounds_are_never_crossed() -> None:
    rng = np.random.default_rng(9)
    density = GaussianMixture(*random_mixture(3, components=1, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    rules = Constraints(upper={"x1": float(start[0] + 0.3)}, lower={"x2": float(start[1] - 0.2)})
    problem = Problem(start, Landscape(density, penalty=2.0), Goal("c1", min_posterior=0.9), rules)
    objective, Z = batch(problem, density.pool("c1").X[:6], 2)
    Z = objective.project(Z)
    outcome = minimize(objective, Z, Metric.of(density.pool("c1")))
    assert (outcome.Z[..., 0] <= start[0] + 0.3 + 1e-12).all()
    assert (outcome.Z[..., 1] >= start[1] - 0.2 - 1e-12).all()


@pytest.mark.parametrize("penalty", [1.0, 4.0])
@pytest.mark.parametrize("vertices", [0, 2])
@pytest.mark.parametrize("kind", ["equals", "at_most"])
def test_with_links_it_ends_where_slsqp_ends(penalty: float, vertices: int, kind: str) -> None:
    rng = np.random.default_rng(4)
    density = GaussianMixture(*random_mixture(4, components=1, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    terms = {"x1": 1.0, "x2": -0.5, "x4": 0.7}
    a = np.array([1.0, -0.5, 0.0, 0.7])
    link = Link(terms, **{kind: float(a @ start) + (0.05 if kind == "at_most" else 0.0)})
    rules = Constraints(links=[link])
    goal = Goal("c1", min_posterior=0.8)
    problem = Problem(start, Landscape(density, penalty=penalty), goal, rules)
    pool = density.pool("c1")
    inside = problem.feasible.nearest(pool.X)
    inside = inside[(problem.region.slack(inside) > 0).all(axis=1)]
    end = inside[np.argmin(((inside - start) ** 2).sum(axis=1))][None]
    objective, Z = batch(problem, end, vertices)
    outcome = minimize(objective, Z, Metric.of(pool), tolerance=1e-9, iterations=300)
    assert problem.feasible.slabs.hold(outcome.Z).all()

    def room(z: np.ndarray) -> np.ndarray:
        return problem.feasible.slabs.high[0] - z.reshape(Z.shape)[0] @ problem.feasible.slabs.A[0]

    linked = {"type": "eq" if kind == "equals" else "ineq", "fun": room}
    assert outcome.violation[0] <= 1e-6
    assert outcome.cost[0] <= slsqp(objective, Z, linked) * (1 + 1e-3)


def test_it_gives_up_soon_where_the_goal_is_out_of_reach():
    """Ends that are held in some features, as whole numbers are, may never reach the goal."""
    rng = np.random.default_rng(3)
    density = GaussianMixture(*random_mixture(6, classes=2, components=1, rng=rng))
    X, _ = density.sample(40, rng=rng, label=density.classes_[0])
    ends, _ = density.sample(40, rng=rng, label=density.classes_[1])
    goal = Goal(density.classes_[1], min_posterior=0.999999, plausibility=2.0)
    problem = Problem(X[0], Landscape(density), goal)
    objective, Z = batch(problem, ends, 0)
    lower, upper = (side.copy() for side in (objective.lower, objective.upper))
    lower[..., :4] = upper[..., :4] = Z[..., :4]
    objective = replace(objective, lower=lower, upper=upper)
    metric = Metric.of(density.pool(density.classes_[1]))
    rounds: list[int] = []
    result = minimize(objective, Z, metric, tolerance=1e-4, expired=lambda: bool(rounds.append(1)))
    assert (result.violation > 0.1).mean() > 0.5
    assert len(rounds) < 70
