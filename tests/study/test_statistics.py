from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from daace.exceptions import InvalidInput
from daace.study.corrections import adjust_pairwise, exhaustive_sets, true_counts
from daace.study.statistics import (
    cliques,
    compare_all,
    compare_two,
    friedman,
    rank_scores,
    standardise,
)


@pytest.fixture
def scores(rng: np.random.Generator) -> pd.DataFrame:
    shifts = np.array([0.0, 0.3, 0.8, 0.8])
    return pd.DataFrame(rng.normal(size=(20, 4)) + shifts, columns=list("abcd"))


def test_what_was_not_found_has_the_worst_rank_however_it_is_written() -> None:
    scores = pd.DataFrame({"a": [np.inf, 1.0], "b": [np.nan, 2.0], "c": [5.0, np.inf]})
    assert rank_scores(scores).to_numpy().tolist() == [[2.5, 2.5, 1.0], [1.0, 2.0, 3.0]]


def test_friedman_is_that_of_scipy_also_with_ties(scores: pd.DataFrame) -> None:
    for table in (scores, scores.round(0)):
        oracle = stats.friedmanchisquare(*table.to_numpy().T)
        found = friedman(table)
        assert found.chi_square == pytest.approx(oracle.statistic)
        assert found.p_value == pytest.approx(oracle.pvalue)


def test_iman_and_davenport(scores: pd.DataFrame) -> None:
    found = friedman(scores)
    f = 19 * found.chi_square / (20 * 3 - found.chi_square)
    assert found.f == pytest.approx(f)
    assert found.f_p_value == pytest.approx(stats.f.sf(f, 3, 57))


def test_algorithms_that_are_always_alike_or_always_apart() -> None:
    alike = friedman(pd.DataFrame(np.ones((5, 3))))
    assert (alike.chi_square, alike.p_value) == (0.0, 1.0)
    apart = friedman(pd.DataFrame(np.tile([1.0, 2.0, 3.0], (5, 1))))
    assert apart.f_p_value == 0.0


#: García and Herrera (2008), "An Extension on 'Statistical Comparisons of Classifiers over Multiple
#: Data Sets' for all Pairwise Comparisons", JMLR 9, 2677-2694: five classifiers on 30 data sets.
PUBLISHED_RANKS = {"C4.5": 2.1, "1NN": 3.25, "NB": 2.2, "Kernel": 130 / 30, "CN2": 93.5 / 30}
PUBLISHED = {
    ("C4.5", "Kernel"): (4.487e-8, 4.487e-7, 4.487e-7, 4.487e-7),
    ("NB", "Kernel"): (1.736e-7, 1.563e-6, 1.042e-6, 1.042e-6),
    ("Kernel", "CN2"): (0.0029, 0.0230, 0.0173, 0.0115),
    ("C4.5", "1NN"): (0.0048, 0.0339, 0.0291, 0.0291),
    ("1NN", "Kernel"): (0.0080, 0.0478, 0.0478, 0.0319),
    ("C4.5", "CN2"): (0.0128, 0.0511, 0.0511, 0.0383),
    ("NB", "CN2"): (0.0247, 0.0742, 0.0742, 0.0383),
    ("1NN", "CN2"): (0.744, 1.0, 1.0, 1.0),
    ("C4.5", "NB"): (0.806, 1.0, 1.0, 1.0),
}


def test_a_published_example() -> None:
    names = list(PUBLISHED_RANKS)
    pairs = list(combinations(names, 2))
    z = [(PUBLISHED_RANKS[a] - PUBLISHED_RANKS[b]) / np.sqrt(5 * 6 / (6 * 30)) for a, b in pairs]
    p = 2 * stats.norm.sf(np.abs(z))
    columns = [p] + [
        adjust_pairwise(p, 5, correction=name) for name in ("holm", "shaffer", "bergmann")
    ]
    for pair, printed in PUBLISHED.items():
        found = [column[pairs.index(pair)] for column in columns]
        np.testing.assert_allclose(found, printed, rtol=2e-3, atol=6e-5)


def brute_force(p: np.ndarray, algorithms: int) -> np.ndarray:
    """Bergmann and Hommel by definition: every set of hypotheses, kept if it can be the truth."""
    pairs = list(combinations(range(algorithms), 2))
    subsets = chain.from_iterable(combinations(pairs, r) for r in range(1, len(pairs) + 1))
    adjusted = np.zeros(len(pairs))
    for subset in subsets:
        group = list(range(algorithms))  # the smallest number that each is equal to
        for _, (i, j) in product(range(algorithms), subset):
            group[i] = group[j] = min(group[i], group[j])
        implied = {(i, j) for i, j in pairs if group[i] == group[j]}
        if implied == set(subset):
            members = [pairs.index(pair) for pair in subset]
            adjusted[members] = np.maximum(adjusted[members], len(members) * p[members].min())
    return np.minimum(adjusted, 1.0)


@pytest.mark.parametrize("algorithms", [3, 4, 5])
def test_bergmann_and_hommel_by_brute_force(algorithms: int, rng: np.random.Generator) -> None:
    pairs = algorithms * (algorithms - 1) // 2
    for power in (1, 3, 6):
        p = rng.random(pairs) ** power
        np.testing.assert_allclose(adjust_pairwise(p, algorithms), brute_force(p, algorithms))


