"""Counties with their published indices: places, variables, and the table of the model."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace._wording import quote
from daace.data.preprocess import preprocess
from daace.data.table import Table
from daace.eqi.data.formula import Formulas
from daace.exceptions import InvalidInput

#: The domains, in the order of the model's first features, and how EPA's columns begin.
DOMAINS = {
    "Air": "air",
    "Sociodemographic": "sociod",
    "Built": "built",
    "Land": "land",
    "Water": "water",
}

#: The seven categories in words, the best first: cut at 5, 20, 40, 60, 80 and 95% of the counties.
CATEGORIES = ("best", "very good", "good", "middling", "poor", "very poor", "worst")

#: Rural-urban continuum codes, as the EQI groups them.
RUCC = {1: "metropolitan", 2: "urbanised", 3: "less urbanised", 4: "rural"}

#: Share of rows in the three fullest bins from which a variable is dropped: the paper's 126 remain.
MAX_SHARE = 0.924

#: Share of the counties that no density learns from, and the seed that chooses them.
HELD_OUT, SPLIT_SEED = 0.1, 1

TARGET = "category"

#: What follows the name of a county, longest first.
SUFFIXES = (
    "City and Borough", "Census Area", "Municipality", "Borough", "County", "Parish", "city",
)  # fmt: skip


def index_name(domain: str) -> str:
    """Return the name of a domain's index among the model's features."""
    return f"{domain} index"


def rucc_name(code: int) -> str:
    """Return a rural-urban code in words.

    Example:
        >>> rucc_name(4)
        '4 rural'
    """
    return f"{code} {RUCC[code]}"


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
            frame.reset_index(drop=True),
            target=TARGET,
            features=features,
            kinds="number",
            name="EQI",
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
        return apply_to_logged(np.log, values, self.variables["logged"])

    def restore(self, transformed: pd.DataFrame) -> pd.DataFrame:
        """Return transformed variables in EPA's units: the inverse of `transform`."""
        return apply_to_logged(np.exp, transformed, self.variables["logged"])

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

    @cached_property
    def split(self) -> tuple[IntArray, IntArray]:
        """The rows that densities learn from, and the tenth that is held out."""
        order = np.random.default_rng(SPLIT_SEED).permutation(len(self))
        cut = len(self) - round(HELD_OUT * len(self))
        return order[:cut], order[cut:]

    @cached_property
    def domain_of(self) -> dict[str, str]:
        """Domain of each feature of the model, indices included."""
        return {feature: self.domain(feature) for feature in self.table.features}

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


def apply_to_logged(
    function: Callable[[FloatArray], FloatArray], values: pd.DataFrame, logged: pd.Series
) -> pd.DataFrame:
    """Apply a function to the columns that EPA takes the logarithm of.

    Args:
        function: a function of an array.
        values: one column per variable.
        logged: by variable, whether EPA takes its logarithm.
    """
    columns = logged[list(values.columns)].to_numpy(dtype=bool)
    result = values.to_numpy(dtype=np.float64, copy=True)
    result[:, columns] = function(result[:, columns])
    return pd.DataFrame(result, index=values.index, columns=values.columns)


def _bare(county: str) -> str:
    """Return a county's name without what kind of county it is."""
    for kind in SUFFIXES:
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
