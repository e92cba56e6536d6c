"""Planning without data rows: a graph on draws of the density, and its routes refined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._checks import check_choice, check_integer
from daace.density.base import ConditionalDensity
from daace.landscape.problem import Problem
from daace.planners.base import (
    Clock,
    Plan,
    Planner,
    already_there,
    arrive,
    give_up,
    one_thread,
    refuse_max_changed,
)
from daace.planners.graphs import Graph, find_goal_routes, restrict_graph, roadmap_graph
from daace.planners.optimizer import PathOptimizer
from daace.planners.path_search import PathSearch
from daace.planners.rules import DiscreteSearch
from daace.planners.seeding import find_route_seeds

#: Number of routes to different parts of the goal that are refined.
ROUTES = 4


@dataclass(frozen=True, kw_only=True)
class Roadmap(Planner):
    """Plan over a graph of draws of the density, then move the route downhill.

    A probabilistic roadmap (Kavraki et al. 1996, doi:10.1109/70.508439) whose nodes are draws of
    the density and whose edges are weighted by their cost; no row of data is needed. The draws, the
    same number of each class, come from a fixed seed. The graph is built at the first query for
    each density and reused by all others. A refined route is simplified to a few vertices and
    moved, together with straight lines to its end and to other goal points, by the descent of
    `PathOptimizer`.

    Args:
        samples: number of draws.
        refine: move the routes downhill; otherwise the waypoints of a plan are draws.
        vertices: numbers of intermediate waypoints of a refined route to try.
        vertex_tolerance: share of the cost that one vertex less is worth.
        seed: seed of the draws.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> problem = Problem(np.array([0.0]), Landscape(density), Goal(target="b"))
        >>> for refine in (False, True):
        ...     planner = Roadmap(samples=10, refine=refine)
        ...     plan = planner.solve(problem, rng=np.random.default_rng(0))
        ...     print(plan.waypoints[-1].round(2).tolist())
        [2.16]
        [1.5]
    """

    samples: int = 1000
    refine: bool = True
    vertices: int | tuple[int, ...] = (0, 1, 2, 3)
    vertex_tolerance: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("samples", self.samples, at_least=2)
        check_choice("refine", self.refine, (True, False))
        check_integer("seed", self.seed, at_least=0)
        self.optimizer  # noqa: B018  # checks 'vertices' and 'vertex_tolerance'

    @property
    def optimizer(self) -> PathOptimizer:
        """The planner whose descent refines the routes."""
        return PathOptimizer(vertices=self.vertices, vertex_tolerance=self.vertex_tolerance)

    def build(self, density: ConditionalDensity) -> Graph:
        """Return the graph on draws of a density, built at the first call."""
        return roadmap_graph(density, samples=self.samples, seed=self.seed)

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        if not self.refine:
            refuse_max_changed(problem, "Roadmap with 'refine=False'")
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        graph = self.build(problem.landscape.density)
        if not self.refine:
            if problem.feasible.codes is not None or len(problem.feasible.grid):
                graph = restrict_graph(graph, problem)
            routes = find_goal_routes(graph, problem)
            clock.evaluations += max(1, routes.joined)
            if not routes.paths:
                return give_up(problem, clock, reachable=routes.reachable)
            return arrive(problem, routes.paths[0], clock)

        def solve(plain: list[Problem]) -> list[Plan]:
            return [self._refined(graph, p, clock) for p in plain]

        with one_thread():
            if problem.feasible.discrete:
                search = DiscreteSearch(solve, lambda _, plan: plan, 0.0, clock)
                return search.run([problem])[0]
            return solve([problem])[0]

    def _refined(self, graph: Graph, problem: Problem, clock: Clock) -> Plan:
        """Return the plan of a problem without discrete rules."""
        search = PathSearch(
            [problem],
            vertices=self.optimizer.tried,
            starts=self.optimizer.starts,
            vertex_tolerance=self.vertex_tolerance,
            clock=clock,
            routes=[find_route_seeds(problem, restrict_graph(graph, problem), ROUTES)],
        )
        return search.run()[0]
