"""JSON that any reader accepts: numbers exact, and no bare NaN or Infinity."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def dump_json(
    value: object, *, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Write a value as JSON; finite numbers come back bit by bit, others as 'inf' or 'nan'.

    Args:
        value: made of what JSON has, numpy's numbers and arrays included.
        indent: spaces of each level; all in one line when left out.
        default: what to write of anything else; it is an error when left out.

    Example:
        >>> dump_json({"cost": float("inf"), "path": np.array([0.1])})
        '{"cost": "inf", "path": [0.1]}'
    """
    return json.dumps(
        plain(value), indent=indent, allow_nan=False, ensure_ascii=False, default=default
    )


def load_json(text: str) -> Any:
    """Read JSON, strictly.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply to be ours.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def plain(value: object) -> Any:
    """Return the value made of what JSON has: dict, list, str, int, float, bool and None."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(float(value))
    return value


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
