from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.inference import infer_kind
from daace.data.kinds import Feature
from daace.data.natural import clear_sides, find_atoms, natural_bounds
from daace.data.table import Table
from daace.exceptions import InvalidInput

ROWS = 200


def _frame(**columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    base = {"x": rng.normal(size=ROWS), "class": rng.choice(["n", "y"], ROWS)}
    return pd.DataFrame({**base, **columns})


def _cycle(*values: Any) -> list[Any]:
    return [values[i % len(values)] for i in range(ROWS)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 1, ROWS), "number"),
        (_cycle(*range(20)), "whole"),
        (_cycle(*range(19)), "ordered"),
        (_cycle(*range(19), None), "ordered"),
        (_cycle(*map(float, range(20))), "whole"),
        (_cycle(0, 1), "ordered"),
        (_cycle(0.5, 1.0, 1.5), "ordered"),
        (_cycle(*np.linspace(0, 1, 30)), "number"),
        (_cycle("a", "b"), "category"),
        (_cycle("1", "2"), "category"),
        (_cycle(True, False), "category"),
        (_cycle(True, False, None), "category"),
        (pd.array(_cycle(1, 2, None), dtype="Int64"), "ordered"),
        (pd.array(_cycle(True, None, False), dtype="boolean"), "category"),
        (pd.Categorical(_cycle(1, 2)), "category"),
        (pd.Categorical(_cycle("a", "b"), ordered=True), "ordered"),
        (pd.Series(_cycle(1, 2, 3), dtype="int8"), "ordered"),
        (pd.Series(_cycle(1, 2, None), dtype=object), "ordered"),
    ],
)
def test_kinds_by_dtype_and_values(values: Any, kind: str) -> None:
    table = Table.from_frame(_frame(a=values), target="class")
    assert table.kinds.set_index("feature").loc["a", "kind"] == kind


def test_the_frame_of_kinds() -> None:
    frame = _frame(
        age=_cycle(*range(18, 60)),
        savings=_cycle(*np.linspace(1, 9, 31) / 7, np.nan, *[0.0] * 9),
        housing=_cycle("rent", "own", None),
        visits=_cycle(3, 1, 2, 1),
        many=_cycle(*range(20), *[2, 3] * 5),
        id_=[f"u{i}" for i in range(ROWS)],
    )
    frame["group"] = np.where(frame["age"] < 40, "young", "old")
    with pytest.warns(UserWarning, match="Left out of the model: 'id_'"):
        table = Table.from_frame(frame, target="class")
    kinds = table.kinds.set_index("feature")
    assert list(table.kinds.columns) == [
        "feature", "kind", "levels", "atoms", "lower", "upper", "derived from",
        "perhaps immutable",
    ]  # fmt: skip
    assert kinds["kind"].to_dict() == {
        "x": "number",
        "age": "whole",
        "savings": "number",
        "housing": "category",
        "visits": "ordered",
        "many": "whole",
        "id_": "left out",
        "group": "derived",
    }
    assert kinds.loc["housing", "levels"] == ["own", "rent", "missing"]
    assert kinds.loc["visits", "levels"] == ["1", "2", "3"]
    assert kinds.loc["savings", "atoms"] == ["0", "missing"]
    assert kinds.loc["group", "derived from"] == "age"
    assert kinds.index[kinds["perhaps immutable"]].tolist() == ["age"]
    assert kinds.loc["x", ["lower", "upper"]].isna().all()
    assert kinds.loc["savings", "lower"] == 0


def test_kinds_and_orders_that_users_give() -> None:
    frame = _frame(
        kids=_cycle(0, 1, 2, 1, 0), size=_cycle("small", "tall", "medium"), code=_cycle(*range(8))
    )
    table = Table.from_frame(
        frame,
        target="class",
        kinds={"kids": "whole", "code": "category"},
        order={"size": ["tiny", "small", "medium", "tall"]},
    )
    kinds = table.kinds.set_index("feature")
    assert kinds["kind"].tolist() == ["number", "whole", "ordered", "category"]
    assert kinds.loc["size", "levels"] == ["tiny", "small", "medium", "tall"]
    pd.testing.assert_frame_equal(table.to_frame(), frame[[*table.features, "class"]])


