"""Which algorithm is better over many problems: ranks, all pairwise tests, effect sizes.

Scores have one row per problem and one column per algorithm; lower is better. A score that is not
finite means that nothing was found: the worst rank, shared by all that found nothing.

Friedman, M. (1937), JASA 32:675-701, doi:10.1080/01621459.1937.10503522. Wilcoxon, F. (1945),
Biometrics Bulletin 1:80-83, doi:10.2307/3001968. Demsar, J. (2006), JMLR 7:1-30, on both for the
comparison of algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.exceptions import InvalidInput
from daace.study.corrections import adjust_pairwise

__all__ = [
    "ALPHA",
    "Friedman",
    "PairedTest",
    "adjust_pairwise",
    "cliques",
    "compare_all",
    "compare_two",
    "friedman",
    "rank_beside",
    "rank_scores",
    "standardise",
    "standardise_beside",
]

#: Level of significance.
ALPHA = 0.05

#: Most differences whose signs are all tried: 8192 choices.
MOST_EXACT = 13


def rank_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rank of each algorithm on each problem: 1 is the best, ties share the mean.

    Args:
        scores: one row per problem, one column per algorithm; lower is better.

    Example:
        >>> scores = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.inf], "c": [3.0, np.nan]})
        >>> rank_scores(scores).to_numpy().tolist()
        [[1.0, 2.5, 2.5], [1.0, 2.5, 2.5]]
    """
    from scipy.stats import rankdata

    values = _check_scores(scores)
    ranks = rankdata(np.where(np.isfinite(values), values, np.inf), axis=1)
    return pd.DataFrame(ranks, index=scores.index, columns=scores.columns)


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of whether any algorithm differs from any other.

    Attributes:
        mean_ranks: by algorithm.
        problems: number N of problems.
        chi_square: Friedman's statistic X, corrected for ties.
        p_value: p-value of X, with k - 1 degrees of freedom.
        f: Iman and Davenport's less conservative form, `F = (N - 1) X / (N(k - 1) - X)`
            (1980, doi:10.1080/03610928008827904).
        f_p_value: p-value of F, with k - 1 and (k - 1)(N - 1) degrees of freedom.
    """

    mean_ranks: pd.Series
    problems: int
    chi_square: float
    p_value: float
    f: float
    f_p_value: float


def friedman(scores: pd.DataFrame) -> Friedman:
    """Test whether all algorithms are equal, by their ranks.

    Args:
        scores: one row per problem, one column per algorithm; lower is better.

    Example:
        >>> scores = pd.DataFrame({"a": [1, 1, 1, 2], "b": [2, 2, 3, 1], "c": [3, 3, 2, 3]})
        >>> round(friedman(scores).chi_square, 4)
        4.5
    """
    from scipy.stats import chi2, f

    ranks = rank_scores(scores)
    problems, algorithms = ranks.shape
    mean = ranks.mean(axis=0)
    between = problems * ((mean - (algorithms + 1) / 2) ** 2).sum()
    within = ((ranks - (algorithms + 1) / 2) ** 2).to_numpy().sum() / (problems * (algorithms - 1))
    chi_square = float(between / within) if within > 0 else 0.0
    room = problems * (algorithms - 1) - chi_square
    ratio = (problems - 1) * chi_square / room if room > 1e-12 * problems else np.inf
    freedom = (algorithms - 1, (algorithms - 1) * (problems - 1))
    return Friedman(
        mean,
        problems,
        chi_square,
        float(chi2.sf(chi_square, freedom[0])),
        float(ratio),
        float(f.sf(ratio, *freedom)),
    )


def compare_all(scores: pd.DataFrame) -> pd.DataFrame:
    """Compare every pair of algorithms by the difference of their mean ranks.

    `z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))`, two-sided, with p-values corrected by Bergmann and
    Hommel's procedure (`daace.study.corrections.adjust_pairwise`).

    Args:
        scores: one row per problem, one column per algorithm; lower is better.

    Returns:
        One row per pair: 'first', 'second', 'difference' of mean ranks (negative when the first
        is better), 'z', 'p_value', 'adjusted'.
    """
    from scipy.stats import norm

    found = friedman(scores)
    names = list(scores.columns)
    pairs = list(combinations(range(len(names)), 2))
    mean = found.mean_ranks.to_numpy()
    difference = np.array([mean[i] - mean[j] for i, j in pairs])
    deviation = np.sqrt(len(names) * (len(names) + 1) / (6 * found.problems))
    z = difference / deviation
    p_values = 2 * norm.sf(np.abs(z))
    return pd.DataFrame(
        {
            "first": [names[i] for i, _ in pairs],
            "second": [names[j] for _, j in pairs],
            "difference": difference,
            "z": z,
            "p_value": p_values,
            "adjusted": adjust_pairwise(p_values, len(names)),
        }
    )


def cliques(pairs: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the largest sets of algorithms that do not differ: the bars of a diagram.

    Args:
        pairs: the frame of `compare_all`.
    """
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    alike = {
        frozenset(row)
        for row in pairs.loc[pairs["adjusted"] > ALPHA, ["first", "second"]].itertuples(index=False)
    }
    found: list[frozenset[str]] = []
    for size in range(len(names), 1, -1):
        for group in combinations(names, size):
            if all(frozenset(pair) in alike for pair in combinations(group, 2)) and not any(
                set(group) <= larger for larger in found
            ):
                found.append(frozenset(group))
    return [tuple(name for name in names if name in group) for group in found]


