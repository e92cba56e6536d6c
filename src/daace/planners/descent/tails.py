"""Improve the tail of a path whose first segment is so costly that it hides the rest."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.landscape.problem import Problem
from daace.planners.descent.batch import FAR_FROM_GOAL
from daace.planners.descent.path_descent import PathDescent, PathTerrain, roughness_unit

#: A tail below this share of its path's cost is improved separately.
HIDDEN = 1e-2


def improve_tails(problem: Problem, path: FloatArray, descent: PathDescent) -> FloatArray:
    """Return the path with each hidden tail minimised separately, on its own scale.

    From an outlier at a high penalty, the first segment can cost a million times as much as all
    others; descent on the whole path then stops before these are improved. If no tail is hidden,
    the path itself is returned.

    Args:
        problem: start, goal and constraints.
        path: shape `(waypoints, n)`; ends in the goal.
        descent: over the terrain of the problem.
    """
    feasible = problem.feasible

    def hidden(k: int) -> bool:
        nodes, unit = int(descent.nodes(path[None])[0]), roughness_unit(problem, path[:1])
        land = problem.landscape
        costs = np.abs(descent.costs(path[None], nodes=nodes, unit=unit, landscape=land)[0])
        return bool(costs[k:].sum() <= HIDDEN * costs.sum())

    if len(path) < 3 or not hidden(len(path) - 2):
        return path  # the last tail is the smallest
    path = path.copy()
    for k in range(1, len(path) - 1):
        if not hidden(k):
            continue
        here, tail = path[k], path[k:]
        nodes, unit = 2 * int(descent.nodes(tail[None])[0]), roughness_unit(problem, here[None])
        result = descent.minimize(
            tail[None],
            nodes=nodes,
            lower=np.where(feasible.direction > 0, here, feasible.lower)[None],
            upper=np.where(feasible.direction < 0, here, feasible.upper)[None],
            unit=unit,
            terrain=PathTerrain.of(problem),
        )
        better = np.concatenate([here[None], result.Z[0]])
        both = np.stack([better, tail])
        costs = descent.costs(
            both, nodes=2 * nodes, unit=np.repeat(unit, 2), landscape=problem.landscape
        ).sum(axis=1)
        if result.violation[0] <= FAR_FROM_GOAL and costs[0] < costs[1]:
            path[k:] = better
    return path
