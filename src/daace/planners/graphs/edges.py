"""Edges of a graph on points: which points are joined, the weight of an edge, the density along it.

Between points a and b at distance d, with midpoint m, n features, N points and the landscape's
price f, an edge weighs

- `integral`: the cost of the segment, the integral of f(u) ds;
- `density`: `f(u(m)) d`;
- `epsilon`: `f(-log(epsilon^n / d)) d`, and d if epsilon is infinite;
- `knn`: `f(-log(r / d)) d` with `r = k / (N * volume of the unit n-ball)`.

Where codes change from a to b, the switch at a is added: its price in the first two, its length to
d in the others. The density is that with the codes of b, so the edge from b to a has another
weight. Neighbours are chosen by the distance of the numbers plus the length of the switch.

The last three are the KDE, epsilon and k-NN graphs of FACE (Poyiadzi et al. 2020, arXiv:1909.09369)
with the landscape's price in place of their function. In the first two, u is the landscape's
roughness on its own scale (-log p on 'nll'). The last two do not use the density: they use a number
of points per volume, whose -log is the argument of f on either scale, as level and spread of log p
do not apply to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from daace._checks import check_choice, check_integer, check_number
from daace._typing import BoolArray, FloatArray, IntArray
from daace._workers import Workers
from daace.density.base import ConditionalDensity
from daace.landscape.cost import Landscape
from daace.landscape.path import Quadrature, gauss_rule, midpoint_rule
from daace.landscape.switches import Switches
from daace.planners.base import one_thread

Indices: TypeAlias = npt.NDArray[np.int32]
EdgeKind: TypeAlias = Literal["integral", "density", "epsilon", "knn"]

#: Edges evaluated at once. Matrix products round differently by size, so this is part of the
#: result: the blocks are the same for any number of processes.
BLOCK = 2048

#: Distances computed at once (32 MB).
DISTANCES = 4_000_000

#: Default number of neighbours of a 'knn' graph.
NEIGHBOURS = 20


@dataclass(frozen=True, kw_only=True)
class EdgeRule:
    """The rule that joins points, and the formula that weights an edge.

    Args:
        kind: the formula: 'integral', 'density', 'epsilon' or 'knn'.
        epsilon: only points closer than this are joined; infinite joins all.
        k: only points of which one is among the k nearest of the other are joined; None joins
            all points, and for 'knn' the 20 nearest. With too few points, all are neighbours.
        rule: quadrature of 'integral': 'gauss', or 'midpoint' as in the paper's experiments.
        pieces: quadrature points on each edge. Along a Gaussian, 16 of 'gauss' are exact up to
            penalty 15; the paper uses 19 of 'midpoint'.
        strides: with k, neighbours are chosen among all points (1), among every 8th (8), and so
            on: clusters without a short edge between them are then joined by longer ones.

    Example:
        >>> EdgeRule(kind="knn").neighbours(1000), EdgeRule(kind="knn", k=5).neighbours(4)
        (20, 3)
    """

    kind: EdgeKind = "integral"
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
        """Return the k that applies to a number of points; None if neighbours are not limited."""
        k = NEIGHBOURS if self.k is None and self.kind == "knn" else self.k
        return None if k is None else min(k, max(points - 1, 1))

    @property
    def quadrature(self) -> Quadrature | None:
        """Where the density is evaluated on an edge; None for 'epsilon' and 'knn'."""
        if self.kind == "density":
            return midpoint_rule(1)
        if self.kind == "integral":
            return gauss_rule(self.pieces) if self.rule == "gauss" else midpoint_rule(self.pieces)
        return None

    def pseudo_roughness(self, lengths: FloatArray, points: int, features: int) -> FloatArray:
        """Return `-log(c / d)` of 'epsilon' (c = epsilon^n) and 'knn' (c = r).

        It is 1, and so f = 1, if epsilon is infinite. Where d is 0 the weight is 0 for any value,
        as d falls faster than its logarithm grows.

        Args:
            lengths: d of each edge.
            points: number of points, N.
            features: number of features, n.
        """
        if self.kind == "epsilon" and self.epsilon == np.inf:
            return np.ones_like(lengths)
        if self.kind == "knn":
            unit_ball = 0.5 * features * np.log(np.pi) - scipy.special.gammaln(0.5 * features + 1)
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
            log_prob: log p at the quadrature points, shape `(edges, nodes)`.
            unit: u is divided by it, so that no power overflows.
            relief: nats added to log p, up to the level of dense regions.
        """
        log_prob = raised(landscape, log_prob, relief)
        weights = np.ones(1) if self.quadrature is None else self.quadrature.weights
        mean: FloatArray = landscape.price(landscape.roughness(log_prob) / unit) @ weights
        return mean


def raised(landscape: Landscape, log_prob: FloatArray, relief: float) -> FloatArray:
    """Return log p with some nats added, up to the level of dense regions."""
    if not relief:
        return log_prob
    lifted: FloatArray = np.minimum(log_prob + relief, np.maximum(log_prob, landscape.level))
    return lifted


def distances(begins: FloatArray, ends: FloatArray, switches: Switches | None) -> FloatArray:
    """Return the distance of the numbers plus the length of the switch, shape `(begins, ends)`."""
    if switches is None:
        plain: FloatArray = scipy.spatial.distance.cdist(begins, ends)
        return plain
    square = np.zeros((len(begins), len(ends)))
    for column, lengths in zip(switches.columns, switches.lengths, strict=True):
        before, after = begins[:, column].astype(np.intp), ends[:, column].astype(np.intp)
        square += lengths[before[:, None], after] ** 2
    total: FloatArray = scipy.spatial.distance.cdist(
        begins * switches.travel, ends * switches.travel
    ) + np.sqrt(square)
    return total


