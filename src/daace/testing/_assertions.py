"""Assertions with a sentence, which also hold where Python drops `assert`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def require(condition: object, sentence: str) -> None:
    """Raise `AssertionError` with this sentence unless the condition holds."""
    if not condition:
        raise AssertionError(sentence)


def require_close(
    got: npt.ArrayLike, expected: npt.ArrayLike, sentence: str, *, rel: float, at_least: float
) -> None:
    """Raise `AssertionError` unless two arrays agree.

    Args:
        got: what came.
        expected: what should have come.
        sentence: what should have held.
        rel: tolerance relative to `expected`.
        at_least: smallest tolerance.
    """
    one, two = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    require(one.shape == two.shape, f"{sentence} Shapes differ: {one.shape} and {two.shape}.")
    error = np.abs(one - two)
    allowed = np.maximum(rel * np.abs(two), at_least)
    worst = float(np.max(error - allowed, initial=-np.inf))
    require(not worst > 0 and not np.isnan(error).any(), f"{sentence} Off by {error.max():.3g}.")


def require_equal(got: npt.ArrayLike, expected: npt.ArrayLike, sentence: str) -> None:
    """Raise `AssertionError` unless two arrays are equal, bit for bit."""
    require(np.array_equal(np.asarray(got), np.asarray(expected)), sentence)
