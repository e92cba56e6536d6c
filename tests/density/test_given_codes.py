"""Conditioning on codes, numbers and atoms, against sums over codes and grids over numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork, Table
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.density import given_components
from daace.density.base import ConditionalDensity
from daace.density.codes import CodeLayout
from daace.density.given_draws import describe_given
from daace.exceptions import InvalidInput
from daace.testing.code_states import follow_by_states


def table(rows: int = 500) -> Table:
    """Return two numbers with atoms, one of which depends on the other, and three codes."""
    rng = np.random.default_rng(3)
    rich = rng.uniform(size=rows) < 0.5
    savings = np.where(rng.uniform(size=rows) < 0.3, 0.0, rng.gamma(3, 2 + 2 * rich))
    debt = np.where(rng.uniform(size=rows) < 0.4, 0.0, 5 + 0.8 * savings + rng.normal(size=rows))
    savings[rng.uniform(size=rows) < 0.15] = np.nan
    housing = np.where(rng.uniform(size=rows) < 0.3 + 0.4 * rich, "own", "rent")
    kids = rng.binomial(2, np.where(housing == "own", 0.6, 0.3))
    granted = rng.uniform(size=rows) < 0.3 + 0.4 * rich
    frame = pd.DataFrame({"savings": savings, "debt": debt, "housing": housing, "kids": kids})
    frame["class"] = np.where(granted, "yes", "no")
    return Table.from_frame(frame, target="class")


def mixture() -> GaussianMixture:
    rng = np.random.default_rng(2)
    features = (
        Feature("savings", atoms=(0.0, np.nan), fill=1.5),
        Feature("debt", atoms=(-0.3,)),
        Feature("housing", "category", levels=("own", "rent"), dtype="str"),
        Feature("kids", "ordered", levels=(0, 1, 2), dtype="Int64", gaps=True),
    )
    roots = rng.normal(size=(3, 2, 2)) / 2
    return GaussianMixture(
        [1, 2, 3],
        rng.normal(size=(3, 2)),
        roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(2),
        ["no", "yes", "no"],
        tables=[rng.dirichlet(np.ones(size), 3) for size in (2, 4, 3, 2)],
        encoding=Encoding(features),
    )


DENSITIES = {
    "network": lambda: LinearGaussianNetwork().fit(table()),
    "profiles": lambda: LinearGaussianNetwork(profiles=2).fit(table()),
    "mixture": mixture,
    "kde": lambda: KernelDensity(bandwidth=0.4, smoothing=0.2).fit(table()),
}


@pytest.fixture(scope="module", params=DENSITIES)
def density(request: pytest.FixtureRequest) -> ConditionalDensity:
    return DENSITIES[request.param]()


CASES = [
    {"housing": "rent"},
    {"savings": 0.0},
    {"savings": np.nan, "kids": 1},
    {"savings": 2.5},
    {"debt": 6.0},
    {"debt": 1.7, "housing": "own"},
    {"savings": 3.0, "debt": -1.0},
    {"savings": 3.0, "housing": "own", "kids": 2},
]


def total(density: ConditionalDensity) -> float:
    """Return the sum over all codes of the integral over all numbers, by brute force."""
    encoding = density.encoding_
    layout, mass = CodeLayout.of(encoding, density.standardizer_), 0.0
    for state in product(*map(range, layout.sizes)):
        codes = np.array([state])
        found = layout.elsewhere(codes)
        there = [0, 1][: len(layout.numbers)] if found is None else np.flatnonzero(found[0])
        axis = np.linspace(-14, 14, 5_001 if len(there) == 1 else 401)
        grid = np.zeros((1, 0))
        if len(there):
            grid = np.array(np.meshgrid(*[axis] * len(there))).reshape(len(there), -1).T
        numbers = np.repeat(layout.atom_values(codes), len(grid), axis=0)
        numbers[:, there] = grid
        rows = layout.join(numbers, np.repeat(codes, len(grid), axis=0))
        plain = density.log_prob(rows) + density.log_measure(rows)
        mass += float(np.exp(plain).sum()) * (axis[1] - axis[0]) ** len(there)
    return mass


@pytest.mark.parametrize("values", CASES, ids=str)
def test_it_equals_brute_force(density: ConditionalDensity, values: dict[str, object]) -> None:
    """It is the joint density, divided by its sum over everything that is free."""
    given = density.given(values)
    assert total(given) == pytest.approx(1.0, abs=1e-6)
    X, _ = given.sample(200, rng=np.random.default_rng(1))
    frame = given.to_user(X).assign(**{name: [value] * 200 for name, value in values.items()})
    whole = density.log_joint(density.to_model(frame))
    differences = given.log_joint(X) - whole
    assert np.ptp(differences) < 1e-9
    follow_by_states(given, np.random.default_rng(2))


def test_draws_follow_it(density: ConditionalDensity) -> None:
    """Draws have the mean of those among many draws of everyone that share the code."""
    given = density.given({"housing": "rent"})
    X, y = density.sample(60_000, rng=np.random.default_rng(3))
    column = density.features_.index("housing")
    same = X[:, column] == 1
    mine, labels = given.sample(20_000, rng=np.random.default_rng(4))
    theirs = np.delete(X[same], column, axis=1)
    error = theirs.std(axis=0) * np.sqrt(1 / 20_000 + 1 / same.sum())
    assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()
    assert np.mean(labels == "yes") == pytest.approx(np.mean(y[same] == "yes"), abs=0.02)


@pytest.mark.parametrize("fixed", ["savings", "debt"])
def test_draws_of_numbers_given_a_number(density: ConditionalDensity, fixed: str) -> None:
    """Rows that are nearly alike in a number have nearly the same others."""
    j = density.features_.index(fixed)
    X, _ = density.sample(200_000, rng=np.random.default_rng(5))
    place, code = 0.5, density.encoding_.atom_columns[j]
    near = (np.abs(X[:, j] - place) < 0.03) & (X[:, code] == 0)
    row = np.zeros(X.shape[1])
    row[j] = place
    mine = density.draw_given(np.array([j, code]), row, 20_000)
    assert mine is not None
    assert (mine[:, j] == place).all()
    theirs = X[near]
    spread = np.maximum(theirs.std(axis=0), 1e-9)
    off = (mine.mean(axis=0) - theirs.mean(axis=0)) / spread
    off[j] = 0.0
    assert np.abs(off).max() < 5 * np.sqrt(1 / len(theirs) + 1 / 20_000)


def test_a_person_is_compared_with_those_who_share_it(density: ConditionalDensity) -> None:
    values = {"savings": 0.0, "housing": "own"}
    given = density.given(values)
    row = density.to_model({**values, "debt": 7.0, "kids": 1})[0]
    fixed = np.array([density.features_.index(name) for name in values])
    quick = describe_given(density, fixed, row)
    rest = given.to_model({"debt": 7.0, "kids": 1})
    shift = float(density.log_prob(row[None])[0] - given.log_prob(rest)[0])
    assert quick is not None
    assert quick.mean == pytest.approx(given.draws_.mean + shift, abs=0.2 * given.draws_.sd)
    assert quick.sd == pytest.approx(given.draws_.sd, rel=0.15)


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_components, "MOST_STATES", 1)
    known = mixture()
    with pytest.raises(InvalidInput, match="'given' must fix numbers that depend on few others"):
        known.given({"debt": 1.0})
    assert describe_given(known, np.array([1]), np.zeros(6)) is None
    assert known.given({"housing": "own"}).features_ == ("savings", "debt", "kids")


def test_an_unknown_level_is_named(density: ConditionalDensity) -> None:
    with pytest.raises(InvalidInput, match="'housing' must be a level"):
        density.given({"housing": "boat"})
    with pytest.raises(InvalidInput, match="leave at least one free"):
        density.given({"savings": 0.0, "debt": 1.0, "housing": "own", "kids": 1})
