"""The switches on the edges of a graph whose points have codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.landscape.cost import Landscape
from daace.landscape.switches import Switches
from daace.planners.base import one_thread
from daace.planners.graphs.edges import BLOCK, Indices, blocks, raised


@dataclass(frozen=True, eq=False)
class EdgeSwitches:
    """Switches at the first points of edges: point i costs `share[i] * f(u)` on its edge.

    Attributes:
        switches: lengths of the switches between codes.
        before: codes of the first point of each edge, shape `(edges, code columns)`.
        after: codes of the second point, of the same shape.
        edge: index of the edge of each point.
        share: share of the switch's length.
        log_prob: log p at each point.
    """

    switches: Switches
    before: FloatArray
    after: FloatArray
    edge: IntArray
    share: FloatArray
    log_prob: FloatArray

    @classmethod
    def of(
        cls, points: FloatArray, edges: tuple[Indices, Indices], density: ConditionalDensity
    ) -> EdgeSwitches | None:
        """Return the switches of edges; None if the density has no codes.

        Args:
            points: shape `(points, n)`.
            edges: indices of both ends.
            density: the density, which is evaluated where switches are priced.
        """
        switches = Switches.of(density)
        if switches is None:
            return None
        begin, end = edges
        edge, share, log_prob = [np.empty(0, np.intp)], [np.empty(0)], [np.empty(0)]
        for part in blocks(len(begin)):
            pairs = np.stack([points[begin[part]], points[end[part]]], axis=1)
            priced = switches.points(pairs)
            if priced is None:
                continue
            X = pairs[priced.path, 0]
            X[:, switches.columns] = priced.codes
            edge.append(priced.path + part.start)
            share.append(priced.share)
            with one_thread():
                rows = range(0, len(X), BLOCK)
                log_prob += [density.log_prob(X[first : first + BLOCK]) for first in rows]
        codes = points[:, switches.columns]
        return cls(
            switches,
            codes[begin],
            codes[end],
            np.concatenate(edge),
            np.concatenate(share),
            np.concatenate(log_prob),
        )

    @cached_property
    def lengths(self) -> FloatArray:
        """Length of the switch of each edge, 0 without one."""
        return self.switches.length(self.before, self.after)

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the factors by which weights of the features stretch the switch of each edge."""
        lengths = self.switches.length(self.before, self.after, weights)
        return np.divide(lengths, self.lengths, out=np.ones_like(lengths), where=self.lengths > 0)

    def costs(self, landscape: Landscape, *, unit: float, relief: float) -> FloatArray:
        """Return the price of the switch of each edge, in units of `unit ** penalty`.

        Args:
            landscape: the terrain.
            unit: u is divided by it.
            relief: nats added to log p, up to the level of dense regions.
        """
        u = landscape.roughness(raised(landscape, self.log_prob, relief))
        prices = self.share * landscape.price(u / unit)
        costs: FloatArray = np.bincount(self.edge, prices, minlength=len(self.before)).astype(
            np.float64
        )
        return costs
