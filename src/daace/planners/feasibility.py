"""How close one can come to a goal that no draw of the density meets.

Draws moved into tight constraints (a fixed feature of a correlated table) become implausible, so
that none of them meets the goal although the goal can be met. Here the slacks themselves are
maximised, within the constraints.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from daace._typing import FloatArray
from daace.landscape.goal import GoalRegion
from daace.landscape.problem import Problem
from daace.planners.objective import Lines

#: Strictly inside, in nats: enough that rounding cannot undo it.
INSIDE = 1e-4

#: Climbs by what a classifier says at the foot, before it is asked at every step.
ROUNDS = 5

#: Log-odds at the top that differ by less from what was expected are as expected.
EXPECTED = 1e-3

#: So far inside, in nats, that there is no need to climb on: only that the goal can be met matters.
WELL_INSIDE = 0.1


#: Slacks of a point, shape `(2,)`, and their gradients, shape `(2, n)`.
Look = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: From a point to the top, as it is seen.
Way = Callable[[Problem, FloatArray, Look], FloatArray]


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
    ways = (partial(_climb_one, which=which) for which in (0, 1))
    ends = np.stack([_settle(problem, best, way) for way in ways])
    slack = problem.region.slack(ends)
    inside = ends[slack.min(axis=1) > 0]
    reached = [slack[k, k] if slack[k, 1 - k] >= 0 else -np.inf for k in (0, 1)]
    return Reach(inside, float(reached[0]), float(reached[1]))


def climb(problem: Problem, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where some points climb to, and the smaller of the two slacks there."""
    tops = np.stack([_settle(problem, point, _climb) for point in points])
    return tops, problem.region.slack(tops).min(axis=1)


def _settle(problem: Problem, point: FloatArray, way: Way) -> FloatArray:
    """Climb by what a classifier says at the foot and, if it says otherwise at the top, again.

    So it is asked once for each climb, not at every step. What does not settle in some rounds is
    climbed by questions.
    """
    region = problem.region
    if region.smooth_posterior is None:
        return way(problem, point, _look(region))
    for _ in range(ROUNDS):
        slack, slopes = region.odds_slack_and_gradient(point[None])
        lines = Lines(point[None], slack, slopes)
        top = way(problem, point, _look(region, lines))
        expected = lines.at(top[None], np.array([0]))[0]
        if np.abs(region.odds_slack(top[None]) - expected)[0] <= EXPECTED:
            return top
        point = top
    return way(problem, point, _look(region))


def _look(region: GoalRegion, lines: Lines | None = None) -> Look:
    """Return how slacks and their gradients are seen: as they are, or along a line."""

    def look(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        odds = None if lines is None else lines.at(x[None], np.array([0]))
        slack, gradients = region.slack_and_pullback(x[None], odds)
        return slack[0], gradients()[0]

    return look


def _climb(problem: Problem, point: FloatArray, look: Look) -> FloatArray:
    """Maximise `-log(exp(-a) + exp(-b))` of the two slacks a and b, until both are positive."""
    feasible = problem.feasible
    arrived: list[FloatArray] = []

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        slack, gradients = look(x)
        if slack.min() >= WELL_INSIDE and feasible.allows(x[None])[0]:
            arrived.append(x.copy())
            raise _Arrived
        top = float((-slack).max())
        shares = np.exp(-slack - top)
        value = top + float(np.log(shares.sum()))
        return value, -(shares / shares.sum()) @ gradients

    bounds = np.column_stack([feasible.lower, feasible.upper])
    links = _links(problem)
    try:
        result = minimize(
            loss,
            point,
            jac=True,
            method="SLSQP" if links else "L-BFGS-B",
            bounds=bounds,
            constraints=links,
            options={"maxiter": 300},
        )
    except _Arrived:
        return arrived[0]
    top: FloatArray = feasible.nearest(result.x[None])[0]
    return top


class _Arrived(Exception):
    """Ends a climb whose end is good enough."""


def _climb_one(problem: Problem, point: FloatArray, look: Look, which: int) -> FloatArray:
    """Maximise one slack while the other is not negative."""
    feasible = problem.feasible

    def value(x: FloatArray) -> tuple[float, FloatArray]:
        slack, gradients = look(x)
        return -float(slack[which]), -gradients[which]

    constraint = {
        "type": "ineq",
        "fun": lambda x: look(x)[0][1 - which] - INSIDE,
        "jac": lambda x: look(x)[1][1 - which],
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
