"""A roadmap over the density's own draws: the global view that straight seeds lack."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from daace._typing import FloatArray, IntArray
from daace.density.base import DRAWS_SEED, ConditionalDensity, DrawStatistics, log_sum_exp
from daace.landscape.cost import Landscape
from daace.landscape.path import gauss_rule, points_along
from daace.landscape.problem import Problem
from daace.planners.seeds import pull_back, spread_out

NODES = 1000
NEIGHBOURS = 8

#: Neighbours are also sought among every 8th and every 64th node: crowds that have no short edge
#: to each other are joined by longer ones.
STRIDES = (1, 8, 64)
EDGE_RULE = gauss_rule(3)

#: With fewer nodes than this a graph has no view of the terrain.
FEWEST = 300

#: Waypoints of a route that are kept before it is simplified.
ROUTE = 12


@dataclass(frozen=True, eq=False)
class DrawGraph:
    """Nearest-neighbour graph on fixed-seed draws, with log-densities stored on its edges.

    A new penalty or goal needs no new evaluation of the density.

    Attributes:
        X: nodes, shape `(nodes, n)`.
        log_joint: of the nodes.
        edges: pairs of nodes, each once, shape `(edges, 2)`.
        lengths: of the edges.
        log_prob: at three points of each edge, shape `(edges, 3)`.
    """

    X: FloatArray
    log_joint: FloatArray
    edges: IntArray
    lengths: FloatArray
    log_prob: FloatArray

    @classmethod
    def of(cls, density: ConditionalDensity) -> DrawGraph:
        """Draw the nodes, the same number of each class, and connect each to its neighbours."""
        rng = np.random.default_rng(DRAWS_SEED)
        share = max(150, NODES // len(density.classes_))
        X = np.concatenate([density.sample(share, rng=rng, label=k)[0] for k in density.classes_])
        return cls.on(density, X[rng.permutation(len(X))])

    @classmethod
    def on(cls, density: ConditionalDensity, X: FloatArray) -> DrawGraph:
        """Connect each of some points, in random order, to its neighbours."""
        order = np.arange(len(X))
        pairs = np.concatenate([_neighbour_pairs(X, order[::stride]) for stride in STRIDES])
        edges = np.unique(np.sort(pairs, axis=1), axis=0)
        points = points_along(X[edges], EDGE_RULE)
        log_prob = log_sum_exp(density.log_joint(points.reshape(-1, X.shape[1])))
        lengths = np.linalg.norm(X[edges[:, 1]] - X[edges[:, 0]], axis=1)
        return cls(X, density.log_joint(X), edges, lengths, log_prob.reshape(len(edges), -1))

    def within(self, problem: Problem) -> DrawGraph:
        """Return the part of the graph that the constraints of a problem allow.

        Where they leave few nodes (a fixed feature leaves none), the nodes are moved into them,
        and the most plausible ones connected anew.
        """
        feasible, density = problem.feasible, problem.landscape.density
        X = np.clip(self.X, feasible.lower, feasible.upper)
        allowed = (X == self.X).all(axis=1)
        if allowed.all():
            return self
        if allowed.sum() < FEWEST:
            order = np.argsort(-log_sum_exp(density.log_joint(X)), kind="stable")
            return DrawGraph.on(density, X[np.sort(order[:FEWEST])])
        kept = allowed[self.edges].all(axis=1)
        number = np.cumsum(allowed) - 1
        return DrawGraph(
            self.X[allowed],
            self.log_joint[allowed],
            number[self.edges[kept]],
            self.lengths[kept],
            self.log_prob[kept],
        )

    def edge_costs(self, landscape: Landscape, unit: float, *, relief: float = 0.0) -> FloatArray:
        """Return the cost of every edge, in units of `unit ** penalty`.

        Args:
            landscape: the terrain.
            unit: u is divided by it.
            relief: nats by which the ground is raised, at most to the level of dense ground.
        """
        level = np.maximum(self.log_prob, landscape.density.draws_.level)
        log_prob = np.minimum(self.log_prob + relief, level)
        prices = landscape.price(landscape.roughness(log_prob) / unit)
        costs: FloatArray = self.lengths * (prices @ EDGE_RULE.weights)
        return costs

    def routes(self, problem: Problem, count: int, *, unit: float = 1.0) -> list[FloatArray]:
        """Return cheap routes from the start to different parts of the goal, ends at its edge.

        Half of them by the cost of the edges as they are. But draws scatter around the ridges
        that an optimised path follows, and at a high penalty that scatter costs more than a wall;
        so the other half is found with the ground raised until typical draws are dense ground.

        All nodes must be allowed: see `within`. Each route has shape `(waypoints, n)`, the start
        first.
        """
        landscape = problem.landscape
        slack = problem.region.slack_of(self.log_joint, self.X)
        goals = np.flatnonzero((slack > 0).all(axis=1))
        if len(goals) == 0:
            return []
        first = nearest(problem.x[None], self.X, NEIGHBOURS)[0]
        steps = np.stack([np.repeat(problem.x[None], len(first), axis=0), self.X[first]], axis=1)
        to_first = landscape.segment_costs(steps, gauss_rule(16), unit=unit)[0][:, 0]
        draws = landscape.density.draws_
        found: list[FloatArray] = []
        for relief in (0.0, draws.level - float(draws.quantiles[25])):
            between = self.edge_costs(landscape, unit, relief=relief)
            reached, previous = self._search(between, first, to_first)
            ends = goals[np.isfinite(reached[goals])]
            if len(ends):
                ends = ends[spread_out(self.X[ends], reached[ends], -(-count // 2))]
            found += [self._route(problem, previous, end) for end in ends]
        return found

    def _search(
        self, costs: FloatArray, first: IntArray, to_first: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Run Dijkstra from the start, which is the node after the last."""
        origin = len(self.X)
        begin = np.concatenate([self.edges[:, 0], np.full(len(first), origin)])
        end = np.concatenate([self.edges[:, 1], first])
        costs = np.concatenate([costs, to_first])
        lowest = costs.min()
        if lowest <= 0:  # the raw scale pays for dense ground: shift so that Dijkstra applies
            costs = costs - lowest + 1e-6 * max(1.0, float(np.abs(costs).max()))
        matrix = csr_array((costs, (begin, end)), shape=(origin + 1, origin + 1))
        reached, previous = dijkstra(
            matrix, directed=False, indices=origin, return_predecessors=True
        )
        return reached, previous

    def _route(self, problem: Problem, previous: IntArray, goal: int) -> FloatArray:
        nodes = [int(goal)]
        while previous[nodes[-1]] != len(self.X):
            nodes.append(int(previous[nodes[-1]]))
        route = np.concatenate([problem.x[None], self.X[nodes[::-1]]])
        route[-1] = pull_back(problem, route[-1:], origin=route[-2])[0]
        if len(route) > ROUTE:
            keep = np.unique(np.linspace(0, len(route) - 1, ROUTE).round().astype(np.intp))
            route = route[keep]
        return route


