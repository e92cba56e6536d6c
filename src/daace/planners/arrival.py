"""The last steps of a search: an end that meets the goal, and a tail that was hidden."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.landscape.feasible import project_paths
from daace.landscape.problem import Problem
from daace.planners.base import follow_end
from daace.planners.descent import Descent
from daace.planners.objective import MARGIN
from daace.planners.quasi_newton import Metric
from daace.planners.tangent import Tangent

#: Most steps of Newton's method from an end that misses the goal.
NEWTON = 10

#: A tail below this share of its path's cost is improved on its own.
HIDDEN = 1e-2

#: Shortfall of the goal, in nats, that ranks a path behind those that arrive.
FAR_FROM_GOAL = 1e-3


def restore(
    problem: Problem,
    path: FloatArray,
    metric: Metric,
    *,
    bounds: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Move an end that misses the goal by little onto its edge, by Newton's method.

    The step is the shortest one in the terrain's metric; the end of a steep descent can be 1e-4
    nats outside, and any detour would cost more than it.
    """
    region, feasible = problem.region, problem.feasible
    if not region.differentiable or problem.met_by(path[-1]):
        return path
    lower, upper = bounds if bounds is not None else (feasible.lower, feasible.upper)
    path = path.copy()
    edges = np.zeros(2, dtype=bool)  # once missed, an edge is kept to: the two can be close
    for _ in range(NEWTON):
        slack = region.slack(path[-1:])
        short = 2 * MARGIN - slack[0]
        if not (short > MARGIN).any():
            break
        edges |= short > MARGIN
        # The slopes of a classifier are dear: it is asked for them where its edge is missed.
        unasked = None if edges[1] else (slack[:, 1], np.zeros_like(path[-1:]))
        uphill = region.slack_and_pullback(path[-1:], unasked)[1]()[0, edges]
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
    return follow_end(path, feasible.direction)


def polish_tails(problem: Problem, path: FloatArray, descent: Descent) -> FloatArray:
    """Improve what follows a first segment so costly that it hides the rest.

    From an outlier at a high penalty the way to the first waypoint can cost a million times the
    way from there; each tail is then minimised alone, on its own scale. Where there is none, the
    path itself comes back.
    """
    feasible = problem.feasible

    def hidden(k: int) -> bool:
        nodes, unit = int(descent.nodes(path[None])[0]), roughness_unit(problem, path[:1])
        costs = np.abs(descent.costs(path[None], nodes=nodes, unit=unit)[0])
        return bool(costs[k:].sum() <= HIDDEN * costs.sum())

    if len(path) < 3 or not hidden(len(path) - 2):
        return path  # the last tail is the smallest
    path = path.copy()
    for k in range(1, len(path) - 1):
        if not hidden(k):
            continue
        here, tail = path[k], path[k:]
        nodes, unit = 2 * int(descent.nodes(tail[None])[0]), roughness_unit(problem, here[None])
        outcome = descent.minimize(
            tail[None],
            nodes=nodes,
            lower=np.where(feasible.direction > 0, here, feasible.lower)[None],
            upper=np.where(feasible.direction < 0, here, feasible.upper)[None],
            unit=unit,
        )
        better = np.concatenate([here[None], outcome.Z[0]])
        both = np.stack([better, tail])
        costs = descent.costs(both, nodes=2 * nodes, unit=np.repeat(unit, 2)).sum(axis=1)
        if outcome.violation[0] <= FAR_FROM_GOAL and costs[0] < costs[1]:
            path[k:] = better
    return path


def roughness_unit(problem: Problem, points: FloatArray) -> FloatArray:
    """Return the roughness at points, at least 1: what counts as one inside the optimiser."""
    landscape = problem.landscape
    rough = np.abs(landscape.roughness(landscape.density.log_prob(points)))
    return np.maximum(1.0, rough)
