"""Every density obeys the laws of `daace.testing`; a new one is one more line in `DENSITIES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from daace.data.synthetic import MixtureParameters, draw_table, moons, random_mixture
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.testing import DENSITY_LAWS, check_density, check_refits
from daace.testing.density_laws import DensityLaw, near_and_far


class Case(NamedTuple):
    """How to make a density from a mixture and rows drawn of it."""

    make: Callable[[MixtureParameters, Table], ConditionalDensity]
    order_free: bool = True  # other batches do not make another model


def _flow(table: Table) -> ConditionalDensity:
    """Train a small flow for a few epochs: the laws hold however well it fits."""
    pytest.importorskip("torch", reason="a flow is trained with torch")
    return RealNVP(flows=4, layers=2, hidden=4, epochs=15, batches=10, learning_rate=5e-3).fit(
        table
    )


DENSITIES = {
    "linear-gaussian": Case(lambda _, table: LinearGaussianNetwork().fit(table)),
    "profiles": Case(lambda _, table: LinearGaussianNetwork(profiles=3).fit(table)),
    "kde": Case(lambda _, table: KernelDensity(bandwidth=0.3).fit(table)),
    "realnvp": Case(lambda _, table: _flow(table), order_free=False),
    "gaussian-mixture": Case(lambda parameters, _: GaussianMixture(*parameters)),
}


def _in_the_plane() -> tuple[MixtureParameters, Table]:
    parameters = moons(width=0.3, components=8)
    return parameters, draw_table(parameters, 300, rng=np.random.default_rng(1))


def _in_five_dimensions() -> tuple[MixtureParameters, Table]:
    parameters = random_mixture(5, classes=3, rng=np.random.default_rng(2))
    return parameters, draw_table(parameters, 400, rng=np.random.default_rng(3))


@pytest.fixture(scope="module", params=DENSITIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def plane(name: str) -> ConditionalDensity:
    """A density of 2 features and 2 classes."""
    return DENSITIES[name].make(*_in_the_plane())


@pytest.fixture(scope="module")
def five(name: str) -> ConditionalDensity:
    """A density of 5 features and 3 classes."""
    return DENSITIES[name].make(*_in_five_dimensions())


@pytest.mark.parametrize("law", DENSITY_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("shape", ["plane", "five"])
def test_laws(request: pytest.FixtureRequest, name: str, shape: str, law: DensityLaw) -> None:
    law(request.getfixturevalue(shape), np.random.default_rng(4))


# With one feature a flow is one Gaussian per class, and warns.
@pytest.mark.parametrize("name", [name for name in DENSITIES if name != "realnvp"])
def test_all_laws_with_one_feature(name: str) -> None:
    parameters = random_mixture(1, rng=np.random.default_rng(5))
    table = draw_table(parameters, 200, rng=np.random.default_rng(6))
    check_density(DENSITIES[name].make(parameters, table))


def test_far_away_classes_differ_as_their_densities_do(five: ConditionalDensity) -> None:
    """An underflow would make them equal where every density is below 1e-308."""
    far = near_and_far(five, np.random.default_rng(4))[40:]
    differences = np.ptp(five.log_posterior(far), axis=1)
    np.testing.assert_allclose(differences, np.ptp(five.log_joint(far), axis=1), rtol=1e-9)
    assert differences.min() > 0


def test_a_second_fit_is_the_same(name: str, five: ConditionalDensity) -> None:
    parameters, table = _in_five_dimensions()
    if name == "gaussian-mixture":
        again = GaussianMixture(*parameters)
        assert np.array_equal(again.draws_.quantiles, five.draws_.quantiles)
    elif DENSITIES[name].order_free:
        check_refits(five, table)
    else:
        again = DENSITIES[name].make(parameters, table)
        assert np.array_equal(again.draws_.quantiles, five.draws_.quantiles)
        # Other batches, hence another model: one that fits as well.
        other = DENSITIES[name].make(parameters, table.shuffle(rng=np.random.default_rng(16)))
        rows = five.to_model(table.to_frame())
        assert other.log_prob(rows).mean() == pytest.approx(five.log_prob(rows).mean(), abs=0.3)


def test_a_network_of_shuffled_rows_has_the_same_arcs() -> None:
    _, table = _in_five_dimensions()
    network = LinearGaussianNetwork().fit(table)
    other = LinearGaussianNetwork().fit(table.shuffle(rng=np.random.default_rng(16)))
    assert other.arcs_ == network.arcs_


def test_only_what_is_not_learned_survives_a_clone(plane: ConditionalDensity) -> None:
    from sklearn.base import clone

    # The parameters of a mixture are all that there is to learn.
    assert ("standardizer_" in vars(clone(plane))) == isinstance(plane, GaussianMixture)


def test_statistics_describe_the_draws_closely(five: ConditionalDensity) -> None:
    draws = five.draws_
    X, _ = five.sample(10_000, rng=np.random.default_rng(17))
    log_prob = five.log_prob(X)
    assert draws.sd == pytest.approx(log_prob.std(), rel=0.05)
    assert draws.level == pytest.approx(np.quantile(log_prob, 0.99), abs=0.1)
    assert draws.percentile(float(np.median(log_prob))) == pytest.approx(50, abs=2)
    inside = ((draws.lower <= X) & (draws.upper >= X)).mean(axis=0)
    assert (inside > 0.997).all()  # heavy tails: 0.998 at least, and what the margin adds
