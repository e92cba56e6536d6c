"""The classes of a table: labels that JSON can hold, and not a measurement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import Labels
from daace.exceptions import InvalidInput

#: Most classes that are numbers with decimals (half stars have ten), and most that are whole
#: numbers; codes of classes, which have no gaps between them, may be more.
MOST_DECIMAL, MOST_WHOLE, MOST_CODES = 10, 20, 50


def read_classes(column: pd.Series, *, target: str) -> tuple[Labels, Labels]:
    """Return the class of each row, and the distinct classes, sorted.

    Args:
        column: the class of each row.
        target: its name, for messages.

    Raises:
        InvalidInput: a class is missing, there are fewer than two, or it is a measurement.

    Example:
        >>> read_classes(pd.Series([1.0, 0.0, 1.0]), target="y")[1].tolist()
        [0, 1]
    """
    missing = int(column.isna().sum())
    if missing:
        raise InvalidInput(
            f"The target '{target}' must not have missing values. Got {missing}: drop these rows."
        )
    labels = label_array(column.to_numpy())
    classes = np.unique(labels)
    if len(classes) < 2:
        got = f"'{classes[0]}'" if len(classes) else "no rows"
        raise InvalidInput(f"The target '{target}' must have at least two classes. Got {got} only.")
    if is_measurement(column):
        raise InvalidInput(
            f"The target '{target}' must be a class, not a measurement. Got {len(classes)} "
            f"distinct numbers in {len(labels)} rows: cut it into classes, for example with "
            f"pandas.qcut(frame['{target}'], 3, labels=['low', 'middle', 'high']), or, if the "
            "numbers are names of classes, convert them with astype(str)."
        )
    if len(classes) > max(MOST_WHOLE, len(labels) // 2):
        raise InvalidInput(
            f"The target '{target}' must be a class, which rows share. Got {len(classes)} "
            f"different values in {len(labels)} rows: choose another column."
        )
    return labels, classes


def is_measurement(column: pd.Series) -> bool:
    """Whether a column without gaps holds numbers that measure something, rather than classes.

    Example:
        >>> is_measurement(pd.Series([0.5, 1, 1.5])), is_measurement(pd.Series(np.sqrt(range(99))))
        (False, True)
    """
    column = column.infer_objects()
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column):
        return False
    values = np.unique(column.to_numpy(dtype=np.float64))
    if (values != values.round()).any():
        return len(values) > MOST_DECIMAL
    codes = values[-1] - values[0] < len(values) <= len(column) // 2
    return len(values) > (MOST_CODES if codes else MOST_WHOLE)


def label_array(values: np.ndarray | Sequence[object]) -> Labels:
    """Return class labels as an array of strings, integers or booleans that JSON can hold."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and np.all(np.abs(array) < 2**53) and np.all(array == array.round()):
        return array.astype(np.int64)
    if array.dtype.kind in "iu" and np.all(array <= np.iinfo(np.int64).max):
        return array.astype(np.int64)
    if array.dtype.kind in "bU":
        return array
    return np.array([str(value) for value in array])
