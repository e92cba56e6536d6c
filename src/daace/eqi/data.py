"""EPA's county tables: read, transformed as EPA does, verified, with names, units and places."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace._wording import quote
from daace.data.frames import numeric_matrix
from daace.data.preprocess import preprocess
from daace.data.table import Table
from daace.eqi.formula import Formulas, learn_formulas
from daace.exceptions import InvalidInput

#: The domains, in the order of the model's first features, and how EPA's columns begin.
DOMAINS = {
    "Air": "air",
    "Sociodemographic": "sociod",
    "Built": "built",
    "Land": "land",
    "Water": "water",
}
SUFFIX = "EQI_2Jan2018_VC"

#: The seven categories in words, the best first: cut at 5, 20, 40, 60, 80 and 95% of the counties.
CATEGORIES = ("best", "very good", "good", "middling", "poor", "very poor", "worst")

#: Rural-urban continuum codes, as the EQI groups them.
RUCC = {1: "metropolitan", 2: "urbanised", 3: "less urbanised", 4: "rural"}

#: Share of rows in the three fullest bins from which a variable is dropped: the paper's 126 remain.
MAX_SHARE = 0.924

TARGET = "category"
FILES = ("variables.csv", "indices.csv", "dictionary.csv")
PLACE_COLUMNS = ("stfips", "State", "County_Name", "cat_RUCC")
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

KINDS = ("County", "Parish", "Borough", "Census Area", "Municipality", "City and Borough", "city")

WHERE = (
    "get the Environmental Quality Index 2006-2010 from "
    "https://www.epa.gov/healthresearch/environmental-quality-index-eqi (variables before "
    "transformation, indices, data dictionary) and save it there as variables.csv, indices.csv "
    "and dictionary.csv"
)


def index_name(domain: str) -> str:
    """Return the name of a domain's index among the model's features."""
    return f"{domain} index"


#: The model's first five features.
INDICES = tuple(index_name(domain) for domain in DOMAINS)


@dataclass(frozen=True, eq=False)
class Counties:
    """All counties with a published overall index.

    Indices keep EPA's sense (high = bad) here and in the model; whatever is shown to a reader has
    the opposite one (high = good).

    Attributes:
        places: by FIPS code: county, state, rucc (1 metropolitan ... 4 rural).
        variables: by name: domain, label, unit, logged (whether the model sees the logarithm).
        values: by FIPS code: all variables, in EPA's units.
        indices: by FIPS code: the five published domain indices.
        overall: by FIPS code: the published overall index.
        formulas: how indices and category follow from the variables.
        unranked: places without an overall index, which are left out.
    """

    places: pd.DataFrame
    variables: pd.DataFrame
    values: pd.DataFrame
    indices: pd.DataFrame
    overall: pd.Series
    formulas: Formulas
    unranked: pd.DataFrame

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def transformed(self) -> pd.DataFrame:
        """The variables as EPA transforms them: logarithms of those that are flagged."""
        return self.transform(self.values)

    @cached_property
    def category(self) -> pd.Series:
        """Category of each county, 0 (best) to 6 (worst)."""
        return self.formulas.category(self.overall)

    @cached_property
    def table(self) -> Table:
        """The model's table: five indices, then the variables that a density can describe.

        Rows stand in the order of `places`, variables are transformed; 13 of EPA's 139 are
        dropped because they are nearly constant or discrete.
        """
        columns = self.indices.rename(columns=index_name)
        frame = pd.concat([columns, self.transformed, self.category.rename(TARGET)], axis=1)
        features = [name for name in frame.columns if name != TARGET]
        whole = Table.from_frame(
            frame.reset_index(drop=True), target=TARGET, features=features, name="EQI"
        )
        kept = set(preprocess(whole, max_share=MAX_SHARE).features)
        return whole.select([f for f in whole.features if f in kept or f in INDICES])

    @property
    def kept(self) -> list[str]:
        """Variables that are features of the model."""
        return [name for name in self.table.features if name not in INDICES]

    @property
    def dropped(self) -> list[str]:
        """Variables that are not."""
        kept = set(self.kept)
        return [name for name in self.variables.index if name not in kept]

    def domain(self, feature: str) -> str:
        """Return the domain of a feature, index or variable."""
        if feature in INDICES:
            return feature.removesuffix(" index")
        return str(self.variables.loc[feature, "domain"])

    def transform(self, values: pd.DataFrame) -> pd.DataFrame:
        """Return variables as the model sees them: logarithms where EPA takes them."""
        return _where_logged(values, self.variables["logged"], np.log)

    def restore(self, transformed: pd.DataFrame) -> pd.DataFrame:
        """Return transformed variables in EPA's units: the inverse of `transform`."""
        return _where_logged(transformed, self.variables["logged"], np.exp)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {int(fips): row for row, fips in enumerate(self.places.index)}

    def position(self, fips: int) -> int:
        """Return the row of a county in `table`."""
        return self._positions[fips]

    def label(self, fips: int) -> str:
        """Return a county as 'Los Angeles County, CA'."""
        place: Any = self.places.loc[fips]
        return f"{place['county']}, {place['state']}"

    def split(self, share: float, *, seed: int) -> tuple[IntArray, IntArray]:
        """Return the rows to learn from and those held out, as `Table.split` does."""
        order = np.random.default_rng(seed).permutation(len(self))
        cut = len(self) - round(share * len(self))
        return order[:cut], order[cut:]

    def find(self, name: str) -> int:
        """Return the FIPS code of a county given by name, name and state, or the code itself.

        Raises:
            InvalidInput: no county is called so, or several are; or it has no category.
        """
        wanted = " ".join(str(name).split())
        if re.fullmatch(r"\d{4,5}", wanted):
            fips = int(wanted)
            if fips in self.places.index:
                return fips
            self._refuse_unranked([fips] if fips in self.unranked.index else [])
            raise InvalidInput(f"No county has the FIPS code {wanted}.")
        found = _match(self.places, wanted)
        if len(found) == 1:
            return found[0]
        if not found:
            self._refuse_unranked(_match(self.unranked, wanted))
            raise InvalidInput(f"No county is called '{wanted}'.{self._similar(wanted)}")
        listed = "; ".join(self.label(fips) for fips in found)
        raise InvalidInput(
            f"{len(found)} counties are called '{wanted}': {listed}. Write one as it stands here."
        )

    def _refuse_unranked(self, found: Sequence[int]) -> None:
        if found:
            place = self.unranked.loc[found[0]]
            raise InvalidInput(
                f"{place['county']}, {place['state']} has no published overall index, hence no "
                "category to improve: choose another county."
            )

    def _similar(self, wanted: str) -> str:
        names = sorted({_bare(county) for county in self.places["county"]})
        close = difflib.get_close_matches(wanted.split(",")[0].title(), names, n=3)
        return f" Did you mean {quote(close)}?" if close else " Check the spelling, or pass FIPS."


