"""Problems with fewer discrete rules or narrower bounds, as steps towards a plan that keeps all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.problem import Problem


def without_discrete_rules(problem: Problem) -> Problem:
    """Return the problem without 'integer' and 'max_changed', in the same box."""
    rules = replace(problem.constraints, integer=(), max_changed=None)
    feasible = problem.feasible
    return narrowed(replace(problem, constraints=rules), feasible.lower, feasible.upper)


def narrowed(problem: Problem, lower: FloatArray, upper: FloatArray) -> Problem:
    """Return the problem with other bounds, in model space, each of shape `(n,)`."""
    return replace(problem, box=(lower, upper))


def with_features_held(problem: Problem, moving: IntArray, held: IntArray) -> Problem:
    """Return the problem in which only some features may change.

    Args:
        problem: the problem.
        moving: features that change now; all others are held at the start.
        held: those among them to hold as well.
    """
    still = np.ones(len(problem.x), dtype=bool)
    still[moving] = False
    still[held] = True
    for j, column in problem.landscape.density.encoding_.atom_columns.items():
        still[column] = still[j]
    feasible = problem.feasible
    lower = np.where(still, problem.x, feasible.lower)
    upper = np.where(still, problem.x, feasible.upper)
    return narrowed(problem, lower, upper)
