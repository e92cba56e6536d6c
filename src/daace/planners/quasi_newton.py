"""What descent knows of the terrain's curvature: its shape beforehand, and the last steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.density.draws import Pool

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
    """Limited-memory BFGS pairs of each path of a batch, the last one last.

    Attributes:
        steps: shape `(MEMORY, paths, waypoints, n)`.
        changes: of the gradient, of the same shape.
        weights: 1 / (step . change), shape `(MEMORY, paths)`; 0 where there is no useful pair.
    """

    steps: FloatArray
    changes: FloatArray
    weights: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Memory:
        """Remember nothing of paths of shape `(paths, waypoints, n)`."""
        steps, changes = np.zeros((2, MEMORY, *shape))
        return cls(steps, changes, np.zeros((MEMORY, shape[0])))

    def add(self, rows: np.ndarray, step: FloatArray, change: FloatArray) -> None:
        """Remember a step of some of the paths."""
        product = np.einsum("bmn,bmn->b", step, change)
        size = np.sqrt((step**2).sum(axis=(1, 2)) * (change**2).sum(axis=(1, 2)))
        useful = (product > 1e-8 * size) & (size > 0)
        weight = np.where(useful, 1.0 / np.where(useful, product, 1.0), 0.0)
        for past, now in (self.steps, step), (self.changes, change), (self.weights, weight):
            past[:-1, rows] = past[1:, rows]
            past[-1, rows] = now

    def forget(self, paths: BoolArray) -> None:
        """Forget all steps of some of the paths."""
        self.weights[:, paths] = 0.0

    def take(self, rows: np.ndarray) -> Memory:
        """Return that of some of the paths."""
        return Memory(self.steps[:, rows], self.changes[:, rows], self.weights[:, rows])

    def _scale(self, chain: FloatArray, metric: Metric) -> FloatArray:
        """Return, path by path, how much larger the true inverse was along the last step."""
        change, weight = self.changes[-1], self.weights[-1]
        expected = np.einsum("bmn,bmn->b", change, precondition(change[None], chain, metric)[0])
        ratio = 1.0 / np.maximum(weight * expected, 1e-300)
        return np.where(weight > 0, np.clip(ratio, *SCALES), 1.0)[:, None, None]

    def apply(self, right: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
        """Return B^-1 times each right-hand side, shape `(sides, paths, waypoints, n)`."""
        q = right.copy()
        known = np.flatnonzero(self.weights.any(axis=1))
        shares = {}
        for k in known[::-1]:
            shares[k] = self.weights[k] * np.einsum("bmn,rbmn->rb", self.steps[k], q)
            q -= shares[k][:, :, None, None] * self.changes[k]
        r = precondition(q, chain, metric) * self._scale(chain, metric)
        for k in known:
            back = self.weights[k] * np.einsum("bmn,rbmn->rb", self.changes[k], r)
            r += (shares[k] - back)[:, :, None, None] * self.steps[k]
        return r


def precondition(q: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
    """Apply the inverse of each eigendirection's chain of springs, path by path."""
    return metric.rotate_back(np.einsum("bnml,rbln->rbmn", chain, metric.rotate(q)))
