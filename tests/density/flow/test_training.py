from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from daace.density.flow import training
from daace.density.flow.checkpoint import Arrays, Checkpoint
from daace.density.flow.training import Decision, Schedule, history_frame, train
from daace.exceptions import InvalidInput


class Scripted:
    """A trainee whose losses are written down; its state counts the epochs that led to it."""

    def __init__(self, losses: Sequence[float], validation: Sequence[float] | None = None) -> None:
        self.losses, self.validation = losses, validation
        self.number = 0.0
        self.shrinks: list[float] = []
        self.rates: list[float] = []
        self.seen: list[float] = []

    def begin(self, shrink: float) -> None:
        self.number = 0.0
        self.shrinks.append(shrink)

    def epoch(self, number: int, learning_rate: float) -> float:
        self.seen.append(self.number)
        self.rates.append(learning_rate)
        self.number += 1
        self.epochs = number
        loss = self.losses[min(len(self.rates), len(self.losses)) - 1]
        if loss < 0:
            raise KeyboardInterrupt
        return loss

    def validate(self) -> float | None:
        return None if self.validation is None else self.validation[self.epochs]

    def state(self) -> Arrays:
        return {"number": np.array([self.number])}

    def restore(self, state: Arrays) -> None:
        self.number = float(state["number"][0])


def test_it_ends_in_the_best_state() -> None:
    trainee = Scripted([5, 3, 1, 2, 4])
    schedule, stopped = train(trainee, learning_rate=0.1, epochs=5)
    assert (stopped, schedule.best, trainee.number) == ("epochs", 1, 3)
    assert [line[1] for line in schedule.history] == [5, 3, 1, 2, 4]


def test_fifteen_worse_epochs_lead_back_to_the_best_state() -> None:
    trainee = Scripted([1, *[2] * 40])
    train(trainee, learning_rate=0.1, epochs=33)
    # The best state has seen one epoch; from it, 15 more are tried, again and again.
    assert trainee.seen[:18] == [0, *range(1, 16), 1, 2]
    assert trainee.seen[30:33] == [15, 1, 2]


def test_thirty_epochs_without_improvement_lower_the_learning_rate() -> None:
    trainee = Scripted([3, 2, *[4] * 29, 1, *[4] * 70])
    train(trainee, learning_rate=0.1, epochs=100)
    drops = [i for i in range(1, 100) if trainee.rates[i] != trainee.rates[i - 1]]
    assert drops == [62, 92]  # the improvement of epoch 31 came just in time
    assert trainee.rates[-1] == pytest.approx(0.1 * 0.9**2)


def test_early_stopping_looks_at_the_validation_rows() -> None:
    validation = [3, 2, 1, *[1.5] * 200]
    trainee = Scripted(np.linspace(9, 1, 200).tolist(), validation)
    schedule, stopped = train(trainee, learning_rate=0.1, epochs=200)
    assert (stopped, schedule.epochs, trainee.number) == ("early", 3 + 60, 3)
    assert schedule.history[0][1:3] == [9, 3]


def test_without_validation_rows_it_never_stops_early() -> None:
    _, stopped = train(Scripted([1, *[2] * 300]), learning_rate=0.1, epochs=200)
    assert stopped == "epochs"


def test_a_first_epoch_that_overflows_begins_again_with_smaller_weights() -> None:
    trainee = Scripted([math.nan, math.nan, 2, 1])
    schedule, _ = train(trainee, learning_rate=0.1, epochs=2)
    assert trainee.shrinks == [0.5, 0.25]
    assert [line[1] for line in schedule.history] == [2, 1]


def test_a_first_epoch_that_always_overflows_is_an_error() -> None:
    message = (
        r"'learning_rate' must be small enough for this table\. With 0\.1 the first epoch "
        r"overflowed 8 times: lower it, or clip the table's outliers\."
    )
    with pytest.raises(InvalidInput, match=message):
        train(Scripted([math.inf]), learning_rate=0.1, epochs=2)


def test_a_later_overflow_goes_back_at_half_the_learning_rate() -> None:
    trainee = Scripted([3, 2, math.nan, 1])
    schedule, stopped = train(trainee, learning_rate=0.1, epochs=4)
    assert trainee.seen == [0, 1, 2, 2]
    assert trainee.rates == [0.1, 0.1, 0.1, 0.05]
    assert (stopped, schedule.best) == ("epochs", 1)


