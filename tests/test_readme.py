"""The README's Python runs, as one session; the benchmark page and its JSON agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import results

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 3
    session: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), session)
    assert session["e"].found  # type: ignore[attr-defined]
    assert {path.name for path in tmp_path.iterdir()} == {"why.html", "model.daace"}


def test_benchmark_results_are_those_of_the_page() -> None:
    tables = results.tables(results.PAGE.read_text(encoding="utf-8"))
    assert tables == json.loads(results.RESULTS.read_text(encoding="utf-8"))
    for table in tables:
        assert re.match(r"\d{4}-\d\d-\d\d", table["date"]), table["section"]
        assert table["machine"]
        assert table["command"].startswith(("python -m benchmarks.", "daace "))
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
