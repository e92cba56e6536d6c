"""Codes of mixed rows: where they stand in the model array, and their tables in every component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.data.standardizer import Standardizer


@dataclass(frozen=True, eq=False)
class CodeLayout:
    """Which columns of the model array are numbers and which are codes, and where atoms are.

    Attributes:
        width: number of columns of the model array.
        numbers: columns that hold numbers, ascending.
        columns: columns that hold codes, ascending.
        sizes: number of codes of each of them.
        atoms: place in `columns` of the atom code of each number; -1 without atoms.
        values: model-space value of each code of each number's atoms, shape `(numbers, codes)`; 0
            where there is none, and for the code 0, "elsewhere".

    Example:
        >>> from daace.data.kinds import Feature
        >>> housing = Feature("housing", "category", levels=("own", "rent"), dtype="str")
        >>> encoding = Encoding((Feature("savings", atoms=(0.0,)), housing))
        >>> layout = CodeLayout.of(encoding, Standardizer.identity(3))
        >>> layout.numbers.tolist(), layout.columns.tolist(), layout.atoms.tolist()
        ([0], [1, 2], [1])
    """

    width: int
    numbers: IntArray
    columns: IntArray
    sizes: tuple[int, ...]
    atoms: IntArray
    values: FloatArray

    @classmethod
    def of(cls, encoding: Encoding, standardizer: Standardizer) -> CodeLayout:
        """Return the layout of an encoding.

        Args:
            encoding: encoding of the columns.
            standardizer: maps the atoms' values to model space.
        """
        having = encoding.atom_columns
        most = max((encoding.features[j].codes for j in having), default=1)
        values = np.zeros((len(encoding.number_columns), most))
        for i, j in enumerate(encoding.number_columns):
            feature = encoding.features[j]
            for code, atom in enumerate(feature.atoms, start=1):
                place = feature.fill if atom != atom else atom
                values[i, code] = (place - standardizer.mean[j]) / standardizer.scale[j]
        return cls.of_columns(encoding, values)

    @classmethod
    def of_columns(cls, encoding: Encoding, values: FloatArray) -> CodeLayout:
        """Return the layout of an encoding whose atoms have these values in model space.

        Raises:
            ValueError: there are more or fewer of them.
        """
        columns = list(encoding.code_sizes)
        atoms = [
            columns.index(encoding.atom_columns[j]) if j in encoding.atom_columns else -1
            for j in encoding.number_columns
        ]
        most = max((encoding.features[j].codes for j in encoding.atom_columns), default=1)
        if values.shape != (len(atoms), most):
            raise ValueError("the atoms have other values than in the encoding")
        return cls(
            encoding.width,
            np.array(encoding.number_columns, dtype=np.intp),
            np.array(columns, dtype=np.intp),
            tuple(encoding.code_sizes.values()),
            np.array(atoms, dtype=np.intp),
            values,
        )

    @classmethod
    def plain(cls, width: int) -> CodeLayout:
        """Return the layout of numbers without atoms."""
        none = np.zeros(0, dtype=np.intp)
        numbers = np.arange(width)
        return cls(width, numbers, none, (), np.full(width, -1), np.zeros((width, 1)))

    @cached_property
    def atomic(self) -> IntArray:
        """Numbers that have atoms, by their place among the numbers."""
        return np.flatnonzero(self.atoms >= 0)

    def split(self, X: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the numbers and the codes of rows; any axes before the last.

        Args:
            X: rows in model space, shape `(..., width)`.
        """
        return X[..., self.numbers], X[..., self.columns].astype(np.intp)

    def join(self, numbers: FloatArray, codes: IntArray | None = None) -> FloatArray:
        """Return the model array of numbers and codes; without codes these are 0."""
        X = np.zeros((*numbers.shape[:-1], self.width))
        X[..., self.numbers] = numbers
        if codes is not None:
            X[..., self.columns] = codes
        return X

    def hold(self, columns: IntArray, x: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return which codes and numbers of a row are fixed, if these columns are.

        A number off its atoms is fixed only if its code is, too; at an atom its code determines it.

        Args:
            columns: columns of the model array.
            x: the row, shape `(width,)`.

        Returns:
            The code of each column of codes, -1 where it is free; and each number, NaN where it is
            free or at an atom.
        """
        held = np.zeros(self.width, dtype=bool)
        held[columns] = True
        codes = np.where(held[self.columns], x[self.columns], -1).astype(np.intp)
        known = held[self.numbers]
        known[self.atomic] &= codes[self.atoms[self.atomic]] == 0
        return codes, np.where(known, x[self.numbers], np.nan)

    def elsewhere(self, codes: IntArray) -> FloatArray | None:
        """Return 1 where a number is at none of its atoms, else 0; None if all are 1.

        Args:
            codes: shape `(..., columns)`.

        Returns:
            Shape `(..., numbers)`.
        """
        at = codes[..., self.atoms[self.atomic]] != 0
        if not at.any():
            return None
        free = np.ones((*codes.shape[:-1], len(self.numbers)))
        free[..., self.atomic] = ~at
        return free

    def atom_values(self, codes: IntArray) -> FloatArray:
        """Return the value of each number at an atom; 0 for the others."""
        found = np.zeros((*codes.shape[:-1], len(self.numbers)))
        for i in self.atomic:
            found[..., i] = self.values[i, codes[..., self.atoms[i]]]
        return found


@dataclass(frozen=True, eq=False)
class CodeTables:
    """log p(d | c) of the codes d: the sum of `log T_j[c, d_parent(j), d_j]` over the codes j.

    Attributes:
        layout: layout of the columns.
        parents: parent of each code among the codes; -1 for none.
        tables: for each code log-probabilities that sum to 1 over its codes, shape `(codes of the
            parent or 1, codes, components)`.
        measure: h_i of every number: log p is taken with respect to a measure in which the line
            of a number with atoms has the weight e^h beside the mass 1 of each atom, see
            `weigh_lines`; 0 for a number without atoms.
    """

    layout: CodeLayout
    parents: IntArray
    tables: Sequence[FloatArray]
    measure: FloatArray

    def log_prob(self, codes: IntArray) -> FloatArray:
        """Return log p(d | c), shape `(..., components)`.

        Args:
            codes: shape `(..., columns)`.
        """
        flat = codes.reshape(-1, codes.shape[-1])
        total = np.zeros((len(flat), self.tables[0].shape[2]))
        for j, (table, parent) in enumerate(zip(self.tables, self.parents.tolist(), strict=True)):
            place = flat[:, j]
            if parent >= 0:
                place = flat[:, parent] * table.shape[1] + place
            total += table.reshape(-1, table.shape[2]).take(place, axis=0)
        return total.reshape(*codes.shape[:-1], total.shape[1])

    def given(self, codes: IntArray) -> tuple[CodeTables, FloatArray]:
        """Return the tables of p(d | some codes, c), and log p(some codes | c) of each component.

        Messages are passed from children to parents (Pearl 1982): a code's table is multiplied by
        its children's messages.

        Args:
            codes: shape `(columns,)`, -1 where a code is free.
        """
        beside = [np.zeros((size, self.tables[0].shape[2])) for size in self.layout.sizes]
        tables, total = list(self.tables), np.zeros(self.tables[0].shape[2])
        for j in reversed(parents_first(self.parents)):
            logs, parent = self.tables[j] + beside[j], int(self.parents[j])
            if codes[j] >= 0:
                logs[:, np.arange(logs.shape[1]) != codes[j]] = -np.inf
            top = logs.max(axis=1)
            message = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
            tables[j] = logs - message[:, None]
            if parent >= 0:
                beside[parent] += message
            else:
                total += message[0]
        return replace(self, tables=tables), total

    def shares(self) -> list[FloatArray]:
        """Return the probability of each code in each component, shape `(codes, components)`."""
        found: dict[int, FloatArray] = {}
        for j in parents_first(self.parents):
            table, parent = np.exp(self.tables[j]), int(self.parents[j])
            found[j] = np.einsum("pc,pdc->dc", found[parent], table) if parent >= 0 else table[0]
        return [found[j] for j in range(len(self.tables))]

    def log_measure(self, elsewhere: FloatArray | None) -> FloatArray | float:
        """Return the sum of h over the numbers that are elsewhere, shape `(...,)`."""
        if elsewhere is None:
            return float(self.measure.sum())
        weighted: FloatArray = elsewhere @ self.measure
        return weighted

    def sample(self, components: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Draw the codes of one row for each entry of `components`, shape `(rows, columns)`."""
        codes = np.zeros((len(components), len(self.tables)), dtype=np.intp)
        for j in parents_first(self.parents):
            table, parent = self.tables[j], int(self.parents[j])
            above = codes[:, parent] if parent >= 0 else 0
            shares = np.exp(table[above, :, components]).cumsum(axis=1)
            drawn = rng.uniform(size=(len(components), 1)) * shares[:, -1:]
            codes[:, j] = (drawn >= shares[:, :-1]).sum(axis=1)
        return codes


def parents_first(parents: IntArray) -> list[int]:
    """Return the codes in an order in which parents come first.

    Raises:
        ValueError: the parents have a cycle.

    Example:
        >>> parents_first(np.array([2, -1, 1]))
        [1, 2, 0]
    """
    order: list[int] = []
    waiting = list(range(len(parents)))
    while waiting:
        ready = [j for j in waiting if parents[j] < 0 or parents[j] in order]
        if not ready:
            raise ValueError("the arcs between codes have a cycle")
        order += ready
        waiting = [j for j in waiting if j not in ready]
    return order
