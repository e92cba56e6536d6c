"""Many paths at once, each moved downhill to its goal: batched limited-memory SQP.

For every path the variables are its waypoints after the start. One iteration solves, path by path,

    min_d  g'd + d'B d / 2   subject to   c + A d >= 0,

with g the gradient of the cost, c and A the two goal slacks at the end and their gradients, and
B^-1 a limited-memory BFGS approximation on top of a preconditioner that knows the terrain's shape.
Two constraints have a dual of two variables, solved by enumeration. Bounds are kept by masking and
projection; a backtracking search on the l1 merit function accepts the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.path import EPSILON
from daace.planners.objective import Objective, Values
from daace.planners.quasi_newton import Memory, Metric
from daace.planners.tangent import Tangent

ARMIJO = 1e-4
HALVINGS = 12

#: Steps in a row that may gain nothing.
PATIENCE = 3

#: Iterations between two looks at the shape of the terrain.
REFRESH = 3

#: Looks at what a step would push across a bound, before it is taken.
PASSES = 5

#: A bound that a step would meet after this share of its way is taken for met.
SOON = 0.1

#: Rounding, relative to the terms of a sum.
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where a batch of paths ended.

    Attributes:
        Z: free waypoints, shape `(paths, waypoints, n)`.
        cost: in units of the objective's `unit ** penalty`.
        violation: sum of the goal's shortfalls, in nats.
        evaluations: paths evaluated.
        segment_costs: shape `(paths, segments)`.
    """

    Z: FloatArray
    cost: FloatArray
    violation: FloatArray
    evaluations: int
    segment_costs: FloatArray


