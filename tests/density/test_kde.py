from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.data.synthetic import draw_table, random_mixture
from daace.data.table import Table
from daace.density.bandwidth import best_bandwidth
from daace.density.kde import KernelDensity
from daace.exceptions import InvalidInput, NotFitted


def brute_force(kde: KernelDensity, X: FloatArray) -> FloatArray:
    """The reference: every kernel, in extended precision, summed by logsumexp."""
    h = np.longdouble(kde.bandwidth_)
    n = X.shape[1]
    result = np.empty((len(X), len(kde.rows_)))
    for k, rows in enumerate(kde.rows_):
        difference = X[:, None].astype(np.longdouble) - rows
        exponent = -0.5 * (difference**2).sum(axis=2) / h**2
        top = exponent.max(axis=1)
        total = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        total += kde.log_prior_[k] - np.log(len(rows)) - n * np.log(h)
        result[:, k] = total - n / 2 * np.log(2 * np.longdouble(np.pi))
    return result


def _table(n: int, *, rows: int = 300, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return draw_table(random_mixture(n, rng=rng), rows, rng=rng)


def _queries(kde: KernelDensity) -> FloatArray:
    """Return draws, the rows themselves, and points 50 standard deviations away."""
    rng = np.random.default_rng(1)
    X, _ = kde.sample(30, rng=rng)
    far = 50 * rng.normal(size=X.shape)
    return np.concatenate([X, kde.rows_[0][:20], far])


@pytest.mark.parametrize("bandwidth", [0.02, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_equal_to_brute_force_near_and_far(n: int, bandwidth: float) -> None:
    kde = KernelDensity(bandwidth=bandwidth).fit(_table(n))
    X = _queries(kde)
    assert kde.log_joint(X) == pytest.approx(brute_force(kde, X), rel=1e-9, abs=1e-9)


def test_equal_to_brute_force_beside_an_outlier() -> None:
    table = _table(4, rows=2000)
    X = table.X.copy()
    X[0] = 60 * X.std(axis=0)
    kde = KernelDensity(bandwidth=0.1).fit(Table(X, table.y, table.features, table.classes))
    lonely = max((row for rows in kde.rows_ for row in rows), key=np.linalg.norm)
    assert np.linalg.norm(lonely) > 50
    near = lonely + 0.05 * np.random.default_rng(2).normal(size=(20, 4))
    assert kde.log_joint(near) == pytest.approx(brute_force(kde, near), rel=1e-9, abs=1e-9)


def test_equal_to_scikit_learn_where_that_is_exact() -> None:
    from sklearn.neighbors import KernelDensity as Peer

    kde = KernelDensity(bandwidth=0.2).fit(_table(10))
    X = _queries(kde)
    for k, rows in enumerate(kde.rows_):
        peer = Peer(bandwidth=0.2, leaf_size=len(rows), rtol=0, atol=0).fit(rows)
        expected = peer.score_samples(X) + kde.log_prior_[k]
        assert kde.log_joint(X)[:, k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    kde = KernelDensity(bandwidth=0.3).fit(_table(3))
    X = _queries(kde)
    W = np.random.default_rng(3).normal(size=(len(X), 2))
    joint, gradient = kde.log_joint(X), kde.log_joint_vjp(X, W)
    for block in (1, 1000):
        monkeypatch.setattr("daace.density.kernels.BLOCK", block)
        assert kde.log_joint(X) == pytest.approx(joint, rel=1e-12)
        assert kde.log_joint_vjp(X, W) == pytest.approx(gradient, rel=1e-9, abs=1e-9)


# Bandwidth ----------------------------------------------------------------------------------------


def slow_scores(rows: list[FloatArray], folds: int, grid: FloatArray) -> FloatArray:
    """The reference: fold by fold, row by row, bandwidth by bandwidth."""
    scores = np.zeros(len(grid))
    rng = np.random.default_rng(0)
    for members in rows:
        parts = min(folds, len(members))
        fold = rng.permutation(len(members)) % parts
        for b, h in enumerate(grid):
            for i, x in enumerate(members):
                train = members[fold != fold[i]]
                exponent = -0.5 * ((x - train) ** 2).sum(axis=1) / h**2
                kernel = np.logaddexp.reduce(exponent) - np.log(len(train))
                scores[b] += kernel - len(x) * np.log(h * np.sqrt(2 * np.pi))
    return scores


@pytest.mark.parametrize("n", [1, 2, 6])
def test_bandwidth_is_the_best_in_cross_validation(n: int) -> None:
    table = _table(n, rows=120, seed=n)
    kde = KernelDensity().fit(table)
    grid = np.logspace(-1, 0, 10)
    scores = slow_scores(kde.rows_, 10, grid)
    assert kde.bandwidth_ == grid[np.argmax(scores)]
    assert kde.resolution_ == kde.bandwidth_


def test_bandwidth_of_given_candidates(rng: np.random.Generator) -> None:
    rows = [rng.normal(size=(40, 2)), rng.normal(size=(25, 2))]
    grid = np.array([0.05, 0.4, 0.8, 5.0])
    expected = grid[np.argmax(slow_scores(rows, 5, grid))]
    assert best_bandwidth(rows, folds=5, candidates=grid) == expected == 0.8


def test_bandwidth_with_two_rows_in_a_class() -> None:
    table = _table(2)
    few = np.r_[np.flatnonzero(table.y == "c0")[:2], np.flatnonzero(table.y == "c1")]
    kde = KernelDensity().fit(table.take(few))
    assert len(kde.rows_[0]) == 2
    assert 0.1 <= kde.bandwidth_ <= 1


def test_more_rows_narrower_kernels() -> None:
    widths = [KernelDensity().fit(_table(2, rows=rows)).bandwidth_ for rows in (40, 1500)]
    assert widths[1] < widths[0]


# Rows ---------------------------------------------------------------------------------------------


def test_large_classes_are_thinned_but_keep_their_share() -> None:
    table = _table(2, rows=1000)
    kde = KernelDensity(bandwidth=0.3, max_rows_per_class=50).fit(table)
    assert [len(rows) for rows in kde.rows_] == [50, 50]
    shares = [(table.y == label).mean() for label in table.classes]
    assert np.exp(kde.log_prior_) == pytest.approx(shares)
    again = KernelDensity(bandwidth=0.3, max_rows_per_class=50).fit(table)
    assert np.array_equal(kde.rows_[0], again.rows_[0])
    everyone = kde.to_model(table.to_frame())
    assert {tuple(row) for row in kde.rows_[1]} <= {tuple(row) for row in everyone}
    assert len({tuple(row) for row in kde.rows_[1]}) == 50


def test_it_says_that_it_holds_rows() -> None:
    assert KernelDensity.holds_rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": -1}, "'bandwidth' must be a positive number or 'cv'. Got -1."),
        ({"bandwidth": 0.0}, "'bandwidth' must be a positive number or 'cv'. Got 0.0."),
        ({"bandwidth": np.inf}, "'bandwidth' must be a positive number or 'cv'. Got inf."),
        ({"bandwidth": "scott"}, "'bandwidth' must be a positive number or 'cv'. Got 'scott'."),
        ({"max_rows_per_class": 1}, "'max_rows_per_class' must be an integer of at least 2. Got 1"),
        ({"max_rows_per_class": 9.5}, "must be an integer of at least 2. Got 9.5."),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        KernelDensity(**settings)
    assert message in str(caught.value)


def test_before_fit_it_says_so() -> None:
    with pytest.raises(NotFitted, match=r"This KernelDensity is not fitted: call fit\(table\)"):
        KernelDensity().log_prob(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("arrays", "settings", "message"),
    [
        ({"rows_1": np.zeros((3, 2))}, {}, "the rows of the classes have different widths"),
        ({"rows_1": np.zeros((0, 3))}, {}, "the rows of the classes have different widths"),
        ({}, {"fitted_bandwidth": 0.0}, "the bandwidth is not a positive number"),
        ({}, {"fitted_bandwidth": float("nan")}, "the bandwidth is not a positive number"),
    ],
)
def test_arrays_that_do_not_fit(
    arrays: dict[str, FloatArray], settings: dict[str, Any], message: str
) -> None:
    good, good_settings = KernelDensity(bandwidth=0.3).fit(_table(3)).to_arrays()
    with pytest.raises(ValueError, match=message):
        KernelDensity.from_arrays({**good, **arrays}, {**good_settings, **settings})


# Checked without the row itself -------------------------------------------------------------------


def refitted(kde: KernelDensity, table: Table, apart: FloatArray, x: FloatArray) -> FloatArray:
    """The reference: log p(x, y) by kernels of all rows but some, counted class by class."""
    Z, h, n = kde.to_model(table.to_frame()), kde.bandwidth_, len(x)
    joint = np.empty(len(table.classes))
    for k, label in enumerate(table.classes):
        rows = Z[(table.y == label) & ~apart]
        exponent = -0.5 * ((x - rows) ** 2).sum(axis=1) / h**2
        joint[k] = np.logaddexp.reduce(exponent) - n * np.log(h * np.sqrt(2 * np.pi))
        joint[k] -= np.log((~apart).sum())  # share of the class times the mean of its kernels
    return joint


def sorted_rows(said: Any, table: Table | None = None) -> FloatArray:
    """What is said of the rows, with their classes, in an order of its own."""
    if table is None:
        joint = np.column_stack([said.labels, said.log_joint])
    else:
        joint = np.column_stack([np.searchsorted(table.classes, table.y), said])
    ordered: FloatArray = joint[np.lexsort(joint.T)]
    return ordered


@pytest.mark.parametrize("bandwidth", [0.05, 0.4])
def test_leaving_a_row_out_is_fitting_without_it(bandwidth: float) -> None:
    table = _table(3, rows=90)
    kde = KernelDensity(bandwidth=bandwidth).fit(table)
    said = kde.held_out(table)
    assert said is not None
    Z = kde.to_model(table.to_frame())
    expected = [refitted(kde, table, np.arange(90) == i, Z[i]) for i in range(90)]
    assert sorted_rows(said) == pytest.approx(sorted_rows(expected, table), rel=1e-9, abs=1e-9)
    assert said.draws is kde.draws_


def test_copies_of_a_row_are_left_out_with_it() -> None:
    table = _table(3, rows=60).take(np.repeat(np.arange(60), 3))
    kde = KernelDensity(bandwidth=0.1).fit(table)
    said = kde.held_out(table)
    assert said is not None
    Z = kde.to_model(table.to_frame())
    expected = [refitted(kde, table, np.arange(180) // 3 == i // 3, Z[i]) for i in range(180)]
    assert sorted_rows(said) == pytest.approx(sorted_rows(expected, table), rel=1e-9, abs=1e-9)


def test_a_large_table_is_judged_in_part_whatever_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("daace.density.kde.JUDGED", 40)
    table = _table(2, rows=300)
    said = KernelDensity(bandwidth=0.3).fit(table).held_out(table)
    other = table.shuffle(rng=np.random.default_rng(1))
    again = KernelDensity(bandwidth=0.3).fit(other).held_out(other)
    assert said is not None
    assert again is not None
    assert len(said.labels) == 40
    assert again.log_joint == pytest.approx(said.log_joint, rel=1e-9)


def test_blocks_do_not_show_in_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _table(3)
    kde = KernelDensity(bandwidth=0.3, max_rows_per_class=60).fit(table)
    said = kde.held_out(table)
    monkeypatch.setattr("daace.density.kernels.BLOCK", 1)
    again = kde.held_out(table)
    assert said is not None
    assert again is not None
    assert again.log_joint == pytest.approx(said.log_joint, rel=1e-12)


def test_a_class_without_another_kernel_cannot_be_checked() -> None:
    table = _table(2, rows=100)
    X = table.X.copy()
    first = np.flatnonzero(table.y == "c0")
    X[first[:-9]] = X[first[0]]
    repeated = Table(X, table.y, table.features, table.classes)
    kde = KernelDensity(bandwidth=0.3, max_rows_per_class=2).fit(repeated)
    assert kde.held_out(repeated) is None
