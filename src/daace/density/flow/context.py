"""The parts of a mixed row: those of a flow, those of a network, and the flow's context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding


@dataclass(frozen=True, eq=False)
class FlowColumns:
    """The columns of a table with codes: numbers without atoms for the flow, all else before it.

    Attributes:
        encoding: encoding of the columns.
        numbers: columns that the flow maps.
        names: features of the network: codes, and numbers with atoms.
        columns: columns of these features, in the order of the network's.
        before: encoding of the network's columns.

    Example:
        >>> from daace.data.kinds import Feature
        >>> job = Feature("job", "ordered", levels=(1, 2, 3), dtype="int64")
        >>> split = FlowColumns.of(Encoding((Feature("age"), job, Feature("debt", atoms=(0.0,)))))
        >>> split.names, split.context(np.array([[40.0, 1.0, 7.0, 0.0]])).tolist()
        (('job', 'debt'), [[0.5, 7.0, 1.0, 0.0]])
    """

    encoding: Encoding
    numbers: IntArray
    names: tuple[str, ...]
    columns: IntArray
    before: Encoding

    @classmethod
    def of(cls, encoding: Encoding) -> FlowColumns:
        """Return the columns of a table with codes."""
        atoms = encoding.atom_columns
        plain = [j for j in encoding.number_columns if j not in atoms]
        names = tuple(name for j, name in enumerate(encoding.names) if j not in plain)
        before, columns = encoding.select(names)
        return cls(encoding, np.array(plain, np.intp), names, np.array(columns, np.intp), before)

    def context(self, X: FloatArray) -> FloatArray:
        """Return the flow's context: the network's columns as numbers.

        An ordered feature is a number from 0 to 1, with a second one for its gap; a category, and
        the atoms of a number, are one-hot; a number with atoms is its value, 0 at an atom.

        Args:
            X: rows in model space, with all columns.
        """
        rows = X[:, self.columns]
        return np.concatenate([part for part, _ in self._parts(rows)], axis=1)

    @property
    def contexts(self) -> int:
        """Number of columns that `context` returns."""
        return int(self.context(np.zeros((1, self.encoding.width))).shape[1])

    def pull(self, X: FloatArray, slopes: FloatArray, to_context: FloatArray) -> FloatArray:
        """Return the gradient with respect to all columns.

        Args:
            X: rows in model space.
            slopes: gradient with respect to the numbers that the flow maps.
            to_context: gradient with respect to the context.
        """
        gradient, rows, begin = np.zeros_like(X), X[:, self.columns], 0
        gradient[:, self.numbers] = slopes
        for column, (part, elsewhere) in zip(self.columns, self._parts(rows), strict=True):
            if elsewhere is not None:
                gradient[:, column] = elsewhere * to_context[:, begin]
            begin += part.shape[1]
        return gradient

    def _parts(self, rows: FloatArray) -> list[tuple[FloatArray, FloatArray | None]]:
        """Return the context of each column; for a number also whether it is elsewhere."""
        encoding, parts = self.before, list[tuple[FloatArray, FloatArray | None]]()
        for j in range(encoding.width):
            size = encoding.code_sizes.get(j)
            feature = encoding.features[j] if j < len(encoding.features) else None
            if size is None:
                elsewhere = (rows[:, encoding.atom_columns[j]] == 0).astype(np.float64)
                parts.append(((elsewhere * rows[:, j])[:, None], elsewhere))
            elif feature is not None and feature.kind == "ordered":
                place = rows[:, j] / max(len(feature.levels) - 1, 1)
                gap = (rows[:, j] == feature.gap_code).astype(np.float64)
                scaled = np.where(gap > 0, 0.5, place)
                parts.append((np.stack([scaled, gap][: 1 + feature.gaps], axis=1), None))
            else:
                parts.append((np.eye(size)[rows[:, j].astype(np.intp)], None))
        return parts
