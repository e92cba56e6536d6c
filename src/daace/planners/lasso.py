"""Fewer changes by an L1 term: the cost plus `l1` times the sum of |end - start|.

The term has a kink where a feature does not change. So the end stays on the side of the start on
which it is, feature by feature, and may come up to it: there the term is linear, and the descent is
the usual one. Then the features that change least are held at the start, one at a time, and the
others moved again, for as long as cost and term together fall; at last the held ones are let go, to
either side, and what falls further is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.problem import Problem
from daace.planners.arrival import restore, roughness_unit
from daace.planners.base import Clock, Plan, arrive
from daace.planners.descent import Descent

#: Features that are tried to be held, those that change least first, before it is enough.
TRIED = 3

#: Share of cost and term that is worth letting go of what is held.
FALLS = 1e-6

#: Share of cost and term that it may cost not to change, on the way, what the end does not change.
STILL = 0.01

#: Changes smaller than this, in standard deviations, are none.
NONE = 1e-7


def shrink(problem: Problem, plan: Plan, *, l1: float, clock: Clock) -> Plan:
    """Return the plan moved downhill on cost plus `l1` times the changes of its end.

    A feature whose end is at the start then stays there along the way, if that costs little. Where
    nothing better arrives, the plan itself comes back. What to hold is found by trying: good, not
    provably the best.

    Args:
        problem: without whole numbers or a number of changes.
        plan: the best path without the term.
        l1: cost of one standard deviation of change.
        clock: of the run.
    """
    if not plan.found or len(plan.waypoints) < 2:
        return plan
    if not problem.region.differentiable:
        note = "The classifier has no slopes to weigh 'l1' against: use 'sparsity'."
        return arrive(problem, plan.waypoints, clock, notes=(*plan.notes, note))
    shrinkage = _Shrinkage(problem, l1, Descent.over(problem, tolerance=1e-6, clock=clock))
    first = np.sign(plan.waypoints[-1] - problem.x)
    best = min(plan.waypoints, shrinkage.move(plan.waypoints, first), key=shrinkage.total)
    best, sides = _hold_least(shrinkage, best, first, clock)
    for freed in (first, -first):
        moved = shrinkage.move(best, np.where(sides == 0, freed, sides))
        if shrinkage.total(moved) < shrinkage.total(best) * (1 - FALLS):
            best, sides = _hold_least(shrinkage, moved, np.sign(moved[-1] - problem.x), clock)
    still = best[-1] == problem.x
    held = best.copy()
    held[:, still] = problem.x[still]
    held = shrinkage.move(held, np.where(still, 0.0, np.sign(best[-1] - problem.x)))
    if shrinkage.total(held) <= shrinkage.total(best) * (1 + STILL):
        best = held
    return arrive(problem, best, clock, notes=plan.notes)


def _hold_least(
    shrinkage: _Shrinkage, path: FloatArray, sides: FloatArray, clock: Clock
) -> tuple[FloatArray, FloatArray]:
    """Hold features at the start while that brings cost and term down; return path and sides."""
    x, total = shrinkage.problem.x, shrinkage.total(path)
    while not clock.expired:
        moves = np.abs(path - x).max(axis=0)
        order = np.argsort(moves, kind="stable")
        for k in order[sides[order] != 0][:TRIED]:
            fewer = np.where(np.arange(len(x)) == k, 0.0, sides)
            held = path.copy()
            held[:, k] = x[k]
            held = shrinkage.move(held, fewer)
            value = shrinkage.total(held)
            if value < total or (value == total and moves[k] == 0):
                path, sides, total = held, fewer, value
                break
        else:
            break
    return path, sides


@dataclass(frozen=True, eq=False)
class _Shrinkage:
    """One problem with the term."""

    problem: Problem
    l1: float
    descent: Descent

    def total(self, path: FloatArray) -> float:
        """Return the cost with the term; infinite if the path does not arrive."""
        problem = self.problem
        if not (problem.feasible.contains(path) and problem.met_by(path[-1])):
            return np.inf
        return problem.path_cost(path) + self.l1 * float(np.abs(path[-1] - problem.x).sum())

    def move(self, path: FloatArray, sides: FloatArray) -> FloatArray:
        """Move a path downhill, its end on these sides of the start; on side 0 nothing moves."""
        problem, x = self.problem, self.problem.x
        unit = roughness_unit(problem, x[None])
        shape = path[None, 1:].shape
        bounds = (problem.feasible.lower, problem.feasible.upper)
        lower, upper = (np.broadcast_to(side, shape).copy() for side in bounds)
        lower[..., sides == 0] = upper[..., sides == 0] = x[sides == 0]
        lower[0, -1] = np.where(sides > 0, np.maximum(x, lower[0, -1]), lower[0, -1])
        upper[0, -1] = np.where(sides < 0, np.minimum(x, upper[0, -1]), upper[0, -1])
        outcome = self.descent.minimize(
            path[None],
            nodes=2 * int(self.descent.nodes(path[None])[0]),
            lower=lower,
            upper=upper,
            unit=unit,
            pull=self.l1 * sides[None] / unit[:, None] ** problem.landscape.penalty,
        )
        moved = np.concatenate([x[None], outcome.Z[0]])
        moved[-1] = np.where(np.abs(moved[-1] - x) <= NONE, x, moved[-1])
        ends = (lower[0, -1], upper[0, -1])
        return restore(problem, moved, self.descent.metric, bounds=ends)
