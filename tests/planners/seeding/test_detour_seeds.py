from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.planners.seeding import find_goal_points
from daace.planners.seeding.detour_seeds import DetourSeeds


@pytest.fixture(scope="module")
def ridge() -> Problem:
    """A start and a goal on a line, and a dense, narrow ridge beside it."""
    round_, narrow = np.diag([0.04, 0.04]), np.diag([1.0, 1e-5])
    density = GaussianMixture(
        [3, 3, 6], [[0.0, 0.0], [2.0, 0.0], [1.0, 0.8]], [round_, round_, narrow], ["a", "b", "b"]
    )
    goal = Goal("b", min_log_prob=-2.0, min_posterior=0.6)
    return Problem(np.zeros(2), Landscape(density, scale="nll"), goal)


@pytest.fixture(scope="module")
def seeds(ridge: Problem) -> DetourSeeds:
    return DetourSeeds.find(ridge, find_goal_points(ridge).inside, unit=1.0, weights=None)


def test_detours_are_the_cheapest_paths_over_their_points(seeds: DetourSeeds) -> None:
    ends = range(1, seeds.goals + 1)
    for v in (1, 2):
        middle = np.ndindex(*(len(seeds.points),) * v)
        walks = ((0, *m, end) for m in middle for end in ends)
        best = min(sum(seeds.costs[w[i], w[i + 1]] for i in range(v + 1)) for w in walks)
        path = seeds.paths(v)[0]
        nodes = [np.flatnonzero((seeds.points == x).all(axis=1))[0] for x in path]
        assert sum(seeds.costs[a, b] for a, b in pairwise(nodes)) == best


def test_detours_end_in_the_goal(ridge: Problem, seeds: DetourSeeds) -> None:
    for path in seeds.paths(2):
        assert path.shape == (4, 2)
        np.testing.assert_array_equal(path[0], ridge.x)
        assert ridge.met_by(path[-1])


def test_the_planner_crosses_a_ridge_that_pays_for_the_way(ridge: Problem) -> None:
    plan = PathOptimizer(vertices=1).solve(ridge, rng=np.random.default_rng(0))
    assert plan.found
    assert plan.cost < -5.0  # 2 without a detour
