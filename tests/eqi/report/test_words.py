from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from daace.eqi.data.counties import Counties
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.recourse import CountyPath
from daace.eqi.policy.request import Ask
from daace.eqi.report.words import describe, sentence, to_json, variable_changes

LA = 6037


def test_a_plan_in_words(advisor: Advisor) -> None:
    recourse = advisor.advise([LA], Ask(consistent=True))[0]
    text = describe(advisor, recourse, most=4)
    assert text.startswith("Los Angeles County, CA (")
    assert "from 'middling' (category 3) to 'very good' (category 1), by BayesACE" in text
    assert "Indices follow from the variables by EPA's formulas." in text
    assert text.splitlines()[3].startswith(("  cut ", "  raise "))
    assert "This is not a causal claim." in text
    assert "but its variables give" not in text
    assert "By EPA's own formulas the end is in category" in text


def test_a_free_plan_says_where_its_indices_are_not_real(advisor: Advisor) -> None:
    text = describe(advisor, advisor.advise([LA], Ask())[0])
    assert "but its variables give" in text


def test_changes_undo_the_logarithm(advisor: Advisor, counties: Counties) -> None:
    recourse = advisor.advise([LA], Ask(consistent=True))[0]
    path = CountyPath.of(counties, recourse)
    changes = variable_changes(counties, path)
    assert changes["sd"].abs().is_monotonic_decreasing
    row = changes.loc["a1"]
    assert row["before"] == pytest.approx(counties.values.loc[LA, "a1"])
    end = advisor.network.to_user(recourse.waypoints[-1:])
    raw = counties.restore(end[counties.kept])
    for name in ("a1", "a2", "b1"):
        assert changes.loc[name, "after"] == pytest.approx(raw[name].iloc[0])
    steps = len(recourse.waypoints) - 1
    first = variable_changes(counties, path, step=1)
    last = variable_changes(counties, path, step=steps)
    assert first.loc["a1", "before"] == row["before"]
    assert last.loc["a1", "after"] == row["after"]


def test_nothing_found_says_what_to_relax(advisor: Advisor) -> None:
    strict = replace(advisor, min_posterior=1 - 1e-12)
    text = describe(strict, strict.advise([LA], Ask(equity=True))[0])
    assert "No path was found (goal_unreachable)." in text
    assert "improve by fewer categories (--improve)" in text
    assert "or loosen the rules" in text


@pytest.mark.parametrize(
    ("unit", "ending"),
    [
        ("tons per year", "from 2.00 to 1.00 tons per year"),
        ("percentage", "from 2.00 to 1.00 percent"),
        ("proportion", "from 2.00 to 1.00 (proportion)"),
        ("number", "from 2.00 to 1.00"),
    ],
)
def test_units(unit: str, ending: str) -> None:
    row = pd.Series({"label": "Ozone", "unit": unit, "before": 2.0, "after": 1.0, "sd": -1.0})
    assert sentence(row, sd=False) == f"cut ozone {ending}"
    assert sentence(row) == f"cut ozone {ending} (-1.0 sd)"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (12.3456, 12.3478, "from 12.34560 to 12.34780"),
        (508_800.0, 447_541.0, "from 508,800 to 447,541"),
        (0.00108, 0.00157, "from 0.00108 to 0.00157"),
    ],
)
def test_numbers_can_be_told_apart(before: float, after: float, told: str) -> None:
    row = pd.Series({"label": "Ozone", "unit": "", "before": before, "after": after, "sd": 1.0})
    assert told in sentence(row)


def test_json_has_the_path_in_epas_units(advisor: Advisor, counties: Counties) -> None:
    recourse = advisor.advise([LA], Ask(consistent=True))[0]
    content = json.loads(to_json(advisor, recourse))
    assert content["county"] == "Los Angeles County, CA"
    assert (content["category"], content["target"], content["status"]) == (3, 1, "found")
    assert content["variables"]["a1"][0] == pytest.approx(counties.values.loc[LA, "a1"])
    assert len(content["variables"]["w6"]) == len(recourse.waypoints)
    assert content["indices"]["Air"][0] == pytest.approx(-counties.indices.loc[LA, "Air"])
    assert content["indices"]["Air"] == pytest.approx(content["indices_by_formula"]["Air"])
    assert content["ask"]["consistent"] is True
