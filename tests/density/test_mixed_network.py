"""Networks over numbers and codes: tables, privacy, files, and rows in the user's dtypes."""

import numpy as np
import pandas as pd
import pytest

from daace import LinearGaussianNetwork, Table
from daace.density.model_file import from_parts, read_model, to_parts, write_model
from daace.density.network.code_graph import choose_parents, fit_tables


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 800
    kind = rng.integers(3, size=n)
    savings = np.where(rng.uniform(size=n) < 0.4, 0.0, np.round(rng.gamma(2, 3, size=n), 2))
    housing = np.array(["own", "rent", "free"])[(kind + (rng.uniform(size=n) < 0.2)) % 3]
    purpose = np.where(housing == "own", "repairs", "car")
    purpose[rng.uniform(size=n) < 0.2] = "other"
    return pd.DataFrame(
        {
            "savings": savings,
            "age": rng.normal(40 + 8 * kind, 6),
            "housing": pd.Series(housing, dtype=object).where(rng.uniform(size=n) > 0.1),
            "purpose": purpose,
            "class": np.where(rng.uniform(size=n) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def network(frame):
    return LinearGaussianNetwork(profiles=3).fit(Table.from_frame(frame, target="class"))


def test_rows_come_back_in_the_users_dtypes(network, frame):
    rows = frame.drop(columns="class")
    back = network.to_user(network.to_model(rows))
    assert back["housing"].isna().equals(rows["housing"].isna())
    assert back["purpose"].tolist() == rows["purpose"].tolist()
    assert back["savings"].to_numpy() == pytest.approx(rows["savings"].to_numpy())


def test_profiles_are_described_by_levels(network):
    assert network.profiles_["description"].str.contains("more often housing = ").any()


def test_a_file_holds_the_same_network(network, frame, tmp_path):
    write_model(tmp_path / "m", network, {})
    again, _ = read_model(tmp_path / "m")
    X = network.to_model(frame.drop(columns="class"))
    assert np.array_equal(again.log_joint(X), network.log_joint(X))
    assert np.array_equal(again.log_measure(X), network.log_measure(X))
    assert again.arcs_ == network.arcs_


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("table.0", lambda a: a + 0.1, "do not sum to 1"),
        ("table.0", lambda a: a[:, :1], "has shape"),
        ("code_parents", lambda a: a + 7, "unknown parent"),
        ("code_parents", lambda a: np.roll(np.arange(len(a)), 1).astype(float), "cycle"),
        ("atom_values", lambda a: a + 3, "atoms are not where"),
        ("atom_values", lambda a: a[:, :1], "other values than in the encoding"),
        ("line_weights", lambda a: a * 1e6, "too large"),
    ],
)
def test_hostile_tables_are_refused(network, name, change, message):
    meta, arrays = to_parts(network)
    meta["classes"] = meta["classes"].tolist()
    arrays[f"density.{name}"] = change(arrays[f"density.{name}"])
    with pytest.raises(ValueError, match=message):
        from_parts(meta, arrays)


def test_a_table_given_a_rare_level_is_that_of_the_profile():
    counts = np.array([[[90.0], [10.0]], [[0.0], [4.0]]])  # parent, child, component
    table = np.exp(fit_tables([counts], np.array([0]))[0])
    total = np.array([90.0, 14.0])
    assert table[1, :, 0] == pytest.approx(total / total.sum(), abs=0.02)
    assert table.sum(axis=1) == pytest.approx(np.ones((2, 1)))


def test_parents_are_acyclic_and_worth_their_parameters():
    rng = np.random.default_rng(1)
    a = rng.integers(2, size=2_000)
    b = np.where(rng.uniform(size=2_000) < 0.9, a, 1 - a)
    codes = np.stack([a, b, rng.integers(2, size=2_000)], axis=1)

    pairs = [
        np.histogram2d(codes[:, k], codes[:, j], bins=2)[0] for j, k in ((1, 0), (2, 0), (2, 1))
    ]
    parents = choose_parents(np.reshape(pairs, (-1, 1)), (2, 2, 2), 2_000)
    assert sorted(parents[:2].tolist()) in ([-1, 0], [-1, 1])
    assert parents[2] == -1


def test_rounding_does_not_choose_the_direction_of_an_arc():
    rng = np.random.default_rng(2)
    counts = rng.integers(20, 200, size=(4, 1)).astype(float)
    counts[0] *= 9

    def graph(noise):
        return choose_parents(counts * (1 + noise), (2, 2), int(counts.sum())).tolist()

    shifts = [1e-14 * rng.normal(size=counts.shape) for _ in range(20)]
    assert {tuple(graph(shift)) for shift in shifts} == {tuple(graph(0.0))}
    assert max(graph(0.0)) >= 0


def test_expected_counts_that_vanish_are_no_obstacle():
    counts = np.array([[50.0], [1e-310], [1e-310], [50.0]])
    assert sorted(choose_parents(counts, (2, 2), 100).tolist())[1] >= 0
