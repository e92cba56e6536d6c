"""The planners of the application: straight lines as seeds, and rows with the paper's cost rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daace.landscape.problem import Problem
from daace.planners.base import Clock, Plan, Planner, Status, already_there, give_up, one_thread
from daace.planners.descent import group_alike
from daace.planners.face import Face
from daace.planners.path_search import PathSearch
from daace.planners.wachter import Wachter


@dataclass(frozen=True, kw_only=True)
class StraightOptimizer(Planner):
    """Plan as `PathOptimizer` does, seeded by straight lines to goal points only.

    Over the seven categories of the network, which are Gaussians in a row, routes over a roadmap
    of draws end in the same paths (costs equal to 0.1% on 16 counties, penalties 5 and 15). But
    the roadmap must be built for each county's slice; over the flow, with 131 features, that takes
    hours.

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


@dataclass(frozen=True, eq=False)
class CountyRows(Planner):
    """Plan by FACE or Wachter over counties that exist; the cost is by the paper's midpoint rule.

    The rule of other planners is refined until it is exact: over the flow, which has a kink
    wherever one of its units switches, that takes a minute for each path.

    Args:
        planner: which of the two; it holds the rows.
    """

    planner: Face | Wachter

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        if isinstance(self.planner, Wachter):  # which ignores the terrain
            flat = replace(problem, landscape=replace(problem.landscape, penalty=0.0))
            plan = self.planner.solve(flat, rng=rng)
        else:
            plan = _follow_graph(self.planner, problem)
        if plan.status is not Status.FOUND:
            return plan
        return replace(plan, cost=problem.path_cost(plan.waypoints, rule="midpoint"))


def _follow_graph(face: Face, problem: Problem) -> Plan:
    """Return FACE's path without its cost, which is not known yet."""
    clock = Clock()
    stay = already_there(problem, clock)
    if stay is not None:
        return stay
    routes = face.query(problem)
    clock.evaluations += routes.joined
    if not routes.paths:
        note = face.remedy(problem)
        return give_up(
            problem, clock, reachable=routes.reachable, notes=() if note is None else (note,)
        )
    return Plan(Status.FOUND, routes.paths[0], np.nan, clock.evaluations, clock.seconds)
