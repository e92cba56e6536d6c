"""What can be read out of parameters: nothing of single rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.data.synthetic import draw_table, random_mixture
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.network.families import SufficientStatistics, fit_parameters
from daace.density.network.graph import Structure
from daace.density.realnvp import RealNVP
from daace.density.splits import hold_out
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.loading import load

RARE = "c0"


def with_rare_class(rows: int, features: int = 4) -> Table:
    """300 rows of one class, and so many of another."""
    rng = np.random.default_rng(4)
    table = draw_table(random_mixture(features, components=1, rng=rng), 700, rng=rng)
    members = (np.flatnonzero(table.y == label) for label in (RARE, "c1"))
    return table.take(np.concatenate([next(members)[:rows], next(members)[:300]]))


def guess_pairs(mean: FloatArray, sd: FloatArray) -> FloatArray:
    """The attack: two rows are their mean -+ their unbiased standard deviation / sqrt 2."""
    return np.stack([mean - sd / np.sqrt(2), mean + sd / np.sqrt(2)])


def class_moments(network: LinearGaussianNetwork, label: str) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviations of a class in the user's units, from the parameters alone."""
    k, n = network.class_index(label), len(network.features_)
    lift = np.linalg.inv(np.eye(n) - network.coefficients_[k])
    covariance = lift @ np.diag(network.variances_[k]) @ lift.T
    mean = network.standardizer_.inverse(lift @ network.intercepts_[k])
    return mean, np.sqrt(np.diag(covariance)) * network.standardizer_.scale


def rest_of_the_table(network: LinearGaussianNetwork) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviations of the rare class, as what the other one lacks to the table."""
    share = np.exp(network.log_prior_)
    k = network.class_index(RARE)
    mean, sd = class_moments(network, "c1")
    total, scale = network.standardizer_.mean, network.standardizer_.scale
    rest = (total - share[1 - k] * mean) / share[k]
    squares = scale**2 + total**2 - share[1 - k] * (sd**2 + mean**2)
    return rest, np.sqrt(np.maximum(squares / share[k] - rest**2, 0.0))


def closest(guesses: FloatArray, table: Table) -> float:
    """Distance, in standard deviations, from any row of the rare class to the nearest guess.

    Which signs belong together is free to guess: feature by feature the nearer one counts.
    """
    rows = table.X[table.y == RARE]
    apart = np.abs(rows[:, None] - guesses).min(axis=1) / table.X.std(axis=0)
    return float(np.linalg.norm(apart, axis=1).min())


def test_the_attack_reads_two_rows_out_of_their_parameters() -> None:
    """Why there is a minimum: parameters of two rows are the two rows."""
    table = with_rare_class(2)
    mean, scale = table.X.mean(axis=0), table.X.std(axis=0)
    y = np.searchsorted(table.classes, table.y)
    stats = SufficientStatistics.of((table.X - mean) / scale, y, 2)
    naive = Structure(np.zeros((4, 4), dtype=bool), np.ones(4, dtype=bool))
    _, _, intercepts, variances = fit_parameters(stats, naive)
    guesses = guess_pairs(mean + scale * intercepts[0], scale * np.sqrt(variances[0]))
    assert closest(guesses, table) < 1e-9


@pytest.mark.parametrize("rows", range(2, 10))
@pytest.mark.parametrize("density", [LinearGaussianNetwork(), RealNVP(epochs=1)])
def test_a_class_that_could_be_read_out_is_refused(density: ConditionalDensity, rows: int) -> None:
    message = (
        rf"at least 10 rows: fewer could be read out of the model\. Got {rows} of 'c0': "
        "drop this class, merge it with another, or use a KernelDensity"
    )
    table = with_rare_class(rows)
    with pytest.raises(InvalidInput, match=message):
        density.fit(table)  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match=message):
        LinearGaussianNetwork().fit_arcs(table, [])
    KernelDensity(bandwidth=0.5).fit(table)  # is not saved without being asked for


@pytest.mark.parametrize("rows", [10, 11, 13])
def test_a_file_gives_no_row_of_a_small_class_away(rows: int, tmp_path: Path) -> None:
    table = with_rare_class(rows)
    Explainer(LinearGaussianNetwork().fit(table)).save(tmp_path / "m")
    network = load(tmp_path / "m").density
    assert isinstance(network, LinearGaussianNetwork)
    for mean, sd in (class_moments(network, RARE), rest_of_the_table(network)):
        assert closest(guess_pairs(mean, sd), table) > 0.05


@pytest.mark.parametrize("rows", [10, 20, 25, 40])
def test_no_profile_gives_a_row_away(rows: int) -> None:
    """The attack on each profile, as if it were of two rows, and the centres as guesses."""
    table = with_rare_class(rows)
    network = LinearGaussianNetwork(profiles=8).fit(table)
    components, scale = network.components_, network.standardizer_.scale
    k = network.class_index(RARE)
    assert components.members[k].stop - components.members[k].start <= rows // 10
    for c in np.flatnonzero(components.owner == k):
        assert rows * np.exp(components.gaussians.log_weights[c] - network.log_prior_[k]) >= 9.999
        mean = network.standardizer_.inverse(components.gaussians.means[c])
        sd = np.sqrt(components.gaussians.variances[c]) * scale
        assert closest(guess_pairs(mean, sd), table) > 0.02
        assert closest(mean[None], table) > 0.02


@pytest.mark.parametrize("rows", [10, 12])
def test_every_regression_has_two_rows_more_than_parameters(rows: int) -> None:
    """Also where the BIC would take more parents: half of the features are sums of others."""
    table = with_rare_class(rows, features=20)
    X = table.X.copy()
    X[:, 10:] = np.cumsum(X[:, :10], axis=1) + 0.3 * X[:, 10:]
    network = LinearGaussianNetwork().fit(Table(X, table.y, table.features, table.classes))
    arcs = network.structure_.arcs
    for child in range(20):
        parameters = int(arcs[:, child].sum()) + 2
        members = rows if network.structure_.class_arcs[child] else len(table)
        assert members >= max(10, parameters + 2)
    assert arcs.sum(axis=0).max() > 6  # the limit is put to the test


@pytest.mark.parametrize(("rows", "most"), [(10, 6), (11, 7), (14, 10)])
def test_forced_parents_up_to_the_limit(rows: int, most: int) -> None:
    table = with_rare_class(rows, features=12)
    *others, child = table.features
    arcs = [("class", child), *((parent, child) for parent in others)]
    network = LinearGaussianNetwork(forced=arcs[: 1 + most]).fit(table)
    assert set(arcs[: 1 + most]) <= set(network.arcs_)
    message = (
        rf"must give '{child}' at most {most} parents besides the class, as the smallest class has "
        rf"{rows} rows\. Got {most + 1}\."
    )
    with pytest.raises(InvalidInput, match=f"'forced' {message}"):
        LinearGaussianNetwork(forced=arcs[: 2 + most]).fit(table)
    with pytest.raises(InvalidInput, match=f"'arcs' {message}"):
        LinearGaussianNetwork().fit_arcs(table, arcs[: 2 + most])


@pytest.mark.parametrize("rows", [10, 11, 12])
def test_a_flow_trains_on_as_many_rows_of_each_class(rows: int) -> None:
    table = with_rare_class(rows)
    y = np.searchsorted(table.classes, table.y)
    held_out = hold_out(table.X, y, rng=np.random.default_rng(0))
    assert np.bincount(y[~held_out]).min() == 10 + (rows == 12)
