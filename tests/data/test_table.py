from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daace.data.files import read_frame
from daace.data.labels import label_array
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.exceptions import InvalidInput


def _frame(**columns: object) -> pd.DataFrame:
    base = {"a": [1.0, 2.0, 4.0, 3.0], "b": [0.0, 1.0, 1.5, 5.0], "class": ["n", "y", "y", "n"]}
    return pd.DataFrame({**base, **columns})


def test_from_frame_keeps_rows_names_and_units() -> None:
    table = Table.from_frame(_frame(), target="class", units={"a": "cm"}, name="four")
    assert table.features == ("a", "b")
    assert table.classes.tolist() == ["n", "y"]
    assert table.X.tolist() == [[1, 0], [2, 1], [4, 1.5], [3, 5]]
    assert table.y.tolist() == ["n", "y", "y", "n"]
    assert dict(table.units) == {"a": "cm"}
    assert len(table) == 4
    assert repr(table) == "Table(name='four', rows=4, features=2, classes=['n', 'y'])"
    pd.testing.assert_frame_equal(table.to_frame(), _frame(), check_dtype=False)


def test_the_target_may_stand_anywhere_and_columns_may_be_numbers() -> None:
    table = Table.from_frame(pd.DataFrame([[0, 1.0, 2.0], [1, 3.0, 5.0]]), target=0)  # type: ignore[arg-type]
    assert table.features == ("1", "2")
    assert table.target == "0"


def test_the_frame_is_copied() -> None:
    frame = _frame()
    table = Table.from_frame(frame, target="class")
    frame["a"] = -1.0
    assert table.X[0, 0] == 1.0


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (["n", "y", "y", "n"], ["n", "y"], "U"),
        (pd.array(["n", "y", "y", "n"], dtype="string"), ["n", "y"], "U"),
        (pd.Series(["n", "y", "y", "n"], dtype="str"), ["n", "y"], "U"),
        (pd.Categorical(["n", "y", "y", "n"], categories=["y", "n", "?"]), ["n", "y"], "U"),
        (pd.Categorical([3, 1, 1, 3]), [1, 3], "i"),
        ([0, 1, 1, 0], [0, 1], "i"),
        (np.array([0, 1, 1, 0], dtype=np.uint8), [0, 1], "i"),
        (pd.array([0, 1, 1, 0], dtype="Int64"), [0, 1], "iU"),
        ([0.0, 1.0, 1.0, 0.0], [0, 1], "i"),
        ([0.5, 1.5, 1.5, 0.5], ["0.5", "1.5"], "U"),
        ([np.inf, 1.0, 1.0, np.inf], ["1.0", "inf"], "U"),
        ([1e300, 1.0, 1.0, 1e300], ["1.0", "1e+300"], "U"),
        ([False, True, True, False], [False, True], "b"),
        ([b"n", b"y", b"y", b"n"], ["b'n'", "b'y'"], "U"),
    ],
)
def test_targets_of_every_kind(labels: object, classes: list[object], kind: str) -> None:
    table = Table.from_frame(_frame(**{"class": labels}), target="class")
    assert [str(label) for label in table.classes] == [str(label) for label in classes]
    assert table.classes.dtype.kind in kind
    assert len(set(table.y[[0, 3]].tolist())) == 1


