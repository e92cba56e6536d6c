"""The order in which features can be held at the start, and the end of the path each time.

Close to the end of a path that is at rest, its cost grows like a quadratic function of the end with
curvature H, and the goal holds its active thresholds. Holding feature j moves the others along, to
first order, and costs d_j^2 / (2 (H^-1)_jj), with d the changes of the end: the features are held
one after another, each time the one that costs least (Hassibi and Stork 1993, "Second order
derivatives for network pruning: Optimal Brain Surgeon").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.planners.descent.quasi_newton import Metric

#: Weight of the terrain's shape in the curvature, against that of the length.
TERRAIN = 0.2

#: Weight of a threshold that the end must stay at, against the mean curvature.
THRESHOLD = 1e4

#: Added to the diagonal of ones of the scaled curvature, so that it has an inverse.
RIDGE = 1e-10

#: Slack, in nats, below which a threshold of the goal is active.
ACTIVE = 0.05


@dataclass(frozen=True, eq=False)
class Elimination:
    """Features held one after another.

    Attributes:
        order: columns of the model array, in the order of holding.
        ends: ends of the path with these columns held, shape `(len(order), n)`.
    """

    order: IntArray
    ends: FloatArray


def curvature(
    metric: Metric, change: FloatArray, slack: FloatArray, slopes: FloatArray
) -> FloatArray:
    """Return the curvature of the cost of a path in its end, up to a factor, shape `(n, n)`.

    Args:
        metric: shape of the terrain.
        change: end minus start, shape `(n,)`.
        slack: slack of the goal's thresholds at the end, in nats, shape `(thresholds,)`.
        slopes: their gradients, shape `(thresholds, n)`.
    """
    weights = np.broadcast_to(metric.weights, change.shape)
    length = max(float(np.linalg.norm(change * weights)), 1e-9)
    scaled = metric.basis * weights[:, None]
    H: FloatArray = np.diag(weights**2 / length) + TERRAIN * (scaled * metric.precision) @ scaled.T
    mean = np.trace(H) / len(H)
    for slope in slopes[slack < ACTIVE]:
        H += THRESHOLD * mean * np.outer(slope, slope) / max(float(slope @ slope), 1e-300)
    return H


def eliminate(H: FloatArray, x: FloatArray, end: FloatArray, free: IntArray) -> Elimination:
    """Hold columns at the start, one after another.

    Args:
        H: curvature, shape `(n, n)`.
        x: the start.
        end: end of a path at rest.
        free: columns that change and can be held.
    """
    unit = np.sqrt(H[free, free])  # weights may differ by any factor
    scaled = H[np.ix_(free, free)] / np.outer(unit, unit) + RIDGE * np.eye(len(free))
    inverse = np.linalg.inv(scaled) / np.outer(unit, unit)
    change, held = (end - x)[free], np.zeros(len(free), dtype=bool)
    order, ends = np.empty(len(free), dtype=np.intp), np.repeat(end[None], len(free), axis=0)
    for step in range(len(free)):
        price = change**2 / np.maximum(np.diag(inverse), 1e-300)
        j = int(np.where(held, np.inf, price).argmin())
        held[j], order[step] = True, free[j]
        response = inverse[:, j] / inverse[j, j]
        change = np.where(held, 0.0, change - response * change[j])
        inverse = inverse - np.outer(response, inverse[j])
        ends[step, free] = x[free] + change
    return Elimination(order, ends)