def test_what_has_ended_does_not_go_on(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path / "c")
    for losses, end in (([3, math.nan], "overflow"), ([1, *[2] * 70], "early")):
        validation = losses if end == "early" else None
        for trainee in (Scripted(losses, validation), Scripted([0.5] * 200, [0.5] * 200)):
            _, stopped = train(trainee, learning_rate=0.1, epochs=200, checkpoint=checkpoint)
            assert (stopped, trainee.number) == (end, 1)
        assert trainee.seen == []
        checkpoint.path.unlink()


def test_nothing_but_overflows_end_it() -> None:
    trainee = Scripted([3, math.nan])
    schedule, stopped = train(trainee, learning_rate=0.1, epochs=100)
    assert (stopped, schedule.epochs, trainee.number) == ("overflow", 11, 1)


def test_an_interrupt_keeps_the_best_state() -> None:
    trainee = Scripted([3, 2, 5, -1])
    schedule, stopped = train(trainee, learning_rate=0.1, epochs=100)
    assert (stopped, schedule.epochs, trainee.number) == ("interrupted", 3, 2)
    with pytest.raises(KeyboardInterrupt):
        train(Scripted([-1]), learning_rate=0.1, epochs=100)


def test_a_time_limit_allows_one_epoch_at_least() -> None:
    schedule, stopped = train(Scripted([3, 2]), learning_rate=0.1, epochs=9, time_limit=1e-9)
    assert (stopped, schedule.epochs) == ("time", 1)


def _checkpoint(path: Path, *, flows: int = 3) -> Checkpoint:
    return Checkpoint.of(path, np.zeros((2, 1)), np.array([0, 1]), {"flows": flows})


@pytest.mark.parametrize("pause", [1, 5, 18, 40])
def test_a_stopped_training_goes_on_as_if_it_had_not_stopped(tmp_path: Path, pause: int) -> None:
    losses = [3, 2, *[4] * 20, 1, *[2] * 50]
    whole = Scripted(losses)
    expected, _ = train(whole, learning_rate=0.1, epochs=60)
    checkpoint = _checkpoint(tmp_path / "c")
    train(Scripted([*losses[:pause], -1]), learning_rate=0.1, epochs=60, checkpoint=checkpoint)
    trainee = Scripted(losses[pause:])
    schedule, _ = train(trainee, learning_rate=0.1, epochs=60, checkpoint=checkpoint)
    assert history_frame(schedule.history).equals(history_frame(expected.history))
    assert (schedule.best, schedule.since_best) == (expected.best, expected.since_best)
    assert trainee.number == whole.number
    assert trainee.rates == whole.rates[pause:]
    assert [place.name for place in tmp_path.iterdir()] == ["c"]


def test_checkpoints_are_written_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)

    class Killed(Scripted):
        def epoch(self, number: int, learning_rate: float) -> float:
            if number == 3:
                raise MemoryError
            return super().epoch(number, learning_rate)

    checkpoint = _checkpoint(tmp_path / "c")
    with pytest.raises(MemoryError):
        train(Killed([3, 2, 4]), learning_rate=0.1, epochs=9, checkpoint=checkpoint)
    read = checkpoint.read()
    assert read is not None
    latest, best, notes = read
    assert (latest["number"][0], best["number"][0], len(notes["history"])) == (3, 2, 3)


def test_another_training_is_not_continued(tmp_path: Path) -> None:
    train(Scripted([1]), learning_rate=0.1, epochs=1, checkpoint=_checkpoint(tmp_path / "c"))
    with pytest.raises(InvalidInput, match=r"must belong to this training.*or delete it\.$"):
        _checkpoint(tmp_path / "c", flows=4).read()


@pytest.mark.parametrize("content", [b"", b"hello", (2**60).to_bytes(8, "little") + b"{}"])
def test_what_is_no_checkpoint_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(InvalidInput, match="'checkpoint' must be a file that a training wrote"):
        train(Scripted([1]), learning_rate=0.1, epochs=1, checkpoint=_checkpoint(tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == content


def test_a_folder_that_is_missing_is_named_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"'checkpoint' must be in a folder that exists\. Got"):
        _checkpoint(tmp_path / "no" / "c")


def test_the_history_is_a_frame() -> None:
    schedule = Schedule(learning_rate=0.1)
    assert schedule.record(2.0, None) is Decision.KEEP
    frame = history_frame(schedule.history)
    assert list(frame.columns) == ["epoch", "train_loss", "validation_loss", "learning_rate"]
    assert frame["epoch"].tolist() == [1]
    assert frame["validation_loss"].isna().all()
    again = history_frame(frame.dropna(axis=1).to_numpy(dtype=np.float64))
    assert again.equals(frame)
