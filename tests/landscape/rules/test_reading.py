from __future__ import annotations

from pathlib import Path

import pytest

from daace.cli.wording import name_argument
from daace.exceptions import InvalidInput, MissingFile
from daace.landscape.constraints import Constraints
from daace.landscape.rules import Link
from daace.landscape.rules.reading import options, read_options, read_rules

ALL = Constraints(
    fixed=["age"],
    lower={"income": 900, "a=b": -1.5},
    upper={"debt": 20_000},
    only_up=["education"],
    only_down=["debt"],
    weights={"income": 2},
    max_rise={"income": 500},
    max_fall={"income": 0},
    max_step={"income": 300},
    integer=["age", "children"],
    links=[Link({"income": 1, "debt": -30}, at_least=0)],
    max_changed=3,
)

TEXTS = {
    "fixed": ["age"],
    "lower": ["income=900", "a=b=-1.5"],
    "upper": ["debt=20000"],
    "only_up": ["education"],
    "only_down": ["debt"],
    "weights": ["income=2"],
    "max_rise": ["income=500"],
    "max_fall": ["income=0"],
    "max_step": ["income=300"],
    "integer": ["age", "children"],
    "links": ["income - 30*debt >= 0"],
    "max_changed": "3",
}

TOML = """
fixed = ["age"]
only_up = ["education"]
only_down = ["debt"]
integer = ["age", "children"]
max_changed = 3

[lower]
income = 900
"a=b" = -1.5

[upper]
debt = 20_000
[weights]
income = 2
[max_rise]
income = 500
[max_fall]
income = 0
[max_step]
income = 300

[[links]]
terms = {income = 1, debt = -30}
at_least = 0
"""


def said(error: InvalidInput) -> str:
    return error.wording(name_argument, shell=True)


def test_rules_from_options() -> None:
    assert set(TEXTS) <= {option.name for option in options()}
    assert read_options(TEXTS) == ALL
    repeated = {option.name: option.repeated for option in options()}
    assert repeated["lower"]
    assert not repeated["max_changed"]
    assert all(option.help.endswith(".") and option.metavar for option in options())


def test_options_that_were_not_used() -> None:
    assert read_options({"fixed": [], "lower": None}) is None
    assert read_options({"fixed": None}, base=ALL) is ALL


def test_options_replace_rules_about_the_same_and_keep_others() -> None:
    texts = {"lower": ["income=700"], "fixed": ["age", "sex"], "max_changed": "1"}
    merged = read_options(texts, base=ALL)
    assert merged is not None
    assert merged.lower == {"income": 700.0, "a=b": -1.5}
    assert merged.fixed == ("age", "sex")
    assert merged.max_changed == 1
    assert merged.links == ALL.links
    last = read_options({"lower": ["income=1000", "income=900"]})
    assert last == Constraints(lower={"income": 900})
    links = read_options({"links": ["income <= 9", "income >= 1"]})
    assert links is not None
    assert len(links.links) == 2


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"lower": ["income"]}, "'--lower' must be like age=30. Got 'income'."),
        ({"upper": ["=3"]}, "'--upper' must be like age=30. Got '=3'."),
        ({"max_step": ["income=much"]}, "'--max-step' must be like age=30. Got 'income=much'."),
        ({"weights": ["income=0"]}, "'--weight' must be positive numbers. Got 0.0 for 'income'."),
        ({"max_changed": "few"}, "'--max-changed' must be an integer of at least 1. Got 'few'."),
        ({"max_changed": "0"}, "'--max-changed' must be an integer of at least 1. Got 0."),
        (
            {"links": ["income > 3"]},
            "'--link' must be like 'income - 3*rent >= 0'. Got 'income > 3': "
            "put one of =, <=, >= between two sums, or a sum between two numbers.",
        ),
    ],
)
def test_options_that_mean_nothing(texts: dict[str, str | list[str]], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_options(texts)
    assert said(caught.value) == message


def test_rules_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(TOML, encoding="utf-8")
    assert read_rules(path) == ALL
    path.write_text('links = ["income - 30*debt >= 0"]', encoding="utf-8")
    assert read_rules(path).links == ALL.links
    path.write_text("", encoding="utf-8")
    assert read_rules(path) == Constraints()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fixed = [", "must be a TOML file. It is not: "),
        ("fixd = ['age']", "must hold rules only. Got 'fixd'. Did you mean 'fixed'?"),
        ("colour = 3", "Got 'colour'. Rules are 'fixed', 'lower', "),
        ("fixed = 'age'", "'fixed' must be a list of features. Got 'age'."),
        ("max_changed = 2.5", "'max_changed' must be an integer of at least 1. Got 2.5."),
        ("links = 3", "'links' must be a list of daace.Link. Got 3."),
        ("links = ['a']", "'links' must be like 'income - 3*rent >= 0'. Got 'a': put one of"),
        ("[[links]]\nterms = {a = 1}\nmost = 3", "have 'terms' and some of 'equals', 'at_least', "),
        ("[[links]]\nat_most = 3", "have 'terms' and some of 'equals', 'at_least', "),
        ("[[links]]\nterms = {a = 0}\nat_most = 3", "'terms' must be finite and not 0."),
        ("[lower]\na = 3\n[upper]\na = 2", "'lower' must not exceed 'upper'. Got 3.0 > 2.0 for"),
    ],
)
def test_a_file_that_means_nothing(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_rules(path)
    assert str(caught.value).startswith(f"'{path}'")
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        read_rules(tmp_path / "rules.toml")
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="must be a TOML file"):
        read_rules(tmp_path / "rules.toml")
