from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from daace.data.standardizer import Standardizer
from daace.density.mixture import GaussianMixture
from daace.eqi.consistent import SlicedDensity, consistent_slice, first_axis
from daace.eqi.data import INDICES, Counties
from daace.eqi.policy import Advisor
from daace.exceptions import InvalidInput


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("fixed", [(), ("a1", "w2", "w3")])
def test_indices_follow_their_formulas_everywhere(
    turned: bool, fixed: tuple[str, ...], counties: Counties, advisor: Advisor
) -> None:
    density = advisor.network
    sliced, start = consistent_slice(density, counties, 6037, fixed=fixed, turned=turned)
    rng = np.random.default_rng(0)
    U = np.vstack([start, start + rng.normal(size=(20, len(start)), scale=5)])
    frame = density.to_user(sliced.lift(U))
    variables = frame[counties.kept].assign(
        **{name: counties.transformed.loc[6037, name] for name in counties.dropped}
    )
    again = counties.formulas.indices(variables)
    assert np.abs(frame[list(INDICES)].to_numpy() - again.to_numpy()).max() < 1e-9
    # The first row is the county itself, and what is fixed stays.
    here = advisor.rows[counties.position(6037)]
    assert sliced.lift(U[:1])[0] == pytest.approx(here, abs=1e-8)
    columns = [density.features_.index(name) for name in fixed]
    assert (sliced.lift(U)[:, columns] == here[columns]).all()
    # Lengths are those over the variables, in either set of coordinates.
    free = [j for j, name in enumerate(density.features_) if name not in INDICES]
    moved = np.diff(sliced.lift(U[:2])[:, free], axis=0)
    assert np.linalg.norm(moved) == pytest.approx(np.linalg.norm(U[1] - U[0]))


def test_turned_coordinates_are_the_indices_in_their_units(
    counties: Counties, advisor: Advisor
) -> None:
    sliced, start = consistent_slice(advisor.network, counties, 6037, turned=True)
    assert set(INDICES) <= set(sliced.features_)
    U = start + np.random.default_rng(1).normal(size=(5, len(start)))
    shown = sliced.to_user(U)[list(INDICES)].to_numpy()
    lifted = advisor.network.to_user(sliced.lift(U))[list(INDICES)].to_numpy()
    assert shown == pytest.approx(lifted, abs=1e-10)


def test_value_and_gradient_are_the_models(counties: Counties, advisor: Advisor) -> None:
    sliced, start = consistent_slice(advisor.network, counties, 6037, turned=True)
    assert sliced.log_prob(start[None]) == pytest.approx(
        advisor.network.log_prob(sliced.lift(start[None]))
    )
    W = np.random.default_rng(0).normal(size=(1, 7))
    gradient = sliced.log_joint_vjp(start[None], W)[0]
    slope = approx_fprime(start, lambda u: float((sliced.log_joint(u[None]) * W).sum()), 1e-6)
    assert gradient == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_draws_follow_the_density_on_the_slice() -> None:
    """On a line, the density integrates: mean, variance and share of each class must be its own."""
    from daace.data.table import Table
    from daace.density.linear_gaussian import LinearGaussianNetwork

    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) + np.where(y, 1.5, 0.0)[:, None]
    X[:, 1] += 0.6 * X[:, 0]
    network = LinearGaussianNetwork().fit(Table(X, y, ("a", "b"), np.array([0, 1])))
    A, b = np.array([[1.0], [-0.7]]), np.array([0.3, 0.4])
    box = (np.array([-9.0]), np.array([9.0]))
    line = SlicedDensity(network, A, b, ("u",), Standardizer.identity(1), box)
    grid = np.linspace(-9, 9, 4001)[:, None]
    mass = np.exp(line.log_joint(grid))
    U, labels = line.sample(60_000, rng=np.random.default_rng(6))
    shares = mass.sum(axis=0) / mass.sum()
    assert np.mean(labels == 1) == pytest.approx(shares[1], abs=0.01)
    for k in range(2):
        weights = mass[:, k] / mass[:, k].sum()
        mean = float(weights @ grid[:, 0])
        sd = float(np.sqrt(weights @ (grid[:, 0] - mean) ** 2))
        mine = U[labels == k, 0]
        assert mine.mean() == pytest.approx(mean, abs=0.02)
        assert mine.std() == pytest.approx(sd, rel=0.02)
    alone, same = line.sample(10, rng=np.random.default_rng(7), label=1)
    assert (same == 1).all()
    assert alone.shape == (10, 1)


def test_of_another_density_the_draws_move_to_the_slice() -> None:
    mixture = GaussianMixture([1, 1], np.zeros((2, 2)), [np.eye(2), np.eye(2)], ["a", "b"])
    A, b = np.array([[1.0], [1.0]]), np.zeros(2)
    box = (np.array([-9.0]), np.array([9.0]))
    line = SlicedDensity(mixture, A, b, ("u",), Standardizer.identity(1), box)
    U, _ = line.sample(5, rng=np.random.default_rng(0))
    X, _ = mixture.sample(5, rng=np.random.default_rng(0))
    assert U[:, 0] == pytest.approx(X.mean(axis=1))  # nearest point of the diagonal


def test_the_first_axis_points_where_it_should(rng: np.random.Generator) -> None:
    for n in (1, 2, 9):
        direction = rng.normal(size=n)
        Q = first_axis(direction)
        assert Q.T @ Q == pytest.approx(np.eye(n), abs=1e-12)
        assert Q[:, 0] == pytest.approx(direction / np.linalg.norm(direction))
    assert (first_axis(np.array([2.0, 0.0])) == np.eye(2)).all()


def test_what_cannot_be_fixed(counties: Counties, advisor: Advisor) -> None:
    for name in ("a99", "Air index"):
        with pytest.raises(InvalidInput, match=f"must name variables of the model. Got '{name}'"):
            consistent_slice(advisor.network, counties, 6037, fixed=[name])
    with pytest.raises(InvalidInput, match="must leave a variable that can change"):
        consistent_slice(advisor.network, counties, 6037, fixed=counties.kept)
