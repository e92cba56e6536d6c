"""The spacing of the values of a column: whole dollars, thousandths, tenths of a year."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray

#: More places than these between the smallest and the largest value count as a continuum: the
#: spacing could not be distinguished from rounding.
PLACES = 2**22

#: A gap may miss a multiple of the spacing by this share of it: decimals are not exact in binary.
OFF = 0.01


def find_spacing(values: FloatArray) -> float:
    """Return the largest step of which all gaps between values are multiples, 0 without one.

    By Euclid's algorithm on the gaps. It follows the unit: values in thousands have a thousandth of
    the spacing, and powers of two change nothing but the exponent. Whole numbers have at least the
    spacing 1, unless they have too many places.

    Args:
        values: finite values of one column.

    Example:
        >>> find_spacing(np.array([0.0, 2.0, 5.0])), find_spacing(np.array([0.5, 1.5, 4.5]))
        (1.0, 1.0)
        >>> find_spacing(np.array([0.0, 1.0, np.sqrt(2), np.pi]))
        0.0
    """
    gaps = np.diff(np.unique(values))
    if len(gaps) == 0:
        return 0.0
    span, step = float(gaps.sum()), float(gaps.min())
    while step * PLACES >= span:
        times = gaps / step
        rest = np.abs(times - np.rint(times))
        if (rest <= OFF).all():
            return span / float(np.rint(span / step))
        step *= float(rest[rest > OFF].min())
    return 0.0
