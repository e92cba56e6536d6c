"""Make a plan readable: no detours, round values, and no imperceptible steps.

Values are round, 1,500 instead of 1,506.3, and a number that rises from start to end does not fall
in between, if goal and rules allow it at hardly any cost. Ends lie on the edge of the goal, so
numbers are rounded away from the start first, then to the nearest. Rounded rows are judged again:
the answer is the rounded row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.goal import RowPosterior
from daace.landscape.problem import Problem
from daace.landscape.rows import shorten
from daace.planners.base import Plan, Status

#: Steps that are tried, the coarsest first, in standard deviations.
GRAINS = (0.25, 0.1, 0.04, 0.016)

#: A step is at most this share of a feature's own change.
OF_CHANGE = 0.5

#: Share by which the cost may rise for readability.
DEARER = 0.05

#: A number turns back if it is off by this many standard deviations.
TURN = 1e-9

#: Maximum number of features that are rounded one by one if all together cannot be.
ONE_BY_ONE = 12

#: Steps are these numbers times a power of ten.
NICE = np.array([1.0, 2.0, 5.0])

#: A step in which no feature changes by this many standard deviations cannot be noticed.
NOTICEABLE = 0.05


def make_readable(problem: Problem, plan: Plan) -> Plan:
    """Return the plan without detours, with round values, and no longer than it needs to be.

    Args:
        problem: the problem, with rules and goal.
        plan: the plan; one without a path is returned unchanged. If a classifier judges, the end
            is unchanged, as every trial would be another call of the classifier.
    """
    if plan.status is not Status.FOUND or len(plan.waypoints) < 2:
        return plan
    most = plan.cost + DEARER * abs(plan.cost)
    if isinstance(problem.posterior, RowPosterior):
        return straighten(problem, plan, most)
    plan = round_values(problem, plan, most)
    return stop_at_goal(problem, straighten(problem, plan, most))


def straighten(problem: Problem, plan: Plan, most: float) -> Plan:
    """Return the plan with numbers that go from start to end without turning back.

    A number that is the same at both ends stays constant. All numbers are tried together, then one
    after the other. Values are those of other waypoints, so that round ones stay round.

    Args:
        problem: the problem, with its rules.
        plan: the answer, which has a path.
        most: largest cost.
    """
    path, (start, *_, end) = plan.waypoints, plan.waypoints
    onward = np.where(end >= start, np.maximum.accumulate(path), np.minimum.accumulate(path))
    direct = onward.clip(np.minimum(start, end), np.maximum(start, end))
    turns = (np.abs(direct - path) > TURN) & _plain_numbers(problem, path)
    waypoints, columns = path, np.flatnonzero(turns.any(axis=0))
    for some in (columns, *columns[:, None]):
        tried = waypoints.copy()
        tried[:, some] = np.where(turns, direct, waypoints)[:, some]
        if np.array_equal(tried, waypoints):
            continue
        if problem.feasible.contains(tried) and problem.path_cost(tried) <= most:
            waypoints = tried
    if waypoints is path:
        return plan
    return replace(plan, waypoints=waypoints, cost=problem.path_cost(waypoints))


def stop_at_goal(problem: Problem, plan: Plan) -> Plan:
    """Return the plan up to the first waypoint that meets the goal, unless that costs more.

    After numbers were made whole or round, the waypoint before the end may meet the goal already.

    Args:
        problem: the problem, which judges the waypoints.
        plan: the answer, which has a path.
    """
    for last in range(1, len(plan.waypoints) - 1):
        waypoints = plan.waypoints[: last + 1]
        if problem.met_by(waypoints[-1]) and problem.feasible.contains(waypoints):
            cost = problem.path_cost(waypoints)
            if cost <= plan.cost:
                return replace(plan, waypoints=waypoints, cost=cost)
    return plan


def round_values(problem: Problem, plan: Plan, most: float) -> Plan:
    """Return the plan with round values, as coarse as goal, rules and cost allow.

    Args:
        problem: the problem, with rules and goal.
        plan: the answer, which has a path.
        most: largest cost.
    """
    moved = _moved_numbers(problem, plan.waypoints)
    waypoints = _rounded(problem, plan.waypoints, moved, most)
    if waypoints is plan.waypoints:  # not all together: one feature after the other
        for j in np.flatnonzero(moved.any(axis=0))[:ONE_BY_ONE]:
            only = moved & (np.arange(moved.shape[1]) == j)
            waypoints = _rounded(problem, waypoints, only, most)
    if waypoints is plan.waypoints:
        return plan
    return replace(plan, waypoints=waypoints, cost=problem.path_cost(waypoints))


def _rounded(problem: Problem, waypoints: FloatArray, moved: BoolArray, most: float) -> FloatArray:
    """Return waypoints with some values rounded; the same object if that cannot be.

    Args:
        problem: knows the rules, and judges the end.
        waypoints: shape `(waypoints, n)`.
        moved: which values to round, of the same shape.
        most: largest cost.
    """
    if not moved.any():
        return waypoints
    for rounded in _candidates(problem, problem.to_user(waypoints), moved):
        there = problem.to_user.standardizer.transform(rounded)
        tried = np.where(moved, there, waypoints)
        if (
            problem.feasible.contains(tried)
            and problem.met_by(tried[-1])
            and problem.path_cost(tried) <= most
        ):
            return tried
    return waypoints


def _moved_numbers(problem: Problem, waypoints: FloatArray) -> BoolArray:
    """Return which values of the waypoints are numbers that differ from the start."""
    moved: BoolArray = (waypoints != problem.x) & _plain_numbers(problem, waypoints)
    return moved


def _plain_numbers(problem: Problem, waypoints: FloatArray) -> BoolArray:
    """Return which values of the waypoints are numbers, and not codes or numbers at an atom."""
    plain = np.ones(waypoints.shape, dtype=bool)
    plain[:, list(problem.landscape.density.encoding_.code_sizes)] = False
    for j, (column, places) in problem.to_user.atoms.items():
        at_atom = ~np.isnan(places[waypoints[:, column].astype(np.intp)])
        plain[at_atom, j] = False
    return plain


def _candidates(problem: Problem, rows: FloatArray, moved: BoolArray) -> Iterator[FloatArray]:
    """Yield rounded rows, the coarsest first; a number never becomes one of its own atoms."""
    start, end = problem.to_user.start, rows[-1]
    sd, change = problem.to_user.standardizer.scale, np.abs(end - start)
    before = None
    for grain in GRAINS:
        wanted = np.minimum(grain * sd, OF_CHANGE * np.where(change > 0, change, sd))
        step = nice_steps(wanted)
        step[problem.to_user.whole] = np.maximum(step[problem.to_user.whole], 1.0)
        if before is not None and np.array_equal(step, before):
            continue
        before = step
        nearest = np.rint(rows / step)
        outward = nearest.copy()
        away = np.where(end > start, np.ceil(end / step - 1e-9), np.floor(end / step + 1e-9))
        outward[-1] = away
        for counts in (outward, nearest):
            rounded = np.where(moved, shorten(counts * step), rows)  # 1.7, not 17 * 0.1
            for j, (_, places) in problem.to_user.atoms.items():
                met = np.isin(rounded[:, j], places[~np.isnan(places)])
                rounded[met & moved[:, j], j] = rows[met & moved[:, j], j]
            yield rounded


def nice_steps(wanted: FloatArray) -> FloatArray:
    """Return for each number the largest of 1, 2, 5, 10, 20, ... that is not above it.

    Example:
        >>> nice_steps(np.array([37.0, 0.3, 5.0])).tolist()
        [20.0, 0.2, 5.0]
    """
    power = np.floor(np.log10(wanted) + 1e-12)
    lead = wanted / 10.0**power
    first = NICE[np.searchsorted(NICE, lead * (1 + 1e-12), side="right") - 1]
    steps: FloatArray = first * 10.0**power
    return steps


def merge_steps(problem: Problem, plan: Plan) -> Plan:
    """Return the plan without imperceptible steps, where the rules allow it.

    Such a step is joined to the next one, the last to the one before it. Start and end are kept,
    and the cost is that of the new path.

    Args:
        problem: the problem, with its rules.
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
