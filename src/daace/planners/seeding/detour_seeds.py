"""Seeds through dense regions, where crossing them pays: p(x) above 1 on the raw scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.path import gauss_rule
from daace.landscape.problem import Problem
from daace.planners.graphs import choose_cheap_and_diverse

#: Numbers of points for detours to pass through: goal points, which they may end at, and draws.
GOALS, DRAWS = 16, 48

#: Number of paths for each number of vertices.
PATHS = 8

#: Quadrature nodes on each segment between two points.
NODES = 16


@dataclass(frozen=True, eq=False)
class DetourSeeds:
    """The cheapest paths over a complete graph of draws, with a given number of vertices.

    If segments may have negative costs, the cheapest path is not short: it leaves for a dense
    region and crosses it at length, which neither straight lines nor shortest routes do.

    Attributes:
        points: the start, points that meet the goal, and draws, shape `(points, n)`.
        costs: costs of the segments between the points, shape `(points, points)`; infinite from a
            point to itself.
        goals: number of goal points.
    """

    points: FloatArray
    costs: FloatArray
    goals: int

    @classmethod
    def find(
        cls, problem: Problem, inside: FloatArray, *, unit: float, weights: FloatArray | None
    ) -> DetourSeeds:
        """Evaluate the segments between goal points and draws of all classes.

        Args:
            problem: start, terrain and constraints.
            inside: points that meet the goal, at least one.
            unit: roughness that counts as 1.
            weights: weight of each feature in the length; all 1 if None.
        """
        density = problem.landscape.density
        labels = density.classes_.tolist()
        some = np.linspace(0, len(inside) - 1, min(GOALS, len(inside))).astype(np.intp)
        draws = [density.pool(label).X[: -(-DRAWS // len(labels))] for label in labels]
        via = problem.feasible.nearest(np.concatenate(draws)[:DRAWS])
        points = np.concatenate([problem.x[None], inside[some], via])
        first, second = np.triu_indices(len(points), k=1)
        lines = np.stack([points[first], points[second]], axis=1)
        found = problem.landscape.segment_costs(
            lines, gauss_rule(NODES), unit=unit, weights=weights
        )[:, 0]
        costs = np.full((len(points), len(points)), np.inf)
        costs[first, second] = costs[second, first] = found
        return cls(points, costs, len(some))

    def paths(self, vertices: int) -> list[FloatArray]:
        """Return cheap paths to different goal points, each of shape `(vertices + 2, n)`.

        Args:
            vertices: number of waypoints between start and end.
        """
        best, choices = self.costs[0], []
        for _ in range(vertices):
            through = best[:, None] + self.costs
            choices.append(through.argmin(axis=0))
            best = through.min(axis=0)
        ends = 1 + np.arange(self.goals)
        chosen = choose_cheap_and_diverse(self.points[ends], best[ends], PATHS)
        paths = []
        for end in ends[chosen].tolist():
            nodes = [end]
            for choice in reversed(choices):
                nodes.append(int(choice[nodes[-1]]))
            paths.append(self.points[[0, *nodes[::-1]]])
        return paths
