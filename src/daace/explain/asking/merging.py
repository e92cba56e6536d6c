"""Fewer steps: those that nobody could notice become part of their neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace.landscape.problem import Problem
from daace.planners.base import Plan

#: A step in which no feature changes by this many standard deviations cannot be noticed.
NOTICEABLE = 0.05


def merge_steps(problem: Problem, plan: Plan) -> Plan:
    """Return the plan without steps that nobody could notice, where the rules allow it.

    Such a step is joined to the next one, the last to the one before it. Start and end stay, and
    the cost is that of the new path.

    Args:
        problem: what was asked; knows the rules.
        plan: the answer.
    """
    kept = list(range(len(plan.waypoints)))
    step = 1
    while step < len(kept) and len(kept) > 2:
        change = np.abs(plan.waypoints[kept[step]] - plan.waypoints[kept[step - 1]]).max()
        corner = step if step < len(kept) - 1 else step - 1
        fewer = kept[:corner] + kept[corner + 1 :]
        if change < NOTICEABLE and problem.feasible.contains(plan.waypoints[fewer]):
            kept = fewer
            step = max(1, corner)
        else:
            step += 1
    if len(kept) == len(plan.waypoints):
        return plan
    waypoints, judged = plan.waypoints[kept], plan.judged
    if judged is not None:
        judged = replace(judged, log_posterior=judged.log_posterior[kept])
    return replace(plan, waypoints=waypoints, cost=problem.path_cost(waypoints), judged=judged)
