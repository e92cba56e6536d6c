from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.data.inputs import as_table
from daace.data.table import Table
from daace.exceptions import InvalidInput

X = np.array([[1.0, 5], [2, 3], [4, 4]])
FRAME = pd.DataFrame(X, columns=["a", "b"])
Y = ["u", "v", "v"]


@pytest.mark.parametrize(
    "y",
    [
        Y,
        tuple(Y),
        np.array(Y),
        np.array(Y, dtype=object)[:, None],
        pd.Series(Y),
        pd.Series(Y, name="class", index=[7, 8, 9]),
        pd.Series(Y, dtype="category"),
        pd.Index(Y),
        pd.DataFrame({"class": Y}),
    ],
    ids=lambda y: type(y).__name__,
)
@pytest.mark.parametrize("rows", [X, X.tolist(), FRAME], ids=["array", "list", "frame"])
def test_rows_and_classes(rows, y):
    table = as_table(rows, y)
    assert table.features == (("a", "b") if rows is FRAME else ("x1", "x2"))
    assert (table.target, table.y.tolist()) == ("class", Y)
    assert (table.X == X).all()


def test_the_target_has_the_name_of_the_series():
    assert as_table(FRAME, pd.Series(Y, name="outcome")).target == "outcome"


def test_a_frame_and_the_name_of_its_class():
    table = as_table(FRAME.assign(y=Y), target="y")
    assert (table.features, table.target) == (("a", "b"), "y")
    assert as_table(pd.DataFrame(np.c_[X, [0, 1, 1]]), target=2).target == "2"
    assert as_table(table) is table


def test_frames_of_other_packages():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frames = [polars.from_pandas(FRAME), pyarrow.Table.from_pandas(FRAME)]
    classes = [polars.Series("c", Y), pyarrow.array(Y), pyarrow.chunked_array([Y])]
    for frame in frames:
        for y in classes:
            assert as_table(frame, y).y.tolist() == Y
    assert as_table(frames[0], classes[0]).target == "c"
    whole = polars.from_pandas(FRAME.assign(y=Y))
    assert as_table(whole, target="y").features == ("a", "b")
    assert as_table(whole.to_arrow(), target="y").features == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Table.from_frame(FRAME.assign(y=Y), target="y"), Y, None), "pass neither 'y' nor"),
        ((FRAME, None, None), r"^The classes must be given: fit\(frame, target='class'\)"),
        ((X, None, None), r"fit\(X, y\) passes them separately. Got a ndarray alone"),
        ((FRAME, Y, "a"), "'target' and 'y' must not both be given"),
        ((X, None, "a"), "'target' must go with a frame, .* Got ndarray: pass the classes as"),
        ((FRAME, None, Y), "'target' must be the name of a column. Got list: pass the classes"),
        ((FRAME, None, "c"), "'target' must be a column of the frame: 'a', 'b'. Got 'c'"),
        ((FRAME, Y[:2], None), "'y' must have a class for each row of 'X', 3. Got 2"),
        ((X, np.eye(3), None), r"Got shape \(3, 3\): of one-hot columns, pass y.argmax"),
        ((X[0], Y, None), "'X' must have two dimensions, rows and columns. Got 1"),
        (("X", Y, None), "'X' must be a frame or an array of numbers. Got str"),
        ((FRAME.assign(y=Y), pd.Series(Y, name="y"), None), "'X' must not have the column .* 'y'"),
        ((FRAME, pd.Series(Y, index=[2, 1, 0]), None), "the same order. .* pass y.loc"),
    ],
)
def test_what_is_not_clear_is_one_sentence(arguments, message):
    data, y, target = arguments
    with pytest.raises(InvalidInput, match=message):
        as_table(data, y, target=target)


def test_classes_may_have_the_name_of_a_feature():
    X = pd.DataFrame({"age": [30.0, 41.0, 52.0], "class": [1.0, 2.0, 4.0]})
    assert as_table(X, X["age"] > 40).target == "age_"
    assert as_table(X, ["a", "b", "b"]).target == "class_"
