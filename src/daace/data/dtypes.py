"""The dtypes of users: how they are named in files, and values brought back into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from daace._typing import FloatArray

#: What a level of a category can be: text, a truth value or a number.
Level: TypeAlias = str | bool | int | float

#: Every name that `dtype_name` gives, for files from untrusted sources.
KNOWN = re.compile(
    r"(u?int(8|16|32|64)|float(16|32|64)|U?Int(8|16|32|64)|Float(32|64)|bool|boolean|str|object"
    r"|string\[(python|pyarrow)\]"
    r"|(u?int(8|16|32|64)|float|double|bool|utf8|large_string|string)\[pyarrow\])"
)


def dtype_name(dtype: Any) -> str:
    """Return the name from which `pandas.api.types.pandas_dtype` makes the dtype again.

    A categorical dtype has the name of the dtype of its categories. Dtypes that only store what
    another one means, such as sparse arrays, decimals and dictionaries of pyarrow, have the name of
    float64, bool or str.

    Example:
        >>> dtype_name(pd.Series([1, None], dtype="Int64").dtype)
        'Int64'
        >>> dtype_name(pd.SparseDtype("float"))
        'float64'
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype_name(dtype.categories.dtype)
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f"string[{dtype.storage}]"
    name = str(dtype)
    if isinstance(dtype, pd.ArrowDtype) and name == "string[pyarrow]":
        return "utf8[pyarrow]"  # the other name is that of pandas' own dtype
    if KNOWN.fullmatch(name):
        return name
    if pd.api.types.is_bool_dtype(dtype):
        return "bool"
    return "float64" if pd.api.types.is_numeric_dtype(dtype) else "str"


def cells(levels: Sequence[Level | None], dtype: str, *, categories: Any = None) -> Any:
    """Return levels as an array of the user's dtype, None as what is missing there.

    Args:
        levels: one for each cell.
        dtype: name of the dtype.
        categories: the categories of a categorical dtype and whether they are ordered.
    """
    if categories is not None:
        names, ordered = categories
        known = pd.CategoricalDtype(pd.Index(list(names), dtype=dtype), ordered=ordered)
        places = {name: place for place, name in enumerate(names)}
        found = [-1 if level is None else places[level] for level in levels]
        return pd.Categorical.from_codes(found, dtype=known)
    if dtype == "object":
        array = np.empty(len(levels), dtype=object)
        array[:] = list(levels)
        return array
    kind: Any = pd.api.types.pandas_dtype(dtype)
    if isinstance(kind, np.dtype):
        return np.array([np.nan if level is None else level for level in levels], dtype=kind)
    return pd.array(list(levels), dtype=kind)


def numbers(values: FloatArray, dtype: str, *, whole: bool) -> Any:
    """Return numbers as an array of the user's dtype, NaN as what is missing there.

    Args:
        values: one for each cell.
        dtype: name of the dtype.
        whole: whether they are whole numbers.
    """
    if dtype == "float64":
        return values
    if dtype == "object":
        exact = [int(value) if whole and value == value else float(value) for value in values]
        return cells([None if value != value else value for value in exact], dtype)
    kind: Any = pd.api.types.pandas_dtype(dtype)
    gaps = np.isnan(values)
    if kind.kind in "iu" and not gaps.all():
        limits, known = np.iinfo(getattr(kind, "numpy_dtype", kind)), values[~gaps]
        if not limits.min <= known.min() <= known.max() <= limits.max:
            kind = np.dtype(np.int64) if isinstance(kind, np.dtype) else pd.Int64Dtype()
    if isinstance(kind, np.dtype):
        return values.astype(kind)
    array: Any = pd.array(values, dtype="Float64")
    array[gaps] = pd.NA
    return array.astype(kind)


def holds_gaps(dtype: str) -> bool:
    """Whether a value of this dtype can be missing."""
    return re.fullmatch(r"u?int[0-9]+|bool", dtype) is None


def plain_level(value: Any) -> Level:
    """Return a value of a frame as a level: numpy's numbers and texts as those of Python."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, str) else value
