from __future__ import annotations

import re
from pathlib import Path

from daace.study.paper import PAPER
from daace.study.report import write_report
from daace.study.results import StudyResults

from ..made_up import NAMES, made_up, records


def test_starts_that_are_already_there_are_counted_and_left_out_once(
    tmp_path: Path, no_pictures: None
) -> None:
    """Where a start needs no change, its cost of 0 must not decide a claim unseen."""
    costs = dict(zip(NAMES, (7, 6, 5, 4, 3, 2, 1), strict=True))
    made = [
        r | {"status": "already_there", "cost_nll": 0.0, "own_cost": 0.0}
        if r["algorithm"] == "DAACE GT" and r["table"] not in ("t0", "t1", "t2", "t3", "t4")
        else r
        for r in records(costs, noise=0.01)
    ]
    results = StudyResults({**made_up(costs).plan, "differences": []}, tuple(made), PAPER.reference)
    assert len(results.already_there) == 19 * 4
    assert len(results.without(results.already_there).problems) == 5 * 4 * len(NAMES)
    results.write_compact(tmp_path / "there.gz")
    text = write_report(tmp_path / "there.gz", tmp_path, client=PAPER).read_text("utf-8")
    assert "On 76 of 96 problems the start is already there" in text
    assert "(b) DAACE GT &lt; FACE GT, penalty 1 (does not hold)" in text
    row = re.search(r"<td>DAACE GT</td><td>96</td><td>100.0%</td><td>(\d+)</td>", text)
    assert row is not None
    assert row[1] == "76"
