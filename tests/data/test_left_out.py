from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace import Table, fit
from daace.data.files import read_frame
from daace.data.left_out import EMPTY, SAME, find_constants, likely_ids
from daace.data.standardizer import Standardizer
from daace.exceptions import InvalidInput

RNG = np.random.default_rng(0)
UNIQUE = RNG.choice(100_000, size=50, replace=False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", UNIQUE),
        ("CustomerID", UNIQUE),
        ("id", UNIQUE),
        ("id_of_case", UNIQUE),
        ("account no", UNIQUE),
        ("policyNumber", UNIQUE),
        ("row", np.arange(50)),
        ("Unnamed: 0", np.arange(50)),
        ("patient", np.arange(1, 51)),
        ("patient", RNG.permutation(50) + 1000),
        ("who", [f"p{i}" for i in range(50)]),
        ("email", [f"{i}@x.org" for i in UNIQUE]),
        ("customer_id", pd.array(UNIQUE, dtype="Int64")),
    ],
)
def test_ids_are_seen(name: str, values: object) -> None:
    assert list(likely_ids(pd.DataFrame({name: values, "x": RNG.normal(size=50)}))) == [name]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", UNIQUE),
        ("number_of_rooms", UNIQUE),
        ("body_mass_index", UNIQUE),
        ("humidity", UNIQUE),  # 'id' within a word
        ("paid", UNIQUE),
        ("year", np.arange(1970, 2020)),
        ("day of stay", np.arange(50)),
        ("id", UNIQUE + 0.5),
        ("x", np.arange(50.0)),
        ("customer_id", np.repeat(UNIQUE[:25], 2)),
        ("colour", ["red", "blue"] * 25),
        ("price", [f"{i:,}" for i in UNIQUE]),
        ("price", [f"${i:,}.50" for i in UNIQUE]),
        ("flag", np.arange(50) % 2 == 0),
        ("who", [None, *(f"p{i}" for i in range(49))]),
        ("when", pd.date_range("2020-01-01", periods=50)),
    ],
)
def test_features_are_no_ids(name: str, values: object) -> None:
    assert likely_ids(pd.DataFrame({name: values})) == {}


def test_a_few_rows_say_nothing() -> None:
    assert likely_ids(pd.DataFrame({"id": range(19)})) == {}
    assert list(likely_ids(pd.DataFrame({"id": range(20)}))) == ["id"]


def frame() -> pd.DataFrame:
    y = np.repeat([0, 1], 25)
    return pd.DataFrame(
        {"customer_id": UNIQUE, "x": RNG.normal(size=50) + 2 * y, "who": map(str, UNIQUE), "y": y}
    ).assign(who=[f"p{i}" for i in range(50)])


@pytest.mark.filterwarnings("ignore:Left out of the model")
def test_ids_are_left_out_of_a_table() -> None:
    table = Table.from_frame(frame(), target="y")
    assert table.features == ("x",)
    assert list(table.left_out) == ["customer_id", "who"]
    assert table.left_out["who"] == "Looks like an id: text without repetitions."
    assert "left_out=['customer_id', 'who']" in repr(table)
    assert table.take([0, 30]).left_out == table.left_out
    kept = Table.from_frame(frame(), target="y", keep=["customer_id"])
    assert kept.features == ("customer_id", "x")
    assert Table.from_frame(frame(), target="y", units={"customer_id": "EUR"}).features == (
        "customer_id",
        "x",
    )
    assert Table.from_frame(frame()[["customer_id", "y"]], target="y").features == ("customer_id",)


@pytest.mark.filterwarnings("ignore:Left out of the model")
def test_rows_to_explain_may_have_or_lack_ids() -> None:
    explainer = fit(Table.from_frame(frame(), target="y"))
    rows = frame().head(3)
    many = explainer.explain_batch(rows, target=1)
    table = many.to_frame()
    assert table.columns.tolist()[:3] == ["customer_id", "who", "status"]
    assert table["customer_id"].equals(rows["customer_id"])
    lacking = explainer.explain_batch(rows[["x"]], target=1)
    assert lacking[0].path.equals(many[0].path)
    assert explainer.explain(rows.iloc[0], target=1).path.equals(
        explainer.explain({"x": rows["x"].iloc[0]}, target=1).path
    )
    assert explainer.check(frame()).rows == 50
    assert explainer.audit(rows, by="who", target=1).to_frame()["rows"].tolist() == [1, 1, 1]


@pytest.mark.skipif("DAACE_DATA" not in os.environ, reason="DAACE_DATA is not set")
def test_no_feature_of_a_real_table_is_taken_for_an_id() -> None:
    folder = Path(os.environ["DAACE_DATA"])
    files = [*folder.glob("benchmark/*.parquet"), *folder.glob("mixed/*.csv")]
    if not files:
        pytest.skip(f"no tables in {folder}")
    for path in files:
        rows = read_frame(path).iloc[:, :-1]
        some = rows.sample(30, random_state=0)
        assert (path.name, likely_ids(rows), likely_ids(some)) == (path.name, {}, {})


@pytest.mark.parametrize("name", ["SK_ID_CURR", "customerid", "CustomerID", "user_id_hash"])
def test_ids_by_their_names(name: str) -> None:
    numbers = RNG.permutation(10_000)[:50]
    assert list(likely_ids(pd.DataFrame({name: numbers}))) == [name]
    assert list(likely_ids(pd.DataFrame({name: numbers.astype(float)}))) == [name]
    assert likely_ids(pd.DataFrame({"paid": numbers, "grid": numbers + 0.5})) == {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([3, 3, 3], SAME),
        ([0.1 + 0.2, 0.3, 0.3], SAME),  # rounding
        ([1e200] * 3, SAME),
        (["x", "x", "x"], SAME),
        ([True, True, True], SAME),
        ([np.inf] * 3, SAME),
        ([[1], [1], [1]], SAME),
        (pd.to_datetime(["2020-01-01"] * 3), SAME),
        (pd.array([2, 2, 2], dtype="Int64"), SAME),
        ([None, None, None], EMPTY),
        ([3, 3, np.nan], None),  # that a value is missing may mean something
        ([3, 3, 4], None),
        ([1e200, -1e200, 0], None),
        (["x", "x", "y"], None),
        ([1.0, 1 + 1e-9, 1], None),
    ],
)
def test_what_does_not_vary(values, reason):
    found = find_constants(pd.DataFrame({"a": values, "b": [1, 2, 3]}))
    assert found == ({} if reason is None else {"a": reason})


@pytest.mark.parametrize("noise", [0, 1e-17, 1e-14, 1e-12, 1e-10])
def test_left_out_is_what_a_standardizer_refuses(noise):
    values = 5 + noise * np.arange(50.0)
    try:
        Standardizer.fit(values[:, None], features=["a"])
        refused = False
    except InvalidInput:
        refused = True
    assert bool(find_constants(pd.DataFrame({"a": values}))) == refused
