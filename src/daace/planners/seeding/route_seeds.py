"""Seeds around barriers: routes over a roadmap of draws, where straight lines fail."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.landscape.code_rules import CodeRules
from daace.landscape.cost import Landscape
from daace.landscape.path import gauss_rule, split_segment
from daace.landscape.problem import Problem
from daace.planners.graphs import Graph, find_goal_routes
from daace.planners.seeding.goal_points import pull_to_edge

#: Largest number of waypoints of a route before it is simplified.
LONGEST_ROUTE = 12


def find_route_seeds(problem: Problem, graph: Graph, count: int) -> list[FloatArray]:
    """Return cheap routes from the start to different parts of the goal, with ends at its edge.

    One half is found by the cost of the edges. But draws scatter around the ridge that an optimised
    path follows, and at a high penalty this scatter costs more than a barrier; so the other half is
    found with log p raised until typical draws count as dense.

    Each route has shape `(waypoints, n)`, the start first.

    Args:
        problem: start, goal and constraints.
        graph: on draws of the problem's density.
        count: number of routes.
    """
    draws = problem.landscape.density.draws_
    found = []
    for relief in (0.0, draws.level - float(draws.quantiles[25])):
        routes = find_goal_routes(graph, problem, -(-count // 2), relief=relief)
        found += [_shorten(problem, path) for path in routes.paths]
    return found


def _shorten(problem: Problem, path: FloatArray) -> FloatArray:
    """Move the end back to the edge of the goal, and keep at most `LONGEST_ROUTE` waypoints.

    If codes may not change from one of those to the next, all are kept.
    """
    codes, origin = problem.feasible.codes, path[-2]
    if codes is not None:
        origin = origin.copy()
        origin[codes.columns] = path[-1, codes.columns]
        origin = codes.place(origin)
    path[-1] = pull_to_edge(problem, path[-1:], origin=origin)[0]
    keep = np.unique(np.linspace(0, len(path) - 1, LONGEST_ROUTE).round().astype(np.intp))
    return path[keep] if codes is None or codes.contains(path[keep]) else path


def simplify_route(
    landscape: Landscape,
    route: FloatArray,
    vertices: int,
    *,
    unit: float,
    weights: FloatArray | None = None,
    codes: CodeRules | None = None,
) -> FloatArray | None:
    """Return the cheapest path through a given number of the route's own waypoints.

    Dynamic programming over all shortcuts. If the route has too few waypoints, its longest segments
    are halved first. None if codes may not take any of the shortcuts.

    Args:
        landscape: the terrain.
        route: shape `(waypoints, n)`.
        vertices: number of waypoints between start and end.
        unit: roughness that counts as 1.
        weights: weight of each feature in the length; all 1 if None.
        codes: rules of the codes; None if all features are plain numbers.
    """
    while len(route) < vertices + 2:
        longest = np.argmax(np.linalg.norm(np.diff(route, axis=0), axis=1))
        route = split_segment(route[None], np.array([longest]), codes)[0]
    size = len(route)
    begin, end = np.triu_indices(size, k=1)
    pairs = np.stack([route[begin], route[end]], axis=1)
    cost = np.full((size, size), np.inf)
    costs = landscape.segment_costs(pairs, gauss_rule(16), unit=unit, weights=weights)
    cost[begin, end] = costs[:, 0]
    if codes is not None:
        passes = codes.passes(route[begin][:, codes.columns], route[end][:, codes.columns])
        cost[begin, end] = np.where(passes, costs[:, 0], np.inf)
    best = cost[0].copy()
    choices = []
    for _ in range(vertices):
        through = best[:, None] + cost
        choices.append(through.argmin(axis=0))
        best = through.min(axis=0)
    if not np.isfinite(best[-1]) and codes is not None:
        return None
    nodes = [size - 1]
    for choice in reversed(choices):
        nodes.append(int(choice[nodes[-1]]))
    return route[[0, *nodes[::-1]]]
