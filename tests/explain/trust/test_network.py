from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import LinearGaussianNetwork, Table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.trust.network import lay_out, read_network, strong_arcs


@pytest.fixture(scope="module")
def chain() -> Explainer:
    """a raises b, b lowers c, and d goes with a one way in each class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    a = rng.normal(size=600)
    b = 2 * a + 0.3 * rng.normal(size=600)
    c = -b + 0.3 * rng.normal(size=600)
    d = np.where(y == 0, a, -a) + 0.3 * rng.normal(size=600)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "class": y})
    network = LinearGaussianNetwork(start="empty")
    arcs = [("a", "b"), ("b", "c"), ("a", "d"), ("class", "d")]
    return Explainer(network.fit_arcs(Table.from_frame(frame, target="class"), arcs))


def test_arcs_have_their_sign(chain):
    arcs = chain.network().to_frame().set_index(["parent", "child"])
    assert arcs["sign"].to_dict() == {("a", "b"): 1, ("b", "c"): -1, ("a", "d"): 0}
    assert arcs["coefficient"][("a", "b")] == pytest.approx(1.0, abs=0.05)
    assert chain.network().of_class == {"d"}


def test_features_can_be_chosen(chain):
    network = chain.network(features=["c", "b"])
    assert network.features == ("b", "c")
    assert len(network.arcs) == 1
    assert network.left_out == 2
    with pytest.raises(InvalidInput, match=r"'features' must be in the model. Got 'e'"):
        chain.network(features=["e"])


def test_only_the_strongest_are_shown(explainer):
    network = explainer.network(most=8)
    assert len(network.features) == 8
    assert network.left_out == 22
    few = strong_arcs(network, most=3)
    sizes = network.arcs["coefficient"].abs()
    assert sorted(few["coefficient"].abs()) == sorted(sizes)[-3:]


def test_every_node_has_a_place_of_its_own(explainer):
    angles = lay_out(explainer.network())
    assert len({round(angle, 6) for angle in angles.values()}) == 30


def test_other_densities_have_no_network(simple):
    with pytest.raises(InvalidInput, match=r"linear Gaussian network only. Got .*ixture"):
        simple.network()
    with pytest.raises(InvalidInput, match="'most' must be an integer of at least 1"):
        read_network(LinearGaussianNetwork(), most=0)
