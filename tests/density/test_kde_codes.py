"""Kernels on numbers and codes, against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace._typing import FloatArray
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.data.table import Table
from daace.density.bandwidth import BANDWIDTHS, SMOOTHINGS, best_bandwidths
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout
from daace.density.kde import KernelDensity
from daace.density.kernels import code_kernels
from daace.exceptions import InvalidInput


def table(rows: int = 80, seed: int = 0) -> Table:
    """Return a number, one with an atom and gaps, a category, and an ordered feature with gaps."""
    rng = np.random.default_rng(seed)
    granted = rng.uniform(size=rows) < 0.5
    savings = np.where(rng.uniform(size=rows) < 0.3, 0.0, rng.gamma(3, 2 + granted))
    savings[rng.uniform(size=rows) < 0.2] = np.nan
    kids = rng.binomial(2, 0.5, size=rows).astype(float)
    kids[rng.uniform(size=rows) < 0.2] = np.nan
    housing = rng.choice(["free", "own", "rent"], size=rows, p=[0.3, 0.3, 0.4])
    age = rng.normal(40 + 5 * granted, 10)
    frame = pd.DataFrame({"age": age, "savings": savings, "housing": housing, "kids": kids})
    frame["class"] = np.where(granted, "yes", "no")
    return Table.from_frame(frame, target="class", kinds={"age": "number"})


@pytest.fixture(scope="module")
def kde() -> KernelDensity:
    return KernelDensity(bandwidth=0.4, smoothing=0.3).fit(table())


def log_normal(x: float, mean: float, sd: float) -> float:
    return float(-0.5 * ((x - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi)))


def kernel(kde: KernelDensity, k: int, row: FloatArray, x: FloatArray) -> float:
    """The reference: the log of the kernel of class k on a row, feature by feature."""
    age, savings, housing, kids, atom = range(5)
    members, h, smoothing = kde.rows_[k], kde.bandwidth_, kde.smoothing_
    log = log_normal(x[age], row[age], h)
    if x[atom] == 0 and row[atom] == 0:
        log += log_normal(x[savings], row[savings], h)
    elif x[atom] == 0:
        others = members[members[:, atom] == 0, savings]
        log += log_normal(x[savings], others.mean(), others.std())
    for column in (housing, atom):
        log += np.log((1 - smoothing) * (x[column] == row[column]) + smoothing / 3)
    gap = 3
    if (x[kids] == gap) or (row[kids] == gap):
        log += np.log((1 - smoothing) * (x[kids] == row[kids]) + smoothing / 4)
    else:
        steps = np.abs(np.arange(3) - row[kids])
        ladder = np.where(steps == 0, 1.0, 0.5 * smoothing**steps)  # both times 1 - smoothing
        log += np.log(ladder[int(x[kids])] / ladder.sum() * (1 - smoothing / 4))
    return float(log)


def slow_log_joint(kde: KernelDensity, x: FloatArray) -> FloatArray:
    found = []
    for k, members in enumerate(kde.rows_):
        logs = [kernel(kde, k, row, x) for row in members]
        found.append(np.logaddexp.reduce(logs) - np.log(len(members)) + kde.log_prior_[k])
    return np.array(found)


def test_it_is_that_of_the_definition(kde: KernelDensity) -> None:
    X, _ = kde.sample(60, rng=np.random.default_rng(1))
    assert set(X[:, 4]) == {0, 1, 2}
    assert set(X[:, 3]) == {0, 1, 2, 3}
    expected = np.array([slow_log_joint(kde, x) for x in X])
    assert kde.log_joint(X) + kde.log_measure(X)[:, None] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("smoothing", [0.01, 0.4, 1.0])
def test_kernels_of_codes_sum_to_one(smoothing: float) -> None:
    features = (
        Feature("job", "ordered", levels=(1, 2, 3, 4), dtype="Int64", gaps=True),
        Feature("size", "ordered", levels=(1, 2), dtype="int64"),
        Feature("housing", "category", levels=("own", "rent"), dtype="str"),
        Feature("savings", atoms=(0.0, np.nan)),
    )
    for logs in code_kernels(Encoding(features), smoothing):
        assert np.exp(logs).sum(axis=0) == pytest.approx(np.ones(len(logs)))
        assert (np.diag(logs) >= logs.max(axis=0) - 1e-12).all()


def test_the_weight_of_a_line_is_the_mean_conditional_log_density(kde: KernelDensity) -> None:
    X, _ = kde.sample(1_000, rng=np.random.default_rng(2))
    there = X[X[:, 4] == 0]
    grid = np.linspace(-8, 8, 401)
    moved = np.repeat(there[:, None], len(grid), axis=1)
    moved[:, :, 1] = grid
    logs = kde.log_prob(moved.reshape(-1, 5)).reshape(len(there), -1)
    conditional = kde.log_prob(there) - log_sum_exp(logs) - np.log(grid[1] - grid[0])
    error = conditional.std() / np.sqrt(len(there))
    assert abs(conditional.mean() - kde.line_weights_[1]) < 5 * error


def test_leaving_a_row_out_is_its_kernel_less(kde: KernelDensity) -> None:
    said = kde.held_out(table())
    assert said is not None
    everyone, n = np.concatenate(kde.rows_), len(table())
    y = np.repeat([0, 1], [len(rows) for rows in kde.rows_])
    expected = []
    for i, x in enumerate(everyone):
        joint = []
        for k in (0, 1):
            rows = everyone[(y == k) & (np.arange(n) != i)]
            logs = [kernel(kde, k, row, x) for row in rows]
            joint.append(np.logaddexp.reduce(logs) - np.log(n - 1))
        expected.append([y[i], *(np.array(joint) - kde.log_measure(x[None]))])
    found = np.column_stack([said.labels, said.log_joint])
    slow = np.array(expected)
    assert found[np.lexsort(found.T)] == pytest.approx(slow[np.lexsort(slow.T)], abs=1e-9)


def test_both_are_the_best_beside_the_other() -> None:
    kde = KernelDensity().fit(table())
    layout = CodeLayout.of(kde.encoding_, kde.standardizer_)

    def score(h: float, smoothing: float) -> float:
        """The reference: leave-one-out, kernel by kernel."""
        other, total = KernelDensity(bandwidth=h, smoothing=smoothing).fit(table()), 0.0
        for k, members in enumerate(other.rows_):
            for i, x in enumerate(members):
                logs = [kernel(other, k, row, x) for j, row in enumerate(members) if j != i]
                total += np.logaddexp.reduce(logs) - np.log(len(logs))
        return float(total)

    best = score(kde.bandwidth_, kde.smoothing_)
    assert best >= max(score(h, kde.smoothing_) for h in BANDWIDTHS[::4].tolist())
    assert best >= max(score(kde.bandwidth_, some) for some in SMOOTHINGS[::4].tolist())
    known = best_bandwidths(kde.rows_, kde.encoding_, layout, bandwidth=0.7)
    assert known[0] == 0.7


@pytest.mark.parametrize("smoothing", [0.0, 1.5, "scott"])
def test_smoothings_that_cannot_be(smoothing: Any) -> None:
    with pytest.raises(InvalidInput, match="'smoothing' must be a number above 0 and at most 1"):
        KernelDensity(smoothing=smoothing)


@pytest.mark.parametrize(
    ("arrays", "settings", "message"),
    [
        ({}, {"fitted_smoothing": 0.0}, "the smoothing is not above 0"),
        ({"line_weights": np.full(2, 3.0)}, {}, "without atoms has a weight"),
        ({"line_weights": np.zeros(3)}, {}, "other numbers than its encoding"),
        ({"atom_values": np.zeros((1, 1))}, {}, "atoms have other values"),
        ({"rows_0": np.full((3, 5), 0.5)}, {}, "must have codes 0 to"),
    ],
)
def test_arrays_that_do_not_fit(
    kde: KernelDensity, arrays: dict[str, FloatArray], settings: dict[str, Any], message: str
) -> None:
    good, good_settings = kde.to_arrays()
    told = {**good_settings, **settings, "encoding": kde.encoding_}
    with pytest.raises(ValueError, match=message):
        KernelDensity.from_arrays({**good, **arrays}, told)
