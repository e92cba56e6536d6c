"""Rows in user units, in any form: frame, Series, dict or array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace._wording import quote
from daace.data.encoding import Encoding
from daace.data.frames import as_pandas, check_unique, numeric_matrix
from daace.exceptions import InvalidInput


def frame_of_rows(rows: object, *, features: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a frame with every feature; values and other columns are unchanged.

    Args:
        rows: a frame of pandas, polars or pyarrow, a Series, a dict or an array.
        features: names of the features, in the order of an array's columns.
        columns: names of features and other columns, in the order of an array that has both.

    Raises:
        InvalidInput: features are missing, or names are repeated.
    """
    if isinstance(rows, Mapping):
        rows = pd.DataFrame([{str(name): value for name, value in rows.items()}])
    elif isinstance(rows, pd.Series):
        rows = pd.DataFrame([rows.to_list()], columns=[str(name) for name in rows.index])
    rows = as_pandas(rows)
    if not isinstance(rows, pd.DataFrame):
        rows = _frame_of_array(rows, features, columns)
    names = [str(column) for column in rows.columns]
    check_unique(names, what="The row")
    missing = [name for name in features if name not in names]
    if missing:
        raise InvalidInput(
            argument="The row", expected=f"have every feature. Missing: {quote(missing)}"
        )
    return rows.set_axis(names, axis=1)


def encode_rows(frame: pd.DataFrame, encoding: Encoding, target: str) -> FloatArray:
    """Return the features of a frame as numbers and codes.

    Args:
        frame: rows in user units, with every feature.
        encoding: encoding of the model.
        target: name of the class, which is ignored like derived and left-out columns.

    Returns:
        Shape `(rows, encoding.width)`.

    Raises:
        InvalidInput: a column is unknown; or a cell has an unknown level, or no finite number.
    """
    features = encoding.names
    computed = (derived.name for derived in encoding.derived)
    known = {*features, *encoding.left_out, *computed, target}
    extra = [name for name in frame.columns if name not in known]
    if extra:
        raise InvalidInput(
            argument="The row",
            expected=f"have the features of the model only. Unknown: {quote(extra)}",
            remedy="drop these columns",
        )
    if encoding.code_sizes:
        return encoding.encode(frame)
    frame = frame[list(features)]
    objects = {  # a Series that also held a class name arrives as objects: numbers are numbers
        name: frame[name].astype(np.float64)
        for name, kind in zip(features, frame.dtypes, strict=True)
        if pd.api.types.is_object_dtype(kind)
        and frame[name].map(lambda value: isinstance(value, int | float | np.number)).all()
    }
    frame = frame.assign(**objects) if objects else frame
    return numeric_matrix(frame, what="The row")


def check_model_rows(X: object, encoding: Encoding) -> FloatArray:
    """Return model-space rows as an array.

    Raises:
        InvalidInput: they have another shape, or a code that does not exist.
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != encoding.width:
        raise InvalidInput(
            argument="X", expected=f"have shape (rows, {encoding.width})", got=str(rows.shape)
        )
    if encoding.code_sizes:
        sizes = np.array(list(encoding.code_sizes.values()))
        codes = rows[:, list(encoding.code_sizes)]
        known = ((codes >= 0) & (codes < sizes) & (codes == np.rint(codes))).all(axis=0)
        if not known.all():
            column, size = list(encoding.code_sizes.items())[int(known.argmin())]
            raise InvalidInput(
                argument=f"Column {column} of X ('{encoding.column_names[column]}')",
                expected=f"have codes 0 to {size - 1}",
            )
    return rows


def _frame_of_array(rows: Any, features: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    try:
        array = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInput(
            argument="The row",
            expected="be a Series, a dict, a DataFrame or an array of numbers",
            got=type(rows).__name__,
        ) from None
    for names in (features, columns):
        if array.ndim == 2 and array.shape[1] == len(names):
            return pd.DataFrame(array, columns=list(names))
    raise InvalidInput(
        argument="The row", expected=f"have {len(features)} values", got=f"shape {np.shape(rows)}"
    )