def read_counties(folder: str | os.PathLike[str] | None = None) -> Counties:
    """Read EPA's three files, apply its transformation, and verify the published indices.

    Args:
        folder: with `variables.csv`, `indices.csv` and `dictionary.csv`; `$DAACE_DATA/eqi` when
            left out.

    Raises:
        InvalidInput: the folder or a file is not there, a column is missing or unknown, or the
            indices do not follow from the variables; the message says what to do.
    """
    place = find_folder(folder)
    raw = _read_csv(place / "variables.csv", PLACE_COLUMNS)
    published = _read_csv(
        place / "indices.csv",
        ("stfips", *(f"{prefix}_{SUFFIX}" for prefix in DOMAINS.values()), SUFFIX),
    )
    variables = _describe(place / "dictionary.csv", list(raw.columns))
    raw = raw.set_index("stfips").sort_index()
    published = published.set_index("stfips").reindex(raw.index)
    if not raw.index.is_unique:
        raise InvalidInput(
            f"'{place / 'variables.csv'}' must have one row per county: "
            f"{quote(raw.index[raw.index.duplicated()].unique())} stands twice."
        )
    names = list(variables.index)
    checked = numeric_matrix(raw[names], what=f"'{place / 'variables.csv'}'")
    values = pd.DataFrame(checked, index=raw.index, columns=names)
    logged = [name for name in names if variables.loc[name, "logged"]]
    wrong = [name for name in logged if not (values[name] > 0).all()]
    if wrong:
        raise InvalidInput(
            f"'{place / 'variables.csv'}' must have positive values where EPA takes the logarithm. "
            f"Got others in {quote(wrong)}: the file must be the one before transformation."
        )
    indices = pd.DataFrame(
        {domain: published[f"{prefix}_{SUFFIX}"] for domain, prefix in DOMAINS.items()}
    )
    absent = indices.index[indices.isna().any(axis=1)]
    if len(absent):
        raise InvalidInput(
            f"'{place / 'indices.csv'}' must have the domain indices of every county. "
            f"Missing for FIPS {quote(absent)}."
        )
    overall = published[SUFFIX]
    places = pd.DataFrame(
        {"county": raw["County_Name"], "state": raw["State"], "rucc": raw["cat_RUCC"].astype(int)}
    )
    transformed = _where_logged(values, variables["logged"], np.log)
    formulas = learn_formulas(transformed, variables["domain"], indices, overall)
    ranked = overall.notna().to_numpy()
    return Counties(
        places[ranked],
        variables,
        values[ranked],
        indices[ranked],
        overall[ranked],
        formulas,
        places[~ranked],
    )


