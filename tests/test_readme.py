"""Examples on the pages run, and the benchmark page and its JSON agree."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import daace
from benchmarks import results

ROOT = Path(__file__).parents[1]


def run_examples(page: str, session: dict[str, Any]) -> int:
    """Run the Python of a page as one session; return the number of its blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        exec(compile(block, page, "exec"), session)
    return len(blocks)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the pages take for granted, on a table with four features."""
    monkeypatch.chdir(tmp_path)
    full = daace.load_table("breast_cancer").to_frame()
    names = ["mean radius", "mean texture", "mean smoothness", "mean symmetry"]
    train, held_out = full.iloc[:200], full.iloc[200:400]
    train, held_out = train[[*names, "class"]], held_out[[*names, "class"]]
    frame = train.iloc[:4].assign(group=["a", "b", "a", "b"])
    frame.to_parquet("data.parquet")
    table = daace.Table.from_frame(train, target="class")
    model = LogisticRegression(max_iter=10_000).fit(train[names], train["class"])
    return {
        "daace": daace,
        "table": table,
        "explainer": daace.fit(table),
        "row": train.iloc[0],
        "train": train,
        "held_out": held_out,
        "frame": frame,
        "model": model,
        "coefficients": model.coef_,
    }


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    assert run_examples("README.md", session) == 3
    assert session["e"].found
    assert {path.name for path in tmp_path.iterdir()} == {"why.html", "model.daace"}


def test_examples_about_explanations_run(session: dict[str, Any]) -> None:
    assert run_examples("docs/answers.md", session) == 4
    assert session["e"].found
    assert len(pd.read_csv("answers.csv")) == len(session["frame"])


def test_examples_about_classifiers_run(session: dict[str, Any]) -> None:
    assert run_examples("docs/classifiers.md", session) == 2
    assert session["e"].found
    again = session["explainer"].explain(session["row"], target="benign")
    assert np.isclose(again.posterior, 0.5, atol=0.01)


def test_examples_about_constraints_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples("docs/rules.md", {}) == 1
    assert "From 'setosa' to 'versicolor' in 4 steps" in capsys.readouterr().out


def test_benchmark_results_are_those_of_the_page() -> None:
    assert doctest.testmod(results).failed == 0
    tables = results.tables(results.PAGE.read_text(encoding="utf-8"))
    assert tables == json.loads(results.RESULTS.read_text(encoding="utf-8"))
    for table in tables:
        assert re.match(r"\d{4}-\d\d-\d\d", table["date"]), table["section"]
        assert table["machine"]
        assert table["command"].startswith(("python -m benchmarks.", "daace "))
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
