"""A density on a grid of one or two features: its integrals, and whether draws follow it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.testing._assertions import require

#: Draws that are counted in the cells of a grid of 10 by 10, or of 100.
DRAWN = 20_000


def integrals_over_cells(
    density: ConditionalDensity, edges: Sequence[FloatArray], pieces: int
) -> FloatArray:
    """Return the integral of p(x, y=k) over each cell of a grid.

    Args:
        density: of one or two features.
        edges: evenly spaced edges of the cells, for each feature.
        pieces: midpoints per cell and feature.

    Returns:
        Shape `(cells, ..., classes)`, with one axis of cells per feature.
    """
    axes = [_midpoints(edge, pieces) for edge in edges]
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack(grid, axis=-1).reshape(-1, len(axes))
    p = np.exp(density.log_joint(points))
    for axis in axes:
        p *= axis[1] - axis[0]
    shape = [size for edge in edges for size in (len(edge) - 1, pieces)]
    cells = p.reshape(*shape, -1)
    return np.asarray(cells.sum(axis=tuple(range(1, 2 * len(axes), 2))))


def follow_by_chi_square(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless draws have the distribution of the density, class by class.

    Args:
        density: of one or two features.
        rng: source of the draws.
    """
    X, y = density.sample(DRAWN, rng=rng)
    low, high = np.percentile(X, [1, 99], axis=0)
    count = 10 if X.shape[1] == 2 else 100
    edges = list(np.linspace(low, high, count + 1).T)
    expected = DRAWN * integrals_over_cells(density, edges, 12)
    seen = np.stack(
        [np.histogramdd(X[y == label], bins=edges)[0] for label in density.classes_], axis=-1
    )
    enough = expected >= 5
    # Everything outside the grid or too thin to count is one more cell.
    expected = np.append(expected[enough], DRAWN - expected[enough].sum())
    seen = np.append(seen[enough], DRAWN - seen[enough].sum())
    chi_square = float(((seen - expected) ** 2 / expected).sum())
    freedom = len(seen) - 1
    require(freedom > 20, f"Draws must spread over a grid. Only {freedom + 1} cells have enough.")
    require(
        chi_square < freedom + 4 * np.sqrt(2 * freedom),
        f"Samples must follow the density. Chi-square is {chi_square:.4g} with {freedom} degrees "
        "of freedom.",
    )


def _midpoints(edges: FloatArray, pieces: int) -> FloatArray:
    count = (len(edges) - 1) * pieces
    return np.asarray(edges[0] + (edges[-1] - edges[0]) * (np.arange(count) + 0.5) / count)