def _where_logged(
    values: pd.DataFrame, logged: pd.Series, apply: Callable[[FloatArray], FloatArray]
) -> pd.DataFrame:
    """Apply a function to the columns that EPA takes the logarithm of."""
    columns = logged[list(values.columns)].to_numpy(dtype=bool)
    result = values.to_numpy(dtype=np.float64, copy=True)
    result[:, columns] = apply(result[:, columns])
    return pd.DataFrame(result, index=values.index, columns=values.columns)


def find_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder of EPA's files: the one given, or `$DAACE_DATA/eqi`.

    Raises:
        InvalidInput: there is none, or files are missing; the message says where to get them.
    """
    if folder is None:
        base = os.environ.get("DAACE_DATA")
        if not base:
            raise InvalidInput(
                "EPA's files must be in a folder: pass --data FOLDER, or set DAACE_DATA to the "
                f"folder above 'eqi'. If you do not have them, {WHERE}."
            )
        folder = Path(base) / "eqi"
    place = Path(folder)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise InvalidInput(f"'{place}' must hold EPA's files. Missing: {quote(missing)}; {WHERE}.")
    return place


def _read_csv(path: Path, needed: Sequence[str], *, separator: str = ",") -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, sep=separator, encoding="utf-8-sig")
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"'{path}' must be a table of text. It cannot be read: {error}."
        ) from None
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"'{path}' must have EPA's columns. Missing: {quote(missing)}; "
            "rename them back, or get the file again."
        )
    return frame


def _describe(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return domain, label, unit and logged of each variable, in the order of the table."""
    dictionary = _read_csv(path, DICTIONARY_COLUMNS, separator=";")
    dictionary = dictionary[dictionary["Domain"].isin(list(DOMAINS))].fillna("")
    known = {_stem(name): row for name, row in zip(
        dictionary["Variable Name"], dictionary.to_dict("records"), strict=True
    )}  # fmt: skip
    names = [name for name in columns if name not in PLACE_COLUMNS]
    stems = {_stem(name) for name in names}
    unknown = [name for name in names if _stem(name) not in known]
    missing = [row["Variable Name"].strip() for stem, row in known.items() if stem not in stems]
    if unknown or missing:
        what = [f"Unknown: {quote(unknown)}"] if unknown else []
        what += [f"Missing: {quote(missing)}"] if missing else []
        raise InvalidInput(
            f"'{path.parent / 'variables.csv'}' must have the variables of the dictionary. "
            f"{'; '.join(what)}: rename them back, or get the file again."
        )
    rows = []
    for name in names:
        row = known[_stem(name)]
        domain, unit = row["Domain"], _unit(row["Units"])
        label, unit = CORRECTED.get(name, (_label(row["Variable Definition"], domain, unit), unit))
        logged = row["Log Transformed"].strip() == LOGGED and name != ALREADY_LOG
        rows.append((domain, label, unit, logged))
    frame = pd.DataFrame(rows, index=names, columns=["domain", "label", "unit", "logged"])
    empty = [domain for domain in DOMAINS if domain not in set(frame["domain"])]
    if empty:
        raise InvalidInput(f"'{path}' must have variables of every domain. None of {quote(empty)}.")
    return frame


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


def _bare(county: str) -> str:
    """Return a county's name without what kind of county it is."""
    for kind in sorted(KINDS, key=len, reverse=True):
        if county.endswith(f" {kind}"):
            return county.removesuffix(f" {kind}")
    return county


def _match(places: pd.DataFrame, wanted: str) -> list[int]:
    """Return the counties with this name, as a whole if possible, else without its kind."""
    county, _, state = (part.strip() for part in wanted.partition(","))
    here = places[places["state"].str.upper() == state.upper()] if state else places
    names = [str(name) for name in here["county"]]
    for form in (lambda name: name, _bare):
        found = [
            int(fips)
            for fips, name in zip(here.index, names, strict=True)
            if form(name).casefold() == county.casefold()
        ]
        if found:
            return found
    return []
