from __future__ import annotations

import builtins

import numpy as np
import pytest

from daace import NSGA2
from daace.exceptions import InvalidInput, MissingDependency


def test_no_member_beats_another(simple):
    pytest.importorskip("pymoo")
    planner = NSGA2(population=20, generations=15)
    front = simple.front([0.0, 0.0], target="well", planner=planner)
    assert len(front) == len(list(front)) > 2
    frame = front.to_frame()
    assert (np.diff(frame["cost"]) >= 0).all()
    worth = np.column_stack([-frame["cost"], frame["posterior"], frame["log_prob"]])
    for i, one in enumerate(worth):
        better = (worth >= one).all(axis=1) & (worth > one + 1e-12).any(axis=1)
        assert not better.any(), i
    for e in front:
        assert e.found
        assert e.posterior >= 0.5
        assert e.provenance.planner.startswith("NSGA2(")
    assert repr(front).startswith("ExplanationFront(members=")
    words = [text.get_text() for text in front.plot().findobj() if hasattr(text, "get_text")]
    assert "cost of the way" in words


def test_no_way_is_an_empty_front(simple):
    pytest.importorskip("pymoo")
    from dataclasses import replace

    planner = NSGA2(population=6, generations=2)
    front = replace(simple, plausibility=50.0).front([0.0, 0.0], target="well", planner=planner)
    assert len(front) == 0
    assert front.to_frame().empty
    front.plot().canvas.draw()


def test_without_pymoo_it_says_so(simple, monkeypatch):
    load = builtins.__import__

    def refuse(name, *rest):
        if name.split(".")[0] == "pymoo":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"pip install 'daace\[nsga2\]'"):
        simple.front([0.0, 0.0], target="well")


def test_only_the_genetic_search_has_a_front(simple, straight):
    with pytest.raises(InvalidInput, match=r"'planner' must be an NSGA2. Got StraightLine"):
        simple.front([0.0, 0.0], planner=straight)
    with pytest.raises(InvalidInput, match="'row' must be one row"):
        simple.front([[0.0, 0.0]] * 2)
