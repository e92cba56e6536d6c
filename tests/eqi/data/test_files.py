from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from daace.eqi.data.counties import Counties
from daace.eqi.data.files import SUFFIX, read_counties
from daace.exceptions import InvalidInput

Change = Callable[[str, Callable[[str], str]], Path]


def test_without_files_it_says_where_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match=r"Missing: 'variables.csv'.*https://www\.epa\.gov"):
        read_counties(tmp_path / "nowhere")
    monkeypatch.delenv("DAACE_DATA", raising=False)
    with pytest.raises(InvalidInput, match="pass --data FOLDER, or set DAACE_DATA"):
        read_counties()
    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    with pytest.raises(InvalidInput, match="must hold EPA's files"):
        read_counties()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("variables.csv", "stfips", "fips", "Missing: 'stfips'; rename them back"),
        ("variables.csv", ",a3,", ",a33,", "Unknown: 'a33'; Missing: 'a3_ln': rename them back"),
        ("indices.csv", SUFFIX, "EQI_2020", "Missing: '.*EQI_2Jan2018_VC'"),
        ("dictionary.csv", "Units", "Unit", "Missing: 'Units'"),
        ("dictionary.csv", "Land;", "Soil;", "Unknown: 'l1'"),
    ],
)
def test_renamed_columns(file: str, old: str, new: str, message: str, changed: Change) -> None:
    folder = changed(file, lambda text: text.replace(old, new))
    with pytest.raises(InvalidInput, match=message):
        read_counties(folder)


def test_values_that_the_indices_were_not_made_of(changed: Change) -> None:
    def shuffle(text: str) -> str:
        frame = pd.read_csv(StringIO(text))
        frame["a1"] = frame["a1"].to_numpy()[::-1]
        return str(frame.to_csv(index=False))

    with pytest.raises(InvalidInput, match=r"the Air index, recomputed .* Got 0.9"):
        read_counties(changed("variables.csv", shuffle))


def test_a_county_that_stands_twice_or_is_not_positive(changed: Change) -> None:
    folder = changed("variables.csv", lambda text: text + text.splitlines()[-1] + "\n")
    with pytest.raises(InvalidInput, match=r"must have one row per county: '.*' stands twice"):
        read_counties(folder)


def test_a_logarithm_of_nothing(changed: Change) -> None:
    def zero(text: str) -> str:
        frame = pd.read_csv(StringIO(text))
        frame.loc[3, "b1"] = 0.0
        return str(frame.to_csv(index=False))

    with pytest.raises(InvalidInput, match=r"positive values .* Got others in 'b1'"):
        read_counties(changed("variables.csv", zero))


def test_epas_files_are_what_the_paper_used(real_counties: Counties) -> None:
    assert real_counties.table.X.shape == (3142, 131)
    dropped = real_counties.variables.loc[real_counties.dropped, "domain"]
    assert (len(dropped), int((dropped == "Water").sum())) == (13, 11)
    formulas = real_counties.formulas
    assert min(f.correlation for f in formulas.domains.values()) > 0.99999
    assert formulas.overall.correlation > 0.99999
    assert [int(real_counties.category[f]) for f in (6037, 8021, 36061)] == [3, 3, 3]
    with pytest.raises(InvalidInput, match="31 counties are called 'Washington'"):
        real_counties.find("Washington")
    with pytest.raises(InvalidInput, match="has no published overall index"):
        real_counties.find("2105")
