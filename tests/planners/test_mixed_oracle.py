"""PathOptimizer over numbers and codes against the oracle, on a few of the benchmark's problems."""

from __future__ import annotations

import pytest

from benchmarks import atom_oracle
from benchmarks.mixed_oracle import compare


@pytest.mark.parametrize("number", [0, 7, 11, 13, 21, 30])
def test_paths_come_close_to_the_cheapest(number: int) -> None:
    row = compare(number, cells=(60, 120))
    assert row["valid"]
    assert row["oracle error"] < 0.03  # type: ignore[operator]
    assert row["ratio"] < 1.03  # type: ignore[operator]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 18])
def test_paths_with_atoms_come_close_to_the_cheapest(number: int) -> None:
    row = atom_oracle.compare(number, finest=0.1)
    assert row["valid"]
    assert row["oracle error"] < 0.04  # type: ignore[operator]
    assert row["ratio"] < 1.04  # type: ignore[operator]
