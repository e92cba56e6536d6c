from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.network.families import (
    VARIANCE_FLOOR,
    Family,
    SufficientStatistics,
    Terms,
    gaussian_scores,
    regress,
)
from daace.density.network.graph import Structure
from daace.density.network.hill_climbing import ArcChange, _ClimbingGraph, hill_climb

Rows = tuple[FloatArray, IntArray]


def _rows(seed: int, *, n: int = 5, rows: int = 120, classes: int = 2) -> Rows:
    """Draw standardised rows of a random network with a class."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, n))
    for j in range(1, n):
        parents = rng.choice(j, size=min(j, int(rng.integers(0, 3))), replace=False)
        X[:, j] += X[:, parents] @ rng.normal(size=len(parents)) + rng.normal(size=classes)[y]
        X[:, j] *= rng.uniform(0.5, 2, size=classes)[y]
    X = X[:, rng.permutation(n)]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _stats(rows: Rows) -> SufficientStatistics:
    return SufficientStatistics.of(*rows, int(rows[1].max()) + 1)


def _empty(n: int) -> Structure:
    return Structure(np.zeros((n, n), dtype=bool), np.zeros(n, dtype=bool))


def _naive(n: int) -> Structure:
    return Structure(np.zeros((n, n), dtype=bool), np.ones(n, dtype=bool))


def slow_family_score(rows: Rows, child: int, parents: list[int], class_parent: bool) -> float:
    """The reference: least squares on the rows themselves, class by class."""
    X, y = rows
    groups = [X[y == k] for k in range(y.max() + 1)] if class_parent else [X]
    score = 0.0
    for group in groups:
        design = np.column_stack([np.ones(len(group)), group[:, parents]])
        freedom = len(group) - design.shape[1]
        if freedom < 1:
            return -np.inf
        beta, *_ = np.linalg.lstsq(design, group[:, child], rcond=None)
        residuals = group[:, child] - design @ beta
        variance = max(float(residuals @ residuals) / freedom, VARIANCE_FLOOR)
        score += -0.5 * len(group) * np.log(2 * np.pi * variance)
        score -= 0.5 * float(residuals @ residuals) / variance
        score -= 0.5 * np.log(len(X)) * (design.shape[1] + 1)
    return score


def slow_score(rows: Rows, graph: Structure) -> float:
    return sum(
        slow_family_score(rows, j, graph.parents(j).tolist(), bool(graph.class_arcs[j]))
        for j in range(len(graph.class_arcs))
    )


def is_acyclic(arcs: BoolArray) -> bool:
    power = np.eye(len(arcs), dtype=int)
    for _ in range(len(arcs)):
        power = power @ arcs
    return not power.any()


def neighbours(graph: Structure) -> list[Structure]:
    """Every graph that differs by one arc added, removed or reversed, or by one class arc."""
    n = len(graph.class_arcs)
    found = []
    for j in range(n):
        class_arcs = graph.class_arcs.copy()
        class_arcs[j] ^= True
        found.append(Structure(graph.arcs, class_arcs))
    for i, j in product(range(n), repeat=2):
        arcs = graph.arcs.copy()
        arcs[i, j] ^= True
        found.append(Structure(arcs, graph.class_arcs))
        if graph.arcs[i, j]:
            arcs = arcs.copy()
            arcs[j, i] = True
            found.append(Structure(arcs, graph.class_arcs))
    return [candidate for candidate in found if is_acyclic(candidate.arcs)]


def allowed(
    graph: Structure, forced: Structure, forbidden: Structure, max_parents: int | None
) -> bool:
    parents = graph.arcs.sum(axis=0) + graph.class_arcs
    return bool(
        (graph.arcs >= forced.arcs).all()
        and (graph.class_arcs >= forced.class_arcs).all()
        and not (graph.arcs & forbidden.arcs).any()
        and not (graph.class_arcs & forbidden.class_arcs).any()
        and (max_parents is None or (parents <= max_parents).all())
    )


# Families -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_parent", [False, True])
@pytest.mark.parametrize("parents", [[], [3], [0, 3], [0, 2, 3, 5]])
def test_a_family_and_its_changes_match_least_squares(
    parents: list[int], class_parent: bool, classes: int
) -> None:
    rows = _rows(1, n=6, classes=classes)
    child = 4
    family = Family.of(_stats(rows), child, np.array(parents, dtype=np.intp), class_parent)
    here = slow_family_score(rows, child, parents, class_parent)
    assert family.score == pytest.approx(here, rel=1e-10)
    toggled = slow_family_score(rows, child, parents, not class_parent)
    assert family.toggle_class == pytest.approx(toggled - here, rel=1e-9, abs=1e-7)
    for place, parent in enumerate(parents):
        rest = [p for p in parents if p != parent]
        gain = slow_family_score(rows, child, rest, class_parent) - here
        assert family.remove[place] == pytest.approx(gain, rel=1e-9, abs=1e-7)
    for other in range(6):
        if other in (child, *parents):
            assert family.add[other] == -np.inf
        else:
            gain = slow_family_score(rows, child, [*parents, other], class_parent) - here
            assert family.add[other] == pytest.approx(gain, rel=1e-9, abs=1e-7)


def test_regression_matches_least_squares() -> None:
    X, y = _rows(2)
    coefficients, residuals = regress(_stats((X, y)), 0, np.array([1, 3]), class_parent=True)
    for k in range(2):
        group = X[y == k]
        design = np.column_stack([np.ones(len(group)), group[:, [1, 3]]])
        beta, rss, *_ = np.linalg.lstsq(design, group[:, 0], rcond=None)
        assert coefficients[k] == pytest.approx(beta[1:], rel=1e-9)
        assert residuals[k] == pytest.approx(rss[0], rel=1e-9)


def test_a_family_without_room_takes_nothing_more() -> None:
    stats, parents = _stats(_rows(3)), np.array([1, 2])
    full = Family.of(stats, 0, parents, False, room=False)
    free = Family.of(stats, 0, parents, False)
    assert (full.add == -np.inf).all()
    assert full.toggle_class == -np.inf
    assert (full.score, full.remove.tolist()) == (free.score, free.remove.tolist())
    with_class = Family.of(stats, 0, parents, True, room=False)
    assert with_class.toggle_class == Family.of(stats, 0, parents, True).toggle_class > -np.inf


def test_a_copy_of_a_parent_is_no_further_parent() -> None:
    X, y = _rows(4)
    X[:, 2] = -X[:, 1]
    family = Family.of(_stats((X, y)), 0, np.array([1]), True)
    assert family.add[2] == -np.inf
    assert np.isfinite(family.add[3])


def test_parents_that_are_collinear_within_a_class_do_not_meet_the_class() -> None:
    X, y = _rows(5)
    X[y == 0, 2] = X[y == 0, 1]
    family = Family.of(_stats((X, y)), 0, np.array([1, 2]), False)
    assert np.isfinite(family.score)
    assert family.toggle_class == -np.inf


def test_a_family_with_too_few_rows_scores_nothing() -> None:
    counts = np.array([9.0, 10.0, 30.0])
    terms = Terms.of(counts, np.array([0, 6, 7, 26, 27]), 30.0)
    scores = gaussian_scores(counts, np.ones((3, 5)), terms)
    assert np.isfinite(scores).tolist() == [
        [False, False, False, False, False],
        [True, True, False, False, False],
        [True, True, True, True, False],
    ]


# Hill climbing ------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 5),
    classes=st.integers(2, 3),
    max_parents=st.sampled_from([None, 0, 1, 2, 3]),
    naive=st.booleans(),
    share_forbidden=st.sampled_from([0.0, 0.3]),
)
def test_no_single_change_improves_the_result(
    seed: int, n: int, classes: int, max_parents: int | None, naive: bool, share_forbidden: float
) -> None:
    rows = _rows(seed, n=n, classes=classes)
    rng = np.random.default_rng(seed)
    forbidden = Structure(rng.random((n, n)) < share_forbidden, rng.random(n) < share_forbidden)
    forced = _empty(n)
    if max_parents is None or max_parents >= 1:  # a chain of two arcs, and one class arc
        if n > 2:
            forced.arcs[0, 1] = forced.arcs[1, 2] = True
        else:
            forced.class_arcs[0] = True
        forbidden.arcs[forced.arcs] = False
        forbidden.class_arcs[forced.class_arcs] = False
    begin = Structure(forced.arcs.copy(), forced.class_arcs.copy())
    if naive and max_parents is None:
        begin.class_arcs[~forbidden.class_arcs] = True

    result = hill_climb(
        _stats(rows), begin, max_parents=max_parents, forced=forced, forbidden=forbidden
    )
    assert is_acyclic(result.arcs)
    assert allowed(result, forced, forbidden, max_parents)
    score = slow_score(rows, result)
    assert score >= slow_score(rows, begin) - 1e-6
    better = [
        candidate
        for candidate in neighbours(result)
        if allowed(candidate, forced, forbidden, max_parents)
        and slow_score(rows, candidate) > score + 1e-5
    ]
    assert better == []


@pytest.mark.parametrize("seed", range(6))
def test_three_features_reach_the_best_of_all_graphs(seed: int) -> None:
    rows = _rows(seed, n=3, rows=400)
    n = 3
    everything = [
        Structure(np.reshape(arcs, (n, n)), np.array(class_arcs))
        for arcs in product([False, True], repeat=n * n)
        if is_acyclic(np.reshape(arcs, (n, n)))
        for class_arcs in product([False, True], repeat=n)
    ]
    assert len(everything) == 25 * 8
    best = max(slow_score(rows, graph) for graph in everything)
    result = hill_climb(_stats(rows), _naive(n), forced=_empty(n), forbidden=_empty(n))
    assert slow_score(rows, result) == pytest.approx(best, abs=1e-5)


def test_the_start_is_not_changed() -> None:
    start = _naive(5)
    hill_climb(_stats(_rows(6)), start, forced=_empty(5), forbidden=_empty(5))
    assert not start.arcs.any()
    assert start.class_arcs.all()


def test_independent_columns_stay_alone() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(2000, 4)), np.arange(2000) % 2
    result = hill_climb(_stats((X, y)), _naive(4), forced=_empty(4), forbidden=_empty(4))
    assert not result.arcs.any()
    assert not result.class_arcs.any()


def test_of_two_equal_directions_the_hungrier_end_stays_free() -> None:
    """2 = 0 + noise scores the same both ways, but 0 = 1 + noise needs the room at 0."""
    rng = np.random.default_rng(8)
    a = rng.normal(size=3000)
    b = a + 0.5 * rng.normal(size=3000)
    c = b + 0.3 * rng.normal(size=3000)
    X = np.column_stack([b, a, c])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rules = {"forced": _empty(3), "forbidden": _empty(3)}
    search = _ClimbingGraph(_stats((X, np.arange(3000) % 2)), _empty(3), max_parents=1, **rules)
    move = search.best_change()
    assert (move.kind, move.parent, move.child) == ("add", 0, 2)
    mirrored = _ClimbingGraph(
        _stats((X[:, [2, 1, 0]], np.arange(3000) % 2)), _empty(3), max_parents=1, **rules
    )
    move = mirrored.best_change()
    assert (move.kind, move.parent, move.child) == ("add", 2, 0)


def test_it_walks_on_from_a_summit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Going on never loses, and over many tables it gains."""
    tables = [_rows(seed, n=8, rows=300) for seed in range(12)]

    def climb(rows: Rows) -> float:
        rules = {"forced": _empty(8), "forbidden": _empty(8)}
        return slow_score(rows, hill_climb(_stats(rows), _naive(8), max_parents=2, **rules))

    patient = [climb(rows) for rows in tables]
    monkeypatch.setattr("daace.density.network.hill_climbing.PATIENCE", 0)
    hasty = [climb(rows) for rows in tables]
    gains = np.subtract(patient, hasty)
    assert (gains >= -1e-6).all()
    assert gains.max() > 1


