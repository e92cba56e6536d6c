from __future__ import annotations

import inspect

import pytest

from daace.cli import eqi, study
from daace.cli.explain import explain
from daace.cli.fit import fit
from daace.cli.serve import serve
from daace.cli.tune import tune
from daace.cli.wording import SETTINGS, option_names, sentence, with_options
from daace.exceptions import InvalidInput


def test_every_setting_is_an_option_of_a_command() -> None:
    commands = (explain, fit, serve, tune, study.run, eqi.explain, eqi.study)
    known = {name for command in commands for name in inspect.signature(command).parameters}
    assert set(SETTINGS) <= known


def test_rules_are_options_of_explain() -> None:
    assert {"fixed", "links", "max_changed", "rules"} <= set(inspect.signature(explain).parameters)
    assert option_names()["links"] == "--link"


def test_a_feature_keeps_its_name() -> None:
    text = "'fixed' for 'upper' stands in the way"
    assert with_options(text, ["age"]) == "--fixed for --upper stands in the way"
    assert with_options(text, ["upper"]) == "--fixed for 'upper' stands in the way"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            InvalidInput(argument="n_jobs", expected="be at least 1", got="0"),
            "'--jobs' must be at least 1. Got 0.",
        ),
        (
            InvalidInput(
                argument="weights", expected="be positive", remedy="frame.abs()", in_shell="-x"
            ),
            "'--weight' must be positive: -x.",
        ),
        (InvalidInput("The row must have\n  every feature."), "The row must have every feature."),
        (InvalidInput(argument="The row", expected="be one"), "The row must be one."),
        (InvalidInput(argument="'x.csv'", expected="have rows"), "'x.csv' must have rows."),
        (
            InvalidInput("'time_limit' must be left out: no.", argument="time_limit").at("Row 3: "),
            "Row 3: '--time-limit' must be left out: no.",
        ),
        (FileNotFoundError(2, "No such file", "x.csv"), "'x.csv': No such file."),
    ],
)
def test_errors_in_the_words_of_a_shell(error: Exception, told: str) -> None:
    assert sentence(error) == told
