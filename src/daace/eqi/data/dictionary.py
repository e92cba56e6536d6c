"""EPA's data dictionary: what each variable measures, in which unit, and whether as a logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from daace._wording import quote
from daace.eqi.data.counties import DOMAINS
from daace.exceptions import InvalidInput

DICTIONARY_COLUMNS = ("Domain", "Variable Definition", "Variable Name", "Units", "Log Transformed")
LOGGED = "log-transformed"

#: Flagged as transformed in the dictionary, and already a logarithm in the file.
ALREADY_LOG = "Coliform_Proportion_ln"

#: Where the dictionary's words cannot be meant, as the numbers show: what the numbers are. (The
#: "median household income" of Los Angeles is 3.2 million: it has so many households.)
CORRECTED = {
    "HH_Inc": ("Number of households", "number"),
    "fatalities": ("Number of fatal car crashes", "number"),
    "ViolAv": ("Violent crimes", "per 100,000 people"),
    "num_CreatClass": ("Employed in the creative class", "proportion"),
    "FARMS_PER_ACRE": ("Farms", "per acre"),
    "PCT_IRRIGATED_ACRES": ("Irrigated acres", "proportion"),
    "pct_nematode_acres": ("Acres treated against nematodes", "proportion"),
    "pct_manure_acres": ("Acres with manure", "proportion"),
    "pct_disease_acres": ("Acres treated against crop diseases", "proportion"),
    "pct_defoliate_acres": ("Acres treated to thin, defoliate or control growth", "proportion"),
    "pct_harvested_acres": ("Harvested acres", "proportion"),
    "pct_au": ("Animal units", "per acre"),
}


def describe_variables(
    dictionary: pd.DataFrame, names: Sequence[str], *, folder: Path
) -> pd.DataFrame:
    """Return domain, label, unit and logged of each variable, by name.

    Args:
        dictionary: EPA's, with the columns `DICTIONARY_COLUMNS`.
        names: names of the variables, in the order of the table.
        folder: the folder of EPA's files, for messages.

    Raises:
        InvalidInput: table and dictionary have different variables, or a domain has none.
    """
    entries = dictionary[dictionary["Domain"].isin(list(DOMAINS))].fillna("")
    known = {_stem(row["Variable Name"]): row for row in entries.to_dict("records")}
    stems = {_stem(name) for name in names}
    unknown = [name for name in names if _stem(name) not in known]
    missing = [row["Variable Name"].strip() for stem, row in known.items() if stem not in stems]
    if unknown or missing:
        what = [f"Unknown: {quote(unknown)}"] if unknown else []
        what += [f"Missing: {quote(missing)}"] if missing else []
        raise InvalidInput(
            f"'{folder / 'variables.csv'}' must have the variables of the dictionary. "
            f"{'; '.join(what)}: rename them back, or get the file again."
        )
    rows = [_describe(name, known[_stem(name)]) for name in names]
    frame = pd.DataFrame(rows, index=list(names), columns=["domain", "label", "unit", "logged"])
    empty = [domain for domain in DOMAINS if domain not in set(frame["domain"])]
    if empty:
        raise InvalidInput(
            f"'{folder / 'dictionary.csv'}' must have variables of every domain. "
            f"None of {quote(empty)}."
        )
    return frame


def _describe(name: str, entry: dict[Any, Any]) -> tuple[str, str, str, bool]:
    """Return domain, label, unit, and whether the model sees the logarithm."""
    domain, unit = entry["Domain"], _unit(entry["Units"])
    label, unit = CORRECTED.get(name, (_label(entry["Variable Definition"], domain, unit), unit))
    logged = entry["Log Transformed"].strip() == LOGGED and name != ALREADY_LOG
    return domain, label, unit, logged


def _stem(name: str) -> str:
    """Return a variable's name without the mark of its logarithm, which the dictionary has."""
    return str(name).strip().lower().removeprefix("ln_").removesuffix("_ln")


def _unit(text: str) -> str:
    """Return a unit as one would read it out."""
    unit = text.strip()
    plain = {"tons emitted per year": "tons per year", "PCl/L": "pCi/L", "ng/M2": "ng/m2"}
    unit = plain.get(unit, unit)
    return unit[0].lower() + unit[1:] if unit[:1].isupper() and unit[1:2].islower() else unit


def _label(definition: str, domain: str, unit: str) -> str:
    """Return what a variable measures, in words that stand alone."""
    text = " ".join(definition.strip().strip("'").replace("''", "'").split())
    text = text.removeprefix("Log-transformed ").removesuffix(",")
    if unit == "tons per year":
        return f"{text} emissions"
    if domain == "Water" and unit in ("mg/L", "ug/L", "pCi/L") and "precipitation" not in text:
        return f"{text} in drinking water"
    return text
