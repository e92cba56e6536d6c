from __future__ import annotations

import numpy as np

from daace import GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.landscape.rows import UserRow
from daace.planners.seeding.code_ends import find_code_ends


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
