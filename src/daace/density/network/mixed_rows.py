"""Rows of numbers and codes for EM: expected statistics of numbers and expected counts of codes.

Which numbers are at atoms differs from row to row. Rows are sorted by that pattern: the statistics
of a number's family are summed over the patterns in which it is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.codes import CodeLayout
from daace.density.network.code_graph import PairCells
from daace.density.network.expectation import BLOCK, MonomialRows
from daace.density.network.profiles import ProfileParameters


@dataclass(frozen=True, eq=False)
class MixedParameters:
    """Parameters of a network over numbers and codes.

    Attributes:
        numbers: weights of the components, and the families of the numbers.
        parents: parent of each code among the codes; -1 for none.
        tables: log-probabilities, see `CodeTables`.
    """

    numbers: ProfileParameters
    parents: IntArray
    tables: Sequence[FloatArray]

    @property
    def log_weights(self) -> FloatArray:
        """Log p(y, h) of the components."""
        return self.numbers.log_weights

    @property
    def owner(self) -> IntArray:
        """Class of each component."""
        return self.numbers.owner

    def take(self, components: IntArray) -> MixedParameters:
        """Return the parameters of some components."""
        own = self.numbers
        some = ProfileParameters(
            own.log_weights[components],
            own.coefficients[components],
            own.intercepts[components],
            own.variances[components],
            own.owner[components],
        )
        return MixedParameters(
            some, self.parents, [table[:, :, components] for table in self.tables]
        )


class MixedRows:
    """Rows of one class, sorted by which numbers are elsewhere.

    Args:
        X: rows in model space.
        layout: layout of the columns.
        counted: weight of the numbers of each row, see `count_copies`.
    """

    def __init__(self, X: FloatArray, layout: CodeLayout, counted: FloatArray) -> None:
        numbers, codes = layout.split(X)
        elsewhere = layout.elsewhere(codes)
        free = np.ones(numbers.shape) if elsewhere is None else elsewhere
        self.patterns, place = np.unique(free, axis=0, return_inverse=True)
        place = place.reshape(-1)
        order = np.argsort(place, kind="stable")
        self.numbers, self.codes, self.counted = numbers[order], codes[order], counted[order]
        self.free = free[order]  # which numbers are elsewhere
        self.layout = layout
        ends = np.searchsorted(place[order], np.arange(len(self.patterns) + 1)).tolist()
        self._parts = [
            (slice(a, b), MonomialRows(self.numbers[a:b], self.counted[a:b]))
            for a, b in pairwise(ends)
        ]
        self._cells: dict[tuple[int, ...], Any] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def log_components(self, parameters: MixedParameters) -> FloatArray:
        """Return log p(x, d, component) of each row, shape `(rows, components)`."""
        logs = parameters.log_weights
        tables = np.concatenate([t.reshape(-1, len(logs)) for t in parameters.tables])
        found = np.asarray(self.cells(parameters.parents) @ tables)
        whiteners, offsets = parameters.numbers.whitened()
        c, n = offsets.shape
        scales = np.log(np.einsum("cii->ci", whiteners)) - 0.5 * np.log(2 * np.pi)
        found += logs + self.free @ scales.T
        step = max(1, BLOCK // max(1, c * n))
        for begin in range(0, len(self), step):
            rows = slice(begin, begin + step)
            X = self.numbers[rows].T
            z = (whiteners.reshape(c * n, n) @ X).reshape(c, n, X.shape[1])
            z += offsets[:, :, None]
            z *= z
            found[rows] -= 0.5 * np.einsum("cir,ri->rc", z, self.free[rows])
        return found

    def cells(self, parents: IntArray) -> Any:
        """Return the cells of the tables that each row counts in, as a sparse matrix of 0 and 1.

        Args:
            parents: parent of each code; -1 for none.
        """
        key = tuple(parents.tolist())
        if key not in self._cells:
            self._cells = {key: self._find_cells(key)}  # graphs change seldom
        return self._cells[key]

    def _find_cells(self, parents: Sequence[int]) -> Any:
        from scipy.sparse import csr_matrix

        sizes = self.layout.sizes
        columns, begin = [], 0
        for j, parent in enumerate(parents):
            above = self.codes[:, parent] if parent >= 0 else 0
            columns.append(begin + above * sizes[j] + self.codes[:, j])
            begin += sizes[j] * (sizes[parent] if parent >= 0 else 1)
        places = np.stack(columns, axis=1)
        ends = np.arange(0, places.size + 1, len(columns))
        return csr_matrix((np.ones(places.size), places.reshape(-1), ends), (len(self), begin))

    def count_cells(self, parents: IntArray, shares: FloatArray) -> list[FloatArray]:
        """Return expected counts, for each code of shape `(codes of the parent or 1, codes, c)`.

        Args:
            parents: parent of each code; -1 for none.
            shares: share of each component in each row, shape `(rows, c)`.
        """
        counts = np.asarray(self.cells(parents).T @ shares)
        sizes, found, begin = self.layout.sizes, [], 0
        for size, parent in zip(sizes, parents.tolist(), strict=True):
            above = sizes[parent] if parent >= 0 else 1
            part = counts[begin : begin + above * size]
            found.append(part.reshape(above, size, -1))
            begin += above * size
        return found

    def count_pairs(self, shares: FloatArray) -> FloatArray:
        """Return expected counts of all pairs of codes, shape `(cells, c)`, see `PairCells`.

        Args:
            shares: share of each component in each row, shape `(rows, c)`.
        """
        from scipy.sparse import csr_matrix

        cells = PairCells.of(tuple(self.layout.sizes))
        count, width = len(cells.later), int(cells.begins[-1])
        total = np.zeros((width, shares.shape[1]))
        step = max(1, BLOCK // max(1, count))
        for begin in range(0, len(self) if count else 0, step):
            codes = self.codes[begin : begin + step]
            places = codes[:, cells.earlier] * cells.sizes[cells.later] + codes[:, cells.later]
            places += cells.begins[:-1]
            ends = np.arange(0, places.size + 1, count)
            found = csr_matrix(
                (np.ones(places.size), places.reshape(-1), ends), (len(codes), width)
            )
            total += np.asarray(found.T @ shares[begin : begin + step])
        return total

    def statistics(
        self, shares: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """Return expected sizes, and counts, means and scatter matrices for each number's family.

        Args:
            shares: share of each component in each row.

        Returns:
            shape `(c,)`; and shapes `(numbers, c)`, `(numbers, c, n)` and `(numbers, c, n, n)`.
        """
        sums = np.stack([part.sums(shares[rows]) for rows, part in self._parts])
        families = np.tensordot(self.patterns, sums, axes=(0, 0)).transpose(0, 2, 1)
        return shares.sum(axis=0), self._parts[0][1].statistics(families)

    def count_different(self, shares: FloatArray) -> FloatArray:
        """Return the expected number of different rows that each number's family rests on.

        Args:
            shares: share of each component in each row.

        Returns:
            Shape `(numbers, components)`.
        """
        sums = [self.counted[rows] @ shares[rows] for rows, _ in self._parts]
        found: FloatArray = self.patterns.T @ np.stack(sums)
        return found
