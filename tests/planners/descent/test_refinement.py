from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.landscape.path import straight_paths
from daace.planners.base import Clock
from daace.planners.descent import Candidates, PathDescent, ProblemBatch, Refinement
from daace.planners.seeding import find_goal_points


@pytest.fixture(scope="module")
def refinement() -> Refinement:
    density = GaussianMixture(*moons(width=0.2))
    landscape, goal = Landscape(density, penalty=2.0), Goal("lower")
    starts = ([-1.0, 0.05], [-0.8, 0.5])
    batch = ProblemBatch.of([Problem(np.array(x), landscape, goal) for x in starts])
    descent = PathDescent.over(batch.problems[0], tolerance=1e-5, clock=Clock())
    return Refinement(batch, descent, kept=2)


def seeds(refinement: Refinement, count: int) -> Candidates:
    """Return straight lines from both starts to the same number of goal points."""
    batch = refinement.batch
    owner = np.repeat([0, 1], count)
    ends = np.concatenate([find_goal_points(p).inside[:count] for p in batch.problems])
    return batch.candidates(owner, straight_paths(batch.starts[owner], ends, 1))


@pytest.mark.parametrize("count", [2, 8])
def test_the_best_of_each_problem_come_first_and_cost_less(
    refinement: Refinement, count: int
) -> None:
    """Few seeds are all moved to rest, many are scouted first."""
    batch, first = refinement.batch, seeds(refinement, count)
    before = batch.landscape.path_costs(first.paths)
    improved = refinement.improve(seeds(refinement, count))
    costs = batch.landscape.path_costs(improved.paths)
    for i in (0, 1):
        mine = costs[improved.owner == i]
        assert 1 <= len(mine) <= refinement.kept
        assert mine[0] == pytest.approx(mine.min(), rel=1e-3)
        assert mine[0] < before[first.owner == i].min()
    np.testing.assert_allclose(
        costs, improved.cost * batch.unit[improved.owner] ** batch.landscape.penalty, rtol=1e-3
    )


def test_paths_that_are_the_same_are_kept_once(refinement: Refinement) -> None:
    some = seeds(refinement, 1)
    twice = some.take(np.array([0, 0, 0, 1]))
    assert refinement.improve(twice).owner.tolist() == [0, 1]
