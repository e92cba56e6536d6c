"""Kinds and derived columns of real tables, judged by what is known of them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.catalog import MIXED, load_table
from daace.data.files import read_frame
from daace.data.table import Table

BENCHMARK = (
    "Higgs", "MagicTelescope", "MiniBooNE", "bank-marketing", "california", "covertype", "credit",
    "electricity", "eye_movements", "house_16H", "jannis", "kdd_ipums_la_97-small", "phoneme",
    "pol", "wine",
)  # fmt: skip

#: All columns that are functions of another one.
DERIVED = {
    "adult": {"education_num": "education"},
    "adult_test": {"education_num": "education"},
    "compas": {"age_cat": "age", "score_text": "decile_score"},
}


def _mixed(folder: Path, name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    path = folder / "mixed" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"needs mixed/{name}.csv in DAACE_DATA")
    schema = json.loads((folder / "mixed" / "schema.json").read_text(encoding="utf-8"))
    return read_frame(path), schema[name]


def _right_kinds(schema: dict[str, Any], column: str, distinct: int) -> set[str]:
    """The kinds that count as right without help."""
    if column in schema["numeric"]:
        if column not in schema["integer_valued"]:
            return {"number"}
        return {"whole", "ordered"} if distinct < 20 else {"whole"}
    return {"ordered", "category"} if column in schema["ordinal"] else {"category"}


def test_kinds_are_right_without_help(data_folder: Path) -> None:
    right, wrong = 0, []
    for name in MIXED:
        frame, schema = _mixed(data_folder, name)
        table = Table.from_frame(frame, target=schema["target"])
        assert not table.left_out
        for column, kind in zip(table.kinds["feature"], table.kinds["kind"], strict=True):
            allowed = _right_kinds(schema, column, frame[column].nunique())
            if kind in allowed or column in DERIVED.get(name, {}):
                right += 1
            else:
                wrong.append(f"{name}: {column} is {kind}, not {sorted(allowed)}")
    assert right >= 0.95 * (right + len(wrong)), wrong
    # Some of their levels have one row, so they are ladders only if their levels are given.
    pays = [f"credit_default: PAY_{i} is whole, not ['category', 'ordered']" for i in range(1, 7)]
    assert wrong == pays


@pytest.mark.parametrize("name", MIXED)
def test_derived_columns_are_found_and_no_others(data_folder: Path, name: str) -> None:
    frame, schema = _mixed(data_folder, name)
    encoding = Table.from_frame(frame, target=schema["target"]).encoding
    assert {column.name: column.source for column in encoding.derived} == DERIVED.get(name, {})


@pytest.mark.parametrize("name", BENCHMARK)
def test_nothing_is_derived_in_tables_of_numbers(data_folder: Path, name: str) -> None:
    path = data_folder / "benchmark" / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"needs benchmark/{name}.parquet in DAACE_DATA")
    frame = read_frame(path)
    assert Table.from_frame(frame, target="class").encoding.derived == ()
    plain = load_table(name)
    assert set(plain.kinds["kind"]) == {"number"}
    assert plain.X.tobytes() == frame[list(plain.features)].to_numpy(np.float64).tobytes()


@pytest.mark.parametrize("name", MIXED)
def test_real_tables_come_back_as_they_were(data_folder: Path, name: str) -> None:
    frame, schema = _mixed(data_folder, name)
    table = Table.from_frame(frame, target=schema["target"])
    pd.testing.assert_frame_equal(table.to_frame(), frame)
    decoded = table.encoding.decode(table.X)
    assert np.array_equal(table.encoding.encode(decoded), table.X)
    known = [f.name for f in table.encoding.features if f.pooled]
    rest = [column for column in frame.columns if column not in (*known, schema["target"])]
    pd.testing.assert_frame_equal(decoded[rest], frame[rest])


def test_text_is_ordered_by_the_number_that_repeats_it(data_folder: Path) -> None:
    frame, schema = _mixed(data_folder, "adult")
    education = Table.from_frame(frame, target="income").encoding.features[3]
    assert (education.name, education.kind) == ("education", "ordered")
    assert list(education.levels) == schema["ordinal"]["education"]


def test_tables_by_name_have_the_orders_of_their_schema(data_folder: Path) -> None:
    _, schema = _mixed(data_folder, "south_german_credit")
    table = load_table("south_german_credit")
    assert table.target == "credit_risk"
    for feature in table.encoding.features:
        if feature.name in schema["ordinal"]:
            assert feature.kind == "ordered"
            assert list(feature.levels) == schema["ordinal"][feature.name]
    compas = load_table("compas").kinds.set_index("feature")
    assert compas.loc["age_cat", "kind"] == "derived"
    flagged = compas.index[compas["perhaps immutable"]].tolist()
    assert flagged == ["sex", "age", "age_cat", "race"]


def test_spikes_are_atoms(data_folder: Path) -> None:
    found = {
        f"{name}: {feature.name}": feature.atoms
        for name in ("adult", "bank_marketing", "credit_default", "heart_cleveland")
        for feature in load_table(name).encoding.features
        if feature.atoms
    }
    bills = {
        f"credit_default: {kind}_AMT{k}": (0.0,) for kind in ("BILL", "PAY") for k in range(1, 7)
    }
    assert found == {
        "adult: capital_gain": (0.0,),
        "adult: capital_loss": (0.0,),
        "bank_marketing: balance": (0.0,),
        "bank_marketing: campaign": (1.0,),
        "bank_marketing: pdays": (-1.0,),
        "bank_marketing: previous": (0.0,),
        "heart_cleveland: st_depression": (0.0,),
        **bills,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_table("heart_cleveland").encoding.features[-1].gap_code == 3
