"""Parts of a claim, tested on the records of a study.

All algorithms of a comparison are ranked on each problem. Friedman's test and, if it rejects,
Bergmann and Hommel's correction of all pairs decide; Wilcoxon's test of the two algorithms alone
and a vote per table are given beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pandas as pd

from daace.study.results import Results
from daace.study.statistics import (
    Friedman,
    PairedTest,
    compare_all,
    compare_two,
    friedman,
    rank_scores,
    standardise,
)

Verdict = Literal["holds", "does not hold", "not significant", "not run"]

#: Level of significance.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Check:
    """One sentence of a claim, and what the records say.

    Attributes:
        what: the sentence.
        ours: our numbers, which decide.
        verdict: 'holds', 'does not hold', 'not significant' or 'not run'.
        wilcoxon: the two algorithms alone, by Wilcoxon's signed ranks.
        by_table: the two algorithms with one vote per table.
        of_paper: whether the paper says so; otherwise it is ours, and not counted.
    """

    what: str
    ours: str = ""
    verdict: Verdict = "not run"
    wilcoxon: str = ""
    by_table: str = ""
    of_paper: bool = True


def judge(p_value: float, effect: float) -> Verdict:
    """Return what a test says about 'the first is lower'.

    Example:
        >>> judge(0.01, -0.5), judge(0.01, 0.5), judge(0.2, -0.5)
        ('holds', 'does not hold', 'not significant')
    """
    if not p_value < ALPHA:
        return "not significant"
    return "holds" if effect < 0 else "does not hold"


@dataclass(frozen=True, eq=False)
class Contest:
    """Several algorithms on the same problems, by one measure; lower is better.

    Args:
        scores: one row per problem, one column per algorithm; infinite where nothing was found.
        note: which problems these are, as the end of a sentence.

    Example:
        >>> scores = pd.DataFrame({"a": [1.0] * 6, "b": [2.0] * 6, "c": [3.0] * 6})
        >>> contest = Contest(scores)
        >>> contest.lower("a", "c").verdict, contest.lower("c", "a").verdict
        ('holds', 'does not hold')
        >>> contest.lowest("a").what, contest.lowest("a").verdict
        ('a has the lowest mean rank', 'not significant')
    """

    scores: pd.DataFrame
    note: str = ""

    @classmethod
    def of(
        cls, results: Results, measure: str, where: pd.Series | None = None, note: str = ""
    ) -> Contest:
        """Return the contest of the compared algorithms on some problems of a study."""
        return cls(results.scores(measure, where), note)

    def lower(self, a: str, b: str) -> Check:
        """Check that the first is lower than the second."""
        what = f"{a} < {b}{self.note}"
        if not self._has(a, b):
            return Check(what=what)
        return self._pair(what, a, b, judge(self.p_value(a, b), self._lead(a, b)))

    def alike(self, a: str, b: str) -> Check:
        """Check that two do not differ significantly."""
        what = f"{a} and {b} do not differ{self.note}"
        if not self._has(a, b):
            return Check(what=what)
        differ = self.p_value(a, b) < ALPHA
        return self._pair(what, a, b, "does not hold" if differ else "holds")

    def not_lower(self, a: str, b: str) -> Check:
        """Check that the first is not significantly lower than the second."""
        what = f"{a} is not lower than {b}{self.note}"
        if not self._has(a, b):
            return Check(what=what)
        lower = self.p_value(a, b) < ALPHA and self._lead(a, b) < 0
        return self._pair(what, a, b, "does not hold" if lower else "holds")

    def lowest(self, *names: str) -> Check:
        """Check that some have lower mean ranks than all others, and differ from the next."""
        return self._extreme(names, best=True)

    def highest(self, *names: str) -> Check:
        """Check that some have higher mean ranks than all others, and differ from the next."""
        return self._extreme(names, best=False)

    @cached_property
    def test(self) -> Friedman:
        """Whether any algorithm differs from any other."""
        return friedman(self.scores)

    @cached_property
    def _pairs(self) -> dict[frozenset[str], float]:
        pairs = compare_all(self.scores)
        return {
            frozenset((str(a), str(b))): float(p)
            for a, b, p in zip(pairs["first"], pairs["second"], pairs["adjusted"], strict=True)
        }

    def p_value(self, a: str, b: str) -> float:
        """Return the p-value by Bergmann and Hommel; Friedman's where that is larger."""
        return max(self.test.p_value, self._pairs[frozenset((a, b))])

    def _lead(self, a: str, b: str) -> float:
        return float(self.test.mean_ranks[a] - self.test.mean_ranks[b])

    def _has(self, *names: str) -> bool:
        return (
            set(names) <= set(self.scores.columns)
            and self.scores.shape[1] > 1
            and not self.scores.empty
        )

    def _pair(self, what: str, a: str, b: str, verdict: Verdict) -> Check:
        ranks, medians = self.test.mean_ranks, standardise(self.scores).median()
        return Check(
            what=what,
            ours=f"mean ranks {ranks[a]:.2f} and {ranks[b]:.2f}, p = {self.p_value(a, b):.2g}; "
            f"medians {medians[a]:.2f} and {medians[b]:.2f}",
            verdict=verdict,
            wilcoxon=describe_pair(compare_two(self.scores[a].tolist(), self.scores[b].tolist())),
            by_table=describe_by_table(self.scores, a, b),
        )

    def _extreme(self, names: Sequence[str], *, best: bool) -> Check:
        verb, rank = "have" if len(names) > 1 else "has", "ranks" if len(names) > 1 else "rank"
        end = "lowest" if best else "highest"
        what = f"{' and '.join(names)} {verb} the {end} mean {rank}{self.note}"
        if not self._has(*names) or len(names) >= self.scores.shape[1]:
            return Check(what=what)
        order = self.test.mean_ranks.sort_values(ascending=best)
        last = [name for name in order.index if name in names][-1]
        rival = next(name for name in order.index if name not in names)
        a, b = (last, rival) if best else (rival, last)
        medians = standardise(self.scores).median()
        listed = ", ".join(
            f"{name} {order[name]:.2f} ({medians[name]:.2f})" for name in order.index
        )
        return Check(
            what=what,
            ours=f"mean ranks (medians) {listed}; {a} < {b}: p = {self.p_value(a, b):.2g}",
            verdict=judge(self.p_value(a, b), self._lead(a, b)),
            wilcoxon=describe_pair(compare_two(self.scores[a].tolist(), self.scores[b].tolist())),
            by_table=describe_by_table(self.scores, a, b),
        )


def describe_pair(test: PairedTest) -> str:
    """Return Wilcoxon's test in words."""
    return (
        f"lower on {test.wins} of {test.problems} problems, higher on {test.losses}; effect "
        f"{test.effect:+.2f}, p = {test.p_value:.2g}"
    )


def by_table(scores: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Return, table by table, the share of problems on which a is lower minus higher."""
    ranks = rank_scores(scores[[a, b]])
    lead = (ranks[a] < ranks[b]).astype(float) - (ranks[b] < ranks[a]).astype(float)
    return lead.groupby(level="table").mean()


def describe_by_table(scores: pd.DataFrame, a: str, b: str) -> str:
    """Test with one vote per table: problems of one table are not independent."""
    if "table" not in scores.index.names:
        return ""
    votes = by_table(scores, a, b)
    test = compare_two((-votes).tolist(), [0.0] * len(votes))
    low, high = test.interval
    return (
        f"median lead {-test.median:+.2f} [{-high:+.2f}, {-low:+.2f}], N = {len(votes)}, "
        f"p = {test.p_value:.2g}"
    )