@given(seed=st.integers(0, 10_000), n=st.integers(2, 7))
def test_descendants_are_kept_up_to_date(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    search = _ClimbingGraph(
        _stats(_rows(seed % 7, n=n)),
        _empty(n),
        max_parents=None,
        forced=_empty(n),
        forbidden=_empty(n),
    )
    for _ in range(15):
        i, j = rng.choice(n, size=2, replace=False)
        if search.arcs[i, j]:
            search.apply(ArcChange("remove", int(i), int(j), 0.0))
        elif not search.descends[i, j]:
            search.apply(ArcChange("add", int(i), int(j), 0.0))
        reached = np.linalg.matrix_power(np.eye(n, dtype=int) + search.arcs, n) > 0
        assert np.array_equal(search.descends.T | np.eye(n, dtype=bool), reached)
        parents = [search.arcs[:, k].nonzero()[0] for k in range(n)]
        scores = [Family.of(search.stats, k, parents[k], False).score for k in range(n)]
        assert search.score == pytest.approx(scores, rel=1e-12)


# Order --------------------------------------------------------------------------------------------


def test_a_family_with_too_few_rows_ends_the_search_for_it_only() -> None:
    """Beside an atom a number may have hardly any rows: such a family neither gains nor loops."""
    X, y = _rows(3, n=4)
    all_rows, few = _stats((X, y)), _stats((X[:6], y[:6]))
    families = [all_rows, all_rows, all_rows, few]
    stats = SufficientStatistics(all_rows.counts, all_rows.means, all_rows.scatters, families)
    alone = Family.of(few, 3, np.zeros(0, dtype=np.intp), True)
    assert np.isfinite(alone.score)
    assert alone.toggle_class == -np.inf
    assert not alone.add.max() > 0
    start = _naive(4)
    start.arcs[0, 3] = True
    graph = hill_climb(stats, start, forced=_empty(4), forbidden=_empty(4))
    assert not graph.arcs[:, 3].any()
    assert graph.arcs[:, :3].any()
