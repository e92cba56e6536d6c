from __future__ import annotations

import numpy as np
import pytest

from daace import LinearGaussianNetwork, Table, load_table


@pytest.mark.parametrize("name", ["iris", "wine_cultivars"])
def test_small_tables_keep_one_profile_and_are_the_single_network(name: str) -> None:
    table = load_table(name)
    profiles = LinearGaussianNetwork(profiles="auto").fit(table)
    single = LinearGaussianNetwork().fit(table)
    assert profiles.profiles_["profile"].tolist() == [1] * len(table.classes)
    assert profiles.arcs_ == single.arcs_
    X = single.to_model(table.to_frame())
    assert np.array_equal(profiles.log_joint(X), single.log_joint(X))


def test_a_number_that_is_better_by_chance_is_not_chosen() -> None:
    """On iris, four profiles of setosa predict better than one, by less than two errors."""
    trials = LinearGaussianNetwork(profiles="auto").fit(load_table("iris")).trials_
    setosa = trials[trials["class"] == "setosa"].set_index("profiles")["held_out"]
    assert setosa.idxmax() > 1
    assert setosa.max() - setosa[1] > 0.05


def test_clusters_of_a_class_become_profiles(rng: np.random.Generator) -> None:
    centres = np.repeat([[-4.0, 0.0], [4.0, 0.0], [0.0, 0.0]], 100, axis=0)
    X = centres + rng.normal(size=(300, 2))
    y = np.repeat(["apart", "together"], [200, 100])
    table = Table(X, y, ("a", "b"), np.array(["apart", "together"]))
    network = LinearGaussianNetwork(profiles="auto").fit(table)
    assert network.profiles_.groupby("class").size().to_dict() == {"apart": 2, "together": 1}
    assert network.profiles_["share"].tolist() == pytest.approx([0.5, 0.5, 1.0], abs=0.02)
