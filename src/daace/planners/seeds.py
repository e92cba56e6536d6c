"""Where a search begins: points of the goal near the start, found among the density's own draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.problem import Problem
from daace.planners.feasibility import INSIDE, climb, reach

#: Goal points looked at per query: cost is at least length, so the nearest are the likeliest. Where
#: there may be walls, more: a farther one may be reached over better ground.
NEAREST, NEAREST_AMONG_WALLS = 100, 200

#: Draws from which a goal that none of them meets is climbed to.
CLIMBS = 4

#: The same, where only yes or no is asked, and often.
FEW_CLIMBS = 2


@dataclass(frozen=True, eq=False)
class GoalPoints:
    """Draws of the target class, moved into the feasible set, or points climbed to from them.

    Attributes:
        inside: points that meet the goal, nearest to the start first, shape `(points, n)`; the
            nearest, and where detours are rewarded also some of the others.
        nearly: when none does, the draws that miss it least.
        reachable: largest log p slack among draws that meet the posterior threshold, and
            largest log posterior slack among draws that meet the log p threshold; -inf if none.
    """

    inside: FloatArray
    nearly: FloatArray
    reachable: tuple[float, float]


def goal_points(
    problem: Problem, *, nearest: int = NEAREST, beyond: FloatArray | None = None
) -> GoalPoints:
    """Look for the goal among 4,000 draws of the target class, made once per density.

    Where none of them meets it, points are climbed to; `beyond` are points that were climbed to
    from another start, and will do where the rules allow them.
    """
    pool = problem.landscape.density.pool(problem.goal.target)
    feasible = problem.feasible
    X = feasible.nearest(pool.X)
    untouched = (X == pool.X).all(axis=1)
    slack = problem.region.slack_of(pool.log_joint, pool.X)
    good = untouched & (slack > 0).all(axis=1)
    if good.sum() < nearest and not untouched.all():
        # The rules cut into the goal: look at the clipped draws themselves.
        slack[~untouched] = problem.region.slack(X[~untouched])
        good = (slack > 0).all(axis=1)
    ways = (X - problem.x) * feasible.weights
    distance = np.einsum("rn,rn->r", ways, ways)
    inside = np.flatnonzero(good)
    inside = inside[np.argsort(distance[inside], kind="stable")]
    chosen = np.arange(min(nearest, len(inside)))
    if problem.landscape.rewards_detours and len(inside) > nearest:
        # The cheapest may be far: as many again at all distances.
        spread = np.linspace(nearest, len(inside) - 1, nearest).astype(np.intp)
        chosen = np.unique(np.append(chosen, spread))
    inside = inside[chosen]
    shortfall = np.maximum(-slack, 0.0).sum(axis=1)
    nearly = np.argsort(shortfall, kind="stable")[:nearest]
    reachable = best_reached(slack)
    if len(inside) or not problem.region.differentiable:
        return GoalPoints(X[inside], X[nearly], reachable)
    if beyond is not None and feasible.allows(beyond).any():
        return GoalPoints(beyond[feasible.allows(beyond)], X[nearly], reachable)
    climbed = reach(problem, X[nearly[:CLIMBS]])
    reachable = (max(reachable[0], climbed.log_prob), max(reachable[1], climbed.posterior))
    return GoalPoints(climbed.inside, X[nearly], reachable)


def can_be_met(problem: Problem) -> bool:
    """Whether a goal can be met: by a draw of its class, or by a point climbed to from some."""
    X = problem.feasible.nearest(problem.landscape.density.pool(problem.goal.target).X)
    shortfall = np.maximum(-problem.region.slack(X), 0.0).sum(axis=1)
    if (shortfall == 0).any() or not problem.region.differentiable:
        return bool((shortfall == 0).any())
    nearly = np.argsort(shortfall, kind="stable")[:FEW_CLIMBS]
    return any(climb(problem, X[[k]])[1][0] > INSIDE for k in nearly)


def best_reached(slack: FloatArray) -> tuple[float, float]:
    """Return the best slack of each threshold among rows that meet the other."""
    log_prob, posterior = slack.T
    return (
        float(log_prob[posterior >= 0].max(initial=-np.inf)),
        float(posterior[log_prob >= 0].max(initial=-np.inf)),
    )


def pull_back(
    problem: Problem, points: FloatArray, *, origin: FloatArray | None = None, halvings: int = 10
) -> FloatArray:
    """Move goal points along straight lines to the start, up to the goal's edge.

    Bisection keeps the end that is inside, so every result meets the goal. A classifier is asked
    about several points of each line at once, as its time is by the question, not by the row.

    Args:
        problem: the problem.
        points: inside the goal, shape `(points, n)`.
        origin: where the lines come from, one for all or for each; the start when left out.
        halvings: steps of the bisection.
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
        slack = problem.region.slack(trial.reshape(-1, points.shape[1]))
        good = (slack > 0).all(axis=1).reshape(marks.shape)
        first = np.where(good.any(axis=0), good.argmax(axis=0), parts - 1)
        ends = np.concatenate([outside[None], marks, inside[None]])
        outside, inside = np.take_along_axis(ends, first + np.array([[0], [1]]), axis=0)
    return begin + inside[:, None] * (points - begin)


def spread_out(points: FloatArray, costs: FloatArray, count: int) -> np.ndarray:
    """Choose points: one half the cheapest, the other half far from those chosen before."""
    order = np.argsort(costs, kind="stable")
    chosen = list(order[: max(1, count - count // 2)])
    distance = np.min([((points - points[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
    while len(chosen) < min(count, len(points)):
        far = int(np.argmax(distance))
        chosen.append(far)
        distance = np.minimum(distance, ((points - points[far]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.intp)
