"""Statements about several algorithms on the same problems, and the verdicts of the tests.

All algorithms are ranked on each problem. Friedman's test and, if it rejects, Bergmann and Hommel's
correction of all pairs decide; Wilcoxon's test of the two algorithms alone and a vote per table are
given beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pandas as pd

from daace.study.results import StudyResults
from daace.study.statistics import (
    ALPHA,
    Friedman,
    PairedTest,
    compare_all,
    compare_two,
    friedman,
    rank_scores,
    standardise,
)

Verdict = Literal["holds", "does not hold", "not significant", "not run"]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement about algorithms, and the verdict of the tests.

    Attributes:
        what: the statement.
        ours: the numbers that decide.
        verdict: 'holds', 'does not hold', 'not significant' or 'not run'.
        wilcoxon: the two algorithms alone, by Wilcoxon's signed ranks.
        by_table: the two algorithms with one vote per table.
        counted: whether it is part of the claim; otherwise it is shown for comparison.
    """

    what: str
    ours: str = ""
    verdict: Verdict = "not run"
    wilcoxon: str = ""
    by_table: str = ""
    counted: bool = True


def judge(p_value: float, effect: float) -> Verdict:
    """Return the verdict on 'the first is lower'.

    Args:
        p_value: p-value of the test.
        effect: effect size; negative if the first is lower.

    Example:
        >>> judge(0.01, -0.5), judge(0.01, 0.5), judge(0.2, -0.5)
        ('holds', 'does not hold', 'not significant')
    """
    if not p_value < ALPHA:
        return "not significant"
    return "holds" if effect < 0 else "does not hold"


def describe_outcome(verdicts: Sequence[Verdict]) -> str:
    """Return how many statements hold, in words.

    Args:
        verdicts: on the statements that were tested.

    Example:
        >>> describe_outcome(["holds", "not significant"]), describe_outcome(["holds"])
        ('1 of 2 parts hold', 'holds')
    """
    if len(verdicts) < 2:
        return verdicts[0] if verdicts else "not run"
    return f"{verdicts.count('holds')} of {len(verdicts)} parts hold"


