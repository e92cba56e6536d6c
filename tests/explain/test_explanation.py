from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from daace._formats import percent
from daace.exceptions import InvalidInput
from daace.explain.explanation import Explanation
from daace.notes import Note


def same(a: Explanation, b: Explanation) -> bool:
    return a.to_json() == b.to_json()


# What was found -----------------------------------------------------------------------------------


def test_the_path_begins_with_the_row_verbatim(explanation, malignant):
    row = malignant.loc[499].drop("class")
    assert explanation.path.iloc[0].tolist() == row.tolist()
    assert list(explanation.path.columns) == list(row.index)
    assert explanation.path.index.tolist() == list(range(explanation.step_count + 1))
    pd.testing.assert_series_equal(
        explanation.counterfactual, explanation.path.iloc[-1], check_names=False
    )


def test_numbers_of_the_counterfactual(explanation, explainer):
    density = explainer.density
    assert explanation.target == "benign"
    assert explanation.current == "malignant"
    assert explanation.along["posterior"].iloc[0] < 0.001
    joint = density.log_joint(density.to_model(explanation.path))
    assert explanation.along["log_prob"].to_numpy() == pytest.approx(
        np.logaddexp.reduce(joint, axis=1), abs=1e-6
    )
    draws = density.draws_
    plausibility = (explanation.log_prob - draws.mean) / draws.sd
    assert explanation.along["plausibility"].iloc[-1] == plausibility
    assert explanation.along["percentile"].iloc[-1] == draws.percentile(explanation.log_prob)


def test_changes_are_ordered_by_size(explanation):
    changes = explanation.changes()
    assert list(changes.columns) == ["feature", "from", "to", "change", "change_sd"]
    assert (np.diff(changes["change_sd"].abs()) <= 0).all()
    first, last = explanation.path.iloc[0], explanation.path.iloc[-1]
    for name, before, after, change, _ in changes.itertuples(index=False):
        assert (before, after) == (first[name], last[name])
        assert change == after - before
    steps = range(1, explanation.step_count + 1)
    by_step = pd.concat([explanation.changes(step) for step in steps]).groupby("feature")["change"]
    whole = changes.set_index("feature")["change"]
    assert by_step.sum().reindex(whole.index).to_numpy() == pytest.approx(whole.to_numpy())


def test_changes_of_a_step_that_is_not_there(explanation):
    with pytest.raises(InvalidInput, match=r"'step' must be one of the \d steps. Got 99"):
        explanation.changes(99)
    for step in (0, 1.5, "1", True):
        with pytest.raises(InvalidInput, match=r"'step' must be an integer of at least 1. Got"):
            explanation.changes(step)


@pytest.mark.parametrize("features", [0, -1, 2.5, "all"])
def test_some_changes_must_be_described(explanation, features):
    with pytest.raises(InvalidInput, match=r"'features' must be an integer of at least 1. Got"):
        explanation.describe(features=features)


def test_repr_is_one_line(simple):
    text = repr(simple.explain([0.0, 0.0]))
    assert text.startswith("Explanation(status='found', current='ill', target='well', steps=2, ")


def test_none_found_is_a_status_not_an_exception(simple):
    e = simple.explain([0.0, 0.0], target="well", plausibility=50)
    assert (e.found, e.status, e.counterfactual, e.step_count) == (
        False,
        "goal_unreachable",
        None,
        0,
    )
    assert e.cost == math.inf
    assert e.posterior == e.along["posterior"].iloc[0] < 0.01
    assert e.path.iloc[0].to_dict() == {"x1": 0.0, "x2": 0.0}


# JSON ---------------------------------------------------------------------------------------------


def test_json_round_trip_is_exact(explanation):
    back = Explanation.from_json(explanation.to_json())
    pd.testing.assert_frame_equal(back.path, explanation.path, check_exact=True)
    pd.testing.assert_frame_equal(back.along, explanation.along, check_exact=True)
    assert back.provenance.seconds == explanation.provenance.seconds
    assert back.status is explanation.status
    assert back.density is None
    assert same(back, explanation)
    assert back.describe() == explanation.describe()
    pd.testing.assert_frame_equal(back.changes(), explanation.changes(), check_exact=True)


