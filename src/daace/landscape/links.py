"""Linear links between features: sums that must hold, shares that must not be exceeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from daace._typing import BoolArray, FloatArray
from daace.exceptions import InvalidInput

#: Distance from a link, in standard deviations, that counts as rounding.
ROUNDING = 1e-7

#: Residual of the dual below which no point satisfies all rows.
UNSOLVABLE = 1e-9


@dataclass(frozen=True)
class Link:
    """A weighted sum of features that keeps a value or a bound at every waypoint.

    Args:
        terms: weight of each feature, in the user's units.
        equals: the value of the sum.
        at_least, at_most: bounds of the sum.

    Raises:
        InvalidInput: no feature, no bound, or bounds that exclude each other.

    Example:
        The total is the sum of its parts, and rent takes at most a third of the income:

        >>> total = Link({"total": 1, "rent": -1, "food": -1}, equals=0)
        >>> Link({"rent": 3, "income": -1}, at_most=0)
        Link(3 rent - 1 income <= 0)
    """

    terms: Mapping[str, float]
    equals: float | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Mapping) or not self.terms:
            raise InvalidInput(f"'terms' must map features to their weights. Got {self.terms!r}.")
        given = {name: getattr(self, name) for name in ("equals", "at_least", "at_most")}
        try:
            terms = {str(feature): float(weight) for feature, weight in self.terms.items()}
            bounds = {name: float(value) for name, value in given.items() if value is not None}
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"A link must be made of numbers. Got {dict(self.terms)!r} and {given!r}."
            ) from None
        wrong = [f for f, weight in terms.items() if not np.isfinite(weight) or weight == 0]
        if wrong:
            raise InvalidInput(
                f"'terms' must be finite and not 0. Got {terms[wrong[0]]} for '{wrong[0]}'."
            )
        if not bounds or ("equals" in bounds and len(bounds) > 1):
            raise InvalidInput("A link must have 'equals', or 'at_least' or 'at_most' or both.")
        if not all(map(np.isfinite, bounds.values())):
            raise InvalidInput(f"The bounds of a link must be finite. Got {bounds!r}.")
        if bounds.get("at_least", -np.inf) > bounds.get("at_most", np.inf):
            raise InvalidInput(
                f"'at_least' must not exceed 'at_most'. Got {bounds['at_least']:g} > "
                f"{bounds['at_most']:g}."
            )
        object.__setattr__(self, "terms", terms)
        for name, value in bounds.items():
            object.__setattr__(self, name, value)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of the sum."""
        if self.equals is not None:
            return self.equals, self.equals
        low = -np.inf if self.at_least is None else self.at_least
        return low, np.inf if self.at_most is None else self.at_most

    def value(self, row: Mapping[str, float]) -> float:
        """Return the sum for one row, in the user's units."""
        return sum(weight * float(row[feature]) for feature, weight in self.terms.items())

    def __str__(self) -> str:
        words = ""
        for feature, weight in self.terms.items():
            sign = ("-" if weight < 0 else "") if not words else (" - " if weight < 0 else " + ")
            words += f"{sign}{abs(weight):g} {feature}"
        low, high = self.bounds
        if low == high:
            return f"{words} = {low:g}"
        before = f"{low:g} <= " if np.isfinite(low) else ""
        return before + words + (f" <= {high:g}" if np.isfinite(high) else "")

    def __repr__(self) -> str:
        return f"Link({self})"


@dataclass(frozen=True, eq=False)
class Slabs:
    """Links in model space: `low <= A z <= high`, each row of A of length 1.

    Attributes:
        A: shape `(links, n)`.
        low, high: shape `(links,)`; equal for an equation.
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
        """Return by how much points exceed each link, below 0 where they fall short of it."""
        sums = X @ self.A.T
        over: FloatArray = np.maximum(sums - self.high, 0.0) - np.maximum(self.low - sums, 0.0)
        return over

    def hold(self, X: FloatArray) -> BoolArray:
        """Whether points, shape `(..., n)`, keep to all links, up to rounding."""
        size = np.maximum(1.0, np.abs(X).max(axis=-1, initial=0.0))
        kept: BoolArray = (np.abs(self.excess(X)) <= ROUNDING * size[..., None]).all(axis=-1)
        return kept


def nearest(x: FloatArray, G: FloatArray, h: FloatArray) -> FloatArray:
    """Return the nearest point to x with `G z >= h`: Lawson and Hanson's least distance problem.

    Its dual is a least-squares problem with multipliers that are not negative. Where no point
    satisfies all rows, x itself comes back.

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
    multipliers, residual = nnls(E, f)
    if residual <= UNSOLVABLE:
        return x
    r = E @ multipliers - f
    found: FloatArray = x - unit * r[:-1] / r[-1]
    return found
