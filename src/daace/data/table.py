"""Rows with names, units and class labels, and the map between user units and model space."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from daace._typing import FloatArray, Labels
from daace._warnings import warn_user
from daace.data.classes import read_classes
from daace.data.columns import likely_ids
from daace.data.constants import find_constants, is_constant
from daace.exceptions import InvalidInput

#: Larger numbers overflow when they are squared.
LARGEST = 1e100

#: Whole numbers with fewer values than this are counts or kinds: the paper drops such features.
FEW_VALUES = 20


def quote(names: Iterable[object], limit: int = 5) -> str:
    """Write names as `'a', 'b'`, and how many more there are beyond `limit`."""
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def check_table(table: object) -> None:
    """Raise `InvalidInput` for what is no `Table`."""
    if not isinstance(table, Table):
        raise InvalidInput(
            f"'table' must be a daace.Table. Got {type(table).__name__}: "
            "make one with daace.Table.from_frame(frame, target=...)."
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether a name was meant that looks like this one, or nothing.

    Example:
        >>> did_you_mean("Class", ["age", "class"]), did_you_mean("x", ["age", "class"])
        (" Did you mean 'class'?", '')
    """
    names = {str(other).lower(): str(other) for other in known}
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.8)
    return f" Did you mean '{names[near[0]]}'?" if near else ""


def numeric_matrix(frame: pd.DataFrame, *, what: str) -> FloatArray:
    """Return the frame as finite float64 numbers, or say which columns are not.

    Args:
        frame: columns of numbers.
        what: the name of the argument, for the message.

    Raises:
        InvalidInput: a column holds text, missing or infinite values.
    """
    kinds = list(zip(frame.columns, frame.dtypes, strict=True))
    text = [name for name, kind in kinds if not pd.api.types.is_numeric_dtype(kind)]
    if text:
        raise InvalidInput(_about_text(frame, text, what=what))
    complex_columns = [name for name, kind in kinds if pd.api.types.is_complex_dtype(kind)]
    if complex_columns:
        raise InvalidInput(f"{what} must be real. Got complex numbers in {quote(complex_columns)}.")
    try:
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} must be convertible to numbers. Got: {error}.") from None
    gaps = np.isnan(values)
    if gaps.any():
        raise InvalidInput(
            f"{what} must not have missing values. Got some in "
            f"{quote(frame.columns[gaps.any(axis=0)])}{_in_rows(gaps.any(axis=1))}: drop these "
            "rows, for example with frame.dropna(), or fill them, for example with "
            "frame.fillna(frame.median(numeric_only=True))."
        )
    infinite = (np.abs(values) > LARGEST).any(axis=0)
    if infinite.any():
        raise InvalidInput(
            f"{what} must be finite, below {LARGEST:g} in size. Got infinity or more than that in "
            f"{quote(frame.columns[infinite])}: drop these rows or clip them."
        )
    return np.array(values, dtype=np.float64, copy=True)


def _about_text(frame: pd.DataFrame, text: list[str], *, what: str) -> str:
    """Say what to do about columns that are not numbers."""
    rule, first = f"{what} must have numeric features only.", text[0]
    dates = [name for name in text if pd.api.types.is_datetime64_any_dtype(frame[name].dtype)]
    if dates:
        day = f"frame['{dates[0]}']"
        return (
            f"{rule} Got dates in {quote(dates)}: convert them, for example with "
            f"({day} - {day}.min()).dt.days."
        )
    words = frame[text].astype(str)
    if _are_numbers(words):
        return (
            f"{rule} Got numbers kept as text or objects in {quote(text)}: convert them, for "
            f"example with frame.astype({{'{first}': float}})."
        )
    if _are_numbers(words.replace(",", "", regex=True)):
        return (
            f"{rule} Got numbers with commas in {quote(text)}: convert them, for example with "
            f"frame['{first}'].str.replace(',', '').astype(float)."
        )
    odd = words.apply(pd.to_numeric, errors="coerce").isna().any(axis=1).to_numpy()
    where = "" if odd.all() else _in_rows(odd)  # a word among numbers
    return (
        f"{rule} Got text in {quote(text)}{where}: encode categories that have an order as "
        f"numbers, for example with frame['{first}'].map({{'low': 0, 'high': 1}}), and drop the "
        f"others, for example with frame.drop(columns=['{first}'])."
    )


def _are_numbers(words: pd.DataFrame) -> bool:
    """Whether every word can be read as a number, and there are some."""
    read = words.apply(pd.to_numeric, errors="coerce")
    return len(words) > 0 and bool(read.notna().all(axis=None))


def _in_rows(chosen: np.ndarray) -> str:
    """Say which of several rows are meant, and how many more there are."""
    if len(chosen) < 2:
        return ""
    rows = np.flatnonzero(chosen)
    return f" (row {quote(rows)})".replace("'", "")


def as_pandas(frame: object) -> object:
    """Return a frame of another package (polars, pyarrow) as a pandas one, anything else as it is.

    Raises:
        InvalidInput: it is a frame that has not been computed yet.
    """
    if isinstance(frame, pd.DataFrame):
        return frame
    if type(frame).__name__ == "LazyFrame":
        raise InvalidInput("Got a LazyFrame, which is not computed yet: call its collect() first.")
    if hasattr(frame, "get_columns"):  # polars, without a detour over pyarrow
        return pd.DataFrame({column.name: column.to_numpy() for column in frame.get_columns()})
    return frame.to_pandas() if hasattr(frame, "to_pandas") else frame


