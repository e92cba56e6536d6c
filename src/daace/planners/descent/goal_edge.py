"""Move the end of a path from just outside the goal to just inside.

Descent ends within rounding of the goal's edge, on either side. `restore_end` moves an end by
Newton's method, `settle_end` by bisection towards a point known to be inside; `keep_directions`
repairs the vertices before an end that has moved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.feasible import project_paths
from daace.landscape.goal import GoalRegion
from daace.landscape.problem import Problem
from daace.planners.descent.objective import MARGIN
from daace.planners.descent.quasi_newton import Metric
from daace.planners.descent.tangent import Tangent

#: Largest number of Newton steps.
NEWTON_STEPS = 10


def restore_end(
    problem: Problem,
    path: FloatArray,
    metric: Metric,
    *,
    bounds: tuple[FloatArray, FloatArray] | None = None,
    unsure: FloatArray | None = None,
) -> FloatArray:
    """Return the path with an end that misses the goal by little moved onto its edge.

    Newton's method; each step is the shortest one in the metric of the terrain. After a steep
    descent the end can be 1e-4 nats outside, and any detour would cost more than that step.

    Args:
        problem: start, goal and constraints.
        path: shape `(waypoints, n)`.
        metric: shape of the terrain.
        bounds: lower and upper bounds of the end; those of the problem if None.
        unsure: by how much each feature of the end may still be moved; the end is then so far
            inside that it stays in the goal.
    """
    region, feasible = problem.region, problem.feasible
    if not region.differentiable or (unsure is None and problem.met_by(path[-1])):
        return path
    lower, upper = bounds if bounds is not None else (feasible.lower, feasible.upper)
    if feasible.codes is not None:
        lower, upper = feasible.codes.hold(path[-1], lower, upper)
    path = path.copy()
    edges: BoolArray | None = None
    depth: FloatArray | float = 0.0
    for step in range(NEWTON_STEPS):
        slack, gradients = _slack_and_gradients(region, path[-1:])
        if step == 0 and unsure is not None:
            depth = np.abs(gradients(np.ones(len(slack), dtype=bool))) @ unsure
        short = 2 * MARGIN + depth - slack
        if not (short > MARGIN).any():
            break
        # An edge stays active once missed: they can be close.
        edges = (short > MARGIN) if edges is None else edges | (short > MARGIN)
        uphill = gradients(edges)
        end, wish, low, high = (
            row[None, None] for row in (path[-1], uphill.sum(axis=0), lower, upper)
        )
        none = np.zeros_like(feasible.direction)
        tangent = Tangent.of(end, wish, low, high, none, feasible.slabs)
        slopes = tangent(uphill[:, None, None])[:, 0, 0]
        moves = metric.rotate_back(metric.rotate(slopes) / metric.precision)
        moves = tangent(moves[:, None, None])[:, 0, 0]
        needed = np.linalg.lstsq(slopes @ moves.T, short[edges], rcond=None)[0]
        moved = end + needed @ moves
        path[-1] = project_paths(moved, low, high, none, feasible.slabs)[0, 0]
    return keep_directions(path, feasible.direction)


def _slack_and_gradients(
    region: GoalRegion, X: FloatArray
) -> tuple[FloatArray, Callable[[BoolArray], FloatArray]]:
    """Return the slacks of one point, and what gives the gradients of some of them."""
    if region.smooth_posterior is None:
        slack, pullback = region.slack_and_pullback(X)
        return slack[0], lambda edges: pullback()[0, edges]
    slack = region.slack(X)

    def gradients(edges: BoolArray) -> FloatArray:
        # The gradient of a classifier is expensive: compute it only if its edge is missed.
        odds = None if edges[1] else (slack[:, 1], np.zeros_like(X))
        found: FloatArray = region.slack_and_pullback(X, odds)[1]()[0, edges]
        return found

    return slack[0], gradients


def settle_end(problem: Problem, path: FloatArray, inside: FloatArray) -> FloatArray | None:
    """Return the path with an end that meets the goal when checked alone, or None.

    Where the end is outside, it moves towards the nearest point that is inside, by bisection and no
    further than needed.

    Args:
        problem: start, goal and constraints.
        path: shape `(waypoints, n)`.
        inside: points that meet the goal, shape `(points, n)`.
    """
    path = path.copy()
    if problem.met_by(path[-1]):
        return path
    codes = problem.feasible.codes
    if codes is not None:
        same = (inside[:, codes.columns] == path[-1, codes.columns]).all(axis=1)
        inside = inside[same]
    if len(inside) == 0:
        return None
    end = path[-1].copy()
    anchor = inside[np.argmin(((inside - end) ** 2).sum(axis=1))]
    low, high = 0.0, 1e-9
    while high < 1 and not problem.met_by(end + high * (anchor - end)):
        low, high = high, min(10 * high, 1.0)
    for _ in range(20):
        if high - low < 1e-6:
            break
        middle = 0.5 * (low + high)
        if problem.met_by(end + middle * (anchor - end)):
            high = middle
        else:
            low = middle
    moved = end + high * (anchor - end)
    path[-1] = problem.feasible.nearest(moved[None])[0]
    path = keep_directions(path, problem.feasible.direction)
    return path if problem.met_by(path[-1]) else None


def keep_directions(path: FloatArray, direction: IntArray) -> FloatArray:
    """Return the path with vertices that do not overshoot its end in features with a direction.

    Args:
        path: shape `(waypoints, n)`.
        direction: 1 for features that may only rise along the path, -1 only fall, 0 free.
    """
    path, rising, falling = path.copy(), direction > 0, direction < 0
    path[1:-1, rising] = np.minimum(path[1:-1, rising], path[-1, rising])
    path[1:-1, falling] = np.maximum(path[1:-1, falling], path[-1, falling])
    return path
