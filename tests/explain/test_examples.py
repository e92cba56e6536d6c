from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import daace

FOLDER = Path(__file__).parents[2] / "examples"

#: Its workers import it: it runs in a process of its own.
PARALLEL = FOLDER / "02_batch_and_json.py"

ALONE = [script for script in sorted(FOLDER.glob("0*.py")) if script != PARALLEL]


@pytest.mark.parametrize("script", ALONE, ids=lambda path: path.stem)
def test_examples_run(script, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(script), run_name="__main__")
    said = capfd.readouterr()
    assert said.out
    assert said.err == ""
    assert list(tmp_path.iterdir()), "it writes something"


def test_an_example_with_workers_runs(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(daace.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PARALLEL)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()), "it writes something"
