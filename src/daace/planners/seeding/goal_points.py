"""Points that meet the goal, near the start: found among draws of the density, or climbed to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.bayes import log_sum_exp
from daace.density.draws import GIVEN_DRAWS
from daace.landscape.goal import NEVER, GoalRegion, RowPosterior
from daace.landscape.problem import Problem
from daace.planners.base import Clock, best_slacks
from daace.planners.seeding.climbing import INSIDE, climb, climb_to_goal

#: Goal points per query: cost is at least length, so the nearest are the best candidates. More are
#: used where there may be barriers, as a farther one may have a cheaper path.
NEAREST, NEAREST_BEHIND_BARRIERS = 100, 200

#: With fewer goal points than this, draws with the fixed values are considered, too.
ENOUGH = 10

#: Number of points that are judged at once to find the first that meet the goal; then four times
#: that number, and so on.
AT_ONCE = 400

#: Number of draws from which to climb to a goal that none of them meets.
CLIMBS = 4

#: The number if it only matters whether the goal can be met.
FEW_CLIMBS = 2


@dataclass(frozen=True, eq=False)
class GoalPoints:
    """Draws of the target class, moved into the feasible set, or points climbed to from them.

    Attributes:
        inside: points that meet the goal, the nearest to the start first, shape `(points, n)`; if
            the landscape rewards detours, also some that are farther away.
        nearly: the draws that miss the goal least.
        reachable: largest slack of log p among draws that meet the posterior threshold, and
            largest slack of the log posterior among draws that meet the log p threshold; -inf if
            there are none.
    """

    inside: FloatArray
    nearly: FloatArray
    reachable: tuple[float, float]


def find_goal_points(
    problem: Problem,
    *,
    nearest: int = NEAREST,
    beyond: FloatArray | None = None,
    clock: Clock | None = None,
) -> GoalPoints:
    """Return goal points among 4,000 draws of the target class, which are made once per density.

    If no draw meets the goal, points are climbed to.

    Args:
        problem: start, goal and constraints.
        nearest: largest number of points.
        beyond: goal points of another start; those that the constraints allow are used instead of
            climbing.
        clock: limits the time for climbing.
    """
    pool = problem.landscape.density.pool(problem.goal.target)
    feasible = problem.feasible
    X = feasible.nearest(pool.X)
    untouched = (X == pool.X).all(axis=1)
    slack = problem.region.slack_of(pool.log_joint, pool.X)
    good = untouched & (slack > 0).all(axis=1)
    offsets = (X - problem.x) * feasible.weights
    distance = np.einsum("rn,rn->r", offsets, offsets)
    if good.sum() < nearest and not untouched.all():
        # The rules cut into the goal: evaluate the clipped draws themselves.
        slack[~untouched] = _slack_of_clipped(problem, X[~untouched], distance[~untouched], nearest)
        good = (slack > 0).all(axis=1)
    if good.sum() < ENOUGH:
        alike = draws_alike(problem)
        X, slack = np.concatenate([X, alike]), np.concatenate([slack, problem.region.slack(alike)])
        good = (slack > 0).all(axis=1)
        offsets = (X - problem.x) * feasible.weights
        distance = np.einsum("rn,rn->r", offsets, offsets)
    inside = np.flatnonzero(good)
    inside = inside[np.argsort(distance[inside], kind="stable")]
    chosen = np.arange(min(nearest, len(inside)))
    if problem.landscape.rewards_detours and len(inside) > nearest:
        # The cheapest may be far: add as many at all distances.
        spread = np.linspace(nearest, len(inside) - 1, nearest).astype(np.intp)
        chosen = np.unique(np.append(chosen, spread))
    inside = inside[chosen]
    shortfall = np.maximum(-slack, 0.0).sum(axis=1)
    nearly = np.argsort(shortfall, kind="stable")[:nearest]
    reachable = best_slacks(slack)
    if len(inside) or not problem.region.differentiable:
        return GoalPoints(X[inside], X[nearly], reachable)
    if beyond is not None and feasible.allows(beyond).any():
        return GoalPoints(beyond[feasible.allows(beyond)], X[nearly], reachable)
    climbed = climb_to_goal(problem, X[nearly[:CLIMBS]], clock=clock)
    reachable = (max(reachable[0], climbed.log_prob), max(reachable[1], climbed.posterior))
    return GoalPoints(climbed.inside, X[nearly], reachable)


def first_inside(region: GoalRegion, points: FloatArray, count: int) -> IntArray:
    """Return the positions of the first points that meet the goal, at most `count`.

    A classifier does not predict implausible points.

    Args:
        region: the goal.
        points: shape `(points, n)`.
        count: number of points.
    """
    found: IntArray = np.empty(0, dtype=np.intp)
    first, size = 0, AT_ONCE
    while first < len(points) and len(found) < count:
        block = points[first : first + size]
        joint = region.density.log_joint(block)
        plausible = np.flatnonzero(log_sum_exp(joint) >= region.min_log_prob)
        slack = region.slack_of(joint[plausible], block[plausible])
        found = np.append(found, first + plausible[(slack >= 0).all(axis=1)])
        first, size = first + size, 4 * size
    return found[:count]


def _slack_of_clipped(
    problem: Problem, X: FloatArray, distance: FloatArray, nearest: int
) -> FloatArray:
    """Return the slacks of draws; a classifier predicts only the nearest plausible ones.

    It predicts all if none of these meets the goal; the posterior of the others counts as 0.

    Args:
        problem: start, goal and constraints.
        X: draws that the rules allow.
        distance: distance from the start.
        nearest: number of goal points that are wanted.
    """
    region = problem.region
    if isinstance(region.posterior, RowPosterior):
        order = np.argsort(distance, kind="stable")
        found = order[first_inside(region, X[order], nearest)]
        if len(found):
            slack = np.full((len(X), 2), NEVER)
            slack[found] = region.slack(X[found])
            return slack
    return region.slack(X)


def draws_alike(problem: Problem) -> FloatArray:
    """Return draws of the target class with the fixed values, if the density can make them.

    Other draws, moved to the fixed values, are implausible where features are correlated. Where a
    classifier judges, draws of all classes are added: what is fixed may speak against the target
    so clearly that each draw of it is implausible, and the classifier may think otherwise.
    """
    feasible, density = problem.feasible, problem.landscape.density
    fixed = np.flatnonzero(feasible.lower == feasible.upper)
    found = [problem.x[None][:0]]
    if 0 < len(fixed) < len(problem.x):
        labels = [problem.goal.target] if problem.posterior is None else [problem.goal.target, None]
        for label in labels:
            alike = density.draw_given(fixed, problem.x, GIVEN_DRAWS, label=label)
            found += [] if alike is None else [feasible.nearest(alike)]
    return np.concatenate(found)


def can_be_met(problem: Problem) -> bool:
    """Whether a draw of the target class meets the goal, or a point that is climbed to from one."""
    X = problem.feasible.nearest(problem.landscape.density.pool(problem.goal.target).X)
    X = np.concatenate([X, draws_alike(problem)])
    shortfall = np.maximum(-problem.region.slack(X), 0.0).sum(axis=1)
    if (shortfall == 0).any() or not problem.region.differentiable:
        return bool((shortfall == 0).any())
    nearly = np.argsort(shortfall, kind="stable")[:FEW_CLIMBS]
    return any(climb(problem, X[[k]])[1][0] > INSIDE for k in nearly)


def pull_to_edge(
    problem: Problem,
    points: FloatArray,
    *,
    origin: FloatArray | None = None,
    region: GoalRegion | None = None,
    halvings: int = 10,
) -> FloatArray:
    """Move goal points along straight lines towards the start, up to the edge of the goal.

    Bisection keeps the end that is inside, so every result meets the goal. A classifier is
    evaluated at several points of each line at once, as a call costs more than a row.

    Args:
        problem: the problem.
        points: inside the goal, shape `(points, n)`.
        origin: start of the lines, shape `(n,)` or `(points, n)`; that of the problem if None.
        region: the goal of each point; that of the problem if None.
        halvings: number of bisections.
    """
    begin = problem.x if origin is None else origin
    outside = np.zeros(len(points))
    inside = np.ones(len(points))
    at_once = 1 if problem.posterior is None else 2
    parts = 2**at_once
    for _ in range(-(-halvings // at_once)):
        width = (inside - outside) / parts
        marks = outside + np.arange(1, parts)[:, None] * width  # `(marks, points)`
        trial = begin + marks[..., None] * (points - begin)
        goal = (region or problem.region).take(np.tile(np.arange(len(points)), len(marks)))
        slack = goal.slack(trial.reshape(-1, points.shape[1]))
        good = (slack > 0).all(axis=1).reshape(marks.shape)
        first = np.where(good.any(axis=0), good.argmax(axis=0), parts - 1)
        ends = np.concatenate([outside[None], marks, inside[None]])
        outside, inside = np.take_along_axis(ends, first + np.array([[0], [1]]), axis=0)
    return begin + inside[:, None] * (points - begin)
