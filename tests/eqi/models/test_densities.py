from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.realnvp import RealNVP
from daace.eqi.data.counties import INDICES, Counties
from daace.eqi.models.densities import (
    MAX_PARENTS,
    eqi_flow,
    forbidden_arcs,
    forced_arcs,
    restricted_network,
)
from daace.eqi.models.effects import index_arcs
from daace.eqi.models.folder import fit_models
from daace.eqi.models.performance import performance
from daace.explain.loading import load


def broken_rules(network: LinearGaussianNetwork, counties: Counties) -> list[tuple[str, str]]:
    """Forced arcs that are missing, and forbidden ones that are there."""
    arcs = set(network.arcs_)
    missing = set(forced_arcs()) - arcs
    return sorted(missing | (arcs & set(forbidden_arcs(counties.domain_of))))


def test_the_restricted_network_keeps_every_rule(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    assert broken_rules(fitted, counties) == []
    parents = Counter(child for _, child in fitted.arcs_)
    assert max(parents.values()) <= MAX_PARENTS
    domain_of = {name: counties.domain(name) for name in counties.table.features}
    for parent, child in fitted.arcs_:  # what the rules mean, read from the arcs alone
        if child in INDICES:
            assert parent == "category" or parent in INDICES
        else:
            assert domain_of[parent] == domain_of[child]


def test_rules_that_are_broken_are_named(counties: Counties) -> None:
    broken = [("category", "a1"), ("a2", "l1"), ("w1", "Water index"), ("Air index", "l2")]
    kept = [("Air index", "a3"), ("a4", "a5")]
    arcs = [*forced_arcs()[1:], *broken, *kept]
    network = LinearGaussianNetwork().fit_arcs(counties.table, arcs)
    assert broken_rules(network, counties) == sorted([forced_arcs()[0], *broken])


def test_no_limit_and_no_rules_describe_the_rows_better(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    table, scale = counties.table, counties.table.X.std(axis=0)
    with pytest.warns(UserWarning, match="Nearly no variance"):  # an index is a sum of variables
        unlimited = restricted_network(counties, max_parents=None).fit(table)
    with pytest.warns(UserWarning, match="Nearly no variance"):
        free = LinearGaussianNetwork(start="empty").fit(table)
    scores = [performance(d, table, scale).log_joint for d in (fitted, unlimited, free)]
    assert scores[0] <= scores[1] + 1e-9
    assert scores[0] < scores[2]


def test_the_flow_is_smaller_than_the_papers_and_stops_early() -> None:
    flow, paper = eqi_flow(time_limit=5.0), RealNVP.preset("EQI")
    assert flow.early_stopping
    assert flow.time_limit == 5.0
    assert flow.hidden < paper.hidden  # 2,828 rows: a larger network learns them by heart
    assert flow.layers <= paper.layers


def test_epas_table_reaches_the_measured_likelihood(real_counties: Counties) -> None:
    table = real_counties.table
    network = restricted_network(real_counties).fit(table)
    assert broken_rules(network, real_counties) == []
    score = performance(network, table, table.X.std(axis=0))
    assert score.log_joint == pytest.approx(-136.06, abs=0.5)
    by_class = index_arcs(network).query("parent == 'Category'").set_index("child")["effect"]
    assert (by_class.drop("Sociodemographic index") > 0).all()
    assert by_class["Sociodemographic index"] < 0


def test_the_printed_settings_can_be_trained(counties: Counties, tmp_path: Path) -> None:
    text = fit_models(counties, tmp_path, flow=True, printed=True, epochs=1)
    assert "RealNVP" in text
    flow = load(tmp_path / "flow.daace").density
    assert isinstance(flow, RealNVP)
    printed = RealNVP.preset("EQI")
    assert (flow.noise, flow.weight_decay) == (printed.noise, printed.weight_decay)
