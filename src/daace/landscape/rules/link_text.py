"""Links as text: `income - 3*rent >= 0`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from daace._formats import exact
from daace.data.numbers import UNSIGNED

#: Separators of the sides of a relation; names that contain one of these are quoted.
RELATION = re.compile(r"(<=|>=|==|=)")

#: A sign begins a term only after a space: names such as capital-gain contain others.
SIGN = re.compile(r"(?:^|(?<=\s))([+-])")

#: The bound that each relation sets on the left side.
BOUNDS = {"<=": "at_most", ">=": "at_least", "=": "equals", "==": "equals"}

#: The form of a link, for messages.
HOW = "write terms like 2*income with spaces around + and -, and names in double quotes if needed"


def read_link(text: str) -> dict[str, Any]:
    """Return the arguments of the `Link` that a text describes.

    One of `=`, `<=`, `>=` stands between sums of terms; a sum may also be bounded on both sides,
    as in `0 <= a + b <= 3`. A term is a feature, or a number times a feature. Names that contain a
    relation, or + or - after a space, are put in double quotes.

    Raises:
        ValueError: the text is not a link.

    Example:
        >>> read_link("income - 3*rent >= 0")
        {'terms': {'income': 1.0, 'rent': -3.0}, 'at_least': 0.0}
    """
    quoted: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quoted.append(match.group(1))
        return f"\0{len(quoted) - 1}\0"

    parts = RELATION.split(re.sub(r'"([^"]+)"', hide, text))
    sums = [_read_sum(side, quoted) for side in parts[::2]]
    relations = parts[1::2]
    if len(sums) == 2:
        (left, constant), (right, value) = sums
        relation = relations[0]
        if not left:  # 0 <= a is a >= 0
            (left, constant), (right, value) = sums[::-1]
            relation = {"<=": ">=", ">=": "<="}.get(relation, relation)
        terms = {name: left.get(name, 0.0) - right.get(name, 0.0) for name in {**left, **right}}
        return {"terms": terms, BOUNDS[relation]: value - constant}
    if len(sums) == 3 and relations in (["<=", "<="], [">=", ">="]):
        (before, first), (terms, constant), (after, last) = sums
        low, high = (first, last) if relations[0] == "<=" else (last, first)
        if not before and not after:
            return {"terms": terms, "at_least": low - constant, "at_most": high - constant}
    raise ValueError("put one of =, <=, >= between two sums, or a sum between two numbers")


def write_link(terms: Mapping[str, float], low: float, high: float) -> str:
    """Return the text that `read_link` reads as a link.

    Example:
        >>> write_link({"rent": 3.0, "net income": -1.0}, -np.inf, 0.0)
        '3*rent - 1*"net income" <= 0'
    """
    words = ""
    for name, weight in terms.items():
        sign = ("-" if weight < 0 else "") if not words else (" - " if weight < 0 else " + ")
        words += f"{sign}{exact(abs(weight))}*" + (name if name.isidentifier() else f'"{name}"')
    if low == high:
        return f"{words} = {exact(low)}"
    before = f"{exact(low)} <= " if np.isfinite(low) else ""
    return before + words + (f" <= {exact(high)}" if np.isfinite(high) else "")


def _read_sum(text: str, quoted: list[str]) -> tuple[dict[str, float], float]:
    """Return the weight of each feature in a sum, and its constant."""
    first, *others = SIGN.split(text.strip())
    terms: dict[str, float] = {}
    constant = 0.0
    signed = [("+", first)] if first else []
    signed += zip(others[::2], others[1::2], strict=True)
    if not signed:
        raise ValueError(HOW)
    for sign, term in signed:
        weight, name = _read_term(term.strip())
        weight = -weight if sign == "-" else weight
        if name is None:
            constant += weight
        else:
            name = re.sub("\0(\\d+)\0", lambda match: quoted[int(match.group(1))], name)
            terms[name] = terms.get(name, 0.0) + weight
    return terms, constant


def _read_term(term: str) -> tuple[float, str | None]:
    """Return a number and the feature that it multiplies; None where it stands alone."""
    factors = [factor.strip() for factor in term.split("*")]
    if len(factors) == 1 and (leading := re.match(rf"(?:{UNSIGNED.pattern})\s+(?=\S)", term)):
        factors = [leading.group().strip(), term[leading.end() :]]
    numbers = [factor for factor in factors if UNSIGNED.fullmatch(factor)]
    names = [factor for factor in factors if not UNSIGNED.fullmatch(factor)]
    if not all(factors) or len(numbers) > 1 or len(names) > 1:
        raise ValueError(HOW)
    return float(numbers[0]) if numbers else 1.0, names[0] if names else None
