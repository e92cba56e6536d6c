"""Data frames of users: converted to pandas, with distinct names and finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray
from daace._wording import quote
from daace.data.numbers import LARGEST
from daace.exceptions import InvalidInput

#: Remedy on the command line for columns with numbers in another notation.
PLAIN_NUMBERS = "write plain numbers, or leave them out with --drop"


def as_pandas(frame: object) -> object:
    """Return a frame of polars or pyarrow as a pandas one, anything else unchanged.

    Args:
        frame: any object.

    Raises:
        InvalidInput: it is a lazy frame, which has not been computed yet.
    """
    if isinstance(frame, pd.DataFrame):
        return frame
    if type(frame).__name__ == "LazyFrame":
        raise InvalidInput("Got a LazyFrame, which is not computed yet: call its collect() first.")
    if hasattr(frame, "get_columns"):  # polars, without a detour over pyarrow
        return pd.DataFrame({column.name: _of_polars(column) for column in frame.get_columns()})
    return frame.to_pandas() if hasattr(frame, "to_pandas") else frame


def _of_polars(column: Any) -> Any:
    """Return a column of polars as pandas has it; an enumeration has an order there, too."""
    if type(column.dtype).__name__ != "Enum":
        return column.to_numpy()
    return pd.Categorical(column.to_list(), column.dtype.categories.to_list(), ordered=True)


def check_unique(names: Sequence[str], *, what: str) -> None:
    """Raise `InvalidInput` if a column name occurs twice.

    Args:
        names: the column names.
        what: the argument, or a phrase such as "The row", for the message.
    """
    seen: set[str] = set()
    repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if repeated:
        raise InvalidInput(
            argument=what,
            expected="have distinct column names",
            got=f"{quote(repeated)} more than once",
            remedy="rename or drop the repetitions",
        )


def numeric_matrix(frame: pd.DataFrame, *, what: str) -> FloatArray:
    """Return a frame as finite float64 numbers.

    Args:
        frame: columns of numbers.
        what: the argument, or a phrase such as "The row", for the message.

    Returns:
        A copy, of shape `(rows, columns)`.

    Raises:
        InvalidInput: a column holds text, missing or infinite values.
    """
    kinds = list(zip(frame.columns, frame.dtypes, strict=True))
    text = [name for name, kind in kinds if not pd.api.types.is_numeric_dtype(kind)]
    if text:
        raise _not_numeric(frame, text, what=what)
    complex_columns = [name for name, kind in kinds if pd.api.types.is_complex_dtype(kind)]
    if complex_columns:
        raise InvalidInput(
            argument=what, expected="be real", got=f"complex numbers in {quote(complex_columns)}"
        )
    try:
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            argument=what, expected=f"be convertible to numbers. Got: {error}"
        ) from None
    _check_finite(frame, values, what=what)
    return np.array(values, dtype=np.float64, copy=True)


def _check_finite(frame: pd.DataFrame, values: FloatArray, *, what: str) -> None:
    """Raise `InvalidInput` for missing, infinite and huge values."""
    gaps: BoolArray = np.isnan(values)
    if gaps.any():
        columns = quote(frame.columns[np.flatnonzero(gaps.any(axis=0))])
        raise InvalidInput(
            argument=what,
            expected="not have missing values",
            got=f"some in {columns}{rows_with(gaps)}",
            remedy=(
                "drop these rows, for example with frame.dropna(), or fill them, for example with "
                "frame.fillna(frame.median(numeric_only=True))"
            ),
            in_shell="drop these rows or fill them",
        )
    infinite = np.flatnonzero((np.abs(values) > LARGEST).any(axis=0))
    if len(infinite):
        raise InvalidInput(
            argument=what,
            expected=f"be finite, below {LARGEST:g} in size",
            got=f"infinity or more than that in {quote(frame.columns[infinite])}",
            remedy="drop these rows or clip them",
        )


def _not_numeric(frame: pd.DataFrame, text: list[str], *, what: str) -> InvalidInput:
    """Return the error about columns that are not numeric, with a remedy for each kind."""
    first, dates = text[0], [name for name in text if _is_date(frame[name])]
    words = frame[text].astype(str)
    if dates:
        day = f"frame['{dates[0]}']"
        got = f"dates in {quote(dates)}"
        remedy = f"convert them, for example with ({day} - {day}.min()).dt.days"
    elif _are_numbers(words):
        got = f"numbers kept as text or objects in {quote(text)}"
        remedy = f"convert them, for example with frame.astype({{'{first}': float}})"
    elif _are_numbers(words.replace(",", "", regex=True)):
        got = f"numbers with commas in {quote(text)}"
        remedy = (
            f"convert them, for example with frame['{first}'].str.replace(',', '').astype(float)"
        )
    else:
        odd = words.apply(pd.to_numeric, errors="coerce").isna()
        where = "" if odd.any(axis=1).all() else rows_with(odd.to_numpy())  # a word among numbers
        return InvalidInput(
            argument=what,
            expected="have numeric features only",
            got=f"text in {quote(text)}{where}",
            remedy=(
                "encode categories that have an order as numbers, for example with "
                f"frame['{first}'].map({{'low': 0, 'high': 1}}), and drop the others, for "
                f"example with frame.drop(columns=['{first}'])"
            ),
            in_shell=(
                "encode categories that have an order as numbers, and leave the others out with "
                "--drop"
            ),
        )
    return InvalidInput(
        argument=what,
        expected="have numeric features only",
        got=got,
        remedy=remedy,
        in_shell=PLAIN_NUMBERS,
    )


def _is_date(column: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(column.dtype))


def _are_numbers(words: pd.DataFrame) -> bool:
    """Whether there are words, and each can be read as a number."""
    read = words.apply(pd.to_numeric, errors="coerce")
    return len(words) > 0 and bool(read.notna().all(axis=None))


def rows_with(flaws: BoolArray) -> str:
    """Name the first rows with a flaw and count the others; empty for a frame of one row."""
    if len(flaws) < 2:
        return ""
    rows = np.flatnonzero(flaws.any(axis=1))
    return f" (row {quote(rows)})".replace("'", "")