@dataclass(frozen=True, eq=False)
class Contest:
    """Several algorithms on the same problems, by one measure; lower is better.

    Attributes:
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
        cls, results: StudyResults, measure: str, where: pd.Series | None = None, note: str = ""
    ) -> Contest:
        """Return the contest of the compared algorithms on some problems of a study.

        Args:
            results: the results of the study.
            measure: a column of `results.problems`.
            where: mask over `results.problems`; all when left out.
            note: which problems these are, as the end of a sentence.
        """
        return cls(results.scores(measure, where), note)

    def lower(self, a: str, b: str) -> Statement:
        """State that algorithm `a` is lower than `b`."""
        return self._pair(f"{a} < {b}", a, b, self.verdict_lower)

    def alike(self, a: str, b: str) -> Statement:
        """State that algorithms `a` and `b` do not differ significantly."""
        return self._pair(f"{a} and {b} do not differ", a, b, self._verdict_alike)

    def not_lower(self, a: str, b: str) -> Statement:
        """State that algorithm `a` is not significantly lower than `b`."""
        return self._pair(f"{a} is not lower than {b}", a, b, self._verdict_not_lower)

    def lowest(self, *names: str) -> Statement:
        """State that these have lower mean ranks than all others, and differ from the next."""
        return self._extreme(names, best=True)

    def highest(self, *names: str) -> Statement:
        """State that these have higher mean ranks than all others, and differ from the next."""
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
        """Return the p-value of `a` and `b` by Bergmann and Hommel, or Friedman's if larger."""
        return max(self.test.p_value, self._pairs[frozenset((a, b))])

    def compare_two(self, a: str, b: str) -> PairedTest:
        """Return Wilcoxon's test of algorithms `a` and `b` alone."""
        return compare_two(self.scores[a].tolist(), self.scores[b].tolist())

    def has(self, *names: str) -> bool:
        """Whether these take part, and there is something to compare."""
        return (
            set(names) <= set(self.scores.columns)
            and self.scores.shape[1] > 1
            and not self.scores.empty
        )

    def verdict_lower(self, a: str, b: str) -> Verdict:
        """Return the verdict on 'algorithm `a` is lower than `b`'."""
        return judge(self.p_value(a, b), self._lead(a, b))

    def _lead(self, a: str, b: str) -> float:
        return float(self.test.mean_ranks[a] - self.test.mean_ranks[b])

    def _verdict_alike(self, a: str, b: str) -> Verdict:
        return "does not hold" if self.p_value(a, b) < ALPHA else "holds"

    def _verdict_not_lower(self, a: str, b: str) -> Verdict:
        return "does not hold" if self.verdict_lower(a, b) == "holds" else "holds"

    def _pair(self, what: str, a: str, b: str, decide: Callable[[str, str], Verdict]) -> Statement:
        if not self.has(a, b):
            return Statement(what=f"{what}{self.note}")
        ranks, medians = self.test.mean_ranks, standardise(self.scores).median()
        return self._tested(
            what,
            f"mean ranks {ranks[a]:.2f} and {ranks[b]:.2f}, {format_p(self.p_value(a, b))}; "
            f"medians {medians[a]:.2f} and {medians[b]:.2f}",
            (a, b),
            decide(a, b),
        )

    def _extreme(self, names: Sequence[str], *, best: bool) -> Statement:
        verb, rank = ("have", "ranks") if len(names) > 1 else ("has", "rank")
        what = f"{' and '.join(names)} {verb} the {'lowest' if best else 'highest'} mean {rank}"
        if not self.has(*names) or len(names) >= self.scores.shape[1]:
            return Statement(what=f"{what}{self.note}")
        order = self.test.mean_ranks.sort_values(ascending=best)
        last = [name for name in order.index if name in names][-1]
        rival = next(name for name in order.index if name not in names)
        a, b = (last, rival) if best else (rival, last)
        medians = standardise(self.scores).median()
        listed = ", ".join(
            f"{name} {order[name]:.2f} ({medians[name]:.2f})" for name in order.index
        )
        ours = f"mean ranks (medians) {listed}; {a} < {b}: {format_p(self.p_value(a, b))}"
        return self._tested(what, ours, (a, b), self.verdict_lower(a, b))

    def _tested(self, what: str, ours: str, pair: tuple[str, str], verdict: Verdict) -> Statement:
        a, b = pair
        return Statement(
            what=f"{what}{self.note}",
            ours=ours,
            verdict=verdict,
            wilcoxon=describe_pair(self.compare_two(a, b)),
            by_table=describe_by_table(self.scores, a, b),
        )


def format_p(p_value: float) -> str:
    """Return a p-value in words.

    Args:
        p_value: p-value of any test.

    Example:
        >>> format_p(0.01234)
        'p = 0.012'
    """
    return f"p = {p_value:.2g}"


def describe_pair(test: PairedTest) -> str:
    """Return Wilcoxon's test in words.

    Args:
        test: the test of two algorithms.
    """
    return (
        f"lower on {test.wins} of {test.problems} problems, higher on {test.losses}; effect "
        f"{test.effect:+.2f}, {format_p(test.p_value)}"
    )


def by_table(scores: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Return, for each table, the share of problems on which `a` is lower minus higher.

    Args:
        scores: one row per problem, with an index level 'table', one column per algorithm.
        a: the first algorithm.
        b: the second.
    """
    ranks = rank_scores(scores[[a, b]])
    lead = (ranks[a] < ranks[b]).astype(float) - (ranks[b] < ranks[a]).astype(float)
    return lead.groupby(level="table").mean()


def compare_by_table(scores: pd.DataFrame, a: str, b: str) -> tuple[PairedTest, int]:
    """Test with one vote per table, as problems of one table are not independent.

    Args:
        scores: one row per problem, with an index level 'table', one column per algorithm.
        a: the first algorithm.
        b: the second.

    Returns:
        Wilcoxon's test of the negative votes, so that lower is better, and the number of tables.
    """
    votes = by_table(scores, a, b)
    return compare_two((-votes).tolist(), [0.0] * len(votes)), len(votes)


def describe_by_table(scores: pd.DataFrame, a: str, b: str) -> str:
    """Return the test with one vote per table in words; nothing if there are no tables.

    Args:
        scores: one row per problem, one column per algorithm.
        a: the first algorithm.
        b: the second.
    """
    if "table" not in scores.index.names:
        return ""
    test, tables = compare_by_table(scores, a, b)
    low, high = test.interval
    return (
        f"median lead {-test.median:+.2f} [{-high:+.2f}, {-low:+.2f}], N = {tables}, "
        f"{format_p(test.p_value)}"
    )
