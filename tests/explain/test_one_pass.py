"""From question to answer in one pass: nothing is built or compiled twice."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np
import pytest

from daace import Constraints, Problem
from daace.explain.explainer import Explainer
from daace.planners.optimizer import PathOptimizer

#: Calls from `Explainer.explain` to `PathOptimizer.solve_many`, both included.
DEEPEST = 10


@pytest.fixture
def built(monkeypatch) -> Counter[str]:
    """Count problems that are built and constraints that are compiled."""
    counted: Counter[str] = Counter()

    def count(owner: type, name: str, what: str) -> None:
        original = getattr(owner, name)

        def counting(self: Any, *arguments: Any, **settings: Any) -> Any:
            counted[what] += 1
            return original(self, *arguments, **settings)

        monkeypatch.setattr(owner, name, counting)

    count(Problem, "__post_init__", "problems")
    count(Constraints, "compile", "compiled")
    return counted


def judged(rows):
    return 1 / (1 + np.exp(2 - rows["x1"]))


@pytest.mark.parametrize("settings", [{}, {"classifier": judged}])
def test_each_problem_is_built_once(mixture, straight, built, settings):
    rules = Constraints(lower={"x2": -9.0})
    explainer = Explainer(mixture, planner=straight, constraints=rules, **settings)
    assert explainer.explain([0.0, 0.0], target="well").found
    assert built == {"problems": 1, "compiled": 1}
    built.clear()
    explainer.explain_batch(np.zeros((40, 2)), target="well")
    assert built == {"problems": 40, "compiled": 40}
    built.clear()
    explainer.tradeoff([0.0, 0.0], target="well", penalties=(0, 1, 2))
    assert built == {"problems": 3, "compiled": 3}


def test_the_way_to_the_planner_is_short(mixture, monkeypatch):
    depths = []

    def solve_many(self, problems, *, rngs):
        frame: FrameType | None = sys._getframe()
        names = []
        while frame is not None and "explain" not in names:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        depths.append(len(names))
        return original(self, problems, rngs=rngs)

    original = PathOptimizer.solve_many
    monkeypatch.setattr(PathOptimizer, "solve_many", solve_many)
    Explainer(mixture).explain([0.0, 0.0], target="well")
    assert depths
    assert max(depths) <= DEEPEST