def test_labels_stay_what_json_can_hold() -> None:
    assert label_array([1, 2]).dtype == np.int64
    assert label_array([True, False]).dtype == np.bool_
    assert label_array(np.array([1, "a", None], dtype=object)).tolist() == ["1", "a", "None"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (_frame(a=[1.0, np.nan, 2.0, 3.0]), "must not have missing values. Got some in 'a'"),
        (_frame(a=pd.array([1, None, 2, 3], dtype="Int64")), "must not have missing values"),
        (_frame(a=[1.0, np.inf, 2.0, 3.0]), "must be finite, below 1e+100 in size"),
        (_frame(b=[1.0, 2.0, 3.0, -1e200]), "more than that in 'b': drop these rows or clip"),
        (_frame(a=list("wxyz")), "numeric features only. Got text in 'a': encode"),
        (_frame(a=pd.Series(list("wxyz"), dtype="str")), "Got text in 'a'"),
        (_frame(a=[1, 2, "many", 4]), "Got text in 'a' (row 2): encode"),
        (_frame(a=pd.Categorical([1, 2, 3, 4])), "Got numbers kept as text or objects in 'a'"),
        (_frame(a=pd.date_range("2020", periods=4)), "Got dates in 'a': convert them"),
        (_frame(a=["51,234.00", "1,000", "3", "4"]), "Got numbers with commas in 'a': convert"),
        (_frame(a=[1 + 2j, 1, 2, 3]), "must be real. Got complex numbers in 'a'"),
        (_frame(**{"class": ["n"] * 4}), "must have at least two classes. Got 'n' only."),
        (_frame(**{"class": ["n", None, "y", "y"]}), "must not have missing values. Got 1: drop"),
        (_frame().iloc[:0], "at least two classes. Got no rows only."),
        (_frame()[["class"]], "at least one feature that varies. It has none."),
        (_frame().drop(columns="class"), "'target' must be a column of the frame: 'a', 'b'."),
        (
            pd.DataFrame({"a": np.arange(50.0), "class": np.arange(50)}),
            "must be a class, not a measurement. Got 50 distinct numbers in 50 rows",
        ),
        (
            _frame().set_axis(["a", "a", "class"], axis=1),
            "must have distinct column names. Got 'a' more than once: rename or drop",
        ),
        (
            pd.DataFrame([[1, 2.0, "n"], [2, 3.0, "y"]], columns=[1, "1", "class"]),
            "distinct column names. Got '1' more than once",
        ),
        ([[1, 2]], "'frame' must be a pandas DataFrame. Got list: wrap it"),
    ],
)
def test_what_cannot_be_a_table_of_numbers(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Table.from_frame(frame, target="class", kinds="number")
    assert message in str(caught.value)


def test_columns_that_do_not_vary_are_left_out_with_a_warning() -> None:
    rows = pd.DataFrame({"c": [7, 7, 7], "a": [1.0, 2, 4], "t": list("xxx"), "e": [np.nan] * 3})
    with pytest.warns(UserWarning, match="Left out of the model") as said:
        table = Table.from_frame(
            rows.assign(y=[0, 1, 1]), target="y", units={"c": "m", "a": "kg"}, name="n"
        )
    assert table.features == ("a",)
    assert table.left_out == {
        "c": "The values do not vary.",
        "t": "The values do not vary.",
        "e": "There are no values.",
    }
    assert (table.columns, table.units) == (("c", "a", "t", "e"), {"a": "kg"})
    assert [str(warning.message) for warning in said] == [
        "Left out of the model: 'c', 't'. The values do not vary.",
        "Left out of the model: 'e'. There are no values.",
    ]
    assert table.take([0, 1]).left_out == table.select(["a"]).left_out == table.left_out


def test_what_is_asked_for_is_not_left_out() -> None:
    frame = pd.DataFrame({"c": [7, 7], "a": [1, 2], "other": ["x", "y"], "y": [0, 1]})
    table = Table.from_frame(frame, target="y", features=["a", "c"])
    assert (table.features, table.left_out) == (("a", "c"), {})


@pytest.mark.filterwarnings("ignore:Left out")
def test_where_nothing_is_left_there_is_no_table() -> None:
    frame = pd.DataFrame({"c": [7, 7], "t": ["x", "x"], "y": [0, 1]})
    with pytest.raises(InvalidInput, match=r"that varies\. It has none beside 'c', 't'\.$"):
        Table.from_frame(frame, target="y")


def test_units_must_name_features() -> None:
    with pytest.raises(InvalidInput, match=r"'units' must name features of the frame\. Got 'c'\."):
        Table.from_frame(_frame(), target="class", units={"a": "cm", "c": "kg"})


def test_take_select_shuffle_split(iris: Table, rng: np.random.Generator) -> None:
    assert iris.take([0, 1]).classes.tolist() == iris.classes.tolist()
    chosen = iris.select(["petal width", "sepal length"])
    assert chosen.X.tolist() == iris.X[:, [3, 0]].tolist()
    assert dict(chosen.units) == {"petal width": "cm", "sepal length": "cm"}
    with pytest.raises(InvalidInput, match=r"'features' must be in the table\. Got 'petal'"):
        iris.select(["petal"])

    shuffled = iris.shuffle(rng=rng)
    assert shuffled.y.tolist() != iris.y.tolist()
    assert sorted(map(tuple, shuffled.X)) == sorted(map(tuple, iris.X))

    kept, held_out = iris.split(0.2, rng=rng)
    assert (len(kept), len(held_out)) == (120, 30)
    assert sorted(map(tuple, [*kept.X, *held_out.X])) == sorted(map(tuple, iris.X))
    with pytest.raises(InvalidInput, match=r"'share' must be between 0 and 1\. Got 1\.5\."):
        iris.split(1.5, rng=rng)


# Any frame: a density, or a clear error -----------------------------------------------------------

Maker = Callable[[np.random.Generator, int], object]
COLUMNS: dict[str, Maker] = {
    "normal": lambda rng, rows: rng.normal(size=rows),
    "integers": lambda rng, rows: rng.integers(0, 4, rows),
    "boolean": lambda rng, rows: rng.random(rows) < 0.5,
    "nullable": lambda rng, rows: pd.array(rng.integers(0, 9, rows), dtype="Int64"),
    "large": lambda rng, rows: 1e12 * rng.normal(size=rows),
    "small": lambda rng, rows: 1e-12 * rng.normal(size=rows),
    "far": lambda rng, rows: 1e12 + 1e3 * rng.normal(size=rows),
    "outlier": lambda rng, rows: np.where(np.arange(rows) == 0, 1e12, rng.normal(size=rows)),
    "single": lambda rng, rows: rng.normal(size=rows).astype(np.float32),
    "copied": lambda rng, rows: np.random.default_rng(0).normal(size=rows),
    "doubled": lambda rng, rows: 2 * np.random.default_rng(0).normal(size=rows) - 1,
    "constant": lambda rng, rows: np.full(rows, 7.0),
    "denormal": lambda rng, rows: 1e-310 * rng.normal(size=rows),
    "spike": lambda rng, rows: (np.arange(rows) == 1).astype(float),
}
FLAWS: dict[str, Maker] = {
    "huge": lambda rng, rows: 1e200 * rng.normal(size=rows),
    "missing": lambda rng, rows: np.where(np.arange(rows) == 1, np.nan, rng.normal(size=rows)),
    "infinite": lambda rng, rows: np.where(np.arange(rows) == 1, -np.inf, rng.normal(size=rows)),
    "text": lambda rng, rows: np.where(np.arange(rows) % 2, "a", "b"),
    "date": lambda rng, rows: pd.date_range("2020", periods=rows),
}
TARGETS: dict[str, Maker] = {
    "text": lambda rng, rows: rng.choice(["no", "yes"], rows),
    "three": lambda rng, rows: rng.choice(["a", "b", "c"], rows),
    "integer": lambda rng, rows: rng.integers(-1, 2, rows),
    "boolean": lambda rng, rows: rng.random(rows) < 0.3,
    "category": lambda rng, rows: pd.Categorical(rng.choice(["x", "y"], rows)),
    "string": lambda rng, rows: pd.Series(rng.choice(["x", "y"], rows), dtype="string"),
    "pairs": lambda rng, rows: np.arange(rows) // 2,
    "lonely": lambda rng, rows: np.where(np.arange(rows) == 2, "one", "rest"),
    "same": lambda rng, rows: np.full(rows, "only"),
    "float": lambda rng, rows: rng.normal(size=rows),
    "missing": lambda rng, rows: [None if row == 1 else "x" for row in range(rows)],
}
DENSITIES: list[LinearGaussianNetwork | KernelDensity] = [
    LinearGaussianNetwork(),
    LinearGaussianNetwork(start="empty", max_parents=1),
    KernelDensity(),
    KernelDensity(bandwidth=0.05, max_rows_per_class=5),
]


def _random_frame(
    columns: list[str], target: str, rows: int, rng: np.random.Generator
) -> pd.DataFrame:
    makers = {**COLUMNS, **FLAWS}
    parts = [pd.Series(makers[kind](rng, rows), name=f"{j} ü") for j, kind in enumerate(columns)]
    parts.append(pd.Series(TARGETS[target](rng, rows), name="target"))
    return pd.concat(parts, axis=1)


def _fit_or_error(
    density: LinearGaussianNetwork | KernelDensity, frame: pd.DataFrame
) -> ConditionalDensity | str:
    """Return the fitted density, or what `InvalidInput` said; nothing else may be raised."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Nearly no variance is left in|Left out of")
        try:
            return density.fit(Table.from_frame(frame, target="target", kinds="number"))
        except InvalidInput as error:
            return str(error)


@settings(max_examples=200)
@given(
    columns=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=6),
    target=st.sampled_from(sorted(TARGETS)),
    rows=st.integers(4, 40),
    seed=st.integers(0, 5),
    density=st.sampled_from(DENSITIES),
)
def test_any_numbers_give_a_density_or_a_clear_error(
    columns: list[str],
    target: str,
    rows: int,
    seed: int,
    density: LinearGaussianNetwork | KernelDensity,
) -> None:
    rng = np.random.default_rng(seed)
    frame = _random_frame(columns, target, rows, rng)
    fitted = _fit_or_error(density, frame)
    if isinstance(fitted, str):
        reasons = (
            "at least two classes",
            "missing values",
            "not a measurement",
            "Every class must have at least",
            "varies",
        )
        assert any(reason in fitted for reason in reasons)
        return
    X = fitted.to_model(frame)
    assert X.shape == (rows, len(columns) - len(fitted.left_out_))
    assert np.isfinite(fitted.log_joint(X)).all()
    assert np.isfinite(fitted.log_joint_vjp(X, np.ones((rows, len(fitted.classes_))))).all()
    drawn, _ = fitted.sample(5, rng=rng)
    assert np.isfinite(fitted.log_prob(drawn)).all()
    assert np.isfinite([fitted.draws_.mean, fitted.draws_.sd]).all()
    assert fitted.draws_.spread > 0


@pytest.mark.parametrize("density", DENSITIES[1:3])
@pytest.mark.parametrize("flaw", FLAWS)
@settings(max_examples=15)
@given(
    columns=st.lists(st.sampled_from(sorted(COLUMNS)), max_size=4),
    rows=st.integers(4, 40),
    seed=st.integers(0, 5),
)
def test_one_flaw_is_always_named(
    columns: list[str],
    rows: int,
    seed: int,
    flaw: str,
    density: LinearGaussianNetwork | KernelDensity,
) -> None:
    frame = _random_frame([*columns, flaw], "pairs", rows - rows % 2, np.random.default_rng(seed))
    message = _fit_or_error(density, frame)
    assert isinstance(message, str)
    assert f"'{len(columns)} ü'" in message


# Frames of other packages, gaps and text ------------------------------------------------------


def test_polars_and_pyarrow_frames_are_read_like_pandas_ones() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frame = _frame(b=[4, 3, 2, 1])
    expected = Table.from_frame(frame, target="class")
    columns = {str(name): frame[name].tolist() for name in frame.columns}
    for other in (polars.DataFrame(columns), pyarrow.table(columns)):
        table = Table.from_frame(other, target="class")
        assert np.array_equal(table.X, expected.X)
        assert table.y.tolist() == expected.y.tolist()
        assert (table.features, table.classes.tolist()) == (
            expected.features,
            expected.classes.tolist(),
        )
    with pytest.raises(InvalidInput, match=r"LazyFrame, .* call its collect\(\) first"):
        Table.from_frame(polars.LazyFrame(columns), target="class")


def test_an_enumeration_of_polars_has_an_order() -> None:
    polars = pytest.importorskip("polars")
    sizes = polars.Series("size", ["small", "large", None] * 20, polars.Enum(["small", "large"]))
    frame = polars.DataFrame([sizes]).with_columns(x=polars.arange(60) / 7, y=polars.lit("a"))
    frame = frame.with_columns(y=polars.Series(list("ab") * 30))
    (size, _) = Table.from_frame(frame, target="y").encoding.features
    assert (size.kind, size.levels, size.gaps) == ("ordered", ("small", "large"), True)


def test_gaps_of_polars_frames_are_named() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"a": [1.0, None, 3.0, 4.0], "b": [1, 2, 3, None], "class": list("xxyy")}
    )
    with pytest.raises(InvalidInput, match=r"Got some in 'a', 'b' \(row 1, 3\): drop these rows"):
        Table.from_frame(frame, target="class", kinds="number")


@pytest.mark.parametrize(
    ("remedy", "frame"),
    [
        (lambda f: f.dropna(), _frame(a=[1.0, np.nan, 2.0, 3.0])),
        (lambda f: f.fillna(f.median(numeric_only=True)), _frame(a=[1.0, np.nan, 2.0, 3.0])),
        (lambda f: f.astype({"a": float}), _frame(a=["1.5", "2", "3", "4"])),
        (lambda f: f.assign(a=f["a"].map({"low": 0, "high": 1})), _frame(a=["low", "high"] * 2)),
        (lambda f: f.drop(columns=["a"]), _frame(a=list("wxyz"))),
    ],
)
def test_what_the_messages_advise_helps(remedy, frame) -> None:
    with pytest.raises(InvalidInput):
        Table.from_frame(frame, target="class", kinds="number")
    assert len(Table.from_frame(remedy(frame), target="class", kinds="number")) >= 3


def test_numbers_written_as_text_are_told_from_words() -> None:
    with pytest.raises(
        InvalidInput, match=r"kept as text or objects in 'a': .* frame.astype\(\{'a': float"
    ):
        Table.from_frame(_frame(a=["1.5", "2", "3", "4"]), target="class", kinds="number")


# Mixed tables ---------------------------------------------------------------------------------


def _mixed(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "housing": pd.Series(rng.choice(["own", "rent", None], rows), dtype="str"),
            "savings": np.maximum(rng.normal(size=rows), 0),
            "kids": rng.integers(0, 4, rows),
            "late": rng.random(rows) < 0.3,
            "age": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(18, 80, rows)),
            "purpose": rng.choice(["car", "repairs", "yacht"], rows, p=[0.6, 0.36, 0.04]),
            "class": rng.choice(["granted", "refused"], rows),
        }
    )


def test_mixed_tables_are_taken_selected_split_and_shuffled(rng: np.random.Generator) -> None:
    frame = _mixed()
    table = Table.from_frame(frame, target="class")
    assert table.X.shape == (120, 8)
    some = table.take([5, 3, 3])
    expected = frame.iloc[[5, 3, 3]].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.to_frame(), expected)
    mask = np.arange(120) % 7 == 0
    pd.testing.assert_frame_equal(table.take(mask).to_frame(), frame[mask].reset_index(drop=True))
    chosen = table.select(["age", "purpose"])
    assert chosen.X.shape == (120, 3)
    pd.testing.assert_frame_equal(chosen.to_frame(), frame[["age", "purpose", "class"]])
    parts = table.shuffle(rng=rng).split(0.25, rng=rng)
    joined = pd.concat([part.to_frame() for part in parts])
    assert sorted(map(str, joined.to_numpy().tolist())) == sorted(
        map(str, frame.to_numpy().tolist())
    )


def test_another_frame_is_read_as_the_table_was() -> None:
    table = Table.from_frame(_mixed(), target="class")
    few = table.to_frame().iloc[:30].assign(extra=1)
    again = Table.from_frame(few, target="class", encoding=table.encoding)
    assert again.encoding is table.encoding
    assert np.array_equal(again.X, table.X[:30])
    pd.testing.assert_frame_equal(again.to_frame(), table.take(range(30)).to_frame())
    with pytest.raises(InvalidInput, match=r"'housing' in row 0 must be a level .* Got 'boat'"):
        Table.from_frame(few.assign(housing="boat"), target="class", encoding=table.encoding)


def test_what_needs_numbers_refuses_codes_in_one_sentence() -> None:
    table = Table.from_frame(_mixed()[["savings", "kids", "class"]], target="class")
    with pytest.raises(InvalidInput) as caught:
        LinearGaussianNetwork().fit_arcs(table, [])
    assert str(caught.value) == (
        "'table' must have numbers only, without gaps or values that many rows share. Got "
        "'savings', 'kids', see table.kinds: pass kinds='number' to daace.Table.from_frame if "
        "all columns are numbers, and drop the others."
    )


def test_mixed_frames_of_other_packages() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frame = _mixed()
    expected = Table.from_frame(frame, target="class")
    columns = {
        str(name): [None if pd.isna(value) else value for value in frame[name].tolist()]
        for name in frame.columns
    }
    for other in (polars.DataFrame(columns), pyarrow.table(columns)):
        table = Table.from_frame(other, target="class")
        assert np.array_equal(table.X, expected.X)
        assert [f.words for f in table.encoding.features] == [
            f.words for f in expected.encoding.features
        ]
    coded = polars.DataFrame({"a": ["x", "y"] * 60, "class": columns["class"]}).with_columns(
        polars.col("a").cast(polars.Categorical)
    )
    assert Table.from_frame(coded, target="class").encoding.features[0].levels == ("x", "y")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_mixed_tables_in_files(tmp_path: Path, suffix: str) -> None:
    frame, path = _mixed(), tmp_path / f"loans{suffix}"
    if suffix == ".csv":
        text = frame.to_csv(index=False, lineterminator="\n", na_rep="")
        path.write_text(text.replace(",,", ",?,"), encoding="utf-8")  # missing ages
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    expected = Table.from_frame(frame, target="class")
    table = Table.from_frame(read_frame(path), target="class")
    pd.testing.assert_frame_equal(table.kinds, expected.kinds)
    pd.testing.assert_frame_equal(table.to_frame(), expected.to_frame())


def test_a_question_mark_is_a_gap_among_numbers_and_a_level_among_words(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("a,b,c,d\n1,x,true,?\n?,?,?,?\n3,NA,false,?\n", encoding="utf-8")
    frame = read_frame(path)
    assert frame["a"].isna().tolist() == [False, True, False]
    assert frame["b"].tolist() == ["x", "?", "NA"]
    assert frame["c"].isna().tolist() == [False, True, False]
    assert frame["d"].tolist() == ["?"] * 3


def test_ordered_categories_keep_their_order_in_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    size = pd.Categorical(["tall", "small", None] * 40, ["tiny", "small", "tall"], ordered=True)
    frame = _mixed().assign(size=size)[["savings", "size", "class"]]
    frame.to_parquet(tmp_path / "sizes.parquet", row_group_size=7)
    table = Table.from_frame(read_frame(tmp_path / "sizes.parquet"), target="class")
    assert table.encoding.features[1].words == ("tiny", "small", "tall", "missing")
    pd.testing.assert_frame_equal(table.to_frame(), frame)
