"""What all tests share: small tables and densities, and the guard of the global random state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from daace.data.catalog import load_table
from daace.data.synthetic import draw_table, moons, random_mixture
from daace.data.table import Table
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture

# The same examples on every machine: a failure that nobody can repeat helps nobody.
settings.register_profile(
    "daace", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("daace")


@pytest.fixture(autouse=True)
def _global_random_state_untouched() -> Iterator[None]:
    """Fail any test during which NumPy's global generator moved: results must come from `rng`."""
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    yield
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    same = np.array_equal(before["state"]["key"], after["state"]["key"])
    if not (same and before["state"]["pos"] == after["state"]["pos"]):
        pytest.fail("the global random state was used: pass an np.random.Generator instead")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder `DAACE_DATA` with real tables; skips where there is none."""
    folder = os.environ.get("DAACE_DATA")
    if not folder:
        pytest.skip("needs real tables: set DAACE_DATA to their folder")
    if not Path(folder).is_dir():
        pytest.skip(f"needs real tables: DAACE_DATA={folder} is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def iris() -> Table:
    return load_table("iris")


@pytest.fixture(scope="session")
def cancer() -> Table:
    return load_table("breast_cancer")


@pytest.fixture(scope="session")
def moons_table() -> Table:
    return draw_table(moons(), 400, rng=np.random.default_rng(1), name="moons")


@pytest.fixture(scope="session")
def network(cancer: Table) -> LinearGaussianNetwork:
    """A linear Gaussian network on breast_cancer, 30 features."""
    return LinearGaussianNetwork().fit(cancer)


@pytest.fixture(scope="session")
def kde(moons_table: Table) -> KernelDensity:
    """A kernel density estimate on two moons."""
    return KernelDensity(bandwidth=0.2).fit(moons_table)


@pytest.fixture(scope="session")
def mixture() -> GaussianMixture:
    """A mixture of two components in each of two classes, 3 features."""
    return GaussianMixture(*random_mixture(3, rng=np.random.default_rng(2)))
