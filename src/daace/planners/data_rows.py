"""Checks of the rows of data that `Face` and `Wachter` plan with."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput


def check_rows(rows: object) -> FloatArray:
    """Return a read-only copy of model-space rows.

    Raises:
        InvalidInput: they are not a table of finite numbers with at least one row.
    """
    try:
        checked = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            argument="rows",
            expected="be an array of numbers",
            got=type(rows).__name__,
            remedy="density.to_model(frame) makes one",
        ) from None
    finite = bool(np.isfinite(checked).all())
    if checked.ndim != 2 or not checked.size or not finite:
        raise InvalidInput(
            argument="rows",
            expected="be finite and of shape (rows, features), at least one row",
            got=f"shape {checked.shape}{'' if finite else ' with gaps'}",
            remedy="density.to_model(frame) makes them",
        )
    checked.flags.writeable = False
    return checked


def check_features(rows: FloatArray, density: ConditionalDensity) -> None:
    """Check that rows have the features of a density.

    Raises:
        InvalidInput: they have more or fewer.
    """
    n = density.encoding_.width
    if rows.shape[1] != n:
        raise InvalidInput(
            argument="rows",
            expected=f"have the {n} features of the density",
            got=f"shape {rows.shape}",
        )