def minimize(
    objective: Objective,
    Z: FloatArray,
    metric: Metric,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    expired: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Move a batch of paths to local minima.

    Nobody waits for another: in each round every path that has taken its last step gets a new one,
    every other a shorter one, and all are evaluated together.

    Args:
        objective: cost, goal, bounds.
        Z: free waypoints to begin with, shape `(paths, waypoints, n)`.
        metric: shape of the terrain.
        iterations: most steps per path.
        tolerance: a path rests when a step promises less than this share of its cost.
        expired: asked once per round; stops everything where it stands.
    """
    walk = Walk.begin(Z, objective.evaluate(Z, np.arange(len(Z))))
    evaluations = len(Z)
    final, ended = Z.copy(), walk.values.take(walk.rows)
    while len(walk.rows):
        _aim(objective, walk, metric, tolerance)
        evaluations += _step(objective, walk)
        over = walk.aiming & (walk.taken >= iterations)
        done = walk.resting | (walk.stalled >= PATIENCE) | over
        if expired():
            done[:] = True
        if done.any():
            leaving = np.flatnonzero(done)
            final[walk.rows[leaving]] = walk.Z[leaving]
            ended.put(walk.rows[leaving], walk.values, leaving)
            walk = walk.take(np.flatnonzero(~done))
    return Outcome(final, ended.cost, ended.violation, evaluations, ended.costs)


@dataclass(eq=False)
class Walk:
    """Where the paths of a batch are that still move; row i of every array belongs to one of them.

    Attributes:
        rows: which paths of the batch they are.
        Z: their free waypoints.
        values: what is known there.
        memory: of their last steps.
        chain: their preconditioners.
        multipliers: of the two goal constraints.
        rho: what a nat of violation costs in the merit function.
        step: where they want to go.
        slope: of the merit function along the step.
        threshold: a gain that does not count as one.
        length: share of the step that is tried next.
        tries: shares of it that were too much; 0 where a new step is wanted.
        taken: steps, also those that led nowhere.
        stalled: steps in a row that gained nothing.
        resting: whether no step promises anything.
    """

    rows: IntArray
    Z: FloatArray
    values: Values
    memory: Memory
    chain: FloatArray
    multipliers: FloatArray
    rho: FloatArray
    step: FloatArray
    slope: FloatArray
    threshold: FloatArray
    length: FloatArray
    tries: IntArray
    taken: IntArray
    stalled: IntArray
    resting: BoolArray

    @classmethod
    def begin(cls, Z: FloatArray, values: Values) -> Walk:
        """Begin with all paths of a batch."""
        paths, waypoints, n = Z.shape
        rho, slope, threshold, length = np.zeros((4, paths))
        tries, taken, stalled = np.zeros((3, paths), dtype=np.intp)
        return cls(
            rows=np.arange(paths),
            Z=Z.copy(),
            values=values,
            memory=Memory.empty(Z.shape),
            chain=np.empty((paths, n, waypoints, waypoints)),
            multipliers=np.zeros((paths, 2)),
            rho=rho,
            step=np.zeros_like(Z),
            slope=slope,
            threshold=threshold,
            length=length,
            tries=tries,
            taken=taken,
            stalled=stalled,
            resting=np.zeros(paths, dtype=bool),
        )

    @property
    def aiming(self) -> BoolArray:
        """Which paths want a new step."""
        wanting: BoolArray = self.tries == 0
        return wanting

    @property
    def merit(self) -> FloatArray:
        """Cost and violation in one number."""
        return self.values.merit(self.rho)

    def take(self, rows: np.ndarray) -> Walk:
        """Return some of the paths."""
        parts = (getattr(self, name) for name in self.__dataclass_fields__)
        return Walk(*(p[rows] if isinstance(p, np.ndarray) else p.take(rows) for p in parts))


def _aim(objective: Objective, walk: Walk, metric: Metric, tolerance: float) -> None:
    """Give a new step to the paths that want one."""
    aiming = np.flatnonzero(walk.aiming)
    if len(aiming) == 0:
        return
    Z, rows, values = walk.Z[aiming], walk.rows[aiming], walk.values.take(aiming)
    multipliers, memory = walk.multipliers[aiming], walk.memory.take(aiming)
    old = aiming[walk.taken[aiming] % REFRESH == 0]
    if len(old):
        walk.chain[old] = _chain_preconditioner(
            objective, walk.values.take(old), walk.multipliers[old], walk.rows[old], metric
        )
    chain = walk.chain[aiming]
    tangent = objective.tangent(Z, -values.lagrangian(multipliers), rows)
    step, crossing = np.zeros_like(Z), np.ones(len(Z), dtype=bool)
    for _ in range(PASSES):  # each path on its own: one that is within its bounds keeps its step
        found = _solve_subproblem(values, tangent, memory, chain, metric)
        step[crossing], multipliers[crossing] = (part[crossing] for part in found)
        narrower = objective.tangent(Z, step, rows, share=SOON)
        beyond = np.abs(narrower(step) - step).max(axis=(1, 2))
        crossing &= ~(beyond <= TINY * np.abs(step).max(axis=(1, 2)))
        if not crossing.any():
            break
        tangent = narrower
    reach = np.sqrt((step**2).sum(axis=2).max(axis=1))
    limit = np.maximum(1.0, values.lengths.sum(axis=1))
    step *= np.minimum(1.0, limit / np.maximum(reach, 1e-300))[:, None, None]

    rho, largest = walk.rho[aiming], multipliers.max(axis=1)
    rho = np.maximum(np.where(rho > 10 * largest, 0.5 * rho, rho), 1.5 * largest)
    slope = np.einsum("bmn,bmn->b", values.gradient, step) - rho * values.violation
    threshold = tolerance * np.abs(values.costs).sum(axis=1)
    walk.step[aiming], walk.multipliers[aiming], walk.rho[aiming] = step, multipliers, rho
    walk.slope[aiming], walk.threshold[aiming] = slope, threshold
    walk.resting[aiming] = (-slope <= threshold) & (values.violation <= 1e-7)
    walk.length[aiming] = 1.0
    walk.taken[aiming] += 1


def _step(objective: Objective, walk: Walk) -> int:
    """Try every path's step; return how many there were.

    Taken where the merit falls, shorter the next time elsewhere, given up after too many tries.
    """
    merit = walk.merit
    moving = np.flatnonzero(~walk.resting & (walk.slope < 0))
    taken = np.zeros(len(walk.rows), dtype=bool)
    if len(moving):
        taken[moving] = _try(objective, walk, moving, merit[moving])
    given_up = ~walk.resting & ~taken & (~(walk.slope < 0) | (walk.tries == HALVINGS))
    walk.memory.forget(given_up)
    ended = taken | given_up
    gained = merit - walk.merit > walk.threshold
    walk.stalled[ended] = np.where(gained, 0, walk.stalled + 1)[ended]
    walk.tries[ended] = 0
    return len(moving)


def _try(objective: Objective, walk: Walk, moving: IntArray, merit: FloatArray) -> BoolArray:
    """Move those of some paths whose merit falls; return which did, and shorten all steps."""
    slope, length, rows = walk.slope[moving], walk.length[moving], walk.rows[moving]
    trial = objective.project(walk.Z[moving] + length[:, None, None] * walk.step[moving], rows)
    fresh = objective.evaluate(trial, rows)
    reached = fresh.merit(walk.rho[moving])
    accepted: BoolArray = reached <= merit + ARMIJO * length * slope
    # The parabola through both values and the slope says how far the step should have been.
    expected = length * slope
    bend = np.maximum(reached - merit - expected, 1e-9 * np.abs(expected) + 1e-300)
    walk.length[moving] = length * np.clip(-0.5 * expected / bend, 0.1, 0.5)
    walk.tries[moving] += 1

    chosen = np.flatnonzero(accepted)
    there = moving[chosen]
    multipliers = walk.multipliers[there]
    before = walk.values.take(there).lagrangian(multipliers)
    change = fresh.take(chosen).lagrangian(multipliers) - before
    walk.memory.add(there, trial[chosen] - walk.Z[there], change)
    walk.Z[there] = trial[chosen]
    walk.values.put(there, fresh, chosen)
    return accepted


def _solve_subproblem(
    values: Values, tangent: Tangent, memory: Memory, chain: FloatArray, metric: Metric
) -> tuple[FloatArray, FloatArray]:
    """Return the step and the multipliers of the two goal constraints."""
    right = np.zeros((3, *values.gradient.shape))
    right[0] = values.gradient
    right[1:, :, -1] = values.slopes.transpose(1, 0, 2)
    right = tangent(right)
    solved = tangent(memory.apply(right, chain, metric))
    gram = np.einsum("cbmn,dbmn->bcd", right[1:], solved[1:])
    promise = values.slack - np.einsum("cbmn,bmn->bc", right[1:], solved[0])
    size = np.einsum("bcn,bcn->bc", values.slopes, values.slopes)
    held = np.einsum("cbmn,cbmn->bc", right[1:], right[1:]) <= 1e-12 * size
    promise[held] = np.maximum(promise[held], 0.0)  # bounds hold the end: this threshold must wait
    multipliers = solve_dual(gram, promise)
    step = np.einsum("bc,cbmn->bmn", multipliers, solved[1:]) - solved[0]
    return step, multipliers


def solve_dual(gram: FloatArray, promise: FloatArray) -> FloatArray:
    """Return `lam >= 0` with `promise + gram lam >= 0` and no slack where lam is positive.

    Args:
        gram: positive semidefinite, shape `(batch, 2, 2)`.
        promise: shape `(batch, 2)`.
    """
    p, q = promise.T
    a, b, c = gram[:, 0, 0], gram[:, 1, 1], gram[:, 0, 1]
    a, b = a + 1e-12 * b + 1e-150, b + 1e-12 * a + 1e-150  # where bounds hold everything
    first = np.maximum(-p, 0.0) / a
    second = np.maximum(-q, 0.0) / b
    first_serves = q + c * first >= -TINY * (np.abs(q) + np.abs(c * first))
    second_serves = p + c * second >= -TINY * (np.abs(p) + np.abs(c * second))
    determinant = np.maximum(a * b - c**2, 1e-12 * a * b)
    both = np.maximum([c * q - b * p, c * p - a * q], 0.0) / determinant
    multipliers = np.where(
        first_serves,
        [first, np.zeros_like(first)],
        np.where(second_serves, [np.zeros_like(second), second], both),
    )
    return np.ascontiguousarray(multipliers.T)


def _chain_preconditioner(
    objective: Objective,
    values: Values,
    multipliers: FloatArray,
    rows: np.ndarray,
    metric: Metric,
) -> FloatArray:
    """Return, for each path and eigendirection, the inverse of a chain of springs.

    Neighbouring waypoints pull on each other by price / length, and each is held by the terrain's
    curvature, the precision times how fast the price grows. Shape `(paths, n, waypoints,
    waypoints)`.
    """
    land = objective.landscape
    costs = np.abs(values.costs) + 1e-12 * np.abs(values.costs).sum(axis=1, keepdims=True) + 1e-300
    lengths = np.maximum(values.lengths, 1e-3 * values.lengths.sum(axis=1, keepdims=True) + 1e-9)
    pull = costs / lengths**2
    hold = np.zeros_like(costs)
    if land.penalty > 0:
        roughness = (costs / np.maximum(values.lengths, EPSILON)) ** (
            1 / land.penalty
        ) * objective.unit[rows][:, None]
        spread = land.density.draws_.spread if land.scale == "relative" else 1.0
        hold = land.penalty * costs / (np.maximum(roughness, 1e-3) * spread) / 3.0
    size = pull.shape[1]
    springs = np.zeros((len(rows), size, size))
    index = np.arange(size)
    springs[:, index, index] = pull
    springs[:, index[:-1], index[:-1]] += pull[:, 1:]
    springs[:, index[:-1], index[1:]] = springs[:, index[1:], index[:-1]] = -pull[:, 1:]
    ground = hold.copy()
    ground[:, :-1] += hold[:, 1:]
    ground[:, -1] += multipliers[:, 0]
    chains = np.repeat(springs[:, None], len(metric.precision), axis=1)
    chains[:, :, index, index] += metric.precision[None, :, None] * ground[:, None, :]
    inverse: FloatArray = np.linalg.inv(chains)
    return inverse
