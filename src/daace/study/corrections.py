"""Corrections of p-values where every algorithm is compared with every other.

Bergmann, B. and Hommel, G. (1988), "Improvements of general multiple test procedures for redundant
systems of hypotheses", and Shaffer, J. P. (1986), doi:10.1080/01621459.1986.10478341, as described
by Garcia, S. and Herrera, F. (2008), "An extension on 'Statistical comparisons of classifiers over
multiple data sets' for all pairwise comparisons", JMLR 9:2677-2694.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from daace._checks import check_choice, check_integer
from daace._typing import BoolArray, FloatArray, IntArray
from daace.exceptions import InvalidInput

Pair = tuple[int, int]

#: Beyond it there are too many partitions of the algorithms (Bell's number of 11 is 678,570).
MOST_EXHAUSTIVE = 10


def adjust_pairwise(
    p_values: Sequence[float] | FloatArray, algorithms: int, *, correction: str = "bergmann"
) -> FloatArray:
    """Return adjusted p-values of all comparisons between k algorithms.

    Args:
        p_values: p-values of the k (k - 1) / 2 pairs, in the order of `itertools.combinations`.
        algorithms: number k of algorithms, at most 10 for 'bergmann'.
        correction: 'bergmann' (Bergmann and Hommel, exact: the most powerful), 'shaffer'
            (static), 'holm' or 'none'.

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
            argument="p_values",
            expected=f"be {len(pairs)} probabilities, one for each pair of {algorithms} algorithms",
        )
    if correction == "none":
        return p.copy()
    if correction == "bergmann":
        return _bergmann_hommel(p, algorithms)
    steps = np.arange(len(p), 0, -1)  # number of hypotheses that may still be true
    if correction == "shaffer":
        possible = np.array(sorted(true_counts(algorithms)))
        steps = possible[np.searchsorted(possible, steps, side="right") - 1]
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps * p[order]))
    return adjusted


def _bergmann_hommel(p: FloatArray, algorithms: int) -> FloatArray:
    """Adjust by `max |I| min_{j in I} p_j` over the exhaustive sets I that hold the hypothesis."""
    if algorithms > MOST_EXHAUSTIVE:
        raise InvalidInput(
            argument="algorithms",
            expected=f"be at most {MOST_EXHAUSTIVE} for 'bergmann'",
            got=str(algorithms),
            remedy="use 'shaffer'",
        )
    members, sizes = _exhaustive_members(algorithms)
    bounds = sizes * np.where(members, p, np.inf).min(axis=1)
    adjusted: FloatArray = np.where(members, bounds[:, None], 0.0).max(axis=0)
    return np.minimum(adjusted, 1.0)


@lru_cache(maxsize=4)
def _exhaustive_members(algorithms: int) -> tuple[BoolArray, IntArray]:
    """Return which pairs each exhaustive set holds, shape `(sets, pairs)`, and how many."""
    position = {pair: k for k, pair in enumerate(combinations(range(algorithms), 2))}
    sets = list(exhaustive_sets(algorithms))
    members = np.zeros((len(sets), len(position)), dtype=bool)
    for row, pairs in zip(members, sets, strict=True):
        row[[position[pair] for pair in pairs]] = True
    return members, members.sum(axis=1)


def exhaustive_sets(algorithms: int) -> Iterator[list[Pair]]:
    """Yield every set of pairwise equalities that can be exactly the true ones.

    Equality is transitive: a set of true hypotheses is a partition of the algorithms into groups
    of equals, and holds all pairs within a group.

    Args:
        algorithms: number k of algorithms.
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

    Args:
        algorithms: number k of algorithms.

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
