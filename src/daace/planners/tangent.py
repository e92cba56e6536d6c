"""Where paths may go from where they are: bounds that hold, waypoints that must move as one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.feasible import isotonic
from daace.landscape.linear_constraints import Slabs

#: Distance, in standard deviations, at which a link counts as met.
MET = 1e-9


@dataclass(frozen=True, eq=False)
class Tangent:
    """Directions in which a batch of paths may move, as a projection.

    A coordinate that is pushed against its bound is held. Where a feature may only rise, waypoints
    that are equal and pushed together move as one: by the mean of what they are asked to. A link
    that is met and pushed against is kept to.

    Attributes:
        free: coordinates that are not held, shape `(paths, waypoints, n)`.
        ordered: features with a direction.
        pooled: mean over waypoints that move as one, `(paths, features, waypoints, waypoints)`.
        faces: links that are kept to, as far as bounds and directions leave them free.
    """

    free: BoolArray
    ordered: IntArray
    pooled: FloatArray
    faces: Faces | None = None

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
        """Hold what a wish to move would push across a bound, after this share of the way.

        Args:
            Z: waypoints after the start, shape `(paths, waypoints, n)`.
            wish: how they would move, the same shape.
            lower, upper: bounds of the waypoints, the same shape.
            direction, slabs: as in `FeasibleSet`.
            share: of the wish, after which a bound counts as met; 0 for bounds that are met now.
        """
        tangent = cls._within_bounds(Z, wish, lower, upper, direction, share)
        if len(slabs) == 0:
            return tangent
        return replace(tangent, faces=Faces.of(Z, wish, slabs, tangent, share))

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
        ahead = Z + share * wish
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
        crowd = np.zeros(here.shape, dtype=np.intp)
        crowd[..., 1:] = np.cumsum(gap > 0, axis=-1)
        moves = isotonic(wish, crowd)
        at_low, at_high = np.minimum(here, ahead) <= low, np.maximum(here, ahead) >= high
        moves = np.where(at_low, np.maximum(moves, 0.0), moves)
        moves = np.where(at_high, np.minimum(moves, 0.0), moves)
        stuck = (at_low | at_high) & (moves == 0)
        fellows = (crowd[..., :, None] == crowd[..., None, :]) & (
            moves[..., :, None] == moves[..., None, :]
        )
        fellows &= ~stuck[..., None]
        pooled = fellows / np.maximum(fellows.sum(axis=-1, keepdims=True), 1)
        return cls(~held, ordered, pooled)

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the part of vectors, shape `(..., paths, waypoints, n)`, that is allowed."""
        kept: FloatArray = vectors * self.free
        if len(self.ordered):
            parts = vectors[..., self.ordered]
            kept[..., self.ordered] = np.einsum("bjkl,...blj->...bkj", self.pooled, parts)
        return kept if self.faces is None else self.faces(kept)


@dataclass(frozen=True, eq=False)
class Faces:
    """Links that a batch of paths must not leave.

    With M the projection that bounds and directions allow, and G the links that are kept to, one
    row for each of every waypoint, `v - MG' (G M G')^+ G v` is the part of v = Mv along them.

    Attributes:
        G: shape `(rows, paths, waypoints, n)`.
        MG: G, as far as bounds and directions allow.
        inverse: of G M G', shape `(paths, rows, rows)`.
    """

    G: FloatArray
    MG: FloatArray
    inverse: FloatArray

    @classmethod
    def of(
        cls, Z: FloatArray, wish: FloatArray, slabs: Slabs, tangent: Tangent, share: float
    ) -> Faces:
        """Keep to links that a wish to move would push across, after this share of the way."""
        here, ahead, push = (part @ slabs.A.T for part in (Z, Z + share * wish, wish))
        above = (np.maximum(here, ahead) >= slabs.high - MET) & (push >= 0)
        below = (np.minimum(here, ahead) <= slabs.low + MET) & (push <= 0)
        kept = slabs.equations | above | below
        waypoints = np.eye(Z.shape[1])
        G = np.einsum("bkl,ki,ln->ilbkn", kept, waypoints, slabs.A)
        G = G.reshape(-1, *Z.shape)
        MG = tangent(G)
        gram = np.einsum("ibkn,jbkn->bij", MG, G)
        return cls(G, MG, np.linalg.pinv(gram, rcond=1e-10, hermitian=True))

    def __call__(self, vectors: FloatArray) -> FloatArray:
        beyond = np.einsum("ibkn,...bkn->...bi", self.G, vectors)
        shares = np.einsum("bij,...bj->...bi", self.inverse, beyond)
        along: FloatArray = vectors - np.einsum("...bi,ibkn->...bkn", shares, self.MG)
        return along
