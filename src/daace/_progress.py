"""A progress bar for work that takes minutes."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

#: Seconds between two lines if stderr is not a terminal.
QUIET = 60.0


class Bar:
    """A progress bar with a note on stderr if that is a terminal; otherwise a line per minute.

    Args:
        what: label of the bar.
        total: number of steps; None if unknown.
        done: steps that are finished already.
        shown: whether to show anything.

    Example:
        >>> with Bar("Training", 3, shown=False) as bar:
        ...     bar.advance("loss 1.2")
    """

    def __init__(self, what: str, total: int | None, *, done: int = 0, shown: bool = True) -> None:
        self._progress: Any = None
        self._what, self._total, self._done = what, total, done
        self._shown, self._written = shown, time.monotonic()
        if shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                *Progress.get_default_columns()[:-1],
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._progress.add_task(what, total=total, completed=done, note="")

    def advance(self, note: str = "", *, steps: int = 1) -> None:
        """Advance by some steps.

        Args:
            note: shown beside the bar, such as the loss.
            steps: number of steps.
        """
        self._done += steps
        if self._progress is not None:
            self._progress.update(self._task, advance=steps, note=note)
        elif self._shown and time.monotonic() - self._written >= QUIET:
            of = "" if self._total is None else f" of {self._total}"
            sys.stderr.write(f"{self._what}: {self._done}{of} {note}".rstrip() + "\n")
            sys.stderr.flush()
            self._written = time.monotonic()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
