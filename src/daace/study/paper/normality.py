"""Henze and Zirkler's test of multivariate normality.

Henze, N. and Zirkler, B. (1990), "A class of invariant consistent tests for multivariate
normality", Communications in Statistics 19:3595-3617, doi:10.1080/03610929008830400.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.exceptions import InvalidInput

#: Rows whose distances to all others are held at once.
BLOCK = 1000

#: Rows of a study that are tested: time grows with their square.
TESTED = 2000


@dataclass(frozen=True)
class HenzeZirkler:
    """The result of the test.

    Attributes:
        statistic: HZ.
        p_value: probability of at least this statistic for normal rows (log-normal approximation).
    """

    statistic: float
    p_value: float


def henze_zirkler(X: FloatArray) -> HenzeZirkler:
    """Test whether rows are draws of a multivariate normal distribution.

    With D_ij the squared Mahalanobis distance between two rows, D_i that to the mean, and
    `b = ((2 d + 1) n / 4)^(1 / (d + 4)) / sqrt(2)`,

        HZ = 1/n sum_ij exp(-b^2 D_ij / 2)
             - 2 (1 + b^2)^(-d/2) sum_i exp(-b^2 D_i / (2 (1 + b^2))) + n (1 + 2 b^2)^(-d/2).

    Args:
        X: shape `(rows, d)`, more rows than columns.

    Raises:
        InvalidInput: there are too few rows, or columns are collinear.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(500, 3))
        >>> henze_zirkler(rows).p_value > 0.05, henze_zirkler(rows**2).p_value < 1e-6
        (True, True)
    """
    from scipy.stats import lognorm

    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) <= rows.shape[1] + 1 or not np.isfinite(rows).all():
        raise InvalidInput(
            argument="X",
            expected="be finite and have more rows than columns",
            got=f"shape {rows.shape}",
        )
    n, d = rows.shape
    centred = rows - rows.mean(axis=0)
    covariance = np.atleast_2d(centred.T @ centred / n)
    if np.linalg.matrix_rank(covariance, hermitian=True) < d:
        raise InvalidInput(
            argument="X", expected="not have collinear columns", remedy="drop one of them"
        )
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, centred.T).T
    squares = np.einsum("rd,rd->r", white, white)
    b2 = 0.5 * ((2 * d + 1) * n / 4) ** (2 / (d + 4))
    between = 0.0
    for begin in range(0, n, BLOCK):
        block = white[begin : begin + BLOCK]
        distance = squares[begin : begin + BLOCK, None] - 2 * (block @ white.T) + squares
        between += float(np.exp(-0.5 * b2 * np.maximum(distance, 0.0)).sum())
    to_mean = float(np.exp(-0.5 * b2 / (1 + b2) * squares).sum())
    statistic = between / n - 2 * (1 + b2) ** (-d / 2) * to_mean + n * (1 + 2 * b2) ** (-d / 2)
    mean, variance = _moments(d, b2)
    spread = np.log1p(variance / mean**2)
    scale = mean / np.sqrt(1 + variance / mean**2)
    p_value = float(lognorm.sf(max(statistic, 0.0), np.sqrt(spread), scale=scale))
    return HenzeZirkler(float(statistic), p_value)


def _moments(d: int, b2: float) -> tuple[float, float]:
    """Return mean and variance of the statistic for normal rows."""
    b4, b8 = b2**2, b2**4
    a = 1 + 2 * b2
    w = (1 + b2) * (1 + 3 * b2)
    mean = 1 - a ** (-d / 2) * (1 + d * b2 / a + d * (d + 2) * b4 / (2 * a**2))
    variance = (
        2 * (1 + 4 * b2) ** (-d / 2)
        + 2 * a ** (-d) * (1 + 2 * d * b4 / a**2 + 3 * d * (d + 2) * b8 / (4 * a**4))
        - 4 * w ** (-d / 2) * (1 + 3 * d * b4 / (2 * w) + d * (d + 2) * b8 / (2 * w**2))
    )
    return float(mean), float(variance)


def p_of_normality(rows: FloatArray) -> float:
    """Return the p-value of the test on the first 2000 rows.

    Args:
        rows: shape `(rows, d)`.
    """
    return henze_zirkler(rows[:TESTED]).p_value


def show_p(p_value: float) -> str:
    """Return a p-value that may be too small for a float.

    Args:
        p_value: p-value of the test.

    Example:
        >>> show_p(0.0123), show_p(0.0)
        ('0.01', 'below 1e-300')
    """
    return f"{p_value:.1g}" if p_value > 0 else "below 1e-300"
