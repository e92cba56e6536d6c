from __future__ import annotations

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, LinearGaussianNetwork, Problem
from daace.planners.base import Clock
from daace.planners.descent import PathDescent
from daace.planners.descent.goal_edge import restore_end, settle_end


def problem(network: LinearGaussianNetwork, **settings: object) -> Problem:
    start = network.sample(1, rng=np.random.default_rng(5), label="malignant")[0][0]
    constraints = Constraints(**settings)  # type: ignore[arg-type]
    return Problem(start, Landscape(network, penalty=5.0), Goal("benign"), constraints)


def end_near_the_edge(p: Problem) -> np.ndarray:
    """A point just outside the goal, on the way from the start to a point inside."""
    pool = p.landscape.density.pool("benign")
    X = np.clip(pool.X, p.feasible.lower, p.feasible.upper)
    inside = X[np.argmax(p.region.slack(X).min(axis=1))]
    steps = np.linspace(0, 1, 2001)[:, None]
    line = p.x + steps * (inside - p.x)
    first = int(np.argmax(p.region.contains(line)))
    return line[first - 1]


def test_an_end_just_outside_is_moved_onto_the_edge(network: LinearGaussianNetwork) -> None:
    p = problem(network)
    path = np.stack([p.x, end_near_the_edge(p)])
    assert not p.met_by(path[-1])
    restored = restore_end(p, path, PathDescent.over(p, tolerance=1e-6, clock=Clock()).metric)
    assert p.met_by(restored[-1])
    assert np.linalg.norm(restored[-1] - path[-1]) < 0.05


def test_it_moves_no_feature_across_its_bound(network: LinearGaussianNetwork) -> None:
    p = problem(network)
    names = network.features_[:3]
    here = network.to_user(p.x[None])[list(names)].iloc[0]
    p = problem(network, fixed=[names[0]], upper={names[1]: float(here[names[1]])})
    path = np.stack([p.x, end_near_the_edge(p)])
    restored = restore_end(p, path, PathDescent.over(p, tolerance=1e-6, clock=Clock()).metric)
    assert p.feasible.contains(restored)


def test_an_end_is_settled_from_just_outside_to_just_inside() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    goal = Goal("b", min_posterior=0.7, min_log_prob=-50.0)
    problem = Problem(np.zeros(1), Landscape(density), goal)
    edge = 2 + np.log(0.7 / 0.3) / 4  # where the posterior is 0.7
    path = settle_end(problem, np.array([[0.0], [edge - 1e-7]]), np.array([[3.0]]))
    assert path is not None
    assert problem.met_by(path[-1])
    assert path[-1, 0] == pytest.approx(edge, abs=1e-6)
    assert settle_end(problem, np.array([[0.0], [edge - 1e-7]]), np.empty((0, 1))) is None
