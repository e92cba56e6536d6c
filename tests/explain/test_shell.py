from __future__ import annotations

import inspect

import pytest

from daace import cli
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
        (
            "Got dates in 'd': convert them, for example with (frame['d'] - 1).dt.days.",
            "Got dates in 'd': write plain numbers, or leave them out with --drop.",
        ),
    ],
)
def test_errors_in_the_words_of_a_shell(said: str, told: str) -> None:
    assert sentence(ValueError(said)) == told
    assert all(python.endswith(" must") for python in ARGUMENTS)


def test_errors_of_the_system_name_the_file() -> None:
    assert sentence(FileNotFoundError(2, "No such file", "x.csv")) == "'x.csv': No such file."
