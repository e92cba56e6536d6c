from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daace.exceptions import InvalidInput
from daace.landscape.rules.link import Link, Linked
from daace.landscape.rules.link_text import read_link


@pytest.mark.parametrize(
    ("terms", "bounds", "message"),
    [
        ({}, {"equals": 0}, "'terms' must map"),
        (["a"], {"equals": 0}, "'terms' must map"),
        ({"a": 0}, {"equals": 0}, "not 0"),
        ({"a": np.nan}, {"equals": 0}, "not 0"),
        ({"a": "much"}, {"equals": 0}, "made of numbers"),
        ({"a": 1}, {}, "must have 'equals'"),
        ({"a": 1}, {"equals": 0, "at_most": 1}, "must have 'equals'"),
        ({"a": 1}, {"at_least": 2, "at_most": 1}, "must not exceed"),
        ({"a": 1}, {"at_most": np.inf}, "finite"),
    ],
)
def test_a_link_that_means_nothing(terms: object, bounds: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Link(terms, **bounds)  # type: ignore[arg-type]


def test_a_link_in_words_and_numbers() -> None:
    link = Link({"rent": 3, "income": -1}, at_least=-5, at_most=0)
    assert str(link) == "-5 <= 3 rent - 1 income <= 0"
    assert link.bounds == (-5, 0)
    assert link.value({"rent": 2, "income": 10}) == -4
    assert str(Link({"a": -1.5}, equals=2)) == "-1.5 a = 2"


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("income - 3*rent >= 0", Link({"income": 1, "rent": -3}, at_least=0)),
        ("-a + 2 b = 1.5", Link({"a": -1, "b": 2}, equals=1.5)),
        ("a == -1e-3", Link({"a": 1}, equals=-0.001)),
        ("rent*3 <= income", Link({"rent": 3, "income": -1}, at_most=0)),
        ("0 <= a", Link({"a": 1}, at_least=0)),
        ("a + 1 <= b + 3", Link({"a": 1, "b": -1}, at_most=2)),
        ("0 <= a + b <= 3", Link({"a": 1, "b": 1}, at_least=0, at_most=3)),
        ("3 >= a - b >= -1", Link({"a": 1, "b": -1}, at_least=-1, at_most=3)),
        ("a + a <= 4", Link({"a": 2}, at_most=4)),
        (
            "capital-gain -2*hours per week <= 0",
            Link({"capital-gain": 1, "hours per week": -2}, at_most=0),
        ),
        ('2*"a - b" + ".5*c=d" <= 1', Link({"a - b": 2, ".5*c=d": 1}, at_most=1)),
    ],
)
def test_a_link_from_text(text: str, link: Link) -> None:
    assert Link(**read_link(text)) == link


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("income", "put one of =, <=, >= between two sums"),
        ("a <= b <= 3", "or a sum between two numbers"),
        ("0 <= a >= 3", "or a sum between two numbers"),
        ("a*b <= 3", "with spaces around"),
        ("income-3*rent <= 0", "with spaces around"),
        ("a + <= 3", "with spaces around"),
        (" <= 3", "with spaces around"),
        ("2 * 3 <= a", "with spaces around"),
    ],
)
def test_text_that_is_no_link(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Linked.argument.read_text("links", text)
    assert str(caught.value).startswith(
        f"'links' must be like 'income - 3*rent >= 0'. Got '{text}': "
    )
    assert message in str(caught.value)


def test_a_link_that_cannot_be_is_quoted() -> None:
    with pytest.raises(InvalidInput) as caught:
        Linked.argument.read_text("links", "a - a <= 3")
    assert str(caught.value).startswith("Link 'a - a <= 3': 'terms' must be finite and not 0.")


NAMES = st.text(st.characters(exclude_characters='"', exclude_categories=["C", "Z"]), min_size=1)
NUMBERS = st.floats(-1e9, 1e9)


@given(
    st.dictionaries(NAMES, NUMBERS.filter(bool), min_size=1, max_size=4),
    st.lists(NUMBERS, min_size=2, max_size=2).map(sorted),
    st.sampled_from(["equals", "at_least", "at_most", "both"]),
)
def test_a_link_written_and_read_is_the_same(
    terms: dict[str, float], bounds: list[float], kind: str
) -> None:
    both = {"at_least": bounds[0], "at_most": bounds[1]}
    given = both if kind == "both" and bounds[0] < bounds[1] else {"at_most": bounds[0]}
    given = {kind: bounds[0]} if kind in ("equals", "at_least") else given
    rule = Linked(Link(terms, **given))
    text = rule.argument.write_text(rule.entry)
    assert Linked(*rule.argument.read_text("links", text)) == rule
