from __future__ import annotations

from daace._wording import quote


def test_names_are_quoted_up_to_a_limit() -> None:
    assert quote("ab") == "'a', 'b'"
    assert quote("abcdefg") == "'a', 'b', 'c', 'd', 'e' and 2 more"
