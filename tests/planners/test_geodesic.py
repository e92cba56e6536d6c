"""PathOptimizer against the exact geodesic, on a few of the benchmark's problems."""

from __future__ import annotations

import pytest

from benchmarks.geodesic import rows


@pytest.mark.parametrize("first", [0, 7, 14])
def test_paths_come_within_a_percent_of_the_geodesic(first: int) -> None:
    for row in rows(cells=(250, 500), only=slice(first, first + 7, 6)):
        assert row["oracle error"] < 0.01  # type: ignore[operator]
        assert row["v = 8"] < 1.015  # type: ignore[operator]
        assert row["v <= 3"] < (1.2 if row["walls"] else 1.05)  # type: ignore[operator]