def check_unique(names: Sequence[str], *, what: str) -> None:
    """Raise `InvalidInput` when a column name stands twice."""
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if repeated:
        raise InvalidInput(
            f"{what} must have distinct column names. Got {quote(repeated)} more than once: "
            "rename or drop the repetitions."
        )


def _find_useless(frame: pd.DataFrame, *, keep: Collection[str]) -> dict[str, str]:
    """Return the columns that are no features, and why: one sentence each."""
    constant = find_constants(frame)
    rest = frame.drop(columns=list(constant))
    ids = {name: why for name, why in likely_ids(rest).items() if name not in keep}
    return constant | (ids if len(ids) < rest.shape[1] else {})  # a table must have some feature


def _warn_of_left_out(left_out: Mapping[str, str]) -> None:
    """Say which columns are left out, and why, those of one reason together."""
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name in left_out if left_out[name] == reason]
        warn_user(f"Left out of the model: {quote(names)}. {reason}")


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
        left_out: columns that are not part of the model, and why, one sentence each. Rows may
            have them or not.
        columns: names of features and columns that are left out, in the order of the frame;
            empty where that is the order of the features.

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

        Columns that look like ids or do not vary are no features: `left_out` has their names and
        the reason. In rows to explain they are passed through, like any column that the model
        does not know.

        Args:
            frame: of pandas, polars or pyarrow. The features are numbers, without gaps: a density
                cannot tell why a value is missing, nor what lies between two words. Drop or fill
                gaps; encode categories that have an order as numbers; drop the others, or make
                one table for each of them.
            target: name of the class column.
            features: columns to read, whatever they hold: those of a model, for rows to be
                judged by it. When left out, all columns that vary and do not look like ids.
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
                f"'frame' must be a pandas DataFrame. Got {type(frame).__name__}: "
                "wrap it with pandas.DataFrame(..., columns=[...])."
            )
        names = [str(column) for column in frame.columns]
        check_unique(names, what="'frame'")
        if str(target) not in names:
            raise InvalidInput(
                f"'target' must be a column of the frame: {quote(names)}. Got '{target}'."
            )
        frame = frame.set_axis(names, axis=1)
        y, classes = read_classes(frame[str(target)], target=str(target))
        left_out: dict[str, str] = {}
        if features is None:
            columns = tuple(column for column in names if column != str(target))
            left_out = _find_useless(frame[list(columns)], keep={*map(str, keep), *(units or {})})
            _warn_of_left_out(left_out)
            features = [column for column in columns if column not in left_out]
        else:
            columns = features = tuple(features)
        if not features:
            which = f"It has none beside {quote(left_out)}" if left_out else "It has none"
            raise InvalidInput(f"'frame' must have at least one feature that varies. {which}.")
        unknown = sorted(set(units or {}) - set(columns))
        if unknown:
            raise InvalidInput(f"'units' must name features of the frame. Got {quote(unknown)}.")
        X = numeric_matrix(frame[list(features)], what="'frame'")
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
        """Features that count something, or say yes or no: few values, whole numbers all.

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
        """Return the table of these rows, with the same classes."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    def select(self, features: Sequence[str]) -> Table:
        """Return the table of these features, in this order."""
        unknown = [name for name in features if name not in self.features]
        if unknown:
            raise InvalidInput(f"'features' must be in the table. Got {quote(unknown)}.")
        columns = [self.features.index(name) for name in features]
        units = {name: self.units[name] for name in features if name in self.units}
        return replace(
            self, X=self.X[:, columns], features=tuple(features), units=units, columns=()
        )

    def shuffle(self, *, rng: np.random.Generator) -> Table:
        """Return the rows in random order (the benchmark files are sorted by class)."""
        return self.take(rng.permutation(len(self)))

    def split(self, share: float, *, rng: np.random.Generator) -> tuple[Table, Table]:
        """Return two tables at random, the second with this share of the rows."""
        if not 0 < share < 1:
            raise InvalidInput(f"'share' must be between 0 and 1. Got {share}.")
        order = rng.permutation(len(self))
        cut = len(self) - round(share * len(self))
        return self.take(order[:cut]), self.take(order[cut:])


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtract the mean and divide by the standard deviation, feature by feature.

    `transform` gives `z = (x - mean) / scale`; `inverse` undoes it to 1e-12 relative.

    Example:
        >>> import numpy as np
        >>> s = Standardizer.fit(np.array([[1.0], [3.0]]), features=("a",))
        >>> s.transform(np.array([[5.0]])).tolist()
        [[3.0]]
    """

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def fit(cls, X: FloatArray, *, features: Sequence[str]) -> Standardizer:
        """Learn mean and standard deviation.

        Raises:
            InvalidInput: a feature is constant, or so nearly that rounding hides its changes.
        """
        mean = X.mean(axis=0)
        scale = np.sqrt(((X - mean) ** 2).mean(axis=0))
        constant = is_constant(X)
        if constant.any():
            names = [name for name, flat in zip(features, constant, strict=True) if flat]
            raise InvalidInput(
                f"Features must vary. Got constant {quote(names)}: drop them, for example with "
                "daace.preprocess(table)."
            )
        return cls(mean, scale)

    @classmethod
    def identity(cls, n: int) -> Standardizer:
        """Return the map of `n` features that changes nothing."""
        return cls(np.zeros(n), np.ones(n))

    def transform(self, X: FloatArray) -> FloatArray:
        """Map user units to model space."""
        return (X - self.mean) / self.scale

    def inverse(self, Z: FloatArray) -> FloatArray:
        """Map model space to user units."""
        return Z * self.scale + self.mean
