"""Fewer changes by an L1 term: the cost plus `l1` times the sum of |end - start|.

The term (Tibshirani 1996, "Regression shrinkage and selection via the lasso",
doi:10.1111/j.2517-6161.1996.tb02080.x) has a kink where a feature does not change. So each feature
of the end stays on its side of the start, where the term is linear, and may come up to the start:
the usual descent applies. Then the features that change least are held at the start one at a time,
and the others moved again, while cost and term fall together; at last the held ones are released,
to either side, and kept there if cost and term fall further.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import Clock, Plan, arrive
from daace.planners.descent import PathDescent, restore_end, roughness_unit

#: Number of features, those that change least first, that are tried before no more are held.
HELD_TRIALS = 3

#: Share of cost and term by which they must fall for held features to be released.
GAIN = 1e-6

#: Share of cost and term allowed for holding features that the end does not change.
STILL_COST = 0.01

#: Changes smaller than this, in standard deviations, count as none.
NO_CHANGE = 1e-7


def add_l1_term(problem: Problem, plan: Plan, *, l1: float, clock: Clock) -> Plan:
    """Return the plan moved downhill on cost plus `l1` times the changes of its end.

    A feature whose end is at the start also stays there along the path if that costs little. If
    nothing better is found, the plan itself is returned. The choice of the features to hold is
    greedy: good, but not provably the best.

    Args:
        problem: without discrete rules.
        plan: the best path without the term.
        l1: cost of one standard deviation of change.
        clock: counts evaluations and limits the time.
    """
    if not plan.found or len(plan.waypoints) < 2:
        return plan
    if not problem.region.differentiable:
        notes = (*plan.notes, Note.of("l1_needs_gradient"))
        return arrive(problem, plan.waypoints, clock, notes=notes)
    l1_descent = _L1Descent(problem, l1, PathDescent.over(problem, tolerance=1e-6, clock=clock))
    first = np.sign(plan.waypoints[-1] - problem.x)
    best = min(plan.waypoints, l1_descent.move(plan.waypoints, first), key=l1_descent.total)
    best, sides = _hold_least(l1_descent, best, first, clock)
    for freed in (first, -first):
        moved = l1_descent.move(best, np.where(sides == 0, freed, sides))
        if l1_descent.total(moved) < l1_descent.total(best) * (1 - GAIN):
            best, sides = _hold_least(l1_descent, moved, np.sign(moved[-1] - problem.x), clock)
    still = best[-1] == problem.x
    held = best.copy()
    held[:, still] = problem.x[still]
    held = l1_descent.move(held, np.where(still, 0.0, np.sign(best[-1] - problem.x)))
    if l1_descent.total(held) <= l1_descent.total(best) * (1 + STILL_COST):
        best = held
    return arrive(problem, best, clock, notes=plan.notes)


def _hold_least(
    l1_descent: _L1Descent, path: FloatArray, sides: FloatArray, clock: Clock
) -> tuple[FloatArray, FloatArray]:
    """Hold features at the start while cost and term fall; return the path and its sides."""
    x, total = l1_descent.problem.x, l1_descent.total(path)
    while not clock.expired:
        moves = np.abs(path - x).max(axis=0)
        order = np.argsort(moves, kind="stable")
        for k in order[sides[order] != 0][:HELD_TRIALS]:
            fewer = np.where(np.arange(len(x)) == k, 0.0, sides)
            held = path.copy()
            held[:, k] = x[k]
            held = l1_descent.move(held, fewer)
            value = l1_descent.total(held)
            if value < total or (value == total and moves[k] == 0):
                path, sides, total = held, fewer, value
                break
        else:
            break
    return path, sides


@dataclass(frozen=True, eq=False)
class _L1Descent:
    """Cost and descent of one problem with the term.

    Args:
        problem: without discrete rules.
        l1: cost of one standard deviation of change.
        descent: descent over the terrain of the problem.
    """

    problem: Problem
    l1: float
    descent: PathDescent

    def total(self, path: FloatArray) -> float:
        """Return the cost with the term; infinite if the path does not meet goal and rules."""
        problem = self.problem
        if not (problem.feasible.contains(path) and problem.met_by(path[-1])):
            return np.inf
        return problem.path_cost(path) + self.l1 * float(np.abs(path[-1] - problem.x).sum())

    def move(self, path: FloatArray, sides: FloatArray) -> FloatArray:
        """Move a path downhill, each feature of its end on one side of the start.

        Args:
            path: shape `(waypoints, n)`.
            sides: 1 above the start, -1 below, 0 to hold the feature along the path.
        """
        problem, x = self.problem, self.problem.x
        unit = roughness_unit(problem, x[None])
        shape = path[None, 1:].shape
        bounds = (problem.feasible.lower, problem.feasible.upper)
        lower, upper = (np.broadcast_to(side, shape).copy() for side in bounds)
        lower[..., sides == 0] = upper[..., sides == 0] = x[sides == 0]
        lower[0, -1] = np.where(sides > 0, np.maximum(x, lower[0, -1]), lower[0, -1])
        upper[0, -1] = np.where(sides < 0, np.minimum(x, upper[0, -1]), upper[0, -1])
        result = self.descent.minimize(
            path[None],
            nodes=2 * int(self.descent.nodes(path[None])[0]),
            lower=lower,
            upper=upper,
            unit=unit,
            pull=self.l1 * sides[None] / unit[:, None] ** problem.landscape.penalty,
        )
        moved = np.concatenate([x[None], result.Z[0]])
        moved[-1] = np.where(np.abs(moved[-1] - x) <= NO_CHANGE, x, moved[-1])
        ends = (lower[0, -1], upper[0, -1])
        return restore_end(problem, moved, self.descent.metric, bounds=ends)
