from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.table import Table

ROWS = 600


def _frame(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    base = {"x": rng.normal(size=ROWS), "class": rng.choice(["n", "y"], ROWS)}
    return pd.DataFrame({**base, **columns})


def _derived(frame: pd.DataFrame, **options: Any) -> dict[str, str]:
    encoding = Table.from_frame(frame, target="class", **options).encoding
    return {column.name: column.source for column in encoding.derived}


@pytest.fixture
def ages() -> np.ndarray:
    return np.random.default_rng(1).integers(18, 80, ROWS)


@pytest.fixture
def schools() -> np.ndarray:
    return np.random.default_rng(2).choice(["none", "basic", "high", "college"], ROWS)


def test_a_step_function_of_a_whole_number_is_cut_at_the_half(ages: np.ndarray) -> None:
    frame = _frame(age=ages, group=np.select([ages < 25, ages <= 45], ["young", "mid"], "old"))
    table = Table.from_frame(frame, target="class")
    (group,) = table.encoding.derived
    assert (group.source, group.values) == ("age", ("young", "mid", "old"))
    assert group.cuts == (24.5, 45.5)
    pd.testing.assert_frame_equal(table.to_frame(), frame[["x", "age", "group", "class"]])


def test_a_step_function_of_a_number_is_cut_at_a_round_value() -> None:
    income = np.random.default_rng(4).lognormal(7, 0.5, ROWS)
    frame = _frame(income=income, high=income >= 1000.0)
    (high,) = Table.from_frame(frame, target="class").encoding.derived
    assert (high.values, high.dtype) == ((False, True), "bool")
    assert high.cuts == (1000.0,)


def test_text_that_a_number_repeats_is_ordered_by_it(schools: np.ndarray) -> None:
    years = pd.Series(schools).map({"none": 0, "basic": 8, "high": 12, "college": 16})
    table = Table.from_frame(_frame(years=years, school=schools), target="class")
    assert {c.name: c.source for c in table.encoding.derived} == {"years": "school"}
    school = table.encoding.features[1]
    assert (school.kind, school.levels) == ("ordered", ("none", "basic", "high", "college"))
    X = table.X[:1].copy()
    X[0, 1] = 3
    assert table.encoding.decode(X)[["school", "years"]].iloc[0].tolist() == ["college", 16]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("years", {"basic": 0, "college": 1, "high": 2, "none": 3}),  # the alphabet's
        ("school_code", {"none": 0, "basic": 1, "high": 2, "college": 3}),
    ],
)
def test_codes_are_no_order(schools: np.ndarray, name: str, numbers: dict[str, int]) -> None:
    frame = _frame(school=schools, **{name: pd.Series(schools).map(numbers)})
    table = Table.from_frame(frame, target="class")
    assert [column.name for column in table.encoding.derived] == [name]
    assert table.encoding.features[1].kind == "category"


def test_chains_lead_to_the_column_that_is_modelled(schools: np.ndarray) -> None:
    school = pd.Series(schools)
    frame = _frame(
        studied=school == "college",
        school=school,
        upper=school.str.upper(),
        level=school.map({"none": "low", "basic": "low", "high": "mid", "college": "top"}),
    )
    found = {"studied": "school", "upper": "school", "level": "school"}
    assert _derived(frame) == found
    table = Table.from_frame(frame, target="class")
    pd.testing.assert_frame_equal(table.to_frame(), frame[[*"x", *frame.columns[2:], "class"]])


def test_a_kind_that_the_user_gives_makes_a_feature(schools: np.ndarray) -> None:
    school = pd.Series(schools)
    frame = _frame(school=school, studied=school == "college", upper=school.str.upper())
    assert _derived(frame, kinds={"studied": "category"}) == {"upper": "school"}
    assert _derived(frame, kinds={"upper": "category"}) == {"school": "upper", "studied": "upper"}
    assert _derived(frame, kinds=dict.fromkeys(frame.columns[2:], "category")) == {}
    assert _derived(frame, features=["school", "studied"]) == {}


def test_gaps_of_either_column(ages: np.ndarray, schools: np.ndarray) -> None:
    age = pd.Series(ages, dtype=float).where(np.arange(ROWS) % 9 > 0)
    school = pd.Series(schools).where(np.arange(ROWS) % 7 > 0)
    frame = _frame(
        age=age,
        old=np.where(age.isna(), None, np.where(age > 50, "yes", "no")),
        asked=np.where(age.isna(), "no", np.where(age > 50, "yes", "yes")),
        school=school,
        years=school.map({"none": 0, "basic": 8, "high": 12}),
    )
    table = Table.from_frame(frame, target="class")
    assert {c.name: c.source for c in table.encoding.derived} == {
        "old": "age",
        "asked": "age",
        "years": "school",
    }
    pd.testing.assert_frame_equal(table.to_frame(), frame[[*"x", *frame.columns[2:], "class"]])


