"""Move the end of a path back towards the start where the edge of the goal has no gradient.

The posterior of a classifier made of trees is piecewise constant, so descent cannot move the end.
Instead, parts of the last step are undone, feature by feature and along the principal axes of the
target class; the classifier is evaluated at all resulting ends at once, and the cheapest one that
still meets the goal is kept.
"""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.landscape.path import gauss_rule
from daace.landscape.problem import Problem

#: Largest number of rounds; each takes two calls of the classifier, with some dozens of rows.
ROUNDS = 8

#: A round that saves a smaller share of the last step's cost is the last.
WORTHWHILE = 0.02

#: Shares of a part of the last step that are undone.
SHARES = np.array([1.0, 0.5, 0.25, 0.1])

#: Largest number of cheaper ends at which the classifier is evaluated.
EVALUATED = 96


def shorten_last_step(problem: Problem, path: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the path with an end that is cheaper to reach and still meets the goal.

    Args:
        problem: start, terrain, goal, constraints.
        path: shape `(waypoints, n)`; ends in the goal.
        axes: principal axes of the target class, as columns.
    """
    path = path.copy()
    for _ in range(ROUNDS):
        inside = _meeting_goal(problem, _cheaper_ends(problem, path, axes))
        if len(inside) == 0:
            break
        together = _cheaper(problem, path, _combinations(path[-1], inside))[0]
        ends = np.concatenate([inside[:1], _meeting_goal(problem, together)])
        ends, saved = _cheaper(problem, path, ends)
        path[-1] = ends[0]
        if saved < WORTHWHILE:
            break
    return path


def _meeting_goal(problem: Problem, ends: FloatArray) -> FloatArray:
    """Keep the ends that meet the goal; the first one also when checked alone."""
    if len(ends):
        ends = ends[(problem.region.slack(ends) > 0).all(axis=1)]
    while len(ends) and not problem.met_by(ends[0]):
        ends = ends[1:]
    return ends


def _cheaper_ends(problem: Problem, path: FloatArray, axes: FloatArray) -> FloatArray:
    """Return cheaper ends for which one part of the last step is undone, the cheapest first."""
    end, back = path[-1], path[-2] - path[-1]
    parts = np.concatenate([np.diag(back), axes.T * (axes.T @ back)[:, None], back[None]])
    if problem.feasible.codes is not None:
        parts[:, problem.feasible.codes.columns] = 0.0
    moves = (SHARES[:, None, None] * parts).reshape(-1, len(end))
    return _cheaper(problem, path, end + moves)[0][:EVALUATED]


def _combinations(end: FloatArray, inside: FloatArray) -> FloatArray:
    """Return ends that undo the first 2, 4, 8, ... of the parts that can be undone alone."""
    moves = np.cumsum(inside - end, axis=0)
    powers = [2**k for k in range(1, len(moves).bit_length()) if 2**k <= len(moves)]
    ends: FloatArray = end + moves[np.array(powers, dtype=np.intp) - 1]
    return ends


def _cheaper(problem: Problem, path: FloatArray, ends: FloatArray) -> tuple[FloatArray, float]:
    """Keep the allowed ends to which the last step is cheaper than now, the cheapest first.

    Also return the share of its cost that the cheapest one saves.
    """
    feasible, before = problem.feasible, path[-2]
    ends = feasible.nearest(ends)
    allowed = feasible.allows(ends) & np.all((ends - before) * feasible.direction >= 0, axis=1)
    ends = np.concatenate([path[-1:], ends[allowed]])
    steps = np.stack([np.repeat(before[None], len(ends), axis=0), ends], axis=1)
    weights = feasible.weights if feasible.weighted else None
    landscape = problem.landscape
    unit = float(np.abs(landscape.roughness(landscape.density.log_prob(path))).max())
    costs = landscape.segment_costs(steps, gauss_rule(16), unit=max(unit, 1.0), weights=weights)[
        :, 0
    ]
    better = np.flatnonzero(costs < costs[0] * (1 - 1e-6 * np.sign(costs[0])))
    saved = float(costs[0] - costs.min()) / max(abs(float(costs[0])), np.finfo(float).tiny)
    return ends[better[np.argsort(costs[better], kind="stable")]], saved
