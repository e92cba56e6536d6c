from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daace._typing import FloatArray
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.exceptions import InvalidInput
from daace.landscape.cost import Landscape
from daace.landscape.path import gauss_rule

PENALTIES = (0.0, 0.5, 1.0, 5.0, 15.0)
SCALES: tuple[Literal["relative", "nll"], ...] = ("relative", "nll")
HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)


@pytest.fixture(scope="module")
def normal() -> GaussianMixture:
    """One standard normal in one dimension."""
    return GaussianMixture([1.0], [[0.0]], [[[1.0]]], ["all"])


@pytest.fixture(scope="module")
def densities(
    network: LinearGaussianNetwork, kde: KernelDensity, mixture: GaussianMixture
) -> dict[str, ConditionalDensity]:
    return {"linear-gaussian": network, "kde": kde, "gaussian-mixture": mixture}


def _path(density: ConditionalDensity, *, waypoints: int = 4, seed: int = 0) -> FloatArray:
    X, _ = density.sample(waypoints, rng=np.random.default_rng(seed))
    return X


def _length(path: FloatArray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


# Local cost ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
def test_price_keeps_the_sign(mixture: GaussianMixture, penalty: float) -> None:
    land = Landscape(mixture, penalty=penalty, scale="nll")
    u = np.array([-2.0, -0.5, 0.5, 3.0])
    expected = [1] * 4 if penalty == 0 else [np.sign(v) * abs(v) ** penalty for v in u]
    assert land.price(u) == pytest.approx(expected)
    step = 1e-6
    difference = (land.price(u + step) - land.price(u - step)) / (2 * step)
    assert land.price_slope(u) == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_roughness_on_both_scales(mixture: GaussianMixture) -> None:
    draws = mixture.draws_
    log_prob = np.array([draws.level + 5, draws.level, draws.level - draws.spread, -400.0])
    assert Landscape(mixture, scale="nll").roughness(log_prob) == pytest.approx(-log_prob)
    relative = Landscape(mixture, scale="relative").roughness(log_prob)
    far = 1 + (draws.level + 400) / draws.spread
    assert relative == pytest.approx([1, 1, 2, far])


@pytest.mark.parametrize("scale", SCALES)
def test_local_cost_is_the_price_of_the_roughness(
    mixture: GaussianMixture, scale: Literal["relative", "nll"]
) -> None:
    land = Landscape(mixture, penalty=2.5, scale=scale)
    X = _path(mixture, waypoints=10)
    expected = land.price(land.roughness(mixture.log_prob(X)))
    assert land.local_cost(X) == pytest.approx(expected, rel=1e-12)


# Closed forms -------------------------------------------------------------------------------------


def test_closed_form_on_a_normal_nll(normal: GaussianMixture) -> None:
    """u = x^2 / 2 + c: its powers are polynomials."""
    c = HALF_LOG_2_PI
    for a, b in ((-1.0, 2.0), (0.5, 6.0), (3.0, -3.0)):
        path = np.array([[a], [b]])
        size = abs(b - a)
        one = abs((b**3 - a**3) / 6) + c * size
        two = abs((b**5 - a**5) / 20 + c * (b**3 - a**3) / 3) + c**2 * size
        for penalty, exact in ((0.0, size), (1.0, one), (2.0, two)):
            land = Landscape(normal, penalty=penalty, scale="nll")
            assert land.path_cost(path) == pytest.approx(exact, rel=1e-9)


def test_closed_form_on_a_normal_relative(normal: GaussianMixture) -> None:
    """Below the level, u = 1 + (L + c + x^2 / 2) / s; above it, 1."""
    draws = normal.draws_
    edge = np.sqrt(-2 * (draws.level + HALF_LOG_2_PI))
    assert 0 < edge < 0.1  # where u leaves 1

    def integral(a: float, b: float) -> float:
        base = 1 + (draws.level + HALF_LOG_2_PI) / draws.spread
        return float(base * (b - a) + (b**3 - a**3) / (6 * draws.spread))

    land = Landscape(normal, penalty=1.0, scale="relative")
    assert land.path_cost(np.array([[0.5], [4.0]])) == pytest.approx(integral(0.5, 4.0), rel=1e-9)
    across = land.path_cost(np.array([[0.0], [2.0]]))
    assert across == pytest.approx(edge + integral(edge, 2.0), rel=1e-5)


def test_closed_form_off_the_centre_of_a_plane() -> None:
    """Along a straight line past a round Gaussian, u is a parabola in the arc length."""
    plane = GaussianMixture([1.0], [[0.0, 0.0]], [4 * np.eye(2)], ["all"])
    path = np.array([[-3.0, 1.0], [0.0, 5.0]])  # length 5
    t = np.polynomial.Polynomial([-3.0, 3.0]), np.polynomial.Polynomial([1.0, 4.0])
    u = (t[0] ** 2 + t[1] ** 2) / 8 + np.log(2 * np.pi * 4)
    for power in (1, 3):
        exact = 5 * (u**power).integ()(1.0)
        land = Landscape(plane, penalty=power, scale="nll")
        assert land.path_cost(path) == pytest.approx(exact, rel=1e-10)


# Laws of the path cost ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear-gaussian", "kde", "gaussian-mixture"])
@pytest.mark.parametrize("scale", SCALES)
def test_penalty_zero_is_the_length(
    densities: dict[str, ConditionalDensity], name: str, scale: Literal["relative", "nll"]
) -> None:
    path = _path(densities[name])
    land = Landscape(densities[name], penalty=0, scale=scale)
    assert land.path_cost(path) == pytest.approx(_length(path), rel=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    penalty=st.sampled_from([0.3, 1.0, 2.0, 5.0]),
    stretch=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_relative_cost_is_never_below_the_length(seed: int, penalty: float, stretch: float) -> None:
    path = stretch * _path(MIXTURE, seed=seed)
    land = Landscape(MIXTURE, penalty=penalty)
    assert land.path_cost(path) >= _length(path) * (1 - 1e-9)
    assert land.path_cost(path, rule="midpoint") >= _length(path) * (1 - 1e-9)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    share=st.floats(0.05, 0.95),
    penalty=st.sampled_from([0.0, 1.0, 5.0]),
    scale=st.sampled_from(SCALES),
)
def test_a_segment_may_be_split_anywhere(
    seed: int, share: float, penalty: float, scale: Literal["relative", "nll"]
) -> None:
    start, end = _path(MIXTURE, waypoints=2, seed=seed)
    middle = start + share * (end - start)
    land = Landscape(MIXTURE, penalty=penalty, scale=scale)
    whole = land.path_cost(np.stack([start, end]))
    parts = land.path_cost(np.stack([start, middle])) + land.path_cost(np.stack([middle, end]))
    both = land.path_cost(np.stack([start, middle, end]))
    tolerance = 1e-5 * max(abs(whole), 1e-3)
    assert parts == pytest.approx(whole, abs=tolerance)
    assert both == pytest.approx(whole, abs=tolerance)


@pytest.mark.parametrize("scale", SCALES)
def test_the_way_back_costs_the_same(kde: KernelDensity, scale: Literal["relative", "nll"]) -> None:
    path = _path(kde)
    land = Landscape(kde, penalty=3.0, scale=scale)
    assert land.path_cost(path[::-1]) == pytest.approx(land.path_cost(path), rel=1e-6)


def test_a_detour_is_never_rewarded_on_the_relative_scale(normal: GaussianMixture) -> None:
    """The paper's scale rewards zigzagging where p > 1; the relative one never does."""
    narrow = GaussianMixture([1.0], [[0.0]], [[[0.01]]], ["all"])
    straight, zigzag = np.array([[0.0], [0.1]]), np.array([[0.0], [0.1], [0.0], [0.1]])
    paper = Landscape(narrow, penalty=1.0, scale="nll")
    assert paper.path_cost(zigzag) < paper.path_cost(straight) < 0
    relative = Landscape(narrow, penalty=1.0)
    assert relative.path_cost(zigzag) == pytest.approx(3 * relative.path_cost(straight), rel=1e-6)


def test_one_waypoint_costs_nothing(mixture: GaussianMixture) -> None:
    path = _path(mixture, waypoints=1)
    assert Landscape(mixture).path_cost(path) == 0
    cost, gradient = Landscape(mixture).path_cost_and_grad(path)
    assert cost == 0
    assert gradient.tolist() == [[0, 0, 0]]


# Quadrature ---------------------------------------------------------------------------------------


def test_midpoint_is_the_formula_of_the_paper(mixture: GaussianMixture) -> None:
    path = _path(mixture)
    for penalty in (1.0, 5.0):
        land = Landscape(mixture, penalty=penalty, scale="nll")
        expected = 0.0
        for a, b in pairwise(path):
            middles = a + (np.arange(19)[:, None] + 0.5) / 19 * (b - a)
            expected += float(land.local_cost(middles).mean() * np.linalg.norm(b - a))
        assert land.path_cost(path, rule="midpoint") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["linear-gaussian", "kde", "gaussian-mixture"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_gauss_has_converged(
    densities: dict[str, ConditionalDensity],
    name: str,
    scale: Literal["relative", "nll"],
    penalty: float,
) -> None:
    density = densities[name]
    path = _path(density, seed=3)
    land = Landscape(density, penalty=penalty, scale=scale)
    fine = land.path_cost(path, rule="midpoint", pieces=20_000)
    kinks = 0.0 < penalty < 1.0 and scale == "nll"  # |u|^0.5 has no slope where p = 1
    assert land.path_cost(path) == pytest.approx(fine, rel=1e-3 if kinks else 1e-5)


def test_a_narrow_bandwidth_asks_for_more_nodes(moons_table: Table) -> None:
    path = np.array([[-2.0, 0.0], [2.0, 0.0]])
    kdes = [KernelDensity(bandwidth=h).fit(moons_table) for h in (0.02, 1.0)]
    nodes = [len(Landscape(kde, scale="nll").converged_rule(path)) for kde in kdes]
    assert nodes[0] > nodes[1]


# Gradient -----------------------------------------------------------------------------------------


def _difference(land: Landscape, path: FloatArray, weights: FloatArray | None) -> FloatArray:
    rule = land.converged_rule(path)
    step = 1e-6
    result = np.zeros_like(path)
    for index in np.ndindex(*path.shape):
        moved = np.stack([path, path])
        moved[0][index] += step
        moved[1][index] -= step
        costs = land.segment_costs(moved, rule, weights=weights)
        result[index] = (costs[0].sum() - costs[1].sum()) / (2 * step)
    return result


@pytest.mark.parametrize("name", ["linear-gaussian", "kde", "gaussian-mixture"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_gradient_is_the_finite_difference(
    densities: dict[str, ConditionalDensity],
    name: str,
    scale: Literal["relative", "nll"],
    penalty: float,
) -> None:
    density = densities[name]
    path = _path(density, waypoints=3, seed=5)
    land = Landscape(density, penalty=penalty, scale=scale)
    cost, gradient = land.path_cost_and_grad(path)
    assert cost == pytest.approx(land.path_cost(path), rel=1e-12)
    kinks = 0.0 < penalty < 1.0 and scale == "nll"
    tolerance = (1e-2 if kinks else 1e-5) * np.abs(gradient).max()
    assert gradient == pytest.approx(_difference(land, path, None), abs=tolerance)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", [0.0, 1.0, 5.0])
def test_gradient_with_weights(
    mixture: GaussianMixture, scale: Literal["relative", "nll"], penalty: float
) -> None:
    path = _path(mixture, waypoints=3, seed=6)
    weights = np.array([1.0, 3.0, 0.2])
    land = Landscape(mixture, penalty=penalty, scale=scale)
    _, gradient = land.segment_costs_and_gradient(
        path[None], land.converged_rule(path), weights=weights
    )
    expected = _difference(land, path, weights)
    assert gradient()[0] == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


def test_gradient_where_two_waypoints_meet(mixture: GaussianMixture) -> None:
    path = _path(mixture)[[0, 1, 1, 2]]
    cost, gradient = Landscape(mixture, penalty=5.0).path_cost_and_grad(path)
    assert np.isfinite(cost)
    assert np.isfinite(gradient).all()


# Weights ------------------------------------------------------------------------------------------


def test_weights_stretch_the_length(mixture: GaussianMixture) -> None:
    path = _path(mixture)
    land = Landscape(mixture, penalty=2.0)
    plain = land.path_cost(path)
    assert land.path_cost(path, weights=np.ones(3)) == pytest.approx(plain, rel=1e-12)
    assert land.path_cost(path, weights=np.full(3, 2.5)) == pytest.approx(2.5 * plain, rel=1e-9)
    heavy = land.path_cost(path, weights=np.array([1.0, 1.0, 2.0]))
    assert plain < heavy < 2 * plain
    flat = Landscape(mixture, penalty=0)
    step = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
    assert flat.path_cost(step, weights=np.array([2.0, 0.5, 9.0])) == pytest.approx(np.sqrt(40))


def test_each_path_may_have_its_own_weights(mixture: GaussianMixture) -> None:
    paths = np.stack([_path(mixture, seed=1), _path(mixture, seed=2)])
    weights = np.array([[1.0, 2.0, 3.0], [0.5, 1.0, 1.0]])
    land, rule = Landscape(mixture), gauss_rule(32)
    together, gradient = land.segment_costs_and_gradient(paths, rule, weights=weights)
    for b in range(2):
        alone, own = land.segment_costs_and_gradient(paths[[b]], rule, weights=weights[b])
        assert together[b] == pytest.approx(alone[0], rel=1e-12)
        assert gradient()[b] == pytest.approx(own()[0], rel=1e-9, abs=1e-12)


# Size ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear-gaussian", "kde", "gaussian-mixture"])
@pytest.mark.parametrize("scale", SCALES)
def test_an_outlier_at_penalty_15_does_not_overflow(
    densities: dict[str, ConditionalDensity], name: str, scale: Literal["relative", "nll"]
) -> None:
    density = densities[name]
    inside = _path(density, waypoints=2)
    land = Landscape(density, penalty=15.0, scale=scale)
    away = inside[0] + 0.01
    while land.roughness(density.log_prob(away[None]))[0] < 130:
        away = inside[0] + 1.3 * (away - inside[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cost, gradient = land.path_cost_and_grad(np.stack([away, inside[0], inside[1]]))
    assert 1e25 < cost < 1e40
    assert np.isfinite(gradient).all()
    assert np.abs(gradient[0]).max() > 0


def test_units_scale_inside(mixture: GaussianMixture) -> None:
    paths = np.stack([_path(mixture, seed=1), 20 * _path(mixture, seed=2)])
    land, rule = Landscape(mixture, penalty=7.0), gauss_rule(32)
    plain, gradient = land.segment_costs_and_gradient(paths, rule)
    unit = np.array([3.0, 500.0])
    scaled, scaled_gradient = land.segment_costs_and_gradient(paths, rule, unit=unit)
    assert scaled * unit[:, None] ** 7 == pytest.approx(plain, rel=1e-9)
    expected = gradient() / unit[:, None, None] ** 7
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert scaled_gradient() / size == pytest.approx(expected / size, abs=1e-9)


# Arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [-0.1, np.nan, np.inf, 1 + 2j])
def test_penalties_that_cannot_be(mixture: GaussianMixture, penalty: Any) -> None:
    with pytest.raises(InvalidInput, match="'penalty' must be a finite number of at least 0"):
        Landscape(mixture, penalty=penalty)


def test_other_arguments_that_cannot_be(mixture: GaussianMixture) -> None:
    with pytest.raises(InvalidInput, match=r"'scale' must be one of 'relative', 'nll'\. Got 'x'"):
        Landscape(mixture, scale="x")  # type: ignore[arg-type]
    land = Landscape(mixture)
    with pytest.raises(InvalidInput, match="'rule' must be one of 'gauss', 'midpoint'"):
        land.path_cost(np.zeros((2, 3)), rule="simpson")  # type: ignore[arg-type]
    for shape in ((3,), (2, 2), (0, 3), (1, 2, 3)):
        with pytest.raises(InvalidInput, match=r"'waypoints' must have shape \(waypoints, 3\)"):
            land.path_cost(np.zeros(shape))


def test_the_path_is_only_read(mixture: GaussianMixture) -> None:
    path = _path(mixture)
    kept = path.copy()
    path.flags.writeable = False
    Landscape(mixture, penalty=3.0).path_cost_and_grad(path)
    assert np.array_equal(path, kept)


MIXTURE = GaussianMixture(
    [1, 2, 1],
    [[0.0, 0.0], [3.0, 0.5], [1.0, -2.0]],
    np.array([np.eye(2), [[1.0, 0.6], [0.6, 1.5]], 0.3 * np.eye(2)]),
    ["a", "b", "a"],
)


def test_a_huge_cost_is_infinite_without_a_warning() -> None:
    density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    landscape = Landscape(density, penalty=100.0)
    assert landscape.path_cost(np.array([[0.0], [400.0]])) == np.inf
    assert np.isfinite(Landscape(density, penalty=40.0).path_cost(np.array([[0.0], [400.0]])))


def test_standing_still_costs_nothing() -> None:
    density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    assert Landscape(density, penalty=15.0).path_cost(np.array([[60.0], [60.0]])) == 0
