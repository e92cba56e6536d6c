"""The published numbers about counties, computed once more from the record with scipy alone.

Nothing of `daace` is imported, and EPA's files are not needed: record and page are read as files.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "eqi"
THREE = ("BayesACE", "FACE", "Wachter")
AIR, SOCIODEMOGRAPHIC = 0, 1  # in the order of a record


@pytest.fixture(scope="module")
def plans() -> list[dict[str, Any]]:
    lines = gzip.decompress((FOLDER / "records.gz").read_bytes()).decode().splitlines()
    records = [json.loads(line) for line in lines]
    return [r for r in records if r["kind"] == "recourse" and r["found"]]


@pytest.fixture(scope="module")
def page() -> str:
    return (FOLDER / "report.html").read_text(encoding="utf-8")


def parts_of(page: str, number: int) -> dict[str, tuple[str, str, str]]:
    """What a finding's parts say, with our numbers, the test and the verdict."""
    section = re.search(rf"<h3>{number}\. .*?</table>", page, re.DOTALL)
    assert section is not None
    rows = re.findall(r"<tr>(<td>.*?)</tr>", section[0], re.DOTALL)
    cells = [
        [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall("<td>(.*?)</td>", row)]
        for row in rows
    ]
    return {says: (ours, test, verdict) for says, ours, test, verdict in cells}


def matrix(plans: list[dict[str, Any]], penalty: float, column: str) -> np.ndarray:
    """One row per county, one column per algorithm."""
    found = {
        a: {
            r["fips"]: float(r[column])
            for r in plans
            if (r["algorithm"], r["mode"], r["penalty"]) == (a, "free", penalty)
        }
        for a in THREE
    }
    both = sorted(set.intersection(*(set(f) for f in found.values())))
    return np.array([[found[a][fips] for a in THREE] for fips in both])


def bergmann_hommel(values: np.ndarray, i: int, j: int) -> tuple[np.ndarray, float]:
    """Mean ranks of three, and the p-value of a pair; Friedman's where that is larger."""
    ranks = stats.rankdata(values, axis=1).mean(axis=0)
    spread = np.sqrt(3 * 4 / (6 * len(values)))
    p = {
        pair: 2 * stats.norm.sf(abs(ranks[pair[0]] - ranks[pair[1]]) / spread)
        for pair in combinations(range(3), 2)
    }
    # Of three algorithms either all are equal, or one pair is.
    adjusted = max(p[min(i, j), max(i, j)], 3 * min(p.values()))
    overall = stats.friedmanchisquare(*values.T).pvalue
    return ranks, float(max(overall, min(1.0, adjusted)))


def verdict_of(holds: bool, p: float) -> str:
    return "not significant" if p >= 0.05 else "holds" if holds else "does not hold"


def test_costs_and_sparsity(plans: list[dict[str, Any]], page: str) -> None:
    parts = parts_of(page, 6)
    assert len(parts) == 8
    for penalty in (3.0, 5.0, 10.0, 15.0):
        low = penalty <= 5
        cost, sparse = (matrix(plans, penalty, c) for c in ("cost", "path_sparsity"))
        first, second = (0, 1) if low else (1, 0)
        ours, test, verdict = parts[f"penalty {penalty:g}: {THREE[first]} cheaper"]
        ranks, p = bergmann_hommel(cost, first, second)
        share = (cost[:, 0] < cost[:, 1]).mean()
        positive = (cost[:, :2] > 0).all(axis=1)
        ratio = np.median(cost[positive, 0] / cost[positive, 1])
        assert ours == (
            f"at {penalty:g} BayesACE cheaper for {share:.0%} of {len(cost)}, median ratio "
            f"{ratio:.2g}; mean ranks "
            + ", ".join(f"{a} {x:.2f}" for a, x in zip(THREE, ranks, strict=True))
        )
        assert float(test.removeprefix("p = ")) == pytest.approx(p, rel=0.06)
        assert verdict == verdict_of(bool(ranks[first] < ranks[second]), p)
        name = 0 if low else 2
        ours, test, verdict = parts[f"penalty {penalty:g}: {THREE[name]} sparsest"]
        ranks, _ = bergmann_hommel(sparse, 0, 1)
        rival = min((k for k in range(3) if k != name), key=lambda k: ranks[k])
        _, p = bergmann_hommel(sparse, name, rival)
        middle = ", ".join(f"{a} {np.median(sparse[:, k]):g}" for k, a in enumerate(THREE))
        assert ours.startswith(f"median features {middle}; mean ranks ")
        assert float(test.removeprefix("p = ")) == pytest.approx(p, rel=0.06)
        assert verdict == verdict_of(bool(ranks[name] < ranks[rival]), p)


def test_changes_by_category(plans: list[dict[str, Any]], page: str) -> None:
    mine = [
        r for r in plans if (r["algorithm"], r["mode"], r["penalty"]) == ("BayesACE", "free", 5)
    ]
    change = np.array([np.array(r["before"]) - np.array(r["planned"]) for r in mine])
    category = np.array([r["category"] for r in mine])
    parts = parts_of(page, 4)
    best = change[category == category.min()][:, SOCIODEMOGRAPHIC]
    _, test, verdict = parts["good counties need sociodemographic"]
    p = float(stats.wilcoxon(best[best != 0]).pvalue)
    assert float(test.removeprefix("p = ")) == pytest.approx(p, rel=0.06)
    assert verdict == verdict_of(bool(best.mean() > 0), p)
    ours, test, verdict = parts["need in air falls (caption)"]
    found = stats.spearmanr(category, change[:, AIR])
    assert ours.endswith(f"air {found.statistic:+.2f}")
    assert float(test.removeprefix("p = ")) == pytest.approx(found.pvalue, rel=0.06)
    assert verdict == verdict_of(bool(found.statistic < 0), float(found.pvalue))


def test_conejos_is_summed(plans: list[dict[str, Any]], page: str) -> None:
    ours, test, _ = parts_of(page, 10)["smallest sum of changes over the domains by BayesACE"]
    assert test == "no test"
    for name in THREE:
        (r,) = [
            r
            for r in plans
            if (r["fips"], r["algorithm"], r["mode"], r["penalty"]) == (8021, name, "free", 5)
        ]
        total = float(np.sum(r["before"]) - np.sum(r["planned"]))
        assert f"{name} {total:+.2f}" in ours


def test_negative_costs_are_disclosed(plans: list[dict[str, Any]], page: str) -> None:
    negative = sum(float(r["cost"]) < 0 for r in plans)
    assert f"{negative} of all {len(plans):,} plans, of any rules, have a negative cost" in page


def test_the_plans_have_the_papers_vertices(plans: list[dict[str, Any]]) -> None:
    free = [r["vertices"] for r in plans if (r["algorithm"], r["mode"]) == ("BayesACE", "free")]
    assert set(free) <= {0, 1, 2, 3}
    assert 3 in free
