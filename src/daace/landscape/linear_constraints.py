"""Linear constraints in model space, and the nearest point that satisfies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from daace._typing import BoolArray, FloatArray

#: Distance from a link, in standard deviations, that counts as rounding.
ROUNDING = 1e-7

#: Residual of the dual below which no point satisfies all rows.
UNSOLVABLE = 1e-9


@dataclass(frozen=True, eq=False)
class Slabs:
    """Links in model space: `low <= A z <= high`, each row of A of length 1.

    Attributes:
        A: shape `(links, n)`.
        low: lower bounds of the sums, shape `(links,)`.
        high: upper bounds; equal to the lower ones for an equation.
    """

    A: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def none(cls) -> Slabs:
        return cls(np.empty((0, 0)), np.empty(0), np.empty(0))

    @classmethod
    def joined(cls, slabs: Sequence[Slabs], n: int) -> Slabs:
        """Return all links of several as one."""
        return cls(
            np.concatenate([np.empty((0, n)), *(s.A for s in slabs)]),
            np.concatenate([np.empty(0), *(s.low for s in slabs)]),
            np.concatenate([np.empty(0), *(s.high for s in slabs)]),
        )

    def __len__(self) -> int:
        return len(self.A)

    @cached_property
    def equations(self) -> BoolArray:
        """Which links keep one value."""
        same: BoolArray = self.low == self.high
        return same

    @cached_property
    def _inverse(self) -> FloatArray:
        inverse: FloatArray = np.asarray(np.linalg.pinv(self.A[self.equations]), dtype=np.float64)
        return inverse

    def onto_equations(self, X: FloatArray) -> FloatArray:
        """Return the nearest points that satisfy all equations, whatever the bounds."""
        A, value = self.A[self.equations], self.low[self.equations]
        moved: FloatArray = X - (X @ A.T - value) @ self._inverse.T
        return moved

    def excess(self, X: FloatArray) -> FloatArray:
        """Return the amounts by which points exceed each link, negative where they fall short."""
        sums = X @ self.A.T
        over: FloatArray = np.maximum(sums - self.high, 0.0) - np.maximum(self.low - sums, 0.0)
        return over

    def hold(self, X: FloatArray) -> BoolArray:
        """Whether points, shape `(..., n)`, satisfy all links, up to rounding."""
        size = np.maximum(1.0, np.abs(X).max(axis=-1, initial=0.0))
        kept: BoolArray = (np.abs(self.excess(X)) <= ROUNDING * size[..., None]).all(axis=-1)
        return kept


def nearest(x: FloatArray, G: FloatArray, h: FloatArray) -> FloatArray:
    """Return the nearest point to x with `G z >= h`: the least distance problem.

    Solved through its dual, a non-negative least-squares problem (Lawson and Hanson, Solving Least
    Squares Problems, chapter 23, doi:10.1137/1.9781611971217). If no point satisfies all rows, x
    itself is returned.

    Args:
        x: shape `(n,)`.
        G: shape `(rows, n)`.
        h: shape `(rows,)`.

    Example:
        >>> nearest(np.zeros(2), np.array([[1.0, 1.0]]), np.array([2.0])).round(6).tolist()
        [1.0, 1.0]
    """
    short = h - G @ x
    if (short <= 0).all():
        return x
    unit = float(np.abs(short).max())
    E = np.vstack([G.T, short / unit])
    f = np.zeros(len(E))
    f[-1] = 1.0
    multipliers, residual = scipy.optimize.nnls(E, f)
    if residual <= UNSOLVABLE:
        return x
    r = E @ multipliers - f
    found: FloatArray = x - unit * r[:-1] / r[-1]
    return found
