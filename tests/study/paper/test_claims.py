from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daace.study.contest import Statement
from daace.study.paper import PAPER
from daace.study.paper.claims import Claim, check_claims
from daace.study.results import StudyResults, read_results

from ..made_up import NAMES, made_up, records


def claim(results: StudyResults, letter: str) -> Claim:
    return next(c for c in check_claims(results) if c.letter == letter)


def test_a_claim_counts_the_parts_that_hold() -> None:
    results = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)))
    assert claim(results, "b").outcome == "6 of 6 parts hold"
    parts = {check.what: check.verdict for check in claim(results, "i").parts}
    assert parts == {  # a rank apart in 24 problems is not significant, three are
        "BayesACE < FACE-eps in cost, in almost all settings": "holds",
        "FACE-DE < FACE-eps in cost, in almost all settings": "not significant",
        "Wachter < FACE-eps in cost, in almost all settings": "does not hold",
    }
    assert claim(results, "i").outcome == "1 of 3 parts hold"
    assert claim(results, "a").outcome == claim(results, "h").outcome == "not run"


def test_the_distance_to_face_gt_is_standardised_over_the_others() -> None:
    costs = dict(zip(NAMES, (1, 2, 3, 400, 5, 6, 7), strict=True))
    far = claim(made_up(costs, noise=0), "f").parts[0]
    # (1, 2, 3, 5, 6, 7) have mean 4 and deviation 2.16; with FACE GT all others would be alike.
    assert "DAACE GT 1.00 (-1.39), DAACE 2.00 (-0.93), BayesACE 3.00 (-0.46)" in far.ours
    assert "FACE GT" not in far.ours.replace("DAACE GT", "")


def test_paths_over_the_truth_are_also_compared_by_exact_integrals() -> None:
    costs = dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True))
    rough = [r | {"own_cost": 5 - r["own_cost"]} for r in records(costs, noise=0)]
    results = StudyResults(
        made_up(costs).plan, tuple(rough), PAPER.reference
    )  # the midpoints say the contrary
    *by_midpoints, exact = claim(results, "b").parts
    assert all(check.verdict == "holds" for check in by_midpoints)
    assert exact.verdict == "does not hold"
    assert exact.ours == "median ratio 4.00"
    assert exact.wilcoxon.startswith("lower on 0 of 96")
    assert claim(results, "b").outcome == "6 of 6 parts hold"  # the paper's


def test_a_claim_does_not_hold_when_the_numbers_say_the_contrary() -> None:
    results = made_up(dict(zip(NAMES, (7, 6, 5, 4, 3, 2, 1), strict=True)))
    assert {check.verdict for check in claim(results, "b").parts} == {"does not hold"}
    assert claim(results, "b").outcome == "0 of 6 parts hold"


def test_no_difference_is_not_significant() -> None:
    results = made_up(dict.fromkeys(NAMES, 1.0), noise=0)
    assert {check.verdict for check in claim(results, "b").parts} == {"not significant"}
    assert "p = " in claim(results, "b").parts[0].by_table


def test_what_finds_nothing_loses() -> None:
    results = made_up({"DAACE": 1.0, "FACE-DE": np.inf, "FACE GT": 2.0, "DAACE GT": 1.0})
    checks = {check.what: check for check in claim(results, "b").parts}
    assert checks["DAACE < FACE-DE, penalty 5"].verdict == "holds"
    assert "lower on 48 of 48" in checks["DAACE < FACE-DE, penalty 5"].wilcoxon


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (("holds", "holds"), "2 of 2 parts hold"),
        (("holds", "not significant"), "1 of 2 parts hold"),
        (("not significant", "does not hold"), "0 of 2 parts hold"),
        (("holds", "not run"), "holds"),
        (("not run",), "not run"),
    ],
)
def test_a_claim_is_told_by_its_parts(parts: tuple[Any, ...], whole: str) -> None:
    checks = tuple(Statement(what="", verdict=part) for part in parts)
    ours = Statement(what="", verdict="holds", counted=False)
    assert Claim("a", "", (*checks, ours)).outcome == whole


def test_a_compact_record_gives_the_same_claims(whole: Path, tmp_path: Path) -> None:
    full = read_results(whole, reference=PAPER.reference)
    full.write_compact(tmp_path / "small.gz")
    small = read_results(tmp_path / "small.gz", reference=PAPER.reference)
    assert check_claims(small) == check_claims(full)
    assert (tmp_path / "small.gz").stat().st_size < (whole / "records.jsonl").stat().st_size / 4
