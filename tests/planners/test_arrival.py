from __future__ import annotations

import numpy as np
import pytest

from daace import Constraints, Goal, Landscape, LinearGaussianNetwork, Problem
from daace.planners.arrival import polish_tails, restore, roughness_unit
from daace.planners.base import Clock
from daace.planners.descent import Descent


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
    restored = restore(p, path, Descent.over(p, tolerance=1e-6, clock=Clock()).metric)
    assert p.met_by(restored[-1])
    assert np.linalg.norm(restored[-1] - path[-1]) < 0.05


def test_it_moves_no_feature_across_its_bound(network: LinearGaussianNetwork) -> None:
    p = problem(network)
    names = network.features_[:3]
    here = network.to_user(p.x[None])[list(names)].iloc[0]
    p = problem(network, fixed=[names[0]], upper={names[1]: float(here[names[1]])})
    path = np.stack([p.x, end_near_the_edge(p)])
    restored = restore(p, path, Descent.over(p, tolerance=1e-6, clock=Clock()).metric)
    assert p.feasible.contains(restored)


def test_a_tail_hidden_by_a_costly_beginning_is_improved(network: LinearGaussianNetwork) -> None:
    start = network.draws_.upper + 4.0
    p = Problem(start, Landscape(network, penalty=15.0), Goal("benign"))
    pool = network.pool("benign")
    good = pool.X[(p.region.slack_of(pool.log_joint, pool.X) > 0.5).all(axis=1)]
    path = np.stack([start, good[0], good[1], good[2]])  # to and fro inside the goal
    descent = Descent.over(p, tolerance=1e-6, clock=Clock())
    better = polish_tails(p, path, descent)
    np.testing.assert_array_equal(better[:2], path[:2])
    assert p.path_cost(better[1:]) < 0.5 * p.path_cost(path[1:])


def test_the_unit_is_the_roughness_and_at_least_one(network: LinearGaussianNetwork) -> None:
    p = problem(network)
    far = p.x + 100.0
    unit = roughness_unit(p, np.stack([p.x, far]))
    assert unit.min() >= 1.0
    rough = p.landscape.roughness(network.log_prob(far[None]))[0]
    assert unit[1] == pytest.approx(rough)
