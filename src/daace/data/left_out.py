"""Columns that are left out of the model: ids, and columns that do not vary."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray
from daace._warnings import warn_user
from daace._wording import quote
from daace.data.names import words_of
from daace.data.numbers import NUMBER
from daace.data.screening import DATE, MOSTLY, SIGNS

SAME, EMPTY = "The values do not vary.", "There are no values."

#: In tables with fewer rows, distinct values do not make a column an id.
FEWEST_ROWS_FOR_IDS = 20

#: Words that make integers without repetitions an id: at either end of a name, at its end only
#: ('number_of_rooms' is a feature), or as the whole name.
AT_AN_END = {"id", "ids", "identifier", "uid", "uuid", "guid"}
AT_THE_END = {"key", "number", "no", "nr", "code", "ref", "reference", "ssn", "fips"}
ALONE = {"index", "idx", "row", "serial", "record"}

#: Words that 'id' is often joined to: customerid, userid.
OWNERS = {
    "account", "application", "case", "client", "customer", "employee", "loan", "member", "order",
    "patient", "person", "policy", "record", "row", "student", "subject", "transaction", "user",
}  # fmt: skip

#: Words that, anywhere in a name, make even consecutive integers a measurement.
MEASURES = {
    "year", "month", "week", "day", "hour", "minute", "second", "date", "time", "age", "rank",
    "period", "step", "epoch", "score", "count",
}  # fmt: skip


def find_left_out(frame: pd.DataFrame, *, keep: Collection[str]) -> dict[str, str]:
    """Return the columns that are not features, each with the reason in one sentence.

    Args:
        frame: columns, without the class.
        keep: columns that are features although they look like ids.
    """
    constant = find_constants(frame)
    rest = frame.drop(columns=list(constant))
    ids = {name: why for name, why in likely_ids(rest).items() if name not in keep}
    return constant | (ids if len(ids) < rest.shape[1] else {})  # a table must have some feature


def warn_of_left_out(left_out: Mapping[str, str]) -> None:
    """Warn about columns that are left out, grouped by reason.

    Args:
        left_out: the reason by column.
    """
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name in left_out if left_out[name] == reason]
        warn_user(f"Left out of the model: {quote(names)}. {reason}")


def is_constant(X: FloatArray) -> BoolArray:
    """Return which columns of `X` do not vary, or by less than rounding errors."""
    with np.errstate(over="ignore"):
        spread = np.sqrt(((X - X.mean(axis=0)) ** 2).mean(axis=0))
    constant: BoolArray = ~(spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0))
    return constant


def find_constants(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns, of numbers or text, that do not vary, each with the reason.

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


def likely_ids(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns that look like ids, each with the reason.

    These are text without repetitions, and integers without repetitions that are consecutive
    (row numbers) or have the name of an id (customer_id, accountNo). Tables of fewer than 20 rows
    have none.

    Args:
        frame: columns, without the class.

    Example:
        >>> frame = pd.DataFrame({"customer_id": range(900, 1100, 2), "age": [30, 41] * 50})
        >>> likely_ids(frame)
        {'customer_id': 'Looks like an id: integers without repetitions.'}
    """
    if len(frame) < FEWEST_ROWS_FOR_IDS:
        return {}
    found = {}
    for name in map(str, frame.columns):
        reason = _why_id(name, frame[name])
        if reason:
            found[name] = f"Looks like an id: {reason}."
    return found


def _why_id(name: str, column: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(column.dtype) or column.isna().any():
        return ""
    objects = pd.api.types.is_object_dtype(column.dtype)
    if (objects and pd.api.types.infer_dtype(column) != "string") or not column.is_unique:
        return ""
    words = words_of(name)
    if pd.api.types.is_float_dtype(column.dtype):  # integers that once had gaps
        whole = np.isfinite(column).all() and (column == column.round()).all()
        return "whole numbers without repetitions" if whole and _holds_id(words) else ""
    if pd.api.types.is_integer_dtype(column.dtype):
        if _says_id(words):
            return "integers without repetitions"
        if int(column.max()) - int(column.min()) == len(column) - 1 and not MEASURES & set(words):
            return "consecutive integers, like row numbers"
        return ""
    if pd.api.types.infer_dtype(column) != "string":
        return ""
    # Numbers and dates kept as text, and text among numbers, are refused by `screen`.
    text = column.astype(str)
    plain = pd.to_numeric(text.str.replace(",", ""), errors="coerce").notna()
    signed = text.str.replace(SIGNS, "", regex=True).map(lambda cell: bool(NUMBER.fullmatch(cell)))
    if plain.all() or text.str.fullmatch(DATE).all():
        return ""
    if (plain.mean() >= MOSTLY or signed.all()) and not _says_id(words):
        return ""
    return "text without repetitions"


def _says_id(words: list[str]) -> bool:
    if not words:
        return False
    ends = {words[0], words[-1]}
    return bool(
        _holds_id(words)
        or ends & AT_AN_END
        or words[-1] in AT_THE_END
        or (len(words) == 1 and ends <= ALONE)
    )


def _holds_id(words: list[str]) -> bool:
    joined = (word.removesuffix("id") for word in words if word.endswith("id"))
    return "id" in words or any(owner in OWNERS for owner in joined)
