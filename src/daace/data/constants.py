"""Columns from which nothing can be learned: those that do not vary."""

from __future__ import annotations

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray

SAME, EMPTY = "The values do not vary.", "There are no values."


def is_constant(X: FloatArray) -> BoolArray:
    """Return which columns do not vary, or so little that rounding hides it."""
    with np.errstate(over="ignore"):
        spread = np.sqrt(((X - X.mean(axis=0)) ** 2).mean(axis=0))
    constant: BoolArray = ~(spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0))
    return constant


def find_constants(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns, of numbers or text, that do not vary, and why each is useless.

    Example:
        >>> list(find_constants(pd.DataFrame({"a": [1, 2], "b": [3, 3], "c": ["x", "x"]})))
        ['b', 'c']
    """
    found = {}
    for name, column in frame.items():
        if column.isna().all():
            found[str(name)] = EMPTY
        elif not column.isna().any() and _is_same(column):
            found[str(name)] = SAME
    return found


def _is_same(column: pd.Series) -> bool:
    """Whether all rows of a column without gaps have the same value."""
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        values = column.to_numpy(dtype=np.float64)
        if np.isfinite(values).all():
            return bool(is_constant(values[:, None])[0])
    return bool(column.astype(str).nunique() == 1)
