"""Ways around walls, found over the density's own draws: the view that straight seeds lack."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DRAWS_SEED, DrawStatistics
from daace.landscape.cost import Landscape
from daace.landscape.path import gauss_rule
from daace.landscape.problem import Problem
from daace.planners.edges import EdgeRule
from daace.planners.graph import Graph
from daace.planners.routes import find_routes
from daace.planners.seeds import pull_back

#: Draws of a graph, unless another number is asked for.
DRAWS = 1000

#: Every draw is joined to its nearest among all draws, every 8th and every 64th, as in a city
#: with streets, main roads and highways: crowds that have no short edge to each other are joined
#: by longer ones, and a full graph would cost a hundred times the evaluations.
RULE = EdgeRule(kind="integral", k=8, pieces=4, strides=(1, 8, 64))

#: With fewer nodes than this a graph has no view of the terrain.
FEWEST = 300

#: Waypoints of a route that are kept before it is simplified.
ROUTE = 12


def draw_graph(density: ConditionalDensity, *, draws: int = DRAWS, seed: int = 0) -> Graph:
    """Return a graph on draws of a density, the same number of each class.

    Made at the first call; a new fit of the density makes a new one.
    """
    mine = _graphs.setdefault(density.draws_, {})
    if (draws, seed) not in mine:
        rng = np.random.default_rng([DRAWS_SEED, seed])
        share = -(-draws // len(density.classes_))
        X = [density.sample(share, rng=rng, label=label)[0] for label in density.classes_]
        # In random order: every 8th draw must be like all of them.
        points = rng.permutation(np.concatenate(X))[:draws]
        mine[draws, seed] = Graph.build(points, density, RULE)
    return mine[draws, seed]


def within(graph: Graph, problem: Problem) -> Graph:
    """Return a graph on points that the constraints of a problem allow.

    Where they leave few (a fixed feature leaves none), the points are moved into them, and the
    most plausible ones joined anew; otherwise it is the graph itself, whose queries keep to the
    constraints.
    """
    feasible, density = problem.feasible, problem.landscape.density
    X = feasible.nearest(graph.points)
    if (X == graph.points).all(axis=1).sum() >= min(FEWEST, len(X)):
        return graph
    order = np.argsort(-log_sum_exp(density.log_joint(X)), kind="stable")
    return Graph.build(X[np.sort(order[:FEWEST])], density, RULE)


def corridors(problem: Problem, graph: Graph, count: int) -> list[FloatArray]:
    """Return cheap routes from the start to different parts of the goal, ends at its edge.

    Half of them by the cost of the edges as they are. But draws scatter around the ridges that an
    optimised path follows, and at a high penalty that scatter costs more than a wall; so the other
    half is found with the ground raised until typical draws are dense ground.

    Each route has shape `(waypoints, n)`, the start first.
    """
    draws = problem.landscape.density.draws_
    found = []
    for relief in (0.0, draws.level - float(draws.quantiles[25])):
        routes = find_routes(graph, problem, -(-count // 2), relief=relief)
        found += [_to_the_edge(problem, path) for path in routes.paths]
    return found


def _to_the_edge(problem: Problem, path: FloatArray) -> FloatArray:
    """Draw the end back to the goal's edge; keep some of many waypoints."""
    path[-1] = pull_back(problem, path[-1:], origin=path[-2])[0]
    keep = np.unique(np.linspace(0, len(path) - 1, ROUTE).round().astype(np.intp))
    return path[keep]


def simplify(
    landscape: Landscape,
    route: FloatArray,
    vertices: int,
    *,
    unit: float,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the cheapest path through `vertices` of the route's own waypoints.

    Dynamic programming over all shortcuts; where the route has too few waypoints, its longest
    segments are halved first.
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


_graphs: WeakKeyDictionary[DrawStatistics, dict[tuple[int, int], Graph]] = WeakKeyDictionary()
