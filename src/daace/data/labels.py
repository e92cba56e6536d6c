"""Class labels: which columns can hold them, and the form in which they are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import Labels
from daace._wording import quote
from daace.exceptions import InvalidInput

#: Largest number of classes: of decimal numbers (ratings by half stars have ten), of integers,
#: and of integers without gaps between them, which are codes.
MOST_DECIMAL, MOST_WHOLE, MOST_CODES = 10, 20, 50


def read_classes(column: pd.Series, *, target: str) -> tuple[Labels, Labels]:
    """Return the class of each row, and the distinct classes, sorted.

    Args:
        column: the class of each row.
        target: name of the column, for messages.

    Raises:
        InvalidInput: a class is missing, there are fewer than two classes, or the column
            holds a measurement.

    Example:
        >>> read_classes(pd.Series([1.0, 0.0, 1.0]), target="y")[1].tolist()
        [0, 1]
    """
    missing = int(column.isna().sum())
    what = f"The target '{target}'"
    if missing:
        raise InvalidInput(
            argument=what,
            expected="not have missing values",
            got=str(missing),
            remedy="drop these rows",
        )
    labels = label_array(column.to_numpy())
    classes = np.unique(labels)
    if len(classes) < 2:
        got = f"'{classes[0]}'" if len(classes) else "no rows"
        raise InvalidInput(argument=what, expected="have at least two classes", got=f"{got} only")
    if is_measurement(column):
        otherwise = "or, if the numbers are names of classes,"
        raise InvalidInput(
            argument=what,
            expected="be a class, not a measurement",
            got=f"{len(classes)} distinct numbers in {len(labels)} rows",
            remedy=(
                f"cut it into classes, for example with pandas.qcut(frame['{target}'], 3, "
                f"labels=['low', 'middle', 'high']), {otherwise} convert them with astype(str)"
            ),
            in_shell=f"cut it into classes first, {otherwise} write them as text",
        )
    if len(classes) > max(MOST_WHOLE, len(labels) // 2):
        raise InvalidInput(
            argument=what,
            expected="be a class, which rows share",
            got=f"{len(classes)} different values in {len(labels)} rows",
            remedy="choose another column",
        )
    return labels, classes


def is_measurement(column: pd.Series) -> bool:
    """Whether a column without missing values holds measurements rather than classes.

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


def find_class(label: object, classes: Labels) -> int:
    """Return the position of a class among the classes; 1.0 equals 1, as in tables.

    Raises:
        InvalidInput: there is no such class.
    """
    known = classes.tolist()
    wanted = (str(label), str(label_array([label]).item(0)))
    match = [k for k, name in enumerate(known) if str(name) in wanted]
    if not match:
        raise InvalidInput(
            argument="The class",
            expected=f"be one of {quote(known, limit=20)}",
            got=f"'{label}'",
        )
    return match[0]
