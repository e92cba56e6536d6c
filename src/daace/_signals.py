"""Signals that stop the program: Ctrl-C and SIGTERM."""

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

#: Seconds for cleaning up; most senders of SIGTERM wait 10 or more before they kill.
GRACE = 5.0


@contextmanager
def _handling(number: int, handler: Handler, *, standard: Handler | int) -> Iterator[None]:
    """Handle a signal inside the block, unless it is handled already or in another thread.

    Args:
        number: number of the signal.
        handler: called when it arrives.
        standard: Python's default handler, which is restored at the end.
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
    """Treat SIGTERM like Ctrl-C, so that finished work is kept, and end within seconds.

    Libraries written in C may lose the `KeyboardInterrupt`, or not return for minutes. A second
    signal kills at once. If the signal is already handled or ignored, this remains so.

    Yields:
        the signals that have arrived.

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
    """Remember Ctrl-C, so that an interrupt swallowed by a library can be raised again.

    numpy clears every error inside some of its functions, an interrupt included: of those that
    arrive while a text array is indexed, half are lost (https://github.com/numpy/numpy/issues/20596).

    Yields:
        a function that raises `KeyboardInterrupt` if an interrupt has arrived, to be called where
        the work can be stopped.

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
    """Defer SIGINT and SIGTERM until the block has ended.

    For short sections in which a library must not be interrupted, such as one that starts
    processes and threads under its locks and may deadlock. Handlers are replaced and signals not
    blocked, because processes that are started meanwhile would inherit a block.

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
