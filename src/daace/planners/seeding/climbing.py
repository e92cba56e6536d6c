"""Climb to a goal that no draw of the density meets, or as close to it as possible.

Draws that are moved into tight constraints (a fixed feature of a correlated table) become
implausible, so that none of them meets the goal although it can be met. Here the slacks of the goal
themselves are maximised within the constraints, by scipy's L-BFGS-B and SLSQP.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from daace._typing import FloatArray, IntArray
from daace.landscape.goal import GoalRegion
from daace.landscape.problem import Problem
from daace.planners.base import Clock, TimeIsUp
from daace.planners.descent import LinearOdds

#: Slack that counts as strictly inside, in nats: enough that rounding cannot undo it.
INSIDE = 1e-4

#: Climbs with a linear model of a classifier before it is evaluated at every step.
ROUNDS = 5

#: Classifier and model agree if their log-odds differ by less than this.
AGREES = 1e-3

#: Slack at which a climb ends early, in nats: only that the goal can be met matters.
WELL_INSIDE = 0.1

#: From a point to its two slacks, shape `(2,)`, and their gradients, shape `(2, n)`.
Slacks = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

#: From a problem, a point and its slacks to the top of a climb.
Ascent = Callable[[Problem, FloatArray, Slacks], FloatArray]


@dataclass(frozen=True, eq=False)
class ClimbResult:
    """Where a climb towards a goal ended.

    Attributes:
        inside: points that meet the goal, shape `(points, n)`.
        log_prob: largest slack of log p among points that meet the posterior threshold, in nats;
            infinite if the goal is met.
        posterior: largest slack of the log posterior among points that meet the log p threshold.
    """

    inside: FloatArray
    log_prob: float
    posterior: float


def climb_to_goal(
    problem: Problem, points: FloatArray, *, clock: Clock | None = None
) -> ClimbResult:
    """Climb to the goal from some points that miss it.

    First a smooth minimum of the two slacks is maximised (L-BFGS-B; SLSQP with links). If it stays
    negative, each slack is maximised with the other as a constraint (SLSQP), which gives the amount
    by which one threshold alone would have to be relaxed.

    Args:
        problem: start, goal, constraints; its posterior must be differentiable.
        points: inside the constraints, shape `(points, n)`.
        clock: limits the time; the points that were climbed to by then are kept.
    """
    tops, smaller = climb(problem, points, clock=clock)
    if (smaller > INSIDE).any():
        return ClimbResult(tops[smaller > INSIDE], np.inf, np.inf)
    if len(tops) < len(points):
        return ClimbResult(tops[:0], -np.inf, -np.inf)
    best = tops[np.argmax(smaller)]
    ascents = (partial(_climb_one, which=which) for which in (0, 1))
    try:
        ends = np.stack([_climb_with_model(problem, best, ascend, clock) for ascend in ascents])
    except TimeIsUp:
        return ClimbResult(tops[:0], -np.inf, -np.inf)
    slack = problem.region.slack(ends)
    inside = ends[slack.min(axis=1) > 0]
    reached = [slack[k, k] if slack[k, 1 - k] >= 0 else -np.inf for k in (0, 1)]
    return ClimbResult(inside, float(reached[0]), float(reached[1]))


def climb(
    problem: Problem, points: FloatArray, *, clock: Clock | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return where points climb to, and the smaller of the two slacks there.

    Args:
        problem: start, goal and constraints.
        points: shape `(points, n)`.
        clock: limits the time; only the first points have climbed when it is over.
    """
    tops = np.empty((0, points.shape[1]))
    with suppress(TimeIsUp):
        for point in points:
            tops = np.vstack([tops, _climb_with_model(problem, point, _climb_smaller, clock)])
    return tops, problem.region.slack(tops).min(axis=1) if len(tops) else np.empty(0)


