"""Plan with rules that gradient descent cannot keep: integers, and few changes.

The best paths without these rules come first. Then features are held at the start, and at last
integers near the paths are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import Clock, Plan, Status, arrive, give_up
from daace.planners.descent import ProblemBatch, group_alike
from daace.planners.rules.few_changes import FewChanges, FreeSet
from daace.planners.rules.held_paths import changed_features
from daace.planners.rules.relaxation import with_any_changes, with_only, without_discrete_rules
from daace.planners.rules.whole_numbers import round_plan
from daace.planners.seeding import can_be_met

#: Number of sets of `max_changed` features that are searched from the beginning if holding features
#: of a path that changes more gave no path.
SEARCHED = 3


@dataclass(frozen=True, eq=False)
class DiscreteSearch:
    """Plans with integers and few changes.

    Args:
        solve: function that plans several problems without such rules together.
        settle: function that finally improves a plan for such a problem.
        sparsity: share by which the cost may grow for fewer changes.
        clock: counts evaluations and limits the time.
    """

    solve: Callable[[list[Problem]], list[Plan]]
    settle: Callable[[Problem, Plan], Plan]
    sparsity: float
    clock: Clock

    def run(self, problems: Sequence[Problem]) -> list[Plan]:
        """Return the plan of each problem."""
        relaxed = [without_discrete_rules(problem) for problem in problems]
        first = self.solve(relaxed)
        plans = [self.settle(p, plan) for p, plan in zip(relaxed, first, strict=True)]
        for members in group_alike(problems):
            most = problems[members[0]].feasible.changes
            sets: dict[int, FreeSet] = {}
            if self.sparsity > 0 or most is not None:
                sets = FewChanges(
                    ProblemBatch.of([relaxed[i] for i in members]),
                    [plans[i] for i in members],
                    self.sparsity,
                    None if most is None else most.most,
                    self.clock,
                ).solve()
            for k, i in enumerate(members):
                plans[i] = self._keep_rules(problems[i], relaxed[i], plans[i], sets.get(k))
        return plans

    def _keep_rules(
        self, problem: Problem, relaxed: Problem, plan: Plan, chosen: FreeSet | None
    ) -> Plan:
        """Return the plan with few changes and integers.

        Args:
            problem: the problem with all rules.
            relaxed: the problem without the discrete rules.
            plan: plan of the relaxed problem.
            chosen: the features that may change; None if any may.
        """
        if plan.status is not Status.FOUND or len(plan.waypoints) < 2:
            return plan
        plain, narrow = plan, relaxed
        if chosen is not None and (chosen.path is not plan.waypoints):
            narrow = with_only(relaxed, chosen.free)
            plan = arrive(narrow, chosen.path, self.clock, notes=plan.notes)
            plan = self.settle(narrow, plan)
        changes = problem.feasible.changes
        if changes is not None and len(changes.of(plan.waypoints)) > changes.most:
            narrow, found = self._search_again(relaxed, plan, changes.most)
            if found is None:
                return self._too_many(problem, plan, changes.most)
            plan = found
        if len(problem.feasible.grid) == 0:
            return plan
        rounded = self._round(problem, narrow, plan)
        if rounded.found or changes is not None or plan is plain:
            return rounded
        return self._round(problem, relaxed, plain)  # more features can make up for rounding

    def _search_again(self, relaxed: Problem, plan: Plan, most: int) -> tuple[Problem, Plan | None]:
        """Search from the beginning with some sets of `most` features free.

        Args:
            relaxed: the problem without discrete rules.
            plan: plan that changes too many features.
            most: features that may change.
        """
        changed = np.flatnonzero(changed_features(relaxed, plan.waypoints))
        moves = np.abs(plan.waypoints - relaxed.x).max(axis=0) * relaxed.feasible.weights
        largest = changed[np.argsort(-moves[changed], kind="stable")]
        problems = []
        for shift in range(min(SEARCHED, len(largest) - most + 1)):
            free = np.zeros(len(relaxed.landscape.density.features_), dtype=bool)
            free[largest[shift : shift + most]] = True
            problems.append(with_only(relaxed, free))
        problems = [] if self.clock.expired else [p for p in problems if can_be_met(p)]
        plans = self.solve(problems) if problems else []
        pairs = [
            (p, found)
            for p, found in zip(problems, plans, strict=True)
            if found.found and len(found.waypoints) > 1
        ]
        if not pairs:
            return relaxed, None
        narrow, best = min(pairs, key=lambda pair: pair[1].cost)
        return narrow, self.settle(narrow, best)

    def _too_many(self, problem: Problem, plan: Plan, most: int) -> Plan:
        """Return the note that too many features change, with a number that would be enough."""
        changes = problem.feasible.changes
        enough = 0 if changes is None else len(changes.of(plan.waypoints))
        features = f"{most} feature{'s' * (most != 1)}"
        note = Note.of("too_many_changes", features=features, allowed=most, enough=enough)
        return give_up(problem, self.clock, reachable=plan.reachable, notes=(note,))

    def _round(self, problem: Problem, narrow: Problem, plan: Plan) -> Plan:
        """Return the plan with integers; if there are none near it, no more features are held."""
        path = round_plan(with_any_changes(problem, narrow), plan, self.clock)
        if path is None:
            note = Note.of("no_integer_solution")
            return give_up(problem, self.clock, reachable=plan.reachable, notes=(note,))
        return arrive(problem, path, self.clock)
