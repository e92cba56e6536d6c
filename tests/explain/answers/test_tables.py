"""Tables of answers: one row an answer, one row a change, the user's columns as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, LinearGaussianNetwork, Table
from daace.explain.answers.tables import describe_changes
from daace.explain.explainer import Explainer


@pytest.fixture
def rows() -> pd.DataFrame:
    frame = pd.DataFrame({"x2": [0.0, 1.0, 0.3], "x1": [0.0, 0.5, 4.0]}, index=["p", "q", "r"])
    frame.insert(0, "when", pd.date_range("2020-01-01", periods=3))
    frame["status"] = pd.Categorical(["new", "old", "new"])
    return frame.assign(x1_start=[7, 8, 9])


def test_other_columns_come_first_and_keep_name_order_and_type(simple, rows):
    table = simple.explain_batch(rows, target="well").to_frame()
    assert table.columns.tolist() == [
        "when", "status", "x1_start", "explanation_status", "found", "current", "target", "cost",
        "log_prob", "posterior", "steps", "notes", "x1", "x2",
    ]  # fmt: skip
    others = ["when", "status", "x1_start"]
    pd.testing.assert_frame_equal(table[others], rows[others])


def test_details_have_start_end_and_change(simple, rows):
    many = simple.explain_batch(rows, target="well", constraints=Constraints(fixed=["x2"]))
    table = many.to_frame(detail=True)
    assert table.columns.tolist()[-8:] == [
        "changes", "notes", "explanation_x1_start", "x1", "x1_change", "x2_start", "x2",
        "x2_change",
    ]  # fmt: skip
    assert table["explanation_x1_start"].tolist() == rows["x1"].tolist()
    assert table["x2_change"].isna().all()  # nothing changes there
    for row, e in enumerate(many):
        if e.status == "found":
            change = e.path["x1"].iloc[-1] - e.path["x1"].iloc[0]
            assert table["x1_change"].iloc[row] == change
            assert table["changes"].iloc[row] == describe_changes(e, e.changes())
    assert table["changes"].iloc[0].startswith("x1 0.00 -> ")
    assert table["changes"].iloc[2] == ""
    assert many[:2].to_frame(detail=True).equals(table.head(2))


def test_one_row_a_change(simple, rows):
    many = simple.explain_batch(rows, target="well")
    long = many.changes()
    each = [e.changes() for e in many]
    rest = long.index.tolist()[len(each[0]) + len(each[1]) :]
    assert long.index.tolist() == ["p"] * len(each[0]) + ["q"] * len(each[1]) + rest
    assert each[2].empty
    assert len(set(rest)) == len(rest) == len(rows) - 2  # one row each, without a feature
    columns = ["feature", "from", "to", "change", "change_sd"]
    changed = long[long["feature"].notna()]
    pd.testing.assert_frame_equal(
        changed[columns].reset_index(drop=True), pd.concat(each, ignore_index=True)
    )
    assert long["explanation_status"].tolist()[-len(rest) :] == [str(e.status) for e in many[2:]]
    assert long["when"].iloc[0] == rows["when"].iloc[0]
    assert len(simple.explain_batch(rows.head(0), target="well").changes()) == 0


@pytest.mark.parametrize("classes", [[0, 1], [False, True], ["no", "yes"]])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_keep_their_type_beside_invalid_rows(straight, tmp_path, classes, suffix):
    rng = np.random.default_rng(0)
    y = np.repeat(classes, 50)
    x = rng.normal(size=100) + 3 * np.repeat([0, 1], 50)
    table = Table.from_frame(pd.DataFrame({"x": x, "y": y}), target="y")
    explainer = Explainer(LinearGaussianNetwork().fit(table), planner=straight)
    (tmp_path / "d.csv").write_text("x\n0\n?\n4\n")
    output = tmp_path / f"a{suffix}"
    explainer.explain_file(tmp_path / "d.csv", output)
    if suffix == ".csv":
        got = pd.read_csv(output, dtype=str)["current"].tolist()
        assert [got[0], got[2]] == [str(classes[0]), str(classes[1])]
    else:
        got = pd.read_parquet(output)["current"].tolist()
        assert [got[0], got[2]] == classes
    assert pd.isna(got[1])
    frame = explainer.explain_batch([[0.0], [np.nan], [4.0]]).to_frame()
    assert frame["current"].iloc[[0, 2]].tolist() == classes
    assert pd.isna(frame["current"].iloc[1])
    (tmp_path / "none.csv").write_text("x\n?\n")
    explainer.explain_file(tmp_path / "none.csv", output)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_other_columns_of_a_file_are_unchanged(simple, tmp_path, suffix):
    source, output = tmp_path / "d.csv", tmp_path / f"a{suffix}"
    source.write_text(
        "zip,n,price,note,x1,x2,gone,class\n007,1,1.50,=1+1,0,0,,ill\n010,2,,NA,0,1,,well\n"
    )
    simple.explain_file(source, output, target="well")
    if suffix == ".csv":
        lines = output.read_text().splitlines()
        assert lines[0].startswith("zip,n,price,note,gone,row,status,")
        assert lines[1].startswith("007,1,1.50,'=1+1,,0,found,")
        assert lines[2].startswith("010,2,,NA,,1,found,")
        return
    if suffix == ".jsonl":
        columns = [json.loads(line)["columns"] for line in output.read_text().splitlines()]
        assert columns == [
            {"zip": "007", "n": 1, "price": 1.5, "note": "=1+1", "gone": None},
            {"zip": "010", "n": 2, "price": None, "note": "NA", "gone": None},
        ]
        return
    table = pd.read_parquet(output)
    assert table["zip"].tolist() == ["007", "010"]
    assert table["n"].dtype == np.int64
    assert table["price"].dtype == np.float64
    assert table["note"].tolist() == ["=1+1", "NA"]


def test_a_file_has_more_rows_than_are_written_at_once(simple, tmp_path, monkeypatch):
    monkeypatch.setattr("daace.explain.files.stream.FINAL", 2)
    rows = pd.DataFrame({"who": [None, None, None, "d", "e"], "x1": 0.0, "x2": 0.0})
    rows.to_csv(tmp_path / "d.csv", index=False)
    for suffix in (".csv", ".parquet", ".jsonl"):
        simple.explain_file(tmp_path / "d.csv", tmp_path / f"a{suffix}", target="well")
    wide = pd.read_csv(tmp_path / "a.csv")
    assert wide["row"].tolist() == list(range(5))
    assert pd.read_parquet(tmp_path / "a.parquet")["who"].tolist()[3:] == ["d", "e"]
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert [json.loads(line)["columns"]["who"] for line in lines] == [None, None, None, "d", "e"]


def test_ends_are_written_exactly_and_what_describes_them_readably(simple, tmp_path):
    (tmp_path / "d.csv").write_text("x1,x2\n0.1,0.3\n")
    simple.explain_file(tmp_path / "d.csv", tmp_path / "a.csv", target="well")
    many = simple.explain_batch([[0.1, 0.3]], target="well")
    table = pd.read_csv(tmp_path / "a.csv", dtype=str)
    assert float(table["x1"].iloc[0]) == many[0].counterfactual["x1"]
    exact = many.to_frame(detail=True)
    for name in ("cost", "log_prob", "posterior", "x1_change"):
        assert table[name].iloc[0] == f"{exact[name].iloc[0]:.6g}"
    simple.explain_file(tmp_path / "d.csv", tmp_path / "long.csv", target="well", long=True)
    table = pd.read_csv(tmp_path / "long.csv", dtype=str)
    for name in ("cost", "posterior", "change", "change_sd"):
        assert table[name].iloc[0] == f"{many.changes()[name].iloc[0]:.6g}"
    assert float(table["to"].iloc[0]) == many.changes()["to"].iloc[0]
    simple.explain_file(tmp_path / "d.csv", tmp_path / "a.parquet", target="well")
    table = pd.read_parquet(tmp_path / "a.parquet")
    for name in ("cost", "log_prob", "posterior", "x1", "x1_change"):
        assert table[name].iloc[0] == exact[name].iloc[0]


def test_many_changes_are_counted(simple):
    (e,) = simple.explain_batch([[0.0, 0.0]], target="well")
    names = [f"f{j}" for j in range(8)]
    path = pd.DataFrame([[0.0] * 8, [float(j + 1) for j in range(8)]], columns=names)
    wide = replace(e, path=path, sd=np.ones(8))
    assert describe_changes(wide, wide.changes()).startswith("f7 0 -> 8; f6 0 -> 7; ")
    assert describe_changes(wide, wide.changes()).endswith("; and 3 smaller changes")
