"""JSON that every reader accepts: numbers exact to the last bit, no bare NaN or Infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from daace._typing import FloatArray

#: What `dump_json` writes for numbers that JSON does not have.
NOT_FINITE = ("inf", "-inf", "nan")

#: Largest integer of numpy.
LARGEST_INTEGER = 2**63 - 1


def dump_json(
    value: object, *, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Return a value as JSON; finite numbers are exact, others become 'inf', '-inf' or 'nan'.

    Args:
        value: made of JSON's types and of numpy's numbers and arrays.
        indent: spaces per level; None for a single line.
        default: conversion of other types; None makes them an error.

    Example:
        >>> dump_json({"cost": float("inf"), "path": np.array([0.1])})
        '{"cost": "inf", "path": [0.1]}'
    """
    return json.dumps(
        plain(value), indent=indent, allow_nan=False, ensure_ascii=False, default=default
    )


def load_json(text: str) -> Any:
    """Read JSON, strictly.

    Args:
        text: the JSON.

    Raises:
        ValueError: the text is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def load_foreign_json(text: str) -> Any:
    """Read JSON from an untrusted source: every number finite, every text encodable.

    Args:
        text: the JSON.

    Raises:
        ValueError: the text is not JSON, or nested too deeply; a number is too large; or a text
            is not Unicode.

    Example:
        >>> load_foreign_json('[1e999]')
        Traceback (most recent call last):
        ...
        ValueError: it holds a number that is too large
    """
    value = load_json(text)
    check_foreign(value)
    return value


def check_foreign(value: object) -> None:
    """Check what was read from the JSON of an untrusted source, by any reader.

    Args:
        value: made of what JSON can hold.

    Raises:
        ValueError: a number is not finite or too large, or a text is not Unicode.
    """
    waiting: list[Any] = [value]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            waiting += [*entry, *entry.values()]
        elif isinstance(entry, list):
            waiting += entry
        elif isinstance(entry, str) and not entry.isascii():
            try:
                entry.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError("it holds half of a surrogate pair") from None
        elif (isinstance(entry, float) and not math.isfinite(entry)) or (
            isinstance(entry, int) and abs(entry) > LARGEST_INTEGER
        ):
            raise ValueError("it holds a number that is too large")


def read_number(value: object, *, finite: bool = True) -> float:
    """Return a number that was read from JSON.

    Args:
        value: what was read.
        finite: whether to refuse what `dump_json` writes for infinity and NaN.

    Raises:
        ValueError: it is not such a number.

    Example:
        >>> read_number("inf", finite=False), read_number(2)
        (inf, 2.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not finite and value in NOT_FINITE:
        return float(str(value))
    raise ValueError(f"{str(value)[:20]!r} is not a {'finite ' * finite}number")


def read_numbers(values: object, *, finite: bool = True) -> FloatArray:
    """Return numbers that were read from JSON, as an array.

    Args:
        values: what was read.
        finite: whether to refuse what `dump_json` writes for infinity and NaN.

    Raises:
        ValueError: they are not such numbers, or their lists have different lengths.
    """
    entries = np.array(values, dtype=object)
    numbers = [read_number(entry, finite=finite) for entry in entries.reshape(-1)]
    return np.array(numbers, dtype=np.float64).reshape(entries.shape)


def read_text(value: object) -> str:
    """Return a text that was read from JSON.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:20]!r} is not a text")
    return value


def plain(value: object) -> Any:
    """Return a value as dict, list, str, int, float, bool and None, which JSON can hold."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(float(value))
    return value


def read_texts(values: object) -> list[str]:
    """Return a list of texts that was read from JSON.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(values, list):
        raise ValueError(f"{str(values)[:20]!r} is not a list")
    return [read_text(value) for value in values]


def reason(error: Exception) -> str:
    """Return the message of an error as the end of a sentence, in one line."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    words = " ".join(str(error).split()).rstrip(".").encode("utf-8", "replace").decode()
    return words or type(error).__name__


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
