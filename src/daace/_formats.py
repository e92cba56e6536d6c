"""Numbers and names as text, in one way everywhere."""

from __future__ import annotations

import math


def format_number(value: float, grain: float, size: float) -> str:
    """Return a number to about a hundredth of `grain`.

    Args:
        value: the number.
        grain: a noticeable difference.
        size: the largest number of its kind, which decides on the notation.

    Example:
        >>> format_number(1001.24, 351.9, 1001.24), format_number(2e12, 3e11, 2e12)
        ('1,001', '2.000e+12')
    """
    decimals = 2 - math.floor(math.log10(grain)) if grain > 0 else 6
    if size >= 1e9 or decimals > 7:
        digits = math.floor(math.log10(size)) + decimals if size > 0 else 3
        return f"{value:.{min(max(digits, 3), 12)}e}"
    text = f"{value:,.{max(0, decimals)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def exact(value: float) -> str:
    """Return a setting as it was given.

    Example:
        >>> exact(50.0), exact(0.999999999999), exact(15_000_000.0)
        ('50', '0.999999999999', '15000000')
    """
    short = f"{value:.15g}"
    return short if float(short) == value else repr(float(value))


def format_sd(change: float) -> str:
    """Return a change in standard deviations, signed.

    Example:
        >>> format_sd(-1.234), format_sd(0.0012)
        ('-1.2 sd', '+0.001 sd')
    """
    return f"{change:+.1f} sd" if abs(change) >= 0.095 else f"{change:+.1g} sd"


def percent(share: float) -> str:
    """Return a probability in percent; no model is ever certain.

    Example:
        >>> percent(0.5), percent(0.0), percent(0.99999)
        ('50%', '<0.1%', '>99.9%')
    """
    if share < 0.001:
        return "<0.1%"
    if share > 0.999:
        return ">99.9%"
    if 0.01 <= share <= 0.99:
        return f"{100 * share:.0f}%"
    return f"{100 * share:.1f}%"


def percent_of_cases(percentile: float) -> str:
    """Return a percentile of 10,000 draws; its first and last percent with a decimal.

    Example:
        >>> percent_of_cases(35.2), percent_of_cases(0.79), percent_of_cases(100.0)
        ('35%', '0.8%', '99.9%')
    """
    if 1 <= percentile <= 99:
        return f"{percentile:.0f}%"
    return f"{min(percentile, 99.9):.1f}%"


def shorten(name: str, limit: int = 40) -> str:
    """Cut the middle out of a long name: its ends distinguish it from similar names.

    Example:
        >>> shorten("a_very_long_name_of_a_column", 15)
        'a_very_…_column'
    """
    name = " ".join(name.split())
    if len(name) <= limit:
        return name
    head = limit // 2
    return f"{name[:head]}…{name[len(name) - (limit - head - 1) :]}"
