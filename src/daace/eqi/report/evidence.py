"""Parts of a finding, and the tests that decide whether each holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from daace.study.contest import Contest, Verdict, judge
from daace.study.statistics import compare_two


@dataclass(frozen=True, kw_only=True)
class Part:
    """One statement that can be checked.

    Attributes:
        statement: what the paper claims.
        ours: our numbers.
        holds: whether our numbers point in its direction; None if there are too few plans.
        p_value: p-value of that direction; None if there is nothing to test, as with a single
            county.

    Example:
        >>> Part(statement="", ours="", holds=True, p_value=0.2).verdict
        'not significant'
    """

    statement: str
    ours: str
    holds: bool | None
    p_value: float | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the statement."""
        if self.holds is None:
            return "not run"
        return judge(0.0 if self.p_value is None else self.p_value, -1.0 if self.holds else 1.0)

    @property
    def evidence(self) -> str:
        """The p-value in words."""
        if self.holds is None:
            return ""
        return "no test" if self.p_value is None else f"p = {self.p_value:.2g}"


@dataclass(frozen=True)
class Finding:
    """A row of the table: a finding of the paper, and its parts."""

    number: int
    title: str
    paper: str
    parts: tuple[Part, ...]

    @property
    def tested(self) -> list[Part]:
        """The parts that there are plans for."""
        return [part for part in self.parts if part.holds is not None]

    @property
    def holding(self) -> int:
        """How many of these hold."""
        return sum(part.verdict == "holds" for part in self.tested)

    @property
    def outcome(self) -> str:
        """How many parts hold, in words."""
        many = len(self.tested)
        if not many:
            return "not enough plans"
        return f"{self.holding} of {many} parts hold" if many > 1 else self.tested[0].verdict


@dataclass(frozen=True)
class Direction:
    """Whether numbers point in the direction of a statement, and the p-value."""

    right: bool
    p_value: float


def rises(values: pd.Series, *, falls: bool = False) -> Direction:
    """Test by Wilcoxon's signed ranks whether changes are above 0, or below.

    Example:
        >>> rises(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).right
        True
    """
    changes = values.to_numpy(dtype=np.float64)
    test = compare_two(changes.tolist(), [0.0] * len(changes))
    mean = float(changes.mean())
    return Direction(mean < 0 if falls else mean > 0, test.p_value)


def larger(values: pd.Series, others: pd.Series) -> Direction:
    """Test by Mann and Whitney whether one group lies above another.

    Example:
        >>> larger(pd.Series([5.0, 6.0, 7.0, 8.0]), pd.Series([1.0, 2.0, 3.0, 4.0])).p_value < 0.05
        True
    """
    from scipy.stats import mannwhitneyu

    a, b = (v.to_numpy(dtype=np.float64) for v in (values, others))
    return Direction(bool(a.mean() > b.mean()), float(mannwhitneyu(a, b).pvalue))


def trend(values: pd.Series, order: pd.Series) -> tuple[float, float]:
    """Return Spearman's rank correlation of two columns, and its p-value."""
    from scipy.stats import spearmanr

    found = spearmanr(order.to_numpy(dtype=np.float64), values.to_numpy(dtype=np.float64))
    return float(found.statistic), float(found.pvalue)


def share_above(count: int, of: int, share: float) -> Direction:
    """Test whether a share lies above another, by the binomial distribution."""
    from scipy.stats import binomtest

    return Direction(count > share * of, float(binomtest(count, of, share).pvalue))


def all_of(statement: str, ours: str, directions: Iterable[Direction]) -> Part:
    """Return a statement with several conditions.

    If all point the right way, the least sure decides (an intersection-union test). Otherwise the
    surest of those that point the other way does, times the number of conditions (Bonferroni).

    Example:
        >>> all_of("", "", [Direction(True, 0.01), Direction(True, 0.2)]).verdict
        'not significant'
        >>> all_of("", "", [Direction(True, 0.5), Direction(False, 0.01)]).verdict
        'does not hold'
    """
    every = list(directions)
    wrong = [d.p_value for d in every if not d.right]
    p_value = min(1.0, len(every) * min(wrong)) if wrong else max(d.p_value for d in every)
    return Part(statement=statement, ours=ours, holds=not wrong, p_value=p_value)


def most(changes: pd.DataFrame, name: str) -> Direction:
    """Test whether one column is the largest, by Friedman, then Bergmann and Hommel."""
    return first_of(Contest(-changes), name)


def first_of(contest: Contest, name: str) -> Direction:
    """Test whether one algorithm has the lowest mean rank, and differs from the next."""
    ranks = contest.test.mean_ranks.sort_values()
    rival = next(other for other in ranks.index if other != name)
    return Direction(bool(ranks[name] < ranks[rival]), contest.p_value(name, str(rival)))


def before(contest: Contest, a: str, b: str) -> Direction:
    """Test whether one algorithm has a lower mean rank than another."""
    ranks = contest.test.mean_ranks
    return Direction(bool(ranks[a] < ranks[b]), contest.p_value(a, b))


def list_changes(values: pd.Series) -> str:
    """Return names with signed numbers.

    Example:
        >>> list_changes(pd.Series({"Air": 0.5, "Land": -0.001}))
        'Air +0.50, Land 0.00'
    """
    return ", ".join(f"{name} {signed(x)}" for name, x in values.items())


def signed(value: float) -> str:
    """Return a number with its sign; nothing but 0 is shown without."""
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}"


def observed(statement: str, ours: str, holds: object) -> Part:
    """Return a statement with nothing to test: about a single county, or about the network."""
    return Part(statement=statement, ours=ours, holds=bool(holds))


def missing(statement: str, ours: str) -> Sequence[Part]:
    """Return the only part of a finding for which there are not enough plans."""
    return [Part(statement=statement, ours=ours, holds=None)]