def test_every_feature_a_number() -> None:
    frame = _frame(kids=_cycle(0, 1, 2), flag=_cycle(True, False), zero=_cycle(0.0, 0.0, 0.5, 2.5))
    frame["twice"] = 2 * frame["kids"]
    table = Table.from_frame(frame, target="class", kinds="number")
    assert table.kinds["kind"].tolist() == ["number"] * 5
    assert table.encoding.code_sizes == {}
    assert table.X.tolist() == frame[list(table.features)].astype(float).to_numpy().tolist()
    assert (table.to_frame().dtypes.iloc[:-1] == np.float64).all()
    with pytest.raises(InvalidInput, match="numeric features only"):
        Table.from_frame(_frame(a=_cycle("a", "b")), target="class", kinds="number")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"b": "whole"}}, "'kinds' must name columns of the frame. Got 'b'."),
        ({"kinds": {"a": "text"}}, "The kind of 'a' must be one of 'number', 'whole', 'ordered'"),
        ({"kinds": "whole"}, "'kinds' must be a dict by column or 'number' for all. Got 'whole'."),
        ({"kinds": {"a": "number"}}, "'a' of kind 'number' must hold numbers. Got dtype"),
        ({"kinds": {"x": "whole"}}, "'x' of kind 'whole' must hold whole numbers. Got dtype"),
        (
            {"kinds": {"a": "ordered"}},
            "The order of 'a' must be given, since text has none: pass order={'a': [...]}",
        ),
        ({"order": {"a": ["p"]}}, "The order of 'a' must name every level. Got none for 'q'."),
        ({"order": {"b": ["p"]}}, "'order' must name columns of the frame. Got 'b'."),
        ({"order": ["p"]}, "'order' must be a dict by column."),
        (
            {"order": {"a": ["p", "q"]}, "kinds": {"a": "category"}},
            "The kind of 'a' must be 'ordered', since its order is given. Got 'category'.",
        ),
    ],
)
def test_kinds_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Table.from_frame(_frame(a=_cycle("p", "q")), target="class", **options)
    assert str(caught.value).startswith(message)


