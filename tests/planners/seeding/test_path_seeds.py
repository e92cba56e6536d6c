from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.base import Clock
from daace.planners.descent import PathDescent, ProblemBatch
from daace.planners.seeding import PathSeeds, may_have_barriers


def batch_of(density: GaussianMixture, target: str, *starts: list[float]) -> ProblemBatch:
    landscape = Landscape(density, penalty=2.0)
    return ProblemBatch.of([Problem(np.array(x), landscape, Goal(target)) for x in starts])


@pytest.fixture(scope="module")
def seeds() -> PathSeeds:
    batch = batch_of(GaussianMixture(*moons(width=0.2)), "lower", [-1.0, 0.05], [-0.8, 0.5])
    descent = PathDescent.over(batch.problems[0], tolerance=1e-5, clock=Clock())
    return PathSeeds.find(batch, descent, [0, 1], starts=4)


def test_straight_lines_see_everything_between_two_gaussians() -> None:
    unit = [[[1.0]], [[1.0]], [[1.0]]]
    two = GaussianMixture([1, 1], [[0.0], [3.0]], unit[:2], ["a", "b"])
    three = GaussianMixture([1, 1, 1], [[0.0], [3.0], [6.0]], unit, ["a", "b", "c"])
    assert not may_have_barriers(batch_of(two, "b", [0.0]))
    assert may_have_barriers(batch_of(three, "c", [0.0]))


def test_the_first_seeds_are_lines_into_the_goal(seeds: PathSeeds) -> None:
    first = seeds.first([0, 1])
    assert first.paths.shape[1] == 2
    np.testing.assert_array_equal(first.paths[:, 0], seeds.batch.starts[first.owner])
    assert seeds.batch.terrain.region.contains(first.paths[:, 1]).all()
    counts = np.bincount(first.owner)
    assert counts.tolist() == [4 + len(seeds.routes[0]), 4 + len(seeds.routes[1])]
    assert seeds.first([1]).owner.tolist() == [1] * counts[1]


def test_the_costliest_segment_is_split_and_routes_are_added(seeds: PathSeeds) -> None:
    first = seeds.first([0]).take(np.array([0]))
    first.segment_costs[:] = 1.0
    once = seeds.split(first, 1)
    np.testing.assert_allclose(once.paths[0, 1], first.paths[0].mean(axis=0))
    assert len(once.paths) == 1 + len(seeds.routes[0])
    again = once.take(np.array([0]))
    again.segment_costs[:] = [[1.0, 3.0]]
    twice = seeds.split(again, 2)
    np.testing.assert_allclose(twice.paths[0, 2], once.paths[0, 1:].mean(axis=0))
    np.testing.assert_allclose(np.diff(twice.paths[-1], n=2, axis=0), 0.0, atol=1e-12)  # a line


def test_given_routes_are_used_in_place_of_the_roadmap(seeds: PathSeeds) -> None:
    none = PathSeeds.find(seeds.batch, seeds.descent, [0, 1], starts=4, routes=[[], []])
    assert none.routes == {0: [], 1: []}
    assert len(none.first([0]).owner) == 4


def test_without_time_there_are_no_routes() -> None:
    density = GaussianMixture(*moons(width=0.2))
    batch = batch_of(density, "lower", [-1.0, 0.05])
    descent = PathDescent.over(batch.problems[0], tolerance=1e-5, clock=Clock(limit=0.0))
    seeds = PathSeeds.find(batch, descent, [0], starts=4)
    assert seeds.routes == {0: []}
    assert len(seeds.first([0]).owner) == 4
