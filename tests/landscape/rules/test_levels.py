"""Rules on levels as keyword, in words and in a shell."""

from __future__ import annotations

import json

import pytest

from daace import Constraints
from daace.exceptions import InvalidInput
from daace.landscape.rules.reading import read_options

RULES = Constraints(
    allowed={"purpose": ["repairs", "education"]}, forbidden={"marital": [("married", "single")]}
)


def test_words_and_shell() -> None:
    allowed, forbidden = RULES.rules
    assert allowed.words() == "'allowed' of 'purpose' (repairs, education)"
    assert allowed.in_shell() == "--allowed purpose=repairs,education"
    assert forbidden.words() == "'forbidden' of 'marital' (married to single)"
    assert forbidden.in_shell() == "--forbidden marital=married>single"
    assert (
        RULES.describe()
        == "allowed: purpose repairs, education; forbidden: marital married to single"
    )
    read = read_options(
        {"allowed": ["purpose=repairs,education"], "forbidden": ["marital=married>single"]}
    )
    assert read == RULES


def test_rules_survive_json_and_being_taken_apart() -> None:
    record = {"allowed": RULES.allowed, "forbidden": RULES.forbidden}
    assert Constraints(**json.loads(json.dumps(record))) == RULES
    assert Constraints.of(RULES.rules) == RULES
    natural = Constraints(natural=True, allowed=RULES.allowed)
    assert natural.without(natural.rules[0]) == Constraints(natural=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"allowed": {"purpose": "repairs"}},
        {"allowed": ["purpose"]},
        {"allowed": {"purpose": []}},
        {"forbidden": {"marital": ["married"]}},
        {"forbidden": {"marital": [("married",)]}},
    ],
)
def test_other_forms_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="map features to lists of"):
        Constraints(**wrong)  # type: ignore[arg-type]


def test_other_texts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="be like purpose=repairs,education"):
        read_options({"allowed": ["purpose"]})
    with pytest.raises(InvalidInput, match="be like marital=married>single"):
        read_options({"forbidden": ["marital=married"]})
