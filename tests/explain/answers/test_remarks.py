from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import daace
from daace import Constraints, Explainer, GaussianMixture, Table


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    """Loans: late payments and children are counts, income and balance are not."""
    rng = np.random.default_rng(0)
    good = rng.random(600) < 0.5
    frame = pd.DataFrame(
        {
            "late": rng.poisson(np.where(good, 0.3, 2.5)),
            "children": rng.poisson(1.5, 600),
            "income": (rng.normal(np.where(good, 50_000, 40_000), 8_000)).round(),
            "balance": rng.normal(np.where(good, 500.0, -500.0), 700.0),
            "class": np.where(good, "paid", "failed"),
        }
    )
    table = Table.from_frame(frame, target="class", kinds="number")
    return daace.fit(table, density="linear-gaussian", judge="density")


ROW = {"late": 1, "children": 2, "income": 33_000, "balance": -600.0}


def test_what_no_row_had_is_said_and_how_to_forbid_it(explainer: Explainer) -> None:
    density = explainer.density
    assert density.whole_ == ("late", "children")  # incomes are whole, but not counts
    assert density.nonnegative_ == ("late", "children", "income")
    e = explainer.explain(ROW, target="paid", plausibility=1.0)
    assert e.counterfactual["late"] != round(e.counterfactual["late"])
    (said,) = (note for note in e.notes if note.startswith("Between whole numbers"))
    assert "'late'" in said
    assert "'integer'" in said
    rules = Constraints(integer=["late", "children"], lower={"late": 0, "children": 0})
    ruled = explainer.explain(ROW, target="paid", plausibility=1.0, constraints=rules)
    assert ruled.found
    assert ruled.notes == ()
    assert (ruled.path[["late", "children"]] % 1 == 0).all(axis=None)


def test_below_zero(explainer: Explainer) -> None:
    row = {"late": 0, "children": 1, "income": 42_000, "balance": -600.0}
    rules = Constraints(fixed=["children", "income"], upper={"balance": -550.0})
    exact = replace(explainer, round=False, changes="all")  # round, it would be 0
    end = exact.explain(row, target="paid", plausibility=-4, constraints=rules)
    assert end.path["late"].min() < 0
    assert any(
        note.startswith("Below 0, where no row of the table was: 'late'.") for note in end.notes
    )
    assert "'balance'" not in " ".join(end.notes)  # some were below 0


def test_what_perhaps_nobody_can_change() -> None:
    rng = np.random.default_rng(0)
    rich = np.repeat([False, True], 100)
    frame = pd.DataFrame({"age": rng.normal(30 + 30 * rich, 5), "wage": rng.normal(size=200)})
    table = daace.Table.from_frame(frame.assign(rich=np.where(rich, "yes", "no")), target="rich")
    explainer = daace.fit(table, judge="density")
    e = explainer.explain({"age": 30.0, "wage": 0.0}, target="yes")
    (note,) = (note for note in e.notes if note.code == "nobody_can_change")
    assert note.fields["features"] == ["age"]
    assert note == "Perhaps nobody can change 'age': name what cannot change as 'fixed'."
    same = explainer.explain({"age": 60.0, "wage": 0.0}, target="yes")
    assert "nobody_can_change" not in [note.code for note in same.notes]


def test_a_start_that_is_odd_itself_is_not_blamed_on_the_way(explainer: Explainer) -> None:
    e = explainer.explain(
        {**ROW, "late": -0.5, "children": 0.5},
        target="paid",
        constraints=Constraints(fixed=["late", "children"]),
    )
    assert e.notes == ()


def test_a_model_file_keeps_it(explainer: Explainer, tmp_path) -> None:  # type: ignore[no-untyped-def]
    explainer.save(tmp_path / "m.daace")
    again = daace.load(tmp_path / "m.daace")
    assert again.density.whole_ == ("late", "children")
    assert again.explain(ROW, target="paid").notes == explainer.explain(ROW, target="paid").notes


