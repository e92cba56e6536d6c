from __future__ import annotations

import inspect

import pandas as pd
import pytest

from daace import cli
from daace.data.frames import numeric_matrix
from daace.exceptions import InvalidInput
from daace.explain.shell import ARGUMENTS, OPTIONS, sentence, with_options


def test_every_option_exists() -> None:
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(cli.explain).parameters}
    assert set(OPTIONS.values()) <= known


def test_a_feature_keeps_its_name() -> None:
    text = "'fixed' for 'upper' stands in the way"
    assert with_options(text, ["age"]) == "--fixed for --upper stands in the way"
    assert with_options(text, ["upper"]) == "--fixed for 'upper' stands in the way"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("'n_jobs' must be at least 1.", "'--jobs' must be at least 1."),
        ("The row must have\n  every feature.", "The row must have every feature."),
    ],
)
def test_errors_in_the_words_of_a_shell(said: str, told: str) -> None:
    assert sentence(ValueError(said)) == told


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            InvalidInput(argument="n_jobs", expected="be at least 1", got="0"),
            "'--jobs' must be at least 1. Got 0.",
        ),
        (
            InvalidInput(argument="The class", expected="be one of 'a'", got="'b'"),
            "'--to' must be one of 'a'. Got 'b'.",
        ),
        (
            InvalidInput(
                argument="frame", expected="be numeric", remedy="frame.astype", in_shell="--drop"
            ),
            "The table must be numeric: --drop.",
        ),
        (
            InvalidInput(argument="The row", expected="have every feature").at("Row 3: "),
            "Row 3: The row must have every feature.",
        ),
    ],
)
def test_errors_made_of_parts_name_options_and_remedies(error: InvalidInput, told: str) -> None:
    assert sentence(error) == told


def test_remedies_that_are_python_have_a_wording_for_the_shell() -> None:
    days = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(InvalidInput) as error:
        numeric_matrix(days, what="frame")
    assert sentence(error.value) == (
        "The table must have numeric features only. Got dates in 'd': write plain numbers, or "
        "leave them out with --drop."
    )


def test_arguments_are_named_without_quotes() -> None:
    assert not any(argument.startswith("'") for argument in ARGUMENTS)


def test_errors_of_the_system_name_the_file() -> None:
    assert sentence(FileNotFoundError(2, "No such file", "x.csv")) == "'x.csv': No such file."
