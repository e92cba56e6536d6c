"""How close one can come to a goal that no draw of the density meets.

Draws moved into tight constraints (a fixed feature of a correlated table) become implausible, so
that none of them meets the goal although the goal can be met. Here the slacks themselves are
maximised, within the constraints.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from daace._typing import FloatArray
from daace.landscape.problem import Problem

#: Strictly inside, in nats: enough that rounding cannot undo it.
INSIDE = 1e-4


@dataclass(frozen=True, eq=False)
class Reach:
    """Where an ascent towards a goal came.

    Attributes:
        inside: points that meet the goal, shape `(points, n)`.
        log_prob: largest log p slack found among points that meet the posterior threshold.
        posterior: largest log posterior slack found among points that meet the log p threshold.
    """

    inside: FloatArray
    log_prob: float
    posterior: float


def reach(problem: Problem, points: FloatArray) -> Reach:
    """Climb to the goal from some points that miss it.

    First the smaller of the two slacks is maximised (smoothly, by L-BFGS-B); only if it stays
    negative, each slack in turn with the other as a constraint (by SLSQP), which says by how much
    one threshold alone would have to be relaxed.

    Args:
        problem: start, goal, constraints; its posterior must be differentiable.
        points: inside the constraints, shape `(points, n)`.
    """
    tops, smaller = climb(problem, points)
    if (smaller > INSIDE).any():
        return Reach(tops[smaller > INSIDE], np.inf, np.inf)
    best = tops[np.argmax(smaller)]
    ends = np.stack([_climb_one(problem, best, which) for which in (0, 1)])
    slack = problem.region.slack(ends)
    inside = ends[slack.min(axis=1) > 0]
    reached = [slack[k, k] if slack[k, 1 - k] >= 0 else -np.inf for k in (0, 1)]
    return Reach(inside, float(reached[0]), float(reached[1]))


def climb(problem: Problem, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where some points climb to, and the smaller of the two slacks there."""
    tops = np.stack([_climb(problem, point) for point in points])
    return tops, problem.region.slack(tops).min(axis=1)


def _climb(problem: Problem, point: FloatArray) -> FloatArray:
    """Maximise `-log(exp(-a) + exp(-b))` of the two slacks a and b."""

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        slack, gradients = problem.region.slack_and_pullback(x[None])
        top = float((-slack).max())
        shares = np.exp(-slack[0] - top)
        value = top + float(np.log(shares.sum()))
        return value, -(shares / shares.sum()) @ gradients()[0]

    feasible = problem.feasible
    bounds = np.column_stack([feasible.lower, feasible.upper])
    links = _links(problem)
    result = minimize(
        loss,
        point,
        jac=True,
        method="SLSQP" if links else "L-BFGS-B",
        bounds=bounds,
        constraints=links,
        options={"maxiter": 300},
    )
    top: FloatArray = feasible.nearest(result.x[None])[0]
    return top


def _climb_one(problem: Problem, point: FloatArray, which: int) -> FloatArray:
    """Maximise one slack while the other is not negative."""
    region, feasible = problem.region, problem.feasible

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        slack, gradients = region.slack_and_pullback(x[None])
        return -float(slack[0, which]), -gradients()[0, which]

    constraint = {
        "type": "ineq",
        "fun": lambda x: region.slack(x[None])[0, 1 - which] - INSIDE,
        "jac": lambda x: region.slack_and_pullback(x[None])[1]()[0, 1 - which],
    }
    bounds = np.column_stack([feasible.lower, feasible.upper])
    with warnings.catch_warnings():  # that a step left the bounds by rounding is clipped below
        warnings.simplefilter("ignore", RuntimeWarning)
        result = minimize(
            value,
            point,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[constraint, *_links(problem)],
        )
    top: FloatArray = feasible.nearest(result.x[None])[0]
    return top


def _links(problem: Problem) -> list[dict[str, object]]:
    """Return the links between features as scipy takes them."""
    slabs = problem.feasible.slabs
    found: list[dict[str, object]] = []
    for row, low, high in zip(slabs.A, slabs.low, slabs.high, strict=True):
        sides = [("eq", row, low)] if low == high else [("ineq", row, low), ("ineq", -row, -high)]
        for kind, a, bound in sides:
            if np.isfinite(bound):
                found.append(
                    {
                        "type": kind,
                        "fun": lambda x, a=a, bound=bound: a @ x - bound,
                        "jac": lambda x, a=a: a,
                    }
                )
    return found
