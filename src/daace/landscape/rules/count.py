"""How many features may change at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from daace._checks import check_integer
from daace.landscape.rules.argument import Single
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft


@dataclass(frozen=True)
class MaxChanged(Rule):
    """At most this many features differ from the start along a path."""

    name = "max_changed"
    option = "--max-changed"
    help = "How many features may change at all."
    argument = Single(partial(check_integer, at_least=1), int)
    searched = True

    number: int

    def compile(self, draft: Draft) -> None:
        draft.most = self.number
