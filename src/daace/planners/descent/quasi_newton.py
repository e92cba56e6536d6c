"""Curvature of the cost: a preconditioner from the density's shape, and limited-memory BFGS.

L-BFGS: Nocedal 1980, "Updating quasi-Newton matrices with limited storage",
doi:10.1090/S0025-5718-1980-0572855-7. The initial matrix is not a multiple of the identity but a
preconditioner, one chain of springs for each principal axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.draws import Pool

#: Steps that are kept for each path.
HISTORY = 8

#: Picks pairs of an earlier and a later step.
ABOVE = np.triu(np.ones((HISTORY, HISTORY)), k=1)

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
        rotated: FloatArray = vectors @ self._weighted
        return rotated

    def rotate_back(self, vectors: FloatArray) -> FloatArray:
        """Return steps in the coordinates of x."""
        steps: FloatArray = vectors @ self._weighted.T
        return steps

    @cached_property
    def _weighted(self) -> FloatArray:
        weights = np.broadcast_to(self.weights, self.precision.shape)
        weighted: FloatArray = self.basis / weights[:, None]
        return weighted


@dataclass(eq=False)
class StepHistory:
    """Limited-memory BFGS pairs of each path of a batch, the last one last.

    A pair of a step s and the change y of the gradient along it is divided by `sqrt(s'y)`; where
    there is no useful pair, both are 0.

    Attributes:
        steps: shape `(paths, HISTORY, waypoints * n)`.
        changes: of the gradient, of the same shape.
    """

    steps: FloatArray
    changes: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> StepHistory:
        """Return an empty history for paths of shape `(paths, waypoints, n)`."""
        steps, changes = np.zeros((2, shape[0], HISTORY, shape[1] * shape[2]))
        return cls(steps, changes)

    def add(self, rows: np.ndarray, step: FloatArray, change: FloatArray) -> None:
        """Add a step of some of the paths, and the change of the gradient along it."""
        width = self.steps.shape[2]
        s, y = step.reshape(-1, width), change.reshape(-1, width)
        product = np.einsum("bi,bi->b", s, y)
        size = np.sqrt(np.einsum("bi,bi->b", s, s) * np.einsum("bi,bi->b", y, y))
        useful = (product > 1e-8 * size) & (size > 0)
        unit = (useful / np.sqrt(np.where(useful, product, 1.0)))[:, None]
        every = len(rows) == len(self.steps)
        for past, now in (self.steps, s), (self.changes, y):
            kept = past if every else past[rows]
            longer = np.concatenate([kept[:, 1:], (unit * now)[:, None]], axis=1)
            past[slice(None) if every else rows] = longer

    def forget(self, paths: BoolArray) -> None:
        """Drop all steps of some of the paths."""
        if paths.any():
            self.steps[paths] = self.changes[paths] = 0.0

    def take(self, rows: np.ndarray) -> StepHistory:
        """Return the history of some of the paths."""
        return StepHistory(self.steps[rows], self.changes[rows])

    def apply(self, right: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
        """Multiply the inverse Hessian by sides of shape `(sides, paths, waypoints, n)`.

        In the compact form (Byrd, Nocedal and Schnabel 1994, doi:10.1007/BF01582063), with P the
        preconditioner, rescaled so that the last pair fits it, and R = triu(S Y'), whose diagonal
        is 1: `a = R^-1 S q`, `r = P (q - Y'a)`, `B^-1 q = r + S' R^-T (a - Y r)`.
        """
        sides, paths, waypoints, n = right.shape
        S, Y = self.steps, self.changes
        inverse = np.linalg.inv((S @ Y.transpose(0, 2, 1)) * ABOVE + np.eye(HISTORY))
        q = np.empty((sides + 1, paths, waypoints * n))  # the last side is the last change
        q[:-1], q[-1] = right.reshape(sides, paths, waypoints * n), Y[:, -1]
        shares = q[:-1].transpose(1, 0, 2) @ S.transpose(0, 2, 1) @ inverse.transpose(0, 2, 1)
        q[:-1] -= (shares @ Y).transpose(1, 0, 2)
        r = precondition(q.reshape(sides + 1, paths, waypoints, n), chain, metric)
        r = r.reshape(q.shape).transpose(1, 0, 2)
        expected = np.einsum("bi,bi->b", Y[:, -1], r[:, -1])
        ratio = np.clip(1.0 / np.maximum(expected, 1e-300), *SCALES)
        r = r[:, :-1] * np.where(Y[:, -1].any(axis=1), ratio, 1.0)[:, None, None]
        r += (shares - r @ Y.transpose(0, 2, 1)) @ inverse @ S
        return r.transpose(1, 0, 2).reshape(right.shape)


def precondition(q: FloatArray, chain: FloatArray, metric: Metric) -> FloatArray:
    """Apply the inverse of each principal axis' chain of springs, path by path."""
    return metric.rotate_back(np.einsum("bmln,rbln->rbmn", chain, metric.rotate(q)))
