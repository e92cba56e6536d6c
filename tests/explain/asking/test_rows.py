"""Rows that cannot be explained have a status and a reason; the others are answered."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Explanation, LinearGaussianNetwork, Table
from daace.exceptions import InvalidInput
from daace.explain.asking.rows import read_column, read_rows
from daace.explain.explainer import Explainer
from daace.explain.several import many_rows

BAD = {
    1: "Every feature must be a finite number, but 'x1' is missing.",
    3: "Every feature must be a finite number, but 'x1' is 'abc', 'x2' is missing.",
    4: "Every feature must be a finite number, but 'x2' is inf.",
    6: "'upper' must allow the start. Got upper=6 for 'x1', which is 7 now",
}


@pytest.fixture
def frame() -> pd.DataFrame:
    x1 = [0.0, None, "0.5", "abc", 1.0, -1.0, 7.0, 4.0]
    x2 = [0.0, 1.0, 0.0, np.nan, np.inf, 0.5, 0.0, 1.0]
    frame = pd.DataFrame({"x1": pd.Series(x1, dtype=object), "x2": x2})
    return frame.set_axis(list("abcdefgh"))


@pytest.fixture
def bound(simple) -> Explainer:
    return replace(simple, constraints=Constraints(upper={"x1": 6.0}))


def test_one_bad_row_does_not_cost_the_others_their_answers(bound, frame):
    many = bound.explain_batch(frame, target="well")
    assert [str(e.status) for e in many] == [
        "found", "invalid_row", "found", "invalid_row", "invalid_row", "found", "invalid_row",
        "already_there",
    ]  # fmt: skip
    for row, reason in BAD.items():
        assert many[row].notes[0].startswith(reason)
    good = frame.drop(index=list("bdeg")).astype(float)
    alone = bound.explain_batch(good, target="well", strict=True)
    for name, e in zip(good.index, alone, strict=True):
        answer = many[list(frame.index).index(name)]
        assert answer.path.equals(e.path)
        assert answer.cost == e.cost
    assert str(many.summary()).startswith(
        "4 of 8 rows have a path (invalid_row 4, found 3, already_there 1); mean cost"
    )
    table = many.to_frame()
    assert table.index.tolist() == list("abcdefgh")
    assert table.loc["d", "notes"] == BAD[3]
    assert table.loc[list("bdeg"), ["x1", "x2", "posterior", "log_prob"]].isna().all(axis=None)
    assert np.isinf(table.loc[list("bdeg"), "cost"]).all()
    assert table["current"].isna().tolist() == [row in BAD for row in range(8)]


def test_every_view_of_an_invalid_row_holds(bound, frame, tmp_path):
    e = bound.explain_batch(frame, target="well")[3]
    assert (e.found, e.counterfactual, e.current, e.target) == (False, None, None, "well")
    assert (e.cost, e.step_count, len(e.changes()), e.steps()) == (np.inf, 0, 0, [])
    assert e.path.shape == (1, 2)
    assert e.path.isna().all(axis=None)
    assert str(e) == f"This row cannot be explained (invalid_row).\n\n{BAD[3]}"
    assert "&#x27;abc&#x27;" in e.to_html(tmp_path / "e.html")
    assert "invalid_row" in e._repr_html_()
    assert "nan" not in e.to_html().lower()
    again = Explanation.from_json(e.to_json())
    assert again.to_json() == e.to_json()
    assert (str(again), again.to_html()) == (str(e), e.to_html())
    for kind in ("overview", "steps", "landscape", "waterfall", "along"):
        assert e.plot(kind).to_svg().startswith(b"<?xml")
    for kind in ("steps", "waterfall", "along"):
        e.plot_data(kind)
    with pytest.raises(InvalidInput, match="valid row"):
        e.nearest_rows(pd.DataFrame({"x1": [0.0, 1.0], "x2": [0.0, 1.0]}))
    with pytest.raises(InvalidInput):
        e.stability()


def test_only_an_invalid_row_may_lack_a_class_in_json(bound, frame):
    many = bound.explain_batch(frame)
    assert (many[1].current, many[1].target) == (None, None)
    assert Explanation.from_json(many[1].to_json()).target is None
    record = json.loads(many[0].to_json())
    with pytest.raises(InvalidInput, match="'current' is not a class"):
        Explanation.from_json(json.dumps({**record, "current": None}))


def test_strict_raises_before_the_work_begins(bound, frame, monkeypatch):
    monkeypatch.setattr(many_rows, "answer_all", lambda *_, **__: pytest.fail("it searched"))
    with pytest.raises(InvalidInput, match=r"^Row 1: Every feature must be a finite number, but"):
        bound.explain_batch(frame, target="well", strict=True)
    readable = frame.drop(index=list("bde")).astype(float)
    with pytest.raises(InvalidInput, match=r"^Row 3: 'upper' must allow the start"):
        bound.explain_batch(readable, target="well", strict=True)
    with pytest.raises(InvalidInput, match="Row 3: 'upper'"):
        bound.audit(readable.assign(g="a"), by="g", target="well", strict=True)


def test_invalid_rows_do_not_change_who_is_solved_together(simple):
    """The answers of a batch and of a file are the same, wherever invalid rows are."""
    rows = np.random.default_rng(3).normal(size=(70, 2))
    whole = simple.explain_batch(rows, target="well", seed=4)
    rows[[3, 40, 69]] = np.nan
    some = simple.explain_batch(rows, target="well", seed=4, n_jobs=1)
    for row, (a, b) in enumerate(zip(whole, some, strict=True)):
        assert (str(b.status) == "invalid_row") == (row in (3, 40, 69))
        assert not b.found or a.path.equals(b.path)


def test_all_rows_may_be_invalid(bound):
    many = bound.explain_batch([[np.nan, 0.0], [9.0, 0.0]], target=["well", "ill"])
    assert [(str(e.status), e.target) for e in many] == [
        ("invalid_row", "well"),
        ("invalid_row", "ill"),
    ]
    assert str(many.summary()) == "0 of 2 rows have a path (invalid_row 2)."


def below_ten(rows):
    if (rows["x1"] > 10).any():
        raise RuntimeError("out of range")
    return 1 / (1 + np.exp(2 - rows["x1"]))


def test_a_row_that_the_classifier_cannot_judge_is_invalid(mixture, straight):
    explainer = Explainer(mixture, planner=straight, classifier=below_ten)
    rows = [[0.0, 0.0], [11.0, 0.0], [np.nan, 0.0], [1.0, 0.0]]
    many = explainer.explain_batch(rows, target="well")
    assert [str(e.status) for e in many] == ["found", "invalid_row", "invalid_row", "found"]
    assert "out of range" in many[1].notes[0]
    with pytest.raises(InvalidInput, match=r"Row 1: .* RuntimeError \(out of range\)"):
        explainer.explain_batch(rows[:2], target="well", strict=True)
    none = explainer.explain_batch([[11.0, 0.0], [12.0, 0.0]], target="well")
    assert [str(e.status) for e in none] == ["invalid_row", "invalid_row"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_of_rows_that_cannot_be_judged_stops_no_file(mixture, straight, tmp_path, n_jobs):
    rows = pd.DataFrame({"x1": [11.0] * 60 + [0.0] * 60, "x2": 0.0})
    rows.to_csv(tmp_path / "d.csv", index=False)
    explainer = Explainer(mixture, planner=straight, classifier=below_ten)
    explainer.explain_file(tmp_path / "d.csv", tmp_path / "a.csv", target="well", n_jobs=n_jobs)
    status = pd.read_csv(tmp_path / "a.csv")["status"]
    assert status.tolist() == ["invalid_row"] * 60 + ["found"] * 60


def test_an_audit_counts_invalid_rows_apart(bound, frame):
    audit = bound.audit(frame.assign(g=list("uuuuvvvv")), by="g", target="well")
    table = audit.to_frame()
    assert table["rows"].tolist() == [4, 4]
    assert table["invalid"].tolist() == [2, 2]
    assert table["found"].tolist() == [1.0, 1.0]
    assert str(audit).splitlines()[1].startswith("u: 4 rows, 0 already there, 2 invalid; a path")
    assert audit.target_name == "well"
    audit.plot()
    assert len(audit.changes()) == 2


@pytest.mark.parametrize(
    ("cells", "numbers", "instead"),
    [
        ([1, 2.5, True], [1, 2.5, 1], {}),
        (["1", " -2.5e3 ", ".5"], [1, -2500, 0.5], {}),
        ([Decimal("1.5"), np.float32(2), np.int64(3)], [1.5, 2, 3], {}),
        (["1,200", "0x1F", "1_000", "inf", "nan"], [np.nan] * 5, {0: "is '1,200'", 4: "is 'nan'"}),
        ([1e101, -np.inf, pd.NA], [np.nan] * 3, {0: "is 1e+101", 1: "is -inf", 2: "is missing"}),
        ([pd.Timestamp("2020-01-01"), 1 + 2j, [1]], [np.nan] * 3, {1: "is '(1+2j)'"}),
    ],
)
def test_what_is_a_number(cells, numbers, instead):
    values, said = read_column(pd.Series(cells, dtype=object))
    np.testing.assert_array_equal(values, numbers)
    assert instead.items() <= said.items()
    assert set(said) == set(np.flatnonzero(np.isnan(values)))


def test_dates_and_masked_columns(mixture):
    frame = pd.DataFrame(
        {"x1": pd.date_range("2020-01-01", periods=2), "x2": pd.array([1, None], dtype="Int64")}
    )
    rows = read_rows(mixture, frame)
    assert np.isnan(rows.values[:, 0]).all()
    assert rows.invalid[1].endswith("but 'x1' is '2020-01-02 00:00:00', 'x2' is missing.")


# Files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_files_have_a_status_for_every_row(bound, tmp_path, suffix):
    source, output = tmp_path / "d.csv", tmp_path / f"a{suffix}"
    source.write_text("x1,x2\n0,0\n,1\n0.5,0\nabc,\n1,inf\n-1,0.5\n7,0\n4,1\n")
    summary = bound.explain_file(source, output, target="well")
    assert summary.statuses == {"invalid_row": 4, "found": 3, "already_there": 1}
    if suffix == ".jsonl":
        records = [json.loads(line) for line in output.read_text().splitlines()]
        found = [(r["status"], " ".join(note["text"] for note in r["notes"])) for r in records]
    else:
        table = pd.read_csv(output) if suffix == ".csv" else pd.read_parquet(output)
        found = list(zip(table["status"], table["notes"].fillna(""), strict=True))
    assert [row for row, (status, _) in enumerate(found) if status == "invalid_row"] == list(BAD)
    for row, reason in BAD.items():
        assert found[row][1].startswith(reason)
    with pytest.raises(InvalidInput, match=r"d.csv', rows counted from 0: Row 1: "):
        bound.explain_file(source, tmp_path / "b.csv", target="well", strict=True)
    assert not Path(tmp_path / "b.csv.part").exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("long", [False, True])
def test_a_table_without_rows_has_a_header(simple, tmp_path, suffix, long):
    (tmp_path / "d.csv").write_text("who,x1,x2\n")
    output = tmp_path / f"a{suffix}"
    if long and suffix == ".jsonl":
        with pytest.raises(InvalidInput, match=r"'long' must go with .csv or"):
            simple.explain_file(tmp_path / "d.csv", output, target="well", long=True)
        return
    summary = simple.explain_file(tmp_path / "d.csv", output, target="well", long=long)
    assert (summary.rows, str(summary)) == (0, "0 of 0 rows have a path.")
    if suffix == ".jsonl":
        assert output.read_text() == ""
        return
    table = pd.read_csv(output) if suffix == ".csv" else pd.read_parquet(output)
    assert len(table) == 0
    assert table.columns.tolist()[:3] == ["who", "row", "status"]
    assert ("feature" in table.columns) == long


def test_a_word_in_a_row_of_a_mixed_table_does_not_spoil_the_others():
    """It turns the whole column into text, in the file as in a frame."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, 200),
            "kids": rng.integers(0, 4, 200),
            "job": rng.choice(["cook", "smith"], 200),
            "class": rng.choice(["yes", "no"], 200),
        }
    )
    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="class"))
    good = frame.head(6).drop(columns="class")
    bad = good.astype(str)
    bad.loc[1, "age"], bad.loc[2, "kids"] = "many", "some"
    found, expected = read_rows(density, bad), read_rows(density, good)
    assert found.invalid.keys() == {1, 2}
    assert "'age' must be a number. Got 'many'" in found.invalid[1]
    others = [0, 3, 4, 5]
    np.testing.assert_array_equal(found.values[others], expected.values[others])
