"""Watchers of searches, which follow the progress and may stop it.

A search does not know its watcher: it checks its clock, and the clock calls this module. The
watcher belongs to the context (`contextvars`), so that searches in several threads have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from daace.exceptions import DaaceError

#: Called from time to time with the number of paths evaluated so far by the current search.
Watcher = Callable[[int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Stopped(DaaceError):
    """A search was stopped because no client waits for its answer."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Report every search within the block to a watcher.

    Args:
        watcher: a function of the number of evaluated paths; raises `Stopped` to end the search,
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
    """Report the progress of a search to the watcher of this context, if there is one.

    Args:
        evaluations: number of paths whose cost was evaluated.

    Raises:
        Stopped: the search is to end.
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(evaluations)
