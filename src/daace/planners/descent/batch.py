"""Problems that are solved together, and the candidate paths of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.cost import Landscape
from daace.landscape.feasible import project_paths
from daace.landscape.ground import PathGround
from daace.landscape.problem import Problem
from daace.planners.descent.path_descent import PathTerrain, roughness_unit

#: Shortfall of the goal, in nats, beyond which a path ranks behind those that reach the goal.
FAR_FROM_GOAL = 1e-3


def group_alike(problems: Sequence[Problem]) -> list[list[int]]:
    """Return the indices of problems that share density, goal, constraints and classifier.

    What is dense ground, and with it the threshold of log p, may differ.
    """
    groups: list[list[int]] = []
    for i, p in enumerate(problems):
        for members in groups:
            q = problems[members[0]]
            same = p.landscape.alike(q.landscape) and p.posterior is q.posterior
            if same and p.goal == q.goal and p.constraints == q.constraints:
                members.append(i)
                break
        else:
            groups.append([i])
    return groups


@dataclass(eq=False)
class Candidates:
    """Paths of a batch of problems, all with the same number of vertices.

    Attributes:
        owner: index of the problem that each path belongs to, shape `(paths,)`.
        paths: shape `(paths, waypoints, n)`.
        cost: of each path, in units of its problem's `unit ** penalty`; infinite if unknown.
        violation: shortfall of the goal, in nats; infinite if unknown.
        segment_costs: shape `(paths, segments)`, in the unit of `cost`.
        settled: number of quadrature nodes with which a path was moved to rest, if a finer rule
            agrees; 0 otherwise.
    """

    owner: np.ndarray
    paths: FloatArray
    cost: FloatArray
    violation: FloatArray
    segment_costs: FloatArray
    settled: IntArray

    def take(self, rows: np.ndarray) -> Candidates:
        """Return some of the candidates."""
        return Candidates(
            self.owner[rows],
            self.paths[rows],
            self.cost[rows],
            self.violation[rows],
            self.segment_costs[rows],
            self.settled[rows],
        )


@dataclass(frozen=True, eq=False)
class ProblemBatch:
    """Problems that share landscape, goal, constraints and classifier.

    Attributes:
        problems: the problems.
        starts: shape `(problems, n)`.
        lower: lower bounds of the waypoints of each problem, shape `(problems, n)`.
        upper: upper bounds, of the same shape.
        unit: roughness that counts as 1 for each problem, shape `(problems,)`.
    """

    problems: list[Problem]
    starts: FloatArray
    lower: FloatArray
    upper: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, problems: list[Problem]) -> ProblemBatch:
        """Return the batch of problems that `group_alike` puts into one group."""
        starts = np.stack([p.x for p in problems])
        return cls(
            problems,
            starts,
            np.stack([p.feasible.lower for p in problems]),
            np.stack([p.feasible.upper for p in problems]),
            np.concatenate([roughness_unit(p, p.x[None]) for p in problems])
            if any(p.landscape is not problems[0].landscape for p in problems)
            else roughness_unit(problems[0], starts),
        )

    @property
    def landscape(self) -> Landscape:
        """The terrain of the first problem; that of others differs in its ground at most."""
        return self.problems[0].landscape

    @cached_property
    def terrain(self) -> PathTerrain:
        """PathTerrain and goal of the problems, each with its own ground."""
        first = self.problems[0]
        grounds = [p.landscape.ground for p in self.problems]
        if all(ground is grounds[0] for ground in grounds):
            return PathTerrain.of(first)
        level, spread = (
            np.array([getattr(p.landscape, name) for p in self.problems])
            for name in ("level", "spread")
        )
        thresholds = np.array([p.region.min_log_prob for p in self.problems])
        return PathTerrain(
            replace(first.landscape, ground=PathGround(level, spread)),
            replace(first.region, min_log_prob=thresholds),
        )

    def candidates(self, owner: np.ndarray, paths: FloatArray) -> Candidates:
        """Return paths as candidates, projected on bounds, directions and links.

        Args:
            owner: index of the problem of each path, shape `(paths,)`.
            paths: shape `(paths, waypoints, n)`.
        """
        rules, lower, upper = self.problems[0].feasible, self.lower[owner], self.upper[owner]
        allowed = paths.copy()
        allowed[:, 1:] = project_paths(
            paths[:, 1:], lower[:, None], upper[:, None], rules.direction, rules.slabs
        )
        if rules.codes is not None:
            allowed[:, 1:] = rules.codes.place(allowed[:, 1:])
        count, segments = len(owner), paths.shape[1] - 1
        unknown = np.full(count, np.inf)
        costs, settled = np.zeros((count, segments)), np.zeros(count, dtype=np.intp)
        return Candidates(owner, allowed, unknown, unknown.copy(), costs, settled)
