"""Workers on this machine: what they say when the work is stopped."""

from __future__ import annotations

import threading

import pytest

from daace._workers import _holding_failures_of_loky


def fail_in_thread(name: str) -> None:
    def fail() -> None:
        raise EOFError("half a result")

    thread = threading.Thread(target=fail, name=name)
    thread.start()
    thread.join()


def fail_and_raise(error: BaseException | type[BaseException]) -> None:
    with _holding_failures_of_loky():
        fail_in_thread("ExecutorManagerThread")
        raise error


@pytest.mark.parametrize("stop", [KeyboardInterrupt, GeneratorExit])
def test_a_stop_is_not_reported_by_the_thread_of_the_pool(monkeypatch, stop):
    shown = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    with pytest.raises(stop):
        fail_and_raise(stop)
    fail_in_thread("ExecutorManagerThread")  # it may notice only now
    assert shown == []
    fail_in_thread("another")
    assert len(shown) == 1


def test_other_failures_of_that_thread_are_reported(monkeypatch):
    shown = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    with pytest.raises(ValueError, match="broken"):
        fail_and_raise(ValueError("broken"))
    assert len(shown) == 1
    assert threading.excepthook == shown.append
