"""Problems with fewer discrete rules or narrower bounds, as steps towards a plan that keeps all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.problem import Problem
from daace.planners.rules.held_paths import columns_of


def without_discrete_rules(problem: Problem) -> Problem:
    """Return the problem without whole numbers and 'max_changed', in the same box."""
    feasible = problem.feasible
    return replace(problem, relaxed=True, box=(feasible.lower, feasible.upper))


def narrowed(problem: Problem, lower: FloatArray, upper: FloatArray) -> Problem:
    """Return the problem with other bounds, in model space, each of shape `(n,)`."""
    return replace(problem, box=(lower, upper))


def with_only(problem: Problem, free: BoolArray) -> Problem:
    """Return the problem in which only some features may change.

    Args:
        problem: the problem.
        free: which features, shape `(features,)`.
    """
    moves, feasible = columns_of(problem, free), problem.feasible
    lower = np.where(moves, feasible.lower, problem.x)
    return narrowed(problem, lower, np.where(moves, feasible.upper, problem.x))
