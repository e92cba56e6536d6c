"""Checks of arguments, with messages of one form."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence

from daace._wording import quote
from daace.exceptions import InvalidInput


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise `InvalidInput` unless the value is one of the choices; 1 is not True."""
    flag = isinstance(value, bool)
    if not any(flag == isinstance(choice, bool) and value == choice for choice in choices):
        listed = ", ".join(map(repr, choices))
        raise InvalidInput(argument=name, expected=f"be one of {listed}", got=repr(value))


def check_number(
    name: str,
    value: object,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
) -> None:
    """Raise `InvalidInput` unless the value is a finite number in range."""
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        try:
            number = float(value)
        except OverflowError:  # a whole number that no float can hold
            number = math.inf
        if math.isfinite(number) and at_least <= number <= at_most and number > above:
            return
    limit = f" of at least {at_least:g}" if at_least > -math.inf else ""
    limit = f" above {above:g}" if above > -math.inf else limit
    if at_most < math.inf:
        limit += f"{' and' if limit else ' of'} at most {at_most:g}"
    raise InvalidInput(argument=name, expected=f"be a finite number{limit}", got=repr(value))


def check_integer(name: str, value: object, *, at_least: int) -> None:
    """Raise `InvalidInput` unless the value is an integer in range."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (whole and value >= at_least):  # type: ignore[operator]
        raise InvalidInput(
            argument=name, expected=f"be an integer of at least {at_least}", got=repr(value)
        )


def check_word_or(
    check: Callable[[str, object], None], name: str, value: object, *, word: str, expected: str
) -> None:
    """Raise `InvalidInput` unless the value is a word, or passes a check.

    Args:
        check: a check of the argument's name and value.
        name: name of the argument.
        value: the value to check.
        word: a word that is accepted, too, such as "cv".
        expected: what the value must be, the word included.
    """
    if isinstance(value, str) and value == word:
        return
    try:
        check(name, value)
    except InvalidInput:
        raise InvalidInput(argument=name, expected=expected, got=repr(value)) from None


def check_known(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `InvalidInput` for the first name that is not an argument.

    Args:
        owner: the function or class.
        given: names to check.
        known: names of its arguments.
    """
    known = list(known)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(
            argument=unknown[0],
            expected=f"be an argument of {owner}",
            remedy=quote(known, 20),
        )