def test_json_says_where_it_comes_from(explanation):
    record = json.loads(explanation.to_json())
    assert (record["schema"], record["schema_version"]) == ("daace.explanation", 2)
    source = record["provenance"]
    assert source["density"] == "linear-gaussian"
    assert source["version"].count(".") >= 1
    assert {"seed", "penalty", "scale", "min_posterior", "min_log_prob"} <= set(source)
    assert {"seconds", "evaluations", "planner", "constraints", "classifier"} <= set(source)


def test_json_has_no_bare_infinity(simple):
    e = simple.explain([0.0, 0.0], target="well", plausibility=50)
    text = e.to_json()

    def refuse(constant):
        raise AssertionError(constant)

    assert json.loads(text, parse_constant=refuse)["cost"] == "inf"
    assert Explanation.from_json(text).cost == math.inf
    assert same(Explanation.from_json(text), e)


def test_json_of_strange_names(straight):
    from daace import LinearGaussianNetwork, Table
    from daace.explain.explainer import Explainer

    rng = np.random.default_rng(0)
    y = np.repeat(["jà", "<b>&"], 50)
    name = 'größe "$x$"\n<script>'
    frame = pd.DataFrame({name: rng.normal(size=100) + 4 * (y == "jà"), "class": y})
    density = LinearGaussianNetwork().fit(
        Table.from_frame(frame, target="class", units={name: "µm"})
    )
    e = Explainer(density, planner=straight).explain(frame.iloc[0])
    assert same(Explanation.from_json(e.to_json()), e)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"schema": "x"}', "[" * 100_000, "NaN"])
def test_what_is_not_such_json_is_refused(text):
    with pytest.raises(InvalidInput, match=r"'text' must be JSON from Explanation\.to_json"):
        Explanation.from_json(text)


def test_another_schema_version_is_refused(explanation):
    record = json.loads(explanation.to_json())
    with pytest.raises(InvalidInput, match=r"version 2\. Got 'daace\.explanation' version 3"):
        Explanation.from_json(json.dumps({**record, "schema_version": 3}))


def test_json_of_version_1_is_read(explanation):
    record = json.loads(explanation.to_json())
    old = {**record, "schema_version": 1, "profile": record.pop("along"), "notes": ["A remark."]}
    back = Explanation.from_json(json.dumps(old))
    pd.testing.assert_frame_equal(back.along, explanation.along, check_exact=True)
    assert [(note, note.code) for note in back.notes] == [("A remark.", "plain")]


def test_notes_keep_their_codes_in_json(explanation):
    note = Note.of("below_zero", features=["debt"], listed="'debt'")
    back = Explanation.from_json(replace(explanation, notes=(note,)).to_json())
    assert back.notes == (note,)
    assert (back.notes[0].code, back.notes[0].fields["features"]) == ("below_zero", ["debt"])


@pytest.mark.parametrize(
    "damage",
    [
        {"path": [[1.0, 2.0]]},
        {"path": []},
        {"sd": [1.0]},
        {"along": {}},
        {"along": 3},
        {"status": "lost"},
        {"provenance": {"seed": 1}},
        {"cost": "much"},
        {"cost": None},
        {"features": ["a"]},
        {"units": None},
        {"target": [1]},
    ],
)
def test_damaged_json_is_refused(explanation, damage):
    record = {**json.loads(explanation.to_json()), **damage}
    with pytest.raises(InvalidInput, match="must be a whole explanation"):
        Explanation.from_json(json.dumps(record))


def replaced(record, path, value):
    """Return a copy of a record with another value at a path of keys."""
    if not path:
        return value
    copied = record.copy()
    copied[path[0]] = replaced(record[path[0]], path[1:], value)
    return copied


