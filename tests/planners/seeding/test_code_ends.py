from __future__ import annotations

import numpy as np

from daace import GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.landscape.rows import UserRow
from daace.planners.seeding.code_ends import CodeGoals, find_code_ends


class Picky:
    """A judge that accepts few combinations of codes, and says nothing of others."""

    smooth = False
    classes_ = np.array(["no", "yes"])

    def log_posterior(self, X):
        good = (X[:, 1:] == X[:, [1]]).all(axis=1) & (X[:, 1] == 3) & (X[:, 0] > 0.5)
        chance = np.where(good, 0.9, 0.1)
        return np.log(np.column_stack([1 - chance, chance]))

    def log_posterior_of_row(self, row, *, alone):
        return self.log_posterior(row.reshape(1, -1))


def test_few_draws_that_meet_the_goal_are_found_wherever_they_are() -> None:
    levels = tuple("abcd")
    features = (Feature("x"), *(Feature(f"d{k}", "category", levels=levels) for k in range(5)))
    tables = [np.array([[0.8, 0.06, 0.06, 0.08], [0.3, 0.2, 0.2, 0.3]])] * 5
    density = GaussianMixture(
        [1, 1], [[0.0], [0.5]], [[[1.0]], [[1.0]]], ["no", "yes"],
        tables=tables, encoding=Encoding(features),
    )  # fmt: skip
    problem = Problem(
        UserRow(np.zeros(6)), Landscape(density), Goal("yes", plausibility=-3), posterior=Picky()
    )
    ends = find_code_ends(problem)
    assert len(ends.inside)
    assert (ends.inside[:, 1:] == 3).all()
    plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    assert plan.found


class Counting:
    """A judge that looks at a number alone, and remembers the rows that it is asked about."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, threshold):
        self.threshold, self.asked = threshold, []

    def log_posterior(self, X):
        self.asked.append(X)
        chance = np.where(X[:, 0] > self.threshold, 0.9, 0.1)
        return np.log(np.column_stack([1 - chance, chance]))


class CountingRows(Counting):
    """One that judges rows of users, as a classifier does."""

    def log_posterior_of_row(self, row, *, alone):
        return self.log_posterior(row.reshape(1, -1))


def ends_and_rows(judge: Counting) -> tuple[CodeGoals, np.ndarray, Problem]:
    levels = tuple("abcd")
    features = (Feature("x"), *(Feature(f"d{k}", "category", levels=levels) for k in range(4)))
    tables = [np.array([[0.4, 0.2, 0.2, 0.2], [0.3, 0.2, 0.2, 0.3]])] * 4
    density = GaussianMixture(
        [1, 1], [[0.0], [0.5]], [[[1.0]], [[1.0]]], ["no", "yes"],
        tables=tables, encoding=Encoding(features),
    )  # fmt: skip
    goal = Goal("yes", plausibility=-0.5)
    problem = Problem(UserRow(np.zeros(5)), Landscape(density), goal, posterior=judge)
    ends = find_code_ends(problem)
    return ends, np.concatenate(judge.asked), problem


def test_a_classifier_is_asked_about_few_rows_and_the_ends_are_the_same() -> None:
    ends, asked, problem = ends_and_rows(CountingRows(0.0))
    exact, all_rows, _ = ends_and_rows(Counting(0.0))
    assert len(asked) < len(all_rows) / 5
    assert np.array_equal(ends.inside, exact.inside)
    log_prob = problem.landscape.density.log_prob(asked)
    assert (log_prob >= problem.region.min_log_prob).mean() > 0.95  # but for pulling to the edge


def test_where_no_combination_meets_the_goal_a_classifier_is_asked_about_all() -> None:
    ends, asked, problem = ends_and_rows(CountingRows(50.0))
    exact, _, _ = ends_and_rows(Counting(50.0))
    assert len(ends.inside) == 0
    assert len(ends.nearly)
    assert ends.reachable == exact.reachable
    assert (problem.landscape.density.log_prob(asked) < problem.region.min_log_prob).any()
