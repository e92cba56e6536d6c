"""One run of the default planner: seeds, descent and arrival for a batch of problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.feasible import project_paths
from daace.landscape.path import (
    segment_lengths,
    segment_vectors,
    split_segment,
    straight_paths,
)
from daace.landscape.problem import Problem
from daace.planners.arrival import FAR_FROM_GOAL, polish_tails, restore, roughness_unit
from daace.planners.base import (
    Clock,
    Plan,
    Status,
    already_there,
    arrive,
    give_up,
    settle,
)
from daace.planners.corridors import corridors, draw_graph, simplify, within
from daace.planners.descent import ITERATIONS, MAX_NODES, Descent
from daace.planners.seeds import (
    NEAREST,
    NEAREST_AMONG_WALLS,
    GoalPoints,
    best_reached,
    goal_points,
    pull_back,
    spread_out,
)
from daace.planners.tighten import tighten

#: A doubled rule that disagrees by more than this asks for another solve on the doubled rule.
RULE_TOLERANCE = 1e-3

#: Paths that cost up to this share more than the cheapest may still turn out cheaper.
CONTENDS = 0.1

#: Routes over the roadmap of draws that seed each number of vertices.
ROUTES = 4

#: Paths carried from one number of vertices to the next; more where there may be walls, as the
#: cheapest straight line may lie on the wrong side of one.
CARRIED, CARRIED_AMONG_WALLS = 3, 6

#: Times as many straight lines to begin with where there may be walls.
MORE_STARTS = 3

#: Seeds per problem that are worth moving all the way; more are scouted first.
FEW = 4

#: Steps for all seeds, before the best of them are moved to rest.
SCOUT = 20

#: Times that an end without slopes is drawn back and the other waypoints follow.
TIGHTENED = 3

#: Paths closer than this everywhere, in standard deviations, count as one.
SAME_PATH = 1e-2

#: Costs that differ by less than this share are equal.
ROUNDING = 1e-9


def ladder(tried: Sequence[int]) -> list[int]:
    """Return the numbers of vertices to pass through, so that segments at most double."""
    steps = [0]
    for v in sorted(tried):
        while v > steps[-1]:
            steps.append(min(v, 2 * steps[-1] + 1))
    return steps


@dataclass(eq=False)
class Candidates:
    """Paths of a batch with the same number of vertices; `owner` says whose each is."""

    owner: np.ndarray
    paths: FloatArray
    cost: FloatArray
    violation: FloatArray
    segment_costs: FloatArray

    def take(self, rows: np.ndarray) -> Candidates:
        return Candidates(
            self.owner[rows],
            self.paths[rows],
            self.cost[rows],
            self.violation[rows],
            self.segment_costs[rows],
        )


class BestPaths:
    """The best path of one problem for each number of vertices; more never cost more."""

    def __init__(self) -> None:
        self.paths: dict[int, FloatArray] = {}
        self.costs: dict[int, float] = {}
        self.cost = np.inf

    def add(self, v: int, cost: float, path: FloatArray | None) -> None:
        """Keep a path with v vertices, or the one before with a vertex more if that is cheaper."""
        if self.paths and not cost <= self.cost:
            path = self.paths[max(self.paths)][None]
            while path.shape[1] < v + 2:
                longest = segment_lengths(segment_vectors(path)).argmax(axis=1)
                path = split_segment(path, longest)
            path = path[0]
        if path is not None:
            self.paths[v] = path
            self.cost = self.costs[v] = min(self.cost, cost)


class Search:
    """One run over problems that share landscape, goal and constraints.

    Args:
        problems: to solve.
        vertices: numbers of intermediate waypoints to try.
        starts: straight lines to begin with.
        vertex_tolerance: share of the cost that one vertex less is worth.
        clock: of the run.
        routes: for each problem, ways to the goal found by other means, as seeds; when left out,
            they are sought among the density's own draws.
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
        self.problems = problems
        self.clock = clock
        first = problems[0]
        self.landscape, self.region = first.landscape, first.region
        self.starts = np.stack([p.x for p in problems])
        self.lower = np.stack([p.feasible.lower for p in problems])
        self.upper = np.stack([p.feasible.upper for p in problems])
        self.unit = roughness_unit(first, self.starts)
        tolerance = max(1e-5, 1e-2 * vertex_tolerance)
        self.descent = Descent.over(first, tolerance=tolerance, clock=clock)
        density = self.landscape.density
        # A third class can bridge the other two; straight lines do not see that.
        self.walls = not density.gaussian_ or len(density.classes_) > 2
        self.starts_tried = MORE_STARTS * starts if self.walls else starts
        self.carried = CARRIED_AMONG_WALLS if self.walls else CARRIED
        self.given = routes
        self.routes: dict[int, list[FloatArray]] = {}

    def run(self) -> list[Plan]:
        plans = [already_there(p, self.clock) for p in self.problems]
        waiting = [i for i, plan in enumerate(plans) if plan is None]
        goals = self._goals(waiting)
        self.routes = {i: self._routes(i) for i in waiting}
        best = {i: BestPaths() for i in waiting}
        ends = {i: goals[i].inside[:0] for i in waiting}
        lowest = np.full(len(self.problems), np.inf)
        growing, candidates = waiting, None
        for v in ladder(self.vertices):
            if not growing or (v > 0 and self.clock.expired):
                break
            seeds = (
                self._first(growing, goals) if candidates is None else self._split(candidates, v)
            )
            candidates = self._improve(seeds)
            still = []
            found = self._best_paths(growing, candidates, goals)
            for i in growing:
                ends[i] = candidates.paths[candidates.owner == i, -1]
                best[i].add(v, *found[i])
                if self._may_pay(i, v, lowest[i], best[i].cost):
                    still.append(i)
                lowest[i] = best[i].cost
            candidates, growing = candidates.take(np.isin(candidates.owner, still)), still
        for i in waiting:
            plans[i] = self._choose(i, best[i], goals[i], ends[i])
        return [plan for plan in plans if plan is not None]

    def _may_pay(self, i: int, v: int, before: float, after: float) -> bool:
        """Whether more vertices may still bring down the cost of a problem.

        On smooth terrain each vertex brings less than the one before. Where there are routes, and
        so perhaps walls, it can take two more vertices before any gain: never stop early there.
        """
        if self.routes[i] or v == 0 or v not in self.vertices or not np.isfinite(before):
            return True
        return before - after > self.vertex_tolerance * abs(before)

    # Seeds ------------------------------------------------------------------------------------

    def _goals(self, waiting: list[int]) -> dict[int, GoalPoints]:
        """Return the goal points of each problem; what one has climbed to serves the others."""
        nearest = NEAREST_AMONG_WALLS if self.walls else NEAREST
        goals: dict[int, GoalPoints] = {}
        beyond: FloatArray | None = None
        for i in waiting:
            goals[i] = goal_points(self.problems[i], nearest=nearest, beyond=beyond)
            if len(goals[i].inside):
                beyond = goals[i].inside
        return goals

    def _routes(self, i: int) -> list[FloatArray]:
        if self.given is not None:
            return self.given[i]
        if not self.walls:
            return []
        problem = self.problems[i]
        graph = within(draw_graph(self.landscape.density), problem)
        return corridors(problem, graph, ROUTES)

    def _first(self, waiting: list[int], goals: dict[int, GoalPoints]) -> Candidates:
        edges = self._edges(waiting, goals)
        owners, ends = [], []
        for i in waiting:
            points = goals[i].inside
            if len(points):
                rewarded = self.landscape.rewards_detours
                points = np.concatenate([edges[i], points]) if rewarded else edges[i]
                lines = straight_paths(self.starts[i], points, 0)
                costs = self._line_costs(lines, self.unit[[i]])
                points = points[spread_out(points, costs, self.starts_tried)]
                points = np.concatenate([points, *(route[-1:] for route in self.routes[i])])
            else:
                points = goals[i].nearly[: 2 * self.starts_tried]
            owners.append(np.full(len(points), i))
            ends.append(points)
        owner = np.concatenate(owners)
        return self._candidates(owner, straight_paths(self.starts[owner], np.concatenate(ends), 0))

    def _edges(self, waiting: list[int], goals: dict[int, GoalPoints]) -> dict[int, FloatArray]:
        """Return the goal points of each problem, moved to the goal's edge; all at once."""
        points = [goals[i].inside for i in waiting]
        sizes = [len(part) for part in points]
        origin = np.repeat(self.starts[waiting], sizes, axis=0)
        edge = pull_back(self.problems[0], np.concatenate(points), origin=origin)
        return dict(zip(waiting, np.split(edge, np.cumsum(sizes)[:-1]), strict=True))

    def _line_costs(self, lines: FloatArray, unit: FloatArray) -> FloatArray:
        costs = np.empty(len(lines))
        for nodes, rows in self.descent.by_nodes(lines):
            costs[rows] = self.descent.costs(lines[rows], nodes=nodes, unit=unit)[:, 0]
        return costs

    def _split(self, before: Candidates, v: int) -> Candidates:
        """Split the costliest segments of the paths until they have v vertices.

        Besides, each problem's best end is reached by a straight line, and by the roadmap.
        """
        owner, paths, costs = before.owner, before.paths, np.abs(before.segment_costs)
        while paths.shape[1] < v + 2:
            worst = costs.argmax(axis=1)
            paths = split_segment(paths, worst)
            halves = [np.insert(c, w, c[w] / 2) for c, w in zip(costs, worst, strict=True)]
            costs = np.stack(halves)
            costs[np.arange(len(costs)), worst + 1] /= 2
        seeds, owners = [paths], [owner]
        for i in np.unique(owner):
            best = np.flatnonzero(owner == i)[0]
            extra = [self._simplify(i, route, v) for route in self.routes[i]]
            if before.paths.shape[1] > 2:
                extra.append(straight_paths(self.starts[i], before.paths[best, -1:], v)[0])
            if extra:
                seeds.append(np.stack(extra))
                owners.append(np.full(len(extra), i))
        return self._candidates(np.concatenate(owners), np.concatenate(seeds))

    def _simplify(self, i: int, route: FloatArray, v: int) -> FloatArray:
        feasible = self.problems[i].feasible
        weights = feasible.weights if feasible.weighted else None
        return simplify(self.landscape, route, v, unit=float(self.unit[i]), weights=weights)

    # Descent ----------------------------------------------------------------------------------

    def _improve(self, seeds: Candidates) -> Candidates:
        """Move all seeds a little, if they are many, and the best of each problem to rest.

        Where a doubled rule disagrees with the one used, those paths that may still turn out the
        cheapest are moved again on it.
        """
        best = seeds
        if len(seeds.owner) > FEW * len(np.unique(seeds.owner)):
            for nodes, rows in self.descent.by_nodes(seeds.paths):
                self._descend(seeds, rows, nodes, iterations=SCOUT)
            best = self._best(seeds)
        for nodes, rows in self.descent.by_nodes(best.paths):
            while len(rows):
                error = self._descend(best, rows, nodes)
                rows = rows[(error > RULE_TOLERANCE) & self._contends(best, rows)]
                nodes *= 2
                if nodes > MAX_NODES or self.clock.expired:
                    break
        return self._best(best)

    def _contends(self, candidates: Candidates, rows: np.ndarray) -> BoolArray:
        """Whether paths cost little more than the cheapest of the same problem."""
        lowest = np.full(len(self.problems), np.inf)
        np.minimum.at(lowest, candidates.owner, candidates.cost)
        limit = lowest[candidates.owner[rows]]
        contends: BoolArray = candidates.cost[rows] <= limit + CONTENDS * np.abs(limit)
        return contends

    def _descend(
        self,
        candidates: Candidates,
        rows: np.ndarray,
        nodes: int,
        *,
        iterations: int = ITERATIONS,
    ) -> FloatArray:
        """Minimise some paths in place; return the relative error of the rule they used."""
        owner = candidates.owner[rows]
        outcome = self.descent.minimize(
            candidates.paths[rows],
            nodes=nodes,
            lower=self.lower[owner],
            upper=self.upper[owner],
            unit=self.unit[owner],
            iterations=iterations,
        )
        candidates.paths[rows, 1:] = outcome.Z
        fine = self.descent.costs(candidates.paths[rows], nodes=2 * nodes, unit=self.unit[owner])
        candidates.cost[rows] = fine.sum(axis=1)
        candidates.violation[rows] = outcome.violation
        candidates.segment_costs[rows] = fine
        error = np.abs(fine - outcome.segment_costs).sum(axis=1)
        size = np.abs(fine).sum(axis=1)
        relative: FloatArray = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
        return relative

    def _best(self, candidates: Candidates) -> Candidates:
        """Keep some of each problem's best paths that differ, the best first."""
        kept: list[int] = []
        order = np.lexsort((candidates.cost, candidates.violation > FAR_FROM_GOAL))
        for i in np.unique(candidates.owner):
            mine: list[int] = []
            for k in order[candidates.owner[order] == i]:
                path = candidates.paths[k]
                if all(np.abs(path - candidates.paths[j]).max() > SAME_PATH for j in mine):
                    mine.append(int(k))
                if len(mine) == self.carried:
                    break
            kept += mine
        return candidates.take(np.array(kept, dtype=np.intp))

    def _candidates(self, owner: np.ndarray, paths: FloatArray) -> Candidates:
        rules, lower, upper = self.problems[0].feasible, self.lower[owner], self.upper[owner]
        allowed = paths.copy()
        allowed[:, 1:] = project_paths(
            paths[:, 1:], lower[:, None], upper[:, None], rules.direction, rules.slabs
        )
        count, segments = len(owner), paths.shape[1] - 1
        empty = np.full(count, np.inf)
        return Candidates(owner, allowed, empty, empty.copy(), np.zeros((count, segments)))

    # Arrival ----------------------------------------------------------------------------------

    def _best_paths(
        self, growing: list[int], candidates: Candidates, goals: dict[int, GoalPoints]
    ) -> dict[int, tuple[float, FloatArray | None]]:
        """Return, by problem, the cost of the cheapest path that ends in the goal, and that path.

        The first of the candidates that arrives, unless its way to the goal's edge was dear.
        """
        arrived: dict[int, FloatArray] = {}
        expected: dict[int, float] = {}
        for i in growing:
            for k in np.flatnonzero(candidates.owner == i):
                path = self._arrive(i, candidates.paths[k], goals[i])
                if path is not None:
                    arrived[i], expected[i] = path, float(candidates.cost[k])
                    break
        nothing: dict[int, tuple[float, FloatArray | None]] = dict.fromkeys(growing, (np.inf, None))
        if not arrived:
            return nothing
        result: dict[int, tuple[float, FloatArray]] = {}
        paths = np.stack(list(arrived.values()))
        costs = self.landscape.path_costs(paths, weights=self.descent.weights)
        for i, path, cost in zip(arrived, paths, costs, strict=True):
            result[i] = float(cost), path
            with np.errstate(over="ignore", invalid="ignore"):  # costs beyond all numbers are alike
                expense = cost - expected[i] * self.unit[i] ** self.landscape.penalty
            if np.isfinite(cost) and expense > RULE_TOLERANCE * abs(cost):
                result[i] = self._best_path(i, candidates, goals[i])
            if not self.region.differentiable:
                tight = self._tighten(i, result[i][1])
                result[i] = self.problems[i].path_cost(tight), tight
        return nothing | result

    def _best_path(
        self, i: int, candidates: Candidates, goal: GoalPoints
    ) -> tuple[float, FloatArray]:
        """Return the cheapest of all candidates of one problem that arrive."""
        mine = candidates.paths[candidates.owner == i]
        paths = [path for path in (self._arrive(i, p, goal) for p in mine) if path is not None]
        costs = self.landscape.path_costs(np.stack(paths), weights=self.descent.weights)
        best = int(np.argmin(costs))
        return float(costs[best]), paths[best]

    def _arrive(self, i: int, path: FloatArray, goal: GoalPoints) -> FloatArray | None:
        """Return the path with an end that meets the goal, strictly, if one is near."""
        restored = restore(self.problems[i], path, self.descent.metric)
        return settle(self.problems[i], restored, goal.inside)

    def _polish(self, i: int, path: FloatArray, goal: GoalPoints) -> FloatArray:
        """Return the path with its tails improved, if it still arrives and costs less."""
        problem = self.problems[i]
        improved = polish_tails(problem, path, self.descent)
        if improved is path:
            return path
        polished = self._arrive(i, improved, goal)
        if polished is None or not problem.path_cost(polished) < problem.path_cost(path):
            return path
        return polished

    def _tighten(self, i: int, path: FloatArray) -> FloatArray:
        """Draw back an end that the descent could not move, and move the others after it."""
        problem = self.problems[i]
        axes = self.landscape.density.pool(problem.goal.target).principal_axes[1]
        for _ in range(TIGHTENED):
            path = tighten(problem, path, axes)
            if len(path) == 2:
                break
            moved = self._candidates(np.array([i]), path[None])
            self._descend(moved, np.array([0]), int(self.descent.nodes(moved.paths)[0]))
            if not problem.path_cost(moved.paths[0]) < problem.path_cost(path):
                break
            path = moved.paths[0]
        return path

    def _choose(
        self,
        i: int,
        best: BestPaths,
        goal: GoalPoints,
        ends: FloatArray,
    ) -> Plan:
        problem = self.problems[i]
        paths, costs = best.paths, best.costs
        wanted = [v for v in sorted(paths) if v in self.vertices] or sorted(paths)
        if not wanted:
            status = Status.TIMEOUT if self.clock.expired else Status.GOAL_UNREACHABLE
            reachable = goal.reachable
            if len(ends):
                seen = best_reached(self.region.slack(ends))
                reachable = (max(reachable[0], seen[0]), max(reachable[1], seen[1]))
            return give_up(problem, self.clock, status=status, reachable=reachable)
        lowest = min(costs[v] for v in wanted)
        limit = lowest + max(self.vertex_tolerance, ROUNDING) * abs(lowest)
        fewest = next(v for v in wanted if costs[v] <= limit)
        return arrive(problem, self._polish(i, paths[fewest], goal), self.clock)


def alike(problems: Sequence[Problem]) -> list[list[int]]:
    """Part problems into those that share landscape, goal, constraints and judge."""
    groups: list[list[int]] = []
    for i, p in enumerate(problems):
        for members in groups:
            q = problems[members[0]]
            same = p.landscape is q.landscape and p.posterior is q.posterior
            if same and p.goal == q.goal and p.constraints == q.constraints:
                members.append(i)
                break
        else:
            groups.append([i])
    return groups
