from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.realnvp import RealNVP
from daace.eqi.data import INDICES, Counties
from daace.eqi.model import (
    broken_rules,
    class_slope,
    cross_validate,
    domain_effects,
    domains_of,
    eqi_flow,
    forbidden_arcs,
    forced_arcs,
    free_network,
    index_arcs,
    model_correlations,
    performance,
    restricted_network,
)


@pytest.fixture(scope="module")
def fitted(counties: Counties) -> LinearGaussianNetwork:
    return restricted_network(counties).fit(counties.table)


def test_the_restricted_network_keeps_every_rule(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    domain_of = domains_of(counties)
    assert broken_rules(fitted, domain_of) == []
    arcs = set(fitted.arcs_)
    assert set(forced_arcs()) <= arcs
    assert not arcs & set(forbidden_arcs(domain_of))


def test_rules_that_are_broken_are_named(counties: Counties) -> None:
    arcs = [
        *forced_arcs(),
        ("category", "a1"),
        ("a2", "l1"),
        ("w1", "Water index"),
        *((f"a{k}", "a6") for k in range(1, 5)),
    ]
    network = LinearGaussianNetwork().fit_arcs(counties.table, arcs[1:])
    assert set(broken_rules(network, domains_of(counties))) == {
        "no arc class -> Air index",
        "class over a variable: category -> a1",
        "between domains: a2 -> l1",
        "variable over an index: w1 -> Water index",
        "4 parents of a6",
    }


def test_no_limit_and_no_rules_describe_the_rows_better(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    table, scale = counties.table, counties.table.X.std(axis=0)
    with pytest.warns(UserWarning, match="Nearly no variance"):  # an index is a sum of variables
        unlimited = restricted_network(counties, max_parents=None).fit(table)
    with pytest.warns(UserWarning, match="Nearly no variance"):
        free = free_network().fit(table)
    scores = [performance(d, table, scale).log_joint for d in (fitted, unlimited, free)]
    assert scores[0] <= scores[1] + 1e-9
    assert scores[0] < scores[2]


def test_performance_is_what_it_says(fitted: LinearGaussianNetwork, counties: Counties) -> None:
    table, scale = counties.table, counties.table.X.std(axis=0)
    mine = performance(fitted, table, scale)
    X = fitted.to_model(table.to_frame())
    truth = np.searchsorted(fitted.classes_, table.y)
    rows = np.arange(len(table))
    assert mine.log_joint == pytest.approx(fitted.log_joint(X)[rows, truth].mean())
    P = fitted.predict_proba(X)
    assert mine.accuracy == (P.argmax(axis=1) == truth).mean()
    assert mine.log_loss == pytest.approx(-np.log(P[rows, truth]).mean())
    onehot = np.eye(P.shape[1])[truth]
    assert mine.brier == pytest.approx(((P - onehot) ** 2).sum(axis=1).mean())
    # In other units of the features it is the same.
    other = Table(table.X * 7 - 3, table.y, table.features, table.classes, table.target)
    again = performance(LinearGaussianNetwork().fit_arcs(other, fitted.arcs_), other, scale * 7)
    assert again.log_joint == pytest.approx(mine.log_joint)


def test_cross_validation_holds_rows_out(counties: Counties) -> None:
    seen: list[Table] = []

    def fit(table: Table) -> Any:
        seen.append(table)
        return restricted_network(counties).fit(table)

    table = counties.table
    held_out = cross_validate(fit, table, folds=4)
    assert [len(t) for t in seen] == [464, 464, 464, 465]
    inside = performance(fit(table), table, table.X.std(axis=0))
    assert held_out.log_joint < inside.log_joint


def test_correlations_are_those_of_draws(fitted: LinearGaussianNetwork) -> None:
    X, _ = fitted.sample(40_000, rng=np.random.default_rng(0))
    assert np.abs(np.corrcoef(X.T) - model_correlations(fitted)).max() < 0.03


def test_effects_have_the_sense_high_is_good(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    arcs = index_arcs(fitted)
    assert set(arcs["child"]) == set(INDICES)
    by_class = arcs[arcs["parent"] == "Category"].set_index("child")["effect"]
    # A better category goes with a better index: those with a positive weight in the overall one.
    assert by_class["Air index"] > 0
    j = list(fitted.features_).index("Air index")
    assert class_slope(fitted, j) == by_class["Air index"]
    effects = domain_effects(fitted, domains_of(counties))
    # The generated index of air is high (bad) where a1 is, and where a3 is not.
    assert effects.loc["a1", "correlation"] < 0 < effects.loc["a3", "correlation"]
    shown = effects.dropna()
    assert (np.sign(shown["effect"]) == np.sign(shown["correlation"])).mean() > 0.8


def test_the_flow_is_smaller_than_the_papers_and_stops_early() -> None:
    flow, paper = eqi_flow(time_limit=5.0), RealNVP.preset("EQI")
    assert flow.early_stopping
    assert flow.time_limit == 5.0
    assert flow.hidden < paper.hidden  # 2,828 rows: a larger network learns them by heart
    assert flow.layers <= paper.layers


# EPA's files --------------------------------------------------------------------------------------


def test_epas_table_reaches_the_measured_likelihood(real_counties: Counties) -> None:
    table = real_counties.table
    network = restricted_network(real_counties).fit(table)
    assert broken_rules(network, domains_of(real_counties)) == []
    score = performance(network, table, table.X.std(axis=0))
    assert score.log_joint == pytest.approx(-136.06, abs=0.5)
    by_class = index_arcs(network).query("parent == 'Category'").set_index("child")["effect"]
    assert (by_class.drop("Sociodemographic index") > 0).all()
    assert by_class["Sociodemographic index"] < 0
