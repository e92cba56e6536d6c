"""Problems with fewer discrete rules or narrower bounds, as steps towards a plan that keeps all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace._typing import BoolArray
from daace.landscape.problem import Problem
from daace.landscape.rules.draft import Discrete
from daace.planners.rules.held_paths import columns_of


def without_discrete_rules(problem: Problem) -> Problem:
    """Return the problem without whole numbers and 'max_changed', in the same box."""
    feasible = problem.feasible
    box = (feasible.lower, feasible.upper)
    return replace(problem, without=("integer", "max_changed"), box=box)


def with_any_changes(problem: Problem, narrow: Problem) -> Problem:
    """Return the problem without 'max_changed', in the box of a narrower one."""
    few: tuple[Discrete] = ("max_changed",)
    return replace(problem, without=few, box=(narrow.feasible.lower, narrow.feasible.upper))


def with_only(problem: Problem, free: BoolArray) -> Problem:
    """Return the problem in which only some features may change.

    Args:
        problem: the problem.
        free: which features may change, shape `(features,)`.
    """
    moves, feasible = columns_of(problem, free), problem.feasible
    lower = np.where(moves, feasible.lower, problem.x)
    return replace(problem, box=(lower, np.where(moves, feasible.upper, problem.x)))
