from __future__ import annotations

import numpy as np

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.planners.descent import ProblemBatch, group_alike


def test_problems_that_are_alike_are_one_group(mixture: GaussianMixture) -> None:
    """Constraints are compared by value: each problem without any makes its own."""
    land = Landscape(mixture)
    a, b = mixture.classes_
    problems = [
        Problem(np.zeros(3), land, Goal(a)),
        Problem(np.ones(3), land, Goal(b)),
        Problem(np.ones(3), land, Goal(a)),
        Problem(np.ones(3), land, Goal(a), Constraints(fixed=["x1"])),
        Problem(np.zeros(3), Landscape(mixture), Goal(a)),
        Problem(np.zeros(3), land, Goal(a), Constraints(fixed=["x1"])),
    ]
    assert group_alike(problems) == [[0, 2, 4], [1], [3, 5]]


def test_candidates_keep_the_rules_of_their_own_problem(mixture: GaussianMixture) -> None:
    land, goal = Landscape(mixture), Goal(mixture.classes_[0])
    rules = Constraints(fixed=["x1"], only_up=["x2"])
    batch = ProblemBatch.of([Problem(np.full(3, x), land, goal, rules) for x in (0.0, 0.5)])
    paths = np.random.default_rng(0).normal(size=(4, 4, 3))
    owner = np.array([0, 1, 1, 0])
    paths[:, 0] = batch.starts[owner]
    found = batch.candidates(owner, paths)
    for i, path in zip(owner, found.paths, strict=True):
        assert batch.problems[i].feasible.contains(path)
    np.testing.assert_array_equal(found.paths[:, 0], batch.starts[owner])
    assert found.take(np.array([2])).owner.tolist() == [1]
