from __future__ import annotations

import numpy as np
import pytest

from daace.explain.judging.budget import ROUNDING, BudgetedPosterior
from daace.explain.judging.classifier import ClassifierPosterior


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
    posterior = BudgetedPosterior(judge)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 0.0]])
    logs = posterior.log_posterior(X)
    assert posterior.log_posterior(X[1:2])[0].tolist() == logs[1].tolist()
    assert asked == [2]
    assert (posterior.calls, posterior.rows) == (1, 2)
    assert np.exp(logs[:, 1]) == pytest.approx([0.1, 0.9, 0.1], rel=2 * ROUNDING)


def test_among_others_a_row_counts_as_a_little_less_probable(judge):
    X = np.array([[0.0, 0.0], [3.0, 0.0]])
    together = BudgetedPosterior(judge).log_posterior(X)[0]
    alone = BudgetedPosterior(judge).log_posterior(X[:1])[0]
    assert (together < alone).all()
    assert together == pytest.approx(alone, abs=2 * ROUNDING)


def test_draws_of_the_density_are_remembered_by_the_judge(judge, asked, mixture):
    draws = mixture.pool("well").X
    first = BudgetedPosterior(judge).log_posterior(draws)
    second = BudgetedPosterior(judge).log_posterior(draws)
    assert asked == [4000]
    assert first.tolist() == second.tolist()


def test_of_the_draws_a_budget_judges_as_many_as_it_has(judge, asked, mixture):
    posterior = BudgetedPosterior(judge, budget=70)
    logs = posterior.log_posterior(mixture.pool("well").X)
    assert asked == [70]
    assert np.isfinite(logs[:70]).all()
    assert np.isneginf(logs[70:]).all()
    assert posterior.stopped is None  # the rows of the search are counted apart
    posterior.log_posterior(np.zeros((1, 2)))
    assert asked == [70, 1]


def test_after_a_failure_nothing_is_asked_but_what_is_known_stays(judge, asked):
    posterior = BudgetedPosterior(judge)
    known = posterior.log_posterior(np.array([[3.0, 0.0]]))
    assert np.isneginf(posterior.log_posterior(np.array([[101.0, 0.0]]))).all()
    assert str(posterior.stopped) == "classifier_failed"
    assert "ValueError (too far)" in posterior.reason
    assert np.isneginf(posterior.log_posterior(np.array([[1.0, 0.0]]))).all()
    assert posterior.log_posterior(np.array([[3.0, 0.0]])).tolist() == known.tolist()
    assert asked == [1, 1]


def test_a_report_is_beyond_the_budget_and_blank_where_the_classifier_failed(judge):
    path = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    start = np.log([[0.9, 0.1]])
    posterior = BudgetedPosterior(judge, budget=1)
    posterior.log_posterior(path[-1:])
    (judged,) = posterior.report([path], start)
    assert np.exp(judged.log_posterior[:, 1]) == pytest.approx([0.1, 0.1, 0.9])
    failed = BudgetedPosterior(judge)
    failed.log_posterior(np.array([[101.0, 0.0]]))
    two = failed.report([path, path[:1]], np.repeat(start, 2, axis=0))
    assert [np.isnan(one.log_posterior[:, 0]).tolist() for one in two] == [
        [False, True, True],
        [False],
    ]
