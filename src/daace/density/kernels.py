"""Product kernels on rows of numbers and codes, evaluated together as one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout

#: Kernels evaluated at once: 4 MB stay in the cache.
BLOCK = 500_000

#: exp(-37) is 8e-17: ten thousand such kernels change the twelfth digit of one of size 1.
NEGLIGIBLE = -37.0

#: Smallest standard deviation of the broad Gaussian of a number at its atom.
NARROWEST = 0.1


@dataclass(frozen=True, eq=False)
class KernelShape:
    """The shape that all kernels share; they differ in their rows.

    The kernel on row r is `prod_j K_j(d_j; r_j) prod_i N(x_i; r_i, h^2)`, the second product over
    the numbers of x that are elsewhere. Where row r has the number at an atom, its factor is the
    broad Gaussian `N(x_i; m_i, s_i^2)`, with mean and variance of the rows of its class that are
    elsewhere: the atom does not determine where else the number could be.

    Attributes:
        layout: layout of the columns.
        bandwidth: h.
        tables: `log K_j(c; r)` of each column of codes, shape `(codes, codes)`, c before r.
    """

    layout: CodeLayout
    bandwidth: float
    tables: Sequence[FloatArray]

    @cached_property
    def plain(self) -> IntArray:
        """Numbers without atoms, by their place among the numbers."""
        return np.flatnonzero(self.layout.atoms < 0)

    @cached_property
    def moving(self) -> int:
        """Number of columns, the first of `points` and `ClassKernels.lifted`, with a slope."""
        return len(self.plain) + 2 * len(self.layout.atomic)

    @property
    def constant(self) -> float:
        """Log of the normalisation of the Gaussians of all numbers without atoms, negative."""
        n = len(self.plain)
        return float(-n * np.log(self.bandwidth) - 0.5 * n * np.log(2 * np.pi))

    def numbers(self, X: FloatArray) -> FloatArray:
        """Return the numbers without atoms; if there are no other columns, the rows themselves."""
        if len(self.plain) == self.layout.width:
            return X
        return np.ascontiguousarray(X[:, self.layout.numbers[self.plain]])

    def elsewhere(self, X: FloatArray) -> FloatArray:
        """Return 1 for each number with atoms that is at none, else 0."""
        columns = self.layout.columns[self.layout.atoms[self.layout.atomic]]
        there: FloatArray = (X[:, columns] == 0).astype(np.float64)
        return there

    def points(self, X: FloatArray) -> FloatArray:
        """Return rows so that their product with `ClassKernels.lifted` is the log of kernels."""
        h2, numbers = self.bandwidth**2, self.numbers(X)
        half = 0.5 * np.einsum("rn,rn->r", numbers, numbers)
        ends = [-half / h2, np.ones(len(X))]
        if not len(self.layout.columns):
            return np.column_stack([numbers / h2, *ends])
        there = self.elsewhere(X)
        values = there * X[:, self.layout.numbers[self.layout.atomic]]
        hot = [
            np.eye(size)[X[:, column].astype(np.intp)]
            for column, size in zip(self.layout.columns, self.layout.sizes, strict=True)
        ]
        return np.column_stack([numbers / h2, values, values**2, *ends, there, *hot])

    def parts_of(self, i: int) -> IntArray:
        """Return the columns of `points` that belong to the i-th of the numbers with atoms."""
        n, a = len(self.plain), len(self.layout.atomic)
        return np.array([n + i, n + a + i, n + 2 * a + 2 + i], dtype=np.intp)

    def pull(self, X: FloatArray, means: Sequence[FloatArray], W: FloatArray) -> FloatArray:
        """Return the gradient of `sum_k W[i, k] log p(x_i, y=k)`.

        Args:
            X: rows in model space.
            means: means of each class, from `ClassKernels.log_sums`.
            W: shape `(rows, classes)`.
        """
        n, a = len(self.plain), len(self.layout.atomic)
        gradient: FloatArray = -W.sum(axis=1)[:, None] * self.numbers(X)
        for k, mean in enumerate(means):
            gradient += W[:, k, None] * mean[:, :n]
        gradient /= self.bandwidth**2
        if n == self.layout.width:
            return gradient
        slopes = np.zeros((len(X), len(self.layout.numbers)))
        slopes[:, self.plain] = gradient
        values, there = X[:, self.layout.numbers[self.layout.atomic]], self.elsewhere(X)
        for k, mean in enumerate(means):
            pulled = mean[:, n : n + a] + 2 * values * mean[:, n + a :]
            slopes[:, self.layout.atomic] += W[:, k, None] * there * pulled
        return self.layout.join(slopes)


class ClassKernels:
    """Kernels on the rows of one class.

    Args:
        shape: shape of the kernels.
        rows: rows in model space.
        broad: mean and standard deviation of the broad Gaussian of each number with atoms, shape
            `(2, numbers with atoms)`, see `broad_gaussians`.
        log_shares: weights of the kernels, equal when left out.
    """

    def __init__(
        self,
        shape: KernelShape,
        rows: FloatArray,
        broad: FloatArray,
        log_shares: FloatArray | None = None,
    ) -> None:
        self.shape, self.rows, self.broad, self.log_shares = shape, rows, broad, log_shares
        numbers = shape.numbers(rows)
        last = -0.5 * np.einsum("rn,rn->r", numbers, numbers) / shape.bandwidth**2
        if log_shares is not None:
            last += log_shares + np.log(len(log_shares))
        ends = [np.ones(len(rows)), last]
        if not len(shape.layout.columns):
            self.lifted = np.column_stack([numbers, *ends])
            return
        centers, spreads = self.gaussians(np.arange(len(rows)))
        tables = [
            table.T[rows[:, column].astype(np.intp)]
            for table, column in zip(shape.tables, shape.layout.columns, strict=True)
        ]
        squares = spreads**2
        constants = -0.5 * centers**2 / squares - np.log(spreads) - 0.5 * np.log(2 * np.pi)
        slopes = [centers / squares, -0.5 / squares]
        self.lifted = np.column_stack([numbers, *slopes, *ends, constants, *tables])

    def __len__(self) -> int:
        return len(self.rows)

    def gaussians(self, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return centers and standard deviations of some kernels for the numbers with atoms."""
        rows, layout = self.rows[places], self.shape.layout
        there = self.shape.elsewhere(rows) > 0
        centers = np.where(there, rows[:, layout.numbers[layout.atomic]], self.broad[0])
        return centers, np.where(there, self.shape.bandwidth, self.broad[1])

    def log_sums(
        self,
        points: FloatArray,
        *,
        with_means: bool = False,
        apart: tuple[IntArray, IntArray] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log of the sum of kernels at points, without `shape.constant`.

        One product gives the logs of the kernels, another the weighted sums of the rows.

        Args:
            points: points from `shape.points`.
            with_means: whether to return the means.
            apart: numbers of the points and of the kernels: kernels with the same number as a point
                are left out.

        Returns:
            The logs, -inf where no kernel is left; and means of the first `shape.moving` columns
            of `lifted`, weighted by the kernels, or an empty array.
        """
        lifted, moving = self.lifted, self.shape.moving
        logs = np.empty(len(points))
        means = np.empty((len(points), moving if with_means else 0))
        step = max(1, BLOCK // len(lifted))
        for begin in range(0, len(points), step):
            part = slice(begin, begin + step)
            exponent = points[part] @ lifted.T
            if apart is not None:
                exponent[apart[0][part, None] == apart[1]] = -np.inf
            top = exponent.max(axis=1)
            top[np.isneginf(top)] = 0.0
            exponent -= top[:, None]
            kernels = exp_where_it_counts(exponent)
            total = kernels.sum(axis=1)
            with np.errstate(divide="ignore"):
                logs[part] = np.log(total) + top
            if with_means:
                means[part] = kernels @ lifted[:, :moving] / total[:, None]
        return logs, means

    def log_factors(self, codes: IntArray, numbers: FloatArray) -> FloatArray:
        """Return the log of each kernel's factors for the fixed columns.

        Args:
            codes: code of each column of codes, -1 where it is free.
            numbers: fixed numbers that are elsewhere, NaN where they are not, shape `(numbers,)`.
        """
        layout, known = self.shape.layout, ~np.isnan(numbers)
        total = np.zeros(len(self.rows))
        for table, column, code in zip(self.shape.tables, layout.columns, codes, strict=True):
            if code >= 0:
                total += table[code, self.rows[:, column].astype(np.intp)]
        centers = self.rows[:, layout.numbers]
        spreads = np.full(centers.shape, self.shape.bandwidth)
        if len(layout.atomic):
            found = self.gaussians(np.arange(len(self.rows)))
            centers[:, layout.atomic], spreads[:, layout.atomic] = found
        z = (numbers[known] - centers[:, known]) / spreads[:, known]
        total -= (0.5 * z**2 + np.log(spreads[:, known]) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
        return total

    def around(
        self,
        places: IntArray,
        noise: FloatArray,
        uniform: FloatArray,
        fixed: IntArray | None = None,
    ) -> FloatArray:
        """Return one draw around each of some kernels; only codes can be fixed.

        Args:
            places: places of the kernels.
            noise: Gaussian with standard deviation h, shape `(draws, width)`.
            uniform: in 0..1, shape `(draws, columns of codes)`.
            fixed: code of each column of codes, -1 where it is free.
        """
        layout, rows = self.shape.layout, self.rows[places]
        if not len(layout.columns):
            moved: FloatArray = noise + rows
            return moved
        numbers, codes = layout.split(rows)
        for j, table in enumerate(self.shape.tables):
            if fixed is not None and fixed[j] >= 0:
                codes[:, j] = fixed[j]
                continue
            shares = np.exp(table.T[codes[:, j]]).cumsum(axis=1)
            codes[:, j] = (uniform[:, j, None] * shares[:, -1:] >= shares[:, :-1]).sum(axis=1)
        spreads = np.full(numbers.shape, self.shape.bandwidth)
        numbers[:, layout.atomic], spreads[:, layout.atomic] = self.gaussians(places)
        numbers += noise[:, layout.numbers] * spreads / self.shape.bandwidth
        elsewhere = layout.elsewhere(codes)
        if elsewhere is not None:
            numbers = np.where(elsewhere > 0, numbers, layout.atom_values(codes))
        return layout.join(numbers, codes)


def code_kernels(encoding: Encoding, smoothing: float) -> list[FloatArray]:
    """Return `log K(c; r)` of each column of codes, shape `(codes, codes)`, c before r.

    With C codes and the smoothing l, a category has `K(c; r) = (1 - l) [c = r] + l / C` (Aitchison
    and Aitken 1976, doi:10.1093/biomet/63.3.413, whose lambda is l (C - 1) / C); so have the atoms
    of a number. An ordered feature has `K(c; r) = (1 - l) l^|c - r| / 2`, or 1 - l if c = r (Wang
    and van Ryzin 1981, doi:10.1093/biomet/68.1.301), divided by its sum over the existing levels;
    between its gap and its levels the kernel is that of a category.

    Args:
        encoding: encoding of the columns.
        smoothing: above 0, at most 1.

    Example:
        >>> from daace.data.kinds import Feature
        >>> job = Feature("job", "ordered", levels=(1, 2, 3), dtype="int64")
        >>> np.exp(code_kernels(Encoding((job,)), 0.5)[0]).round(3).tolist()
        [[0.727, 0.167, 0.091], [0.182, 0.667, 0.182], [0.091, 0.167, 0.727]]
    """
    tables = []
    for column, size in encoding.code_sizes.items():
        shares = np.full((size, size), smoothing / size) + (1 - smoothing) * np.eye(size)
        feature = encoding.features[column] if column < len(encoding.features) else None
        if feature is not None and feature.kind == "ordered":
            m = len(feature.levels)
            steps = np.abs(np.arange(m)[:, None] - np.arange(m))
            ladder = np.where(steps == 0, 1.0, 0.5 * smoothing**steps)
            shares[:m, :m] = ladder / ladder.sum(axis=0) * shares[:m, :m].sum(axis=0)
        tables.append(np.log(shares))
    return tables


def broad_gaussians(layout: CodeLayout, rows: Sequence[FloatArray]) -> list[FloatArray]:
    """Return for each class mean and standard deviation of the numbers with atoms, elsewhere.

    Those of all classes where a class has fewer than two such rows; 0 and 1 if there are none.

    Args:
        layout: layout of the columns.
        rows: rows of each class.

    Returns:
        Shape `(2, numbers with atoms)` for each class.
    """
    everyone = np.concatenate(list(rows))
    found = []
    for members in rows:
        broad = np.array([[0.0], [1.0]]) * np.ones(len(layout.atomic))
        for i, place in enumerate(layout.atomic.tolist()):
            for some in (members, everyone):
                at = some[:, layout.columns[layout.atoms[place]]]
                values = np.sort(some[at == 0, layout.numbers[place]])  # in no order of the rows
                if len(values) > 1:
                    broad[:, i] = values.mean(), max(float(values.std()), NARROWEST)
                    break
        found.append(broad)
    return found


def weights_of_lines(
    kernels: Sequence[ClassKernels], log_prior: FloatArray, X: FloatArray
) -> FloatArray:
    """Return the mean of log p(x_i | everything else) over draws in which number i is elsewhere.

    Without its factors for x_i, the sum of kernels is their integral over x_i.

    Args:
        kernels: kernels of each class.
        log_prior: log p(y).
        X: draws.

    Returns:
        Shape `(numbers,)`, 0 for those without atoms.
    """
    shape = kernels[0].shape
    weights = np.zeros(len(shape.layout.numbers))
    sizes = np.log([len(some) for some in kernels])

    def log_prob(points: FloatArray) -> FloatArray:
        sums = np.stack([some.log_sums(points)[0] for some in kernels], axis=1)
        return log_sum_exp(sums + log_prior - sizes)

    there = shape.elsewhere(X) > 0
    points = shape.points(X)
    whole = log_prob(points)
    for i, place in enumerate(shape.layout.atomic.tolist()):
        rows = there[:, i]
        beside = points[rows].copy()
        beside[:, shape.parts_of(i)] = 0.0
        if rows.any():
            weights[place] = (whole[rows] - log_prob(beside)).mean()
    return weights


def exp_where_it_counts(exponent: FloatArray) -> FloatArray:
    """Exponentiate in place; kernels that are negligible beside the largest, 1, become 0.

    Most kernels are far away. Computing them takes 2 to 15 times as long as skipping them (most
    if they underflow to subnormal numbers), and rounding discards the result.
    """
    flat = exponent.reshape(-1)
    near = np.flatnonzero(flat > NEGLIGIBLE)
    if 2 * len(near) > len(flat):
        return np.exp(exponent, out=exponent)
    values = np.exp(flat[near])
    flat.fill(0.0)
    flat[near] = values
    return exponent
