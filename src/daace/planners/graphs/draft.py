"""A draft of a graph: work that was stopped by a time limit is continued, not repeated."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.switches import Switches
from daace.planners.base import Clock, one_thread
from daace.planners.graphs.edges import EdgeRule, Indices, evaluate_edges, join


@dataclass(eq=False)
class GraphDraft:
    """Points that are joined, and log p along the edges that were evaluated so far.

    Attributes:
        points: shape `(points, n)`.
        log_joint: log p(x, y) of the points, shape `(points, classes)`.
        rule: rule that joins points, and weights edges.
        begin: index of the first point of each edge; with codes each edge comes in both directions.
        end: index of the second point of each edge.
        radii: distance from each point to its k-th neighbour; infinite without k.
        log_prob: log p at the quadrature points of each edge, shape `(edges, nodes)`; None if it is
            not kept.
        known: which edges have been evaluated.
        seconds: time spent so far.
    """

    points: FloatArray
    log_joint: FloatArray
    rule: EdgeRule
    begin: Indices
    end: Indices
    radii: FloatArray
    log_prob: FloatArray | None
    known: BoolArray
    seconds: float

    @classmethod
    def of(
        cls, points: FloatArray, density: ConditionalDensity, rule: EdgeRule, *, cache: bool = True
    ) -> GraphDraft:
        """Join points; no edge is evaluated yet.

        Args:
            points: points in model space, shape `(points, n)`; copied.
            density: the density; not kept.
            rule: rule that joins points, and weights edges.
            cache: keep log p along the edges.

        Raises:
            InvalidInput: the points do not fit the density.
        """
        began = time.perf_counter()
        nodes = np.array(points, dtype=np.float64)
        if not (nodes.ndim == 2 and len(nodes) and np.isfinite(nodes).all()):
            raise InvalidInput(
                argument="points",
                expected="be finite and of shape (points, features), at least one",
                got=f"shape {nodes.shape}",
            )
        with one_thread():
            log_joint = density.log_joint(nodes)
        begin, end, radii = join(nodes, rule, Switches.of(density))
        log_prob = None
        if cache and rule.quadrature is not None:
            log_prob = np.empty((len(begin), len(rule.quadrature)))
        known = np.full(len(begin), log_prob is None)
        seconds = time.perf_counter() - began
        return cls(nodes, log_joint, rule, begin, end, radii, log_prob, known, seconds)

    def complete(
        self, density: ConditionalDensity, *, n_jobs: int = 1, clock: Clock | None = None
    ) -> None:
        """Evaluate the density along the edges that are left.

        Args:
            density: the density.
            n_jobs: processes; the values are the same for any number.
            clock: limits the time.

        Raises:
            TimeIsUp: the time is over; finished evaluations are kept.
        """
        began = time.perf_counter()
        left = np.flatnonzero(~self.known)
        quadrature = self.rule.quadrature
        if self.log_prob is None or quadrature is None or not len(left):
            return
        edges = (self.begin[left], self.end[left])
        try:
            for part, values in evaluate_edges(
                density, self.points, self.log_joint, edges, quadrature, n_jobs=n_jobs
            ):
                self.log_prob[left[part]] = values
                self.known[left[part]] = True
                if clock is not None:
                    clock.check()
        finally:
            self.seconds += time.perf_counter() - began
