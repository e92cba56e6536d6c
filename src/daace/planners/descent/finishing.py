"""From candidates at rest to paths that end in the goal: the last steps of a descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.planners.descent.batch import Candidates, ProblemBatch
from daace.planners.descent.goal_edge import restore_end, settle_end
from daace.planners.descent.last_step import shorten_last_step
from daace.planners.descent.refinement import RULE_TOLERANCE, Refinement
from daace.planners.descent.tails import improve_tails

#: Times that an end without a gradient is moved back and the other waypoints follow.
SHORTENED = 3


@dataclass(frozen=True, eq=False)
class Finishing:
    """Turns candidates of a batch into paths that meet the goal.

    Args:
        batch: the problems.
        refinement: the descent of their candidates.
        inside: for each problem, points that meet its goal, shape `(points, n)`.
    """

    batch: ProblemBatch
    refinement: Refinement
    inside: Mapping[int, FloatArray]

    def best_paths(
        self, owners: list[int], candidates: Candidates
    ) -> dict[int, tuple[float, FloatArray | None]]:
        """Return the cost of the cheapest path that meets the goal, and that path, by problem.

        It is the first candidate that reaches the goal, unless moving its end into the goal was
        expensive; then all candidates of the problem are compared. Infinity and None if there is
        no such path.

        Args:
            owners: indices of the problems.
            candidates: their paths, the best first.
        """
        arrived: dict[int, FloatArray] = {}
        expected: dict[int, float] = {}
        for i in owners:
            for k in np.flatnonzero(candidates.owner == i):
                path = self._reach_goal(i, candidates.paths[k])
                if path is not None:
                    arrived[i], expected[i] = path, float(candidates.cost[k])
                    break
        nothing: dict[int, tuple[float, FloatArray | None]] = dict.fromkeys(owners, (np.inf, None))
        if not arrived:
            return nothing
        batch, result = self.batch, dict[int, tuple[float, FloatArray]]()
        paths = np.stack(list(arrived.values()))
        land = batch.terrain.take(np.array(list(arrived))).landscape
        costs = land.path_costs(paths, weights=self.refinement.descent.weights)
        for i, path, cost in zip(arrived, paths, costs, strict=True):
            result[i] = float(cost), path
            with np.errstate(over="ignore", invalid="ignore"):  # infinite costs are all alike
                surplus = cost - expected[i] * batch.unit[i] ** batch.landscape.penalty
            if np.isfinite(cost) and surplus > RULE_TOLERANCE * abs(cost):
                result[i] = self._best_path(i, candidates)
            if not batch.terrain.region.differentiable:
                shorter = self._shorten(i, result[i][1])
                result[i] = batch.problems[i].path_cost(shorter), shorter
        return nothing | result

    def polish(self, i: int, path: FloatArray) -> FloatArray:
        """Return the path of a problem with improved tails if it is cheaper and meets the goal."""
        problem = self.batch.problems[i]
        improved = improve_tails(problem, path, self.refinement.descent)
        if improved is path:
            return path
        polished = self._reach_goal(i, improved)
        if polished is None or not problem.path_cost(polished) < problem.path_cost(path):
            return path
        return polished

    def _best_path(self, i: int, candidates: Candidates) -> tuple[float, FloatArray]:
        """Return the cheapest of all candidates of one problem that reach the goal."""
        mine = candidates.paths[candidates.owner == i]
        paths = [path for path in (self._reach_goal(i, p) for p in mine) if path is not None]
        weights = self.refinement.descent.weights
        land = self.batch.problems[i].landscape
        costs = land.path_costs(np.stack(paths), weights=weights)
        best = int(np.argmin(costs))
        return float(costs[best]), paths[best]

    def _reach_goal(self, i: int, path: FloatArray) -> FloatArray | None:
        """Return the path with an end that meets the goal when checked alone, if one is near."""
        problem, metric = self.batch.problems[i], self.refinement.descent.metric
        return settle_end(problem, restore_end(problem, path, metric), self.inside[i])

    def _shorten(self, i: int, path: FloatArray) -> FloatArray:
        """Move an end that descent could not move back, and the other waypoints after it."""
        problem, descent = self.batch.problems[i], self.refinement.descent
        axes = self.batch.landscape.density.pool(problem.goal.target).principal_axes[1]
        for _ in range(SHORTENED):
            path = shorten_last_step(problem, path, axes)
            if len(path) == 2:
                break
            moved = self.batch.candidates(np.array([i]), path[None])
            self.refinement.descend(moved, np.array([0]), int(descent.nodes(moved.paths)[0]))
            if not problem.path_cost(moved.paths[0]) < problem.path_cost(path):
                break
            path = moved.paths[0]
        return path
