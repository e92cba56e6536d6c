"""Move paths to a goal that a classifier judges, and ask it rarely.

A question costs more than many steps over the terrain. So the log-odds are continued straight from
where they and their slopes are known, the paths are moved to rest on that, and the classifier is
asked about the ends alone. Where it says what was expected, which for a linear one is at once, that
is the answer; elsewhere the lines are drawn anew. Where the goal's edge bends sharply the ends do
not settle that way: those paths are moved by a question at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.goal import GoalRegion
from daace.planners.objective import Lines, Objective
from daace.planners.quasi_newton import Metric
from daace.planners.sqp import Outcome, minimize

#: Times that lines are drawn, at most.
ROUNDS = 8

#: What is said and what was expected differ by less, in log-odds, when all is as expected.
EXPECTED = 1e-5

#: Slack of the log-odds that lines leave, so that what is as expected is inside.
RESERVE = 2e-5

#: Below this difference the slopes are still right, and a line need only be shifted.
SHIFTED = 1e-3

#: An end that is off by more, in log-odds, has lost its way, and begins again.
LOST = 0.1

#: Share of the last difference that is progress.
PROGRESS = 0.5


def follow(
    objective: Objective,
    Z: FloatArray,
    metric: Metric,
    *,
    iterations: int,
    tolerance: float,
    expired: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Move a batch of paths to local minima; arguments and result as of `sqp.minimize`."""
    region, steps = objective.region, 0

    def move(rows: np.ndarray, lines: Lines | None, begin: FloatArray) -> Outcome:
        nonlocal steps
        outcome = minimize(
            objective.take(rows, lines),
            begin,
            metric,
            iterations=iterations,
            tolerance=tolerance,
            expired=expired,
        )
        steps += outcome.evaluations
        return outcome

    paths, waypoints, _ = Z.shape
    result = Outcome(Z.copy(), np.zeros(paths), np.zeros(paths), 0, np.zeros((paths, waypoints)))
    difference = np.full(paths, np.inf)
    said = region.odds_slack(Z[:, -1]) - RESERVE
    lines = Lines(Z[:, -1], said, _slopes(region, Z[:, -1], said))
    # A flat line holds nothing back: nobody is asked any more, or there are no slopes here. An
    # end that is inside then stays; one that is not has nothing to follow.
    flat, inside = ~lines.slopes.any(axis=1), said >= -RESERVE
    objective = _held(objective, Z, flat & inside)
    waiting = np.flatnonzero(~flat | inside)
    lines = lines.take(waiting)
    for _ in range(ROUNDS):
        if len(waiting) == 0 or expired():
            break
        _put(result, waiting, move(waiting, lines, result.Z[waiting]))
        ends = result.Z[waiting, -1]
        said = region.odds_slack(ends) - RESERVE
        now = np.abs(said - lines.at(ends, np.arange(len(ends)))[0])
        settling = np.flatnonzero((now > EXPECTED) & (now <= PROGRESS * difference[waiting]))
        difference[waiting] = now
        lines = _redraw(region, lines.take(settling), ends[settling], said[settling])
        waiting = waiting[settling]
    stubborn = np.flatnonzero(difference > EXPECTED)
    if len(stubborn):
        lost = (difference[stubborn] > LOST)[:, None, None]
        begin = np.where(lost, Z[stubborn], result.Z[stubborn])
        _put(result, stubborn, move(stubborn, None, begin))
    short = np.maximum(-region.slack(result.Z[:, -1]), 0.0).sum(axis=1)
    return replace(result, violation=short, evaluations=steps)


def _held(objective: Objective, Z: FloatArray, rows: BoolArray) -> Objective:
    """Return the objective with the ends of some paths held where they are."""
    lower, upper = objective.lower.copy(), objective.upper.copy()
    lower[rows, -1] = upper[rows, -1] = Z[rows, -1]
    return replace(objective, lower=lower, upper=upper)


def _redraw(region: GoalRegion, lines: Lines, ends: FloatArray, said: FloatArray) -> Lines:
    """Return lines through what was said of the ends, with new slopes where the old are off."""
    expected, slopes = lines.at(ends, np.arange(len(ends)))
    bent = np.flatnonzero(np.abs(said - expected) > SHIFTED)
    if len(bent):
        slopes[bent] = _slopes(region, ends[bent], said[bent])
    return Lines(ends, said, slopes)


def _slopes(region: GoalRegion, X: FloatArray, said: FloatArray) -> FloatArray:
    """Return the slopes of the log-odds at some points.

    Difference quotients take two rows for each feature. So one point is asked about first: where
    its line says what was said, as that of a linear classifier does everywhere, it will do.
    """
    slope = region.odds_slack_and_gradient(X[:1])[1]
    slopes = np.repeat(slope, len(X), axis=0)
    off = np.abs(said[0] + (X - X[0]) @ slope[0] - said) > EXPECTED
    if off.any():
        slopes[off] = region.odds_slack_and_gradient(X[off])[1]
    return slopes


def _put(result: Outcome, rows: np.ndarray, moved: Outcome) -> None:
    """Move some of the paths on, in place."""
    for name in ("Z", "cost", "violation", "segment_costs"):
        getattr(result, name)[rows] = getattr(moved, name)
