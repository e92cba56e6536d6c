"""One run of the default planner: seeds, descent and arrival for a batch of problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.constraints import project_paths
from daace.landscape.path import (
    gauss_rule,
    segment_lengths,
    segment_vectors,
    split_segment,
    straight_paths,
)
from daace.landscape.problem import Problem
from daace.planners.base import (
    Clock,
    Plan,
    Status,
    already_there,
    arrive,
    follow_end,
    give_up,
    settle,
)
from daace.planners.corridors import draw_graph, simplify
from daace.planners.seeds import GoalPoints, best_reached, goal_points, pull_back, spread_out
from daace.planners.sqp import MARGIN, Metric, Objective, Outcome, minimize

#: Nodes of the quadrature inside the optimiser: at least, and at most.
MIN_NODES = 8
MAX_NODES = 128

#: A doubled rule that disagrees by more than this asks for another solve on the doubled rule.
RULE_TOLERANCE = 1e-3

#: Routes over the roadmap of draws that seed each number of vertices.
ROUTES = 4

#: Paths carried from one number of vertices to the next.
CARRIED = 3

#: Seeds per problem that are worth moving all the way; more are scouted first.
FEW = 4

#: Steps for all seeds, and steps for the best of them.
SCOUT = 8
ITERATIONS = 100

#: Paths closer than this everywhere, in standard deviations, count as one.
SAME_PATH = 1e-2

#: Costs that differ by less than this share are equal.
ROUNDING = 1e-9

#: Most steps of Newton's method from an end that misses the goal.
NEWTON = 10

#: A tail below this share of its path's cost is improved on its own.
HIDDEN = 1e-2

#: Shortfall of the goal, in nats, that ranks a path behind those that arrive.
FAR_FROM_GOAL = 1e-3


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
        self.cost = np.inf

    def add(self, v: int, path: FloatArray | None, problem: Problem) -> None:
        """Keep a path with v vertices, or the one before with a vertex more if that is cheaper."""
        cost = np.inf if path is None else problem.path_cost(path)
        if self.paths and not cost <= self.cost:
            path = self.paths[max(self.paths)][None]
            while path.shape[1] < v + 2:
                longest = segment_lengths(segment_vectors(path)).argmax(axis=1)
                path = split_segment(path, longest)
            path = path[0]
        if path is not None:
            self.paths[v] = path
            self.cost = min(self.cost, cost)


class Search:
    """One run over problems that share landscape, goal and constraints."""

    def __init__(
        self,
        problems: list[Problem],
        *,
        vertices: tuple[int, ...],
        starts: int,
        vertex_tolerance: float,
        clock: Clock,
    ) -> None:
        self.vertices = vertices
        self.starts_tried = starts
        self.vertex_tolerance = vertex_tolerance
        self.problems = problems
        self.clock = clock
        first = problems[0]
        self.landscape, self.region = first.landscape, first.region
        density = self.landscape.density
        self.starts = np.stack([p.x for p in problems])
        self.lower = np.stack([p.feasible.lower for p in problems])
        self.upper = np.stack([p.feasible.upper for p in problems])
        self.weights = first.feasible.weights if first.feasible.weighted else None
        self.metric = Metric.of(density.pool(first.goal.target), self.weights)
        rough = np.abs(self.landscape.roughness(density.log_prob(self.starts)))
        self.unit = np.maximum(1.0, rough)
        self.routes: dict[int, list[FloatArray]] = {}

    def run(self) -> list[Plan]:
        plans = [already_there(p, self.clock) for p in self.problems]
        waiting = [i for i, plan in enumerate(plans) if plan is None]
        goals = {i: goal_points(self.problems[i]) for i in waiting}
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
            for i in growing:
                mine = candidates.owner == i
                ends[i] = candidates.paths[mine, -1]
                path = self._best_path(i, candidates, goals[i])
                best[i].add(v, path, self.problems[i])
                if self._may_pay(i, v, lowest[i], best[i].cost):
                    still.append(i)
                lowest[i] = best[i].cost
            candidates, growing = candidates.take(np.isin(candidates.owner, still)), still
        for i in waiting:
            plans[i] = self._choose(i, best[i].paths, goals[i], ends[i])
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

    def _routes(self, i: int) -> list[FloatArray]:
        density = self.landscape.density
        if density.gaussian_ and len(density.classes_) == 2:
            return []  # a third class can bridge the other two; straight lines do not see that
        unit = float(self.unit[i])
        return draw_graph(density).routes(self.problems[i], ROUTES, unit=unit)

    def _first(self, waiting: list[int], goals: dict[int, GoalPoints]) -> Candidates:
        owners, ends = [], []
        for i in waiting:
            points = goals[i].inside
            if len(points):
                points = pull_back(self.problems[i], points)
                lines = straight_paths(self.starts[i], points, 0)
                costs = self._costs(lines, np.full(len(lines), i)).sum(axis=1)
                points = points[spread_out(points, costs, self.starts_tried)]
                points = np.concatenate([points, *(route[-1:] for route in self.routes[i])])
            else:
                points = goals[i].nearly[: 2 * self.starts_tried]
            owners.append(np.full(len(points), i))
            ends.append(points)
        owner = np.concatenate(owners)
        return self._candidates(owner, straight_paths(self.starts[owner], np.concatenate(ends), 0))

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
            extra = [simplify(self.landscape, r, v, unit=self.unit[i]) for r in self.routes[i]]
            if before.paths.shape[1] > 2:
                extra.append(straight_paths(self.starts[i], before.paths[best, -1:], v)[0])
            if extra:
                seeds.append(np.stack(extra))
                owners.append(np.full(len(extra), i))
        return self._candidates(np.concatenate(owners), np.concatenate(seeds))

    # Descent ----------------------------------------------------------------------------------

    def _improve(self, seeds: Candidates) -> Candidates:
        """Move all seeds a little, if they are many, and the best of each problem to rest.

        Where a doubled rule disagrees with the one used, those paths are moved again on it.
        """
        nodes = self._nodes(seeds.paths)
        everyone = np.arange(len(seeds.owner))
        best = seeds
        if len(everyone) > FEW * len(np.unique(seeds.owner)):
            self._descend(seeds, everyone, nodes, iterations=SCOUT)
            best = self._best(seeds)
        rows = np.arange(len(best.owner))
        while True:
            error = self._descend(best, rows, nodes, iterations=ITERATIONS)
            rows = rows[error > RULE_TOLERANCE]
            nodes *= 2
            if not len(rows) or nodes > MAX_NODES or self.clock.expired:
                return self._best(best)

    def _descend(
        self, candidates: Candidates, rows: np.ndarray, nodes: int, *, iterations: int
    ) -> FloatArray:
        """Minimise some paths in place; return the relative error of the rule they used."""
        outcome = self._minimize(candidates, rows, nodes, iterations)
        candidates.paths[rows, 1:] = outcome.Z
        fine = self._costs(candidates.paths[rows], candidates.owner[rows], 2 * nodes)
        candidates.cost[rows] = fine.sum(axis=1)
        candidates.violation[rows] = outcome.violation
        candidates.segment_costs[rows] = fine
        error = np.abs(fine - outcome.segment_costs).sum(axis=1)
        size = np.abs(fine).sum(axis=1)
        relative: FloatArray = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
        return relative

    def _best(self, candidates: Candidates) -> Candidates:
        """Keep up to `CARRIED` of each problem's best paths that differ, the best first."""
        kept: list[int] = []
        order = np.lexsort((candidates.cost, candidates.violation > FAR_FROM_GOAL))
        for i in np.unique(candidates.owner):
            mine: list[int] = []
            for k in order[candidates.owner[order] == i]:
                path = candidates.paths[k]
                if all(np.abs(path - candidates.paths[j]).max() > SAME_PATH for j in mine):
                    mine.append(int(k))
                if len(mine) == CARRIED:
                    break
            kept += mine
        return candidates.take(np.array(kept, dtype=np.intp))

    def _minimize(
        self, candidates: Candidates, rows: np.ndarray, nodes: int, iterations: int
    ) -> Outcome:
        owner = candidates.owner[rows]
        return self._run(
            candidates.paths[rows],
            nodes,
            iterations,
            lower=self.lower[owner],
            upper=self.upper[owner],
            unit=self.unit[owner],
        )

    def _run(
        self,
        paths: FloatArray,
        nodes: int,
        iterations: int,
        *,
        lower: FloatArray,
        upper: FloatArray,
        unit: FloatArray,
    ) -> Outcome:
        """Minimise paths within bounds of shape `(paths, n)`."""
        Z = paths[:, 1:]
        lower = np.repeat(lower[:, None], Z.shape[1], axis=1)
        upper = np.repeat(upper[:, None], Z.shape[1], axis=1)
        if not self.region.differentiable:
            lower[:, -1] = upper[:, -1] = Z[:, -1]
        objective = Objective(
            landscape=self.landscape,
            region=self.region,
            rule=gauss_rule(nodes),
            starts=paths[:, 0],
            lower=lower,
            upper=upper,
            direction=self.problems[0].feasible.direction,
            weights=self.weights,
            unit=unit,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is not accepted
            outcome = minimize(
                objective,
                Z,
                self.metric,
                iterations=iterations,
                tolerance=max(1e-6, 1e-3 * self.vertex_tolerance),
                expired=lambda: self.clock.expired,
            )
        self.clock.evaluations += outcome.evaluations
        return outcome

    def _polish_tails(self, i: int, path: FloatArray) -> FloatArray:
        """Improve what follows a first segment so costly that it hides the rest.

        From an outlier at a high penalty the way to the first waypoint can cost a million times
        the way from there; each tail is then minimised alone, on its own scale.
        """
        path = path.copy()
        feasible = self.problems[i].feasible
        for k in range(1, len(path) - 1):
            costs = np.abs(self._costs(path[None], np.array([i]))[0])
            if costs[k:].sum() > HIDDEN * costs.sum():
                continue
            here, tail = path[k], path[k:]
            rough = self.landscape.roughness(self.landscape.density.log_prob(here[None]))
            outcome = self._run(
                tail[None],
                2 * self._nodes(tail[None]),
                ITERATIONS,
                lower=np.where(feasible.direction > 0, here, feasible.lower)[None],
                upper=np.where(feasible.direction < 0, here, feasible.upper)[None],
                unit=np.maximum(1.0, np.abs(rough)),
            )
            better = np.concatenate([here[None], outcome.Z[0]])
            cost = self.problems[i].path_cost
            if outcome.violation[0] <= FAR_FROM_GOAL and cost(better) < cost(tail):
                path[k:] = better
        return path

    def _candidates(self, owner: np.ndarray, paths: FloatArray) -> Candidates:
        direction = self.problems[0].feasible.direction
        allowed = paths.copy()
        allowed[:, 1:] = project_paths(
            paths[:, 1:], self.lower[owner][:, None], self.upper[owner][:, None], direction
        )
        count, segments = len(owner), paths.shape[1] - 1
        empty = np.full(count, np.inf)
        return Candidates(owner, allowed, empty, empty.copy(), np.zeros((count, segments)))

    def _nodes(self, paths: FloatArray) -> int:
        """Return a number of nodes that resolves the terrain under these paths."""
        longest = float(segment_lengths(segment_vectors(paths)).max())
        wanted = max(MIN_NODES, self.landscape.penalty + 1)
        wanted = max(wanted, longest / self.landscape.density.resolution_)
        return int(min(MAX_NODES, np.ceil(wanted)))

    def _costs(self, paths: FloatArray, owner: np.ndarray, nodes: int | None = None) -> FloatArray:
        rule = gauss_rule(nodes or self._nodes(paths))
        self.clock.evaluations += len(paths)
        costs, _ = self.landscape.segment_costs(
            paths, rule, unit=self.unit[owner], weights=self.weights
        )
        return costs

    # Arrival ----------------------------------------------------------------------------------

    def _best_path(self, i: int, candidates: Candidates, goal: GoalPoints) -> FloatArray | None:
        """Return the cheapest path of one problem that ends in the goal, strictly."""
        arrived: list[tuple[float, FloatArray]] = []
        for k in np.flatnonzero(candidates.owner == i):
            polished = self._polish_tails(i, candidates.paths[k])
            path = settle(self.problems[i], self._restore(i, polished), goal.inside)
            if path is not None:
                arrived.append((self.problems[i].path_cost(path), path))
        return min(arrived, key=lambda pair: pair[0])[1] if arrived else None

    def _restore(self, i: int, path: FloatArray) -> FloatArray:
        """Move an end that misses the goal by little onto its edge, by Newton's method.

        The step is the shortest one in the terrain's metric; the end of a steep descent can be
        1e-4 nats outside, and any detour would cost more than it.
        """
        if not self.region.differentiable or self.problems[i].met_by(path[-1]):
            return path
        path, feasible = path.copy(), self.problems[i].feasible
        free = feasible.lower < feasible.upper
        edges = np.zeros(2, dtype=bool)  # once missed, an edge is kept to: the two can be close
        for _ in range(NEWTON):
            slack, gradients = self.region.slack_and_pullback(path[-1:])
            short = 2 * MARGIN - slack[0]
            if not (short > MARGIN).any():
                break
            edges |= short > MARGIN
            slopes = gradients()[0, edges] * free
            moves = self.metric.rotate_back(self.metric.rotate(slopes) / self.metric.precision)
            needed = np.linalg.lstsq(slopes @ (moves * free).T, short[edges], rcond=None)[0]
            path[-1] = np.clip(path[-1] + needed @ moves * free, feasible.lower, feasible.upper)
        return follow_end(path, feasible.direction)

    def _choose(
        self,
        i: int,
        paths: dict[int, FloatArray],
        goal: GoalPoints,
        ends: FloatArray,
    ) -> Plan:
        problem = self.problems[i]
        wanted = {v: path for v, path in paths.items() if v in self.vertices} or paths
        if not wanted:
            status = Status.TIMEOUT if self.clock.expired else Status.GOAL_UNREACHABLE
            reachable = goal.reachable
            if len(ends):
                seen = best_reached(self.region.slack(ends))
                reachable = (max(reachable[0], seen[0]), max(reachable[1], seen[1]))
            return give_up(problem, self.clock, status=status, reachable=reachable)
        plans = {v: arrive(problem, path, self.clock) for v, path in wanted.items()}
        best = min(plan.cost for plan in plans.values())
        limit = best + max(self.vertex_tolerance, ROUNDING) * abs(best)
        return next(plans[v] for v in sorted(plans) if plans[v].cost <= limit)