def _neighbour_pairs(X: FloatArray, subset: IntArray) -> IntArray:
    """Pair every node with its nearest others in a subset."""
    found = subset[nearest(X, X[subset], NEIGHBOURS + 1)]
    pairs = np.column_stack([np.repeat(np.arange(len(X)), found.shape[1]), found.ravel()])
    apart: IntArray = pairs[pairs[:, 0] != pairs[:, 1]]
    return apart


_graphs: WeakKeyDictionary[DrawStatistics, DrawGraph] = WeakKeyDictionary()


def draw_graph(density: ConditionalDensity) -> DrawGraph:
    """Return the graph of a density, made on first use; a new fit makes a new one."""
    if density.draws_ not in _graphs:
        _graphs[density.draws_] = DrawGraph.of(density)
    return _graphs[density.draws_]


def nearest(queries: FloatArray, X: FloatArray, count: int) -> IntArray:
    """Return the indices of the nearest rows of X, nearest first, shape `(queries, count)`."""
    count = min(count, len(X))
    squares = np.einsum("rn,rn->r", X, X)
    distance = squares - 2 * (queries @ X.T)
    some = np.argpartition(distance, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distance, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def simplify(landscape: Landscape, route: FloatArray, vertices: int, *, unit: float) -> FloatArray:
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
    cost[begin, end] = landscape.segment_costs(pairs, gauss_rule(16), unit=unit)[0][:, 0]
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
