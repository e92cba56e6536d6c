"""The quadratic subproblem of one SQP iteration, solved for all paths of a batch at once.

For each path, min_d g'd + d'B d / 2 subject to c + A d >= 0: one constraint for log p, one for each
judge. With one judge the dual has two variables and is solved by enumeration of the active sets;
with more, by exchanging whole sets of variables (Judice and Pires 1994, "A block principal pivoting
algorithm for large-scale strictly monotone linear complementarity problems",
doi:10.1016/0305-0548(94)90106-6). Of several judges only those are looked at who were active last
time, are not convinced, or would not be after the step: the others do not change it.
"""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.path import EPSILON
from daace.planners.descent.objective import Objective, PathValues
from daace.planners.descent.quasi_newton import Metric, StepHistory
from daace.planners.descent.tangent import TINY, Tangent

#: Added to the diagonal of the dual of several judges, relative to it.
RIDGE = 1e-8

#: Exchanges of many variables without progress before one is exchanged at a time, and largest
#: number of exchanges.
EXCHANGES, PIVOTS = 3, 100


def solve_subproblem(
    values: PathValues,
    tangent: Tangent,
    history: StepHistory,
    chain: FloatArray,
    metric: Metric,
    before: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the step of each path, and the multipliers of its goal constraints.

    Args:
        values: cost, slacks and gradients of the paths.
        tangent: projects on the directions that bounds and links leave free.
        history: the last steps, for B^-1.
        chain: preconditioners, by `chain_preconditioner`.
        metric: shape of the terrain.
        before: the last multipliers.
    """
    slack, slopes = values.slack, values.slopes
    several = slack.shape[1] > 2
    multipliers = np.zeros_like(slack)

    def step_with(columns: IntArray) -> FloatArray:
        """Return the step for some of the constraints; put down their multipliers."""
        right = np.zeros((1 + len(columns), *values.gradient.shape))
        right[0] = values.gradient
        right[1:, :, -1] = slopes[:, columns].transpose(1, 0, 2)
        right = tangent(right)
        solved = tangent(history.apply(right, chain, metric))
        gram = np.einsum("cbmn,dbmn->bcd", right[1:], solved[1:])
        promise = slack[:, columns] - np.einsum("cbmn,bmn->bc", right[1:], solved[0])
        size = np.einsum("bcn,bcn->bc", slopes, slopes)[:, columns]
        held = np.einsum("cbmn,cbmn->bc", right[1:], right[1:]) <= 1e-12 * size
        promise[held] = np.maximum(promise[held], 0.0)  # the end cannot move in this direction now
        found = (
            solve_large_dual(gram, promise, before[:, columns])
            if several
            else solve_dual(gram, promise)
        )
        multipliers[:, columns] = found
        step: FloatArray = np.einsum("bc,cbmn->bmn", found, solved[1:]) - solved[0]
        return step

    if not several:
        return step_with(np.arange(slack.shape[1])), multipliers
    chosen = ((before > 0) | (slack < 0)).any(axis=0)
    while True:
        step = step_with(np.flatnonzero(chosen))
        expected = slack + np.einsum("bcn,bn->bc", slopes, step[:, -1])
        crossed = ~chosen & (expected < -TINY * (1 + np.abs(slack))).any(axis=0)
        if not crossed.any():
            return step, multipliers
        chosen |= crossed


def solve_dual(gram: FloatArray, promise: FloatArray) -> FloatArray:
    """Return `lam >= 0` with `promise + gram lam >= 0` and complementary slackness.

    Args:
        gram: A B^-1 A', positive semidefinite, shape `(batch, 2, 2)`.
        promise: slack after the unconstrained step, shape `(batch, 2)`.
    """
    own = promise.T
    other, cross = own[::-1], gram[:, 0, 1]
    size = np.einsum("bcc->cb", gram)
    size = size + 1e-12 * size[::-1] + 1e-150  # gram is 0 where bounds hold everything
    alone = np.maximum(-own, 0.0) / size
    gain = cross * alone
    serves = other + gain >= -TINY * (np.abs(other) + np.abs(gain))
    serves[1] &= ~serves[0]
    product = size[0] * size[1]
    determinant = np.maximum(product - cross**2, 1e-12 * product)
    both = np.maximum(cross * other - size[::-1] * own, 0.0) / determinant
    multipliers = np.where(serves.any(axis=0), alone * serves, both)
    return np.ascontiguousarray(multipliers.T)


def solve_large_dual(
    gram: FloatArray, promise: FloatArray, before: FloatArray | None = None
) -> FloatArray:
    """Return what `solve_dual` does, for any number of constraints.

    Where judges contradict each other, no step satisfies all: a small ridge keeps the multipliers
    finite, and the step is a compromise.

    Args:
        gram: A B^-1 A', positive semidefinite, shape `(batch, slacks, slacks)`.
        promise: slack after the unconstrained step, shape `(batch, slacks)`.
        before: similar multipliers: what is active is looked for from there.
    """
    if (promise >= 0).all():
        return np.zeros_like(promise)
    count = promise.shape[1]
    unit = np.eye(count)
    size = np.sqrt(np.einsum("bcc->bc", gram) + 1e-150)  # every constraint in its own unit
    A, q = gram / (size[:, :, None] * size[:, None, :]) + RIDGE * unit, promise / size
    active = q < 0
    if before is not None:
        active = np.where(before.any(axis=1, keepdims=True), before > 0, active)
    small = -TINY * (1 + np.abs(q))
    fewest, patience = np.full(len(q), count + 1), np.full(len(q), EXCHANGES)
    x, unsolved = np.empty_like(q), np.arange(len(q))
    for _ in range(PIVOTS):
        if len(unsolved) == len(q):
            here, right, chosen = A, q, active
        else:
            here, right, chosen = A[unsolved], q[unsolved], active[unsolved]
        system = np.where(chosen[:, :, None] & chosen[:, None, :], here, unit)
        found = np.linalg.solve(system, np.where(chosen, -right, 0.0)[..., None])
        x[unsolved] = found[..., 0]
        y = (here @ found)[..., 0] + right
        wrong = np.where(chosen, found[..., 0] < 0, y < small[unsolved])
        number = wrong.sum(axis=1)
        if not number.any():
            break
        fewer = number < fewest[unsolved]
        patience[unsolved] = np.where(fewer, EXCHANGES, patience[unsolved] - 1)
        fewest[unsolved] = np.minimum(fewest[unsolved], number)
        last = count - 1 - wrong[:, ::-1].argmax(axis=1)  # when all at once would go in circles
        alone = (patience[unsolved] <= 0)[:, None]
        wrong &= ~alone | (np.arange(count) == last[:, None])
        active[unsolved] ^= wrong
        unsolved = unsolved[number > 0]
    multipliers: FloatArray = np.maximum(x, 0.0) / size
    return multipliers


def chain_preconditioner(
    objective: Objective,
    values: PathValues,
    multipliers: FloatArray,
    metric: Metric,
) -> FloatArray:
    """Return, for each path and principal axis, the inverse of a chain of springs.

    The Hessian of a path's cost is close to that of a chain: neighbouring waypoints pull on each
    other by price / length, and the curvature of the terrain, the precision times the growth of the
    price, holds each of them in place. Shape `(paths, waypoints, waypoints, n)`: the axes are next
    to each other in memory, as in the vectors that it is multiplied with.

    Args:
        objective: of the paths.
        values: their costs and lengths.
        multipliers: of the goal constraints, shape `(paths, slacks)`.
        metric: shape of the terrain.
    """
    land = objective.landscape
    travel = np.abs(values.costs - values.switched)
    costs = travel + 1e-12 * travel.sum(axis=1, keepdims=True) + 1e-300
    lengths = np.maximum(values.lengths, 1e-3 * values.lengths.sum(axis=1, keepdims=True) + 1e-9)
    pull = costs / lengths**2
    hold = np.zeros_like(costs)
    if land.penalty > 0:
        roughness = (costs / np.maximum(values.lengths, EPSILON)) ** (
            1 / land.penalty
        ) * objective.unit[:, None]
        spread = land.spread if land.scale == "relative" else 1.0
        if isinstance(spread, np.ndarray):
            spread = spread[:, None]
        hold = land.penalty * costs / (np.maximum(roughness, 1e-3) * spread) / 3.0
    size = pull.shape[1]
    springs = np.zeros((len(pull), size, size))
    index = np.arange(size)
    springs[:, index, index] = pull
    springs[:, index[:-1], index[:-1]] += pull[:, 1:]
    springs[:, index[:-1], index[1:]] = springs[:, index[1:], index[:-1]] = -pull[:, 1:]
    anchors = hold.copy()
    anchors[:, :-1] += hold[:, 1:]
    anchors[:, -1] += multipliers[:, 0]
    chains = np.repeat(springs[:, None], len(metric.precision), axis=1)
    chains[:, :, index, index] += metric.precision[None, :, None] * anchors[:, None, :]
    inverse: FloatArray = 1.0 / chains if size == 1 else np.linalg.inv(chains)
    return np.ascontiguousarray(inverse.transpose(0, 2, 3, 1))
