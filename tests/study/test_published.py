"""The published numbers, computed once more from the committed record with scipy alone.

Nothing of `daace` is imported: record and page are read as files, and every rank, p-value and
median of a claim is made here in the plainest way.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from .recomputed import (
    PROBLEM,
    SEVEN,
    decisive_p,
    mean_ranks,
    medians,
    read,
    scores_of,
    wilcoxon,
)

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "synthetic"
MEASURE = {"b": "cost_nll", "c": "cost_nll", "d": "l2", "e": "path_sparsity", "f": "to_face_gt",
           "j": "cost_nll"}  # fmt: skip


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return read(FOLDER / "records.gz")


@pytest.fixture(scope="module")
def page() -> str:
    return (FOLDER / "report.html").read_text(encoding="utf-8")


def rows_of(page: str, letter: str) -> list[list[str]]:
    """The cells of a claim's table: part, ranks of all, the two alone, by table, verdict."""
    section = re.search(rf"<h3>\({letter}\).*?</table>", page, re.DOTALL)
    assert section is not None
    rows = re.findall(r"<tr>(<td>.*?)</tr>", section[0], re.DOTALL)
    return [
        [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall("<td>(.*?)</td>", row)]
        for row in rows
    ]


def close(shown: str, value: float) -> bool:
    """Whether a p-value with two digits is a rounded one."""
    return float(shown) == pytest.approx(value, rel=0.06, abs=1e-300)


def measure_of(letter: str, number: int) -> str:
    if letter == "g":
        return "seconds" if number < 2 else "seconds_with_graph"
    return MEASURE[letter]


@pytest.mark.parametrize(
    ("letter", "pairs", "extremes"),
    [("b", 12, 0), ("c", 4, 0), ("d", 6, 1), ("e", 4, 2), ("f", 3, 1), ("g", 5, 1), ("j", 1, 0)],
)
def test_ranks_p_values_and_medians(
    records: list[dict[str, Any]], page: str, letter: str, pairs: int, extremes: int
) -> None:
    seen = [0, 0]
    for number, (part, ours, alone, _, verdict) in enumerate(rows_of(page, letter)):
        scores = scores_of(
            records, measure_of(letter, number), part,
            solved="BayesACE" if "finds something" in part else "",
        )  # fmt: skip
        ranks, middle = mean_ranks(scores), medians(scores)
        pair = re.match(r"mean ranks (\S+) and (\S+), p = (\S+); medians (\S+) and (\S+)$", ours)
        listed = re.match(r"mean ranks \(medians\) (.*); (.+) < (.+): p = (\S+)$", ours)
        if pair is not None:
            a, b = re.split(r" < | and | is not lower than ", re.sub(r", .*| do not.*", "", part))
            assert [float(x) for x in pair.groups()[:2]] == pytest.approx(
                [ranks[a], ranks[b]], abs=0.0051
            )
            assert [float(x) for x in pair.groups()[3:]] == pytest.approx(
                [middle[a], middle[b]], abs=0.0051
            )
            p, shown = decisive_p(scores, a, b), pair[3]
            seen[0] += 1
        elif listed is not None:
            for entry in listed[1].split(", "):
                name, rank, median = re.match(r"(.+) (\S+) \((\S+)\)$", entry).groups()  # type: ignore[union-attr]
                assert float(rank) == pytest.approx(ranks[name], abs=0.0051)
                assert float(median) == pytest.approx(middle[name], abs=0.0051)
            a, b = listed[2], listed[3]
            p, shown = decisive_p(scores, a, b), listed[4]
            seen[1] += 1
        else:
            continue
        assert close(shown, p), part
        lower = p < 0.05 and ranks[a] < ranks[b]
        if "do not differ" in part:
            expected = "does not hold" if p < 0.05 else "holds"
        elif "is not lower" in part:
            expected = "does not hold" if lower else "holds"
        else:
            expected = "holds" if lower else "not significant" if p >= 0.05 else "does not hold"
        assert verdict == expected, part
        won, lost, of, p_alone = wilcoxon(scores, a, b)
        assert alone.startswith(f"lower on {won} of {of} problems, higher on {lost};"), part
        assert close(alone.rpartition(" ")[2], p_alone), part
    assert seen == [pairs, extremes]


