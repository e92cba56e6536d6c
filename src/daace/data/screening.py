"""Screens columns of users: numbers, text, truth values or categories; all else is an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import BoolArray
from daace._wording import quote
from daace.data.frames import PLAIN_NUMBERS, rows_with
from daace.data.inference import FEW_VALUES
from daace.data.numbers import LARGEST, NUMBER
from daace.exceptions import InvalidInput

#: Text that is a date, with or without a time: 2024-01-31, 31.1.2024, 1/31/2024.
DATE = re.compile(
    r"\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})([ T].*)?"
)

#: Share of numbers among a text column's distinct values from which the others are mistakes.
MOSTLY = 0.9

#: Signs of shares and money around a number.
SIGNS = re.compile(r"[%$€£¥,\s]|\b(CHF|EUR|GBP|JPY|USD)\b")


def screen(name: str, series: pd.Series, *, category: bool = False) -> pd.Series:
    """Return a column with objects converted: text stays, numbers become float64.

    Args:
        name: name of the column.
        series: its cells.
        category: whether the user declared it a category or ordered.

    Raises:
        InvalidInput: it holds dates, complex or infinite numbers, numbers written as text, text
            among numbers, or other objects.
    """
    kind: Any = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        _check_categories(name, kind)
        return series
    if _is_date(kind):
        raise _dates(name)
    if pd.api.types.is_complex_dtype(kind):
        raise InvalidInput(
            argument="frame", expected="be real", got=f"complex numbers in {quote([name])}"
        )
    if pd.api.types.is_object_dtype(kind):
        series = _screen_objects(name, series)
    if pd.api.types.is_bool_dtype(series.dtype):
        return series
    if pd.api.types.is_numeric_dtype(series.dtype):
        _check_finite(name, series)
    elif not pd.api.types.is_object_dtype(series.dtype) or _holds_text(series):
        _check_text(name, series, category=category)
    return series


def _is_date(kind: Any) -> bool:
    if isinstance(kind, pd.ArrowDtype):
        return kind.kind in "mM"
    return bool(
        pd.api.types.is_datetime64_any_dtype(kind)
        or pd.api.types.is_timedelta64_dtype(kind)
        or isinstance(kind, pd.PeriodDtype)
    )


def _holds_text(series: pd.Series) -> bool:
    return pd.api.types.infer_dtype(series, skipna=True) == "string"


def _screen_objects(name: str, series: pd.Series) -> pd.Series:
    found = pd.api.types.infer_dtype(series, skipna=True)
    if found in ("string", "boolean", "empty"):
        return series
    if found in ("integer", "floating", "mixed-integer-float"):
        return series.astype(np.float64)
    if found in ("date", "datetime", "datetime64", "time", "timedelta", "period"):
        raise _dates(name)
    if found == "decimal":
        raise InvalidInput(
            argument="frame",
            expected="have numbers as numbers",
            got=f"numbers kept as objects in {quote([name])}",
            remedy=f"convert them, for example with frame.astype({{'{name}': float}})",
        )
    text: BoolArray = series.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)
    rest = series[~text].dropna()
    if text.any() and pd.api.types.infer_dtype(rest) in ("integer", "floating", "boolean"):
        raise _text_among_numbers(name, text)
    raise InvalidInput(
        argument="frame",
        expected="have numbers, text or truth values in each column",
        got=f"{type(rest.iloc[0]).__name__} in {quote([name])}",
        remedy=f"drop the column, for example with frame.drop(columns='{name}')",
        in_shell="leave the column out with --drop",
    )


def _check_categories(name: str, kind: pd.CategoricalDtype) -> None:
    held = kind.categories.dtype
    plain = pd.api.types.is_numeric_dtype(held) or pd.api.types.is_string_dtype(held)
    types = (
        {type(level) for level in kind.categories} if pd.api.types.is_object_dtype(held) else set()
    )
    if not plain or len(types) > 1 or not types <= {str, bool, int, float}:
        raise InvalidInput(
            argument="frame",
            expected="have categories that are text, numbers or truth values",
            got=f"{held} in {quote([name])}",
            remedy=f"convert them, for example with frame['{name}'].cat.rename_categories(str)",
        )


def _check_finite(name: str, series: pd.Series) -> None:
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.abs(values) > LARGEST).any():
        raise InvalidInput(
            argument="frame",
            expected=f"be finite, below {LARGEST:g} in size",
            got=f"infinity or more than that in {quote([name])}",
            remedy="drop these rows or clip them",
        )


def _check_text(name: str, series: pd.Series, *, category: bool) -> None:
    """Refuse dates, and numbers that are written as text."""
    distinct = [str(value) for value in series.dropna().unique()]
    if distinct and all(DATE.fullmatch(value) for value in distinct):
        raise _dates(name, distinct)
    if category or not distinct:
        return
    plain = [bool(NUMBER.fullmatch(value.strip())) for value in distinct]
    commas = [bool(NUMBER.fullmatch(value.strip().replace(",", ""))) for value in distinct]
    bare = [bool(NUMBER.fullmatch(SIGNS.sub("", value))) for value in distinct]
    levels = len(distinct) < FEW_VALUES and 2 * len(distinct) <= len(series)
    if all(commas) and not all(plain):
        convert = f"frame['{name}'].str.replace(',', '').astype(float)"
        got = f"numbers with commas in {quote([name])}"
    elif all(bare) and not all(plain):  # however few: as levels they would lose their order
        convert = f"frame['{name}'].str.replace(r'[^0-9.eE+-]', '', regex=True).astype(float)"
        got = f"numbers with signs in {quote([name])}, such as '{distinct[0]}'"
    elif all(plain) and not levels:
        convert = f"frame.astype({{'{name}': float}})"
        got = f"numbers kept as text in {quote([name])}"
    elif np.mean(plain) >= MOSTLY and not levels:
        numbers = {value for value, is_number in zip(distinct, plain, strict=True) if is_number}
        odd = ~series.isna() & ~series.astype(str).isin(numbers)
        raise _text_among_numbers(name, odd.to_numpy(dtype=bool))
    else:
        return
    raise InvalidInput(
        argument="frame",
        expected="have numbers as numbers",
        got=got,
        remedy=(
            f"convert them, for example with {convert}, or pass kinds={{'{name}': 'category'}} if "
            "they are names"
        ),
        in_shell=f"{PLAIN_NUMBERS}, or pass '--kind {name}=category' if they are names",
    )


def _text_among_numbers(name: str, odd: BoolArray) -> InvalidInput:
    return InvalidInput(
        argument="frame",
        expected="have numbers or text in a column, not both",
        got=f"text among the numbers of {quote([name])}{rows_with(odd[:, None])}",
        remedy=(
            f"mend these cells, or convert all with frame['{name}'] = frame['{name}'].astype(str)"
        ),
        in_shell="mend these cells, or leave the column out with --drop",
    )


def _dates(name: str, text: Sequence[str] = ()) -> InvalidInput:
    """Return the error about a column of dates.

    Args:
        name: name of the column.
        text: its dates, if they are text.
    """
    day = f"frame['{name}']"
    if text:
        first = [int(re.split("[-/.]", value.strip())[0]) for value in text]
        days_first = any(12 < number < 100 for number in first)
        day = f"pandas.to_datetime({day}{', dayfirst=True' if days_first else ''})"
    return InvalidInput(
        argument="frame",
        expected="not have dates",
        got=f"some in {quote([name])}",
        remedy=(
            f"convert them to numbers, for example with ({day} - {day}.min()).dt.days, or drop "
            "the column"
        ),
        in_shell="convert them to numbers, or leave the column out with --drop",
    )
