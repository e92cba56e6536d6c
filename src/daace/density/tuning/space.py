"""The space of settings that is searched."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daace._wording import quote
from daace.exceptions import InvalidInput

#: The paper's space: smallest and largest value of each setting. The noise is drawn on a
#: logarithmic scale.
SPACE: dict[str, tuple[float, float]] = {
    "learning_rate": (1e-4, 5e-3),
    "weight_decay": (1e-4, 1e-2),
    "hidden": (2, 10),
    "layers": (1, 5),
    "flows": (1, 10),
    "noise": (0.01, 0.3),
}
TUNED = tuple(SPACE)

#: Settings that are integers.
WHOLE = ("hidden", "layers", "flows")


def check_space(space: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the ranges of settings, checked.

    Args:
        space: smallest and largest value by setting.

    Raises:
        InvalidInput: a name is not a setting of the search, or a range is wrong.
    """
    for name, limits in space.items():
        if name not in SPACE:
            raise InvalidInput(
                argument="space", expected=f"name settings among {quote(SPACE)}", got=repr(name)
            )
        kind = "whole numbers" if name in WHOLE else "numbers"
        types = (int, np.integer) if name in WHOLE else (int, float, np.number)
        if (
            not isinstance(limits, tuple | list)
            or len(limits) != 2
            or not all(isinstance(v, types) and not isinstance(v, bool) for v in limits)
            or not 0 < limits[0] <= limits[1] < np.inf
        ):
            raise InvalidInput(
                argument="space",
                expected=f"give {name!r} two positive {kind}, the smaller first",
                got=repr(limits),
            )
    return {name: (low, high) for name, (low, high) in space.items()}
