"""What descent knows of the terrain's curvature: its shape beforehand, and the last steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.density.base import Pool

#: Steps that are remembered.
MEMORY = 8

#: How far the scale of the preconditioner may be corrected.
SCALES = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class Metric:
    """The terrain's shape: eigenbasis and eigenvalues of the precision of the target class.

    Where features have weights, lengths are those of `x * weights`, and so is the shape.
    """

    basis: FloatArray
    precision: FloatArray
    weights: FloatArray | float = 1.0

    @classmethod
    def of(cls, pool: Pool, weights: FloatArray | None = None) -> Metric:
        """Make it from draws, with a floor where they hardly vary."""
        variance, axes = pool.principal_axes
        if weights is not None:
            variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(pool.X * weights, rowvar=False)))
        precision = 1.0 / np.maximum(variance, 1e-6 * variance.max())
        return cls(axes, precision, 1.0 if weights is None else weights)

    def rotate(self, vectors: FloatArray) -> FloatArray:
        """Return gradients in the eigenbasis."""
        rotated: FloatArray = (vectors / self.weights) @ self.basis
        return rotated

    def rotate_back(self, vectors: FloatArray) -> FloatArray:
        """Return steps in the coordinates of x."""
        steps: FloatArray = (vectors @ self.basis.T) / self.weights
        return steps


@dataclass(eq=False)
class Memory:
    """Limited-memory BFGS pairs of a batch; a pair that a path did not earn has weight zero."""

    steps: list[FloatArray]
    changes: list[FloatArray]
    weights: list[FloatArray]

    @classmethod
    def empty(cls) -> Memory:
        return cls([], [], [])

    def add(self, step: FloatArray, change: FloatArray, moved: BoolArray) -> None:
        product = np.einsum("bmn,bmn->b", step, change)
        size = np.sqrt((step**2).sum(axis=(1, 2)) * (change**2).sum(axis=(1, 2)))
        useful = moved & (product > 1e-8 * size) & (size > 0)
        self.steps.append(step)
        self.changes.append(change)
        self.weights.append(np.where(useful, 1.0 / np.where(useful, product, 1.0), 0.0))
        if len(self.steps) > MEMORY:
            del self.steps[0], self.changes[0], self.weights[0]

    def forget(self, paths: BoolArray) -> None:
        for weight in self.weights:
            weight[paths] = 0.0

    def keep(self, rows: np.ndarray) -> None:
        self.steps = [array[rows] for array in self.steps]
        self.changes = [array[rows] for array in self.changes]
        self.weights = [array[rows] for array in self.weights]

    def _scale(self, chain: FloatArray, metric: Metric) -> FloatArray | float:
        """Return, path by path, how much larger the true inverse was along the last step."""
        if not self.steps:
            return 1.0
        change, weight = self.changes[-1], self.weights[-1]
        expected = np.einsum("bmn,bmn->b", change, precondition(change[None], chain, metric)[0])
        ratio = 1.0 / np.maximum(weight * expected, 1e-300)
        return np.where(weight > 0, np.clip(ratio, *SCALES), 1.0)[:, None, None]

    def apply(self, right: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
        """Return B^-1 times each right-hand side, shape `(sides, paths, waypoints, n)`."""
        q = right.copy()
        history = list(zip(self.steps, self.changes, self.weights, strict=True))
        shares = []
        for step, change, weight in reversed(history):
            share = weight * np.einsum("bmn,rbmn->rb", step, q)
            q -= share[:, :, None, None] * change
            shares.append(share)
        r = precondition(q, chain, metric) * self._scale(chain, metric)
        for (step, change, weight), share in zip(history, reversed(shares), strict=True):
            back = weight * np.einsum("bmn,rbmn->rb", change, r)
            r += (share - back)[:, :, None, None] * step
        return r


def precondition(q: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
    """Apply the inverse of each eigendirection's chain of springs, path by path."""
    return metric.rotate_back(np.einsum("bnml,rbln->rbmn", chain, metric.rotate(q)))
