"""Draws of a density: their statistics, and how classes are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from daace._checks import check_integer
from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput

#: Number of draws that describe a density, and their seed: the same for every density, on every
#: machine.
DRAWS = 10_000
DRAWS_SEED = 20_250_615

#: Number of draws that describe log p given some features: fewer than for a whole density, as every
#: row needs its own.
GIVEN_DRAWS = 1_000

#: Number of draws of each class in which planners look for goals.
POOLED = 4_000


@dataclass(frozen=True, eq=False)
class DrawStatistics:
    """Statistics of 10,000 draws of a density; no single draw is kept.

    Attributes:
        quantiles: quantiles of log p(x) at 0, 0.01, ..., 1, shape `(101,)`.
        mean: mean of log p(x).
        sd: standard deviation of log p(x).
        lower: 0.1 percentile of each feature, minus a tenth of the range between both percentiles;
            0 for codes.
        upper: 99.9 percentile of each feature, plus a tenth of that range; the last of the codes.
    """

    quantiles: FloatArray
    mean: float
    sd: float
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls, X: FloatArray, log_prob: FloatArray, codes: Mapping[int, int] = MappingProxyType({})
    ) -> DrawStatistics:
        """Summarise draws.

        Args:
            X: the draws, shape `(draws, columns)`.
            log_prob: log p(x) of each, shape `(draws,)`.
            codes: number of codes of the columns that hold codes.
        """
        low, high = np.percentile(X, [0.1, 99.9], axis=0)
        margin = 0.1 * (high - low)
        for column, size in codes.items():
            low[column], high[column], margin[column] = 0.0, size - 1.0, 0.0
        quantiles = np.quantile(log_prob, np.linspace(0, 1, 101))
        sd = float(log_prob.std())
        return cls(quantiles, float(log_prob.mean()), sd, low - margin, high + margin)

    def with_log_prob(self, log_prob: FloatArray) -> DrawStatistics:
        """Return the statistics of other draws, with the same range of features.

        Args:
            log_prob: log p of each draw, shape `(draws,)`.
        """
        quantiles = np.quantile(log_prob, np.linspace(0, 1, 101))
        mean, sd = float(log_prob.mean()), float(log_prob.std())
        return DrawStatistics(quantiles, mean, sd, self.lower, self.upper)

    @property
    def level(self) -> float:
        """0.99 quantile of log p: flat terrain."""
        return float(self.quantiles[99])

    @property
    def spread(self) -> float:
        """Robust standard deviation of log p: interquartile range / 1.349."""
        return float(self.quantiles[75] - self.quantiles[25]) / 1.349

    def percentile(self, log_prob: float) -> float:
        """Return the percentage of draws whose log-density is at most `log_prob`."""
        return float(np.interp(log_prob, self.quantiles, np.arange(101.0)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The evaluation of a density on rows that it, or one like it, was not fitted on.

    Attributes:
        log_joint: log p(x, y) of each row and class, shape `(rows, classes)`.
        labels: class index of each row, shape `(rows,)`.
        draws: statistics of the draws of that density.
    """

    log_joint: FloatArray
    labels: IntArray
    draws: DrawStatistics


@dataclass(frozen=True, eq=False)
class Pool:
    """Fixed-seed draws of one class, in which planners look for goals.

    Attributes:
        X: the draws, shape `(draws, features)`.
        log_joint: log p(x, y) of each draw, shape `(draws, classes)`.
    """

    X: FloatArray
    log_joint: FloatArray

    def __post_init__(self) -> None:
        self.X.flags.writeable = False  # classifiers may cache what they predict for these draws

    @cached_property
    def principal_axes(self) -> tuple[FloatArray, FloatArray]:
        """Variances along the principal axes of the draws, and the axes as columns."""
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(self.X, rowvar=False)))
        return variance, axes


def check_draw(n: int, rng: np.random.Generator) -> None:
    """Raise `InvalidInput` unless `n` rows can be drawn with `rng`."""
    check_integer("n", n, at_least=0)
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(
            argument="rng",
            expected="be a numpy Generator",
            got=type(rng).__name__,
            remedy="make one with np.random.default_rng(seed)",
        )


def draw_classes(
    log_prior: FloatArray, n: int, *, rng: np.random.Generator, index: int | None
) -> IntArray:
    """Draw class indices from the prior, or repeat one index.

    Args:
        log_prior: log p(y), shape `(classes,)`.
        n: number of draws.
        rng: source of the draws.
        index: the class to repeat; None to draw.

    Returns:
        Shape `(n,)`.

    Example:
        >>> draw_classes(np.log([0.5, 0.5]), 3, rng=np.random.default_rng(0), index=1).tolist()
        [1, 1, 1]
    """
    check_draw(n, rng)
    if index is not None:
        return np.full(n, index, dtype=np.intp)
    prior = np.exp(log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)
