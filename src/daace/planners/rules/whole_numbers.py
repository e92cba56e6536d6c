"""Plans with integer features: values near the best path are tried, the other features follow."""

from __future__ import annotations

from itertools import product

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.feasible import project_paths
from daace.landscape.path import straight_paths
from daace.landscape.problem import Problem
from daace.planners.base import Clock, Plan
from daace.planners.descent import PathDescent, keep_directions, restore_end, roughness_unit
from daace.planners.rules.relaxation import without_discrete_rules
from daace.planners.seeding import find_goal_points

#: Whole numbers that are this many standard deviations apart, or more, are rounded first, while the
#: others still follow: on the edge of the goal hardly anything else can make up for them.
COARSE = 0.02

#: Integers of the end that are tried rounded both up and down.
BOTH_WAYS = 5

#: Draws with integers that are tried as ends.
DRAWS = 8

#: Share of the cost by which a path may turn out cheaper when its end has been moved to the goal.
ARRIVING = 0.01

#: Rounds in which the integers of the best path change by one.
ROUNDS = 4


def round_plan(problem: Problem, plan: Plan, clock: Clock) -> FloatArray | None:
    """Return the cheapest path with integers found near a plan, or None if none meets the goal.

    Args:
        problem: the problem with the rule on integers.
        plan: plan of the problem without it.
        clock: counts evaluations and limits the time.
    """
    grid, relaxed = problem.feasible.grid, without_discrete_rules(problem)
    descent = PathDescent.over(relaxed, tolerance=1e-4, clock=clock)
    path, coarse = plan.waypoints, grid.unit >= COARSE
    if coarse.any() and not coarse.all():
        tried = _round_path(problem, path, coarse)
        followed = _move_others(relaxed, tried, descent, grid.features[coarse])
        path = path if followed is None else followed
    tried = _round_path(problem, path, np.ones(len(grid), dtype=bool))
    inside = _round_inside(problem, path, descent, coarse)
    draws = find_goal_points(problem).inside[:DRAWS]
    draws = draws[problem.feasible.allows(draws)]
    lines = straight_paths(problem.x, draws, len(plan.waypoints) - 2, problem.feasible.codes)
    lines[:, 1:-1] = grid.round(lines[:, 1:-1])
    if problem.feasible.codes is not None:  # rounding may have moved numbers to an atom
        lines[:, 1:-1] = problem.feasible.codes.place(lines[:, 1:-1])
    best: FloatArray | None = None
    candidates = np.concatenate([tried, inside[None], lines])
    for _ in range(ROUNDS):
        cheapest = _move_others(problem, candidates, descent, grid.features)
        if cheapest is None or (
            best is not None and not problem.path_cost(cheapest) < problem.path_cost(best)
        ):
            break
        best = cheapest
        candidates = _neighbours(problem, best)
        if clock.expired or len(candidates) == 0:
            break
    return best


def _round_inside(
    problem: Problem, path: FloatArray, descent: PathDescent, coarse: BoolArray
) -> FloatArray:
    """Return the rounding of a path whose end goes inside the goal first.

    On two edges of the goal at once, the other features cannot make up for rounding.

    Args:
        problem: the problem with the rule on integers.
        path: a path that meets the goal.
        descent: the descent, with the metric of the terrain.
        coarse: which integers are rounded already.
    """
    grid, feasible = problem.feasible.grid, problem.feasible
    unsure = np.zeros(len(problem.x))
    unsure[grid.features[~coarse]] = grid.unit[~coarse]
    lower, upper = feasible.lower.copy(), feasible.upper.copy()
    held = grid.features[coarse]
    lower[held] = upper[held] = path[-1, held]
    rounded = restore_end(problem, path, descent.metric, bounds=(lower, upper), unsure=unsure)
    rounded = np.concatenate([path[:1], grid.round(rounded[1:])])
    rounded[1:] = np.clip(rounded[1:], feasible.lower, feasible.upper)
    return keep_directions(rounded, feasible.direction)


def _round_path(problem: Problem, path: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return roundings of a path; up and down for the least certain numbers of its end.

    Args:
        problem: the problem with the rule on integers.
        path: shape `(waypoints, n)`.
        chosen: which of the integers are rounded.
    """
    grid, feasible = problem.feasible.grid, problem.feasible
    counts = grid.counts(path)
    unsure = np.where(chosen, np.abs(counts[-1] - np.rint(counts[-1])), 0.0)
    both = np.argsort(-unsure, kind="stable")[:BOTH_WAYS]
    both = both[unsure[both] > 1e-6]
    found = []
    for roundings in product((np.floor, np.ceil), repeat=len(both)):
        numbers = np.where(chosen, np.rint(counts), counts)
        for j, rounding in zip(both, roundings, strict=True):
            numbers[-1, j] = rounding(counts[-1, j])
        rounded = grid.at(path, numbers)
        rounded[0] = path[0]
        rounded[1:] = np.clip(rounded[1:], feasible.lower, feasible.upper)
        found.append(keep_directions(rounded, feasible.direction))
    return np.stack(found)


def _neighbours(problem: Problem, path: FloatArray) -> FloatArray:
    """Return the paths in which one integer of one waypoint is larger or smaller by one."""
    grid, feasible = problem.feasible.grid, problem.feasible
    found = []
    for k in range(1, len(path)):
        counts = np.rint(grid.counts(path[k]))
        for j in range(len(grid)):
            for change in (-1, 1):
                moved = counts.copy()
                moved[j] += change
                other = path.copy()
                other[k] = grid.at(path[k], moved)
                inside = (other[k] >= feasible.lower) & (other[k] <= feasible.upper)
                if inside.all() and (np.diff(other, axis=0) * feasible.direction >= 0).all():
                    found.append(other)
    return np.stack(found) if found else np.empty((0, *path.shape))


def _move_others(
    problem: Problem, paths: FloatArray, descent: PathDescent, whole: IntArray
) -> FloatArray | None:
    """Move all features but some downhill; return the cheapest path that meets goal and rules.

    Args:
        problem: the problem with the rules that the path has to keep.
        paths: initial paths, shape `(paths, waypoints, n)`.
        descent: moves them.
        whole: features that stay as they are.
    """
    if len(paths) == 0:
        return None
    feasible = problem.feasible
    sides = (feasible.lower, feasible.upper)
    lower, upper = (np.broadcast_to(side, paths[:, 1:].shape).copy() for side in sides)
    lower[..., whole] = upper[..., whole] = paths[:, 1:, whole]
    # A link may tie the others to the integers.
    others = project_paths(paths[:, 1:], lower, upper, feasible.direction, feasible.slabs)
    paths = np.concatenate([paths[:, :1], others], axis=1)
    unit = np.repeat(roughness_unit(problem, problem.x[None]), len(paths))
    result = descent.minimize(
        paths, nodes=int(descent.nodes(paths).max()), lower=lower, upper=upper, unit=unit
    )
    with np.errstate(over="ignore"):  # infinite costs are all alike
        expected = result.segment_costs.sum(axis=1) * unit**problem.landscape.penalty
    best, lowest = None, np.inf
    for k in np.argsort(expected, kind="stable"):
        if expected[k] > lowest + ARRIVING * abs(lowest):
            break
        path = np.concatenate([problem.x[None], result.Z[k]])
        path = restore_end(problem, path, descent.metric, bounds=(lower[k, -1], upper[k, -1]))
        if feasible.allows(path[1:]).all() and problem.met_by(path[-1]):
            cost = problem.path_cost(path)
            if best is None or cost < lowest:
                best, lowest = path, cost
    return best
