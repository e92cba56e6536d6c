from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import daace

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("script", sorted(FOLDER.glob("0*.py")), ids=lambda path: path.stem)
def test_examples_run(script, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(daace.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()), "it writes something"