@dataclass(frozen=True)
class PairedTest:
    """Two algorithms on the same problems.

    Attributes:
        problems: on which at least one of them found something.
        wins: problems on which the first is strictly better.
        losses: problems on which the second is strictly better.
        p_value: p-value of Wilcoxon's signed ranks, two-sided; 1 if they never differ.
        effect: matched-pairs rank-biserial correlation in -1..1; negative if the first is lower
            (Kerby 2014, doi:10.2466/11.IT.3.1).
        median: median of the differences, over the problems that both solved.
        interval: 95% interval of the median, by order statistics (distribution-free).
    """

    problems: int
    wins: int
    losses: int
    p_value: float
    effect: float
    median: float
    interval: tuple[float, float]


def compare_two(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Compare two algorithms by Wilcoxon's signed-rank test.

    A problem that only one of them solved counts as the largest of all differences.

    Args:
        first: score of one algorithm on each problem; not finite if nothing was found.
        second: score of the other, in the same order.

    Example:
        >>> compare_two([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12]).p_value
        0.03125
    """
    from scipy.stats import binom, rankdata

    a, b = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if a.shape != b.shape or a.ndim != 1:
        raise InvalidInput(f"Both must have one score per problem. Got {a.shape} and {b.shape}.")
    found_a, found_b = np.isfinite(a), np.isfinite(b)
    some, both = found_a | found_b, found_a & found_b
    plain = a[both] - b[both]
    difference = np.zeros(len(a))
    difference[both] = plain
    beyond = 2 * np.abs(plain).max(initial=0.5)
    difference[found_a & ~found_b] = -beyond
    difference[~found_a & found_b] = beyond
    difference = difference[some]
    apart = difference[difference != 0]
    p_value, effect = 1.0, 0.0
    if len(apart):
        ranks = rankdata(np.abs(apart))
        p_value = _signed_ranks(apart, ranks)
        effect = float((ranks * np.sign(apart)).sum() / ranks.sum())
    median, interval = np.nan, (np.nan, np.nan)
    if len(plain):
        ordered = np.sort(plain)
        median = float(np.median(plain))
        low = int(binom.ppf(0.025, len(plain), 0.5))
        interval = (float(ordered[max(low - 1, 0)]), float(ordered[min(-low, -1)]))
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    return PairedTest(int(some.sum()), wins, losses, p_value, effect, median, interval)


def _signed_ranks(differences: FloatArray, ranks: FloatArray) -> float:
    """Return the two-sided p-value of Wilcoxon's test on differences other than 0.

    Up to 13 differences are tested exactly, with or without ties, by the sums of all choices of
    signs: scipy gives the same, but takes half a second for 10 with ties.
    """
    from scipy.stats import wilcoxon

    if len(ranks) > MOST_EXACT:
        return float(wilcoxon(differences).pvalue)
    sums = np.zeros(1)
    for rank in ranks:
        sums = np.concatenate([sums, sums + rank])
    positive = float(ranks[differences > 0].sum())
    slack = 1e-9 * float(ranks.sum())  # half ranks are exact, sums in another order may not be
    tail = min((sums <= positive + slack).mean(), (sums >= positive - slack).mean())
    return float(min(1.0, 2 * tail))


def standardise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return each problem's scores with mean 0 and standard deviation 1 over its algorithms.

    Scores that are not finite become missing and do not count; if all scores of a problem are
    equal, they are 0.

    Args:
        scores: one row per problem, one column per algorithm.

    Example:
        >>> standardise(pd.DataFrame({"a": [1.0], "b": [3.0], "c": [np.inf]})).iloc[0].tolist()
        [-1.0, 1.0, nan]
    """
    values = _check_scores(scores)
    finite = np.where(np.isfinite(values), values, np.nan)
    frame = pd.DataFrame(finite, index=scores.index, columns=scores.columns)
    centred = frame.sub(frame.mean(axis=1), axis=0)
    spread = frame.std(axis=1, ddof=0)
    return centred.div(spread.where(spread > 0, 1.0), axis=0)


def standardise_beside(beside: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return further algorithms' scores in the units of `standardise`, which they do not change.

    Args:
        beside: one column per further algorithm, the rows of `scores`.
        scores: one row per problem, one column per algorithm that is compared.

    Example:
        >>> scores = pd.DataFrame({"a": [1.0], "b": [3.0]})
        >>> standardise_beside(pd.DataFrame({"c": [4.0]}), scores).iloc[0].tolist()
        [2.0]
    """
    values = _check_scores(scores)
    frame = pd.DataFrame(np.where(np.isfinite(values), values, np.nan), index=scores.index)
    spread = frame.std(axis=1, ddof=0)
    found = beside.where(np.isfinite(beside.astype(float)))
    return found.sub(frame.mean(axis=1), axis=0).div(spread.where(spread > 0, 1.0), axis=0)


def rank_beside(beside: pd.DataFrame, scores: pd.DataFrame) -> pd.Series:
    """Return the mean rank that each further algorithm would have among those compared.

    One plus the number of algorithms that are better, ties counting half; theirs do not change.

    Args:
        beside: one column per further algorithm, the rows of `scores`; missing where it has not
            been asked, infinite where it found nothing.
        scores: one row per problem, one column per algorithm that is compared.

    Example:
        >>> scores = pd.DataFrame({"a": [1.0, 1.0], "b": [3.0, np.inf]})
        >>> rank_beside(pd.DataFrame({"c": [2.0, np.inf]}), scores).tolist()
        [2.25]
    """
    values = _check_scores(scores)
    values = np.where(np.isfinite(values), values, np.inf)
    ranks = {}
    for name in beside.columns:
        own = beside[name].to_numpy(dtype=np.float64)
        asked = ~np.isnan(own)
        mine, theirs = own[asked, None], values[asked]
        better, equal = (theirs < mine).sum(axis=1), (theirs == mine).sum(axis=1)
        ranks[name] = float((1 + better + equal / 2).mean()) if asked.any() else np.nan
    return pd.Series(ranks, dtype=np.float64)


def _check_scores(scores: pd.DataFrame) -> FloatArray:
    if not isinstance(scores, pd.DataFrame) or scores.shape[1] < 2 or not len(scores):
        raise InvalidInput(
            argument="scores",
            expected="be a DataFrame with a row per problem and a column per algorithm, at least "
            "two",
            got=str(getattr(scores, "shape", type(scores).__name__)),
        )
    return scores.to_numpy(dtype=np.float64)
