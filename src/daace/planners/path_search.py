"""One run of the default planner: seed, descend, finish, and again with more vertices.

`PathOptimizer` and `Roadmap` plan with it. Each round makes candidate paths (`seeding`), moves them
downhill and into the goal (`descent`), and keeps the best path of each problem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray
from daace.landscape.code_rules import CodeRules
from daace.landscape.path import segment_lengths, segment_vectors, split_segment
from daace.landscape.problem import Problem
from daace.planners.base import (
    Clock,
    Plan,
    Status,
    already_there,
    arrive,
    best_slacks,
    give_up,
)
from daace.planners.descent import Finishing, PathDescent, ProblemBatch, Refinement
from daace.planners.seeding import CodeSeeds, PathSeeds, may_have_barriers

#: Number of paths kept from one number of vertices to the next; more if there may be barriers, as
#: the cheapest straight line may lie on the wrong side of one.
CARRIED, CARRIED_AT_BARRIERS = 3, 4

#: Number of paths kept with codes: these have different switches.
CARRIED_WITH_CODES = 6

#: Factor on the number of straight lines where there may be barriers.
MORE_STARTS = 2

#: Costs that differ by less than this share are equal.
ROUNDING = 1e-9


class PathSearch:
    """One search over problems that share landscape, goal, constraints and classifier.

    Args:
        problems: problems to solve; `group_alike` finds those that can be solved together.
        vertices: numbers of intermediate waypoints to try.
        starts: number of initial straight lines.
        vertex_tolerance: share of the cost that one vertex less is worth.
        clock: counts evaluations and limits the time.
        routes: initial routes to the goal for each problem, each of shape `(waypoints, n)`; None
            to search them over a roadmap of draws if there may be barriers, which is not done
            with codes.
    """

    def __init__(
        self,
        problems: list[Problem],
        *,
        vertices: tuple[int, ...],
        starts: int,
        vertex_tolerance: float,
        clock: Clock,
        routes: Sequence[list[FloatArray]] | None = None,
    ) -> None:
        self.vertices = vertices
        self.vertex_tolerance = vertex_tolerance
        self.clock = clock
        self.routes = routes
        self.batch = ProblemBatch.of(problems)
        tolerance = max(1e-5, 1e-2 * vertex_tolerance)
        self.descent = PathDescent.over(problems[0], tolerance=tolerance, clock=clock)
        barriers = may_have_barriers(self.batch)
        self.starts = MORE_STARTS * starts if barriers else starts
        carried = CARRIED_AT_BARRIERS if barriers else CARRIED
        if self.batch.landscape.switches is not None:
            carried = CARRIED_WITH_CODES
        self.refinement = Refinement(self.batch, self.descent, carried)

    def run(self) -> list[Plan]:
        """Return the plan of each problem."""
        problems = self.batch.problems
        plans = [already_there(p, self.clock) for p in problems]
        waiting = [i for i, plan in enumerate(plans) if plan is None]
        seeds = self._seeds(waiting)
        inside = {i: seeds.goals[i].inside for i in waiting}
        finishing = Finishing(self.batch, self.refinement, inside)
        best = {i: BestPaths(problems[i].feasible.codes) for i in waiting}
        ends = {i: inside[i][:0] for i in waiting}
        lowest = np.full(len(problems), np.inf)
        growing, candidates = waiting, None
        for v in vertex_ladder(self.vertices):
            if not growing or (v > 0 and self.clock.expired):
                break
            candidates = self.refinement.improve(
                seeds.first(growing) if candidates is None else seeds.split(candidates, v)
            )
            still = []
            found = finishing.best_paths(growing, candidates)
            for i in growing:
                ends[i] = candidates.paths[candidates.owner == i, -1]
                best[i].add(v, *found[i])
                if self._may_pay(v, lowest[i], best[i].cost):
                    still.append(i)
                lowest[i] = best[i].cost
            candidates, growing = candidates.take(np.isin(candidates.owner, still)), still
        for i in waiting:
            path = self._choose(best[i])
            if path is None:
                plans[i] = self._give_up(problems[i], seeds.goals[i].reachable, ends[i])
            else:
                plans[i] = arrive(problems[i], finishing.polish(i, path), self.clock)
        return [plan for plan in plans if plan is not None]

    def _seeds(self, waiting: list[int]) -> PathSeeds | CodeSeeds:
        """Return the seeds: the source of the first candidates, and of those with more vertices."""
        if self.batch.landscape.switches is not None:
            return CodeSeeds.find(
                self.batch, waiting, routes=self.routes, weights=self.descent.weights
            )
        return PathSeeds.find(
            self.batch, self.descent, waiting, starts=self.starts, routes=self.routes
        )

    def _may_pay(self, v: int, before: float, after: float) -> bool:
        """Whether more than v vertices may lower the cost further.

        On smooth terrain each vertex gains less than the one before. (Around barriers it can take
        two more vertices before any gain, so searches with routes never stop early.)
        """
        if v == 0 or v not in self.vertices or not np.isfinite(before):
            return True
        return before - after > self.vertex_tolerance * abs(before)

    def _choose(self, best: BestPaths) -> FloatArray | None:
        """Return the path with the fewest vertices that is good enough."""
        paths, costs = best.paths, best.costs
        wanted = [v for v in sorted(paths) if v in self.vertices] or sorted(paths)
        if not wanted:
            return None
        lowest = min(costs[v] for v in wanted)
        limit = lowest + max(self.vertex_tolerance, ROUNDING) * abs(lowest)
        return paths[next(v for v in wanted if costs[v] <= limit)]

    def _give_up(self, problem: Problem, reachable: tuple[float, float], ends: FloatArray) -> Plan:
        status = Status.TIMEOUT if self.clock.expired else Status.GOAL_UNREACHABLE
        if len(ends):
            seen = best_slacks(problem.region.slack(ends))
            reachable = (max(reachable[0], seen[0]), max(reachable[1], seen[1]))
        return give_up(problem, self.clock, status=status, reachable=reachable)


class BestPaths:
    """The best path of one problem for each number of vertices; more vertices never cost more.

    Args:
        codes: rules of the codes; None if all features are plain numbers.
    """

    def __init__(self, codes: CodeRules | None = None) -> None:
        self.codes = codes
        self.paths: dict[int, FloatArray] = {}
        self.costs: dict[int, float] = {}
        self.cost = np.inf

    def add(self, v: int, cost: float, path: FloatArray | None) -> None:
        """Keep a path with v vertices, or the previous one, split further, if that is cheaper.

        Args:
            v: number of vertices.
            cost: cost of the path; infinite if there is none.
            path: shape `(v + 2, n)`, or None.
        """
        if self.paths and not cost <= self.cost:
            split = self.paths[max(self.paths)][None]
            while split.shape[1] < v + 2:
                longest = segment_lengths(segment_vectors(split)).argmax(axis=1)
                split = split_segment(split, longest, self.codes)
            path = split[0]
        if path is not None:
            self.paths[v] = path
            self.cost = self.costs[v] = min(self.cost, cost)


def vertex_ladder(tried: Sequence[int]) -> list[int]:
    """Return the numbers of vertices to pass through, so that segments at most double.

    Example:
        >>> vertex_ladder((0, 8))
        [0, 1, 3, 7, 8]
    """
    steps = [0]
    for v in sorted(tried):
        while v > steps[-1]:
            steps.append(min(v, 2 * steps[-1] + 1))
    return steps
