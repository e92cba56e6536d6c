from __future__ import annotations

import numpy as np
import pytest

from daace.explain.classifier import ClassifierPosterior
from daace.explain.inquiry import ROUNDING, Inquiry


@pytest.fixture
def asked():
    """Rows that the classifier was asked about, question by question."""
    return []


@pytest.fixture
def judge(mixture, asked):
    def model(rows):
        asked.append(len(rows))
        if (rows["x1"] > 100).any():
            raise ValueError("too far")
        return np.where(rows["x1"] > 2.5, 0.9, 0.1)

    judge = ClassifierPosterior(model, mixture)
    asked.clear()
    return judge


def test_rows_are_asked_about_once_and_in_one_question(judge, asked):
    inquiry = Inquiry(judge)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 0.0]])
    logs = inquiry.log_posterior(X)
    assert inquiry.log_posterior(X[1:2])[0].tolist() == logs[1].tolist()
    assert asked == [2]
    assert (inquiry.calls, inquiry.rows) == (1, 2)
    assert np.exp(logs[:, 1]) == pytest.approx([0.1, 0.9, 0.1], rel=2 * ROUNDING)


def test_among_others_a_row_counts_as_a_little_less_probable(judge):
    X = np.array([[0.0, 0.0], [3.0, 0.0]])
    together = Inquiry(judge).log_posterior(X)[0]
    alone = Inquiry(judge).log_posterior(X[:1])[0]
    assert (together < alone).all()
    assert together == pytest.approx(alone, abs=2 * ROUNDING)


def test_draws_of_the_density_are_remembered_by_the_judge(judge, asked, mixture):
    draws = mixture.pool("well").X
    first = Inquiry(judge).log_posterior(draws)
    second = Inquiry(judge).log_posterior(draws)
    assert asked == [4000]
    assert first.tolist() == second.tolist()


def test_of_the_draws_a_budget_judges_as_many_as_it_has(judge, asked, mixture):
    inquiry = Inquiry(judge, budget=70)
    logs = inquiry.log_posterior(mixture.pool("well").X)
    assert asked == [70]
    assert np.isfinite(logs[:70]).all()
    assert np.isneginf(logs[70:]).all()
    assert inquiry.stopped is None  # the rows of the search are counted apart
    inquiry.log_posterior(np.zeros((1, 2)))
    assert asked == [70, 1]


def test_after_a_failure_nothing_is_asked_but_what_is_known_stays(judge, asked):
    inquiry = Inquiry(judge)
    known = inquiry.log_posterior(np.array([[3.0, 0.0]]))
    assert np.isneginf(inquiry.log_posterior(np.array([[101.0, 0.0]]))).all()
    assert str(inquiry.stopped) == "classifier_failed"
    assert "ValueError (too far)" in inquiry.reason
    assert np.isneginf(inquiry.log_posterior(np.array([[1.0, 0.0]]))).all()
    assert inquiry.log_posterior(np.array([[3.0, 0.0]])).tolist() == known.tolist()
    assert asked == [1, 1]


def test_a_report_is_beyond_the_budget_and_blank_where_the_classifier_failed(judge):
    path = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    start = np.log([[0.9, 0.1]])
    inquiry = Inquiry(judge, budget=1)
    inquiry.log_posterior(path[-1:])
    (judged,) = inquiry.report([path], start)
    assert np.exp(judged.log_posterior[:, 1]) == pytest.approx([0.1, 0.1, 0.9])
    failed = Inquiry(judge)
    failed.log_posterior(np.array([[101.0, 0.0]]))
    two = failed.report([path, path[:1]], np.repeat(start, 2, axis=0))
    assert [np.isnan(one.log_posterior[:, 0]).tolist() for one in two] == [
        [False, True, True],
        [False],
    ]
