"""Several Gaussians evaluated together, each stored as the map that whitens it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray, Pullback
from daace.density.segments import ToEnd

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

        Args:
            paths: as in `log_joint_to_end`.
            nodes: as in `log_joint_to_end`.
            elsewhere: as in `log_joint_to_end`.
        """
        joint, _, pullback = self.log_joint_to_end(paths, nodes, elsewhere)
        nowhere = np.empty((len(paths), 0, len(self.offsets)))
        return joint, lambda W: pullback(W, nowhere)[0]

    def log_joint_to_end(
        self, paths: FloatArray, nodes: FloatArray, elsewhere: FloatArray | None = None
    ) -> ToEnd:
        """Return log p along segments and at the ends of paths, and the pullback of both.

        The ends have the shape `(paths, 1, components)`; there are none without segments.

        Between residuals r and s at its ends, a segment has `(1 - t) r + t s`, whose square is
        `(1 - t)^2 r'r + 2 t (1 - t) r's + t^2 s's`: only waypoints need the whitener. In memory
        nodes are the last axis: components are summed along the axis before it.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: positions on a segment, from 0, its beginning, to 1.
            elsewhere: as in `log_joint_and_pullback`, for each segment: shape `(paths, segments,
                n)`.
        """
        stacked: FloatArray = self._stacked  # type: ignore[attr-defined]
        count, waypoints, n = paths.shape
        shape = (count, waypoints - 1, len(self.offsets))
        residuals = (paths.reshape(count * waypoints, n) @ stacked.T).reshape(
            count, waypoints, *self.offsets.shape
        )
        residuals += self.offsets
        here, there = residuals[:, :-1], residuals[:, 1:]
        if elsewhere is not None:
            here, there = here * elsewhere[:, :, None], there * elsewhere[:, :, None]
        products = np.empty((*shape, 3))
        np.einsum("bscn,bscn->bsc", here, here, out=products[..., 0])
        np.einsum("bscn,bscn->bsc", here, there, out=products[..., 1])
        np.einsum("bscn,bscn->bsc", there, there, out=products[..., 2])
        back = 1.0 - nodes
        powers = np.array([back * back, 2.0 * back * nodes, nodes * nodes])
        constant = self._constants(elsewhere)
        flat = products.reshape(-1, 3) @ (-0.5 * powers)
        joint = flat.reshape(*shape, len(nodes))
        joint += constant[..., None]
        last = constant if elsewhere is None else constant[:, -1:]
        ends = last - 0.5 * products[:, -1:, :, 2]

        def pullback(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
            looks = V.shape[1]
            weights = W.swapaxes(2, 3).reshape(-1, len(nodes)) @ powers.T
            first, both, last = (weights[:, k].reshape(*shape, 1) for k in range(3))
            both = 0.5 * both
            pulled = np.empty((count, waypoints + looks, *self.offsets.shape))
            np.multiply(first, here, out=pulled[:, : waypoints - 1])
            pulled[:, : waypoints - 1] += both * there
            pulled[:, waypoints - 1] = 0.0
            pulled[:, 1:waypoints] += last * there + both * here
            np.multiply(V[..., None], there[:, -1:], out=pulled[:, waypoints:])
            gradient = pulled.reshape(count * (waypoints + looks), len(stacked)) @ stacked
            np.negative(gradient, out=gradient)
            gradient = gradient.reshape(count, waypoints + looks, n)
            return gradient[:, :waypoints], gradient[:, waypoints:]

        return joint.swapaxes(2, 3), ends, pullback

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
