from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from daace import Table
from daace.exceptions import InvalidInput


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = np.random.default_rng(0).normal(size=(30, 2))
    rows[15:, 0] += 1.2  # nearer to 'well'
    rows[0] = [4.0, 1.0]  # already there
    return pd.DataFrame(rows, columns=["x1", "x2"]).assign(group=["far"] * 15 + ["near"] * 15)


def test_groups_are_compared(simple, frame):
    audit = simple.audit(frame, by="group", target="well")
    table = audit.to_frame()
    assert table.index.tolist() == ["far", "near"]
    assert table.index.name == "group"
    assert table["rows"].tolist() == [15, 15]
    assert table.loc["far", "already_there"] == pytest.approx(1 / 15)
    assert (table["found"] == 1.0).all()
    assert table.loc["far", "cost"] > table.loc["near", "cost"]
    assert table.loc["far", "length"] > table.loc["near", "length"]
    each = audit.each()
    some = each[(each["group"] == "far") & ~each["already_there"]]
    assert table.loc["far", "cost"] == some["cost"].median()
    assert audit.changes().loc["far", "x1"] > audit.changes().loc["near", "x1"] > 0
    assert audit.target_name == "well"


def test_none_found_is_a_rate_of_zero(simple, frame):
    table = replace(simple, plausibility=50.0).audit(frame, by="group", target="well").to_frame()
    assert table["found"].tolist() == [0.0, 0.0]
    assert table["cost"].isna().all()


def test_groups_may_be_a_feature_or_apart(simple, frame):
    rows = frame[["x1", "x2"]]
    apart = simple.audit(rows, by=frame["group"].tolist(), target="well")
    assert apart.to_frame().equals(simple.audit(frame, by="group", target="well").to_frame())
    whole = rows.assign(x2=np.repeat([0.0, 1.0], 15))
    assert len(simple.audit(whole, by="x2", target="well").to_frame()) == 2
    series = pd.Series(["a"] * 30, name="town")
    assert simple.audit(rows, by=series).to_frame().index.name == "town"


def test_a_table_is_a_frame_too(simple, frame):
    rows = frame[["x1", "x2"]]
    table = Table.from_frame(rows.assign(kind=frame["group"]), target="kind")
    by_class = simple.audit(table, by="kind", target="well").to_frame()
    expected = simple.audit(frame, by="group", target="well").to_frame()
    pd.testing.assert_frame_equal(by_class, expected.rename_axis("kind"))
    apart = simple.audit(table, by=frame["group"].tolist(), target="well")
    pd.testing.assert_frame_equal(apart.to_frame(), expected)
    assert len(simple.audit(table.take([0, 1]), by="x2", target="well").to_frame()) == 2


def test_the_text_has_a_line_for_each_group(simple, frame):
    frame.loc[len(frame)] = [4.0, 1.0, "there"]
    audit = simple.audit(frame, by="group", target="well")
    head, far, near, there = str(audit).split("\n")
    assert head == "Paths to 'well' by group:"
    cost, length, changes, steps = audit.to_frame().loc[
        "far", ["cost", "length", "changes", "steps"]
    ]
    assert far == (
        f"far: 15 rows, 1 already there; a path was found for 14 of 14, median cost {cost:.3g}, "
        f"median length {length:.3g} sd, {changes:.1f} features change in {steps:.1f} steps on "
        "average."
    )
    assert near.startswith("near: 15 rows, 3 already there; a path was found for 12 of 12, ")
    assert there == "there: 1 row, 1 already there."
    assert repr(audit) == "Audit(by='group', rows=31, groups=3)"
    none = replace(simple, plausibility=50.0).audit(frame, by="group", target="well")
    assert str(none).split("\n")[1] == (
        "far: 15 rows, 0 already there; a path was found for 0 of 15."
    )


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("town", "'by' must be a column of the frame. Got 'town'"),
        (["a"], "'by' must have 30 groups, one per row. Got 1"),
        ([None] * 30, "'by' must name a group for every row. 30 have none"),
        (range(30), None),
        ([*range(29), "x"], None),
        (3, "'by' must be a column, or a group per row. Got 3"),
    ],
)
def test_wrong_groups_are_refused(simple, frame, by, message):
    rows = frame[["x1", "x2"]]
    if message is None:
        assert len(simple.audit(rows, by=by, target="well").to_frame()) == 30
        return
    with pytest.raises(InvalidInput, match=message):
        simple.audit(rows, by=by, target="well")


def test_measurements_are_no_groups(simple, frame):
    longer = pd.concat([frame, frame + frame], ignore_index=True)
    with pytest.raises(InvalidInput, match=r"at most 30 groups. Got .*: cut it into categories"):
        simple.audit(longer.drop(columns="group"), by="x1", target="well")
    with pytest.raises(
        InvalidInput, match=r"'frame' must be a daace.Table or a frame. Got ndarray"
    ):
        simple.audit(np.zeros((2, 2)), by="x1")


def test_an_audit_counts_changes_as_the_answers_do(simple, frame):
    audit = simple.audit(frame, by="group", target="well")
    listed = [len(e.changes()) for e in audit.answers]
    assert audit.each()["changes"].tolist() == listed
    assert {1, 2} & set(listed)
