"""The default planner: gradient descent from many starts, with waypoints added while they pay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._checks import check_integer, check_number
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.planners.base import Clock, Plan, Planner, one_thread
from daace.planners.descent import group_alike
from daace.planners.path_search import PathSearch
from daace.planners.rules import DiscreteSearch, add_l1_term


@dataclass(frozen=True, kw_only=True)
class PathOptimizer(Planner):
    """Plan by batched sequential quadratic programming.

    Straight lines to several points of the goal are moved downhill together. Then the costliest
    segment of the best paths is split and they are moved again, until they have the largest number
    of vertices or a vertex gains nothing. The answer is the path with the fewest vertices whose
    cost is within `vertex_tolerance` of the best.

    Args:
        vertices: numbers of intermediate waypoints to try; one number to try just that.
        starts: number of initial straight lines; three times this number if there may be barriers,
            that is unless the density is one Gaussian for each of two classes.
        vertex_tolerance: share of the cost that one vertex less is worth.
        sparsity: share by which the cost may grow so that fewer features change. They are held at
            the start along the whole path.
        l1: cost of changing a feature by one standard deviation from start to end, in addition to
            the cost of the path; the larger it is, the fewer features change. The best path without
            this term is moved downhill with it, and a feature whose end stays at the start then
            stays there along the path. `Plan.cost` does not include the term.
        time_limit: seconds; the best path found within it is returned. None for no limit.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape, Problem
        >>> density = GaussianMixture(
        ...     [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["sick", "well"]
        ... )
        >>> problem = Problem(np.zeros(2), Landscape(density), Goal("well", min_posterior=0.9))
        >>> plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
        >>> plan.found, (plan.waypoints[-1].round(2) + 0.0).tolist()  # 0.0 instead of -0.0
        (True, [2.55, 0.0])
    """

    vertices: int | tuple[int, ...] = (0, 1, 2, 3)
    starts: int = 8
    vertex_tolerance: float = 0.01
    sparsity: float = 0.0
    l1: float = 0.0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if not self._vertices:
            raise InvalidInput(
                argument="vertices", expected="name at least one number of waypoints", got="none"
            )
        for v in self._vertices:
            check_integer("vertices", v, at_least=0)
        check_integer("starts", self.starts, at_least=1)
        check_number("vertex_tolerance", self.vertex_tolerance, at_least=0)
        check_number("sparsity", self.sparsity, at_least=0)
        check_number("l1", self.l1, at_least=0)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0)

    @property
    def _vertices(self) -> Sequence[int]:
        return self.vertices if isinstance(self.vertices, tuple | list) else (self.vertices,)

    @property
    def tried(self) -> tuple[int, ...]:
        """The numbers of vertices to try, in order."""
        return tuple(sorted({int(v) for v in self._vertices}))

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        return self.solve_many([problem], rngs=[rng])[0]

    def solve_many(
        self, problems: Sequence[Problem], *, rngs: Sequence[np.random.Generator]
    ) -> list[Plan]:
        """Plan several paths; those that share landscape, goal and constraints are one batch.

        The time limit applies to all of them together, and so do the seconds and evaluations of
        each plan.

        Args:
            problems: the problems.
            rngs: one generator for each; this planner does not draw from them.
        """
        clock = Clock(self.time_limit)

        def solve(plain: list[Problem]) -> list[Plan]:
            return self._search(plain, clock)

        def settle(problem: Problem, plan: Plan) -> Plan:
            if self.l1 == 0:
                return plan
            return add_l1_term(problem, plan, l1=self.l1, clock=clock)

        with one_thread():
            if self.sparsity == 0 and not any(p.feasible.discrete for p in problems):
                plans = solve(list(problems))
                return [settle(p, plan) for p, plan in zip(problems, plans, strict=True)]
            return DiscreteSearch(solve, settle, self.sparsity, clock).run(problems)

    def _search(self, problems: list[Problem], clock: Clock) -> list[Plan]:
        """Plan paths of problems without discrete rules."""
        plans: list[Plan | None] = [None] * len(problems)
        for members in group_alike(problems):
            search = PathSearch(
                [problems[i] for i in members],
                vertices=self.tried,
                starts=self.starts,
                vertex_tolerance=self.vertex_tolerance,
                clock=clock,
            )
            for i, plan in zip(members, search.run(), strict=True):
                plans[i] = plan
        return [plan for plan in plans if plan is not None]
