"""EPA's three files: read, transformed as EPA does, and verified against the published indices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from daace._wording import quote
from daace.data.frames import numeric_matrix
from daace.eqi.data.counties import DOMAINS, Counties, apply_to_logged
from daace.eqi.data.dictionary import DICTIONARY_COLUMNS, describe_variables
from daace.eqi.data.formula import learn_formulas
from daace.exceptions import InvalidInput

FILES = ("variables.csv", "indices.csv", "dictionary.csv")
PLACE_COLUMNS = ("stfips", "State", "County_Name", "cat_RUCC")

#: How EPA's columns of indices end.
SUFFIX = "EQI_2Jan2018_VC"

WHERE = (
    "get the Environmental Quality Index 2006-2010 from "
    "https://www.epa.gov/healthresearch/environmental-quality-index-eqi (variables before "
    "transformation, indices, data dictionary) and save it there as variables.csv, indices.csv "
    "and dictionary.csv"
)


def read_counties(folder: str | os.PathLike[str] | None = None) -> Counties:
    """Read EPA's three files, apply its transformation, and verify the published indices.

    Args:
        folder: with `variables.csv`, `indices.csv` and `dictionary.csv`; `$DAACE_DATA/eqi` when
            left out.

    Raises:
        InvalidInput: the folder or a file is missing, a column is missing or unknown, or the
            indices do not follow from the variables.
    """
    place = find_folder(folder)
    raw = _read_csv(place / "variables.csv", PLACE_COLUMNS).set_index("stfips").sort_index()
    if not raw.index.is_unique:
        raise InvalidInput(
            f"'{place / 'variables.csv'}' must have one row per county: "
            f"{quote(raw.index[raw.index.duplicated()].unique())} stands twice."
        )
    published = _read_indices(place / "indices.csv").reindex(raw.index)
    indices, overall = published[list(DOMAINS)], published[SUFFIX]
    absent = indices.index[indices.isna().any(axis=1)]
    if len(absent):
        raise InvalidInput(
            f"'{place / 'indices.csv'}' must have the domain indices of every county. "
            f"Missing for FIPS {quote(absent)}."
        )
    variables = describe_variables(
        _read_csv(place / "dictionary.csv", DICTIONARY_COLUMNS, separator=";"),
        [name for name in raw.columns if name not in PLACE_COLUMNS],
        folder=place,
    )
    values = _read_values(place / "variables.csv", raw, variables)
    places = pd.DataFrame(
        {"county": raw["County_Name"], "state": raw["State"], "rucc": raw["cat_RUCC"].astype(int)}
    )
    transformed = apply_to_logged(np.log, values, variables["logged"])
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


def _read_indices(path: Path) -> pd.DataFrame:
    """Return the published indices by FIPS code: those of the domains by name, the overall one."""
    columns = {f"{prefix}_{SUFFIX}": domain for domain, prefix in DOMAINS.items()}
    frame = _read_csv(path, ("stfips", *columns, SUFFIX))
    return frame.set_index("stfips").rename(columns=columns)


def _read_values(path: Path, raw: pd.DataFrame, variables: pd.DataFrame) -> pd.DataFrame:
    """Return the variables as numbers, positive where EPA takes the logarithm."""
    names = list(variables.index)
    checked = numeric_matrix(raw[names], what=f"'{path}'")
    values = pd.DataFrame(checked, index=raw.index, columns=names)
    wrong = [n for n in names if variables.loc[n, "logged"] and not (values[n] > 0).all()]
    if wrong:
        raise InvalidInput(
            f"'{path}' must have positive values where EPA takes the logarithm. "
            f"Got others in {quote(wrong)}: the file must be the one before transformation."
        )
    return values


def find_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder of EPA's files: the one given, or `$DAACE_DATA/eqi`.

    Raises:
        InvalidInput: there is none, or files are missing.
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
