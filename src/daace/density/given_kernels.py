"""Rows of a kernel density given some of their columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.bayes import log_sum_exp
from daace.density.kernels import ClassKernels


class KernelsGiven:
    """Rows given some of their columns: kernels weighted by their factors for these.

    Args:
        kernels: kernels of each class.
        logs: logarithm of the kernels' weights of each class.
        codes: code of each column of codes, -1 where it is free.
        numbers: fixed numbers that are elsewhere, NaN where they are not.
        weights: weights of the lines of numbers with atoms.

    Attributes:
        log_mass: log p of the given values.
    """

    def __init__(
        self,
        kernels: Sequence[ClassKernels],
        logs: Sequence[FloatArray],
        codes: IntArray,
        numbers: FloatArray,
        weights: FloatArray,
    ) -> None:
        self._kernels, self._logs, self._codes, self._numbers = kernels, logs, codes, numbers
        everyone = np.concatenate(list(logs))
        self.log_mass = float(log_sum_exp(everyone[None])[0] - weights[~np.isnan(numbers)].sum())

    def draw(
        self, n: int, *, rng: np.random.Generator, index: int | None = None
    ) -> tuple[FloatArray, IntArray]:
        logs = [
            some if index in (None, k) else np.full(len(some), -np.inf)
            for k, some in enumerate(self._logs)
        ]
        ends = np.cumsum([0, *map(len, logs)])
        everyone = np.concatenate(logs)
        shares = np.cumsum(np.exp(everyone - everyone.max()))
        position = np.searchsorted(shares / shares[-1], rng.random(n), side="right")
        chosen = np.searchsorted(ends, position, side="right") - 1
        shape = self._kernels[0].shape
        X = rng.normal(scale=shape.bandwidth, size=(n, shape.layout.width))
        uniform = rng.random((n, len(self._codes)))
        for k in np.unique(chosen):
            rows = chosen == k
            places = position[rows] - ends[k]
            X[rows] = self._kernels[k].around(places, X[rows], uniform[rows], self._codes)
        known = np.flatnonzero(~np.isnan(self._numbers))
        X[:, shape.layout.numbers[known]] = self._numbers[known]
        return X, chosen
