"""Batched sequential quadratic programming: many paths are moved downhill at once.

For every path the variables are its waypoints after the start. One iteration solves, path by path,

    min_d  g'd + d'B d / 2   subject to   c + A d >= 0,

with g the gradient of the cost, c and A the slacks of the goal at the end and their gradients,
and B^-1 a limited-memory BFGS approximation on top of a preconditioner from the terrain's shape
(Nocedal and Wright 2006, "Numerical Optimization", chapters 7 and 18,
doi:10.1007/978-0-387-40065-5). Bounds are kept by masking and projection; a backtracking line
search on the l1 merit function accepts the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.planners.descent.objective import Objective, PathValues
from daace.planners.descent.quasi_newton import Metric, StepHistory
from daace.planners.descent.subproblem import chain_preconditioner, solve_subproblem

#: Share of the decrease that the slope promises which a step must bring.
ARMIJO = 1e-4

#: Times that a step is shortened before it is given up.
HALVINGS = 12

#: Consecutive steps without a gain after which a path rests.
PATIENCE = 3

#: Share of the violation that a step must remove to count as a gain. Where the goal is out of
#: reach, rho grows without end, and smaller gains would continue for long.
APPROACH = 1e-2

#: Violation, in nats, at which a path may rest: its end is moved into the goal afterwards.
NEARLY_MET = 1e-6

#: Iterations between two updates of the preconditioner.
REFRESH = 3

#: Times that the active set is updated for one step.
PASSES = 5

#: What belongs to a step of a path.
STEPS = (
    "chain", "multipliers", "rho", "step", "slope", "threshold", "length", "taken", "resting",
)  # fmt: skip

#: A bound that a step would reach within this share of its length counts as active.
SOON = 0.1


@dataclass(frozen=True, eq=False)
class DescentResult:
    """Where a batch of paths ended.

    Attributes:
        Z: free waypoints, shape `(paths, waypoints, n)`.
        cost: of each path, in units of the objective's `unit ** penalty`, shape `(paths,)`.
        violation: sum of the shortfalls of the goal's thresholds, in nats, shape `(paths,)`.
        evaluations: number of paths evaluated.
        segment_costs: shape `(paths, segments)`.
        rested: whether no step promised a gain any more, shape `(paths,)`.
    """

    Z: FloatArray
    cost: FloatArray
    violation: FloatArray
    evaluations: int
    segment_costs: FloatArray
    rested: BoolArray


def minimize(
    objective: Objective,
    Z: FloatArray,
    metric: Metric,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    expired: Callable[[], bool] = lambda: False,
) -> DescentResult:
    """Move a batch of paths to local minima.

    Paths do not wait for each other: in each round every path whose last step was accepted gets a
    new one, every other a shorter one, and all are evaluated together.

    Args:
        objective: cost, goal, bounds.
        Z: free waypoints to begin with, shape `(paths, waypoints, n)`.
        metric: shape of the terrain.
        iterations: largest number of rounds.
        tolerance: a path rests when a step promises less than this share of its cost.
        expired: called once per round; if true, all paths stop where they are.
    """
    state = SqpState.begin(Z, objective.evaluate(Z))
    evaluations, rounds = len(Z), 0
    final, ended = Z.copy(), state.values.take(state.rows)
    rested = np.zeros(len(Z), dtype=bool)
    while len(state.rows):
        _new_steps(objective, state, metric, tolerance)
        evaluations += _line_search(objective, state)
        rounds += 1
        done = state.resting | (state.stalled >= PATIENCE)
        if rounds >= iterations or expired():
            done[:] = True
        if done.any():
            leaving = np.flatnonzero(done)
            final[state.rows[leaving]] = state.Z[leaving]
            rested[state.rows[leaving]] = state.resting[leaving]
            ended.put(state.rows[leaving], state.values.take(leaving))
            staying = np.flatnonzero(~done)
            state, objective = state.take(staying), objective.take(staying)
    return DescentResult(final, ended.cost, ended.violation, evaluations, ended.costs, rested)


@dataclass(eq=False)
class SqpState:
    """The paths of a batch that still move; row i of every array belongs to the same path.

    Attributes:
        rows: number of each path in the batch.
        Z: free waypoints.
        values: cost, slacks and gradients there.
        history: the last steps.
        chain: preconditioners, by `chain_preconditioner`.
        multipliers: of the goal constraints.
        rho: weight of the violation in the merit function.
        step: the current step.
        slope: of the merit function along the step.
        threshold: smallest change of the merit that counts as a gain.
        length: share of the step that is tried next.
        tries: shares of the step that were rejected; 0 if a new step is needed.
        taken: number of steps, those that were given up included.
        stalled: number of consecutive steps without a gain.
        resting: whether no step promises a gain.
    """

    rows: IntArray
    Z: FloatArray
    values: PathValues
    history: StepHistory
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
    def begin(cls, Z: FloatArray, values: PathValues) -> SqpState:
        """Return the state before the first step."""
        paths, waypoints, n = Z.shape
        rho, slope, threshold, length = np.zeros((4, paths))
        tries, taken, stalled = np.zeros((3, paths), dtype=np.intp)
        return cls(
            rows=np.arange(paths),
            Z=Z.copy(),
            values=values,
            history=StepHistory.empty(Z.shape),
            chain=np.empty((paths, waypoints, waypoints, n)),
            multipliers=np.zeros_like(values.slack),
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
    def waiting(self) -> BoolArray:
        """Which paths need a new step."""
        waiting: BoolArray = self.tries == 0
        return waiting

    @property
    def merit(self) -> FloatArray:
        """Value of the merit function."""
        return self.values.merit(self.rho)

    def take(self, rows: np.ndarray) -> SqpState:
        """Return the state of some of the paths."""
        parts = (getattr(self, name) for name in self.__dataclass_fields__)
        return SqpState(*(p[rows] if isinstance(p, np.ndarray) else p.take(rows) for p in parts))

    def put_steps(self, rows: np.ndarray, other: SqpState) -> None:
        """Take over the new steps of some of the paths, and what belongs to them."""
        for name in STEPS:
            getattr(self, name)[rows] = getattr(other, name)


def _new_steps(objective: Objective, state: SqpState, metric: Metric, tolerance: float) -> None:
    """Compute a step for the paths that need one."""
    waiting = np.flatnonzero(state.waiting)
    if len(waiting) == 0:
        return
    part = state if len(waiting) == len(state.rows) else state.take(waiting)
    objective, Z, values = objective.take(waiting), part.Z, part.values
    old = np.flatnonzero(part.taken % REFRESH == 0)
    if len(old):
        here = values if len(old) == len(Z) else values.take(old)
        part.chain[old] = chain_preconditioner(
            objective.take(old), here, part.multipliers[old], metric
        )
    tangent = objective.tangent(Z, -values.lagrangian(part.multipliers))
    step, multipliers = solve_subproblem(
        values, tangent, part.history, part.chain, metric, part.multipliers
    )
    crossing = np.ones(len(Z), dtype=bool)
    for _ in range(PASSES - 1):  # path by path: a step within the bounds is final
        tangent = objective.tangent(Z, step, share=SOON)
        crossing &= tangent.cuts(step)
        if not crossing.any():
            break
        found = solve_subproblem(values, tangent, part.history, part.chain, metric, multipliers)
        step[crossing], multipliers[crossing] = (share[crossing] for share in found)
    reach = np.sqrt(np.einsum("bmn,bmn->bm", step, step).max(axis=1))
    limit = np.maximum(1.0, values.lengths.sum(axis=1))
    step *= np.minimum(1.0, limit / np.maximum(reach, 1e-300))[:, None, None]

    rho, largest = part.rho, multipliers.max(axis=1)
    part.multipliers = multipliers
    part.rho = np.maximum(np.where(rho > 10 * largest, 0.5 * rho, rho), 1.5 * largest)
    part.step = step
    part.slope = np.einsum("bmn,bmn->b", values.gradient, step) - part.rho * values.violation
    part.threshold = tolerance * np.abs(values.costs).sum(axis=1)
    part.threshold += APPROACH * part.rho * values.violation
    part.resting = (-part.slope <= part.threshold) & (values.violation <= NEARLY_MET)
    part.length = np.ones(len(Z))
    part.taken = part.taken + 1
    if part is not state:
        state.put_steps(waiting, part)


def _line_search(objective: Objective, state: SqpState) -> int:
    """Try the step of every path; return how many paths were evaluated.

    A step is accepted if the merit falls enough, shortened otherwise, and given up after
    `HALVINGS` tries.
    """
    merit = state.merit
    moving = np.flatnonzero(~state.resting & (state.slope < 0))
    taken = np.zeros(len(state.rows), dtype=bool)
    if len(moving):
        taken[moving] = _try(objective, state, moving, merit[moving])
    given_up = ~state.resting & ~taken & (~(state.slope < 0) | (state.tries == HALVINGS))
    state.history.forget(given_up)
    ended = taken | given_up
    gained = merit - state.merit > state.threshold
    state.stalled[ended] = np.where(gained, 0, state.stalled + 1)[ended]
    state.tries[ended] = 0
    return len(moving)


def _try(objective: Objective, state: SqpState, moving: IntArray, merit: FloatArray) -> BoolArray:
    """Move the paths whose merit falls enough; return which they are, and shorten all steps."""
    slope, length = state.slope[moving], state.length[moving]
    objective = objective.take(moving)
    trial = objective.project(state.Z[moving] + length[:, None, None] * state.step[moving])
    fresh = objective.evaluate(trial)
    reached = fresh.merit(state.rho[moving])
    expected = length * slope
    accepted: BoolArray = reached <= merit + ARMIJO * expected
    # The next length is the minimum of the parabola through both values and the slope.
    bend = np.maximum(reached - merit - expected, 1e-9 * np.abs(expected) + 1e-300)
    state.length[moving] = length * np.clip(-0.5 * expected / bend, 0.1, 0.5)
    state.tries[moving] += 1

    before, there = state.values, moving
    if not accepted.all():
        chosen = np.flatnonzero(accepted)
        there, trial, fresh = moving[chosen], trial[chosen], fresh.take(chosen)
    change = fresh.gradient - before.gradient[there]
    turned = fresh.slopes - before.slopes[there]
    change[:, -1] -= np.einsum("bc,bcn->bn", state.multipliers[there], turned)
    state.history.add(there, trial - state.Z[there], change)
    if len(there) == len(state.rows):
        state.Z, state.values = trial, fresh
    else:
        state.Z[there] = trial
        before.put(there, fresh)
    return accepted
