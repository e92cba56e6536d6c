"""The README's Python runs, as one session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