def test_accidents_are_not_derived() -> None:
    rng = np.random.default_rng(7)
    few = pd.Series(rng.choice(list("abc"), ROWS))
    rare = pd.Series(np.arange(ROWS) == 5)
    group = few.mask(rare, "d")  # one row of its own, by accident with that flag
    frame = _frame(group=group, flag=rare.map({True: "yes", False: "no"}))
    assert (
        _derived(frame, features=None, kinds={"flag": "ordered"}, order={"flag": ["no", "yes"]})
        == {}
    )
    unique = rng.normal(size=ROWS)
    assert _derived(_frame(unique=unique, kind=rng.choice(list("ab"), ROWS))) == {}


def test_small_tables_have_no_derived_columns(schools: np.ndarray) -> None:
    school = pd.Series(schools)
    frame = _frame(school=school, upper=school.str.upper())
    assert _derived(frame.iloc[:99]) == {}
    assert _derived(frame.iloc[:100]) == {"upper": "school"}


def test_the_class_is_neither_source_nor_derived(schools: np.ndarray) -> None:
    frame = _frame(school=schools)
    frame["class"] = np.where(frame["school"] == "college", "y", "n")
    table = Table.from_frame(frame, target="class")
    assert (table.features, table.encoding.derived) == (("x", "school"), ())


def test_rare_names_of_derived_columns_are_not_kept_either() -> None:
    school = pd.Series(["low"] * 290 + ["high"] * 290 + ["odd"] * 9 + ["rare"] * 9 + ["top"] * 2)
    frame = _frame(
        school=school,
        upper=pd.Categorical(school.str.upper()),
        points=school.map({"low": 1, "high": 2, "odd": 3, "rare": 4, "top": 4}),
        passed=school != "low",
    ).sample(frac=1, random_state=np.random.default_rng(0), ignore_index=True)
    table = Table.from_frame(frame, target="class")
    found = {column.name: column.values for column in table.encoding.derived}
    assert found == {
        "upper": ("HIGH", "LOW", None),
        "points": (2, 1, 2),  # integers cannot be missing
        "passed": (True, False, True),
    }
    text = json.dumps(table.encoding.to_json()).lower()
    assert not any(name in text for name in ("odd", "rare", "top"))
    pd.testing.assert_frame_equal(
        table.to_frame(), frame[["x", "school", "upper", "points", "passed", "class"]]
    )
    start = frame[frame["school"] == "odd"].iloc[[0]]
    path = np.repeat(table.encoding.encode(start), 2, axis=0)
    path[1, 1] = 0
    decoded = table.encoding.decode(path, like=start)
    assert decoded[["school", "upper", "points"]].to_numpy().tolist() == [
        ["odd", "ODD", 3],
        ["high", "HIGH", 2],
    ]


def test_a_ladder_with_rare_rungs_stays_a_category() -> None:
    grade = pd.Series(["low"] * 200 + ["mid"] * 200 + ["high"] * 195 + ["peak"] * 5)
    points = grade.map({"low": 1, "mid": 2, "high": 3, "peak": 4})
    table = Table.from_frame(_frame(grade=grade, points=points), target="class")
    assert table.encoding.features[1].kind == "category"


def test_a_ladder_with_rare_rungs_says_what_they_stand_for_if_steps_are_equal() -> None:
    counts = {"none": 3, "school": 60, "college": 50, "master": 40, "doctor": 4}
    level = np.repeat(list(counts), list(counts.values()))
    years = dict(zip(counts, (2, 4, 6, 8, 10), strict=True))
    frame = pd.DataFrame({"level": level, "years": [years[one] for one in level]})
    frame["x"] = np.arange(len(frame)) % 37 + 0.5
    frame["y"] = np.arange(len(frame)) % 2
    order = {"level": [*counts, "chancellor"]}
    table = Table.from_frame(frame, target="y", order=order)
    (derived,) = table.encoding.derived
    assert derived.values == (2, 4, 6, 8, 10, 12)
    assert table.to_frame().equals(frame)
    frame.loc[frame["level"] == "doctor", "years"] = 11  # four rows' own
    assert not Table.from_frame(frame, target="y", order=order).encoding.derived
