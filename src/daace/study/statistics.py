"""Which algorithm is better, on many problems: ranks, all pairwise tests, effect sizes.

Scores have one row per problem and one column per algorithm; lower is better, and a score that is
not finite means that nothing was found: the worst rank, shared by all that found nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._typing import FloatArray
from daace.exceptions import InvalidInput

Pair = tuple[int, int]

#: Beyond it there are too many partitions of the algorithms (Bell's number of 11 is 678,570).
MOST_EXHAUSTIVE = 10

#: Differences whose signs are all tried: 8192 choices.
MOST_EXACT = 13


def rank_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rank of each algorithm on each problem: 1 is the best, ties share the mean.

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
    """Whether any algorithm differs from any other.

    Attributes:
        mean_ranks: by algorithm.
        chi_square, p_value: Friedman's statistic, corrected for ties, with k - 1 degrees of
            freedom.
        f, f_p_value: Iman and Davenport's less conservative form, `F = (N - 1) X / (N(k - 1) - X)`.
    """

    mean_ranks: pd.Series
    problems: int
    chi_square: float
    p_value: float
    f: float
    f_p_value: float


def friedman(scores: pd.DataFrame) -> Friedman:
    """Test whether all algorithms are alike, by their ranks.

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


def compare_all(scores: pd.DataFrame, *, correction: str = "bergmann") -> pd.DataFrame:
    """Compare every pair of algorithms by the difference of their mean ranks.

    `z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))`, two-sided, with p-values corrected for the number
    of comparisons.

    Args:
        scores: one row per problem, one column per algorithm; lower is better.
        correction: 'bergmann' (Bergmann and Hommel, exact: the most powerful), 'shaffer'
            (static), 'holm' or 'none'.

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
            "adjusted": adjust_pairwise(p_values, len(names), correction=correction),
        }
    )


def adjust_pairwise(
    p_values: Sequence[float] | FloatArray, algorithms: int, *, correction: str = "bergmann"
) -> FloatArray:
    """Return adjusted p-values of all comparisons between k algorithms.

    Args:
        p_values: of the k (k - 1) / 2 pairs, in the order of `itertools.combinations`.
        algorithms: k.
        correction: as in `compare_all`.

    Example:
        >>> adjust_pairwise([0.01, 0.02, 0.03], 3, correction="holm").round(2).tolist()
        [0.03, 0.04, 0.04]
    """
    check_choice("correction", correction, ("bergmann", "shaffer", "holm", "none"))
    check_integer("algorithms", algorithms, at_least=2)
    p = np.asarray(p_values, dtype=np.float64)
    pairs = list(combinations(range(algorithms), 2))
    if p.shape != (len(pairs),) or not ((p >= 0) & (p <= 1)).all():
        raise InvalidInput(
            f"'p_values' must be {len(pairs)} probabilities, one for each pair of {algorithms} "
            "algorithms."
        )
    if correction == "none":
        return p.copy()
    if correction == "bergmann":
        return _bergmann_hommel(p, algorithms, pairs)
    steps = np.arange(len(p), 0, -1)  # hypotheses that may still be true, step by step
    if correction == "shaffer":
        possible = np.array(sorted(true_counts(algorithms)))
        steps = possible[np.searchsorted(possible, steps, side="right") - 1]
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps * p[order]))
    return adjusted


def _bergmann_hommel(p: FloatArray, algorithms: int, pairs: Sequence[Pair]) -> FloatArray:
    """Adjust by `max |I| min_{j in I} p_j` over the exhaustive sets I that hold the hypothesis."""
    if algorithms > MOST_EXHAUSTIVE:
        raise InvalidInput(
            f"'bergmann' is for at most {MOST_EXHAUSTIVE} algorithms. Got {algorithms}: "
            "use 'shaffer'."
        )
    position = {pair: k for k, pair in enumerate(pairs)}
    adjusted = np.zeros_like(p)
    for hypotheses in exhaustive_sets(algorithms):
        members = [position[pair] for pair in hypotheses]
        bound = len(members) * p[members].min()
        adjusted[members] = np.maximum(adjusted[members], bound)
    return np.minimum(adjusted, 1.0)


def exhaustive_sets(algorithms: int) -> Iterator[list[Pair]]:
    """Yield every set of pairwise equalities that can be exactly the true ones.

    Equality is transitive: a set of true hypotheses is a partition of the algorithms into groups
    of equals, and holds all pairs within a group.
    """
    for groups in _partitions(algorithms):
        pairs = [pair for group in groups for pair in combinations(group, 2)]
        if pairs:
            yield pairs


def _partitions(size: int) -> Iterator[list[list[int]]]:
    """Yield the partitions of 0..size-1, each group in increasing order."""
    if size == 0:
        yield []
        return
    for groups in _partitions(size - 1):
        for k in range(len(groups)):
            yield [*groups[:k], [*groups[k], size - 1], *groups[k + 1 :]]
        yield [*groups, [size - 1]]


@lru_cache(maxsize=32)
def true_counts(algorithms: int) -> frozenset[int]:
    """Return the possible numbers of true equalities among k algorithms: Shaffer's S(k).

    Example:
        >>> sorted(true_counts(4))
        [0, 1, 2, 3, 6]
    """
    if algorithms < 2:
        return frozenset({0})
    return frozenset(
        group * (group - 1) // 2 + rest
        for group in range(1, algorithms + 1)
        for rest in true_counts(algorithms - group)
    )


def cliques(pairs: pd.DataFrame, *, alpha: float = 0.05) -> list[tuple[str, ...]]:
    """Return the largest sets of algorithms none of which differ: the bars of a diagram.

    Args:
        pairs: what `compare_all` returned.
        alpha: level of significance.
    """
    check_number("alpha", alpha, above=0, at_most=1)
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    alike = {
        frozenset(row)
        for row in pairs.loc[pairs["adjusted"] > alpha, ["first", "second"]].itertuples(index=False)
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
        wins, losses: problems on which the first, the second is strictly better.
        p_value: of Wilcoxon's signed ranks, two-sided; 1 when they never differ.
        effect: matched-pairs rank-biserial correlation in -1..1; negative when the first is lower.
        median: of the differences, over the problems that both solved, with its 95% interval by
            the order statistics (distribution-free).
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

    A problem that only one of them solved is the largest of all differences.

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

    Up to 13 are exact, ties or not, by the sums of all choices of signs: scipy gives the same, but
    takes half a second for 10 that have ties.
    """
    from scipy.stats import wilcoxon

    if len(ranks) > MOST_EXACT:
        return float(wilcoxon(differences).pvalue)
    sums = np.zeros(1)
    for rank in ranks:
        sums = np.concatenate([sums, sums + rank])
    positive = float(ranks[differences > 0].sum())
    slack = 1e-9 * float(
        ranks.sum()
    )  # half ranks are exact; their sums in another order may not be
    tail = min((sums <= positive + slack).mean(), (sums >= positive - slack).mean())
    return float(min(1.0, 2 * tail))


def standardise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return each problem's scores with mean 0 and standard deviation 1 over its algorithms.

    What was not found stays missing and does not count; where all scores of a problem are equal,
    they are 0.

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


def _check_scores(scores: pd.DataFrame) -> FloatArray:
    if not isinstance(scores, pd.DataFrame) or scores.shape[1] < 2 or not len(scores):
        raise InvalidInput(
            "'scores' must be a DataFrame with a row per problem and a column per algorithm, "
            f"at least two. Got {getattr(scores, 'shape', type(scores).__name__)}."
        )
    return scores.to_numpy(dtype=np.float64)