@pytest.mark.parametrize("as_given", [dict, pd.Series, lambda row: pd.DataFrame([row])])
def test_a_row_that_gives_another_class_than_the_model(explainer: Explainer, as_given) -> None:  # type: ignore[no-untyped-def]
    row = {"late": 0, "children": 1, "income": 52_000, "balance": 700.0}
    assert explainer.explain(as_given(row), target="paid").notes == ()
    agreed = explainer.explain(as_given({**row, "class": "paid"}), target="paid")
    assert agreed.notes == ()
    for unknown in (None, "other"):
        assert explainer.explain(as_given({**row, "class": unknown}), target="paid").notes == ()
    denied = explainer.explain(as_given({**row, "class": "failed"}), target="paid")
    assert denied.status == "already_there"
    assert denied.notes == ("The row's recorded class is 'failed'; the model predicts 'paid'.",)
    assert denied.notes[0] in denied.describe()


def test_many_rows_that_give_another_class_than_the_model(
    explainer: Explainer, tmp_path: Path
) -> None:
    rows = pd.DataFrame([{"late": 0, "children": 1, "income": 52_000, "balance": 700.0}] * 3)
    said = ["", "The row's recorded class is 'failed'; the model predicts 'paid'.", ""]
    rows["class"] = ["paid", "failed", "other"]
    batch = explainer.explain_batch(rows, target="paid")
    assert batch.to_frame()["notes"].tolist() == said
    assert batch.summary().denied == 1
    assert "for 1 of them the recorded class differs from the prediction" in str(batch.summary())
    assert explainer.explain_batch(rows.drop(columns="class")).summary().denied == 0

    for suffix in (".csv", ".parquet"):
        source, output = tmp_path / f"rows{suffix}", tmp_path / f"answers{suffix}"
        rows.to_csv(source) if suffix == ".csv" else rows.to_parquet(source)
        assert explainer.explain_file(source, output, target="paid").denied == 1
        answers = pd.read_csv(output) if suffix == ".csv" else pd.read_parquet(output)
        assert answers["notes"].fillna("").tolist() == said


def test_a_row_without_a_way_is_told_what_to_relax_whatever_its_class() -> None:
    """With so many classes alike, none can be certain."""
    names = [f"c{k}" for k in range(12)]
    density = GaussianMixture([1] * 12, [[0.0, 0.0]] * 12, [np.eye(2)] * 12, names)
    row = {"x1": 0.1, "x2": 0.2, "class": "c3"}
    text = Explainer(density).explain(row, target="c9").describe()
    assert "To find a path, lower " in text


@pytest.mark.parametrize("rules", [{}, {"max_changed": 2}, {"max_changed": 2, "integer": ["x1"]}])
def test_what_to_relax_says_which_rules_it_does_not_heed(rules: dict[str, object]) -> None:
    means = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    density = GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["ill", "well"])
    rules = {"upper": {"x1": 2.5}, **rules}
    e = Explainer(density, constraints=Constraints(**rules)).explain(  # type: ignore[arg-type]
        [0.0, 0.0, 0.0], target="well", min_posterior=0.99
    )
    assert e.relax
    lines = e.describe().splitlines()
    assert any(line.startswith("To find a path, lower ") for line in lines)
    named = [line for line in lines if line.startswith("These values hold for a path without")]
    if "integer" in rules:
        assert named == ["These values hold for a path without 'max_changed', 'integer'."]
    else:
        assert len(named) == ("max_changed" in rules)


def test_that_there_is_no_other_way_is_said() -> None:
    means = [[0.0, 0.0], [4.0, 0.0]]
    density = GaussianMixture([1, 1], means, [np.eye(2), np.eye(2)], ["ill", "well"])
    e = Explainer(density).explain([1.8, 0.0], target="well", alternatives=2)
    assert (e.found, e.alternatives) == (True, ())
    assert e.notes == ("No other path was found for at most 1.5 times the cost.",)


def test_a_level_that_is_not_named_is_pointed_out() -> None:
    levels = ["North", "South"] * 20 + ["Islands"] * 3
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": levels, "x": rng.normal(size=43)})
    frame["class"] = np.where(frame["x"] + rng.normal(size=43) > 0, "yes", "no")
    explainer = daace.fit(frame, target="class", judge="density")
    for level, hint in (("north", " Did you mean 'North'?"), ("Islands", "")):
        e = explainer.explain({"region": level, "x": -2.0}, target="yes")
        (note,) = [note for note in e.notes if note.code == "rare_level"]
        assert note.startswith(f"'{level}' of 'region' is rare or unknown")
        assert note.fields["hint"] == hint
    e = explainer.explain({"region": "North", "x": -2.0}, target="yes")
    assert "rare_level" not in [note.code for note in e.notes]
