"""The Environmental Quality Index of US counties: what would improve one, and at what price."""

from daace.eqi.data import Counties, read_counties
from daace.eqi.policy import Advisor, Ask, Recourse, read_advisor
from daace.eqi.report import describe, to_json

__all__ = [
    "Advisor",
    "Ask",
    "Counties",
    "Recourse",
    "describe",
    "read_advisor",
    "read_counties",
    "to_json",
]
