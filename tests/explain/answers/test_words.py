from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from daace import Constraints
from daace._formats import percent
from daace.explain.answers import words


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "<0.1%"), (0.0005, "<0.1%"), (0.004, "0.4%"), (0.5, "50%"), (0.995, "99.5%"),
     (0.9999, ">99.9%"), (1.0, ">99.9%")],
)  # fmt: skip
def test_percent(share, text):
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("before", "after", "sd", "unit", "texts"),
    [
        (1001.2, 840.4, 351.9, "", ("1,001", "840")),
        (0.1184, 0.1001, 0.014, "", ("0.1184", "0.1001")),
        (17.99, 15.2, 3.5, "mm", ("17.99 mm", "15.20 mm")),
        (15.85, 15.8501, 3.5, "", ("15.8500", "15.8501")),
        (2.2e12, -5e8, 1e12, "", ("2.200e+12", "-5.000e+08")),
        (2e-9, 3e-9, 1e-9, "", ("2.000e-09", "3.000e-09")),
        (0.001, -0.001, 5.0, "", ("0.001", "-0.001")),
        (0.0, 3.0, 1.0, "", ("0", "3")),
    ],
)
def test_values_are_told_apart_and_no_finer(before, after, sd, unit, texts):
    e = SimpleNamespace(
        sd=np.array([sd]), states=pd.DataFrame({"a": [before, after]}), units={"a": unit}
    )
    assert words.format_change(e, "a", before, after) == texts


def test_small_changes_in_sd_are_not_rounded_away():
    assert words.format_sd(-1.26) == "-1.3 sd"
    assert words.format_sd(0.004) == "+0.004 sd"


def test_long_names_keep_both_ends():
    assert words.shorten("short") == "short"
    name = words.shorten("share of households " * 5 + "2010", 30)
    assert len(name) == 30
    assert name.startswith("share of")
    assert name.endswith("2010")
    assert words.shorten("two\nlines") == "two lines"


def test_already_there_says_so(simple):
    text = simple.explain([0.0, 0.0], target="ill").describe()
    assert text.startswith("Nothing has to change: 'ill' is reached already.")


def test_the_same_class_again_is_about_certainty(simple):
    e = simple.explain([1.5, 0.0], target="ill", min_posterior=0.999)
    assert e.current == e.target == "ill"
    now = percent(float(e.along["posterior"].iloc[0]))
    assert words.headline(e) == (
        f"The probability of 'ill' is {now}; reaching the required 99.9% takes 2 steps."
    )
    e = simple.explain([-6.0, 0.0], target="ill")
    assert "; reaching a case that is typical enough takes " in words.headline(e)


def test_none_found_says_what_to_relax(simple):
    e = simple.explain([0.0, 0.0], target="well", plausibility=50)
    text = e.describe()
    assert text.startswith("No path from 'ill' to 'well' was found (goal_unreachable).")
    assert "Asked for: plausibility 50 and min_posterior 0.5." in text
    assert 0.5 < e.relax["plausibility"] < 1.5
    assert f"To find a path, lower 'plausibility' to {e.relax['plausibility']:g}." in text


def test_none_found_for_the_same_class_again(simple):
    e = simple.explain([0.0, 0.0], target="ill", min_posterior=0.999999999999)
    assert (e.found, e.current) == (False, "ill")
    assert words.headline(e).startswith("The probability of 'ill' is ")
    assert words.headline(e).endswith(f"; no path to the required >99.9% was found ({e.status}).")
    assert words.advice(e)[0].endswith(" and min_posterior 0.999999999999.")


def test_none_found_with_constraints_names_them(simple):
    e = simple.explain([0.0, 0.0], target="well", constraints=Constraints(fixed=["x1"]))
    assert not e.found
    assert any("'fixed' for 'x1' stands in the way" in line for line in words.advice(e))
    (many,) = simple.explain_batch(
        [[0.0, 0.0]], target="well", constraints=Constraints(fixed=["x1"])
    )
    assert words.advice(many)[-1].endswith("or loosen the constraints.")


def test_none_found_at_all_asks_for_both(simple):
    rules = Constraints(fixed=["x1", "x2"])
    e = simple.explain([0.0, 0.0], plausibility=3, target="well", constraints=rules)
    assert e.relax == {}
    assert words.advice(e)[-1] == (
        "To find a path, lower both thresholds, or loosen the constraints."
    )
