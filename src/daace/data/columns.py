"""Columns that are no features: ids, which name a row and say nothing of it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

#: Rows from which it says something that all values of a column are different.
FEWEST_ROWS = 20

#: Words that make integers without repetitions an id: at either end of a name, at its end only
#: ('number_of_rooms' is a feature), or as the whole name.
AT_AN_END = {"id", "ids", "identifier", "uid", "uuid", "guid"}
AT_THE_END = {"key", "number", "no", "nr", "code", "ref", "reference", "ssn", "fips"}
ALONE = {"index", "idx", "row", "serial", "record"}

#: Words to which 'id' is often joined: customerid, userid.
OWNERS = {
    "account", "application", "case", "client", "customer", "employee", "loan", "member", "order",
    "patient", "person", "policy", "record", "row", "student", "subject", "transaction", "user",
}  # fmt: skip

#: Words anywhere in a name that make consecutive integers a measurement all the same.
MEASURES = {
    "year", "month", "week", "day", "hour", "minute", "second", "date", "time", "age", "rank",
    "period", "step", "epoch", "score", "count",
}  # fmt: skip


def likely_ids(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns that look like ids, and why each does.

    Text without repetitions; integers without repetitions that are consecutive (row numbers), or
    whose name says so (customer_id, accountNo). None in tables of fewer than 20 rows.

    Args:
        frame: columns, without the class.

    Example:
        >>> frame = pd.DataFrame({"customer_id": range(900, 1100, 2), "age": [30, 41] * 50})
        >>> likely_ids(frame)
        {'customer_id': 'Looks like an id: integers without repetitions.'}
    """
    if len(frame) < FEWEST_ROWS:
        return {}
    found = {}
    for name in map(str, frame.columns):
        reason = _why_id(name, frame[name])
        if reason:
            found[name] = f"Looks like an id: {reason}."
    return found


def _why_id(name: str, column: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(column.dtype) or column.isna().any() or not column.is_unique:
        return ""
    words = _words(name)
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
    # Numbers that are kept as text are a mistake of the file: they are refused with a remedy.
    plain = pd.to_numeric(column.astype(str).str.replace(",", ""), errors="coerce")
    return "" if plain.notna().all() else "text without repetitions"


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


def _words(name: str) -> list[str]:
    """Return the words of a name, lower case.

    Example:
        >>> _words("customerID_2"), _words("AccountNo")
        (['customer', 'id', '2'], ['account', 'no'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[a-z]+|[0-9]+", apart.lower())
