"""Where paths may go from where they are: bounds that hold, waypoints that must move as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.constraints import isotonic


@dataclass(frozen=True, eq=False)
class Tangent:
    """Directions in which a batch of paths may move, as a projection.

    A coordinate that is pushed against its bound is held. Where a feature may only rise, waypoints
    that are equal and pushed together move as one: by the mean of what they are asked to.

    Attributes:
        free: coordinates that are not held, shape `(paths, waypoints, n)`.
        ordered: features with a direction.
        pooled: mean over waypoints that move as one, `(paths, features, waypoints, waypoints)`.
    """

    free: BoolArray
    ordered: IntArray
    pooled: FloatArray

    @classmethod
    def of(
        cls,
        Z: FloatArray,
        wish: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        direction: IntArray,
        *,
        share: float = 0.0,
    ) -> Tangent:
        """Hold what a wish to move would push across a bound, after this share of the way.

        Args:
            Z: waypoints after the start, shape `(paths, waypoints, n)`.
            wish: how they would move, the same shape.
            lower, upper: bounds of the waypoints, the same shape.
            direction: of each feature along the path, as in `FeasibleSet`.
            share: of the wish, after which a bound counts as met; 0 for bounds that are met now.
        """
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
        return kept
