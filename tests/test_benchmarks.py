"""The benchmark page and its JSON agree."""

from __future__ import annotations

import doctest
import json
import re

from benchmarks import results


def test_benchmark_results_are_those_of_the_page() -> None:
    assert doctest.testmod(results).failed == 0
    tables = results.tables(results.PAGE.read_text(encoding="utf-8"))
    assert tables == json.loads(results.RESULTS.read_text(encoding="utf-8"))
    for table in tables:
        assert re.match(r"\d{4}-\d\d-\d\d", table["date"]), table["section"]
        assert table["machine"]
        assert table["command"].startswith(("python -m benchmarks.", "daace "))
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
