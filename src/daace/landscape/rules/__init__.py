"""The kinds of rules, one class each: check, compile, relax, words, shell."""

from daace.landscape.rules.base import Relaxation, Rule
from daace.landscape.rules.bounds import Lower, MaxFall, MaxRise, Upper
from daace.landscape.rules.count import MaxChanged
from daace.landscape.rules.direction import Fixed, OnlyDown, OnlyUp
from daace.landscape.rules.draft import CompiledRules, Draft
from daace.landscape.rules.levels import Allowed, Forbidden
from daace.landscape.rules.link import Link, Linked
from daace.landscape.rules.step import MaxStep
from daace.landscape.rules.weight import Weight
from daace.landscape.rules.whole import Whole

__all__ = [
    "Allowed",
    "CompiledRules",
    "Draft",
    "Fixed",
    "Forbidden",
    "Link",
    "Linked",
    "Lower",
    "MaxChanged",
    "MaxFall",
    "MaxRise",
    "MaxStep",
    "OnlyDown",
    "OnlyUp",
    "Relaxation",
    "Rule",
    "Upper",
    "Weight",
    "Whole",
]
