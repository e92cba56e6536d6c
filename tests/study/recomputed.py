"""Ranks, p-values and medians in the plainest way, with scipy alone.

Nothing of `daace` is imported: a record is read as a file. What is published is compared with this.
"""

from __future__ import annotations

import gzip
import json
import re
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

PROBLEM = ("table", "instance", "penalty", "plausibility", "certainty")
SEVEN = ("DAACE GT", "DAACE", "BayesACE", "FACE GT", "FACE-DE", "FACE-eps", "Wachter")

Scores = dict[str, np.ndarray]


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a compact record."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def scores_of(
    records: list[dict[str, Any]], measure: str, part: str, *, solved: str = ""
) -> Scores:
    """One array per algorithm over the problems that a part is about; infinite if not found."""
    penalty, m = (re.search(rf"{word} (-?[\d.]+)", part) for word in ("penalty", "m ="))
    names = [name for name in SEVEN if (name, measure) != ("FACE GT", "to_face_gt")]
    by_problem: dict[tuple[Any, ...], dict[str, float]] = {}
    for r in records:
        if r.get("algorithm") not in names:
            continue
        if penalty and r["penalty"] != float(penalty[1]):
            continue
        if m and r["plausibility"] != float(m[1]):
            continue
        run = r["run"]
        values = {**r, "seconds": run["seconds"],
                  "seconds_with_graph": run["seconds"] + run["graph_seconds"]}  # fmt: skip
        score = float(values[measure]) if r["found"] else np.inf
        by_problem.setdefault(tuple(r[p] for p in PROBLEM), {})[r["algorithm"]] = score
    whole = [scores for scores in by_problem.values() if len(scores) == len(names)]
    if solved:
        whole = [scores for scores in whole if np.isfinite(scores[solved])]
    return {name: np.array([scores[name] for scores in whole]) for name in names}


def mean_ranks(scores: Scores) -> dict[str, float]:
    ranks = stats.rankdata(np.column_stack(list(scores.values())), axis=1).mean(axis=0)
    return dict(zip(scores, ranks.tolist(), strict=True))


def groupings(size: int) -> list[tuple[int, ...]]:
    """All ways in which some algorithms could be equal: each gets the number of its group."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(size):
        found = [(*groups, g) for groups in found for g in range(max((-1, *groups)) + 2)]
    return found


def corrected(scores: Scores) -> dict[frozenset[str], float]:
    """The p-value of every pair by Bergmann and Hommel, over all ways in which some are equal."""
    names, many = list(scores), len(next(iter(scores.values())))
    ranks, k = mean_ranks(scores), len(names)
    spread = np.sqrt(k * (k + 1) / (6 * many))
    p = {
        frozenset(pair): 2 * stats.norm.sf(abs(ranks[pair[0]] - ranks[pair[1]]) / spread)
        for pair in combinations(names, 2)
    }
    found = dict.fromkeys(p, 0.0)
    for groups in groupings(k):
        equal = [
            frozenset((x, y))
            for (x, gx), (y, gy) in combinations(zip(names, groups, strict=True), 2)
            if gx == gy
        ]
        if equal:
            least = len(equal) * min(p[pair] for pair in equal)
            for pair in equal:
                found[pair] = max(found[pair], least)
    return {pair: float(min(1.0, value)) for pair, value in found.items()}


def overall_p(scores: Scores) -> float:
    """Friedman's p-value; for two, which it is not made for, 0."""
    largest = 2 * max(v[np.isfinite(v)].max() for v in scores.values())  # ranks are all that counts
    finite = [np.where(np.isfinite(v), v, largest) for v in scores.values()]
    return float(stats.friedmanchisquare(*finite).pvalue) if len(finite) > 2 else 0.0


def decisive_p(scores: Scores, a: str, b: str) -> float:
    """Friedman's p-value, or that of the pair by Bergmann and Hommel if it is larger."""
    return max(overall_p(scores), corrected(scores)[frozenset((a, b))])


def medians(scores: Scores) -> dict[str, float]:
    values = np.column_stack(list(scores.values()))
    values[~np.isfinite(values)] = np.nan
    spread = np.nanstd(values, axis=1, keepdims=True)
    standard = (values - np.nanmean(values, axis=1, keepdims=True)) / np.where(
        spread > 0, spread, 1
    )
    return dict(zip(scores, np.nanmedian(standard, axis=0).tolist(), strict=True))


def wilcoxon(scores: Scores, a: str, b: str) -> tuple[int, int, int, float]:
    """Problems won, lost and counted, and the p-value; a problem that one missed is the worst."""
    x, y = scores[a], scores[b]
    some = np.isfinite(x) | np.isfinite(y)
    x, y = x[some], y[some]
    both = np.isfinite(x) & np.isfinite(y)
    difference = np.where(np.isfinite(x), -1.0, 1.0) * 2 * np.abs(x[both] - y[both]).max()
    difference[both] = x[both] - y[both]
    apart = difference[difference != 0]
    won, lost = int((apart < 0).sum()), int((apart > 0).sum())
    return won, lost, len(x), float(stats.wilcoxon(apart).pvalue)


def votes(leads: list[float]) -> tuple[float, float, tuple[float, float]]:
    """Median, p-value by all choices of signs, and 95% interval by order statistics."""
    values = np.array(leads)
    apart = values[values != 0]
    p = 1.0
    if len(apart):
        ranks = stats.rankdata(np.abs(apart))
        signs = np.array(list(product((0, 1), repeat=len(apart))))
        sums, own = signs @ ranks, ranks[apart > 0].sum()
        p = min(1.0, 2 * min((sums <= own + 1e-9).mean(), (sums >= own - 1e-9).mean()))
    ordered = np.sort(values)
    low = int(stats.binom.ppf(0.025, len(values), 0.5))
    interval = (
        float(ordered[max(low - 1, 0)]),
        float(ordered[min(len(values) - low, len(values) - 1)]),
    )
    return float(np.median(values)), float(p), interval
