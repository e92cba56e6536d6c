"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

PACKAGE = __name__.partition(".")[0]


def warn_user(message: str) -> None:
    """Warn at the line that led here from outside this package.

    How many calls lie between depends on the front door: `Table.from_frame` and `daace.fit` both
    leave columns out. Decorators count as calls, too.

    Example:
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_user("Few rows.")
        >>> str(caught[0].message)
        'Few rows.'
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
