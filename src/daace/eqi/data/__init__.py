"""EPA's data: files, dictionary, formulas of the indices, county outlines."""

from daace.eqi.data.counties import CATEGORIES, DOMAINS, INDICES, Counties
from daace.eqi.data.files import read_counties
from daace.eqi.data.formula import Formula, Formulas
from daace.eqi.data.outlines import read_outlines

__all__ = [
    "CATEGORIES",
    "DOMAINS",
    "INDICES",
    "Counties",
    "Formula",
    "Formulas",
    "read_counties",
    "read_outlines",
]
