"""Reads the cells of a user's column as values or codes of a known feature."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray, IntArray
from daace._wording import quote
from daace.data.dtypes import plain_level
from daace.data.kinds import Feature
from daace.data.numbers import LARGEST, parse_number
from daace.exceptions import InvalidInput


def read_codes(column: pd.Series, feature: Feature) -> FloatArray:
    """Return the code of each cell of an ordered feature or category.

    Text that is a plain number counts as one: a single word turns a whole column into text.

    Args:
        column: the cells.
        feature: the feature of the column.

    Raises:
        InvalidInput: a cell has an unknown level, or a gap where no row of the table had one.
    """
    places, values = _distinct(column)
    table = np.empty(len(values) + 1)
    for place, value in enumerate(values):
        code = feature.code_of.get(value) if _hashable(value) else None
        if code is None and isinstance(value, str):
            code = feature.code_of.get(plain_level(parse_number(value)))
        if code is None:
            code = feature.pool_code
        if code is None:
            raise _unknown_level(value, _place(places == place, feature), feature)
        table[place] = code
    gaps = places < 0
    if gaps.any():
        if feature.gap_code is None:
            raise _no_gap(gaps, feature)
        table[-1] = feature.gap_code
    return table[places]


def read_values(column: pd.Series, feature: Feature) -> FloatArray:
    """Return the value of each cell of a number, NaN for gaps; text may be a number, as above.

    Args:
        column: the cells.
        feature: the feature of the column.

    Raises:
        InvalidInput: a cell is not a finite number, has a gap where no row of the table had one,
            or a fraction instead of a whole number.
    """
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        values = column.to_numpy().astype(np.float64)
    elif pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = _numbers(column, feature)
    gaps = np.isnan(values)
    if gaps.any() and feature.gap_code is None:
        raise _no_gap(gaps, feature)
    huge = np.abs(values) > LARGEST
    if huge.any():
        raise InvalidInput(
            argument=_place(huge, feature),
            expected=f"be finite, below {LARGEST:g} in size",
            got=f"{values[huge][0]:g}",
        )
    if feature.kind == "whole":
        broken = ~gaps & (values != np.rint(values))
        if broken.any():
            raise InvalidInput(
                argument=_place(broken, feature),
                expected="be a whole number, as in every row of the table",
                got=f"{values[broken][0]:.15g}",
                remedy="round it",
            )
    return values


def _distinct(column: pd.Series) -> tuple[IntArray, list[Any]]:
    """Return the distinct values of a column, and the index of each cell's value; -1 for gaps."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        used, places = np.unique(codes, return_inverse=True)
        categories = column.cat.categories
        gap = int(len(used) > 0 and used[0] < 0)
        return places - gap, [plain_level(categories[code]) for code in used[gap:]]
    if len(column) == 1:
        value = column.iloc[0]
        gap = bool(pd.api.types.is_scalar(value) and pd.isna(value))
        return np.array([-1 if gap else 0]), [] if gap else [plain_level(value)]
    if pd.api.types.is_object_dtype(column.dtype):  # other values may not be hashable
        column = column.map(lambda cell: cell if pd.api.types.is_hashable(cell) else str(cell))
    places, values = pd.factorize(column)
    return places, [plain_level(value) for value in values]


def _numbers(column: pd.Series, feature: Feature) -> FloatArray:
    """Return the cells of a column of text or mixed types as numbers, NaN for gaps."""
    values = np.empty(len(column))
    for row, cell in enumerate(column):
        value = _number(cell)
        if value is None:
            raise InvalidInput(
                argument=_place(np.arange(len(column)) == row, feature),
                expected="be a number",
                got=f"'{str(cell)[:40]}'",
            )
        values[row] = value
    return values


def _number(cell: Any) -> float | None:
    """Return the number of a cell, NaN for a gap, None if it is neither."""
    if isinstance(cell, numbers.Real | np.bool_):
        return float(cell)
    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return np.nan
    number = parse_number(cell) if isinstance(cell, str) else np.nan
    return None if np.isnan(number) else number


def _hashable(value: object) -> bool:
    return isinstance(value, str | bool | int | float)


def _place(found: BoolArray, feature: Feature) -> str:
    """Return the subject of an error: the first cell found, by its row if there are several."""
    row = f" in row {int(np.argmax(found))}" if len(found) > 1 else ""
    return f"'{feature.name}'{row}"


def _unknown_level(value: object, place: str, feature: Feature) -> InvalidInput:
    known = list(map(str, feature.levels))
    choose = "choose one of them, or fit again on a table with this level"
    in_shell = ""
    if isinstance(value, int | float) and feature.kind == "ordered":
        in_shell = f"{choose}, or with --kind '{feature.name}=whole'"
        choose += f", or with kinds={{'{feature.name}': 'whole'}}"
    return InvalidInput(
        argument=place,
        expected=f"be a level that the table had: {quote(known, limit=12)}",
        got=f"'{str(value)[:40]}'",
        remedy=choose,
        in_shell=in_shell,
    )


def _no_gap(gaps: BoolArray, feature: Feature) -> InvalidInput:
    return InvalidInput(
        argument=_place(gaps, feature),
        expected="not be missing: no row of the table had a gap there",
        remedy="fill it in, or fit again on a table with gaps",
    )
