from __future__ import annotations

import io
import sys

import pytest

from daace._progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, shown: bool = True) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with Bar("Training", 3, done=1, shown=shown) as bar:
        bar.advance("loss 1.2")
        bar.advance("loss 0.7")
    return stream.getvalue()


def test_a_terminal_sees_what_is_done_and_how_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = said(Terminal(), monkeypatch)
    assert "Training" in text
    assert "3/3" in text
    assert "loss 0.7" in text


def test_a_pipe_sees_nothing_of_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(io.StringIO(), monkeypatch) == ""


def test_a_log_sees_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daace._progress.QUIET", 0.0)
    lines = ["Training: 2 of 3 loss 1.2", "Training: 3 of 3 loss 0.7"]
    assert said(io.StringIO(), monkeypatch).splitlines() == lines
    assert said(io.StringIO(), monkeypatch, shown=False) == ""


def test_who_does_not_want_it_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(Terminal(), monkeypatch, shown=False) == ""


def test_a_total_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Bar("Explaining", None) as bar:
        bar.advance(steps=32)
    assert "32" in stream.getvalue()
