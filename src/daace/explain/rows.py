"""Rows as users have them: the model's numbers, which rows cannot be read, and other columns."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace._wording import quote
from daace.data.numbers import parse_numbers
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.words import shorten
from daace.landscape.constraints import Constraints

#: Values named in the reason why a row cannot be read.
NAMED = 3


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to explain.

    Attributes:
        values: in user units and the model's order of features; NaN where there is no number.
        invalid: why a row cannot be explained, by its position.
        others: the columns that the model does not know, as they came.
    """

    values: FloatArray
    invalid: Mapping[int, str] = field(default_factory=dict)
    others: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __len__(self) -> int:
        return len(self.values)


def read_rows(density: ConditionalDensity, given: object, rules: Constraints | None) -> Rows:
    """Read a frame or array; what is wrong with single rows is kept, not raised.

    Args:
        density: knows names and units.
        given: rows in user units.
        rules: the constraints, which some rows may break as they are.

    Raises:
        InvalidInput: features are missing, or it is no table.
    """
    frame = density.user_frame(given)
    known = (*density.features_, density.target_)
    others = frame[[name for name in frame.columns if name not in known]]
    values = np.empty((len(frame), len(density.features_)))
    wrong: dict[int, list[str]] = {}
    for j, name in enumerate(density.features_):
        values[:, j], gaps = read_column(frame[name])
        for row, what in gaps.items():
            wrong.setdefault(row, []).append(f"'{name}' {what}")
    invalid = {row: _reason(parts) for row, parts in sorted(wrong.items())}
    readable = np.array([row not in invalid for row in range(len(values))], dtype=bool)
    numbered = np.flatnonzero(readable)
    for row, reason in excluded_rows(rules, density, values[readable]):
        invalid[int(numbered[row])] = reason
    return Rows(values, invalid, others)


def check_rows(rules: Constraints | None, density: ConditionalDensity, rows: object) -> None:
    """Raise `InvalidInput` unless every row can be explained."""
    frame = density.user_frame(rows)
    values = density.user_values(frame[list(density.features_)])
    refuse_excluded(excluded_rows(rules, density, values))


def excluded_rows(
    rules: Constraints | None, density: ConditionalDensity, values: FloatArray
) -> Iterator[tuple[int, str]]:
    """Yield the number of each row whose start the constraints exclude, and how they do.

    Args:
        rules: the constraints; None excludes nobody.
        density: knows names and units.
        values: rows in user units.
    """
    if rules is None:
        return
    for row, start in enumerate(density.standardizer_.transform(values)):
        try:
            rules.compile(density, start)
        except InvalidInput as error:
            yield row, str(error)


def refuse_excluded(excluded: Iterable[tuple[int, str]], *, place: str = "") -> None:
    """Raise `InvalidInput` if there are excluded rows: how the first is, and which others are.

    Args:
        excluded: as `excluded_rows` yields them.
        place: what the message begins with.
    """
    rows, reason = [], ""
    for row, how in excluded:
        rows.append(row)
        reason = reason or how
    if not rows:
        return
    listed = quote(rows).replace("'", "")
    others = f" The constraints exclude {len(rows)} rows: {listed}." if len(rows) > 1 else ""
    raise InvalidInput(f"{place}Row {rows[0]}: {reason}{others}")


def read_column(column: pd.Series) -> tuple[FloatArray, dict[int, str]]:
    """Return the numbers of a column, NaN where there is none, and what is there instead.

    Text that is a plain number counts as one: a single word makes a whole column text.

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
