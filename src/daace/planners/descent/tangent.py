"""The directions in which paths may move: active bounds, directions and links as a projection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.feasible import isotonic
from daace.landscape.linear_constraints import Slabs

#: Rounding, relative to the size of a step or to the terms of a sum.
TINY = 1e-9

#: Distance, in standard deviations, below which a link counts as active.
MET = 1e-9


@dataclass(frozen=True, eq=False)
class Tangent:
    """Directions in which a batch of paths may move, as a projection.

    A coordinate that is pushed against its bound is held. Where a feature may only rise, waypoints
    that are equal and pushed against each other move as one, by the mean of their steps. Steps stay
    on a link that is active and pushed against.

    Attributes:
        free: coordinates that are not held, shape `(paths, waypoints, n)`.
        ordered: features with a direction.
        pooled: mean over waypoints that move as one, `(paths, features, waypoints, waypoints)`.
        links: the active links; None if the problem has none.
    """

    free: BoolArray
    ordered: IntArray
    pooled: FloatArray
    links: ActiveLinks | None = None

    @classmethod
    def of(
        cls,
        Z: FloatArray,
        wish: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        direction: IntArray,
        slabs: Slabs,
        *,
        share: float = 0.0,
    ) -> Tangent:
        """Return the projection for waypoints that would move by `wish`.

        Args:
            Z: waypoints after the start, shape `(paths, waypoints, n)`.
            wish: the step without constraints, of the same shape.
            lower: lower bounds of the waypoints, of the same shape.
            upper: upper bounds, of the same shape.
            direction: 1 for features that may only rise along a path, -1 only fall, 0 free.
            slabs: linear links between features.
            share: a bound is active if this share of the step reaches it; 0 for bounds that are
                reached now.
        """
        tangent = cls._within_bounds(Z, wish, lower, upper, direction, share)
        if len(slabs) == 0:
            return tangent
        return replace(tangent, links=ActiveLinks.of(Z, wish, slabs, tangent, share))

    @classmethod
    def _within_bounds(
        cls,
        Z: FloatArray,
        wish: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        direction: IntArray,
        share: float,
    ) -> Tangent:
        ahead = Z + share * wish if share else Z
        held = (ahead <= lower) & (wish <= 0) | (ahead >= upper) & (wish >= 0)
        ordered = np.flatnonzero(direction)
        if not len(ordered):
            return cls(~held, ordered, np.empty(0))
        sign = direction[ordered]
        here, ahead, wish, low, high = (
            np.swapaxes(array[..., ordered] * sign, 1, 2)
            for array in (Z, ahead, wish, lower, upper)
        )
        low, high = np.where(sign[:, None] > 0, (low, high), (high, low))
        gap = np.minimum(np.diff(here, axis=-1), np.diff(ahead, axis=-1))
        groups = np.zeros(here.shape, dtype=np.intp)
        groups[..., 1:] = np.cumsum(gap > 0, axis=-1)
        moves = isotonic(wish, groups)
        at_low, at_high = np.minimum(here, ahead) <= low, np.maximum(here, ahead) >= high
        moves = np.where(at_low, np.maximum(moves, 0.0), moves)
        moves = np.where(at_high, np.minimum(moves, 0.0), moves)
        stuck = (at_low | at_high) & (moves == 0)
        together = (groups[..., :, None] == groups[..., None, :]) & (
            moves[..., :, None] == moves[..., None, :]
        )
        together &= ~stuck[..., None]
        pooled = together / np.maximum(together.sum(axis=-1, keepdims=True), 1)
        return cls(~held, ordered, pooled)

    @cached_property
    def everywhere(self) -> bool:
        """Whether no direction is excluded."""
        return self.links is None and len(self.ordered) == 0 and bool(self.free.all())

    def cuts(self, step: FloatArray) -> BoolArray:
        """Return which steps, shape `(paths, waypoints, n)`, leave the allowed directions."""
        if self.everywhere:
            return np.zeros(len(step), dtype=bool)
        beyond = np.abs(self(step) - step).max(axis=(1, 2))
        cut: BoolArray = ~(beyond <= TINY * np.abs(step).max(axis=(1, 2)))
        return cut

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Project vectors of shape `(..., paths, waypoints, n)`."""
        if self.everywhere:
            return vectors
        kept: FloatArray = vectors * self.free
        if len(self.ordered):
            parts = vectors[..., self.ordered]
            kept[..., self.ordered] = np.einsum("bjkl,...blj->...bkj", self.pooled, parts)
        return kept if self.links is None else self.links(kept)


@dataclass(frozen=True, eq=False)
class ActiveLinks:
    """Links that the steps of a batch of paths must stay on.

    With M the projection for bounds and directions and G the gradients of the active links, one row
    for each link of each waypoint, the part of v = Mv along the links is `v - MG' (G M G')^+ G v`.

    Attributes:
        G: shape `(rows, paths, waypoints, n)`; 0 where a link is not active.
        MG: G projected by M.
        inverse: pseudo-inverse of G M G', shape `(paths, rows, rows)`.
    """

    G: FloatArray
    MG: FloatArray
    inverse: FloatArray

    @classmethod
    def of(
        cls, Z: FloatArray, wish: FloatArray, slabs: Slabs, tangent: Tangent, share: float
    ) -> ActiveLinks:
        """Return the links that waypoints would cross.

        Args:
            Z: waypoints after the start, shape `(paths, waypoints, n)`.
            wish: the step without constraints, of the same shape.
            slabs: all links.
            tangent: the projection for bounds and directions.
            share: a link is active if this share of the step reaches it.
        """
        here, ahead, push = (part @ slabs.A.T for part in (Z, Z + share * wish, wish))
        above = (np.maximum(here, ahead) >= slabs.high - MET) & (push >= 0)
        below = (np.minimum(here, ahead) <= slabs.low + MET) & (push <= 0)
        active = slabs.equations | above | below
        waypoints = np.eye(Z.shape[1])
        G = np.einsum("bkl,ki,ln->ilbkn", active, waypoints, slabs.A)
        G = G.reshape(-1, *Z.shape)
        MG = tangent(G)
        gram = np.einsum("ibkn,jbkn->bij", MG, G)
        return cls(G, MG, np.linalg.pinv(gram, rcond=1e-10, hermitian=True))

    def __call__(self, vectors: FloatArray) -> FloatArray:
        beyond = np.einsum("ibkn,...bkn->...bi", self.G, vectors)
        shares = np.einsum("bij,...bj->...bi", self.inverse, beyond)
        along: FloatArray = vectors - np.einsum("...bi,ibkn->...bkn", shares, self.MG)
        return along
