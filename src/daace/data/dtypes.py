"""The dtypes of users: their names in files, and the conversion of values to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from daace._typing import FloatArray

#: A level of a category: text, a truth value or a number.
Level: TypeAlias = str | bool | int | float

#: Every name that `dtype_name` gives, for files from untrusted sources.
KNOWN = re.compile(
    r"(u?int(8|16|32|64)|float(16|32|64)|U?Int(8|16|32|64)|Float(32|64)|bool|boolean|str|object"
    r"|string\[(python|pyarrow)\]"
    r"|(u?int(8|16|32|64)|float|double|bool|utf8|large_string|string)\[pyarrow\])"
)


def dtype_name(dtype: Any) -> str:
    """Return the name from which `pandas.api.types.pandas_dtype` makes the dtype again.

    A categorical dtype has the name of the dtype of its categories. Dtypes that only store others
    differently, such as sparse arrays, decimals and dictionaries of pyarrow, have the name of
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


def cells(
    levels: Sequence[Level | None], dtype: str, *, categories: Any = None, gap: Any = None
) -> Any:
    """Return levels as an array of the user's dtype, None as its missing value.

    Args:
        levels: level of each cell.
        dtype: name of the dtype.
        categories: the categories of a categorical dtype and whether they are ordered.
        gap: the missing value in an array of objects.
    """
    if categories is not None:
        names, ordered = categories
        known = pd.CategoricalDtype(pd.Index(list(names), dtype=dtype), ordered=ordered)
        places = {name: place for place, name in enumerate(names)}
        found = [-1 if level is None else places[level] for level in levels]
        return pd.Categorical.from_codes(found, dtype=known)
    if dtype == "object":
        array = np.empty(len(levels), dtype=object)
        array[:] = [gap if level is None else level for level in levels]
        return array
    kind: Any = pd.api.types.pandas_dtype(dtype)
    if isinstance(kind, np.dtype):
        return np.array([np.nan if level is None else level for level in levels], dtype=kind)
    return pd.array(list(levels), dtype=kind)


def numbers(values: FloatArray, dtype: str, *, whole: bool) -> Any:
    """Return numbers as an array of the user's dtype, NaN as its missing value.

    Integers that do not fit, 300 in UInt8, have 64 bits; numbers beyond these, 1e30, are float64.

    Args:
        values: number of each cell.
        dtype: name of the dtype.
        whole: whether they are whole numbers.
    """
    if dtype == "float64":
        return values
    if dtype == "object":
        exact = [int(v) if whole and v == np.rint(v) else float(v) for v in values]
        return cells([None if value != value else value for value in exact], dtype)
    kind: Any = pd.api.types.pandas_dtype(dtype)
    gaps = np.isnan(values)
    if kind.kind in "iu":
        known = values[~gaps]
        if (np.abs(known) >= 2.0**63).any():
            return values
        limits = np.iinfo(kind if isinstance(kind, np.dtype) else kind.numpy_dtype)
        if ((known < limits.min) | (known > limits.max)).any():
            kind = _widened(kind)
    if isinstance(kind, np.dtype):
        return values.astype(kind)
    array: Any = pd.array(values, dtype="Float64")
    array[gaps] = pd.NA
    return array.astype(kind)


def exact_dtype(dtype: str, values: FloatArray) -> str:
    """Return the dtype itself if it holds numbers exactly; otherwise one of float64.

    Floats of 32 bits or fewer always become float64, so that a row has the same dtypes alone and
    beside others.

    Args:
        dtype: name of the user's dtype.
        values: numbers, NaN for gaps.

    Example:
        >>> exact_dtype("int64", np.array([1.0, 2.0])), exact_dtype("int64", np.array([1.5]))
        ('int64', 'float64')
        >>> exact_dtype("float32", np.array([1.0])), exact_dtype("Float32", np.array([1.0]))
        ('float64', 'Float64')
    """
    if dtype == "object":
        return dtype
    kind: Any = pd.api.types.pandas_dtype(dtype)
    if kind.kind in "iub":
        known = values[~np.isnan(values)]
        return dtype if (known == np.rint(known)).all() else "float64"
    if kind.kind != "f" or kind.itemsize >= 8:
        return dtype
    if isinstance(kind, np.dtype):
        return "float64"
    return "double[pyarrow]" if "pyarrow" in dtype else "Float64"


def _widened(kind: Any) -> Any:
    """Return the dtype of integers with 64 bits in the same library: numpy, pandas or pyarrow."""
    if isinstance(kind, np.dtype):
        return np.dtype(np.int64)
    return pd.api.types.pandas_dtype("int64[pyarrow]" if "pyarrow" in str(kind) else "Int64")


def holds_gaps(dtype: str) -> bool:
    """Whether a value of this dtype can be missing."""
    return re.fullmatch(r"u?int[0-9]+|bool", dtype) is None


def plain_level(value: Any) -> Level:
    """Return a value of a frame as a level: numpy's numbers and texts become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, str) else value
