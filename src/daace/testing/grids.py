"""Integrals of a density over the cells of a grid that reaches as far as its tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity


@dataclass(frozen=True, eq=False)
class Stretch:
    """The map x = center + width u / (1 - u^2), feature by feature, from (-1, 1) to all numbers.

    A grid that is even in u is fine where most draws are and reaches as far as any tail.

    Attributes:
        center: median of the draws, shape `(n,)`.
        width: half of the range that holds the middle 90% of them, shape `(n,)`.

    Example:
        >>> stretch = Stretch(np.zeros(1), np.ones(1))
        >>> stretch.to_x(np.array([[0.0], [0.5], [0.99]])).round(2).ravel().tolist()
        [0.0, 0.67, 49.75]
    """

    center: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Return the map that suits some draws, shape `(draws, n)`."""
        low, middle, high = np.percentile(X, [5, 50, 95], axis=0)
        return cls(middle, (high - low) / 2)

    def to_x(self, u: FloatArray) -> FloatArray:
        """Return the points x of points u, shape `(points, n)`."""
        x: FloatArray = self.center + self.width * u / (1 - u**2)
        return x

    def to_u(self, x: FloatArray) -> FloatArray:
        """Return the points u of points x, shape `(points, n)`."""
        z = 2 * (x - self.center) / self.width
        u: FloatArray = z / (1 + np.sqrt(1 + z**2))
        return u

    def volume(self, u: FloatArray) -> FloatArray:
        """Return dx / du of points u: shape `(points,)`."""
        slopes = self.width * (1 + u**2) / (1 - u**2) ** 2
        return np.asarray(slopes.prod(axis=1))


def integrals_over_cells(
    density: ConditionalDensity, stretch: Stretch, edges: FloatArray, pieces: int
) -> FloatArray:
    """Return the integral of p(x, y=k) over each cell of a grid, by the midpoint rule in u.

    Args:
        density: a density of one or two features.
        stretch: maps the grid to x.
        edges: evenly spaced edges of the cells in u, shape `(cells + 1, features)`.
        pieces: midpoints per cell and feature.

    Returns:
        Shape `(cells, ..., classes)`, with one axis of cells per feature.
    """
    cells, n = len(edges) - 1, edges.shape[1]
    sizes = (edges[-1] - edges[0]) / (cells * pieces)
    axes = edges[0] + sizes * (np.arange(cells * pieces)[:, None] + 0.5)
    u = np.stack(np.meshgrid(*axes.T, indexing="ij"), axis=-1).reshape(-1, n)
    p = np.exp(density.log_joint(stretch.to_x(u))) * (stretch.volume(u) * sizes.prod())[:, None]
    summed = p.reshape(*(cells, pieces) * n, -1).sum(axis=tuple(range(1, 2 * n, 2)))
    return np.asarray(summed)
