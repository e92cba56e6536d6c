from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, Problem, Status
from daace.planners.base import CUT_SHORT, Clock, arrive, settle


def test_a_status_is_true_when_something_was_found() -> None:
    assert Status.FOUND
    assert Status.ALREADY_THERE
    assert not Status.GOAL_UNREACHABLE
    assert not Status.TIMEOUT
    assert Status.FOUND == "found"


def test_settle_moves_an_end_from_just_outside_to_just_inside() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    goal = Goal("b", min_posterior=0.7, min_log_prob=-50.0)
    problem = Problem(np.zeros(1), Landscape(density), goal)
    edge = 2 + np.log(0.7 / 0.3) / 4  # where the posterior is 0.7
    path = settle(problem, np.array([[0.0], [edge - 1e-7]]), np.array([[3.0]]))
    assert path is not None
    assert problem.met_by(path[-1])
    assert path[-1, 0] == pytest.approx(edge, abs=1e-6)
    assert settle(problem, np.array([[0.0], [edge - 1e-7]]), np.empty((0, 1))) is None


def test_a_path_says_whether_the_search_was_cut_short() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    problem = Problem(np.zeros(1), Landscape(density), Goal("b"))
    path = np.array([[0.0], [4.0]])
    assert arrive(problem, path, Clock()).notes == ()
    assert arrive(problem, path, Clock(limit=1e9), notes=("More.",)).notes == ("More.",)
    late = Clock(limit=1.0, began=Clock().began - 2.0)
    assert arrive(problem, path, late, notes=("More.",)).notes == ("More.", CUT_SHORT)
    assert arrive(problem, path, late, notes=(CUT_SHORT,)).notes == (CUT_SHORT,)
