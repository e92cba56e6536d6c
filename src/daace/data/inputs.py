"""The arguments of `daace.fit` as a table: a table, a frame and its target, or X and y."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
import pandas as pd

from daace._wording import quote
from daace.data.frames import as_pandas
from daace.data.table import Table
from daace.exceptions import InvalidInput

#: Name of the class column if the classes have none.
TARGET = "class"


def as_table(data: object, y: object = None, *, target: object = None) -> Table:
    """Return the table of rows and classes, from any form of them.

    Args:
        data: a `Table`, a frame of pandas, polars or pyarrow, or an array.
        y: the class of each row of a frame or array: an array, Series or list.
        target: name of the frame's column that holds the class.

    Raises:
        InvalidInput: the classes are given twice or not at all, or do not fit the rows.

    Example:
        >>> as_table(np.eye(2), ["a", "b"]).features
        ('x1', 'x2')
    """
    if isinstance(data, Table):
        if y is not None or target is not None:
            raise InvalidInput("A daace.Table has its classes: pass neither 'y' nor 'target'.")
        return data
    frame = as_pandas(data)
    if target is None and y is None:
        raise InvalidInput(
            argument="The classes",
            expected=(
                "be given: fit(frame, target='class') names their column, fit(X, y) passes them "
                "separately"
            ),
            got=f"a {type(data).__name__} alone",
        )
    if target is None:
        return _join(frame, y)
    if y is not None:
        raise InvalidInput(
            argument="'target' and 'y'",
            expected="not both be given",
            remedy="'target' names a column of the frame, 'y' holds the classes",
        )
    if not isinstance(target, Hashable):
        raise InvalidInput(
            argument="target",
            expected="be the name of a column",
            got=type(target).__name__,
            remedy="pass the classes of the rows as the second argument, fit(X, y)",
        )
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(
            argument="target",
            expected="go with a frame, whose columns have names",
            got=type(data).__name__,
            remedy="pass the classes as the second argument, fit(X, y)",
        )
    return Table.from_frame(frame, target=str(target))


def _join(X: object, y: object) -> Table:
    """Return the table of rows and their classes."""
    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(name) for name in X.columns], axis=1)
    else:
        try:
            rows = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                argument="X", expected="be a frame or an array of numbers", got=type(X).__name__
            ) from None
        if rows.ndim != 2:
            raise InvalidInput(
                argument="X", expected="have two dimensions, rows and columns", got=str(rows.ndim)
            )
        frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(1, rows.shape[1] + 1)])
    labels = _labels(y)
    if len(labels) != len(frame):
        raise InvalidInput(
            argument="y",
            expected=f"have a class for each row of 'X', {len(frame)}",
            got=str(len(labels)),
        )
    if isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame):
        _check_order(X.index, y.index)
    name = TARGET if labels.name is None else str(labels.name)
    if name in frame.columns and frame[name].reset_index(drop=True).equals(labels):
        raise InvalidInput(
            argument="X",
            expected=f"not have the column of the classes, {quote([name])}",
            remedy=f"drop it, for example with X.drop(columns='{name}')",
        )
    while name in frame.columns:  # y = X['age'] > 40 is called 'age' too
        name = f"{name}_"
    joined = pd.concat([frame.reset_index(drop=True), labels.rename(name)], axis=1)
    kinds: Literal["number"] | None = None if isinstance(X, pd.DataFrame) else "number"
    return Table.from_frame(joined, target=name, kinds=kinds)  # arrays hold numbers


def _labels(y: object) -> pd.Series:
    """Return the classes as a Series, numbered from 0."""
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series | pd.Index):  # with its dtype: categories are classes
        return pd.Series(y).reset_index(drop=True)
    name = getattr(y, "name", None)  # of polars
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidInput(
            argument="y",
            expected="be one class for each row",
            got=f"shape {values.shape}",
            remedy="of one-hot columns, pass y.argmax(axis=1)",
        )
    return pd.Series(values, name=name if isinstance(name, str) and name else None)


def _check_order(rows: pd.Index, classes: pd.Index) -> None:
    """Refuse rows and classes if only one of them was shuffled."""
    if rows.equals(classes) or not (rows.is_unique and classes.is_unique):
        return
    if len(rows.difference(classes)) == 0:
        raise InvalidInput(
            argument="'X' and 'y'",
            expected="have their rows in the same order. Their indexes differ",
            remedy="pass y.loc[X.index], or both as arrays",
        )
