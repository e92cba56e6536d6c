from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, Problem
from daace.planners.base import Clock
from daace.planners.descent import Finishing, PathDescent, ProblemBatch, Refinement
from daace.planners.seeding import find_goal_points


@pytest.fixture(scope="module")
def finishing() -> Finishing:
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["sick", "well"]
    )
    problem = Problem(np.zeros(2), Landscape(density), Goal("well", min_posterior=0.9))
    batch = ProblemBatch.of([problem])
    descent = PathDescent.over(problem, tolerance=1e-5, clock=Clock())
    inside = {0: find_goal_points(problem).inside}
    return Finishing(batch, Refinement(batch, descent, kept=3), inside)


def test_an_end_just_outside_is_moved_into_the_goal(finishing: Finishing) -> None:
    (problem,) = finishing.batch.problems
    edge = 2 + np.log(0.9 / 0.1) / 4  # where the posterior is 0.9
    path = np.array([[0.0, 0.0], [edge - 1e-4, 0.0]])
    candidates = finishing.batch.candidates(np.array([0]), path[None])
    candidates.cost[:] = problem.path_cost(path)
    cost, found = finishing.best_paths([0], candidates)[0]
    assert found is not None
    assert problem.met_by(found[-1])
    np.testing.assert_allclose(found[-1], [edge, 0.0], atol=1e-4)
    assert cost == pytest.approx(problem.path_cost(found))


def test_the_cheapest_is_taken_where_reaching_the_goal_was_expensive(finishing: Finishing) -> None:
    """The first candidate seems free, but costs more than the second once it is in the goal."""
    (problem,) = finishing.batch.problems
    far, near = [[0.0, 0.0], [3.5, 1.5]], [[0.0, 0.0], [2.6, 0.0]]
    candidates = finishing.batch.candidates(np.array([0, 0]), np.array([far, near]))
    candidates.cost[:] = 0.0, problem.path_cost(np.array(near))
    _, found = finishing.best_paths([0], candidates)[0]
    assert found is not None
    np.testing.assert_array_equal(found, near)


def test_without_candidates_there_is_no_path(finishing: Finishing) -> None:
    nothing = finishing.batch.candidates(np.array([], dtype=int), np.empty((0, 2, 2)))
    assert finishing.best_paths([0], nothing) == {0: (np.inf, None)}
