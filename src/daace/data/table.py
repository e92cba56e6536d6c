"""Rows in user units, with feature names, units and class labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from daace._typing import FloatArray, Labels
from daace._wording import quote
from daace.data.encoding import Encoding
from daace.data.frames import as_pandas, check_unique, numeric_matrix
from daace.data.inference import FEW_VALUES
from daace.data.labels import read_classes
from daace.data.left_out import find_left_out, warn_of_left_out
from daace.data.schema import describe, infer_encoding, number_encoding
from daace.exceptions import InvalidInput


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in the user's units, with a class for each.

    Attributes:
        X: features as numbers and codes, see `Encoding`, shape `(rows, encoding.width)`, finite
            float64. For a table of numbers without atoms, just its values.
        y: class of each row, shape `(rows,)`.
        features: column names.
        classes: the distinct classes, sorted.
        target: name of the class column.
        units: unit by feature name, where known.
        name: name of the table.
        left_out: columns that are not part of the model, each with the reason in one sentence.
            Rows to explain may have them or not.
        columns: names of features and left-out columns in the order of the frame; empty if that
            is the order of the features.
        encoding: encoding of the columns, which maps rows to `X` and back; numbers without atoms
            when left out.
        raw: the user's columns whose rare levels are pooled, None if there are none.

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
    encoding: Encoding = None  # type: ignore[assignment]  # set below, so that it is never None
    raw: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        given: object = self.encoding
        if given is None:
            plain = Encoding.of_numbers(
                self.features, units=self.units, left_out=self.left_out, columns=self.columns
            )
            object.__setattr__(self, "encoding", plain)

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
        kinds: Mapping[str, str] | Literal["number"] | None = None,
        order: Mapping[str, Sequence[Any]] | None = None,
        encoding: Encoding | None = None,
    ) -> Table:
        """Make a table from a DataFrame whose column `target` holds the class.

        Each column is a number, a whole number, ordered or a category, by its dtype and values:
        `kinds` shows which. Integers with fewer than 20 values are ordered if each has 10 rows;
        text, truth values and unordered categories are categories. Missing values are allowed.
        Rare levels of ordered columns are named by a model only if `order` or a categorical dtype
        names them, which permits it. Columns that are a function of one other column are not
        modelled but computed from it. Columns that look like ids or do not vary, and categories
        with fewer than two levels of 10 rows, are not used: `left_out` has their names and the
        reason. In rows to explain they are passed through, like any column that the model does
        not know.

        Args:
            frame: a frame of pandas, polars or pyarrow.
            target: name of the class column.
            features: columns to read, whatever their content, such as the features of a fitted
                model. When left out, all columns that vary and do not look like ids.
            units: unit by feature name, where known.
            name: name of the table.
            keep: columns that are features although they look like ids.
            kinds: "number", "whole", "ordered" or "category" by column, where it differs from the
                inferred kind; or "number" for all columns, as in the paper: then nothing is
                derived, no value is an atom, and none may be missing.
            order: levels from low to high by column; such a column is ordered. Model files have
                them, even those without rows.
            encoding: encoding of another table, such as that of a fitted model.

        Raises:
            InvalidInput: the target is missing or has fewer than two classes; columns have the
                same name, or hold dates, infinite numbers or text among numbers; or `kinds` or
                `order` do not fit.

        Warns:
            UserWarning: columns are left out, see `left_out`; or a category has too many levels.
        """
        frame = _named_frame(frame, target)
        y, classes = read_classes(frame[str(target)], target=str(target))
        others = tuple(column for column in frame.columns if column != str(target))
        if encoding is None:
            columns = others if features is None else tuple(features)
            _check_units(units or {}, columns)
            encoding = _find_encoding(
                frame,
                columns=columns,
                keep=None if features is not None else {*map(str, keep), *(units or {})},
                units=units or {},
                kinds=kinds,
                order=order,
            )
        pooled = [column for column in encoding.unnamed if column in frame.columns]
        return cls(
            encoding.encode(frame),
            y,
            encoding.names,
            classes,
            str(target),
            {feature.name: feature.unit for feature in encoding.features if feature.unit},
            name,
            encoding.left_out,
            encoding.columns,
            encoding,
            frame[pooled].reset_index(drop=True) if pooled else None,
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
        """Return features, derived columns and class in the user's dtypes, the class last.

        Missing values are missing again. Columns that were left out are not included.
        """
        frame = self.encoding.decode(self.X, like=self.raw)
        frame[self.target] = self.y
        return frame

    @property
    def kinds(self) -> pd.DataFrame:
        """The properties of each column: feature, kind, levels, atoms, bounds, derived from, ...

        The kind of a column that is computed from another one is "derived", that of an unused one
        "left out". "perhaps immutable" is a guess by the name.

        Example:
            >>> frame = pd.DataFrame({"kids": [0, 2, 1], "age": [31.5, 40, 28], "y": [0, 1, 1]})
            >>> Table.from_frame(frame, target="y").kinds["kind"].tolist()
            ['whole', 'number']
        """
        return describe(self.encoding)

    @property
    def whole(self) -> tuple[str, ...]:
        """Features that hold only integers, with fewer than 20 distinct values: counts and flags.

        Example:
            >>> frame = pd.DataFrame({"kids": [0, 2, 1], "age": [31.5, 40, 28], "y": [0, 1, 1]})
            >>> Table.from_frame(frame, target="y").whole
            ('kids',)
        """
        columns = zip(self.encoding.features, self.X.T[: len(self.features)], strict=True)
        return tuple(
            feature.name
            for feature, column in columns
            if feature.kind != "category"
            and (column == column.round()).all()
            and len(np.unique(column)) < FEW_VALUES
        )

    @property
    def nonnegative(self) -> tuple[str, ...]:
        """Features that are never below 0."""
        lowest = self.X[:, : len(self.features)].min(axis=0, initial=np.inf)
        columns = zip(self.encoding.features, lowest, strict=True)
        return tuple(feature.name for feature, low in columns if low >= 0 and not feature.coded)

    def take(self, rows: Sequence[int] | np.ndarray) -> Table:
        """Return the table of these rows, by position, with the same classes."""
        raw = None if self.raw is None else self.raw.iloc[np.asarray(rows)].reset_index(drop=True)
        return replace(self, X=self.X[rows], y=self.y[rows], raw=raw)

    def select(self, features: Sequence[str]) -> Table:
        """Return the table of these features, in this order.

        Raises:
            InvalidInput: the table has no such feature.
        """
        unknown = [name for name in features if name not in self.features]
        if unknown:
            raise InvalidInput(argument="features", expected="be in the table", got=quote(unknown))
        encoding, columns = self.encoding.select(features)
        return replace(
            self,
            X=self.X[:, columns],
            features=tuple(features),
            units={name: self.units[name] for name in features if name in self.units},
            columns=(),
            encoding=encoding,
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


def check_numbers(table: Table) -> None:
    """Raise `InvalidInput` for a table with codes: categories, ordered features or atoms."""
    coded = [feature.name for feature in table.encoding.features if feature.codes]
    if coded:
        raise InvalidInput(
            argument="table",
            expected="have numbers only, without gaps or values that many rows share",
            got=f"{quote(coded)}, see table.kinds",
            remedy=(
                "pass kinds='number' to daace.Table.from_frame if all columns are numbers, and "
                "drop the others"
            ),
            in_shell="leave these columns out with --drop",
        )


def _named_frame(frame: object, target: str) -> pd.DataFrame:
    """Return a frame of pandas with distinct names as text, among them the target."""
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
    return frame.set_axis(names, axis=1)


def _find_encoding(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str],
    keep: Collection[str] | None,
    units: Mapping[str, str],
    kinds: Mapping[str, str] | str | None,
    order: Mapping[str, Sequence[Any]] | None,
) -> Encoding:
    """Return the encoding of a frame; without `keep` all columns are features."""
    left_out = {} if keep is None else find_left_out(frame[list(columns)], keep=keep)
    used = [column for column in columns if column not in left_out]
    if kinds == "number":
        X = numeric_matrix(frame[used], what="frame")
        numbers = pd.DataFrame(X, columns=used)
        encoding = number_encoding(numbers, columns=columns, units=units, left_out=left_out)
    else:
        encoding = infer_encoding(
            frame,
            columns=columns,
            kinds=kinds,  # type: ignore[arg-type]  # checked there
            order=order,
            units=units,
            left_out=left_out,
            derive=keep is not None,
        )
    unusable = [name for name in columns if keep is None or name in keep]
    for name in set(unusable) & set(encoding.left_out) - set(left_out):
        raise InvalidInput(
            f"'{name}' cannot be a feature. {encoding.left_out[name]} Drop it, or merge levels."
        )
    warn_of_left_out(encoding.left_out)
    if not encoding.features:
        left_out = dict(encoding.left_out)
        which = f"It has none beside {quote(left_out)}" if left_out else "It has none"
        raise InvalidInput(
            argument="frame", expected=f"have at least one feature that varies. {which}"
        )
    return encoding


def _check_units(units: Mapping[str, str], columns: Sequence[str]) -> None:
    unknown = sorted(set(units) - set(columns))
    if unknown:
        raise InvalidInput(
            argument="units", expected="name features of the frame", got=quote(unknown)
        )
