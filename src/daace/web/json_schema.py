"""The part of JSON Schema used for questions: they are checked by the published schema."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from daace._json import LARGEST_INTEGER
from daace._wording import did_you_mean, quote
from daace.exceptions import InvalidInput

#: Python types of JSON's types, except numbers and truth values, which are integers in Python.
TYPES: dict[str, Any] = {"string": str, "array": list, "object": Mapping, "null": type(None)}

#: Limits of numbers, in words, and whether a number keeps one.
LIMITS = {
    "minimum": ("at least", operator.ge),
    "exclusiveMinimum": ("above", operator.gt),
    "maximum": ("at most", operator.le),
    "exclusiveMaximum": ("below", operator.lt),
}

Place = tuple[str, ...]


def read_value(value: Any, schema: Mapping[str, Any], place: Place) -> Any:
    """Return a value that follows a schema.

    Whole numbers are returned as integers where the schema has integers (JSON does not distinguish
    2 from 2.0), integers beyond numpy's as floats. Additional properties of an object are dropped.

    Args:
        value: made of JSON's types.
        schema: schema with the keywords that are supported here.
        place: path of names to the value, for messages.

    Raises:
        InvalidInput: the value does not follow the schema. The argument is the second name of the
            path, or its only one.

    Example:
        >>> read_value(2.0, {"type": "integer", "minimum": 0}, ("seed",))
        2
    """
    if "enum" in schema:
        same = [c for c in schema["enum"] if c == value and isinstance(c, bool) == _flag(value)]
        if not same:
            raise _mismatch(place, f"be one of {quote(schema['enum'], 20)}", value)
        return same[0]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(value, kind) for kind in types):
        raise _mismatch(place, f"be of type {' or '.join(types)}", value)
    if isinstance(value, Mapping):
        return _read_object(value, schema, place)
    if isinstance(value, list):
        return _read_array(value, schema, place)
    if _is(value, "number"):
        return _read_number(value, schema, place, whole="number" not in types)
    return value


def _read_number(value: Any, schema: Mapping[str, Any], place: Place, *, whole: bool) -> Any:
    wrong = [
        f"{words} {schema[limit]:g}"
        for limit, (words, keeps) in LIMITS.items()
        if limit in schema and not keeps(value, schema[limit])
    ]
    if wrong:
        raise _mismatch(place, f"be {wrong[0]}", value)
    value = int(value) if whole else value
    return float(value) if isinstance(value, int) and abs(value) > LARGEST_INTEGER else value


def _read_array(value: list[Any], schema: Mapping[str, Any], place: Place) -> list[Any]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not least <= len(value) <= most:
        limit = f"at least {least}" if len(value) < least else f"at most {most}"
        raise _mismatch(place, f"have {limit} entries", value)
    read = [read_value(one, schema["items"], place) for one in value]
    if schema.get("uniqueItems") and any(one in read[:k] for k, one in enumerate(read)):
        raise _mismatch(place, "have different entries", value)
    return read


def _read_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], place: Place
) -> dict[str, Any]:
    known = schema["properties"]
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise _mismatch(place, f"have a value for {quote(missing)}", value)
    unknown = [name for name in value if name not in known]
    if unknown and schema.get("additionalProperties") is False:
        guess = did_you_mean(unknown[0], known)
        raise _mismatch(place, f"be made of {quote(known, 20)}", unknown[0], guess)
    if len(value) < schema.get("minProperties", 0):
        raise _mismatch(place, "not be empty", value)
    read = {name: value[name] for name in known if name in value}
    return {name: read_value(one, known[name], (*place, name)) for name, one in read.items()}


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a type of JSON."""
    if kind == "boolean" or _flag(value):
        return kind == "boolean" and _flag(value)
    if kind in TYPES:
        return isinstance(value, TYPES[kind])
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole or (kind == "number" and isinstance(value, float))


def _mismatch(place: Place, expected: str, got: Any, more: str = "") -> InvalidInput:
    told = repr(got)[:80]
    return InvalidInput(
        f"'{'.'.join(place)}' must {expected}. Got {told}.{more}",
        argument=place[1] if len(place) > 1 and place[0] != "row" else place[0],
        expected=expected,
        got=told,
    )
