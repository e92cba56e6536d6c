from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace.eqi.data import DOMAINS, INDICES, SUFFIX, Counties, read_counties
from daace.eqi.formula import Formula, learn_formulas, linear_formula, principal_formula
from daace.exceptions import InvalidInput

Change = Callable[[str, Callable[[str], str]], Path]


def test_the_formulas_give_back_the_published_indices(counties: Counties) -> None:
    again = counties.formulas.indices(counties.transformed)
    assert list(again.columns) == list(DOMAINS)
    assert np.abs(again - counties.indices).to_numpy().max() < 1e-9
    overall = counties.formulas.overall(again)
    assert overall.to_numpy() == pytest.approx(counties.overall.to_numpy(), abs=1e-9)
    assert counties.formulas.overall.weights["Sociodemographic"] == pytest.approx(-0.13)


def test_a_constant_variable_has_no_weight_and_is_dropped(counties: Counties) -> None:
    assert counties.formulas.domains["Water"].weights["w6"] == 0
    assert counties.dropped == ["w6"]
    assert counties.table.features[:5] == INDICES
    assert len(counties.table.features) == 5 + 26


def test_categories_are_cut_at_the_quantiles(counties: Counties) -> None:
    shares = counties.category.value_counts(normalize=True).sort_index()
    assert shares.to_numpy() == pytest.approx([0.05, 0.15, 0.2, 0.2, 0.2, 0.15, 0.05], abs=0.01)
    assert counties.overall[counties.category == 0].max() < counties.overall[
        counties.category == 6].min()  # fmt: skip
    expected = pd.qcut(counties.overall, [0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1], labels=False)
    assert (expected == counties.category).all()


def test_logarithms_are_taken_where_the_dictionary_says_so_and_undone(counties: Counties) -> None:
    assert counties.transformed["a1"].to_numpy() == pytest.approx(np.log(counties.values["a1"]))
    assert (counties.transformed["a2"] == counties.values["a2"]).all()
    back = counties.restore(counties.transformed)
    assert np.abs(back / counties.values - 1).to_numpy().max() < 1e-12


def test_names_units_and_places(counties: Counties) -> None:
    row = counties.variables.loc["a1"]
    assert (row["label"], row["unit"], row["domain"]) == (
        "Air measure 1 emissions",
        "tons per year",
        "Air",
    )
    assert counties.label(6037) == "Los Angeles County, CA"
    assert len(counties) == 619
    assert counties.unranked["county"].tolist() == ["Nowhere Borough"]


def test_the_split_is_that_of_the_table(counties: Counties) -> None:
    known, held_out = counties.split(0.1, seed=1)
    train, test = counties.table.split(0.1, rng=np.random.default_rng(1))
    assert (counties.table.X[known] == train.X).all()
    assert (counties.table.X[held_out] == test.X).all()


@pytest.mark.parametrize(
    "name",
    ["Los Angeles", "los angeles county", "Los Angeles, CA", "6037", "06037", " Los  Angeles "],
)
def test_a_county_is_found(name: str, counties: Counties) -> None:
    assert counties.find(name) == 6037


def test_names_that_do_not_tell_a_county(counties: Counties) -> None:
    with pytest.raises(InvalidInput, match="3 counties are called 'Washington'") as several:
        counties.find("Washington")
    places = counties.places[counties.places["county"] == "Washington County"]
    assert all(f"Washington County, {state}" in str(several.value) for state in places["state"])
    assert counties.find(f"Washington, {places['state'].iloc[0]}") == places.index[0]
    with pytest.raises(
        InvalidInput, match=r"No county is called 'Los Angles'. Did you mean 'Los A"
    ):
        counties.find("Los Angles")
    with pytest.raises(InvalidInput, match="No county is called 'Los Angeles, TX'"):
        counties.find("Los Angeles, TX")
    with pytest.raises(InvalidInput, match="FIPS code 99999"):
        counties.find("99999")
    with pytest.raises(InvalidInput, match=r"Nowhere Borough, .* has no published overall index"):
        counties.find("Nowhere")


# Files that are not what they should be -----------------------------------------------------------


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


# Formulas -----------------------------------------------------------------------------------------


def test_a_principal_formula_is_an_eigenvector(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    values = pd.DataFrame(X, columns=list("abcd"))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    _, _, axes = np.linalg.svd(Z, full_matrices=False)
    component = pd.Series(3 - 2 * Z @ axes[0])
    formula = principal_formula(values, component)
    assert formula.correlation == pytest.approx(1)
    assert formula(values).to_numpy() == pytest.approx(component.to_numpy())


def test_a_linear_formula_is_recovered(rng: np.random.Generator) -> None:
    values = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    formula = linear_formula(values, 1 + 2 * values["a"] - values["b"])
    assert (formula.intercept, *formula.weights) == pytest.approx((1, 2, -1))


def test_an_overall_index_of_something_else(rng: np.random.Generator) -> None:
    values = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    index = pd.DataFrame({"Air": Formula(0, pd.Series({"a": 1.0, "b": 1.0}), 1)(values)})
    one = principal_formula(values, index["Air"])
    made = pd.DataFrame({"Air": one(values)})
    with pytest.raises(InvalidInput, match="the overall index"):
        learn_formulas(
            values, pd.Series({"a": "Air", "b": "Air"}), made, pd.Series(rng.normal(size=60))
        )


# EPA's files --------------------------------------------------------------------------------------


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