#: What no field takes, what no number is, and the fields that take neither.
BAD = (10**400, float("inf"), float("nan"), "\ud800", [[]])
NO_NUMBER = (*BAD, "inf", "nan", "-inf", True)
FIELDS = [
    ((*NO_NUMBER, -9.5), [
        ("path", 0), ("sd", 0), ("along", "percentile", 0), ("along", "posterior", 0),
        ("notes",), ("alternatives",), ("units",), ("relax",), ("provenance", "seed"),
        ("provenance", "min_posterior"), ("provenance", "evaluations"),
        ("provenance", "constraints", "fixed"), ("provenance", "constraints", "weights"),
        ("provenance", "constraints", "max_changed"),
    ]),
    (NO_NUMBER, [
        ("path", 0, 0), ("along", "log_prob", 0), ("along", "plausibility", 0), ("cost",),
        ("provenance", "penalty"), ("provenance", "seconds"), ("provenance", "plausibility"),
    ]),
    ((*BAD, True, -9.5), [("features", 0), ("provenance", "version"), ("provenance", "scale")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "values"), [(path, values) for values, paths in FIELDS for path in paths]
)
def test_no_field_takes_what_it_must_not(explanation, path, values):
    whole = {**json.loads(explanation.to_json()), "alternatives": []}
    for value in values:
        with pytest.raises(InvalidInput, match="'text' must be"):
            Explanation.from_json(json.dumps(replaced(whole, path, value)))


def test_a_number_that_overflows_is_refused(explanation):
    text = explanation.to_json(indent=None)
    record = json.loads(text)
    record["path"][0][0] = "here"
    with pytest.raises(InvalidInput, match="it holds a number that is too large"):
        Explanation.from_json(json.dumps(record).replace('"here"', "1e999"))


def test_an_alternative_has_no_alternatives_and_the_same_features(explanation):
    record = json.loads(explanation.to_json())
    whole = {**record, "alternatives": [record]}
    assert len(Explanation.from_json(json.dumps(whole)).alternatives) == 1
    others = {**record, "features": [f"x{j}" for j in range(30)], "units": {}}
    for other in (whole, others):
        with pytest.raises(InvalidInput, match="an alternative has other features, or altern"):
            Explanation.from_json(json.dumps({**record, "alternatives": [other]}))


def test_a_cost_that_overflows_comes_back(mixture):
    from daace.explain.explainer import Explainer

    e = Explainer(mixture, penalty=100).explain([-1000.0, 0.0], target="well")
    assert (e.found, e.cost) == (True, math.inf)
    assert Explanation.from_json(e.to_json()).cost == math.inf


def test_rules_without_a_bound_come_back_as_numbers(simple):
    from daace import Constraints

    rules = Constraints(upper={"x1": math.inf}, lower={"x2": -3.0}, only_up=["x1"])
    e = simple.explain([0.0, 0.0], target="well", constraints=rules)
    back = Explanation.from_json(e.to_json())
    assert back.provenance == e.provenance
    assert "x1 inf" in back.to_html()


# Words --------------------------------------------------------------------------------------------


def test_text_names_outcome_and_steps(explanation):
    text = str(explanation)
    assert text == explanation.describe()
    assert text.startswith(f"From 'malignant' to 'benign' in {explanation.step_count} steps")
    chance = percent(explanation.posterior)
    assert f"Step {explanation.step_count}  {chance} 'benign', more plausible" in text
    assert "smaller changes" in text
    largest = explanation.changes()["feature"].iloc[0]
    assert largest in text
    assert len(explanation.describe(features=30).splitlines()) > len(text.splitlines())


def test_repr_html_is_a_fragment(explanation):
    html = explanation._repr_html_()
    assert "<html" not in html
    assert "How sure is it?" in html


def test_to_html_writes_what_it_returns(simple, tmp_path):
    page = simple.explain([0.0, 0.0]).to_html(tmp_path / "why.html")
    assert (tmp_path / "why.html").read_text(encoding="utf-8") == page
    assert [p.name for p in tmp_path.iterdir()] == ["why.html"]


def test_an_unwritable_page_leaves_the_old_one(simple, tmp_path):
    explanation = simple.explain([0.0, 0.0])
    old = tmp_path / "folder.html"
    old.mkdir()
    with pytest.raises(IsADirectoryError):
        explanation.to_html(old)
    with pytest.raises(FileNotFoundError):
        explanation.to_html(tmp_path / "no" / "where.html")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.html"]
