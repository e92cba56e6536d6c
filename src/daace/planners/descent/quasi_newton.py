"""Curvature of the cost: a preconditioner from the density's shape, and limited-memory BFGS.

L-BFGS: Nocedal 1980, "Updating quasi-Newton matrices with limited storage",
doi:10.1090/S0025-5718-1980-0572855-7. The initial matrix of the two-loop recursion is not a
multiple of the identity but a preconditioner, one chain of springs for each principal axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.draws import Pool

#: Steps that are kept for each path.
HISTORY = 8

#: Range of the factor by which the last step may rescale the preconditioner.
SCALES = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class Metric:
    """The shape of the terrain: eigenbasis of the covariance of the target class.

    Attributes:
        basis: eigenvectors, as columns; with weights, of the covariance of `x * weights`.
        precision: inverse eigenvalues, shape `(n,)`.
        weights: of each feature in the length; 1 if all are equal.
    """

    basis: FloatArray
    precision: FloatArray
    weights: FloatArray | float = 1.0

    @classmethod
    def of(
        cls, pool: Pool, weights: FloatArray | None = None, codes: IntArray | None = None
    ) -> Metric:
        """Estimate it from draws, with a floor on variances that are almost 0.

        Args:
            pool: the draws.
            weights: of each feature in the length; None if all are 1.
            codes: columns that hold codes, which descent does not move.
        """
        variance, axes = pool.principal_axes
        if weights is not None or codes is not None:
            X = pool.X * (1.0 if weights is None else weights)
            X[:, [] if codes is None else codes] = 0.0
            variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(X, rowvar=False)))
        # Without any number that varies there is nothing to measure.
        precision = 1.0 / np.maximum(variance, 1e-6 * (variance.max() or 1.0))
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
class StepHistory:
    """Limited-memory BFGS pairs of each path of a batch, the last one last.

    Attributes:
        steps: shape `(HISTORY, paths, waypoints, n)`.
        changes: of the gradient, of the same shape.
        weights: 1 / (step . change), shape `(HISTORY, paths)`; 0 where there is no useful pair.
    """

    steps: FloatArray
    changes: FloatArray
    weights: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> StepHistory:
        """Return an empty history for paths of shape `(paths, waypoints, n)`."""
        steps, changes = np.zeros((2, HISTORY, *shape))
        return cls(steps, changes, np.zeros((HISTORY, shape[0])))

    def add(self, rows: np.ndarray, step: FloatArray, change: FloatArray) -> None:
        """Add a step of some of the paths, and the change of the gradient along it."""
        product = np.einsum("bmn,bmn->b", step, change)
        size = np.sqrt((step**2).sum(axis=(1, 2)) * (change**2).sum(axis=(1, 2)))
        useful = (product > 1e-8 * size) & (size > 0)
        weight = np.where(useful, 1.0 / np.where(useful, product, 1.0), 0.0)
        for past, now in (self.steps, step), (self.changes, change), (self.weights, weight):
            past[:-1, rows] = past[1:, rows]
            past[-1, rows] = now

    def forget(self, paths: BoolArray) -> None:
        """Drop all steps of some of the paths."""
        self.weights[:, paths] = 0.0

    def take(self, rows: np.ndarray) -> StepHistory:
        """Return the history of some of the paths."""
        return StepHistory(self.steps[:, rows], self.changes[:, rows], self.weights[:, rows])

    def _scale(self, chain: FloatArray, metric: Metric) -> FloatArray:
        """Return, for each path, how much larger the inverse Hessian was along the last step."""
        change, weight = self.changes[-1], self.weights[-1]
        expected = np.einsum("bmn,bmn->b", change, precondition(change[None], chain, metric)[0])
        ratio = 1.0 / np.maximum(weight * expected, 1e-300)
        return np.where(weight > 0, np.clip(ratio, *SCALES), 1.0)[:, None, None]

    def apply(self, right: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
        """Multiply the inverse Hessian by sides of shape `(sides, paths, waypoints, n)`."""
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
    """Apply the inverse of each principal axis' chain of springs, path by path."""
    return metric.rotate_back(np.einsum("bnml,rbln->rbmn", chain, metric.rotate(q)))
