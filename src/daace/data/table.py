"""Rows in user units, with feature names, units and class labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from daace._typing import FloatArray, Labels
from daace._wording import quote
from daace.data.frames import as_pandas, check_unique, numeric_matrix
from daace.data.labels import read_classes
from daace.data.left_out import find_left_out, warn_of_left_out
from daace.exceptions import InvalidInput

#: Whole numbers with fewer values than this are counts or categories: the paper drops such
#: features.
FEW_VALUES = 20


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in the user's units, with a class for each.

    Attributes:
        X: features, shape `(rows, features)`, finite float64.
        y: class of each row, shape `(rows,)`.
        features: column names.
        classes: the distinct classes, sorted.
        target: name of the class column.
        units: unit by feature name, where known.
        name: what the table is called.
        left_out: columns that are not part of the model, each with the reason in one sentence.
            Rows to explain may have them or not.
        columns: names of features and left-out columns in the order of the frame; empty if that
            is the order of the features.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [31, 45, 52], "class": ["low", "high", "high"]})
        >>> Table.from_frame(frame, target="class").classes.tolist()
        ['high', 'low']
    """

    X: FloatArray
    y: Labels
    features: tuple[str, ...]
    classes: Labels
    target: str = "class"
    units: Mapping[str, str] = field(default_factory=dict)
    name: str = "table"
    left_out: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        target: str,
        features: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        name: str = "table",
        keep: Sequence[str] = (),
    ) -> Table:
        """Make a table from a DataFrame whose column `target` holds the class.

        Columns that look like ids or do not vary are not used as features: `left_out` has their
        names and the reason. In rows to explain they are passed through, like any column that
        the model does not know.

        Args:
            frame: a frame of pandas, polars or pyarrow. Features are numbers without missing
                values: drop or fill those, encode ordered categories as numbers, and drop
                unordered categories or make one table for each of them.
            target: name of the class column.
            features: columns to read, whatever they hold, such as the features of a fitted model.
                When left out, all columns that vary and do not look like ids.
            units: unit by feature name, where known.
            name: what the table is called.
            keep: columns that are features although they look like ids.

        Raises:
            InvalidInput: the target is missing or has fewer than two classes, or the
                features are not finite numbers with distinct names.

        Warns:
            UserWarning: columns are left out, see `left_out`.
        """
        frame = as_pandas(frame)
        if not isinstance(frame, pd.DataFrame):
            raise InvalidInput(
                argument="frame",
                expected="be a pandas DataFrame",
                got=type(frame).__name__,
                remedy="wrap it with pandas.DataFrame(..., columns=[...])",
            )
        names = [str(column) for column in frame.columns]
        check_unique(names, what="frame")
        if str(target) not in names:
            raise InvalidInput(
                argument="target",
                expected=f"be a column of the frame: {quote(names)}",
                got=f"'{target}'",
            )
        frame = frame.set_axis(names, axis=1)
        y, classes = read_classes(frame[str(target)], target=str(target))
        left_out: dict[str, str] = {}
        if features is None:
            columns = tuple(column for column in names if column != str(target))
            left_out = find_left_out(frame[list(columns)], keep={*map(str, keep), *(units or {})})
            warn_of_left_out(left_out)
            features = [column for column in columns if column not in left_out]
        else:
            columns = features = tuple(features)
        if not features:
            which = f"It has none beside {quote(left_out)}" if left_out else "It has none"
            raise InvalidInput(
                argument="frame", expected=f"have at least one feature that varies. {which}"
            )
        unknown = sorted(set(units or {}) - set(columns))
        if unknown:
            raise InvalidInput(
                argument="units", expected="name features of the frame", got=quote(unknown)
            )
        X = numeric_matrix(frame[list(features)], what="frame")
        known = {column: unit for column, unit in (units or {}).items() if column in features}
        return cls(
            X, y, tuple(features), classes, str(target), known, name, left_out, tuple(columns)
        )

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return (
            f"Table(name={self.name!r}, rows={len(self)}, features={len(self.features)}, "
            f"classes={self.classes.tolist()}"
            + (f", left_out={list(self.left_out)})" if self.left_out else ")")
        )

    def to_frame(self) -> pd.DataFrame:
        """Return features and class as a DataFrame, the class last."""
        frame = pd.DataFrame(self.X, columns=list(self.features))
        frame[self.target] = self.y
        return frame

    @property
    def whole(self) -> tuple[str, ...]:
        """Features that hold only integers, with fewer than 20 distinct values: counts and flags.

        Example:
            >>> frame = pd.DataFrame({"kids": [0, 2, 1], "age": [31.5, 40, 28], "y": [0, 1, 1]})
            >>> Table.from_frame(frame, target="y").whole
            ('kids',)
        """
        columns = zip(self.features, self.X.T, strict=True)
        return tuple(
            name
            for name, column in columns
            if (column == column.round()).all() and len(np.unique(column)) < FEW_VALUES
        )

    @property
    def nonnegative(self) -> tuple[str, ...]:
        """Features that are never below 0."""
        lowest = self.X.min(axis=0, initial=np.inf)
        return tuple(name for name, low in zip(self.features, lowest, strict=True) if low >= 0)

    def take(self, rows: Sequence[int] | np.ndarray) -> Table:
        """Return the table of these rows, by position, with the same classes."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    def select(self, features: Sequence[str]) -> Table:
        """Return the table of these features, in this order.

        Raises:
            InvalidInput: the table has no such feature.
        """
        unknown = [name for name in features if name not in self.features]
        if unknown:
            raise InvalidInput(argument="features", expected="be in the table", got=quote(unknown))
        columns = [self.features.index(name) for name in features]
        units = {name: self.units[name] for name in features if name in self.units}
        return replace(
            self, X=self.X[:, columns], features=tuple(features), units=units, columns=()
        )

    def shuffle(self, *, rng: np.random.Generator) -> Table:
        """Return the rows in random order (the benchmark files are sorted by class)."""
        return self.take(rng.permutation(len(self)))

    def split(self, share: float, *, rng: np.random.Generator) -> tuple[Table, Table]:
        """Split the rows at random into two tables.

        Args:
            share: share of the rows in the second table, between 0 and 1.
            rng: source of the random order.
        """
        if not 0 < share < 1:
            raise InvalidInput(argument="share", expected="be between 0 and 1", got=str(share))
        order = rng.permutation(len(self))
        cut = len(self) - round(share * len(self))
        return self.take(order[:cut]), self.take(order[cut:])


def check_table(table: object) -> None:
    """Raise `InvalidInput` unless this is a `Table`."""
    if not isinstance(table, Table):
        raise InvalidInput(
            argument="table",
            expected="be a daace.Table",
            got=type(table).__name__,
            remedy="make one with daace.Table.from_frame(frame, target=...)",
        )
