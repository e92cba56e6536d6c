from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, InvalidInput, KernelDensity, LinearGaussianNetwork, RealNVP
from daace.data.synthetic import draw_table, random_mixture
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.given_draws import describe_given

MAKERS = {
    "network": lambda _, table: LinearGaussianNetwork().fit(table),
    "profiles": lambda _, table: LinearGaussianNetwork(profiles=3).fit(table),
    "mixture": lambda parameters, _: GaussianMixture(*parameters),
    "kde": lambda _, table: KernelDensity(bandwidth=0.4).fit(table),
}


@pytest.fixture(scope="module", params=MAKERS)
def density(request: pytest.FixtureRequest) -> ConditionalDensity:
    parameters = random_mixture(3, rng=np.random.default_rng(0))
    table = draw_table(parameters, 300, rng=np.random.default_rng(1))
    return MAKERS[request.param](parameters, table)


def at(density: ConditionalDensity, x: float) -> dict[str, float]:
    """Return the second feature at a place in model space, in user units."""
    scaling = density.standardizer_
    return {density.features_[1]: float(x * scaling.scale[1] + scaling.mean[1])}


def with_second(rows: np.ndarray, x: float) -> np.ndarray:
    return np.insert(rows, 1, x, axis=1)


def test_it_equals_brute_force_on_a_grid(density: ConditionalDensity) -> None:
    x = 0.7
    given = density.given(at(density, x))
    lower, upper = density.draws_.lower[[0, 2]] - 4, density.draws_.upper[[0, 2]] + 4
    axes = [np.linspace(low, high, 500) for low, high in zip(lower, upper, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    joint = density.log_joint(with_second(grid, x))
    cell = np.log([axis[1] - axis[0] for axis in axes]).sum()
    total = log_sum_exp((joint + cell).reshape(1, -1))[0]
    some = np.random.default_rng(2).choice(len(grid), 300, replace=False)
    np.testing.assert_allclose(given.log_joint(grid[some]), joint[some] - total, atol=1e-6)


def test_draws_follow_it(density: ConditionalDensity) -> None:
    given = density.given(at(density, -0.5))
    X, y = given.sample(4000, rng=np.random.default_rng(3))
    assert X.shape == (4000, 2)
    weights = np.exp(density.log_joint(with_second(X, -0.5)))
    shares = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
    counts = np.array([(y == label).mean() for label in density.classes_.tolist()])
    assert counts == pytest.approx(shares, abs=0.03)
    expected = given.log_prob(X)
    assert given.draws_.mean == pytest.approx(expected.mean(), abs=5 * expected.std() / 60)


def test_a_person_is_compared_with_those_who_share_it(density: ConditionalDensity) -> None:
    x = np.array([0.3, 1.1, -0.2])
    quick = describe_given(density, np.array([1]), x)
    given = density.given(at(density, 1.1))
    shift = (
        density.log_prob(with_second(np.zeros((1, 2)), 1.1)) - given.log_prob(np.zeros((1, 2)))
    )[0]
    assert quick is not None
    assert quick.mean == pytest.approx(given.draws_.mean + shift, abs=0.2 * given.draws_.sd)
    assert quick.sd == pytest.approx(given.draws_.sd, rel=0.15)
    assert quick.level == pytest.approx(given.draws_.level + shift, abs=0.3 * given.draws_.sd)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x9": 1.0}, "'given' must name features. Got 'x9'"),
        ({}, "'given' must fix at least one feature and leave at least one free. Got 0 of 3"),
        ({"x1": 0, "x2": 0, "x3": 0}, "Got 3 of 3"),
        ({"x1": "old"}, "'given' must have finite numbers"),
    ],
)
def test_what_cannot_be_given(values: dict[str, float], message: str) -> None:
    mixture = GaussianMixture(*random_mixture(3, rng=np.random.default_rng(0)))
    with pytest.raises(InvalidInput, match=message):
        mixture.given(values)


def test_a_flow_cannot_say() -> None:
    with pytest.raises(InvalidInput, match="A RealNVP has no exact density of some features"):
        RealNVP().given({"x1": 0.0})
    assert describe_given(RealNVP(), np.array([0]), np.zeros(3)) is None


def test_part_of_a_kde_cannot_be_saved() -> None:
    table = draw_table(
        random_mixture(2, rng=np.random.default_rng(0)), 50, rng=np.random.default_rng(1)
    )
    part = KernelDensity(bandwidth=0.5).fit(table).given({table.features[0]: 0.0})
    with pytest.raises(InvalidInput, match="save the whole one"):
        part.to_arrays()