def test_ranks_by_vertices(records: list[dict[str, Any]], page: str) -> None:
    rows = rows_of(page, "a")
    assert len(rows) == 6
    for part, ours, *_ in rows:
        family, _, which = re.search(r"\((NSGA2 \w+)(, (.+))?\)", part).groups()  # type: ignore[union-attr]
        keep = {None: lambda p: True, "penalty 1": lambda p: p == 1}.get(which, lambda p: p > 1)
        by_problem: dict[tuple[Any, ...], dict[str, float]] = {}
        for r in records:
            if r.get("algorithm", "").startswith(f"{family} v=") and keep(r["penalty"]):
                score = float(r["cost_nll"]) if r["found"] else np.inf
                vertices = r["algorithm"].rpartition(" ")[2]
                by_problem.setdefault(tuple(r[p] for p in PROBLEM), {})[vertices] = score
        names = ["v=0", "v=1", "v=2", "v=3"]
        scores = {v: np.array([s[v] for s in by_problem.values()]) for v in names}
        ranks = mean_ranks(scores)
        listed, a, b, p = re.match(
            r"mean ranks \(medians\) (.*); (.+) < (.+): p = (\S+)$", ours
        ).groups()  # type: ignore[union-attr]
        shown = {entry.split()[0]: float(entry.split()[1]) for entry in listed.split(", ")}
        assert shown == pytest.approx(ranks, abs=0.0051)
        assert close(p, decisive_p(scores, a, b)), part


def test_densities(records: list[dict[str, Any]], page: str) -> None:
    rows = rows_of(page, "h")
    assert len(rows) == 4
    tables = [r for r in records if r.get("kind") == "densities"]
    for (part, ours, _, by_table, _), (measure, a, b) in zip(
        rows,
        [(m, *pair) for m in ("nll", "squared_error")
         for pair in (("truth", "realnvp"), ("realnvp", "clgn"))],
        strict=True,
    ):  # fmt: skip
        difference = np.array([r[measure][a] - r[measure][b] for r in tables])
        assert f"median difference {np.median(difference):.3g} [" in by_table, part
        p = float(stats.wilcoxon(difference).pvalue)
        assert by_table.endswith(f"N = {len(tables)}, p = {p:.2g}"), part
        lower = sum(
            pair["p_value"] < 0.05 and pair["effect"] < 0
            for r in tables
            for pair in r["pairs"]
            if (pair["measure"], pair["first"], pair["second"]) == (measure, a, b)
        )
        assert f"significantly lower on {lower} of {len(tables)} tables" in ours


def test_settings(records: list[dict[str, Any]], page: str) -> None:
    rows = rows_of(page, "i")
    assert len(rows) == 3
    settings = sorted({tuple(r[p] for p in PROBLEM[2:]) for r in records if "penalty" in r})
    for part, ours, *_ in rows:
        a, b = part.partition(" in cost")[0].split(" < ")
        lower = won = lost = 0
        for setting in settings:
            here = [r for r in records if tuple(r.get(p) for p in PROBLEM[2:]) == setting]
            scores = scores_of(here, "cost_nll", "")
            ranks, p = mean_ranks(scores), decisive_p(scores, a, b)
            lower += ranks[a] < ranks[b]
            won += p < 0.05 and ranks[a] < ranks[b]
            lost += p < 0.05 and ranks[a] > ranks[b]
        assert ours == (
            f"lower mean rank in {lower} of {len(settings)} settings; significantly lower in "
            f"{won}, higher in {lost}"
        )


def test_counts_of_what_was_found_and_of_starts_that_are_there(
    records: list[dict[str, Any]], page: str
) -> None:
    there: set[tuple[Any, ...]] = set()
    for name in SEVEN:
        mine = [r for r in records if r.get("algorithm") == name]
        starts = [r for r in mine if r["status"] == "already_there"]
        there |= {tuple(r[p] for p in PROBLEM) for r in starts}
        found = sum(r["found"] for r in mine)
        row = f"<td>{name}</td><td>{len(mine)}</td><td>{found / len(mine):.1%}</td>"
        assert f"{row}<td>{len(starts)}</td>" in page
    assert f"On {len(there)} of 1200 problems the start is already there" in page


def test_the_record_is_of_the_study_beside_it(records: list[dict[str, Any]]) -> None:
    planners = {r["planner"] for r in records if r.get("algorithm") == "FACE-DE"}
    assert planners == {"Face(graph='density', nodes=1000)"}
    assert sum(r.get("algorithm") in SEVEN for r in records) == 7 * 1200


@pytest.mark.parametrize("name", ["README.md", "report.html"])
def test_what_the_paper_does_is_known(name: str) -> None:
    assert "not known" not in (FOLDER / name).read_text(encoding="utf-8")
