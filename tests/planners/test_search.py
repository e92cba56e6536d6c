from __future__ import annotations

from daace.planners.search import ladder


def test_the_ladder_at_most_doubles_the_segments() -> None:
    assert ladder((0, 1, 2, 3)) == [0, 1, 2, 3]
    assert ladder((8,)) == [0, 1, 3, 7, 8]
    assert ladder((3,)) == [0, 1, 3]
