"""Names in messages: quoted, counted, and corrected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def quote(names: Iterable[object], limit: int = 5) -> str:
    """Write names as `'a', 'b'`, with the number of further ones beyond `limit`.

    Args:
        names: what to write, converted with `str`.
        limit: how many to write out.

    Example:
        >>> quote(["a", "b", "c"], limit=2)
        "'a', 'b' and 1 more"
    """
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the known name most similar to this one, or nothing.

    Args:
        name: the unknown name.
        known: the names that are known.

    Example:
        >>> did_you_mean("Class", ["age", "class"]), did_you_mean("x", ["age", "class"])
        (" Did you mean 'class'?", '')
    """
    names = {str(other).lower(): str(other) for other in known}
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.8)
    return f" Did you mean '{names[near[0]]}'?" if near else ""