def _climb_with_model(
    problem: Problem, point: FloatArray, ascend: Ascent, clock: Clock | None
) -> FloatArray:
    """Climb with a linear model of a classifier, and again if the two disagree at the top.

    So the classifier is evaluated once per climb and not at every step, unless they still disagree
    after `ROUNDS` climbs.
    """
    region = problem.region
    if region.smooth_posterior is None:
        return ascend(problem, point, _slacks_of(region, clock))
    for _ in range(ROUNDS):
        slack, slopes = region.odds_slack_and_gradient(point[None])
        model = LinearOdds(point[None], slack, slopes)
        top = ascend(problem, point, _slacks_of(region, clock, model))
        expected = model.at(top[None])[0]
        if np.abs(region.odds_slack(top[None]) - expected)[0] <= AGREES:
            return top
        point = top
    return ascend(problem, point, _slacks_of(region, clock))


def _slacks_of(region: GoalRegion, clock: Clock | None, model: LinearOdds | None = None) -> Slacks:
    """Return a function to slacks and gradients, with a model of the classifier if given."""

    def slacks(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        if clock is not None:
            clock.check()
        odds = None if model is None else model.at(x[None])
        slack, gradients = region.pair_and_gradients(x[None], odds)
        return slack[0], gradients[0]

    return slacks


def _climb_smaller(problem: Problem, point: FloatArray, slacks: Slacks) -> FloatArray:
    """Maximise `-log(exp(-a) + exp(-b))` of the two slacks a and b, until both are positive."""
    feasible = problem.feasible
    free, whole = _numbers_of(problem, point)
    arrived: list[FloatArray] = []

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        x = whole(z)
        slack, gradients = slacks(x)
        if slack.min() >= WELL_INSIDE and feasible.allows(x[None])[0]:
            arrived.append(x)
            raise _Arrived
        top = float((-slack).max())
        shares = np.exp(-slack - top)
        value = top + float(np.log(shares.sum()))
        return value, -(shares / shares.sum()) @ gradients[:, free]

    bounds = np.column_stack([feasible.lower, feasible.upper])[free]
    links = _links(problem, free)
    try:
        result = scipy.optimize.minimize(
            loss,
            point[free],
            jac=True,
            method="SLSQP" if links else "L-BFGS-B",
            bounds=bounds,
            constraints=links,
            options={"maxiter": 300},
        )
    except _Arrived:
        return arrived[0]
    top: FloatArray = feasible.nearest(whole(result.x)[None])[0]
    return top


class _Arrived(Exception):
    """Ends a climb early."""


def _climb_one(problem: Problem, point: FloatArray, slacks: Slacks, which: int) -> FloatArray:
    """Maximise one slack while the other is not negative."""
    feasible = problem.feasible
    free, whole = _numbers_of(problem, point)

    def value(z: FloatArray) -> tuple[float, FloatArray]:
        slack, gradients = slacks(whole(z))
        return -float(slack[which]), -gradients[which, free]

    constraint = {
        "type": "ineq",
        "fun": lambda z: slacks(whole(z))[0][1 - which] - INSIDE,
        "jac": lambda z: slacks(whole(z))[1][1 - which, free],
    }
    bounds = np.column_stack([feasible.lower, feasible.upper])[free]
    with warnings.catch_warnings():  # steps that leave the bounds by rounding are clipped below
        warnings.simplefilter("ignore", RuntimeWarning)
        result = scipy.optimize.minimize(
            value,
            point[free],
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[constraint, *_links(problem, free)],
        )
    top: FloatArray = feasible.nearest(whole(result.x)[None])[0]
    return top


def _numbers_of(
    problem: Problem, point: FloatArray
) -> tuple[IntArray, Callable[[FloatArray], FloatArray]]:
    """Return the columns that may climb, and a function from their values to a point.

    Codes are constant: in steps of scipy they would not remain whole numbers.
    """
    codes = list(problem.landscape.density.encoding_.code_sizes)
    free = np.delete(np.arange(len(point)), codes)

    def whole(z: FloatArray) -> FloatArray:
        x = point.copy()
        x[free] = z
        return x

    return free, whole


def _links(problem: Problem, free: IntArray) -> list[dict[str, object]]:
    """Return the links between features as constraints for scipy.

    Args:
        problem: the problem, whose links are between numbers.
        free: the columns that may climb.
    """
    slabs = problem.feasible.slabs
    found: list[dict[str, object]] = []
    for row, low, high in zip(slabs.A[:, free], slabs.low, slabs.high, strict=True):
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
