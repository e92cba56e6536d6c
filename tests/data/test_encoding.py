"""Laws of the encoding: what goes in comes out, to the dtype, in both directions."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daace.data.catalog import load_table
from daace.data.derived import Derived
from daace.data.dtypes import numbers
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.data.loans import draw_loans
from daace.data.table import Table
from daace.exceptions import InvalidInput
from daace.explain.fitting import fit

Maker = Callable[[np.random.Generator, int], Any]


def _gappy(values: Any, rng: np.random.Generator, gap: Any) -> list[Any]:
    return [gap if rng.random() < 0.3 else value for value in values]


def _text(rng: np.random.Generator, rows: int) -> Any:
    return rng.choice(["own", "rent", "free of charge", "other"], rows).tolist()


MAKERS: dict[str, Maker] = {
    "float": lambda rng, n: rng.normal(size=n),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "float, gaps": lambda rng, n: _gappy(rng.normal(size=n), rng, np.nan),
    "float, zeros and gaps": lambda rng, n: _gappy(np.maximum(rng.normal(size=n), 0), rng, np.nan),
    "Float64, gaps": lambda rng, n: pd.array(_gappy(rng.normal(size=n), rng, None), "Float64"),
    "int": lambda rng, n: rng.integers(-300, 300, n),
    "uint16": lambda rng, n: rng.integers(0, 300, n).astype(np.uint16),
    "int, zeros": lambda rng, n: np.maximum(rng.integers(-300, 300, n), 0),
    "int as float, gaps": lambda rng, n: _gappy(rng.integers(0, 400, n), rng, np.nan),
    "Int64, gaps": lambda rng, n: pd.array(_gappy(rng.integers(0, 300, n), rng, None), "Int64"),
    "int64[pyarrow], gaps": lambda rng, n: pd.array(
        _gappy(rng.integers(0, 300, n).tolist(), rng, None), "int64[pyarrow]"
    ),
    "few ints": lambda rng, n: rng.integers(0, 4, n),
    "few Int8, gaps": lambda rng, n: pd.array(_gappy(rng.integers(0, 4, n), rng, None), "Int8"),
    "few ints as objects": lambda rng, n: pd.Series(
        _gappy(rng.integers(0, 4, n).tolist(), rng, None), dtype=object
    ),
    "half stars": lambda rng, n: rng.integers(1, 6, n) / 2,
    "str": lambda rng, n: pd.Series(_text(rng, n), dtype="str"),
    "str, gaps": lambda rng, n: pd.Series(_gappy(_text(rng, n), rng, None), dtype="str"),
    "string, gaps": lambda rng, n: pd.array(_gappy(_text(rng, n), rng, None), "string[python]"),
    "string[pyarrow]": lambda rng, n: pd.array(_text(rng, n), "string[pyarrow]"),
    "object, gaps": lambda rng, n: pd.Series(_gappy(_text(rng, n), rng, None), dtype=object),
    "rare": lambda rng, n: pd.Series([f"r{k}" for k in rng.geometric(0.4, n)], dtype="str"),
    "bool": lambda rng, n: rng.random(n) < 0.5,
    "boolean, gaps": lambda rng, n: pd.array(
        _gappy((rng.random(n) < 0.5).tolist(), rng, None), "boolean"
    ),
    "bool as objects": lambda rng, n: pd.Series(
        _gappy((rng.random(n) < 0.5).tolist(), rng, None), dtype=object
    ),
    "category, gaps": lambda rng, n: pd.Categorical(
        _gappy(_text(rng, n), rng, None), categories=["rent", "own", "free of charge", "other"]
    ),
    "category, unused": lambda rng, n: pd.Categorical(
        _text(rng, n), categories=["?", "rent", "own", "free of charge", "other"]
    ),
    "category, rare": lambda rng, n: pd.Categorical([f"r{k}" for k in rng.geometric(0.4, n)]),
    "category of ints": lambda rng, n: pd.Categorical(rng.integers(0, 4, n)),
    "ordered, gaps": lambda rng, n: pd.Categorical(
        _gappy(_text(rng, n), rng, None),
        categories=["own", "other", "unused", "rent", "free of charge"],
        ordered=True,
    ),
}


def _table(columns: list[str], seed: int, rows: int = 150, **options: Any) -> Any:
    rng = np.random.default_rng(seed)
    parts = {f"{j} {kind}": MAKERS[kind](rng, rows) for j, kind in enumerate(columns)}
    frame = pd.DataFrame({**parts, "y": np.resize(["no", "yes"], rows)})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Left out of")
        return frame, Table.from_frame(frame, target="y", **options)


@settings(max_examples=60)
@given(
    columns=st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=6),
    seed=st.integers(0, 20),
)
def test_users_get_their_frame_back(columns: list[str], seed: int) -> None:
    frame, table = _table(columns, seed)
    assert table.X.shape == (len(frame), table.encoding.width)
    assert np.isfinite(table.X).all()
    assert not table.left_out
    pd.testing.assert_frame_equal(table.to_frame(), frame)
    rows = np.random.default_rng(seed).permutation(len(frame))[:40]
    expected = frame.iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(table.take(rows).to_frame(), expected)


@settings(max_examples=60)
@given(
    columns=st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=6),
    seed=st.integers(0, 20),
)
def test_decoded_rows_encode_to_the_same_array(columns: list[str], seed: int) -> None:
    _, table = _table(columns, seed)
    encoding = Encoding.from_json(json.loads(json.dumps(table.encoding.to_json())))
    assert encoding == table.encoding
    decoded = encoding.decode(table.X)
    assert np.array_equal(encoding.encode(decoded), table.X)
    for row in range(3):  # the way of single rows
        one = encoding.decode(table.X[[row]])
        assert np.array_equal(encoding.encode(one), table.X[[row]])
        assert (one.dtypes == decoded.dtypes).all()


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_any_code_decodes_and_encodes(kind: str) -> None:
    """Also rows that no table had: every code of every column once."""
    _, table = _table([kind], 3)
    encoding, feature = table.encoding, table.encoding.features[0]
    X = np.tile(np.full(encoding.width, 7.0), (max(feature.codes, 1), 1))
    for column, size in encoding.code_sizes.items():
        X[:, column] = np.arange(size)
    for code, atom in enumerate(feature.atoms, start=1):
        X[code, 0] = feature.fill if math.isnan(atom) else atom
    assert np.array_equal(encoding.encode(encoding.decode(X)), X)


def test_the_array_of_numbers_is_the_frame_itself(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc")).assign(y=["n", "y"] * 25)
    table = Table.from_frame(frame, target="y")
    assert table.X.tobytes() == frame[list("abc")].to_numpy().copy(order="C").tobytes()
    assert table.encoding.code_sizes == {}


def test_codes_of_atoms_stand_behind_the_features() -> None:
    savings = Feature("savings", atoms=(0.0, math.nan), fill=7.0)
    housing = Feature("housing", "category", levels=("own", "rent"), gaps=True, dtype="str")
    pay = Feature("pay", atoms=(math.nan,), fill=2.0)
    encoding = Encoding((savings, housing, pay))
    frame = pd.DataFrame(
        {
            "pay": [1.5, np.nan, 3.0],
            "housing": pd.Series(["rent", None, "own"], dtype="str"),
            "savings": [0.0, 12.0, np.nan],
        }
    )
    assert encoding.encode(frame).tolist() == [[0, 1, 1.5, 1, 0], [12, 2, 2, 0, 1], [7, 0, 3, 2, 0]]
    assert encoding.code_sizes == {1: 3, 3: 3, 4: 2}
    assert (encoding.number_columns, encoding.atom_columns) == ((0, 2), {0: 3, 2: 4})
    assert encoding.column_names == ("savings", "housing", "pay", "savings (atom)", "pay (atom)")
    chosen, columns = encoding.select(["pay", "housing"])
    assert columns == [2, 1, 4]
    X = encoding.encode(frame)
    assert np.array_equal(chosen.encode(frame), X[:, columns])


def test_an_atom_is_exact_whatever_the_value_column_says() -> None:
    encoding = Encoding((Feature("savings", atoms=(0.0,)), Feature("kids", "whole", dtype="int64")))
    decoded = encoding.decode(np.array([[-133.0, 2.2, 1.0], [0.5, -0.4, 0.0]]))
    assert decoded["savings"].tolist() == [0.0, 0.5]
    assert decoded["kids"].tolist() == [2, 0]
    assert decoded["kids"].dtype == np.int64


def test_whole_numbers_beyond_a_small_dtype_are_not_wrapped() -> None:
    encoding = Encoding((Feature("kids", "whole", dtype="uint8"),))
    assert encoding.decode(np.array([[300.0], [-2.0]]))["kids"].tolist() == [300, -2]
    gaps = Feature("kids", "whole", atoms=(np.nan,), dtype="UInt8")
    kids = Encoding((gaps,)).decode(np.array([[300.0, 0.0], [-2.0, 0.0], [0.0, 1.0]]))["kids"]
    assert kids.tolist() == [300, -2, pd.NA]


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_text_of_pyarrow(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    made = pa.dictionary(pa.int32(), pa.string()) if kind == "dictionary" else getattr(pa, kind)()
    dtype = pd.ArrowDtype(made)
    text = pd.Series(pd.Categorical(["own", "rent"] * 20)).astype(dtype)
    frame = pd.DataFrame({"home": text, "x": np.arange(40.0), "y": list("aabb") * 10})
    encoding = Encoding.from_json(Table.from_frame(frame, target="y").encoding.to_json())
    home = encoding.decode(encoding.encode(frame))["home"]
    assert home.dtype == ("str" if kind == "dictionary" else dtype)
    assert home.tolist() == text.tolist()


def test_numbers_that_are_stored_in_another_way() -> None:
    pa = pytest.importorskip("pyarrow")
    values = np.arange(40.0) % 25 + 0.25
    frame = pd.DataFrame({"x": pd.arrays.SparseArray(values), "y": list("aabb") * 10})
    frame["d"] = pd.array([Decimal(str(x)) for x in values], pd.ArrowDtype(pa.decimal128(8, 2)))
    table = Table.from_frame(frame[["x", "d", "y"]], target="y")
    encoding = Encoding.from_json(table.encoding.to_json())
    assert encoding.decode(encoding.encode(frame))["x"].tolist() == values.tolist()
    assert table.kinds["feature"].tolist() == ["x", "d"]


# Pools ------------------------------------------------------------------------------------------


def test_pooled_levels_are_taken_from_the_row_and_named_nowhere() -> None:
    names = ["car"] * 40 + ["repairs"] * 40 + ["yacht", "castle"] * 4
    frame = pd.DataFrame({"purpose": names, "x": np.arange(88) / 7, "y": ["n", "y"] * 44})
    table = Table.from_frame(frame, target="y")
    feature = table.encoding.features[0]
    assert (feature.levels, feature.pooled, feature.pool_code) == (("car", "repairs"), 2, 2)
    assert "yacht" not in json.dumps(table.encoding.to_json())
    start = frame.iloc[[80]]
    X = table.encoding.encode(start)
    path = np.repeat(X, 3, axis=0)
    path[2, 0] = 0
    like = table.encoding.decode(path, like=start)
    assert like["purpose"].tolist() == ["yacht", "yacht", "car"]
    assert table.encoding.decode(path)["purpose"].tolist() == ["other", "other", "car"]
    assert table.kinds["levels"][0] == ["car", "repairs", "other (2 levels)"]


def test_a_pool_does_not_take_the_name_of_a_level() -> None:
    feature = Feature("poutcome", "category", levels=("failure", "other"), pooled=3, dtype="str")
    encoding = Encoding((feature,))
    X = np.array([[1.0], [2.0]])
    assert encoding.decode(X)["poutcome"].tolist() == ["other", "other_"]
    assert np.array_equal(encoding.encode(encoding.decode(X)), X)


# Errors -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoding() -> Encoding:
    return Encoding(
        (
            Feature("age", "whole", dtype="int64"),
            Feature("income"),
            Feature("housing", "category", levels=("own", "rent"), dtype="str"),
            Feature("savings", atoms=(0.0, math.nan)),
        )
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"housing": ["own", "castle"]},
            "'housing' in row 1 must be a level that the table had: 'own', 'rent'. Got 'castle': "
            "choose one of them, or fit again on a table with this level.",
        ),
        ({"housing": [3, "own"]}, "'housing' in row 0 must be a level"),
        ({"housing": [["own"], ["rent"]]}, "'housing' in row 0 must be a level"),
        (
            {"housing": ["own", None]},
            "'housing' in row 1 must not be missing: no row of the table had a gap there: fill it",
        ),
        ({"age": [30, 31.5]}, "'age' in row 1 must be a whole number, as in every row"),
        ({"age": [30, "old"]}, "'age' in row 1 must be a number. Got 'old'."),
        ({"income": ["12", "13"]}, ""),
        ({"income": ["12", "13 or so"]}, "'income' in row 1 must be a number. Got '13 or so'."),
        ({"income": [1.0, np.nan]}, "'income' in row 1 must not be missing"),
        ({"income": [np.inf, 1.0]}, "'income' in row 0 must be finite, below 1e+100"),
        ({"savings": [np.nan, 2.0]}, ""),
        ({"savings": [None, 2]}, ""),
    ],
)
def test_cells_that_cannot_be(encoding: Encoding, change: dict[str, Any], message: str) -> None:
    rows = {
        "age": [30, 31],
        "income": [1.0, 2.0],
        "housing": ["own", "rent"],
        "savings": [0.0, 1.0],
    }
    frame = pd.DataFrame({**rows, **change})
    if not message:
        assert np.isfinite(encoding.encode(frame)).all()
        return
    for rowwise in (frame, frame.astype(object)):
        with pytest.raises(InvalidInput) as caught:
            encoding.encode(rowwise)
        assert str(caught.value).startswith(message)


def test_a_column_that_is_not_there(encoding: Encoding) -> None:
    with pytest.raises(InvalidInput, match=r"have every feature\. Missing: 'age', 'income'"):
        encoding.encode(pd.DataFrame({"housing": ["own"], "savings": [1.0]}))


# Files from untrusted sources -------------------------------------------------------------------

NUMBER = {"name": "a", "kind": "number", "dtype": "float64"}
CATEGORY = {"name": "c", "kind": "category", "dtype": "str", "levels": ["x", "y"]}
STEP = {"name": "d", "source": "a", "values": ["low", "high"], "cuts": [1.0], "dtype": "str"}


def _record(*features: Any, **changes: Any) -> dict[str, Any]:
    return {"features": list(features), "derived": [], "left_out": {}, "columns": [], **changes}


def test_a_sound_record_is_read() -> None:
    encoding = Encoding.from_json(_record(NUMBER, CATEGORY, derived=[STEP], left_out={"id": "Id."}))
    decoded = encoding.decode(np.array([[0.5, 1.0], [1.0, 0.0]]))
    assert decoded.to_dict("list") == {"a": [0.5, 1.0], "c": ["y", "x"], "d": ["low", "high"]}


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {"features": [NUMBER]},
        _record(),
        _record(NUMBER, extra=1),
        _record(NUMBER, NUMBER),
        _record("a"),
        _record({**NUMBER, "more": 1}),
        _record({**NUMBER, "name": 3}),
        _record({**NUMBER, "kind": "text"}),
        _record({**NUMBER, "dtype": "datetime64[ns]"}),
        _record({**NUMBER, "dtype": "category"}),
        _record({**NUMBER, "levels": ["x"]}),
        _record({**NUMBER, "fill": "nan"}),
        _record({**NUMBER, "lower": 2.0, "upper": 1.0}),
        _record({**NUMBER, "lower": True}),
        _record({**NUMBER, "atoms": [1.0, 0.0]}),
        _record({**NUMBER, "atoms": ["nan", 0.0]}),
        _record({**NUMBER, "atoms": ["inf"]}),
        _record({**NUMBER, "atoms": 0.0}),
        _record({**NUMBER, "gaps": True}),
        _record({**CATEGORY, "levels": []}),
        _record({**CATEGORY, "levels": ["x"]}),
        _record({**CATEGORY, "levels": ["x", "x"]}),
        _record({**CATEGORY, "levels": ["x", 1]}),
        _record({**CATEGORY, "levels": "xy"}),
        _record({**CATEGORY, "levels": [f"{k}" for k in range(10_001)]}),
        _record({**CATEGORY, "levels": [["x"], ["y"]]}),
        _record({**CATEGORY, "dtype": "int64"}),
        _record({**CATEGORY, "dtype": "bool", "levels": [False, True], "gaps": 1}),
        _record({**CATEGORY, "pooled": -1}),
        _record({**CATEGORY, "pooled": 1.5}),
        _record({**CATEGORY, "kind": "ordered", "pooled": 2}),
        _record({**CATEGORY, "atoms": [0.0]}),
        _record({**CATEGORY, "categories": ["x"]}),
        _record(NUMBER, derived=[{**STEP, "source": "b"}]),
        _record(NUMBER, derived=[{**STEP, "name": "a"}]),
        _record(NUMBER, derived=[{**STEP, "cuts": [1.0, 2.0]}]),
        _record(NUMBER, derived=[{**STEP, "cuts": [2.0, 1.0], "values": ["a", "b", "c"]}]),
        _record(NUMBER, derived=[{**STEP, "values": ["a", 1]}]),
        _record(NUMBER, derived=[{**STEP, "values": [None, None], "dtype": "int64"}]),
        _record(NUMBER, derived=[{**STEP, "categories": ["low"]}]),
        _record(NUMBER, derived=[{**STEP, "perhaps_immutable": 1}]),
        _record(CATEGORY, derived=[{**STEP, "source": "c"}]),
        _record(NUMBER, left_out={"a": "why"}),
        _record(NUMBER, left_out={"id": 1}),
        _record(NUMBER, left_out=["id"]),
        _record(NUMBER, CATEGORY, columns=["a"]),
        _record(NUMBER, columns=["a", "a"]),
        _record(NUMBER, columns=["a", "b"]),
        _record(NUMBER, columns="a"),
    ],
)
def test_records_that_cannot_be(record: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Encoding.from_json(record)


JUNK: list[Any] = [
    None, True, 0, -1, 1.5, 2**62, "", "x", "nan", [], [1], ["a", "b"], [None], {}, [[1]],
    "ordered", "int64", "bool", "object", "string[pyarrow]",
]  # fmt: skip


def test_damaged_records_are_errors_or_can_be_used() -> None:
    rng = np.random.default_rng(0)
    sound = load_table("loans").encoding
    text = json.dumps(replace(sound, derived=(_derived_of(sound),)).to_json())
    used = 0
    for _ in range(2000):
        record = json.loads(text)
        place: Any = record
        while isinstance(place, dict | list) and len(place):
            inner = place
            keys = list(inner) if isinstance(inner, dict) else range(len(inner))
            key: Any = keys[rng.integers(len(keys))]
            place = inner[key]
            if rng.random() < 0.3:
                break
        inner[key] = JUNK[rng.integers(len(JUNK))]
        try:
            encoding = Encoding.from_json(record)
        except ValueError:
            continue
        used += 1
        assert len(encoding.decode(np.zeros((2, encoding.width)))) == 2
    assert 0 < used < 500


def _derived_of(encoding: Encoding) -> Derived:
    education = encoding.features[1]
    return Derived("years", education.name, (8, 12, 13, 16), dtype="int64")


def test_one_word_in_a_column_spoils_only_its_own_row() -> None:
    """A typing error makes pandas read a whole column as text; the others still hold numbers."""
    frame = draw_loans(400, rng=np.random.default_rng(1))
    explainer = fit(frame, target="decision", density="linear-gaussian", judge="density")
    month = frame.drop(columns="decision").head(4)
    typed = month.astype({"months": str, "late_payments": str})
    typed.loc[1, "months"] = "3o"
    typed.loc[2, "late_payments"] = "none"
    batch = explainer.explain_batch(typed, target="granted")
    assert [answer.status == "invalid_row" for answer in batch] == [False, True, True, False]
    right = explainer.explain_batch(month, target="granted")
    assert batch[0].path.equals(right[0].path)
    assert batch[3].path.equals(right[3].path)


@pytest.mark.parametrize(
    ("dtype", "values", "held"),
    [
        ("UInt8", [300.0, -5.0], "Int64"),
        ("Int8", [np.nan, 300.0], "Int64"),
        ("uint8", [300.0, -5.0], "int64"),
        ("int64", [1e30, 1.0], "float64"),
        ("Int64", [1e30, np.nan], "float64"),
        ("int16", [7.0, 8.0], "int16"),
    ],
)
def test_integers_that_do_not_fit_their_dtype_are_not_wrapped(
    dtype: str, values: list[float], held: str
) -> None:
    cells = numbers(np.array(values), dtype, whole=True)
    assert cells.dtype == held
    np.testing.assert_array_equal(
        pd.array(cells).to_numpy(dtype=np.float64, na_value=np.nan), values
    )


def test_numbers_of_answers_come_back_to_the_last_bit() -> None:
    features = (
        Feature("age", "whole", dtype="int64"),
        Feature("rooms", "whole", dtype="object"),
        Feature("income", dtype="float32"),
        Feature("housing", "category", levels=("own", "rent"), dtype="str"),
    )
    encoding, row = Encoding(features), np.array([[30.25, 2.5, 0.1, 1.0]])
    exact = encoding.decode(row, whole=())
    assert exact.iloc[0].tolist() == [30.25, 2.5, 0.1, "rent"]
    assert encoding.decode(row, whole=["age"])["age"].tolist() == [30]
    assert encoding.decode(row).dtypes.astype(str).tolist()[:3] == ["int64", "object", "float32"]


@pytest.mark.parametrize("gap", [None, np.nan])
def test_gaps_in_objects_are_what_they_were(gap: object) -> None:
    levels = np.array(["a", "b", gap], dtype=object)
    frame = pd.DataFrame({"x": pd.Series(np.tile(levels, 20), dtype=object), "y": [1.5, 2.5] * 30})
    encoding = Table.from_frame(frame.assign(c=[0, 1] * 30), target="c").encoding
    again = Encoding.from_json(encoding.to_json())
    back = again.decode(again.encode(frame))["x"]
    assert back[2] is None if gap is None else back[2] != back[2]
    assert back[:2].tolist() == ["a", "b"]
