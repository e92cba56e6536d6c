"""Descent to a goal that a classifier decides, with few calls of the classifier.

A call of a classifier takes longer than many steps over the terrain. So its log-odds are replaced
by a linear model around the end of each path (`LinearOdds`), the paths are moved to rest with that
model, and the classifier is evaluated at the new ends alone. Where it agrees with the model, which
for a linear classifier it does at once, the path is done; elsewhere the model is updated. Where the
edge of the goal is too curved for this to converge, the classifier is evaluated at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.goal import GoalRegion
from daace.planners.descent.objective import LinearOdds, Objective
from daace.planners.descent.quasi_newton import Metric
from daace.planners.descent.sqp import DescentResult, minimize

#: Largest number of models for each path.
ROUNDS = 8

#: Classifier and model agree if their log-odds differ by less than this.
AGREES = 1e-5

#: Log-odds by which the models move the threshold, so that an end that agrees is inside.
RESERVE = 2e-5

#: Below this difference the slopes are still right, and the model need only be shifted.
SHIFTED = 1e-3

#: An end whose model is off by more than this, in log-odds, begins again where it began.
LOST = 0.1

#: The next difference must be below this share of the last one.
PROGRESS = 0.5


def minimize_linearized(
    objective: Objective,
    Z: FloatArray,
    metric: Metric,
    *,
    iterations: int,
    tolerance: float,
    expired: Callable[[], bool] = lambda: False,
) -> DescentResult:
    """Move a batch of paths to local minima, as `sqp.minimize` does.

    Args:
        objective: cost, goal, bounds.
        Z: free waypoints to begin with, shape `(paths, waypoints, n)`.
        metric: shape of the terrain.
        iterations: largest number of rounds, for each model.
        tolerance: a path rests when a step promises less than this share of its cost.
        expired: if true, all paths stop where they are.
    """
    region, steps = objective.region, 0

    def move(rows: np.ndarray, models: LinearOdds | None, begin: FloatArray) -> DescentResult:
        nonlocal steps
        outcome = minimize(
            replace(objective.take(rows), odds_model=models),
            begin,
            metric,
            iterations=iterations,
            tolerance=tolerance,
            expired=expired,
        )
        steps += outcome.evaluations
        return outcome

    paths, waypoints, _ = Z.shape
    nothing, none = np.zeros(paths), np.zeros(paths, dtype=bool)
    result = DescentResult(Z.copy(), nothing, nothing.copy(), 0, np.zeros((paths, waypoints)), none)
    difference = np.full(paths, np.inf)
    slack = region.odds_slack(Z[:, -1]) - RESERVE
    models = LinearOdds(Z[:, -1], slack, _slopes(region, Z[:, -1], slack))
    # A model without slopes constrains nothing: the classifier's budget is spent, or it is constant
    # here. An end that is inside then stays; for one that is outside there is nothing to do.
    flat, inside = ~models.slopes.any(axis=1), slack >= -RESERVE
    objective = _held(objective, Z, flat & inside)
    waiting = np.flatnonzero(~flat | inside)
    models = models.take(waiting)
    for _ in range(ROUNDS):
        if len(waiting) == 0 or expired():
            break
        _put(result, waiting, move(waiting, models, result.Z[waiting]))
        ends = result.Z[waiting, -1]
        slack = region.odds_slack(ends) - RESERVE
        now = np.abs(slack - models.at(ends)[0])
        settling = np.flatnonzero((now > AGREES) & (now <= PROGRESS * difference[waiting]))
        difference[waiting] = now
        models = _update(region, models.take(settling), ends[settling], slack[settling])
        waiting = waiting[settling]
    stubborn = np.flatnonzero(difference > AGREES)
    if len(stubborn):
        lost = (difference[stubborn] > LOST)[:, None, None]
        begin = np.where(lost, Z[stubborn], result.Z[stubborn])
        _put(result, stubborn, move(stubborn, None, begin))
    short = np.maximum(-region.slack(result.Z[:, -1]), 0.0).sum(axis=1)
    return replace(result, violation=short, evaluations=steps)


def _held(objective: Objective, Z: FloatArray, rows: BoolArray) -> Objective:
    """Return the objective with bounds that fix the ends of some paths."""
    lower, upper = objective.lower.copy(), objective.upper.copy()
    lower[rows, -1] = upper[rows, -1] = Z[rows, -1]
    return replace(objective, lower=lower, upper=upper)


def _update(
    region: GoalRegion, models: LinearOdds, ends: FloatArray, slack: FloatArray
) -> LinearOdds:
    """Return models that agree with the classifier at the ends, with new slopes where needed."""
    expected, slopes = models.at(ends)
    slopes = slopes.copy()
    bent = np.flatnonzero(np.abs(slack - expected) > SHIFTED)
    if len(bent):
        slopes[bent] = _slopes(region, ends[bent], slack[bent])
    return LinearOdds(ends, slack, slopes)


def _slopes(region: GoalRegion, X: FloatArray, slack: FloatArray) -> FloatArray:
    """Return the slopes of the log-odds at some points.

    Difference quotients take two rows for each feature. So they are computed at one point first;
    where the linear model around it agrees, as it does everywhere for a linear classifier, its
    slopes are used.
    """
    slope = region.odds_slack_and_gradient(X[:1])[1]
    slopes = np.repeat(slope, len(X), axis=0)
    off = np.abs(slack[0] + (X - X[0]) @ slope[0] - slack) > AGREES
    if off.any():
        slopes[off] = region.odds_slack_and_gradient(X[off])[1]
    return slopes


def _put(result: DescentResult, rows: np.ndarray, moved: DescentResult) -> None:
    """Overwrite some of the paths, in place."""
    for name in ("Z", "cost", "violation", "segment_costs"):
        getattr(result, name)[rows] = getattr(moved, name)