def join(
    points: FloatArray, rule: EdgeRule, switches: Switches | None = None
) -> tuple[Indices, Indices, FloatArray]:
    """Return both ends of every edge, the smaller index first, and the radius of each point.

    With codes each edge comes twice, once in each direction, in the order of the first points.

    The radius is the distance to the k-th nearest other point; infinite without k. Distances are
    computed by blocks of rows, so memory grows with the edges, not with the square of the points.

    Args:
        points: shape `(points, n)`.
        rule: rule that joins points.
        switches: lengths of the switches between codes; None without codes.
    """
    count = len(points)
    radii = np.full(count, np.inf)
    keys: list[IntArray] = []
    step = max(1, DISTANCES // count)
    for first in range(0, count, step):
        rows = np.arange(first, min(first + step, count))
        distance = distances(points[rows], points, switches)
        distance[np.arange(len(rows)), rows] = np.inf  # no point is its own neighbour
        k = rule.neighbours(count)
        if k is None:
            near = (distance < rule.epsilon) & (np.arange(count) > rows[:, None])
        else:
            near, radii[rows] = _nearest(distance, rule, k)
        begin, end = np.nonzero(near)
        keys.append(np.minimum(rows[begin], end) * count + np.maximum(rows[begin], end))
    pairs = np.sort(np.concatenate(keys))
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # two points may have chosen each other
    if switches is not None:
        pairs = np.sort(np.concatenate([pairs, pairs % count * count + pairs // count]))
    return (pairs // count).astype(np.int32), (pairs % count).astype(np.int32), radii


def join_start(
    start: FloatArray,
    points: FloatArray,
    radii: FloatArray,
    rule: EdgeRule,
    allowed: BoolArray,
    switches: Switches | None = None,
) -> Indices:
    """Return the allowed points that a start is joined to, as if it were a point of the graph.

    Points that equal the start are left out: their neighbours are the start's own.

    Args:
        start: shape `(n,)`.
        points: shape `(points, n)`.
        radii: radius of each point, from `join`.
        rule: rule that joins points.
        allowed: whether each point may be a waypoint.
        switches: lengths of the switches between codes; None without codes.
    """
    distance = distances(start[None], points, switches)
    distance[distance == 0] = np.inf
    near = distance < rule.epsilon
    k = rule.neighbours(len(points) + 1)
    if k is not None:
        near = _nearest(distance, rule, k)[0] | (near & (distance <= radii))
    return np.flatnonzero(near[0] & allowed).astype(np.int32)


def _nearest(distance: FloatArray, rule: EdgeRule, k: int) -> tuple[BoolArray, FloatArray]:
    """Return which points are neighbours of each row, and the distance to the k-th nearest."""
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

    Codes are those of the ends. Without codes and if each class is one Gaussian, log p(x, y) along
    a line is a parabola. It is determined by both ends, where log p(x, y) is known, and the
    midpoint, so one evaluation replaces many.

    Args:
        density: the density.
        begins: first points, shape `(pairs, n)`.
        ends: second points, shape `(pairs, n)`.
        joints: log p(x, y) at begins and at ends, each of shape `(pairs, classes)`.
        rule: quadrature on [0, 1].
    """
    t = rule.nodes
    codes = list(density.encoding_.code_sizes)
    if codes:
        begins = begins.copy()
        begins[:, codes] = ends[:, codes]
    elif density.gaussian_ and len(rule) > 1:
        middle = density.log_joint(0.5 * (begins + ends))
        known = np.stack([joints[0].T, middle.T, joints[1].T], axis=2)
        parabolas = np.stack([(1 - t) * (1 - 2 * t), 4 * t * (1 - t), t * (2 * t - 1)])
        return reduce(_log_add, known @ parabolas)
    points = begins[:, None] + t[:, None] * (ends - begins)[:, None]
    return density.log_prob(points.reshape(-1, begins.shape[1])).reshape(len(begins), len(rule))


def _log_add(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return log(exp a + exp b) to 1e-16 nats; `np.logaddexp` takes three times as long."""
    return np.maximum(a, b) + np.log(1.0 + np.exp(-np.abs(a - b)))


def blocks(edges: int) -> list[slice]:
    """Return the blocks in which a number of edges is evaluated."""
    return [slice(first, first + BLOCK) for first in range(0, edges, BLOCK)]


def evaluate_edges(
    density: ConditionalDensity,
    points: FloatArray,
    log_joint: FloatArray,
    edges: tuple[Indices, Indices],
    rule: Quadrature,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of edges, in any order, with log p along their edges.

    Args:
        density: the density.
        points: points of the graph, shape `(points, n)`.
        log_joint: log p(x, y) of the points, shape `(points, classes)`.
        edges: indices of both ends.
        rule: quadrature on each edge.
        n_jobs: processes, -1 for all processors; the values do not depend on it.
    """
    begin, end = edges
    parts = blocks(len(begin))
    tasks = (
        (points[begin[p]], points[end[p]], (log_joint[begin[p]], log_joint[end[p]])) for p in parts
    )
    with Workers(jobs=n_jobs if len(parts) > 1 else 1).ready() as crew:
        for number, values in crew.run(partial(_evaluate_block, density, rule), tasks):
            yield parts[number], values


def _evaluate_block(
    density: ConditionalDensity,
    rule: Quadrature,
    task: tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]],
) -> FloatArray:
    begins, ends, joints = task
    with one_thread():
        return log_prob_along(density, begins, ends, joints, rule)
