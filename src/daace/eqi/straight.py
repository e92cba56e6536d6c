"""The default planner without its roadmap: for terrain on which straight lines see everything.

Over the seven categories of the network, which are Gaussians in a row, routes over a roadmap of
draws end in the same paths (costs equal to 0.1% on 16 counties, penalties 5 and 15), but the
roadmap must be built for each county's slice; over the flow, with 131 features, it takes hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace.landscape.problem import Problem
from daace.planners.base import Clock, Plan, Planner, one_thread
from daace.planners.descent import group_alike
from daace.planners.path_search import PathSearch


@dataclass(frozen=True, kw_only=True)
class StraightOptimizer(Planner):
    """Plan as `PathOptimizer` does, seeded by straight lines to goal points only.

    Args:
        vertices: numbers of intermediate waypoints to try.
        starts: straight lines to begin with.
        vertex_tolerance: share of the cost that one vertex less is worth.
        time_limit: seconds; the best path found until then is returned.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> problem = Problem(np.array([0.0]), Landscape(density), Goal(target="b"))
        >>> StraightOptimizer().solve(problem, rng=np.random.default_rng(0)).waypoints.round(2)[-1]
        array([1.5])
    """

    vertices: tuple[int, ...] = (0, 1, 2)
    starts: int = 4
    vertex_tolerance: float = 0.01
    time_limit: float | None = None

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        return self.solve_many([problem], rngs=[rng])[0]

    def solve_many(
        self, problems: Sequence[Problem], *, rngs: Sequence[np.random.Generator]
    ) -> list[Plan]:
        """Plan several paths; those that share landscape, goal and constraints go as one batch."""
        plans: dict[int, Plan] = {}
        clock = Clock(self.time_limit)
        with one_thread():
            for members in group_alike(problems):
                search = PathSearch(
                    [problems[i] for i in members],
                    vertices=self.vertices,
                    starts=self.starts,
                    vertex_tolerance=self.vertex_tolerance,
                    clock=clock,
                    routes=[[] for _ in members],
                )
                plans |= dict(zip(members, search.run(), strict=True))
        return [plans[i] for i in range(len(problems))]
