"""Style, types, and the examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import daace

ROOT = Path(__file__).parents[1]
MODULES = sorted(module.name for module in pkgutil.walk_packages(daace.__path__, "daace."))
TOOLS = {
    "ruff check": ["ruff", "check", "--no-cache", "."],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "."],
    "mypy": ["mypy"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_has_nothing_to_say(tool: str) -> None:
    pytest.importorskip(TOOLS[tool][0], reason=f"{TOOLS[tool][0]} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", *TOOLS[tool]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["daace", *MODULES])
def test_the_examples_in_the_docstrings_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    source = importlib.import_module(module)
    for example in doctest.DocTestFinder().find(source, module):
        runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_there_are_examples_in_the_docstrings() -> None:
    finder = doctest.DocTestFinder()
    examples = [
        example
        for module in MODULES
        for test in finder.find(importlib.import_module(module), module)
        for example in test.examples
    ]
    assert len(examples) > 20


def test_the_package_is_typed() -> None:
    assert (Path(daace.__file__).parent / "py.typed").exists()
