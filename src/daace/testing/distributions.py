"""Whether draws have the distribution that they should have."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.testing._assertions import require
from daace.testing.grids import Stretch, integrals_over_cells

#: Draws that are counted in the cells of a grid of 10 by 10, or of 100.
DRAWN = 20_000

#: Two samples of one distribution are further apart once in 100,000 times, by Kolmogorov and
#: Smirnov: P(gap > c sqrt(1/n + 1/m)) is about 2 exp(-2 c^2).
UNLIKELY = 2.5


def follow_by_chi_square(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless draws have the distribution of the density, class by class.

    Args:
        density: a density of one or two features.
        rng: source of the draws.
    """
    X, y = density.sample(DRAWN, rng=rng)
    stretch = Stretch.of(X)
    u = stretch.to_u(X)
    low, high = np.percentile(u, [1, 99], axis=0)
    edges = np.linspace(low, high, (10 if X.shape[1] == 2 else 100) + 1)
    expected = DRAWN * integrals_over_cells(density, stretch, edges, 12)
    bins = list(edges.T)
    seen = np.stack(
        [np.histogramdd(u[y == label], bins=bins)[0] for label in density.classes_], axis=-1
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


def follow_one_distribution(one: FloatArray, other: FloatArray) -> bool:
    """Whether two samples can come from one distribution, feature by feature.

    By the largest gap between their empirical distribution functions, whose distribution, unlike
    that of a difference of means, does not depend on the tails.

    Args:
        one: shape `(draws, n)`.
        other: shape `(other draws, n)`; both have at least one draw.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(3, 500, 2))
        >>> follow_one_distribution(X[0], X[1]), follow_one_distribution(X[0], X[2] + 1)
        (True, False)
    """
    gaps = [_largest_gap(*pair) for pair in zip(one.T, other.T, strict=True)]
    return bool(max(gaps) < UNLIKELY * np.sqrt(1 / len(one) + 1 / len(other)))


def _largest_gap(one: FloatArray, other: FloatArray) -> float:
    values = np.concatenate([one, other])
    shares = [
        np.searchsorted(np.sort(some), values, side="right") / len(some) for some in (one, other)
    ]
    return float(np.abs(shares[0] - shares[1]).max())
