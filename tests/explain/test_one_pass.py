"""From question to answer in one pass: nothing is built or compiled twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Problem, load_table
from daace.explain.explainer import Explainer
from daace.explain.fitting import fit
from daace.planners.optimizer import PathOptimizer

#: Calls from `Explainer.explain` to `PathOptimizer.solve_many`, both included.
DEEPEST = 10

#: Modules from `Explainer.explain` to the printed words that hold a step of the way, by table. They
#: call other modules; helpers, which call none, return a value and are counted apart. What runs
#: inside a density or a planner is left out. A table with codes adds the encoding, the reading of
#: its values and the rules on codes.
MOST_STEPS = {"iris": 20, "loans": 23}
MOST_HELPERS = {"iris": 9, "loans": 20}


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


@pytest.fixture(scope="module")
def loans() -> tuple[Explainer, pd.DataFrame]:
    table = load_table("loans")
    frame = table.to_frame()
    refused = frame[frame[table.target] != "granted"].drop(columns=table.target)
    return fit(table.take(np.arange(600)), density="linear-gaussian"), refused.head(2)


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


@pytest.mark.parametrize("rules", [{}, {"fixed": ["age"], "max_changed": 6}])
def test_constraints_are_compiled_once_a_row_whatever_is_searched(built, loans, rules):
    # Defaults: a committee, few changes, round values, on a table with codes. The planner looks at
    # narrower problems on the way, whose rules are those of the row.
    explainer, rows = loans
    settings = {"target": "granted", "constraints": Constraints(**rules)}
    assert explainer.explain(rows.iloc[0], **settings).found
    assert built["compiled"] == 1
    built.clear()
    assert all(e.found for e in explainer.explain_batch(rows, **settings))
    assert built["compiled"] == len(rows)


def test_the_path_to_the_planner_is_short(mixture, monkeypatch):
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


def calls_between(ask: Callable[[], str]) -> dict[str, set[str]]:
    """Return for each module of daace that a call enters those that it calls itself.

    Densities and planners are entered, but what they call is not followed.
    """
    calls: dict[str, set[str]] = {}
    stack: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("daace."):
            return
        if event == "return":
            stack.pop()
        elif event == "call":
            if not any(is_inside(module) for module in stack):
                if stack and stack[-1] != name:
                    calls[stack[-1]].add(name)
                if not is_inside(name):
                    calls.setdefault(name, set())
            stack.append(name)

    sys.setprofile(profile)
    try:
        assert ask()
    finally:
        sys.setprofile(None)
    return calls


def is_inside(module: str) -> bool:
    return module.split(".")[1] in ("density", "planners")


@pytest.mark.parametrize("name", ["iris", "loans"])
def test_few_modules_lie_between_question_and_words(name, loans):
    explainer, rows = loans
    row, target = rows.iloc[0], "granted"
    if name == "iris":
        table = load_table("iris")
        explainer, row, target = fit(table), table.to_frame().iloc[0], "virginica"
    calls = calls_between(lambda: str(explainer.explain(row, target=target)))
    steps = sorted(module for module, called in calls.items() if called)
    helpers = sorted(module for module, called in calls.items() if not called)
    assert len(steps) <= MOST_STEPS[name], steps
    assert len(helpers) <= MOST_HELPERS[name], helpers
