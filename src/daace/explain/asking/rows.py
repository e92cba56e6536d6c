"""Reads users' rows: the model's numbers, unreadable cells, and the other columns."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import shorten
from daace._typing import FloatArray
from daace.data.encoding import Encoding
from daace.data.numbers import LARGEST, parse_numbers
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput

#: Values named in the reason why a row cannot be read.
NAMED = 3


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to explain.

    Attributes:
        values: in user units and the model's order of features; NaN where there is no number.
        labels: the recorded class of each row; None if there is no such column.
        invalid: why a row cannot be read, by its position.
        others: the columns that the model does not know, unchanged.
        raw: the columns with levels that the model does not name, unchanged; None without any.
    """

    values: FloatArray
    labels: Sequence[Any] | None = None
    invalid: Mapping[int, str] = field(default_factory=dict)
    others: pd.DataFrame = field(default_factory=pd.DataFrame)
    raw: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.values)


def read_row(density: ConditionalDensity, row: object) -> Rows:
    """Read one row: a Series, dict, one-row frame or array in user units.

    Args:
        density: knows names and units.
        row: row in user units.

    Raises:
        InvalidInput: it is not one row with a finite number for every feature of the density.
    """
    rows = read_rows(density, row)
    if len(rows) != 1:
        raise InvalidInput(
            argument="row", expected="be one row", got=str(len(rows)), remedy="use explain_batch"
        )
    if rows.invalid:
        raise InvalidInput(rows.invalid[0], argument="row")
    return rows


def read_rows(density: ConditionalDensity, given: object) -> Rows:
    """Read a frame or array; errors of single rows are kept, not raised.

    Args:
        density: knows names and units.
        given: rows in user units.

    Raises:
        InvalidInput: features are missing, or it is not a table.
    """
    frame = density.user_frame(given)
    derived = (column.name for column in density.encoding_.derived)
    known = {*density.features_, *derived, density.target_}
    others = frame[[name for name in frame.columns if name not in known]]
    if density.encoding_.code_sizes:
        values, invalid = read_coded(frame, density.encoding_)
        pooled = [name for name in density.encoding_.unnamed if name in frame.columns]
        raw = frame[pooled].reset_index(drop=True) if pooled else None
        return Rows(values, _labels(density, frame), invalid, others, raw)
    features = list(density.features_)
    if all(kind in (np.float64, np.int64) for kind in frame.dtypes[features]):
        values = frame[features].to_numpy(dtype=np.float64)
        if (np.abs(values) <= LARGEST).all():  # all columns at once: nothing is to be reported
            return Rows(values, _labels(density, frame), {}, others)
    values = np.empty((len(frame), len(features)))
    wrong: dict[int, list[str]] = {}
    for j, name in enumerate(features):
        values[:, j], gaps = read_column(frame[name])
        for row, what in gaps.items():
            wrong.setdefault(row, []).append(f"'{name}' {what}")
    invalid = {row: _reason(parts) for row, parts in sorted(wrong.items())}
    return Rows(values, _labels(density, frame), invalid, others)


def read_coded(frame: pd.DataFrame, encoding: Encoding) -> tuple[FloatArray, dict[int, str]]:
    """Return rows as numbers and codes, NaN where they cannot be read, and the reasons."""
    try:
        return encoding.encode(frame), {}
    except InvalidInput:
        values = np.full((len(frame), encoding.width), np.nan)
    invalid = {}
    for row in range(len(frame)):
        try:
            values[row] = encoding.encode(frame.iloc[[row]])[0]
        except InvalidInput as error:
            invalid[row] = str(error)
    return values, invalid


def _labels(density: ConditionalDensity, frame: pd.DataFrame) -> list[Any] | None:
    return list(frame[density.target_]) if density.target_ in frame.columns else None


def read_column(column: pd.Series) -> tuple[FloatArray, dict[int, str]]:
    """Return the numbers of a column, NaN where there is none, and the other cells' content.

    Text that is a plain number counts as one: a single word turns a whole column into text.

    Example:
        >>> values, instead = read_column(pd.Series(["1.5", None, "many"]))
        >>> values.tolist(), instead
        ([1.5, nan, nan], {1: 'is missing', 2: "is 'many'"})
    """
    values = parse_numbers(column)
    cells = column.to_numpy(dtype=object)
    return values, {int(i): _instead(cells[i]) for i in np.flatnonzero(np.isnan(values))}


def _instead(value: object) -> str:
    missing = pd.isna(value)  # type: ignore[call-overload]
    if isinstance(missing, bool | np.bool_) and missing:
        return "is missing"
    if isinstance(value, numbers.Real):
        return f"is {value:g}"
    return f"is '{shorten(str(value))}'"


def _reason(parts: list[str]) -> str:
    more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return f"Every feature must be a finite number, but {', '.join(parts[:NAMED])}{more}."
