"""The initial paths of a search: straight lines, split paths and routes over a roadmap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.path import split_segment, straight_paths
from daace.planners.base import Clock, TimeIsUp
from daace.planners.descent import Candidates, PathDescent, ProblemBatch
from daace.planners.graphs import choose_cheap_and_diverse, restrict_graph, roadmap_graph
from daace.planners.seeding.detour_seeds import DetourSeeds
from daace.planners.seeding.goal_points import (
    NEAREST,
    NEAREST_BEHIND_BARRIERS,
    GoalPoints,
    find_goal_points,
    pull_to_edge,
)
from daace.planners.seeding.route_seeds import find_route_seeds, simplify_route

#: Number of routes over the roadmap that seed each number of vertices.
ROUTES = 2


def may_have_barriers(batch: ProblemBatch) -> bool:
    """Whether a straight line may miss the cheapest path.

    It may unless the density is one Gaussian for each of two classes: a third class can bridge the
    other two, which straight lines miss. Routes over a roadmap do not keep codes, so with codes
    there are only straight lines.
    """
    density = batch.landscape.density
    if density.encoding_.code_sizes:
        return False
    return not density.gaussian_ or len(density.classes_) > 2


@dataclass(frozen=True, eq=False)
class PathSeeds:
    """Makes the first candidates of a search, and those with more vertices.

    Args:
        batch: the problems.
        descent: the descent over their terrain.
        starts: number of straight lines to begin with, for each problem.
        goals: goal points of each problem.
        routes: routes to the goal of each problem, each of shape `(waypoints, n)`.
        detours: paths through dense regions, of problems whose landscape rewards them.
    """

    batch: ProblemBatch
    descent: PathDescent
    starts: int
    goals: dict[int, GoalPoints]
    routes: dict[int, list[FloatArray]]
    detours: dict[int, DetourSeeds]

    @classmethod
    def find(
        cls,
        batch: ProblemBatch,
        descent: PathDescent,
        waiting: list[int],
        *,
        starts: int,
        routes: Sequence[list[FloatArray]] | None = None,
    ) -> PathSeeds:
        """Find goal points and routes.

        Args:
            batch: the problems.
            descent: the descent over their terrain.
            waiting: indices of the problems to solve.
            starts: number of straight lines to begin with, for each problem.
            routes: routes of each problem of the batch; None to search them over the roadmap of
                the density where there may be barriers.
        """
        goals = _find_goals(batch, waiting, descent.clock)
        found = {
            i: _find_routes(batch, i, descent.clock) if routes is None else routes[i]
            for i in waiting
        }
        detours = {}
        if batch.landscape.rewards_detours:
            reachable = [i for i in waiting if len(goals[i].inside)]
            detours = {i: _find_detours(batch, i, goals[i], descent) for i in reachable}
        return cls(batch, descent, starts, goals, found, detours)

    def first(self, waiting: list[int]) -> Candidates:
        """Return straight lines to goal points: cheap ones and diverse ones, and to route ends.

        Without goal points, the lines lead to the draws that miss the goal least.

        Args:
            waiting: indices of the problems to solve.
        """
        batch, edges = self.batch, self._edge_points(waiting)
        owners, ends = [], []
        for i in waiting:
            points = self.goals[i].inside
            if len(points):
                rewarded = batch.landscape.rewards_detours
                points = np.concatenate([edges[i], points]) if rewarded else edges[i]
                lines = straight_paths(batch.starts[i], points, 0)
                costs = self._line_costs(i, lines)
                points = points[choose_cheap_and_diverse(points, costs, self.starts)]
                points = np.concatenate([points, *(route[-1:] for route in self.routes[i])])
            else:
                points = self.goals[i].nearly[: 2 * self.starts]
            owners.append(np.full(len(points), i))
            ends.append(points)
        owner = np.concatenate(owners)
        lines = straight_paths(batch.starts[owner], np.concatenate(ends), 0)
        return batch.candidates(owner, lines)

    def split(self, before: Candidates, v: int) -> Candidates:
        """Split the costliest segments of paths until they have v vertices.

        A straight line to the best end of each problem, its simplified routes and its detours are
        added.

        Args:
            before: paths with fewer vertices, the best of each problem first.
            v: number of vertices.
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
            if i in self.detours:
                extra += self.detours[i].paths(v)
            if before.paths.shape[1] > 2:
                end = before.paths[best, -1:]
                extra.append(straight_paths(self.batch.starts[i], end, v)[0])
            if extra:
                seeds.append(np.stack(extra))
                owners.append(np.full(len(extra), i))
        return self.batch.candidates(np.concatenate(owners), np.concatenate(seeds))

    def _edge_points(self, waiting: list[int]) -> dict[int, FloatArray]:
        """Return the goal points of each problem, moved to the edge of the goal; all at once."""
        points = [self.goals[i].inside for i in waiting]
        sizes = [len(part) for part in points]
        origin = np.repeat(self.batch.starts[waiting], sizes, axis=0)
        owner = np.repeat(waiting, sizes)
        region = self.batch.terrain.region.take(owner)
        edge = pull_to_edge(
            self.batch.problems[0], np.concatenate(points), origin=origin, region=region
        )
        return dict(zip(waiting, np.split(edge, np.cumsum(sizes)[:-1]), strict=True))

    def _line_costs(self, i: int, lines: FloatArray) -> FloatArray:
        """Return the costs of straight lines of one problem."""
        land, unit = self.batch.problems[i].landscape, self.batch.unit[[i]]
        costs = np.empty(len(lines))
        for nodes, rows in self.descent.by_nodes(lines, np.zeros(len(lines), dtype=np.intp)):
            some = self.descent.costs(lines[rows], nodes=nodes, unit=unit, landscape=land)
            costs[rows] = some[:, 0]
        return costs

    def _simplify(self, i: int, route: FloatArray, v: int) -> FloatArray:
        unit, weights = float(self.batch.unit[i]), self.descent.weights
        path = simplify_route(
            self.batch.problems[i].landscape, route, v, unit=unit, weights=weights
        )
        assert path is not None  # only codes can forbid a shortcut
        return path


def _find_goals(batch: ProblemBatch, waiting: list[int], clock: Clock) -> dict[int, GoalPoints]:
    """Return the goal points of each problem; points that one climbed to serve the others."""
    nearest = NEAREST_BEHIND_BARRIERS if may_have_barriers(batch) else NEAREST
    goals: dict[int, GoalPoints] = {}
    beyond: FloatArray | None = None
    for i in waiting:
        goals[i] = find_goal_points(batch.problems[i], nearest=nearest, beyond=beyond, clock=clock)
        if len(goals[i].inside):
            beyond = goals[i].inside
    return goals


def _find_routes(batch: ProblemBatch, i: int, clock: Clock) -> list[FloatArray]:
    """Return routes to the goal of one problem: none without barriers, or without time."""
    if not may_have_barriers(batch):
        return []
    problem = batch.problems[i]
    try:
        whole = roadmap_graph(batch.landscape.density, clock=clock)
        graph = restrict_graph(whole, problem, clock=clock)
    except TimeIsUp:
        return []
    return [] if clock.expired else find_route_seeds(problem, graph, ROUTES)


def _find_detours(
    batch: ProblemBatch, i: int, goals: GoalPoints, descent: PathDescent
) -> DetourSeeds:
    """Return paths of one problem through dense regions."""
    unit = float(batch.unit[i])
    return DetourSeeds.find(batch.problems[i], goals.inside, unit=unit, weights=descent.weights)
