"""Rules that no descent can keep: whole numbers, and how many features may change.

Both begin with the best path without them. Features that change least are then held at the start,
some at a time, and the others planned anew; whole numbers near the path are tried, and what is not
a number of things is moved downhill around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice, product

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.feasible import project_paths
from daace.landscape.path import straight_paths
from daace.landscape.problem import Problem
from daace.planners.arrival import restore, roughness_unit
from daace.planners.base import Clock, Plan, arrive, follow_end, give_up
from daace.planners.descent import Descent
from daace.planners.seeds import can_be_met, goal_points

#: Whole numbers of the end that are tried both rounded up and rounded down.
BOTH_WAYS = 5

#: Draws with whole numbers that are tried as ends.
DRAWS = 8

#: Features that are held alone, where no group can be: the first so many that leave a goal.
SINGLES = 3

#: Times that the numbers of the best path are moved by one.
ROUNDS = 4

Solve = Callable[[list[Problem]], list[Plan]]


def solve_discrete(
    problem: Problem, solve: Solve, scout: Solve, *, sparsity: float, clock: Clock
) -> Plan:
    """Plan with whole numbers and few changes.

    Args:
        problem: what to solve.
        solve: plans several problems without such rules, together.
        scout: the same by straight lines, which is faster: says which features can be held.
        sparsity: share by which the cost may grow for fewer changes.
        clock: of the run.
    """
    relaxed = _relaxed(problem)
    plan = solve([relaxed])[0]
    if not plan.found or len(plan.waypoints) < 2:
        return plan
    changes = problem.feasible.changes
    most = len(problem.x) if changes is None else changes.most
    first = plan
    kept, plan = keep_fewer(relaxed, first, solve, scout, most=most, sparsity=sparsity)
    if len(changed(problem, plan)) > most > 1:
        # How many are held at once depends on how many may change. The course towards a single
        # one may get further; and the number it ends at is found again by whoever asks for it.
        kept, plan = keep_fewer(relaxed, first, solve, scout, most=1, sparsity=sparsity)
        moving = changed(problem, plan)
        if len(moving) <= most:
            better = solve([_hold(kept, moving, moving[:0])])[0]
            plan = better if better.found and len(better.waypoints) > 1 else plan
    fewest = len(changed(problem, plan))
    if fewest > most:
        some = f"{most} feature{'s' * (most != 1)}"
        note = f"No path was found that changes at most {some}: {fewest} would be enough."
        return give_up(problem, clock, reachable=plan.reachable, notes=(note,))
    if len(problem.feasible.grid) == 0:
        return plan
    whole = replace(problem, constraints=replace(problem.constraints, max_changed=None))
    path = snap(_bounded(whole, kept.feasible.lower, kept.feasible.upper), plan, clock)
    if path is None:
        note = "No whole numbers near the best path meet the goal: allow fractions, or relax it."
        return give_up(problem, clock, reachable=plan.reachable, notes=(note,))
    return arrive(problem, path, clock)


def _relaxed(problem: Problem) -> Problem:
    """Return the problem without whole numbers and without a number of changes."""
    rules = replace(problem.constraints, integer=(), max_changed=None)
    feasible = problem.feasible
    return _bounded(replace(problem, constraints=rules), feasible.lower, feasible.upper)


def _bounded(problem: Problem, lower: FloatArray, upper: FloatArray) -> Problem:
    """Return the problem with narrower bounds."""
    return replace(problem, box=(lower, upper))


def changed(problem: Problem, plan: Plan) -> IntArray:
    """Return the features that change along a path, those that change least first."""
    moves = np.abs(plan.waypoints - problem.x).max(axis=0) * problem.feasible.weights
    order = np.argsort(moves, kind="stable")
    moving: IntArray = order[moves[order] > 0]
    return moving


def keep_fewer(
    problem: Problem, plan: Plan, solve: Solve, scout: Solve, *, most: int, sparsity: float
) -> tuple[Problem, Plan]:
    """Hold features at the start while more change than may, or while that costs little.

    Half of those that are too many are held at once, if there is still a path; a quarter
    otherwise, and so on; at last each feature alone. While too many change, straight lines will
    do: the path is planned anew when they are few enough.

    Returns the problem with the features held, and its plan.
    """
    limit = plan.cost + sparsity * abs(plan.cost)
    straight = False
    while True:
        moving = changed(problem, plan)
        surplus = len(moving) - most
        if surplus <= 0 and straight:
            better = solve([_hold(problem, moving, moving[:0])])[0]
            plan = better if better.found and len(better.waypoints) > 1 else plan
            straight = False
            continue
        if surplus <= 0 and sparsity == 0:
            return problem, plan
        size = -(-surplus // 2) if surplus > 0 else len(moving) // 2
        groups = []
        while size >= 1:
            groups.append(moving[:size])
            size //= 2
        singles = [moving[k : k + 1] for k in range(1, len(moving))]
        for tried, several in ((groups, 1), (singles, SINGLES)):
            held = (_hold(problem, moving, group) for group in tried)
            problems = list(islice((p for p in held if can_be_met(p)), several))
            plans = (scout if surplus > 0 else solve)(problems) if problems else []
            pairs = zip(problems, plans, strict=True)
            good = [
                (p, found)
                for p, found in pairs
                if found.found and len(found.waypoints) > 1 and (surplus > 0 or found.cost <= limit)
            ]
            if good:
                problem, plan = min(good, key=lambda pair: pair[1].cost)
                straight = surplus > 0
                break
        else:
            return problem, plan


def _hold(problem: Problem, moving: IntArray, group: IntArray) -> Problem:
    """Return the problem in which only those that move now may, but not this group."""
    held = np.ones(len(problem.x), dtype=bool)
    held[moving] = False
    held[group] = True
    feasible = problem.feasible
    lower = np.where(held, problem.x, feasible.lower)
    upper = np.where(held, problem.x, feasible.upper)
    return _bounded(problem, lower, upper)


def snap(problem: Problem, plan: Plan, clock: Clock) -> FloatArray | None:
    """Return the cheapest path with whole numbers found near a plan, if any meets the goal.

    Args:
        problem: with whole numbers.
        plan: of the problem without them.
        clock: of the run.
    """
    grid = problem.feasible.grid
    descent = Descent.over(_relaxed(problem), tolerance=1e-4, clock=clock)
    tried = _round_path(problem, plan.waypoints)
    draws = goal_points(problem).inside[:DRAWS]
    draws = draws[problem.feasible.allows(draws)]
    lines = straight_paths(problem.x, draws, len(plan.waypoints) - 2)
    lines[:, 1:-1] = grid.round(lines[:, 1:-1])
    best: FloatArray | None = None
    candidates = np.concatenate([tried, lines])
    for _ in range(ROUNDS):
        cheapest = _move_others(problem, candidates, descent)
        if cheapest is None or (
            best is not None and not problem.path_cost(cheapest) < problem.path_cost(best)
        ):
            break
        best = cheapest
        candidates = _neighbours(problem, best)
        if clock.expired or len(candidates) == 0:
            break
    return best


def _round_path(problem: Problem, path: FloatArray) -> FloatArray:
    """Return the path with whole numbers, the least certain of its end both up and down."""
    grid, feasible = problem.feasible.grid, problem.feasible
    counts = grid.counts(path)
    unsure = np.abs(counts[-1] - np.rint(counts[-1]))
    both = np.argsort(-unsure, kind="stable")[:BOTH_WAYS]
    both = both[unsure[both] > 1e-6]
    found = []
    for ways in product((np.floor, np.ceil), repeat=len(both)):
        numbers = np.rint(counts)
        for j, way in zip(both, ways, strict=True):
            numbers[-1, j] = way(counts[-1, j])
        rounded = grid.at(path, numbers)
        rounded[0] = path[0]
        rounded[1:] = np.clip(rounded[1:], feasible.lower, feasible.upper)
        found.append(follow_end(rounded, feasible.direction))
    return np.stack(found)


def _neighbours(problem: Problem, path: FloatArray) -> FloatArray:
    """Return the paths in which one whole number of one waypoint is one more, or one less."""
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


def _move_others(problem: Problem, paths: FloatArray, descent: Descent) -> FloatArray | None:
    """Move what need not be whole downhill; return the cheapest path that arrives."""
    if len(paths) == 0:
        return None
    feasible, whole = problem.feasible, problem.feasible.grid.features
    sides = (feasible.lower, feasible.upper)
    lower, upper = (np.broadcast_to(side, paths[:, 1:].shape).copy() for side in sides)
    lower[..., whole] = upper[..., whole] = paths[:, 1:, whole]
    others = project_paths(paths[:, 1:], lower, upper, feasible.direction, feasible.slabs)
    paths = np.concatenate([paths[:, :1], others], axis=1)  # a link may tie them to the whole ones
    unit = np.repeat(roughness_unit(problem, problem.x[None]), len(paths))
    outcome = descent.minimize(
        paths, nodes=int(descent.nodes(paths).max()), lower=lower, upper=upper, unit=unit
    )
    arrived = []
    for Z, low, high in zip(outcome.Z, lower[:, -1], upper[:, -1], strict=True):
        path = np.concatenate([problem.x[None], Z])
        path = restore(problem, path, descent.metric, bounds=(low, high))
        if feasible.allows(path[1:]).all() and problem.met_by(path[-1]):
            arrived.append(path)
    return min(arrived, key=problem.path_cost) if arrived else None
