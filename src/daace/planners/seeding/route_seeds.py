"""Seeds around barriers: routes over a roadmap of draws, where straight lines fail."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.landscape.cost import Landscape
from daace.landscape.path import gauss_rule
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
    """Move the end back to the edge of the goal, and keep at most `LONGEST_ROUTE` waypoints."""
    path[-1] = pull_to_edge(problem, path[-1:], origin=path[-2])[0]
    keep = np.unique(np.linspace(0, len(path) - 1, LONGEST_ROUTE).round().astype(np.intp))
    return path[keep]


def simplify_route(
    landscape: Landscape,
    route: FloatArray,
    vertices: int,
    *,
    unit: float,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the cheapest path through a given number of the route's own waypoints.

    Dynamic programming over all shortcuts. If the route has too few waypoints, its longest segments
    are halved first.

    Args:
        landscape: the terrain.
        route: shape `(waypoints, n)`.
        vertices: number of waypoints between start and end.
        unit: roughness that counts as 1.
        weights: of each feature in the length; all 1 if None.
    """
    while len(route) < vertices + 2:
        longest = int(np.argmax(np.linalg.norm(np.diff(route, axis=0), axis=1)))
        route = np.insert(route, longest + 1, route[longest : longest + 2].mean(axis=0), axis=0)
    size = len(route)
    begin, end = np.triu_indices(size, k=1)
    pairs = np.stack([route[begin], route[end]], axis=1)
    cost = np.full((size, size), np.inf)
    costs = landscape.segment_costs(pairs, gauss_rule(16), unit=unit, weights=weights)
    cost[begin, end] = costs[:, 0]
    best = cost[0].copy()
    choices = []
    for _ in range(vertices):
        through = best[:, None] + cost
        choices.append(through.argmin(axis=0))
        best = through.min(axis=0)
    nodes = [size - 1]
    for choice in reversed(choices):
        nodes.append(int(choice[nodes[-1]]))
    return route[[0, *nodes[::-1]]]
