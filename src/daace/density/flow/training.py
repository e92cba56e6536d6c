"""The training loop: learning rate, return to the best state, stopping rules, checkpoints."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import Enum, auto
from typing import Literal, Protocol, get_args

import numpy as np
import pandas as pd

from daace._progress import Bar
from daace._typing import FloatArray
from daace._warnings import warn_user
from daace.density.flow.checkpoint import Arrays, Checkpoint, Snapshot
from daace.exceptions import InvalidInput

#: Epochs without improvement after which the learning rate is multiplied by `DECAY`: the paper's.
PLATEAU, DECAY = 30, 0.9

#: Epochs without improvement after which training returns to the best state: the paper's.
WORSE = 15

#: Epochs without improvement after which early stopping ends the training: two plateaus.
PATIENCE = 60

#: Attempts at the first epoch, each with smaller initial weights, if it overflows; and later epochs
#: in a row that may overflow, each at half the learning rate of the one before.
ATTEMPTS, OVERFLOWS = 8, 10

#: Seconds between two checkpoints.
CHECKPOINT_SECONDS = 30.0

COLUMNS = ("epoch", "train_loss", "validation_loss", "learning_rate")

Stopped = Literal["epochs", "early", "time", "interrupted", "overflow"]
STOPPED: tuple[Stopped, ...] = get_args(Stopped)


class Trainee(Protocol):
    """The interface of a model in training."""

    def begin(self, shrink: float) -> None:
        """Start with the initial weights times `shrink`."""

    def epoch(self, number: int, learning_rate: float) -> float:
        """Make one pass over the rows; return the mean loss, NaN if it overflows."""

    def validate(self) -> float | None:
        """Return the loss of the validation rows, if there are any."""

    def state(self) -> Arrays:
        """Return a copy of the state that training changes."""

    def restore(self, state: Arrays) -> None:
        """Restore a state."""


class Decision(Enum):
    """What to do after an epoch: keep the state as the best, continue, or revert to the best."""

    KEEP = auto()
    GO_ON = auto()
    REVERT = auto()


@dataclass(kw_only=True)
class Schedule:
    """Decides by the losses; it holds only numbers, so that a checkpoint can store it.

    The validation loss counts if there are validation rows, the training loss otherwise.

    Attributes:
        learning_rate: learning rate of the next epoch.
        best: lowest loss so far.
        since_best: epochs since the lowest loss.
        since_decay: epochs since the lowest loss or the last change of the learning rate.
        since_revert: epochs since the lowest loss or the last return to the best state.
        overflows: epochs in a row whose loss was not finite.
        history: one line per epoch, with the columns `COLUMNS`.

    Example:
        >>> schedule = Schedule(learning_rate=0.1)
        >>> [schedule.record(loss, None).name for loss in (3.0, 2.0, 2.5)]
        ['KEEP', 'KEEP', 'GO_ON']
    """

    learning_rate: float
    best: float = math.inf
    since_best: int = 0
    since_decay: int = 0
    since_revert: int = 0
    overflows: int = 0
    history: list[list[float]] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """Epochs so far."""
        return len(self.history)

    @property
    def ended(self) -> Stopped | None:
        """Why the losses end the training; None if they do not."""
        if self.overflows >= OVERFLOWS:
            return "overflow"
        validated = self.epochs > 0 and not math.isnan(self.history[-1][2])
        return "early" if validated and self.since_best >= PATIENCE else None

    def record(self, train_loss: float, validation_loss: float | None) -> Decision:
        """Record the losses of an epoch, adapt the learning rate, and decide what to do.

        Args:
            train_loss: mean loss over the batches.
            validation_loss: loss of the validation rows; None if there are none.
        """
        shown = math.nan if validation_loss is None else validation_loss
        self.history.append([self.epochs + 1, train_loss, shown, self.learning_rate])
        loss = train_loss if validation_loss is None else validation_loss
        if not (math.isfinite(train_loss) and math.isfinite(loss)):
            self.overflows += 1
            self.learning_rate *= 0.5
            return Decision.REVERT
        self.overflows = 0
        if loss < self.best:
            self.best = loss
            self.since_best = self.since_decay = self.since_revert = 0
            return Decision.KEEP
        self.since_best += 1
        self.since_decay += 1
        self.since_revert += 1
        if self.since_decay >= PLATEAU:
            self.learning_rate *= DECAY
            self.since_decay = 0
        if self.since_revert >= WORSE:
            self.since_revert = 0
            return Decision.REVERT
        return Decision.GO_ON


def train(
    trainee: Trainee,
    *,
    learning_rate: float,
    epochs: int,
    time_limit: float | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> tuple[Schedule, Stopped]:
    """Train until a stopping rule applies, and leave the trainee in its best state.

    Args:
        trainee: the flow and its optimizer.
        learning_rate: learning rate of the first epoch.
        epochs: largest number of passes.
        time_limit: seconds after which no new epoch begins.
        progress: show a progress bar.
        checkpoint: file to which the state is written, and from which training resumes; if it
            cannot be written, training continues without it and a warning is given.

    Returns:
        The final schedule, and why training ended.

    Raises:
        InvalidInput: the first epoch overflows with all initial weights.
        KeyboardInterrupt: before the end of the first epoch; later it only ends training.
    """
    began = saved = time.monotonic()
    schedule, best = Schedule(learning_rate=learning_rate), Arrays()
    snapshot = None if checkpoint is None else checkpoint.read()
    if snapshot is not None:
        state, best, notes = snapshot
        schedule = Schedule(**notes)
        trainee.restore(state)
    stopped: Stopped = schedule.ended or "epochs"  # training that has ended is not resumed
    try:
        with Bar("Training", epochs, done=schedule.epochs, shown=progress) as bar:
            while schedule.epochs < epochs and stopped == "epochs":
                if best and time_limit is not None and time.monotonic() - began >= time_limit:
                    stopped = "time"
                    break
                losses = _losses(trainee, schedule, first=not best)
                decision = schedule.record(*losses)
                if decision is Decision.KEEP:
                    best = trainee.state()
                elif decision is Decision.REVERT:
                    trainee.restore(best)
                stopped = schedule.ended or stopped
                counted = losses[0] if losses[1] is None else losses[1]
                bar.advance(f"loss {counted:.3f}, best {schedule.best:.3f}")
                if checkpoint is not None:
                    snapshot = trainee.state(), best, asdict(schedule)
                    if time.monotonic() - saved >= CHECKPOINT_SECONDS:
                        checkpoint = _write(checkpoint, snapshot)
                        saved = time.monotonic()
    except KeyboardInterrupt:
        if not best:
            raise
        stopped = schedule.ended or ("epochs" if schedule.epochs >= epochs else "interrupted")
    with undisturbed():
        if checkpoint is not None and snapshot is not None:
            _write(checkpoint, snapshot)
        trainee.restore(best)
    return schedule, stopped


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore interrupts (Ctrl-C) while a checkpoint is written."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if before is None:  # no handler that could be restored
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _write(checkpoint: Checkpoint, snapshot: Snapshot) -> Checkpoint | None:
    """Write a checkpoint; return it if that succeeded."""
    try:
        checkpoint.write(*snapshot)
    except OSError as error:
        warn_user(
            f"The checkpoint '{checkpoint.path}' could not be written: {error.strerror}. "
            "Training continues without it.",
        )
        return None
    return checkpoint


def _losses(trainee: Trainee, schedule: Schedule, *, first: bool) -> tuple[float, float | None]:
    """Run an epoch; if it is the first and overflows, repeat it with smaller weights."""
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            trainee.begin(0.5**attempt)
        loss = trainee.epoch(schedule.epochs, schedule.learning_rate)
        validation = trainee.validate()
        counted = loss if validation is None else validation
        if not first or (math.isfinite(loss) and math.isfinite(counted)):
            return loss, validation
    raise InvalidInput(
        argument="learning_rate",
        expected=(
            f"be small enough for this table. With {schedule.learning_rate:g} the first epoch "
            f"overflowed {ATTEMPTS} times"
        ),
        remedy="lower it, or clip the table's outliers",
    )


def history_frame(history: list[list[float]] | FloatArray) -> pd.DataFrame:
    """Return one line per epoch: number, losses in nats per row, learning rate.

    Args:
        history: the lines, with or without validation loss.
    """
    values = np.asarray(history, dtype=np.float64)
    if values.shape[1:] == (3,):  # as in a model file, if nothing was held out
        values = np.insert(values, 2, np.nan, axis=1)
    return pd.DataFrame(values, columns=list(COLUMNS)).astype({"epoch": np.int64})
