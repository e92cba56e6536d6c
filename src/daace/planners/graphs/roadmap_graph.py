"""A graph on draws of the density, made once: the roadmap that shows routes around barriers."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DRAWS_SEED, DrawStatistics
from daace.landscape.problem import Problem
from daace.planners.graphs.edges import EdgeRule
from daace.planners.graphs.graph import Graph

#: Default number of draws.
SAMPLES = 1000

#: Every draw is joined to its nearest neighbours among all draws, every 8th and every 64th, like
#: streets, main roads and highways: clusters without a short edge between them are joined by longer
#: ones. A full graph would need a hundred times the evaluations.
RULE = EdgeRule(kind="integral", k=8, pieces=4, strides=(1, 8, 64))

#: With fewer points than this a graph does not cover the terrain.
FEWEST = 300


def roadmap_graph(density: ConditionalDensity, *, samples: int = SAMPLES, seed: int = 0) -> Graph:
    """Return a graph on draws of a density, the same number of each class.

    It is built at the first call and cached; fitting the density again makes a new one.

    Args:
        density: the density.
        samples: number of draws.
        seed: of the draws.
    """
    cached = _graphs.setdefault(density.draws_, {})
    if (samples, seed) not in cached:
        rng = np.random.default_rng([DRAWS_SEED, seed])
        share = -(-samples // len(density.classes_))
        X = [density.sample(share, rng=rng, label=label)[0] for label in density.classes_.tolist()]
        # In random order: every 8th draw must be representative of all.
        points = rng.permutation(np.concatenate(X))[:samples]
        cached[samples, seed] = Graph.build(points, density, RULE)
    return cached[samples, seed]


def restrict_graph(graph: Graph, problem: Problem) -> Graph:
    """Return a graph with enough points that keep the constraints of a problem.

    If few points do (none does with a fixed feature), they are moved into the constraints, and the
    most plausible ones are joined again. Otherwise the graph itself is returned, as queries leave
    out points that break a constraint.

    Args:
        graph: on points of the problem's density.
        problem: the problem.
    """
    feasible, density = problem.feasible, problem.landscape.density
    X = feasible.nearest(graph.points)
    if (X == graph.points).all(axis=1).sum() >= min(FEWEST, len(X)):
        return graph
    order = np.argsort(-log_sum_exp(density.log_joint(X)), kind="stable")
    return Graph.build(X[np.sort(order[:FEWEST])], density, RULE)


_graphs: WeakKeyDictionary[DrawStatistics, dict[tuple[int, int], Graph]] = WeakKeyDictionary()
