"""Plan with rules that gradient descent cannot keep: integers, and a limit on the changes.

The best path without these rules comes first. Then features are held at the start until few enough
change, and at last integers near the path are tried.
"""

from __future__ import annotations

from dataclasses import replace

from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import Clock, Plan, arrive, give_up
from daace.planners.rules.few_changes import FewChanges, SolveAll, changed_features
from daace.planners.rules.relaxation import narrowed, without_discrete_rules
from daace.planners.rules.whole_numbers import round_plan


def solve_discrete(
    problem: Problem, solve: SolveAll, scout: SolveAll, *, sparsity: float, clock: Clock
) -> Plan:
    """Plan with integers and few changes.

    Args:
        problem: what to solve.
        solve: plans several problems without such rules together.
        scout: the same with straight lines only, which is faster.
        sparsity: share by which the cost may grow for fewer changes.
        clock: counts evaluations and limits the time.
    """
    relaxed = without_discrete_rules(problem)
    first = solve([relaxed])[0]
    if not first.found or len(first.waypoints) < 2:
        return first
    changes = problem.feasible.changes
    most = len(problem.x) if changes is None else changes.most
    few = FewChanges(solve, scout, most, sparsity)
    kept, plan = few.keep(relaxed, first)
    if len(changed_features(problem, plan)) > most > 1:
        # The groups that are held depend on `most`, and the sequence towards one change may get
        # further. The number that it ends with is reported if it is too large, and a search with
        # that limit takes the same sequence and finds it again.
        kept, plan = replace(few, most=1).keep(relaxed, first)
        if len(changed_features(problem, plan)) <= most:
            plan = few.replan(kept, plan)
    enough = len(changed_features(problem, plan))
    if enough > most:
        features = f"{most} feature{'s' * (most != 1)}"
        note = Note.of("too_many_changes", features=features, allowed=most, enough=enough)
        return give_up(problem, clock, reachable=plan.reachable, notes=(note,))
    if len(problem.feasible.grid) == 0:
        return plan
    whole = replace(problem, constraints=replace(problem.constraints, max_changed=None))
    path = round_plan(narrowed(whole, kept.feasible.lower, kept.feasible.upper), plan, clock)
    if path is None:
        note = Note.of("no_integer_solution")
        return give_up(problem, clock, reachable=plan.reachable, notes=(note,))
    return arrive(problem, path, clock)
