from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.eqi.data.counties import DOMAINS, INDICES, Counties
from daace.exceptions import InvalidInput


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
    known, held_out = counties.split
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
