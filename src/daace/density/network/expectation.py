"""Expected statistics of hidden profiles: the E-step of EM as matrix products.

A Gaussian's log-density is linear in the monomials 1, x_i and x_i x_j. With the monomials of the
rows as the columns of a matrix Q, the E-step is one product `parameters @ Q`, and the expected
counts, means and scatter matrices of all profiles are another, `responsibilities @ Q.T`. Rows are
columns because there are many of them: maxima and sums over profiles then run along whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daace._typing import FloatArray, IntArray

#: Largest number of floats of a block of monomials, and of all blocks if they are kept (512 MB).
BLOCK, KEPT = 2**21, 2**26


class MonomialRows:
    """Rows of one class, read block by block as their monomials.

    Args:
        X: rows in model space, shape `(rows, n)`.
        counted: weight of each row, see `count_copies`.

    Example:
        >>> rows = MonomialRows(np.array([[1.0], [3.0]]), np.ones(2))
        >>> counts, means, scatters, different = rows.moments(np.array([0, 0]), 1)
        >>> counts.tolist(), means.tolist(), scatters.tolist(), different.tolist()
        ([2.0], [[2.0]], [[[2.0]]], [2.0])
    """

    def __init__(self, X: FloatArray, counted: FloatArray) -> None:
        self.X = X
        self.counted = counted
        self.n = int(X.shape[1])
        first, second = self._pairs = np.triu_indices(self.n)
        self._places = np.empty((self.n, self.n), dtype=np.intp)  # of each pair among the pairs
        self._places[first, second] = self._places[second, first] = np.arange(len(first))
        self._width = 1 + self.n + len(self._pairs[0])
        self._kept: list[FloatArray] | None = None
        if len(X) * self._width <= KEPT:
            self._kept = list(self._read())

    def __len__(self) -> int:
        return len(self.X)

    def blocks(self) -> Iterator[FloatArray]:
        """Yield the monomials of the rows, shape `(1 + n + n (n + 1) / 2, rows)`, in blocks."""
        yield from self._read() if self._kept is None else self._kept

    def _read(self) -> Iterator[FloatArray]:
        first, second = self._pairs
        step = max(1, BLOCK // self._width)
        for begin in range(0, len(self.X), step):
            columns = self.X[begin : begin + step].T
            block = np.empty((self._width, columns.shape[1]))
            block[0] = 1.0
            block[1 : 1 + self.n] = columns
            np.multiply(columns[first], columns[second], out=block[1 + self.n :])
            yield block

    def expect(
        self, log_weights: FloatArray, whiteners: FloatArray, offsets: FloatArray
    ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return the log-likelihood of the rows, and the expected statistics of each Gaussian.

        Args:
            log_weights: log of each Gaussian's weight, shape `(gaussians,)`; see
                `WhitenedGaussians`.
            whiteners: shape `(gaussians, n, n)`; triangular, if features come in an order in which
                none depends on a later one.
            offsets: shape `(gaussians, n)`.

        Returns:
            The sum of log p over the rows; and counts, means, scatter matrices, and counts of
            different rows.
        """
        parameters = self._parameters(log_weights, whiteners, offsets)
        sums = np.zeros((len(log_weights), self._width))
        different = np.zeros(len(log_weights))
        total, begin = 0.0, 0
        for block in self.blocks():
            shares = parameters @ block
            top = shares.max(axis=0)
            shares -= top
            np.exp(shares, out=shares)
            mass = shares.sum(axis=0)
            shares /= mass
            total += float((top + np.log(mass)).sum())
            sums += shares @ block.T
            different += shares @ self.counted[begin : begin + block.shape[1]]
            begin += block.shape[1]
        return total, (*self.statistics(sums), different)

    def log_prob(
        self, log_weights: FloatArray, whiteners: FloatArray, offsets: FloatArray
    ) -> FloatArray:
        """Return log p of each row; the arguments are those of `expect`."""
        parameters = self._parameters(log_weights, whiteners, offsets)
        parts = []
        for block in self.blocks():
            logs = parameters @ block
            top = logs.max(axis=0)
            parts.append(top + np.log(np.exp(logs - top).sum(axis=0)))
        return np.concatenate(parts)

    def moments(
        self, groups: IntArray, count: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return counts, means, scatter matrices, and counts of different rows, of groups of rows.

        Args:
            groups: number of each row's group.
            count: number of groups.
        """
        sums = np.zeros((count, self._width))
        begin = 0
        for block in self.blocks():
            member = groups[begin : begin + block.shape[1]] == np.arange(count)[:, None]
            sums += member.astype(np.float64) @ block.T
            begin += block.shape[1]
        different = np.bincount(groups, weights=self.counted, minlength=count)
        return (*self.statistics(sums), different.astype(np.float64))

    def sums(self, shares: FloatArray) -> FloatArray:
        """Return the expected sums of the monomials, shape `(monomials, gaussians)`.

        Args:
            shares: share of each Gaussian in each row, shape `(rows, gaussians)`.
        """
        total, begin = None, 0
        for block in self.blocks():
            part = block @ shares[begin : begin + block.shape[1]]
            total = part if total is None else total + part
            begin += block.shape[1]
        assert total is not None  # no pattern is without rows
        return total

    def _parameters(
        self, log_weights: FloatArray, whiteners: FloatArray, offsets: FloatArray
    ) -> FloatArray:
        """Return the coefficients of the monomials in `log w N(x)`, one row per Gaussian."""
        first, second = self._pairs
        precision = whiteners.transpose(0, 2, 1) @ whiteners
        products = -precision[:, first, second]
        products[:, self._places.diagonal()] *= 0.5
        scales = np.einsum("cii->ci", whiteners)  # the determinant is their product
        constant = log_weights + np.log(scales).sum(axis=1) - 0.5 * (offsets**2).sum(axis=1)
        constant -= 0.5 * self.n * np.log(2 * np.pi)
        linear = -(offsets[:, None] @ whiteners)[:, 0]
        return np.concatenate([constant[:, None], linear, products], axis=1)

    def statistics(self, sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return counts, means and scatter matrices from sums of the monomials, the last axis."""
        first, second = self._pairs
        counts = sums[..., 0]
        means = sums[..., 1 : 1 + self.n] / np.maximum(counts, 1e-300)[..., None]
        products = sums[..., 1 + self.n :]
        products = products - counts[..., None] * means[..., first] * means[..., second]
        return counts, means, products[..., self._places]
