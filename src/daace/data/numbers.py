"""Numbers in tables: their largest size, and the cells that hold one."""

from __future__ import annotations

import math
import numbers
import re
from decimal import Decimal

import numpy as np
import pandas as pd

from daace._typing import FloatArray

#: Larger numbers overflow when they are squared.
LARGEST = 1e100

#: Text that is a number without a sign: digits, with or without decimal point and exponent.
UNSIGNED = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

#: Text that is a number, with or without a sign.
NUMBER = re.compile(rf"[+-]?{UNSIGNED.pattern}")


def parse_numbers(column: pd.Series) -> FloatArray:
    """Return the numbers of a column, NaN where a cell holds none or one above `LARGEST`.

    Text that is a plain number counts as one: a single word turns a whole column into text.

    Args:
        column: cells of any type.

    Example:
        >>> parse_numbers(pd.Series(["1.5", None, "many"])).tolist()
        [1.5, nan, nan]
    """
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    else:
        values = np.array([_parse(value) for value in column], dtype=np.float64)
    values[np.abs(values) > LARGEST] = np.nan
    return values


def parse_number(text: str) -> float:
    """Return the number that a text represents, NaN if it is not a number.

    Example:
        >>> parse_number(" 1.5"), parse_number("many")
        (1.5, nan)
    """
    return float(text) if NUMBER.fullmatch(text.strip()) else math.nan


def _parse(value: object) -> float:
    if isinstance(value, str):
        return parse_number(value)
    return float(value) if isinstance(value, numbers.Real | Decimal) else math.nan