def test_bergmann_and_hommel_for_six_by_brute_force(rng: np.random.Generator) -> None:
    """All 32,767 sets of 15 hypotheses."""
    p = rng.random(15) ** 4
    np.testing.assert_allclose(adjust_pairwise(p, 6), brute_force(p, 6))


@pytest.mark.parametrize(("algorithms", "sets"), [(2, 1), (3, 4), (4, 14), (5, 51), (7, 876)])
def test_there_is_one_exhaustive_set_for_each_partition(algorithms: int, sets: int) -> None:
    found = [frozenset(pairs) for pairs in exhaustive_sets(algorithms)]
    assert len(found) == len(set(found)) == sets


@pytest.mark.parametrize("algorithms", [3, 5, 6])
def test_shaffers_numbers_are_the_sizes_of_exhaustive_sets(algorithms: int) -> None:
    sizes = {0, *(len(pairs) for pairs in exhaustive_sets(algorithms))}
    assert true_counts(algorithms) == sizes


def test_corrections_are_ordered_by_power(rng: np.random.Generator) -> None:
    for _ in range(20):
        p = rng.random(10) ** 4
        none, bergmann, shaffer, holm = (
            adjust_pairwise(p, 5, correction=name)
            for name in ("none", "bergmann", "shaffer", "holm")
        )
        assert (none <= bergmann + 1e-15).all()
        assert (bergmann <= shaffer + 1e-15).all()
        assert (shaffer <= holm + 1e-15).all()


def test_all_pairs_of_a_table(scores: pd.DataFrame) -> None:
    pairs = compare_all(scores)
    assert len(pairs) == 6
    first = pairs.iloc[0]
    ranks = rank_scores(scores).mean()
    assert first["difference"] == pytest.approx(ranks["a"] - ranks["b"])
    assert first["z"] == pytest.approx(first["difference"] / np.sqrt(4 * 5 / (6 * 20)))


def test_cliques_are_the_largest_groups_that_do_not_differ() -> None:
    p_values = {"ab": 0.5, "bc": 0.5, "ac": 0.01, "cd": 0.01, "ad": 0.001, "bd": 0.001}
    pairs = pd.DataFrame(
        [(*pair, p) for pair, p in p_values.items()], columns=["first", "second", "adjusted"]
    )
    assert cliques(pairs) == [("a", "b"), ("b", "c")]
    assert cliques(pairs.assign(adjusted=1.0)) == [("a", "b", "c", "d")]
    assert cliques(pairs.assign(adjusted=0.0)) == []


def test_two_algorithms(rng: np.random.Generator) -> None:
    a = rng.normal(size=40)
    b = a + rng.normal(0.5, 0.5, size=40)
    found = compare_two(a, b)
    assert found.p_value == pytest.approx(stats.wilcoxon(a, b).pvalue)
    assert found.wins + found.losses == found.problems == 40
    assert found.effect < 0
    assert found.interval[0] <= found.median <= found.interval[1] < 0


def test_the_interval_of_the_median_covers_as_often_as_it_says(rng: np.random.Generator) -> None:
    covered = 0
    for _ in range(400):
        low, high = compare_two(rng.normal(size=25), np.zeros(25)).interval
        covered += low <= 0 <= high
    assert covered >= 0.93 * 400


def test_a_problem_that_only_one_solved_counts_most() -> None:
    found = compare_two([1.0, 1.0, 1.0, np.inf, np.nan], [2.0, 2.0, np.inf, np.nan, 1.0])
    assert (found.problems, found.wins, found.losses) == (4, 3, 1)
    assert found.median == -1.0


def test_two_that_never_differ() -> None:
    found = compare_two([1.0, 2.0], [1.0, 2.0])
    assert (found.p_value, found.effect, found.median) == (1.0, 0.0, 0.0)


def test_problems_are_standardised_one_by_one(scores: pd.DataFrame) -> None:
    scores.iloc[3, 2] = np.inf
    scores.iloc[4] = 7.0
    z = standardise(scores)
    assert np.isnan(z.iloc[3, 2])
    assert (z.iloc[4] == 0).all()
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=1e-12)
    others = z.drop(index=4).std(axis=1, ddof=0)
    np.testing.assert_allclose(others, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman(pd.DataFrame({"a": [1.0]})), "'scores' must be a DataFrame"),
        (lambda: adjust_pairwise([0.1, 0.2], 3), "'p_values' must be 3 probabilities"),
        (lambda: adjust_pairwise([0.1, 0.2, 2.0], 3), "'p_values' must be 3 probabilities"),
        (lambda: adjust_pairwise([0.1], 2, correction="tukey"), "'correction' must be one of"),
        (
            lambda: adjust_pairwise(np.ones(55), 11),
            r"for 'bergmann'. Got 11: use 'shaffer'",
        ),
        (lambda: compare_two([1.0], [1.0, 2.0]), "one score per problem"),
    ],
)
def test_questions_that_make_no_sense(call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("ties", [False, True])
def test_few_differences_are_tested_exactly(
    size: int, ties: bool, rng: np.random.Generator
) -> None:
    from scipy.stats import wilcoxon

    for _ in range(3):
        apart = rng.normal(loc=0.5, size=size)
        apart = np.where(apart < 0, -1.0, rng.integers(1, 3, size=size)) if ties else apart
        ours = compare_two(apart.tolist(), [0.0] * size).p_value
        assert ours == pytest.approx(float(wilcoxon(apart).pvalue))
