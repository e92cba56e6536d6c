"""The initial paths of a search over numbers and codes.

`find_code_ends` proposes codes of ends. The paths to them first switch at the start; when a path
gets more vertices, its switches may move to a later waypoint, one rung or all at once, or be
dropped. Numbers with atoms may stop at one along the path, or approach one before entering it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.landscape.code_rules import CodeRules
from daace.landscape.path import split_segment, straight_paths
from daace.planners.descent import Candidates, ProblemBatch
from daace.planners.seeding.code_ends import CodeGoals, find_code_ends
from daace.planners.seeding.route_seeds import simplify_route

#: Number of paths of each problem whose switches are varied.
VARIED = 2

#: Numbers of variations of the switches of each path, and of its stops at atoms.
VARIATIONS, STOPS = 24, 12

#: Shares of the distance to an atom that a number moves before it enters the atom.
APPROACHES = (0.15, 0.5)


@dataclass(frozen=True, eq=False)
class CodeSeeds:
    """Makes the first candidates of a search over codes, and those with more vertices.

    Args:
        batch: the problems.
        goals: goal points of each problem, those with the most promising codes.
        routes: routes to the goal of each problem, each of shape `(waypoints, n)`.
        weights: weight of each feature in the length of a path; None if all are 1.
    """

    batch: ProblemBatch
    goals: dict[int, CodeGoals]
    routes: Sequence[list[FloatArray]]
    weights: FloatArray | None

    @classmethod
    def find(
        cls,
        batch: ProblemBatch,
        waiting: list[int],
        *,
        routes: Sequence[list[FloatArray]] | None = None,
        weights: FloatArray | None = None,
    ) -> CodeSeeds:
        """Find goal points.

        Args:
            batch: the problems.
            waiting: indices of the problems to solve.
            routes: routes of each problem of the batch; none if left out.
            weights: weight of each feature in the length of a path; None if all are 1.
        """
        goals = {i: find_code_ends(batch.problems[i]) for i in waiting}
        return cls(batch, goals, routes or [[] for _ in batch.problems], weights)

    def first(self, waiting: list[int]) -> Candidates:
        """Return straight lines to goal points and to the ends of routes.

        Without any, the lines lead to the points that miss the goal least.

        Args:
            waiting: indices of the problems to solve.
        """
        owners, ends = [], []
        for i in waiting:
            goals = self.goals[i]
            ends_of_routes = [route[-1:] for route in self.routes[i]]
            points = np.concatenate([goals.inside, *ends_of_routes])
            points = points if len(points) else goals.nearly
            owners.append(np.full(len(points), i))
            ends.append(points)
        owner = np.concatenate(owners)
        lines = straight_paths(self.batch.starts[owner], np.concatenate(ends), 0)
        return self.batch.candidates(owner, lines)

    def split(self, before: Candidates, v: int) -> Candidates:
        """Split the costliest segments of paths until they have v vertices; vary the switches.

        Args:
            before: paths with fewer vertices, the best of each problem first.
            v: number of vertices.
        """
        paths, costs = before.paths, np.abs(before.segment_costs)
        codes = self.batch.problems[0].feasible.codes
        assert codes is not None
        while paths.shape[1] < v + 2:
            worst = costs.argmax(axis=1)
            paths = split_segment(paths, worst, codes)
            halves = [np.insert(c, w, c[w] / 2) for c, w in zip(costs, worst, strict=True)]
            costs = np.stack(halves)
            costs[np.arange(len(costs)), worst + 1] /= 2
        seeds, owners = [paths], [before.owner]
        for i in np.unique(before.owner):
            mine = np.flatnonzero(before.owner == i)[:VARIED]
            codes = self.batch.problems[i].feasible.codes
            assert codes is not None
            if v == 1 and len(late := self.goals[i].late):
                starts = np.repeat(self.batch.starts[i][None, None], len(late), axis=0)
                seeds.append(np.concatenate([starts, late], axis=1))
                owners.append(np.full(len(late), i))
            for route in self.routes[i]:
                simple = self._simplify(i, route, v)
                if simple is not None:
                    seeds.append(simple[None])
                    owners.append(np.array([i]))
            for row in mine:
                for varied in (vary_switches(codes, paths[row]), vary_stops(codes, paths[row])):
                    seeds.append(varied)
                    owners.append(np.full(len(varied), i))
        return self.batch.candidates(np.concatenate(owners), np.concatenate(seeds))

    def _simplify(self, i: int, route: FloatArray, v: int) -> FloatArray | None:
        problem, unit = self.batch.problems[i], float(self.batch.unit[i])
        return simplify_route(
            problem.landscape,
            route,
            v,
            unit=unit,
            weights=self.weights,
            codes=problem.feasible.codes,
        )


def vary_switches(codes: CodeRules, path: FloatArray) -> FloatArray:
    """Return the path with its switches at other waypoints, or without one of them.

    Args:
        codes: rules of the codes.
        path: shape `(waypoints, n)`.
    """
    found = []

    def add(columns: np.ndarray, k: int, values: FloatArray) -> None:
        other = path.copy()
        other[k, columns] = values
        if 0 < k and codes.contains(other):
            found.append(codes.place(other))

    for k in range(len(path) - 1):
        changed = codes.columns[path[k, codes.columns] != path[k + 1, codes.columns]]
        if len(changed) == 0:
            continue
        inner = k + 1 < len(path) - 1
        groups = [changed[[c]] for c in range(len(changed))]
        if len(changed) > 1:
            groups.insert(0, changed)
        for group in groups:
            if inner:
                add(group, k + 1, path[k, group])
            add(group, k, path[k + 1, group])
            step = path[k + 1, group] - path[k, group]
            if len(group) == 1 and abs(step[0]) > 1:
                if inner:
                    add(group, k + 1, path[k + 1, group] - np.sign(step))
                add(group, k, path[k, group] + np.sign(step))
        for group in groups:
            if len(group) == 1:
                other = path.copy()
                other[k + 1 :, group] = path[k, group]
                found.append(codes.place(other))
    return np.stack(found[:VARIATIONS]) if found else np.empty((0, *path.shape))


def vary_stops(codes: CodeRules, path: FloatArray) -> FloatArray:
    """Return the path with numbers at other atoms in between, or with another approach to an atom.

    Args:
        codes: rules of the codes.
        path: shape `(waypoints, n)`.
    """
    found = []

    def add(k: int, waypoint: FloatArray) -> None:
        other = path.copy()
        other[k] = codes.place(waypoint)
        if codes.contains(other):
            found.append(other)

    for k in range(1, len(path) - 1):
        begin, end = path[k - 1], path[k + 1]
        if codes.enters_atom(begin, end):
            for share in APPROACHES:
                add(k, codes.between(begin, end, begin + share * (end - begin)))
            middle = 0.5 * (begin + end)
            middle[codes.columns] = end[codes.columns]
            add(k, middle)
        for atom in codes.atoms:
            for code in np.flatnonzero(np.arange(len(atom.places)) != path[k, atom.code]):
                stop = path[k].copy()
                stop[atom.code] = code
                add(k, stop)
    return np.stack(found[:STOPS]) if found else np.empty((0, *path.shape))
