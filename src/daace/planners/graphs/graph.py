"""An immutable graph on given points, built once, and the shortest paths over it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.landscape.cost import LARGEST_POWER, Landscape
from daace.landscape.feasible import FeasibleSet
from daace.landscape.path import segment_lengths
from daace.planners.base import Clock, one_thread
from daace.planners.graphs.draft import GraphDraft
from daace.planners.graphs.edge_switches import EdgeSwitches
from daace.planners.graphs.edges import (
    EdgeRule,
    Indices,
    blocks,
    evaluate_edges,
    join_start,
    log_prob_along,
)

#: Added to weights that were shifted to be at least 0, as in the paper's experiments.
SHIFT = 1e-6


@dataclass(frozen=True, eq=False)
class ShortestPaths:
    """The shortest paths from one start to every point of a graph.

    Attributes:
        distance: sum of the weights on the path to each point, up to a common factor; infinite
            if there is no path.
        previous: the point before each one; the number of points stands for the start.
        joined: number of edges from the start.
        shifted: whether weights were negative, and all were shifted by the smallest. The shortest
            path is then not the cheapest, as every edge adds the shift.
    """

    distance: FloatArray
    previous: IntArray
    joined: int
    shifted: bool

    def route(self, point: int) -> IntArray:
        """Return the points on the path to one of them, without the start."""
        route = [int(point)]
        while self.previous[route[-1]] != len(self.distance):
            route.append(int(self.previous[route[-1]]))
        return np.array(route[::-1], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph on points; queries do not change it.

    It is symmetric and every edge is stored once, unless points have codes: switching back has
    another cost, and both directions are stored.

    Log p along the edges is kept, so that another penalty or scale needs no evaluation of the
    density; without it (`cache=False`) the density is evaluated again.

    Attributes:
        points: shape `(points, n)`.
        log_joint: log p(x, y) of the points, shape `(points, classes)`.
        rule: rule that joins points, and weights edges.
        indptr: row pointers of the adjacency matrix in CSR format; of its upper half if the graph
            is symmetric.
        indices: its column indices: the second point of each edge.
        radii: distance from each point to its k-th neighbour; infinite without k.
        log_prob: log p at the quadrature points of each edge, shape `(edges, nodes)`, or None.
        seconds: building time.
        switches: the switches on the edges; None without codes.

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> graph = Graph.build(np.array([[0.0], [1.0], [3.0]]), density)
        >>> graph.edges, graph.weights(Landscape(density, penalty=0)).round(6).tolist()
        (3, [1.0, 3.0, 2.0])
    """

    points: FloatArray
    log_joint: FloatArray
    rule: EdgeRule
    indptr: Indices
    indices: Indices
    radii: FloatArray
    log_prob: FloatArray | None
    seconds: float
    switches: EdgeSwitches | None = None

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def build(
        cls,
        points: FloatArray,
        density: ConditionalDensity,
        rule: EdgeRule | None = None,
        *,
        cache: bool = True,
        n_jobs: int = 1,
        clock: Clock | None = None,
    ) -> Graph:
        """Join the points and evaluate the density along the edges.

        Args:
            points: points in model space, shape `(points, n)`; copied.
            density: the density; not kept.
            rule: rule that joins points, and weights edges; `EdgeRule()` if None.
            cache: keep log p along the edges.
            n_jobs: processes; the graph is the same for any number.
            clock: limits the time.

        Raises:
            InvalidInput: the points do not fit the density.
            TimeIsUp: the time is over.
        """
        draft = GraphDraft.of(points, density, EdgeRule() if rule is None else rule, cache=cache)
        draft.complete(density, n_jobs=n_jobs, clock=clock)
        return cls.of(draft, density)

    @classmethod
    def of(cls, draft: GraphDraft, density: ConditionalDensity) -> Graph:
        """Return the graph of a complete draft, which must not be used any more."""
        count = len(draft.points)
        indptr = np.searchsorted(draft.begin, np.arange(count + 1)).astype(np.int32)
        return cls(
            draft.points, draft.log_joint, draft.rule, indptr, draft.end, draft.radii,
            draft.log_prob, draft.seconds,
            EdgeSwitches.of(draft.points, (draft.begin, draft.end), density),
        )  # fmt: skip

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.indices)

    @property
    def cache_nbytes(self) -> int:
        """Bytes of log p along the edges."""
        return 0 if self.log_prob is None else self.log_prob.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes of the points, the edges (4 each), their last weights (8 each) and the cache."""
        arrays = (self.points, self.log_joint, self.indptr, self.indices, self.radii)
        return sum(array.nbytes for array in arrays) + 8 * self.edges + self.cache_nbytes

    def __repr__(self) -> str:
        return (
            f"Graph(kind='{self.rule.kind}', points={len(self.points)}, edges={self.edges}, "
            f"nbytes={self.nbytes}, cache_nbytes={self.cache_nbytes}, seconds={self.seconds:.3g})"
        )

    # Weights ----------------------------------------------------------------------------------

    def begins(self) -> Indices:
        """Return the first point of each edge; `indices` has the second."""
        return np.repeat(np.arange(len(self.points), dtype=np.int32), np.diff(self.indptr))

    def weights(
        self, landscape: Landscape, *, unit: float = 1.0, relief: float = 0.0, n_jobs: int = 1
    ) -> FloatArray:
        """Return the weight of every edge, in units of `unit ** penalty`; the last ones are cached.

        Args:
            landscape: a landscape over the density that the graph was built on.
            unit: u is divided by it, so that no power overflows.
            relief: nats added to log p, up to the level of dense regions.
            n_jobs: processes, if log p is not cached.
        """
        walks, switching = self._parts(landscape, unit, relief, n_jobs)
        return walks if switching is None else walks + switching

    def _parts(
        self, landscape: Landscape, unit: float, relief: float, n_jobs: int
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the cost of travelling along each edge, and of its switch; None without codes."""
        key = (landscape.penalty, landscape.scale, landscape.level, landscape.spread, unit, relief)
        kept = _weights.get(self)
        if kept is None or kept[0] != key:
            parts = self._weigh(landscape, unit, relief, n_jobs)
            for part in parts:
                if part is not None:
                    part.flags.writeable = False
            kept = _weights[self] = (key, parts)
        return kept[1]

    def _weigh(
        self, landscape: Landscape, unit: float, relief: float, n_jobs: int
    ) -> tuple[FloatArray, FloatArray | None]:
        begin, end = self.begins(), self.indices
        weights = self._lengths(self.points)
        quadrature, switches = self.rule.quadrature, self.switches
        if quadrature is None:
            switched = None if switches is None else switches.lengths
            distance = weights if switched is None else weights + switched
            u = self.rule.pseudo_roughness(distance, *self.points.shape)
            prices = landscape.price(u / unit)
            return weights * prices, None if switched is None else switched * prices
        parts: Iterable[tuple[slice, FloatArray]]
        if self.log_prob is None:
            edges, density = (begin, end), landscape.density
            parts = evaluate_edges(
                density, self.points, self.log_joint, edges, quadrature, n_jobs=n_jobs
            )
        else:
            parts = ((part, self.log_prob[part]) for part in blocks(self.edges))
        for part, log_prob in parts:
            weights[part] *= self.rule.prices(landscape, log_prob, unit, relief)
        if switches is None:
            return weights, None
        return weights, switches.costs(landscape, unit=unit, relief=relief)

    def _lengths(self, points: FloatArray) -> FloatArray:
        """Return the lengths of the edges as if its points were at other places."""
        if self.switches is not None:
            points = points * self.switches.switches.travel
        begin, end = self.begins(), self.indices
        parts = [segment_lengths(points[end[p]] - points[begin[p]]) for p in blocks(self.edges)]
        return np.concatenate(parts) if parts else np.empty(0)

    # Queries ----------------------------------------------------------------------------------

    def shortest(
        self,
        start: FloatArray,
        landscape: Landscape,
        feasible: FeasibleSet,
        *,
        relief: float = 0.0,
        n_jobs: int = 1,
    ) -> ShortestPaths:
        """Return the shortest paths from a start, joined by the same rule, to all points.

        Dijkstra's algorithm (1959, doi:10.1007/BF01386390). Points must keep the bounds and links,
        steps the directions and the rules of codes; lengths include the weights of the features.

        Args:
            start: shape `(n,)`.
            landscape: a landscape over the density that the graph was built on.
            feasible: the feasible set of waypoints.
            relief: nats added to log p along the edges of the graph, up to the level of dense
                regions; the edges from the start are not changed.
            n_jobs: processes, if log p is not cached.
        """
        allowed = feasible.allows(self.points)
        lengths = None if self.switches is None else self.switches.switches
        first = join_start(start, self.points, self.radii, self.rule, allowed, lengths)
        if len(first) == 0:
            nowhere = np.full(len(self.points), np.inf)
            return ShortestPaths(
                nowhere, np.full(len(nowhere), -1, dtype=np.intp), 0, shifted=False
            )
        with one_thread():
            joint = landscape.density.log_joint(start[None])
            unit = self._unit(landscape, joint, start, first)
            steps = self._first_steps(landscape, start, joint, first, feasible, unit)
        weights, switching = self._parts(landscape, unit, relief, n_jobs)
        if feasible.weighted:
            plain = self._lengths(self.points)
            weighted = self._lengths(self.points * feasible.weights)
            weights = weights * np.divide(weighted, plain, out=np.ones_like(plain), where=plain > 0)
        if self.switches is not None and switching is not None and feasible.codes is not None:
            if feasible.weighted:
                switching = switching * self.switches.weighted(feasible.weights)
            passes = feasible.codes.passes(self.switches.before, self.switches.after)
            weights = np.where(passes, weights + switching, np.inf)
        if not allowed.all():
            weights = np.where(allowed[self.begins()] & allowed[self.indices], weights, np.inf)
        lowest = float(min(weights.min(initial=np.inf), steps.min()))
        if lowest < 0:
            weights, steps = weights - lowest + SHIFT, steps - lowest + SHIFT
        matrix, directed = self._matrix(weights, steps, first, feasible)
        distance, previous = scipy.sparse.csgraph.dijkstra(
            matrix, directed=directed, indices=len(self.points), return_predecessors=True
        )
        return ShortestPaths(distance[:-1], previous[:-1], len(first), lowest < 0)

    def _unit(
        self, landscape: Landscape, joint: FloatArray, start: FloatArray, first: Indices
    ) -> float:
        """Return the unit of roughness: 1, unless a power of the largest one would overflow."""
        if self.rule.quadrature is None:
            u = self.rule.pseudo_roughness(self._distances(start, first), *self.points.shape)
        else:
            u = landscape.roughness(log_sum_exp(np.concatenate([self.log_joint, joint])))
        roughest = float(np.abs(u).max())
        return roughest if landscape.penalty * np.log(max(roughest, 1)) > LARGEST_POWER else 1.0

    def _first_steps(
        self,
        landscape: Landscape,
        start: FloatArray,
        joint: FloatArray,
        first: Indices,
        feasible: FeasibleSet,
        unit: float,
    ) -> FloatArray:
        """Return the weights of the edges from the start, by the rule of all others."""
        ends = self.points[first]
        begins = np.repeat(start[None], len(first), axis=0)
        pairs = np.stack([begins, ends], axis=1)
        lengths = segment_lengths((ends - start) * self._travel(feasible.weights))
        quadrature = self.rule.quadrature
        if quadrature is None:
            lengths = lengths + self._switch_lengths(start, first, feasible.weights)
            u = self.rule.pseudo_roughness(self._distances(start, first), *self.points.shape)
            return lengths * landscape.price(u / unit)
        joints = (np.repeat(joint, len(first), axis=0), self.log_joint[first])
        log_prob = log_prob_along(landscape.density, begins, ends, joints, quadrature)
        steps = lengths * self.rule.prices(landscape, log_prob, unit)
        switching = landscape.price_switches(pairs, unit=unit, weights=feasible.weights)
        return steps if switching is None else steps + switching.costs[:, 0]

    def _travel(self, weights: FloatArray) -> FloatArray:
        """Return weights in the distance of numbers, with 0 for codes."""
        return weights if self.switches is None else weights * self.switches.switches.travel

    def _distances(self, start: FloatArray, points: Indices) -> FloatArray:
        """Return the distances from a start to some points, the lengths of switches included."""
        walks = segment_lengths((self.points[points] - start) * self._travel(np.ones(len(start))))
        return walks + self._switch_lengths(start, points, None)

    def _switch_lengths(
        self, start: FloatArray, points: Indices, weights: FloatArray | None
    ) -> FloatArray:
        """Return the lengths of the switches from a start to some points."""
        if self.switches is None:
            return np.zeros(len(points))
        after = self.points[points][:, self.switches.switches.columns]
        before = np.broadcast_to(start[self.switches.switches.columns], after.shape)
        return self.switches.switches.length(before, after, weights)

    def _matrix(
        self, weights: FloatArray, steps: FloatArray, first: Indices, feasible: FeasibleSet
    ) -> tuple[scipy.sparse.csr_array, bool]:
        """Return the graph with the start as its last point, and whether its edges are directed."""
        size, held = len(self.points) + 1, np.flatnonzero(feasible.direction)
        symmetric = self.switches is None
        if len(held) == 0:
            indptr = np.append(self.indptr, self.edges + len(first))
            indices = np.concatenate([self.indices, first])
            data = np.concatenate([weights, steps])
            return scipy.sparse.csr_array(
                (data, indices, indptr), shape=(size, size)
            ), not symmetric
        begin, end, origin = self.begins(), self.indices, np.full(len(first), size - 1)
        ordered = self.points[:, held] * feasible.direction[held]
        rise: FloatArray = ordered[end] - ordered[begin]
        there: BoolArray = np.all(rise >= 0, axis=1)
        back: BoolArray = np.all(rise <= 0, axis=1) & symmetric
        data = np.concatenate([weights[there], weights[back], steps])
        begins = np.concatenate([begin[there], end[back], origin])
        ends = np.concatenate([end[there], begin[back], first])
        return scipy.sparse.csr_array((data, (begins, ends)), shape=(size, size)), True


_weights: WeakKeyDictionary[Graph, tuple[object, tuple[FloatArray, FloatArray | None]]] = (
    WeakKeyDictionary()
)
