"""Several Gaussians evaluated together, each stored as the map that whitens it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray, Pullback

#: Largest number of floats that a block of rows takes: 128 MB for any number of classes and rows.
BLOCK = 2**24


@dataclass(frozen=True, eq=False)
class WhitenedGaussians:
    """Gaussians N(mu_c, Sigma_c) with weights w_c, evaluated by one matrix product.

    Component c is the affine map `r = M_c x + b_c` under which it becomes standard normal, so
    `log w_c N(x) = log w_c + log|M_c| - n/2 log 2 pi - |r|^2 / 2`.

    Attributes:
        log_weights: shape `(components,)`.
        whiteners: M, shape `(components, n, n)`.
        offsets: b, shape `(components, n)`.
    """

    log_weights: FloatArray
    whiteners: FloatArray
    offsets: FloatArray

    def __post_init__(self) -> None:
        components, n = self.offsets.shape
        log_det = np.linalg.slogdet(self.whiteners)[1]
        constant = self.log_weights + log_det - 0.5 * n * np.log(2 * np.pi)
        stacked = np.ascontiguousarray(self.whiteners.reshape(components * n, n))
        object.__setattr__(self, "_constant", constant)
        object.__setattr__(self, "_stacked", stacked)

    @cached_property
    def _families(self) -> FloatArray:
        """The part of each number in the constant, if row i of the whiteners belongs to it."""
        diagonals: FloatArray = np.einsum("cii->ci", self.whiteners)
        parts: FloatArray = np.log(np.abs(diagonals)) - 0.5 * np.log(2 * np.pi)
        return parts

    def _constants(self, elsewhere: FloatArray | None) -> FloatArray:
        if elsewhere is None:
            constant: FloatArray = self._constant  # type: ignore[attr-defined]
            return constant
        masked: FloatArray = self.log_weights + elsewhere @ self._families.T
        return masked

    @cached_property
    def means(self) -> FloatArray:
        """Mean of each component, shape `(components, n)`."""
        means: FloatArray = -np.linalg.inv(self.whiteners) @ self.offsets[:, :, None]
        return means[:, :, 0]

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of each feature in each component, shape `(components, n)`."""
        variances: FloatArray = (np.linalg.inv(self.whiteners) ** 2).sum(axis=2)
        return variances

    def take(self, chosen: IntArray | BoolArray) -> WhitenedGaussians:
        """Return some of the components."""
        return WhitenedGaussians(
            self.log_weights[chosen], self.whiteners[chosen], self.offsets[chosen]
        )

    def blocks(self, rows: int) -> Iterator[slice]:
        """Split rows into blocks that fit into memory."""
        step = max(1, BLOCK // max(1, self.offsets.size))  # tables may have no numbers
        return (slice(begin, begin + step) for begin in range(0, max(rows, 1), step))

    def log_joint_and_pullback(
        self, X: FloatArray, elsewhere: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """Return the weighted log-density of each component and its pullback.

        Args:
            X: rows, shape `(rows, n)`.
            elsewhere: 0 where a number is given, because it stands at an atom, else 1; shape
                `(rows, n)`. Row i of every whitener must then be the residual of number i given
                others, whose own residuals do not depend on it: the product of the families that
                are left is a density of the numbers that are left.
        """
        stacked: FloatArray = self._stacked  # type: ignore[attr-defined]
        residuals = (X @ stacked.T).reshape(len(X), *self.offsets.shape)
        residuals += self.offsets
        if elsewhere is not None:
            residuals *= elsewhere[:, None]
        squares = np.einsum("rcn,rcn->rc", residuals, residuals)
        log_joint: FloatArray = self._constants(elsewhere) - 0.5 * squares

        def pullback(W: FloatArray) -> FloatArray:
            weighted = W[:, :, None] * residuals
            gradient: FloatArray = -(weighted.reshape(len(X), len(stacked)) @ stacked)
            return gradient

        return log_joint, pullback

    def log_joint_along(
        self, paths: FloatArray, nodes: FloatArray, elsewhere: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """Return log p along segments, and its pullback, as `ConditionalDensity` defines them.

        Between residuals r and s at its ends, a segment has `(1 - t) r + t s`, whose square is
        `(1 - t)^2 r'r + 2 t (1 - t) r's + t^2 s's`: only waypoints need the whitener.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: positions on a segment, from 0, its beginning, to 1.
            elsewhere: as in `log_joint_and_pullback`, for each segment: shape `(paths, segments,
                n)`.
        """
        stacked: FloatArray = self._stacked  # type: ignore[attr-defined]
        count, waypoints, n = paths.shape
        residuals = (paths.reshape(count * waypoints, n) @ stacked.T).reshape(
            count, waypoints, *self.offsets.shape
        )
        residuals += self.offsets
        here, there = residuals[:, :-1], residuals[:, 1:]
        if elsewhere is None:
            squares = np.einsum("bkcn,bkcn->bkc", residuals, residuals)
            first_squares, last_squares = squares[:, :-1], squares[:, 1:]
        else:
            here, there = here * elsewhere[:, :, None], there * elsewhere[:, :, None]
            first_squares = np.einsum("bkcn,bkcn->bkc", here, here)
            last_squares = np.einsum("bkcn,bkcn->bkc", there, there)
        between = np.einsum("bkcn,bkcn->bkc", here, there)
        products = np.stack([first_squares, between, last_squares], axis=2)
        t = nodes
        shape = np.stack([(1 - t) ** 2, 2 * t * (1 - t), t**2])
        constant = self._constants(elsewhere)
        constant = constant if elsewhere is None else constant[:, :, None]
        log_joint: FloatArray = constant - 0.5 * np.einsum("bskc,kq->bsqc", products, shape)

        def pullback(W: FloatArray) -> FloatArray:
            first, both, last = np.einsum("bsqc,kq->kbsc", W, shape)[..., None]
            gradient = np.zeros_like(residuals)
            gradient[:, :-1] = first * here + 0.5 * both * there
            gradient[:, 1:] += last * there + 0.5 * both * here
            to_waypoints: FloatArray = -(
                gradient.reshape(count * waypoints, len(stacked)) @ stacked
            )
            return to_waypoints.reshape(paths.shape)

        return log_joint, pullback

    def sample(
        self,
        components: IntArray,
        *,
        rng: np.random.Generator,
        elsewhere: FloatArray | None = None,
        values: FloatArray | None = None,
    ) -> FloatArray:
        """Draw one row for each entry of `components`, shape `(rows, n)`.

        Args:
            components: the component of each row.
            rng: source of the draws.
            elsewhere: as in `log_joint_and_pullback`; the numbers with 0 are given.
            values: their values, shape `(rows, n)`.
        """
        noise = rng.normal(size=(len(components), self.offsets.shape[1]))
        X = np.empty_like(noise)
        given = np.zeros(len(X), dtype=bool) if elsewhere is None else (elsewhere == 0).any(axis=1)
        for c in np.unique(components):
            rows = (components == c) & ~given
            X[rows] = np.linalg.solve(self.whiteners[c], (noise[rows] - self.offsets[c]).T).T
        if elsewhere is None or values is None or not given.any():
            return X
        step = max(1, BLOCK // max(1, self.offsets.shape[1] ** 2))
        for begin in range(0, len(X), step):
            rows = begin + np.flatnonzero(given[begin : begin + step])
            free = elsewhere[rows] > 0  # the other rows of the system say what is given
            systems = self.whiteners[components[rows]]
            systems = np.where(free[:, :, None], systems, np.eye(systems.shape[1]))
            right = np.where(free, noise[rows] - self.offsets[components[rows]], values[rows])
            X[rows] = np.linalg.solve(systems, right[:, :, None])[:, :, 0]
            X[rows] = np.where(free, X[rows], values[rows])
        return X