# Atoms and bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spike", "share", "atoms"),
    [
        (0.0, 0.2, (0.0,)),
        (0.0, 0.07, (0.0,)),
        (0.0, 0.04, ()),
        (-9.0, 0.2, (-9.0,)),
        (9.0, 0.2, (9.0,)),
        (0.5, 0.4, ()),  # in the middle: 40 hours a week
    ],
)
def test_atoms_are_spikes_at_zero_or_an_end(
    spike: float, share: float, atoms: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(0)
    values = np.where(np.arange(1000) < 1000 * share, spike, rng.uniform(-2, 2, 1000))
    assert find_atoms(values) == atoms


def test_small_counts_are_no_spikes() -> None:
    assert find_atoms(np.resize(np.arange(15.0), 1500)) == ()
    assert find_atoms(np.array([])) == ()


def test_several_atoms_and_gaps() -> None:
    rng = np.random.default_rng(0)
    values = np.clip(rng.normal(size=ROWS), -1, 1)
    values[:30] = 0.0
    values[30:40] = np.nan
    feature = Table.from_frame(_frame(a=values), target="class").encoding.features[1]
    assert feature.atoms[:3] == (-1.0, 0.0, 1.0)
    assert math.isnan(feature.atoms[3])
    assert feature.words == ("elsewhere", "-1", "0", "1", "missing")
    assert feature.fill == np.nanmedian(values)


@pytest.mark.parametrize(
    ("name", "values", "bounds"),
    [
        ("x", [-1.0, 2.0], (None, None)),
        ("x", [0.5, 2.0], (0, None)),
        ("smoothness", [0.05, 0.16], (0, None)),
        ("share_of_rent", [0.05, 0.16], (0, 1)),
        ("x", [0.0, 0.3, 1.0], (0, 1)),
        ("is_x", [0.0, 1.0], (0, None)),
        ("humidityPercent", [20.0, 70.0], (0, 100)),
        ("resting heart rate", [50.0, 98.0], (0, None)),
        ("score", [0.0, 61.0, 100.0], (0, 100)),
        ("percent", [20.0, 170.0], (0, None)),
        ("x", [], (None, None)),
    ],
)
def test_natural_bounds(
    name: str, values: list[float], bounds: tuple[float | None, float | None]
) -> None:
    assert natural_bounds(name, np.array(values)) == bounds


def test_ends_at_which_many_rows_stand_are_bounds() -> None:
    rng = np.random.default_rng(0)
    days = rng.integers(1, 32, 900).astype(float)
    assert natural_bounds("day", days) == (1, 31)
    fading = np.rint(rng.gamma(4, 10, 5000))  # counts: nobody knows where they end
    assert natural_bounds("x", fading) == (0, None)
    hours = np.minimum(np.rint(rng.normal(60, 25, 900)), 99)
    assert natural_bounds("hours", np.maximum(hours, 3)) == (3, 99)
    assert natural_bounds("pdays", np.concatenate([np.full(50, -1.0), fading + 1])) == (-1, None)
    assert natural_bounds("x", rng.normal(size=900)) == (None, None)


def test_values_beside_an_atom_that_no_row_has() -> None:
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(ROWS) < 0.5, 0.0, np.rint(rng.uniform(114, 9000, ROWS)))
    (below, above) = clear_sides(gain, 0.0)
    assert below == 0
    assert above >= gain[gain > 0].min()
    feature = Table.from_frame(_frame(gain=gain), target="class").encoding
    assert Feature.from_json(feature.features[1].to_json()) == feature.features[1]
    bad = {**feature.features[1].to_json(), "clear": [[1.0]]}
    with pytest.raises(ValueError, match="not two distances"):
        Feature.from_json(bad)


# Levels -----------------------------------------------------------------------------------------


def test_rare_levels_are_pooled_and_columns_of_rare_levels_left_out() -> None:
    frame = _frame(
        a=["own"] * 100 + ["rent"] * 91 + ["boat"] * 9,
        b=["boat"] * 9 + ["own"] * 191,
        c=[f"person {i // 2}" for i in range(ROWS)],
        d=_cycle(*[True] * 24, False),
        e=_cycle("yes", None),
    )
    with pytest.warns(UserWarning, match="'b', 'c', 'd'. Fewer than two of its levels have 10"):
        table = Table.from_frame(frame, target="class")
    assert table.features == ("x", "a", "e")
    assert [feature.words for feature in table.encoding.features[1:]] == [
        ("own", "rent", "other"),
        ("yes", "missing"),
    ]
    assert set(table.left_out) == {"b", "c", "d"}
    assert table.raw is not None
    assert table.select(["x", "e"]).to_frame()["e"].equals(frame["e"])


def test_of_very_many_levels_the_most_frequent_stay() -> None:
    rng = np.random.default_rng(0)
    names = [f"town {k:03}" for k in range(150)]
    towns = [*np.repeat(names, 12), *np.repeat(names[:60], 12)]
    frame = pd.DataFrame({"town": towns, "x": rng.normal(size=len(towns))})
    frame["class"] = rng.choice(["n", "y"], len(towns))
    with pytest.warns(UserWarning, match="'town' has 150 levels: the 100 most frequent are kept"):
        table = Table.from_frame(frame, target="class")
    town = table.encoding.features[0]
    assert (len(town.levels), town.pooled) == (100, 50)
    assert set(names[:60]) <= set(town.levels)
    pd.testing.assert_frame_equal(table.to_frame(), frame)


