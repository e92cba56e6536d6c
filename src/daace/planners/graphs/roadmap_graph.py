"""A graph on draws of the density, made once: the roadmap that shows routes around barriers."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DRAWS_SEED, DrawStatistics
from daace.landscape.problem import Problem
from daace.planners.base import Clock
from daace.planners.graphs.draft import GraphDraft
from daace.planners.graphs.edges import EdgeRule
from daace.planners.graphs.graph import Graph

#: Default number of draws.
SAMPLES = 1000

#: Every draw is joined to its nearest neighbours among all draws, every 8th and every 64th, like
#: streets, main roads and highways: clusters without a short edge between them are joined by longer
#: ones. A full graph would need a hundred times the evaluations. With half the pieces, long edges
#: over narrow walls get weights that are wrong by a factor of three.
RULE = EdgeRule(kind="integral", k=8, pieces=8, strides=(1, 8, 64))

#: With fewer points than this a graph does not cover the terrain.
FEWEST = 300


def roadmap_graph(
    density: ConditionalDensity,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    clock: Clock | None = None,
) -> Graph:
    """Return a graph on draws of a density, the same number of each class.

    It is built at the first call and cached; fitting the density again makes a new one. If time
    runs out, the next call continues.

    Args:
        density: the density.
        samples: number of draws.
        seed: seed of the draws.
        clock: limits the time.

    Raises:
        TimeIsUp: the time is over and the graph not complete.
    """
    cached = _graphs.setdefault(density.draws_, {})
    found = cached.get((samples, seed))
    if isinstance(found, Graph):
        return found
    if clock is not None:
        clock.check()
    draft = GraphDraft.of(_draw(density, samples, seed), density, RULE) if found is None else found
    cached[samples, seed] = draft
    draft.complete(density, clock=clock)
    graph = cached[samples, seed] = Graph.of(draft, density)
    return graph


def _draw(density: ConditionalDensity, samples: int, seed: int) -> FloatArray:
    """Return draws in random order: every 8th must be representative of all."""
    rng = np.random.default_rng([DRAWS_SEED, seed])
    share = -(-samples // len(density.classes_))
    X = [density.sample(share, rng=rng, label=label)[0] for label in density.classes_.tolist()]
    return rng.permutation(np.concatenate(X))[:samples]


def restrict_graph(graph: Graph, problem: Problem, *, clock: Clock | None = None) -> Graph:
    """Return a graph with enough points that keep the constraints of a problem.

    If few points do (none does with a fixed feature), they are moved into the constraints, and the
    most plausible ones are joined again. Otherwise the graph itself is returned, as queries leave
    out points that break a constraint.

    Args:
        graph: on points of the problem's density.
        problem: the problem.
        clock: limits the time.

    Raises:
        TimeIsUp: the time is over.
    """
    feasible, density = problem.feasible, problem.landscape.density
    X = feasible.nearest(graph.points)
    if (X == graph.points).all(axis=1).sum() >= min(FEWEST, len(X)):
        return graph
    order = np.argsort(-log_sum_exp(density.log_joint(X)), kind="stable")
    return Graph.build(X[np.sort(order[:FEWEST])], density, RULE, clock=clock)


#: Graphs by samples and seed, for each density.
_graphs: WeakKeyDictionary[DrawStatistics, dict[tuple[int, int], Graph | GraphDraft]] = (
    WeakKeyDictionary()
)
