"""What users of pandas and scikit-learn hand over, as a table: a frame and a name, or X and y."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from daace.data.table import Table, as_pandas, quote
from daace.exceptions import InvalidInput

#: Name of the class column where the classes come without one.
TARGET = "class"


def read_table(data: object, y: object = None, *, target: object = None) -> Table:
    """Return a table, whichever way rows and classes are given.

    Args:
        data: a `Table`, a frame of pandas, polars or pyarrow, or an array.
        y: the class of each row of a frame or array: an array, Series or list.
        target: name of the frame's column that holds the class.

    Raises:
        InvalidInput: the classes are given twice or not at all, or do not fit the rows.

    Example:
        >>> read_table(np.eye(2), ["a", "b"]).features
        ('x1', 'x2')
    """
    if isinstance(data, Table):
        if y is not None or target is not None:
            raise InvalidInput("A daace.Table has its classes: pass neither 'y' nor 'target'.")
        return data
    frame = as_pandas(data)
    if target is None and y is None:
        raise InvalidInput(
            "The classes must be given: fit(frame, target='class') names their column, fit(X, y) "
            f"gives them by themselves. Got a {type(data).__name__} alone."
        )
    if target is None:
        return _join(frame, y)
    if y is not None:
        raise InvalidInput(
            "'target' and 'y' must not both be given: 'target' names a column of the frame, 'y' "
            "holds the classes."
        )
    if not isinstance(target, Hashable):
        raise InvalidInput(
            f"'target' must be the name of a column. Got {type(target).__name__}: pass the "
            "classes of the rows as the second argument, fit(X, y)."
        )
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(
            "'target' must go with a frame, whose columns have names. Got "
            f"{type(data).__name__}: pass the classes as the second argument, fit(X, y)."
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
                f"'X' must be a frame or an array of numbers. Got {type(X).__name__}."
            ) from None
        if rows.ndim != 2:
            raise InvalidInput(f"'X' must have two dimensions, rows and columns. Got {rows.ndim}.")
        frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(1, rows.shape[1] + 1)])
    labels = _labels(y)
    if len(labels) != len(frame):
        raise InvalidInput(
            f"'y' must have a class for each row of 'X', {len(frame)}. Got {len(labels)}."
        )
    if isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame):
        _check_order(X.index, y.index)
    name = TARGET if labels.name is None else str(labels.name)
    if name in frame.columns and frame[name].reset_index(drop=True).equals(labels):
        raise InvalidInput(
            f"'X' must not have the column of the classes, {quote([name])}: drop it, for example "
            f"with X.drop(columns='{name}')."
        )
    while name in frame.columns:  # y = X['age'] > 40 is called 'age' too
        name = f"{name}_"
    joined = pd.concat([frame.reset_index(drop=True), labels.rename(name)], axis=1)
    return Table.from_frame(joined, target=name)


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
            f"'y' must be one class for each row. Got shape {values.shape}: of one-hot columns, "
            "pass y.argmax(axis=1)."
        )
    return pd.Series(values, name=name if isinstance(name, str) and name else None)


def _check_order(rows: pd.Index, classes: pd.Index) -> None:
    """Refuse rows and classes of which one was shuffled without the other."""
    if rows.equals(classes) or not (rows.is_unique and classes.is_unique):
        return
    if len(rows.difference(classes)) == 0:
        raise InvalidInput(
            "'X' and 'y' must have their rows in the same order. Their indexes differ: pass "
            "y.loc[X.index], or both as arrays."
        )