def test_a_column_with_hardly_a_value_is_left_out() -> None:
    few = np.full(ROWS, np.nan)
    few[:9] = np.linspace(0, 1, 9)
    with pytest.warns(UserWarning, match="'a'. It has fewer than 10 values"):
        table = Table.from_frame(_frame(a=few), target="class")
    assert table.features == ("x",)


def test_inferred_kinds_of_single_columns() -> None:
    assert infer_kind(pd.Series([1.5, 2.5])) == "number"
    assert infer_kind(pd.Series([], dtype=float)) == "ordered"


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ({1: 100, 2: 90, 3: 10}, "ordered"),
        ({1: 100, 2: 80, 3: 15, 4: 4, 7: 1}, "whole"),
        ({1: 100, 2: 91, 3: 9}, "category"),
        ({1: 191, 2: 7, 7: 2}, "left out"),
        ({0.5: 100, 1.5: 85, 2.5: 10, 3.5: 5}, "number"),
        ({0.5: 100, 1.5: 91, 7.25: 9}, "category"),
        ({False: 195, True: 5}, "left out"),
    ],
)
@pytest.mark.filterwarnings("ignore:Left out of the model")
def test_levels_of_a_few_rows_are_not_part_of_a_model(counts: Any, kind: str) -> None:
    values = [value for value, n in counts.items() for _ in range(n)]
    table = Table.from_frame(_frame(a=values), target="class")
    assert table.kinds.set_index("feature").loc["a", "kind"] == kind
    if kind == "category":
        assert len(table.encoding.features[1].levels) == 2
        assert table.to_frame()["a"].tolist() == values


@pytest.mark.parametrize("rare", [1, 9])
@pytest.mark.parametrize("spikes", [[0.0], [0.0, 5.5], [40.0], [0.0, 2.0, 9.0]])
@pytest.mark.filterwarnings("ignore:Left out of the model")
def test_a_number_that_hardly_varies_is_left_out(rare: int, spikes: list[float]) -> None:
    values = np.resize(spikes, ROWS)
    values[:rare] = np.linspace(3.7, 5.1, rare)
    table = Table.from_frame(_frame(a=values), target="class", kinds={"a": "number"})
    assert dict(table.left_out) == {"a": "Fewer than 10 rows have other values than nearly all."}
    values[:10] = np.linspace(3.7, 5.1, 10)
    table = Table.from_frame(_frame(a=values), target="class", kinds={"a": "number"})
    assert table.encoding.features[1].kind == "number"


def test_where_a_missing_number_stands_is_nobodys_value() -> None:
    values = np.random.default_rng(1).normal(size=ROWS)
    values[:31] = np.nan
    fill = Table.from_frame(_frame(a=values), target="class").encoding.features[1].fill
    assert fill not in values
    assert fill == pytest.approx(np.nanmedian(values), abs=0.1)
    whole = np.floor(1000 * values)
    fill = Table.from_frame(_frame(a=whole), target="class").encoding.features[1].fill
    assert fill == round(fill) == pytest.approx(np.nanmedian(whole), abs=100)


def test_integers_that_no_row_had() -> None:
    frame = _frame(age=_cycle(*range(15, 20)), wave=_cycle(1, 2))
    frame.loc[0, "age"] = 21
    encoding = Table.from_frame(frame, target="class").encoding
    held_out = frame.iloc[[1]].assign(age=22)
    assert encoding.decode(encoding.encode(held_out))["age"].tolist() == [22]
    with pytest.raises(InvalidInput) as caught:
        encoding.encode(held_out.assign(wave=3))
    assert str(caught.value) == (
        "'wave' must be a level that the table had: '1', '2'. Got '3': choose one of "
        "them, or fit again on a table with this level, or with kinds={'wave': 'whole'}."
    )


