from __future__ import annotations

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.network.expectation import MonomialRows
from daace.density.network.families import SufficientStatistics
from daace.density.network.graph import Structure
from daace.density.network.profiles import SPIKE, ProfileLearner, choose_groups

CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def clusters(rows: int = 600) -> FloatArray:
    rng = np.random.default_rng(1)
    return CENTRES[np.arange(rows) % 3] + rng.normal(size=(rows, 2))


def table_of(X: FloatArray) -> Table:
    """The rows as one class, and as another far away."""
    both = np.concatenate([X, X[: len(X) // 2] * 0.3 + 30])
    y = np.array(["a"] * len(X) + ["b"] * (len(X) // 2))
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Table(both, y, names, np.unique(y))


def naive_learner(X: FloatArray) -> tuple[ProfileLearner, Structure]:
    n = X.shape[1]
    graph = Structure(np.zeros((n, n), dtype=bool), np.ones(n, dtype=bool))
    stats = SufficientStatistics.of(X, np.zeros(len(X), dtype=np.intp), 1)
    rows = [MonomialRows(X, np.ones(len(X)))]
    return ProfileLearner(rows, stats, np.zeros(n), lambda *_: graph), graph


def test_em_increases_the_likelihood() -> None:
    X = np.random.default_rng(3).standard_t(3, size=(400, 2))
    learner, graph = naive_learner(X)
    stats, owner = learner._begin([3])
    means = []
    for _ in range(15):
        stats, owner, mean = learner._expect(stats, owner, graph)
        means.append(mean)
    # Variances without bias, and their floor, may cost a trace of likelihood.
    assert np.diff(means[1:]).min() > -1e-3
    assert means[-1] > means[0]


def test_known_profiles_are_recovered() -> None:
    table = table_of(clusters())
    network = LinearGaussianNetwork(profiles=3).fit(table)
    found = network.standardizer_.inverse(network.components_.gaussians.means)
    first = found[network.components_.owner == 0]
    for centre in CENTRES:
        assert np.abs(first - centre).max(axis=1).min() < 0.3
    shares = network.profiles_["share"][network.profiles_["class"] == "a"]
    assert shares.to_numpy() == pytest.approx(1 / 3, abs=0.02)


def test_any_order_of_the_rows_gives_the_same_network() -> None:
    table = table_of(clusters())
    first = LinearGaussianNetwork(profiles=3).fit(table)
    again = LinearGaussianNetwork(profiles=3).fit(table)
    other = LinearGaussianNetwork(profiles=3).fit(table.shuffle(rng=np.random.default_rng(5)))
    for name, array in first.to_arrays()[0].items():
        assert np.array_equal(array, again.to_arrays()[0][name])
        assert array == pytest.approx(other.to_arrays()[0][name], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("rows", [30, 60, 200])
def test_no_profile_is_too_small(rows: int) -> None:
    X = np.random.default_rng(2).standard_t(2, size=(rows, 2))
    learner, _ = naive_learner(X)
    parameters, _, _ = learner.learn([16])
    assert learner.fewest == 10
    assert rows * np.exp(parameters.log_weights).min() >= learner.fewest * (1 - 1e-9)


def test_a_spike_does_not_get_a_profile_of_its_own_width() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) + 3
    X[:300, 0] = 0.0
    network = LinearGaussianNetwork(profiles=4).fit(table_of(X))
    assert np.sqrt(network.components_.gaussians.variances.min()) >= SPIKE * (1 - 1e-9)


def test_groups_are_the_clusters() -> None:
    groups = choose_groups(clusters(), 3, np.random.default_rng(0))
    assert len({tuple(np.unique(groups[j::3])) for j in range(3)}) == 3
    assert choose_groups(np.zeros((5, 2)), 3, np.random.default_rng(0)).tolist() == [0] * 5
