"""Paths in which some features are held at the start, moved downhill together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.problem import Problem
from daace.planners.base import Clock
from daace.planners.descent import PathDescent, ProblemBatch, restore_end
from daace.planners.descent.batch import FAR_FROM_GOAL

#: Largest number of rounds while sets of features are compared. More find hardly fewer features.
ROUNDS = 15

#: A path rests when a step promises less than this share of its cost.
REST = 1e-4

#: Shortfall of the goal, in nats, from which an end is moved into it.
NEAR_GOAL = 1.0


@dataclass(frozen=True, eq=False)
class HeldPaths:
    """Descent of paths of several problems, each with its own set of free features.

    Args:
        batch: problems without discrete rules.
        clock: counts evaluations and limits the time.
    """

    batch: ProblemBatch
    clock: Clock

    @cached_property
    def descent(self) -> PathDescent:
        """The descent of all paths."""
        return PathDescent.over(self.batch.problems[0], tolerance=REST, clock=self.clock)

    def bounds(self, owner: IntArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds, shape `(paths, n)`: both are the start where it is held.

        Args:
            owner: index of the problem of each path, shape `(paths,)`.
            free: which features may change, shape `(paths, features)`.
        """
        x = self.batch.starts[owner]
        moves = columns_of(self.batch.problems[0], free)
        lower = np.where(moves, self.batch.lower[owner], x)
        return lower, np.where(moves, self.batch.upper[owner], x)

    def move(
        self,
        owner: IntArray,
        paths: FloatArray,
        free: BoolArray,
        *,
        limit: FloatArray,
        rounds: int = ROUNDS,
    ) -> tuple[FloatArray, FloatArray]:
        """Move paths downhill; return them and their costs, infinite where the goal is missed.

        Args:
            owner: index of the problem of each path, shape `(paths,)`.
            paths: initial paths, shape `(paths, waypoints, n)`; held features go to the start.
            free: which features may change, shape `(paths, features)`.
            limit: cost from which on a path is of no use, in units of `unit ** penalty`, shape
                `(paths,)`.
            rounds: largest number of rounds.
        """
        batch, rules = self.batch, self.batch.problems[0].feasible
        lower, upper = self.bounds(owner, free)
        moved = np.clip(paths, lower[:, None], upper[:, None])
        moved[:, 0] = batch.starts[owner]
        if rules.codes is not None:
            placed = np.clip(rules.codes.place(moved), lower[:, None], upper[:, None])
            moved[:, 1:] = placed[:, 1:]
        costs = np.full(len(owner), np.inf)
        rows = np.arange(len(owner))
        if not batch.terrain.region.differentiable:  # the ends stay, so they must be inside
            rows = np.flatnonzero(batch.terrain.region.take(owner).contains(moved[:, -1]))
        short = np.zeros(len(owner))
        for nodes, part in self.descent.by_nodes(moved[rows], owner[rows]):
            some = rows[part]
            terrain, unit = batch.terrain.take(owner[some]), batch.unit[owner[some]]
            result = self.descent.minimize(
                moved[some],
                nodes=nodes,
                lower=lower[some],
                upper=upper[some],
                unit=unit,
                terrain=terrain,
                iterations=rounds,
            )
            moved[some, 1:] = result.Z
            fine = self.descent.costs(
                moved[some], nodes=2 * nodes, unit=unit, landscape=terrain.landscape
            )
            costs[some], short[some] = fine.sum(axis=1), result.violation
        near = (short > FAR_FROM_GOAL) & (short <= NEAR_GOAL) & (costs <= limit)
        costs[(short > FAR_FROM_GOAL) & ~near] = np.inf
        for k in np.flatnonzero(near):
            reached = self.enter_goal(int(owner[k]), moved[k], free[k])
            costs[k] = np.inf if reached is None else self.cost(int(owner[k]), reached)
            moved[k] = moved[k] if reached is None else reached
        return moved, costs

    def enter_goal(self, i: int, path: FloatArray, free: BoolArray) -> FloatArray | None:
        """Return the path of a problem with its end moved into the goal; None if it cannot be.

        Args:
            i: index of the problem.
            path: shape `(waypoints, n)`; its end misses the goal by little.
            free: which features may change.
        """
        problem = self.batch.problems[i]
        lower, upper = self.bounds(np.array([i]), free[None])
        path = restore_end(problem, path, self.descent.metric, bounds=(lower[0], upper[0]))
        good = problem.feasible.contains(path) and problem.met_by(path[-1])
        return path if good else None

    def cost(self, i: int, path: FloatArray) -> float:
        """Return the cost of a path of a problem, in units of `unit ** penalty`.

        Not finite if it is too large.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            unit = self.batch.unit[i] ** self.batch.landscape.penalty
            return float(np.float64(self.batch.problems[i].path_cost(path)) / unit)


def columns_of(problem: Problem, features: BoolArray) -> BoolArray:
    """Return the columns of features, shape `(..., n)`: a number's atom code goes with it.

    Args:
        problem: the problem, with the encoding.
        features: shape `(..., features)`.
    """
    columns = np.zeros((*features.shape[:-1], len(problem.x)), dtype=bool)
    columns[..., : features.shape[-1]] = features
    for j, column in problem.landscape.density.encoding_.atom_columns.items():
        columns[..., column] = features[..., j]
    return columns


def changed_features(problem: Problem, waypoints: FloatArray) -> BoolArray:
    """Return which features change along a path, shape `(features,)`."""
    changed = (waypoints != problem.x).any(axis=0)
    encoding = problem.landscape.density.encoding_
    features: BoolArray = changed[: len(encoding.features)].copy()
    for j, column in encoding.atom_columns.items():
        features[j] |= changed[column]
    return features
