from __future__ import annotations

import numpy as np

from daace import (
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Problem,
)
from daace.planners.path_search import BestPaths, vertex_ladder


def test_the_ladder_at_most_doubles_the_segments() -> None:
    assert vertex_ladder((0, 1, 2, 3)) == [0, 1, 2, 3]
    assert vertex_ladder((8,)) == [0, 1, 3, 7, 8]
    assert vertex_ladder((3,)) == [0, 1, 3]


def test_more_vertices_never_cost_more() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    problem = Problem(np.zeros(1), Landscape(density, penalty=1.0), Goal("b"))
    kept = BestPaths()
    for path in (np.array([[0.0], [3.0]]), np.array([[0.0], [-2.0], [3.0]])):  # a detour
        kept.add(len(path) - 2, problem.path_cost(path), path)
    assert kept.paths[1].tolist() == [[0.0], [1.5], [3.0]]
    kept.add(2, np.inf, None)
    assert kept.paths[2].shape == (4, 1)


def test_an_end_between_two_close_edges_is_restored(network: LinearGaussianNetwork) -> None:
    """The two thresholds can leave a sliver: moving along one alone crosses the other."""
    for row in range(4):
        start = network.sample(1, rng=np.random.default_rng(row), label="benign")[0][0]
        goal = Goal("malignant", min_posterior=0.5)
        problem = Problem(start, Landscape(network, penalty=1.0), goal)
        costs = [
            PathOptimizer(vertices=v, vertex_tolerance=0).solve(
                problem, rng=np.random.default_rng(0)
            )
            for v in (0, 1, 2)
        ]
        assert all(plan.found for plan in costs)
        assert costs[0].cost * (1 + 1e-9) >= costs[1].cost
        assert costs[1].cost * (1 + 1e-9) >= costs[2].cost
