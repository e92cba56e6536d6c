from __future__ import annotations

import numpy as np

from daace import GaussianMixture, Goal, Landscape, Problem, Status
from daace.notes import Note
from daace.planners.base import CUT_SHORT, Clock, arrive, best_slacks


def test_a_status_is_true_when_something_was_found() -> None:
    assert Status.FOUND
    assert Status.ALREADY_THERE
    assert not Status.GOAL_UNREACHABLE
    assert not Status.TIMEOUT
    assert Status.FOUND == "found"


def test_every_status_has_a_sentence() -> None:
    sentences = {status.sentence for status in Status}
    assert len(sentences) == len(Status)
    assert all(sentence.endswith(".") for sentence in sentences)


def test_a_path_says_whether_the_search_was_cut_short() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    problem = Problem(np.zeros(1), Landscape(density), Goal("b"))
    path = np.array([[0.0], [4.0]])
    assert arrive(problem, path, Clock()).notes == ()
    more = Note.of("shifted_weights")
    assert arrive(problem, path, Clock(limit=1e9), notes=(more,)).notes == (more,)
    late = Clock(limit=1.0, began=Clock().began - 2.0)
    assert arrive(problem, path, late, notes=(more,)).notes == (more, CUT_SHORT)
    assert arrive(problem, path, late, notes=(CUT_SHORT,)).notes == (CUT_SHORT,)


def test_the_best_slack_of_each_threshold_given_the_other() -> None:
    slack = np.array([[-1.0, 2.0], [3.0, -0.5], [-4.0, 5.0]])
    assert best_slacks(slack) == (-1.0, -0.5)
    assert best_slacks(np.array([[-1.0, -1.0]])) == (-np.inf, -np.inf)
