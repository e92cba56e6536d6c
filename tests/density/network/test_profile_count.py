from __future__ import annotations

import numpy as np
import pytest

from daace.data.catalog import load_table
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork


def test_three_clusters_are_three_profiles() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    X = np.concatenate([centres[np.arange(600) % 3], np.full((200, 2), 25.0)])
    X += rng.normal(size=X.shape)
    y = np.repeat(["a", "b"], [600, 200])
    network = LinearGaussianNetwork(profiles="auto").fit(Table(X, y, ("u", "v"), np.unique(y)))
    assert np.bincount(network.components_.owner).tolist() == [3, 1]
    trials = network.trials_
    assert list(trials.columns) == ["class", "profiles", "held_out", "bic"]
    tried = trials[trials["class"] == "a"].set_index("profiles")
    assert tried["bic"].idxmax() == 3
    assert tried["held_out"][3] > tried["held_out"][2] + 0.1


@pytest.mark.parametrize("name", ["iris", "wine_cultivars"])
def test_small_tables_keep_one_profile_and_the_single_network(name: str) -> None:
    table = load_table(name)
    auto = LinearGaussianNetwork(profiles="auto").fit(table)
    single = LinearGaussianNetwork().fit(table)
    assert auto.components_.single
    arrays = single.to_arrays()[0]
    assert auto.to_arrays()[0].keys() == arrays.keys()
    for key, array in arrays.items():
        assert np.array_equal(auto.to_arrays()[0][key], array)
    assert single.trials_.empty
