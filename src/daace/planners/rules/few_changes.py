"""Plans that change few features: features are held at the start while a path remains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from daace._typing import IntArray
from daace.landscape.problem import Problem
from daace.planners.base import Plan
from daace.planners.rules.relaxation import with_features_held
from daace.planners.seeding import can_be_met

#: Single features that are tried at once if no group can be held.
SINGLES = 3

#: Plans several problems together.
SolveAll = Callable[[list[Problem]], list[Plan]]


@dataclass(frozen=True)
class FewChanges:
    """Holds features at the start, those that change least first.

    Args:
        solve: plans several problems without discrete rules.
        scout: the same with straight lines only, which is faster; finds which features can be
            held.
        most: largest number of features that may change.
        sparsity: share by which the cost may grow for fewer changes.
    """

    solve: SolveAll
    scout: SolveAll
    most: int
    sparsity: float

    def keep(self, problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
        """Hold features while too many change, or while holding them costs little.

        Half of the surplus features are held at once if a path remains, else a quarter and so on,
        and at last each feature alone. While too many change, straight lines are enough; once they
        are few enough, the path is planned again.

        Args:
            problem: without discrete rules.
            plan: of the problem.

        Returns:
            The problem with features held, and its plan.
        """
        limit = plan.cost + self.sparsity * abs(plan.cost)
        straight = False
        while True:
            moving = changed_features(problem, plan)
            surplus = len(moving) - self.most
            if surplus <= 0 and straight:
                plan, straight = self.replan(problem, plan), False
                continue
            if surplus <= 0 and self.sparsity == 0:
                return problem, plan
            better = self._hold_some(problem, moving, None if surplus > 0 else limit)
            if better is None:
                return problem, plan
            problem, plan = better
            straight = surplus > 0

    def replan(self, problem: Problem, plan: Plan) -> Plan:
        """Plan again, with all features held that a plan does not change; keep it if none is found.

        Args:
            problem: without discrete rules.
            plan: of the problem.
        """
        moving = changed_features(problem, plan)
        better = self.solve([with_features_held(problem, moving, moving[:0])])[0]
        return better if better.found and len(better.waypoints) > 1 else plan

    def _hold_some(
        self, problem: Problem, moving: IntArray, limit: float | None
    ) -> tuple[Problem, Plan] | None:
        """Hold the largest group of features that can be, or the best single one.

        Args:
            problem: without discrete rules.
            moving: features that change now, those that change least first.
            limit: largest cost; None while too many features change.
        """
        surplus = len(moving) - self.most
        size = -(-surplus // 2) if surplus > 0 else len(moving) // 2
        groups = []
        while size >= 1:
            groups.append(moving[:size])
            size //= 2
        singles = [moving[k : k + 1] for k in range(1, len(moving))]
        for tried, several in ((groups, 1), (singles, SINGLES)):
            held = (with_features_held(problem, moving, group) for group in tried)
            problems = list(islice((p for p in held if can_be_met(p)), several))
            plans = (self.scout if surplus > 0 else self.solve)(problems) if problems else []
            good = [
                (p, plan)
                for p, plan in zip(problems, plans, strict=True)
                if plan.found and len(plan.waypoints) > 1 and (limit is None or plan.cost <= limit)
            ]
            if good:
                return min(good, key=lambda pair: pair[1].cost)
        return None


def changed_features(problem: Problem, plan: Plan) -> IntArray:
    """Return the features that change along a path, those that change least first."""
    moves = np.abs(plan.waypoints - problem.x).max(axis=0) * problem.feasible.weights
    encoding = problem.landscape.density.encoding_
    for j, column in encoding.atom_columns.items():
        moves[j] = max(moves[j], moves[column])
    moves = moves[: len(encoding.features)]
    order = np.argsort(moves, kind="stable")
    moving: IntArray = order[moves[order] > 0]
    return moving
