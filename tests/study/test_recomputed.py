"""Every number that the page rests on agrees with an independent recomputation to 1e-9.

The page prints two digits; here the functions behind it are asked, on the committed record.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from daace.study.contest import Contest, compare_by_table
from daace.study.figures import rank_diagram
from daace.study.paper import PAPER
from daace.study.report import write_report
from daace.study.results import StudyResults, read_results
from daace.study.statistics import standardise

from . import recomputed as plain

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "synthetic"
MEASURES = ("cost_nll", "cost_relative", "l2", "path_sparsity", "to_face_gt", "seconds",
            "seconds_with_graph")  # fmt: skip


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return plain.read(FOLDER / "records.gz")


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return read_results(FOLDER / "records.gz", reference=PAPER.reference)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("setting", ["", "penalty 1", "penalty 15", "m = -0.5"])
def test_ranks_p_values_and_medians(
    results: StudyResults, records: list[dict[str, Any]], measure: str, setting: str
) -> None:
    column, value = {"": ("", 0.0), "m = -0.5": ("plausibility", -0.5)}.get(
        setting, ("penalty", float(setting.rpartition(" ")[2] or 0))
    )
    frame = results.problems
    contest = Contest.of(results, measure, frame[column] == value if column else None)
    scores = plain.scores_of(records, measure, setting)
    assert len(contest.scores) == len(next(iter(scores.values())))
    near = {"rel": 1e-9, "abs": 1e-9}
    assert contest.test.mean_ranks.to_dict() == pytest.approx(plain.mean_ranks(scores), **near)
    assert contest.test.p_value == pytest.approx(plain.overall_p(scores), **near)
    pairs = plain.corrected(scores)
    for a, b in combinations(scores, 2):
        expected = max(plain.overall_p(scores), pairs[frozenset((a, b))])
        assert contest.p_value(a, b) == pytest.approx(expected, **near), (a, b)
    middle = standardise(contest.scores).median().to_dict()
    assert middle == pytest.approx(plain.medians(scores), **near)


@pytest.mark.parametrize("measure", MEASURES)
def test_two_alone_and_one_vote_per_table(
    results: StudyResults, records: list[dict[str, Any]], measure: str
) -> None:
    contest = Contest.of(results, measure)
    tables = {r["table"] for r in records if r.get("algorithm") in plain.SEVEN}
    by_table = {
        t: plain.scores_of([r for r in records if r.get("table") == t], measure, "") for t in tables
    }
    scores = plain.scores_of(records, measure, "")
    for a, b in combinations(scores, 2):
        won, lost, of, p = plain.wilcoxon(scores, a, b)
        test = contest.compare_two(a, b)
        assert (test.wins, test.losses, test.problems) == (won, lost, of)
        assert test.p_value == pytest.approx(p, rel=1e-9, abs=1e-9)
        votes = [
            ((own[a] < own[b]).sum() - (own[b] < own[a]).sum()) / len(own[a])
            for own in by_table.values()
        ]
        vote, many = compare_by_table(contest.scores, a, b)
        median, p_vote, interval = plain.votes(votes)
        assert many == len(votes)
        assert vote.p_value == pytest.approx(p_vote, rel=1e-9, abs=1e-9), (a, b)
        assert -vote.median == pytest.approx(median, abs=1e-9)
        assert (-vote.interval[1], -vote.interval[0]) == pytest.approx(interval, abs=1e-9)


def test_the_page_follows_from_the_record(
    results: StudyResults, tmp_path: Path, no_pictures: None
) -> None:
    """All of its text byte for byte, and one picture; `make results` writes all of it."""
    client = replace(PAPER, draw_figures=lambda results: iter(()))
    ours = body(write_report(FOLDER / "records.gz", tmp_path, client=client))
    published = body(FOLDER / "report.html")
    head, tail = "<h2>Figures</h2>", "<h2>One vote"
    assert ours.partition(head)[0] == published.partition(head)[0]
    assert ours.partition(tail)[2] == published.partition(tail)[2]
    picture = b64encode(rank_diagram(results.scores("cost_nll")).to_svg()).decode()
    assert picture in published


def body(page: Path) -> str:
    """A page without the style that it shares with all other pages."""
    text = page.read_text(encoding="utf-8")
    return text.partition("</style>")[2]
