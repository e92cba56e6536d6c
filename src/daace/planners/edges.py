"""Edges of a graph on points: which there are, what they weigh, the density along them.

Between points a and b at distance d, with midpoint m, n features and the landscape's price f, an
edge weighs

- `integral`: the cost of the segment, the integral of f(u) ds;
- `density`: `f(u(m)) d`;
- `epsilon`: `f(-log(epsilon^n / d)) d`, and plainly d where epsilon is infinite;
- `knn`: `f(-log(r / d)) d` with `r = k / (N * volume of the unit n-ball)`.

In the first two, u is the landscape's roughness on its own scale (-log p on 'nll'). The last two
know no density. What stands in its place is a number of points per volume, whose -log goes into f
as it is, on either scale: level and spread of log p say nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from daace._checks import check_choice, check_integer, check_number
from daace._typing import BoolArray, FloatArray, IntArray
from daace._workers import Workers
from daace.density.base import ConditionalDensity
from daace.landscape.cost import Landscape
from daace.landscape.path import Quadrature, gauss_rule, midpoint_rule
from daace.planners.base import one_thread

Indices: TypeAlias = npt.NDArray[np.int32]
Kind: TypeAlias = Literal["integral", "density", "epsilon", "knn"]

#: Edges evaluated at once. Part of the result (matrix products round by their size), hence fixed:
#: however many processes share the blocks, each block is the same.
BLOCK = 2048

#: Distances computed at once: 32 MB.
DISTANCES = 4_000_000

#: Neighbours of a 'knn' graph when no number is given.
NEIGHBOURS = 20


@dataclass(frozen=True, kw_only=True)
class EdgeRule:
    """Which points are joined, and by which formula an edge is weighed.

    Args:
        kind: the formula: 'integral', 'density', 'epsilon' or 'knn'.
        epsilon: only points closer than this are joined; infinite joins all.
        k: only points of which one is among the k nearest of the other are joined; when left
            out, all are, and of 'knn' the 20 nearest. With too few points, all are neighbours.
        rule: quadrature of 'integral': 'gauss', or 'midpoint' as in the paper's experiments.
        pieces: points of the quadrature on each edge. Along a Gaussian 16 of 'gauss' are exact up
            to penalty 15; 19 of 'midpoint' are the paper's.
        strides: with k, neighbours are sought among all points (1), among every 8th (8), ...:
            crowds that have no short edge to each other are then joined by longer ones.

    Example:
        >>> EdgeRule(kind="knn").neighbours(1000), EdgeRule(kind="knn", k=5).neighbours(4)
        (20, 3)
    """

    kind: Kind = "integral"
    epsilon: float = np.inf
    k: int | None = None
    rule: Literal["gauss", "midpoint"] = "gauss"
    pieces: int = 16
    strides: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        check_choice("graph", self.kind, ("integral", "density", "epsilon", "knn"))
        if self.epsilon != np.inf:
            check_number("epsilon", self.epsilon, above=0)
        if self.k is not None:
            check_integer("k", self.k, at_least=1)
        check_choice("rule", self.rule, ("gauss", "midpoint"))
        check_integer("pieces", self.pieces, at_least=1)

    def neighbours(self, points: int) -> int | None:
        """Return the k in use on a number of points; None where it is not limited."""
        k = NEIGHBOURS if self.k is None and self.kind == "knn" else self.k
        return None if k is None else min(k, max(points - 1, 1))

    @property
    def quadrature(self) -> Quadrature | None:
        """Where the density is looked at on an edge; nowhere for 'epsilon' and 'knn'."""
        if self.kind == "density":
            return midpoint_rule(1)
        if self.kind == "integral":
            return gauss_rule(self.pieces) if self.rule == "gauss" else midpoint_rule(self.pieces)
        return None

    def pseudo_roughness(self, lengths: FloatArray, points: int, features: int) -> FloatArray:
        """Return `-log(c / d)` of 'epsilon' (c = epsilon^n) and 'knn' (c = r).

        1, and so f = 1, where epsilon is infinite. Where d is 0 the weight is 0 whatever stands
        here, as d falls faster than its logarithm rises.
        """
        if self.kind == "epsilon" and self.epsilon == np.inf:
            return np.ones_like(lengths)
        if self.kind == "knn":
            unit_ball = 0.5 * features * np.log(np.pi) - gammaln(0.5 * features + 1)
            log_c = float(np.log((self.neighbours(points) or 1) / points) - unit_ball)
        else:
            log_c = features * float(np.log(self.epsilon))
        return np.log(lengths, out=np.full_like(lengths, log_c), where=lengths > 0) - log_c

    def prices(
        self, landscape: Landscape, log_prob: FloatArray, unit: float, relief: float = 0.0
    ) -> FloatArray:
        """Return the mean price along edges, in units of `unit ** penalty`.

        Args:
            landscape: the terrain.
            log_prob: at the points of the quadrature, shape `(edges, nodes)`.
            unit: u is divided by it, so that no power overflows.
            relief: nats by which the ground is raised, at most to the level of dense ground.
        """
        if relief:
            level = np.maximum(log_prob, landscape.density.draws_.level)
            log_prob = np.minimum(log_prob + relief, level)
        weights = np.ones(1) if self.quadrature is None else self.quadrature.weights
        mean: FloatArray = landscape.price(landscape.roughness(log_prob) / unit) @ weights
        return mean


def join(points: FloatArray, rule: EdgeRule) -> tuple[Indices, Indices, FloatArray]:
    """Return both ends of every edge, the smaller first, and the radius of each point.

    The radius is the distance to the k-th nearest other point; infinite without k. Distances are
    computed by blocks of rows, so memory grows with the edges, not with the square of the points.
    """
    count = len(points)
    radii = np.full(count, np.inf)
    keys: list[IntArray] = []
    step = max(1, DISTANCES // count)
    for first in range(0, count, step):
        rows = np.arange(first, min(first + step, count))
        distance = cdist(points[rows], points)
        distance[np.arange(len(rows)), rows] = np.inf  # nobody is its own neighbour
        k = rule.neighbours(count)
        if k is None:
            near = (distance < rule.epsilon) & (np.arange(count) > rows[:, None])
        else:
            near, radii[rows] = _nearest(distance, rule, k)
        begin, end = np.nonzero(near)
        keys.append(np.minimum(rows[begin], end) * count + np.maximum(rows[begin], end))
    pairs = np.sort(np.concatenate(keys))
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # two may have chosen each other
    return (pairs // count).astype(np.int32), (pairs % count).astype(np.int32), radii


def join_start(
    start: FloatArray, points: FloatArray, radii: FloatArray, rule: EdgeRule, allowed: BoolArray
) -> Indices:
    """Return the allowed points that a start is joined to, as if it were a point of the graph.

    Points at its own place are left out: wherever they lead, the start reaches itself.
    """
    distance = cdist(start[None], points)
    distance[distance == 0] = np.inf
    near = distance < rule.epsilon
    k = rule.neighbours(len(points) + 1)
    if k is not None:
        near = _nearest(distance, rule, k)[0] | (near & (distance <= radii))
    return np.flatnonzero(near[0] & allowed).astype(np.int32)


def _nearest(distance: FloatArray, rule: EdgeRule, k: int) -> tuple[BoolArray, FloatArray]:
    """Return which points are neighbours of each row, and how far the k-th of all points is."""
    near = np.zeros(distance.shape, dtype=bool)
    radii = np.full(len(distance), np.inf)
    for stride in rule.strides:
        some = distance[:, ::stride]
        last = min(k, some.shape[1]) - 1
        kth = np.partition(some, last, axis=1)[:, last : last + 1]
        near[:, ::stride] |= (some <= kth) & (some < rule.epsilon)
        radii = np.minimum(radii, kth[:, 0])
    return near, radii


def log_prob_along(
    density: ConditionalDensity,
    begins: FloatArray,
    ends: FloatArray,
    joints: tuple[FloatArray, FloatArray],
    rule: Quadrature,
) -> FloatArray:
    """Return log p at the rule's points between pairs of points, shape `(pairs, nodes)`.

    Where each class is one Gaussian, log p(x, y) along a line is a parabola: both ends, whose
    log-joint is known, and the middle say all, and one evaluation does the work of many.

    Args:
        density: the density.
        begins, ends: shape `(pairs, n)`.
        joints: log p(x, y) at begins and at ends, each of shape `(pairs, classes)`.
        rule: points on [0, 1].
    """
    t = rule.nodes
    if density.gaussian_ and len(rule) > 1:
        middle = density.log_joint(0.5 * (begins + ends))
        known = np.stack([joints[0].T, middle.T, joints[1].T], axis=2)
        parabolas = np.stack([(1 - t) * (1 - 2 * t), 4 * t * (1 - t), t * (2 * t - 1)])
        return reduce(_log_add, known @ parabolas)
    points = begins[:, None] + t[:, None] * (ends - begins)[:, None]
    return density.log_prob(points.reshape(-1, begins.shape[1])).reshape(len(begins), len(rule))


def _log_add(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return log(exp a + exp b) to 1e-16 nats; numpy's own takes three times as long."""
    return np.maximum(a, b) + np.log(1.0 + np.exp(-np.abs(a - b)))


def blocks(edges: int) -> list[slice]:
    """Return the blocks in which edges are evaluated."""
    return [slice(first, first + BLOCK) for first in range(0, edges, BLOCK)]


def walk(
    density: ConditionalDensity,
    points: FloatArray,
    log_joint: FloatArray,
    edges: tuple[Indices, Indices],
    rule: Quadrature,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield, block by block and in any order, the log-densities along the edges.

    Args:
        density: the density.
        points, log_joint: of the graph.
        edges: indices of both ends.
        rule: where to look on each edge.
        n_jobs: processes, -1 for all processors; what is yielded does not depend on it.
    """
    begin, end = edges
    parts = blocks(len(begin))
    tasks = (
        (points[begin[p]], points[end[p]], (log_joint[begin[p]], log_joint[end[p]])) for p in parts
    )
    with Workers(jobs=n_jobs if len(parts) > 1 else 1).ready() as crew:
        for number, values in crew.run(partial(_look, density, rule), tasks):
            yield parts[number], values


def _look(
    density: ConditionalDensity,
    rule: Quadrature,
    task: tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]],
) -> FloatArray:
    begins, ends, joints = task
    with one_thread():
        return log_prob_along(density, begins, ends, joints, rule)