def test_rare_levels_of_a_ladder_must_be_given() -> None:
    values = [1] * 100 + [2] * 99 + [9]
    with pytest.raises(InvalidInput, match="at least 10 rows at every level, which the model"):
        Table.from_frame(_frame(a=values), target="class", kinds={"a": "ordered"})
    unordered = pd.Categorical(values)
    with pytest.raises(InvalidInput, match=r"pass order=\{'a': "):
        Table.from_frame(_frame(a=unordered), target="class", kinds={"a": "ordered"})
    given = Table.from_frame(_frame(a=values), target="class", order={"a": [1, 2, 5, 9]})
    assert given.encoding.features[1].levels == (1, 2, 5, 9)


# What cannot be read ----------------------------------------------------------------------------

DAYS = pd.date_range("2024-01-01", periods=ROWS)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (DAYS, "'frame' must not have dates. Got some in 'a': convert them to numbers, for"),
        (DAYS - DAYS[0], "must not have dates"),
        (DAYS.to_period("D"), "must not have dates"),
        (DAYS.date, "must not have dates"),
        (DAYS.strftime("%Y-%m-%d"), "(pandas.to_datetime(frame['a']) - "),
        (_cycle("1.1.2025", "31.12.2024", None), "to_datetime(frame['a'], dayfirst=True) - "),
        (_cycle("1/2/2025", "12/31/2024"), "(pandas.to_datetime(frame['a']) - "),
        (_cycle("2024-01-31 12:30", "2024-02-01T00:00:00Z"), "must not have dates"),
        (_cycle(1j, 2), "must be real. Got complex numbers in 'a'"),
        (_cycle(1.0, np.inf), "must be finite, below 1e+100 in size"),
        (_cycle(1, "many", 3), "text among the numbers of 'a' (row 1, 4, 7, 10, 13 and"),
        (_cycle([1], [2]), "Got list in 'a': drop the column"),
        ([str(i / 7) for i in range(ROWS)], "Got numbers kept as text in 'a'"),
        ([*map(str, range(ROWS - 1)), "?"], "text among the numbers of 'a' (row 199)"),
        (_cycle("1,000", "2,500"), "Got numbers with commas in 'a': convert them"),
        ([f"{i % 60}%" for i in range(ROWS)], "Got numbers with signs in 'a', such as '0%'"),
        ([f"{10 * (i % 5)}%" for i in range(ROWS)], "Got numbers with signs in 'a', such as '0%'"),
        ([f"{i % 60}.50 EUR" for i in range(ROWS)], "signs in 'a', such as '0.50 EUR'"),
        (pd.cut(np.arange(ROWS), 3), "text, numbers or truth values. Got interval"),
        (pd.Categorical(_cycle(*DAYS[:2])), "text, numbers or truth values. Got datetime64"),
    ],
)
def test_columns_that_cannot_be_read(values: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Table.from_frame(_frame(a=values), target="class")
    assert message in str(caught.value)


def test_the_remedies_work() -> None:
    frame = _frame(a=DAYS.strftime("%Y-%m-%d"), b=pd.cut(np.arange(ROWS), 3))
    day = pd.to_datetime(frame["a"])
    frame["a"] = (day - day.min()).dt.days % 50
    frame["b"] = frame["b"].cat.rename_categories(str)
    table = Table.from_frame(frame, target="class")
    assert table.kinds["kind"].tolist() == ["number", "whole", "ordered"]
    pd.testing.assert_frame_equal(table.to_frame(), frame[["x", "a", "b", "class"]])
    names = _frame(a=[*_cycle(*map(str, range(10)))[:150], *map(str, range(100, 150))])
    with pytest.raises(InvalidInput, match=r"or pass kinds=\{'a': 'category'\} if they are names"):
        Table.from_frame(names, target="class")
    table = Table.from_frame(names, target="class", kinds={"a": "category"})
    assert (len(table.encoding.features[1].levels), table.encoding.features[1].pooled) == (10, 50)
