"""Densities over numbers and codes obey the laws of `daace.testing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.testing import DENSITY_LAWS, check_refits
from daace.testing.density_laws import DensityLaw
from daace.testing.scikit_law import parameters_are_those_of_scikit_learn


def mixed_table(rows: int = 600) -> Table:
    """Return two numbers, one with an atom at 0 and gaps, a category and an ordered feature."""
    rng = np.random.default_rng(1)
    rich = rng.uniform(size=rows) < 0.5
    savings = np.where(rng.uniform(size=rows) < 0.3, 0.0, rng.gamma(3, 2 + 3 * rich))
    savings[rng.uniform(size=rows) < 0.15] = np.nan
    age = rng.normal(40 + 5 * rich, 10)
    housing = np.where(rng.uniform(size=rows) < 0.3 + 0.4 * rich, "own", "rent")
    kids = rng.binomial(2, np.where(housing == "own", 0.6, 0.3))
    granted = rng.uniform(size=rows) < 0.3 + 0.4 * rich
    frame = pd.DataFrame({"savings": savings, "age": age, "housing": housing, "kids": kids})
    frame["class"] = np.where(granted, "yes", "no")
    return Table.from_frame(frame, target="class")


def _mixture() -> GaussianMixture:
    rng = np.random.default_rng(2)
    encoding = Encoding(
        (
            Feature("savings", atoms=(0.0, np.nan), fill=1.5),
            Feature("housing", "category", levels=("own", "rent"), dtype="str"),
            Feature("age"),
        )
    )
    roots = rng.normal(size=(3, 2, 2)) / 2
    covariances = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(2)
    tables = [rng.dirichlet(np.ones(size), 3) for size in (2, 3)]
    means = rng.normal(size=(3, 2))
    labels = ["no", "yes", "no"]
    return GaussianMixture([1, 2, 3], means, covariances, labels, tables=tables, encoding=encoding)


def _flow() -> ConditionalDensity:
    """Train a small flow for a few epochs: the laws hold however well it fits."""
    pytest.importorskip("torch", reason="a flow is trained with torch")
    flow = RealNVP(flows=3, layers=2, hidden=3, epochs=15, batches=10, learning_rate=5e-3)
    return flow.fit(mixed_table())


DENSITIES = {
    "network": lambda: LinearGaussianNetwork().fit(mixed_table()),
    "profiles": lambda: LinearGaussianNetwork(profiles=2).fit(mixed_table()),
    "mixture": _mixture,
    "kde": lambda: KernelDensity(bandwidth=0.3, smoothing=0.1).fit(mixed_table()),
    "realnvp": lambda: _flow(),
}

#: Densities given some features; they are not fitted, so they have no settings.
GIVEN = {
    "network": lambda: DENSITIES["profiles"]().given({"housing": "own", "kids": 1}),
    "mixture": lambda: _mixture().given({"savings": 1.2}),
    "kde": lambda: DENSITIES["kde"]().given({"housing": "own", "kids": 1}),
}

GIVEN_LAWS = [law for law in DENSITY_LAWS if law is not parameters_are_those_of_scikit_learn]


@pytest.fixture(scope="module", params=DENSITIES)
def density(request: pytest.FixtureRequest) -> ConditionalDensity:
    return DENSITIES[request.param]()


@pytest.mark.parametrize("law", DENSITY_LAWS, ids=lambda law: law.__name__)
def test_laws(density: ConditionalDensity, law: DensityLaw) -> None:
    law(density, np.random.default_rng(4))


@pytest.fixture(scope="module", params=GIVEN)
def given(request: pytest.FixtureRequest) -> ConditionalDensity:
    return GIVEN[request.param]()


@pytest.mark.parametrize("law", GIVEN_LAWS, ids=lambda law: law.__name__)
def test_laws_of_what_is_given(given: ConditionalDensity, law: DensityLaw) -> None:
    law(given, np.random.default_rng(4))


@pytest.mark.parametrize(
    "density", [LinearGaussianNetwork(profiles=2), KernelDensity(max_rows_per_class=150)]
)
def test_shuffled_rows_give_the_same_density(density: ConditionalDensity) -> None:
    check_refits(density.fit(mixed_table()), mixed_table())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "make", [lambda: LinearGaussianNetwork(profiles=2), lambda: KernelDensity(smoothing=0.1)]
)
def test_the_unit_of_a_number_with_atoms_does_not_matter(make: Callable[[], Any]) -> None:
    table = mixed_table()
    frame = table.to_frame()
    cents = frame.assign(savings=100 * frame["savings"])
    one = make().fit(table)
    two = make().fit(Table.from_frame(cents, target="class"))
    rows = frame.drop(columns="class")
    differences = two.log_joint(two.to_model(cents)) - one.log_joint(one.to_model(rows))
    assert np.abs(differences).max() < 1e-8


def test_the_network_finds_the_arc_between_codes() -> None:
    arcs = LinearGaussianNetwork().fit(mixed_table(3_000)).arcs_
    assert ("housing", "kids") in arcs or ("kids", "housing") in arcs
