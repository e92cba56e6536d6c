"""Signals by which users and other programs ask this one to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

#: Exit code of a program that SIGTERM ended, as shells count it.
TERMINATED = 128 + signal.SIGTERM

#: Seconds for putting things away: those who send the signal wait 10 or more before they kill.
GRACE = 5.0


@contextmanager
def _handling(number: int, handler: Handler, *, standard: Handler | int) -> Iterator[None]:
    """Handle a signal inside the block, unless others handle it or this is not the main thread.

    Args:
        number: of the signal.
        handler: called when it comes.
        standard: the handler that Python starts with; it is put back at the end.
    """
    main = threading.current_thread() is threading.main_thread()  # others cannot set handlers
    if not main or signal.getsignal(number) is not standard:
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, standard)


@contextmanager
def terminable() -> Iterator[list[int]]:
    """Treat SIGTERM like Ctrl-C, so that finished work is kept; in any case end within seconds.

    Libraries written in C may lose the `KeyboardInterrupt`, or not return for minutes. A second
    signal kills at once. If the signal is already handled or ignored, that is left as it is.

    Yields:
        the signals that came, empty as long as none did.

    Example:
        >>> with terminable() as came:
        ...     print(came)
        []
    """
    came: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)
        last = threading.Timer(GRACE, os._exit, (TERMINATED,))
        last.daemon = True
        last.start()
        raise KeyboardInterrupt

    with _handling(signal.SIGTERM, stop, standard=signal.SIG_DFL):
        yield came


@contextmanager
def remembering_interrupts() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C, so that one that a library has swallowed can be raised again.

    numpy clears every error inside some of its functions, an interrupt included: of those that
    arrive while a text array is indexed, half are lost (https://github.com/numpy/numpy/issues/20596).

    Yields:
        a function that raises `KeyboardInterrupt` if an interrupt came, to be called where the
        work can be stopped.

    Example:
        >>> with remembering_interrupts() as raise_lost:
        ...     try:
        ...         signal.raise_signal(signal.SIGINT)
        ...     except KeyboardInterrupt:
        ...         pass  # as numpy does
        ...     try:
        ...         raise_lost()
        ...     except KeyboardInterrupt:
        ...         print("stopped")
        stopped
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    def raise_lost() -> None:
        if came:
            raise KeyboardInterrupt

    with _handling(signal.SIGINT, note, standard=signal.default_int_handler):
        yield raise_lost


@contextmanager
def deferring_interrupts() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until the block has ended.

    For short stretches in which a library must not be interrupted: one that starts processes and
    threads under its locks may then wait for itself forever. Handlers are replaced, signals not
    blocked: processes that are started meanwhile would inherit that.

    Example:
        >>> try:
        ...     with deferring_interrupts():
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("done")
        ... except KeyboardInterrupt:
        ...     print("stopped")
        done
        stopped
    """
    came: list[int] = []
    before: dict[int, Handler] = {}
    if threading.current_thread() is threading.main_thread():  # others cannot set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):  # what is ignored, or kills, stays so
                before[number] = handler
                signal.signal(number, lambda which, _: came.append(which))
    try:
        yield
    finally:
        for asked, handler in before.items():
            signal.signal(asked, handler)
        for asked in dict.fromkeys(came):
            signal.raise_signal(asked)
