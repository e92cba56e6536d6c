"""What can be read out of the file of a mixed network: nothing of a single row."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.model_file import to_parts
from daace.density.network.code_graph import fit_tables
from daace.density.privacy import count_copies, join_small
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer

ROWS = 400
SECRET = 7654.321
SIZES = ["small", "medium", "tall", "giant", "titan"]


def people() -> pd.DataFrame:
    """Numbers, one of them with an atom, counts, categories, ordered ones and gaps."""
    rng = np.random.default_rng(3)
    kind = rng.integers(3, size=ROWS)
    saved = np.where(rng.uniform(size=ROWS) < 0.5, 0.0, rng.gamma(2, 300, ROWS))
    return pd.DataFrame(
        {
            "amount": rng.normal(1000 + 400 * kind, 150),
            "saved": saved.round(2),
            "kids": rng.integers(0, 4, ROWS),
            "job": np.array(["clerk", "smith", "cook"])[(kind + rng.integers(2, size=ROWS)) % 3],
            "size": pd.Categorical(rng.choice(SIZES[:3], ROWS), SIZES, ordered=True),
            "class": np.where(rng.uniform(size=ROWS) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )


def a_level(frame: pd.DataFrame) -> None:
    frame.loc[0, "kids"] = 7654


def a_number(frame: pd.DataFrame) -> None:
    frame.loc[0, "amount"] = SECRET


def a_number_beside_an_atom(frame: pd.DataFrame) -> None:
    frame["saved"] = 0.0
    frame.loc[0, "saved"] = SECRET


def an_atom(frame: pd.DataFrame) -> None:
    frame["saved"] = np.where(np.arange(ROWS) < 200, 0.0, 5000.0)
    frame.loc[0, "saved"] = SECRET


def a_median(frame: pd.DataFrame) -> None:
    frame.loc[: ROWS // 2, "amount"] = np.linspace(0, 7000, ROWS // 2 + 1)
    frame.loc[ROWS // 2 :, "amount"] = np.linspace(8000, 9000, ROWS // 2)
    frame.loc[0, "amount"] = SECRET
    frame.loc[1:2, "amount"] = np.nan


def a_category(frame: pd.DataFrame) -> None:
    frame.loc[0, "job"] = "7654.321"


def a_derived_value(frame: pd.DataFrame) -> None:
    frame["size"] = pd.Categorical(np.resize(SIZES[:3], ROWS), SIZES, ordered=True)
    frame.loc[0, "size"] = "giant"
    frame["height"] = frame["size"].cat.codes * 10.0
    frame.loc[0, "height"] = SECRET


PLANTS = [
    a_level, a_number, a_number_beside_an_atom, an_atom, a_median, a_category, a_derived_value,
]  # fmt: skip


def leaves(record: Any) -> Iterator[Any]:
    if isinstance(record, dict):
        for key, value in record.items():
            yield key
            yield from leaves(value)
    elif isinstance(record, list):
        for value in record:
            yield from leaves(value)
    else:
        yield record


def fit(frame: pd.DataFrame, **options: Any) -> LinearGaussianNetwork:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.from_frame(frame, target="class", **options)
        return LinearGaussianNetwork(profiles=2).fit(table)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_file_holds_nothing_that_a_single_row_has(
    plant: Callable[[pd.DataFrame], None], tmp_path: Path
) -> None:
    frame = people()
    plant(frame)
    network = fit(frame)
    Explainer(network).save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as file:
        meta = json.loads(file.read("meta.json"))
    for leaf in leaves(meta):
        assert not str(leaf).startswith("7654")
    mean, scale = network.standardizer_.mean, network.standardizer_.scale
    for array in to_parts(network)[1].values():
        values = array.reshape(-1, 1)
        guesses = np.concatenate([values, values * scale + mean, values * scale], axis=1)
        assert (np.abs(guesses - SECRET) > 0.01).all()
        assert (np.abs(guesses - 7654) > 0.01).all()
    # A mean of what is nearly constant tells of the other rows.
    if plant is a_number_beside_an_atom:
        assert "saved" not in network.features_
    if plant is an_atom:
        assert network.encoding_.features[1].words == ("0.0", "5000.0", "other")


def tables_of(network: LinearGaussianNetwork, name: str) -> np.ndarray:
    codes = network.components_.codes
    assert codes is not None
    names = [network.encoding_.column_names[column] for column in codes.layout.columns]
    return np.exp(codes.tables[names.index(name)])


@pytest.mark.parametrize("label", ["yes", "no"])
def test_nobody_learns_the_class_of_the_only_one_with_a_level(label: str) -> None:
    """A pooled level, a gap, and a level of a ladder that one row has."""
    frame = people()
    frame["job"] = frame["job"].astype(object)
    row = frame.index[frame["class"] == label][0]
    frame.loc[row, ["job", "size"]] = ["astronaut", "giant"]
    frame.loc[frame.index[frame["class"] == label][1], "job"] = None
    network = fit(frame)
    job, size = tables_of(network, "job"), tables_of(network, "size")
    assert network.encoding_.features[3].words == ("clerk", "cook", "smith", "other", "missing")
    assert np.ptp(job[:, 3:]) < 1e-12
    assert network.encoding_.features[4].levels == tuple(SIZES)  # no row is a titan
    assert np.ptp(size[:, 3:]) < 1e-12
    for table in (job, size):
        assert table.sum(axis=1) == pytest.approx(np.ones((len(table), table.shape[2])))


@pytest.mark.parametrize("rare", [1, 3, 9])
def test_a_number_of_a_few_rows_of_a_class_is_learned_with_others(rare: int) -> None:
    """Else the difference between all rows and the other class would be theirs."""
    frame = people()
    members = frame.index[frame["class"] == "yes"]
    frame.loc[members, "saved"] = 0.0
    frame.loc[members[:rare], "saved"] = SECRET + np.arange(rare)
    network = fit(frame)
    i = network._numbers.index("saved")
    owner = network.components_.owner
    learned = np.column_stack([network.coefficients_[:, i], network.intercepts_[:, i]])
    for parameters in learned[owner == 1]:
        assert np.isclose(learned[owner == 0], parameters, rtol=1e-9).all(axis=1).any()


def copied(columns: int, sets: int, times: int) -> pd.DataFrame:
    """One class of 300 rows, and one of a few rows that are copied."""
    rng = np.random.default_rng(6)
    few = np.repeat(rng.normal(size=(sets, columns)), times, axis=0)
    X = np.concatenate([rng.normal(size=(300, columns)), few])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    return frame.assign(**{"class": np.repeat(["many", "rare"], [300, sets * times])})


COPIES = [(columns, sets, times) for columns in (1, 2, 5) for sets, times in ((2, 5), (9, 2))]


# Two numbers that 30 people have are no copies if there is nothing else to tell these apart.
@pytest.mark.parametrize(("columns", "sets", "times"), [*COPIES, (2, 2, 30), (5, 2, 30)])
def test_copies_do_not_make_a_class_large_enough(columns: int, sets: int, times: int) -> None:
    table = Table.from_frame(copied(columns, sets, times), target="class", kinds="number")
    with pytest.raises(InvalidInput, match=r"at least 10 different rows: .* Got \d of 'rare'"):
        LinearGaussianNetwork().fit(table)


def test_copies_beside_a_category_share_what_is_known_of_numbers() -> None:
    """The attack: mean -+ standard deviation of the class are its two rows."""
    frame = copied(3, 2, 5)
    secret = frame.iloc[[-6, -1], :3].to_numpy()
    frame["job"] = np.resize(["cook", "smith"], len(frame))
    network = fit(frame)
    for c in range(len(network.components_.owner)):
        lift = np.linalg.inv(np.eye(3) - network.coefficients_[c])
        mean = (lift @ network.intercepts_[c]) * network.standardizer_.scale[:3]
        mean += network.standardizer_.mean[:3]
        covariance = lift @ np.diag(network.variances_[c]) @ lift.T
        sd = np.sqrt(np.diag(covariance)) * network.standardizer_.scale[:3]
        for times in (np.sqrt(0.9), 1.0, np.sqrt(0.5)):
            guesses = np.stack([mean - times * sd, mean + times * sd])
            assert np.abs(guesses[:, None] - secret).max(axis=2).min() > 0.05


def test_a_class_of_categories_may_repeat() -> None:
    """Tables of codes do not say which levels go together."""
    frame = people()[["job", "class"]].assign(wing=np.resize(["a", "b"], ROWS))
    members = frame.index[frame["class"] == "yes"]
    frame = frame.drop(index=members[10:])
    frame.loc[members[:10], "job"] = ["cook", "smith"] * 5
    assert len(fit(frame).classes_) == 2


@pytest.mark.parametrize("times", [12, 40])
@pytest.mark.parametrize("coded", [False, True])
def test_no_profile_stands_on_one_row_that_was_copied(times: int, coded: bool) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 3))
    X[:times] = [2.1, -1.9, 2.3]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(**{"class": np.resize([0, 1, 1], 300)})
    frame.loc[: times - 1, "class"] = 0
    if coded:
        frame["wing"] = np.resize(["p", "q"], 300)
    table = Table.from_frame(frame, target="class")
    network = LinearGaussianNetwork(profiles=8).fit(table)
    lift = np.linalg.inv(np.eye(3) - network.coefficients_)
    means = np.einsum("cij,cj->ci", lift, network.intercepts_)
    means = means * network.standardizer_.scale[:3] + network.standardizer_.mean[:3]
    assert np.abs(means - X[0]).max(axis=1).min() > 0.05


def test_coarse_rows_are_no_copies() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, size=(200, 2)).astype(float), np.repeat([0, 1], 100)
    assert count_copies(X, y).sum() > 160
    fine = rng.normal(size=(200, 2))
    assert count_copies(fine, y).tolist() == [1.0] * 200
    fine[:5] = fine[0]
    assert count_copies(fine, y)[:6] == pytest.approx([0.2] * 5 + [1])


def test_small_parts_are_joined_until_they_are_enough() -> None:
    assert join_small(np.array([30.0, 20.0]), 10).tolist() == [0, 1]
    assert join_small(np.array([30.0, 0.0, 20.0]), 10).tolist() == [0, 2, 2]
    assert join_small(np.array([3.0, 4.0]), 10).tolist() == [1, 1]
    assert join_small(np.array([6.0, 30.0, 7.0]), 10).tolist() == [2, 1, 2]


def test_a_table_rests_on_two_rows_more_than_it_has_parameters() -> None:
    """A class of 10 rows and 30 codes: its own table would have 29 parameters."""
    counts = np.full((1, 30, 3), 20.0)
    counts[0, :, 2] = [1.0] * 10 + [0.0] * 20
    table = np.exp(fit_tables([counts], np.array([0, 0, 1]))[0])
    assert np.ptp(table, axis=2).max() < 1e-12
    counts[0, :, 2] = np.linspace(1, 3, 30)
    table = np.exp(fit_tables([counts], np.array([0, 1, 1]))[0])
    assert np.ptp(table, axis=2).max() > 1e-4


def test_what_a_small_level_of_a_parent_goes_with_is_no_difference_of_tables() -> None:
    counts = np.array([[[90.0], [10.0]], [[20.0], [30.0]], [[0.0], [4.0]]])
    table = np.exp(fit_tables([counts], np.array([0]))[0])
    assert table[1].tolist() == table[2].tolist()
    assert table[2, 1, 0] == pytest.approx(34 / 54, abs=0.03)


def test_rows_taken_from_a_table_are_counted_again() -> None:
    table = Table.from_frame(people(), target="class")
    j = table.features.index("saved")
    elsewhere = np.flatnonzero(table.X[:, j] != 0)
    taken = table.take(np.concatenate([np.flatnonzero(table.X[:, j] == 0), elsewhere[:5]]))
    with pytest.raises(InvalidInput, match="'saved' must have at least 10 different values"):
        LinearGaussianNetwork().fit(taken)
