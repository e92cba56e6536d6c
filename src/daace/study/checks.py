"""Parts of a claim, tested on the records of a study: over problems, and a vote per table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from daace.study.results import PROBLEM, Results
from daace.study.statistics import compare_two, friedman, rank_scores, standardise

Verdict = Literal["holds", "does not hold", "not significant", "not run"]

#: Level of significance.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Check:
    """One sentence of a claim, and what the records say.

    Attributes:
        what: the sentence.
        ours: our number, in words.
        verdict: 'holds', 'does not hold', 'not significant' or 'not run'.
        by_table: the same, with one vote per table.
    """

    what: str
    ours: str
    verdict: Verdict
    by_table: str = ""


def judge(p_value: float, effect: float) -> Verdict:
    """Return what a test says about 'the first is lower'.

    Example:
        >>> judge(0.01, -0.5), judge(0.01, 0.5), judge(0.2, -0.5)
        ('holds', 'does not hold', 'not significant')
    """
    if not p_value < ALPHA:
        return "not significant"
    return "holds" if effect < 0 else "does not hold"


class Pairs:
    """Pairwise tests, over all problems and with one vote per table."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def __call__(
        self, measure: str, a: str, b: str, where: pd.Series | None = None, note: str = ""
    ) -> Check:
        """Check that the first is lower than the second."""
        return self._check(measure, a, b, where, f"{a} < {b}{note}", judge)

    def alike(self, measure: str, a: str, b: str) -> Check:
        """Check that two do not differ."""

        def verdict(p_value: float, effect: float) -> Verdict:
            return "holds" if p_value >= ALPHA else "does not hold"

        return self._check(measure, a, b, None, f"{a} and {b} do not differ", verdict)

    def _check(
        self,
        measure: str,
        a: str,
        b: str,
        where: pd.Series | None,
        what: str,
        verdict: Callable[[float, float], Verdict],
    ) -> Check:
        scores = self.results.scores(measure, where)
        if not {a, b} <= set(scores.columns) or scores.empty:
            return Check(what=what, ours="", verdict="not run")
        test = compare_two(scores[a].tolist(), scores[b].tolist())
        medians = standardise(scores)[[a, b]].median()
        ours = (
            f"medians {medians[a]:.2f} and {medians[b]:.2f}; lower on {test.wins} of "
            f"{test.problems} problems, higher on {test.losses}; effect {test.effect:+.2f}, "
            f"p = {test.p_value:.2g}"
        )
        return Check(
            what=what,
            ours=ours,
            verdict=verdict(test.p_value, test.effect),
            by_table=describe_by_table(scores, a, b),
        )


def by_table(scores: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Return, table by table, the share of problems on which a is lower minus higher."""
    ranks = rank_scores(scores[[a, b]])
    lead = (ranks[a] < ranks[b]).astype(float) - (ranks[b] < ranks[a]).astype(float)
    return lead.groupby(level="table").mean()


def describe_by_table(scores: pd.DataFrame, a: str, b: str) -> str:
    """Test with one vote per table: problems of one table are not independent."""
    votes = by_table(scores, a, b)
    test = compare_two((-votes).tolist(), [0.0] * len(votes))
    low, high = test.interval
    return (
        f"median lead {-test.median:+.2f} [{-high:+.2f}, {-low:+.2f}], N = {len(votes)}, "
        f"p = {test.p_value:.2g}"
    )


def extreme(
    results: Results,
    measure: str,
    name: str,
    where: pd.Series | None = None,
    note: str = "",
    *,
    best: bool = True,
    without: str = "",
) -> Check:
    """Check that one algorithm has the best (or worst) mean rank, and differs from the next."""
    what = f"{name} has the {'lowest' if best else 'highest'} mean rank{note}"
    scores = results.scores(measure, where).drop(columns=without or [], errors="ignore")
    if name not in scores.columns or scores.shape[1] < 2 or scores.empty:
        return Check(what=what, ours="", verdict="not run")
    found = friedman(scores)
    order = found.mean_ranks.sort_values(ascending=best)
    ours = ", ".join(f"{a} {rank:.2f}" for a, rank in order.items())
    rival = order.index[1] if order.index[0] == name else order.index[0]
    pair = (name, rival) if best else (rival, name)
    test = compare_two(scores[pair[0]].tolist(), scores[pair[1]].tolist())
    verdict = judge(test.p_value, test.effect) if order.index[0] == name else "does not hold"
    return Check(what=what, ours=f"mean ranks {ours}; p = {test.p_value:.2g}", verdict=verdict)


def mean_ranks_by_vertices(frame: pd.DataFrame) -> tuple[pd.Series, float] | None:
    """Return mean ranks of the cost under the truth by number of vertices, and Friedman's p."""
    if frame.empty:
        return None
    cost = frame["cost_nll"].astype(float).where(frame["found"].astype(bool), np.inf)
    wide = frame.assign(cost=cost).pivot(index=PROBLEM, columns="vertices", values="cost").dropna()
    if wide.shape[1] < 2 or len(wide) < 2:
        return None
    found = friedman(wide)
    return found.mean_ranks, found.p_value
