"""Damaged files and records are refused by name, or can be used; in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("mutants.py")


@pytest.mark.parametrize(("what", "mutants"), [("models", 400), ("json", 400)])
def test_mutants_are_refused_or_can_be_used(what, mutants):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), what, "0", str(mutants)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert report["peak_bytes"] < 1e9
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) == mutants
    assert outcomes["refused"] > mutants / 2
    assert outcomes["used"] > mutants / 50
