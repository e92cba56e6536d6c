"""Examples in the docstrings run, and the package is typed. Style and types: `make lint`."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import signal
from pathlib import Path

import pytest

import daace

MODULES = sorted(module.name for module in pkgutil.walk_packages(daace.__path__, "daace."))


@pytest.mark.parametrize("module", ["daace", *MODULES])
def test_the_examples_in_the_docstrings_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    source = importlib.import_module(module)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        for example in doctest.DocTestFinder().find(source, module):
            runner.run(example, out=report.append)
    finally:
        signal.signal(signal.SIGINT, before)
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
