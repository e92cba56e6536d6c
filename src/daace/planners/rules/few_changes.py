"""Paths that change few features: some are held at the start while the cost grows by a share.

From the best path on, sets of features to hold are proposed by `elimination`, several sizes at
once, and the paths of all problems and sets move downhill together (`held_paths`). The smallest set
of changes that keeps to the limit is where the next round begins. What is proposed rests on the
shape of the terrain at the end of a path: where that leads no further and still many features
change, each is tried by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.planners.base import Clock, Plan, Status
from daace.planners.descent import ProblemBatch
from daace.planners.descent.path_descent import ITERATIONS
from daace.planners.rules.elimination import Elimination, curvature, eliminate
from daace.planners.rules.held_paths import HeldPaths, changed_features, columns_of

#: Shares of the changing features that the first round tries to hold.
FIRST_DROPS = (0.9, 0.7, 0.5, 0.3, 0.12)

#: Largest number of rounds, and of those in which each feature is tried by itself.
ROUNDS, ALONE_ROUNDS = 8, 12

#: Number of changes that people can follow: with no more, features are not tried by themselves.
FOLLOWED = 5

#: With at most this many sets of the wanted size, all are tried; else this many neighbours of the
#: best one.
SETS = 60

#: Rounds in which one feature takes the place of another.
SWAPS = 2

#: Sets that are moved to rest, the best first, until one keeps to everything.
FINISHED = 3


class FreeSet(NamedTuple):
    """A path and the features that it may change; the cost is in units of `unit ** penalty`."""

    free: BoolArray
    path: FloatArray
    cost: float

    @property
    def size(self) -> int:
        """Number of features that may change."""
        return int(self.free.sum())


@dataclass(eq=False)
class Trials:
    """The sets tried for one problem.

    Args:
        index: index of the problem in its batch.
        plain: the best path without a limit on the changes.
        limit: largest cost for fewer changes, in the unit of the sets' costs.
        sparse: whether fewer changes than `most` are wanted.
        most: largest number of features that may change.
        seen: all sets by their features.
        drop: features that the last round held; 0 before the first.
        alone: whether each feature is tried by itself in the next round.
        stuck: whether no single feature could be held.
    """

    index: int
    plain: FreeSet
    limit: float
    sparse: bool
    most: int
    seen: dict[bytes, FreeSet] = field(default_factory=dict)
    drop: int = 0
    alone: bool = False
    stuck: bool = False

    def __post_init__(self) -> None:
        self.add(self.plain)

    def add(self, one: FreeSet) -> None:
        """Add a set, or a cheaper path of a known one."""
        known = self.seen.get(one.free.tobytes())
        if known is None or one.cost < known.cost:
            self.seen[one.free.tobytes()] = one

    def ranked(self) -> list[FreeSet]:
        """Return the sets that reach the goal, those that answer the question best first."""
        found = [one for one in self.seen.values() if np.isfinite(one.cost)]

        def rank(one: FreeSet) -> tuple[bool, bool, float, float]:
            many, dear = one.size > self.most, one.cost > self.limit
            by_count = many or (self.sparse and not dear)
            return many, dear and not many and self.sparse, by_count * one.size, one.cost

        return sorted(found, key=rank)

    @property
    def best(self) -> FreeSet:
        """The set that answers the question best."""
        return self.ranked()[0]

    @property
    def highest(self) -> float:
        """Cost from which on a path is of no use."""
        if self.best.size > self.most or not self.sparse:
            return np.inf
        return max(self.limit, self.best.cost)

    @property
    def over(self) -> bool:
        """Whether no more features need to be held."""
        best = self.best
        enough = best.size <= self.most and (not self.sparse or best.cost > self.limit)
        return self.stuck or enough or best.size <= 1

    def sizes(self) -> set[int]:
        """Return the numbers of changes to try next."""
        count, drop = self.best.size, self.drop
        if self.alone:
            return {count - 1}
        drops = {int(np.ceil(count * share)) for share in FIRST_DROPS}
        if drop:
            drops = {2 * drop, drop, -(-drop // 2), -(-drop // 4), 1}
        return {count - some for some in drops if 1 <= some < count}

    def learn(self, before: int, sizes: set[int]) -> None:
        """Adapt the number of features to hold next.

        Args:
            before: number of changes before the round.
            sizes: numbers that it tried.
        """
        after, least = self.best.size, before - max(sizes)
        if after < before:
            self.drop = before - after
        elif least > 1:
            self.drop = least // 2
        else:
            self.stuck = self.alone
            self.alone = True
        self.stuck |= self.alone and after <= FOLLOWED


@dataclass(frozen=True, eq=False)
class FewChanges:
    """Holds features of several problems at the start.

    Args:
        batch: problems without discrete rules.
        plans: their best paths.
        sparsity: share by which the cost may grow for fewer changes.
        most: largest number of features that may change; None for any.
        clock: counts evaluations and limits the time.
    """

    batch: ProblemBatch
    plans: Sequence[Plan]
    sparsity: float
    most: int | None
    clock: Clock

    def solve(self) -> dict[int, FreeSet]:
        """Return the set of each problem that has a path, with a path to the goal.

        A set may have more than `most` features if no path was found with fewer.
        """
        held = HeldPaths(self.batch, self.clock)
        trials = [
            self._begin(held, i)
            for i, plan in enumerate(self.plans)
            if plan.status is Status.FOUND and len(plan.waypoints) > 1
        ]
        trials = [trial for trial in trials if np.isfinite(trial.plain.cost)]
        for _ in range(ALONE_ROUNDS + (ROUNDS if self.most is None else 2 * ROUNDS)):
            going = [trial for trial in trials if not trial.over]
            if not going or self.clock.expired:
                break
            sizes = [trial.sizes() for trial in going]
            before = [trial.best.size for trial in going]
            begin = [trial.best for trial in going]
            self._try(held, going, [*self._smaller(held, going, begin, sizes)])
            for trial, count, tried in zip(going, before, sizes, strict=True):
                trial.learn(count, tried)
        if self.most is not None:
            self._improve(held, trials)
        return self._finish(held, trials)

    def _begin(self, held: HeldPaths, i: int) -> Trials:
        problem, plan = self.batch.problems[i], self.plans[i]
        plain = FreeSet(
            changed_features(problem, plan.waypoints), plan.waypoints, held.cost(i, plan.waypoints)
        )
        limit = plain.cost + self.sparsity * abs(plain.cost)
        most = len(plain.free) if self.most is None else self.most
        return Trials(i, plain, limit, self.sparsity > 0, most)

    def _try(
        self, held: HeldPaths, trials: list[Trials], proposals: list[tuple[int, FreeSet]]
    ) -> None:
        """Move the paths of new sets downhill and remember them.

        Args:
            held: the descent that moves them.
            trials: trials of some problems.
            proposals: positions among the trials, and sets with paths to begin with.
        """
        fresh = [
            (trials[k], one)
            for k, one in proposals
            if one.free.any() and one.free.tobytes() not in trials[k].seen
        ]
        for waypoints in sorted({len(one.path) for _, one in fresh}):
            some = [(trial, one) for trial, one in fresh if len(one.path) == waypoints]
            paths, costs = held.move(
                np.array([trial.index for trial, _ in some]),
                np.stack([one.path for _, one in some]),
                np.stack([one.free for _, one in some]),
                limit=np.array([trial.highest for trial, _ in some]),
            )
            for (trial, one), path, cost in zip(some, paths, costs, strict=True):
                trial.add(FreeSet(one.free, path, float(cost)))

    def _smaller(
        self,
        held: HeldPaths,
        trials: list[Trials],
        begin: list[FreeSet],
        sizes: list[set[int]],
    ) -> Iterator[tuple[int, FreeSet]]:
        """Yield smaller sets, and where their paths may begin.

        Args:
            held: the descent, with the shape of the terrain.
            trials: trials of some problems.
            begin: the set of each trial from which features are removed.
            sizes: the wanted numbers of changes.
        """
        owner = np.array([trial.index for trial in trials])
        ends = np.stack([one.path[-1] for one in begin])
        slack, pullback = self.batch.terrain.region.take(owner).slack_and_pullback(ends)
        slopes = pullback()
        for k, (one, wanted) in enumerate(zip(begin, sizes, strict=True)):
            x = self.batch.starts[owner[k]]
            known = slopes.shape[1]  # a classifier made of trees has no slopes
            H = curvature(held.descent.metric, ends[k] - x, slack[k, :known], slopes[k])
            numbers = np.flatnonzero(columns_of(self.batch.problems[0], one.free) & self._numbers)
            order = eliminate(H, x, ends[k], numbers)
            for smaller in _chain(one, order, wanted):
                yield k, smaller
            alone = trials[k].alone | ~self._numbers[: len(one.free)]
            for j in np.flatnonzero(one.free & alone):
                yield k, one._replace(free=_with(one.free, int(j), value=False))

    @property
    def _numbers(self) -> BoolArray:
        """Which columns of the model array hold no codes."""
        numbers = np.ones(self.batch.starts.shape[1], dtype=bool)
        switches = self.batch.landscape.switches
        if switches is not None:
            numbers[switches.columns] = False
        return numbers

    def _improve(self, held: HeldPaths, trials: list[Trials]) -> None:
        """Look for a cheaper set with no more than `most` features, or for any with so few."""
        larger = [
            min(
                (one for one in trial.seen.values() if one.size > trial.most),
                key=lambda one: (not np.isfinite(one.cost), one.size),
                default=trial.best,
            )
            for trial in trials
        ]
        if trials and not self.clock.expired:
            sizes = [{trial.most} for trial in trials]
            self._try(held, trials, [*self._smaller(held, trials, larger, sizes)])
        going = list(trials)
        for _ in range(SWAPS):
            if not going or self.clock.expired:
                break
            before = [trial.best for trial in going]
            neighbours = [(k, one) for k, trial in enumerate(going) for one in _neighbours(trial)]
            self._try(held, going, neighbours)
            going = [t for t, one in zip(going, before, strict=True) if t.best is not one]

    def _finish(self, held: HeldPaths, trials: list[Trials]) -> dict[int, FreeSet]:
        """Return the best set of each problem with its path at rest, inside goal and limit.

        The first of the ranked sets that can be finished; the plain one if none of them can.
        """
        done = {trial.index: trial.plain for trial in trials}
        going = [trial for trial in trials if trial.best is not trial.plain]
        ranked = {trial.index: trial.ranked() for trial in going}
        for place in range(FINISHED):
            going = [t for t in going if ranked[t.index][place] is not t.plain]
            if not going:
                break
            sets = [ranked[trial.index][place] for trial in going]
            rested = self._rest(held, going, sets)
            for trial, path, one in zip(going, rested, sets, strict=True):
                for candidate in (path, one.path):
                    reached = held.enter_goal(trial.index, candidate, one.free)
                    cost = np.inf if reached is None else held.cost(trial.index, reached)
                    if reached is not None and not one.cost <= trial.limit < cost:
                        done[trial.index] = FreeSet(one.free, reached, cost)
                        break
            going = [trial for trial in going if done[trial.index] is trial.plain]
        return done

    def _rest(self, held: HeldPaths, trials: list[Trials], sets: list[FreeSet]) -> list[FloatArray]:
        """Return the paths of sets, moved to rest."""
        rested = [one.path for one in sets]
        for waypoints in {len(one.path) for one in sets}:
            rows = [k for k, one in enumerate(sets) if len(one.path) == waypoints]
            paths, _ = held.move(
                np.array([trials[k].index for k in rows]),
                np.stack([sets[k].path for k in rows]),
                np.stack([sets[k].free for k in rows]),
                limit=np.full(len(rows), -np.inf),
                rounds=ITERATIONS,
            )
            for k, path in zip(rows, paths, strict=True):
                rested[k] = path
        return rested


def _chain(one: FreeSet, order: Elimination, sizes: set[int]) -> Iterator[FreeSet]:
    """Yield the sets of some sizes; their paths are shifted so that they end where expected."""
    free, count = one.free, one.size
    share = np.linspace(0.0, 1.0, len(one.path))[:, None]
    for column, end in zip(order.order, order.ends, strict=True):
        free, count = _with(free, column, value=False), count - 1
        if count in sizes:
            yield FreeSet(free, one.path + share * (end - one.path[-1]), np.inf)


def _neighbours(trial: Trials) -> Iterator[FreeSet]:
    """Yield sets of `most` features: all if they are few, else those with one feature swapped."""
    plain, best = trial.plain, trial.best
    movable = np.flatnonzero(plain.free)
    if comb(len(movable), min(trial.most, len(movable))) <= SETS:
        for chosen in combinations(movable, min(trial.most, len(movable))):
            free = np.zeros_like(plain.free)
            free[list(chosen)] = True
            yield FreeSet(free, plain.path, np.inf)
        return
    if best.size > trial.most:
        return
    moves = np.abs(plain.path - plain.path[0]).max(axis=0)[: len(plain.free)]
    others = [j for j in np.argsort(-moves, kind="stable") if plain.free[j] and not best.free[j]]
    for j in others[: max(1, SETS // (best.size + 1))]:
        more = _with(best.free, j, value=True)
        if best.size < trial.most:
            yield best._replace(free=more)
        for k in np.flatnonzero(best.free):
            yield best._replace(free=_with(more, int(k), value=False))


def _with(free: BoolArray, j: int, *, value: bool) -> BoolArray:
    changed = free.copy()
    changed[j] = value
    return changed
