"""Whoever waits for a search: they see that it moves on, and may stop it.

A search knows nothing of them. It looks at its clock anyway, and the clock calls here. The watcher
belongs to the context (`contextvars`), so that searches in several threads have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from daace.exceptions import DaaceError

#: Is called every now and then with the number of paths evaluated so far by the current search.
Watcher = Callable[[int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Stopped(DaaceError):
    """A search was stopped because nobody waits for its answer any more."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Report every search within the block to a watcher.

    Args:
        watcher: gets the number of evaluated paths; it raises `Stopped` to end the search at once,
            without an answer.

    Example:
        >>> from daace import Explainer, GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> calls = []
        >>> with watched(calls.append):
        ...     e = Explainer(density).explain([0.0], target="well")
        >>> len(calls) > 0
        True
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(evaluations: int) -> None:
    """Tell the watcher of this context, if there is one, how far a search has come.

    Args:
        evaluations: paths whose cost was evaluated.

    Raises:
        Stopped: the search is to end.
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(evaluations)
