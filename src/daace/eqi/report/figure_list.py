"""The figures of the page: maps, networks and charts, each with a caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import (
    CATEGORIES,
    DOMAINS,
    INDICES,
    Counties,
    index_name,
    rucc_name,
)
from daace.eqi.data.outlines import read_outlines
from daace.eqi.models.effects import domain_effects, index_arcs
from daace.eqi.policy.study import PENALTY, THREE
from daace.eqi.report.colours import CATEGORY_COLOURS, DOMAIN_COLOURS
from daace.eqi.report.findings import top_variables
from daace.eqi.report.results import CountyResults, paired_ratio
from daace.eqi.report.three_counties import county_changes
from daace.explain.trust.network import signed_arcs

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Mean log p(x, y) that the paper prints, by the name of the density.
PUBLISHED = {
    "network, at most 3 parents": -137.89,
    "network, parents unlimited": -123.35,
    "RealNVP": -98.93,
}

RELATIVE_COST = "cost over BayesACE's"


def draw_maps(results: CountyResults, path: Path) -> dict[str, tuple[str, Plot]]:
    """Return the maps: category now, after, and the domain to act on; with what each shows."""
    from daace.eqi.report.figures.maps import county_map

    counties, outlines = results.counties, read_outlines(path)
    after, better = results.after
    count = f"{len(after):,} counties"
    shades: dict[object, str] = dict(enumerate(CATEGORY_COLOURS))
    names: dict[object, str] = {k: f"{k} {name}" for k, name in enumerate(CATEGORIES)}
    first = {fips: str(domain) for fips, domain in better.idxmax(axis=1).items()}
    domains: dict[object, str] = dict(DOMAIN_COLOURS.items())
    grey = "no plan: already best or very good, or not in the study"
    return {
        "map-now": (
            "Category of every county now: 0 is the best 5%, 6 the worst 5%.",
            county_map(outlines, _plain(counties.category), shades, labels=names,
                       title="Environmental quality now", empty="no overall index"),
        ),
        "map-after": (
            "Category that EPA's formulas give, from all variables, at the end of a consistent "
            f"plan by BayesACE at penalty {PENALTY:g} that aims two categories higher; {count}.",
            county_map(outlines, _plain(after), shades, labels=names,
                       title="Environmental quality at the end of the plan", empty=grey),
        ),
        "map-domain": (
            "The domain whose index, recomputed from the variables, rises most in the plan.",
            county_map(outlines, _plain(first), domains, labels={d: str(d) for d in domains},
                       title="Main domain to act on", empty=grey),
        ),
    }  # fmt: skip


def draw_figures(
    results: CountyResults, network: LinearGaussianNetwork
) -> dict[str, tuple[str, Plot]]:
    """Return every other figure, with its caption."""
    from daace.eqi.report.figures.charts import counties_by_algorithm, measures_by_algorithm

    figures = {
        **_draw_networks(results.counties, network),
        **_draw_densities(results),
        **_draw_groups(results),
        **_draw_most_changed(results, network),
    }
    counties, plans = results.counties, results.select()
    three = {counties.label(f): county_changes(results, f) for f in THREE if f in plans.index}
    if three:
        figures["three-counties"] = (
            f"What each algorithm does to the indices of the paper's three counties, penalty "
            f"{PENALTY:g}; as planned.",
            counties_by_algorithm(three, title="Recourse of three counties"),
        )
    figures |= _draw_counties(results)
    panels = _measures(results)
    if panels:
        figures["measures"] = (
            "Cost under the RealNVP over BayesACE's for the same county (where both are positive), "
            "distance, and number of features that move by more than 0.1 sd on the way, over the "
            "counties for which every algorithm found a plan.",
            measures_by_algorithm(panels, log=[RELATIVE_COST]),
        )
    return figures


def _draw_networks(
    counties: Counties, network: LinearGaussianNetwork
) -> dict[str, tuple[str, Plot]]:
    from daace.eqi.report.figures.networks import domain_networks, index_network, whole_network

    return {
        "index-network": (
            "The class and the five domain indices in the restricted network; every index in the "
            "sense high = good. Numbers: standard deviations of the child per standard deviation "
            "of the parent, and per category for arcs of the class.",
            index_network(index_arcs(network)),
        ),
        "whole-network": (
            f"The whole restricted network: {len(network.features_)} features and the class, "
            f"{len(network.arcs_)} arcs. Squares are the indices, in the sense high = good; an arc "
            "that a restriction forbids would run between two colours, or from a variable to an "
            "index.",
            whole_network(*_whole(network, counties)),
        ),
        "domain-networks": (
            "In each domain the eight variables most correlated with its index, and the arcs among "
            "them.",
            domain_networks(_domain_parts(network, counties, _most_correlated(network, counties))),
        ),
    }


def _whole(
    network: LinearGaussianNetwork, counties: Counties
) -> tuple[pd.DataFrame, dict[str, list[str]], dict[str, str]]:
    """Return all arcs, those of the class included, the nodes of each domain, and colours."""
    of_class = index_arcs(network)
    of_class = of_class[of_class["parent"] == "Category"][["parent", "child", "effect"]]
    others = _signed(network)
    arcs = pd.concat([of_class, others[others["parent"].isin(network.features_)]])
    nodes = {
        domain: [index_name(domain), *(v for v in counties.kept if counties.domain(v) == domain)]
        for domain in DOMAINS
    }
    return arcs, nodes, DOMAIN_COLOURS


def _draw_densities(results: CountyResults) -> dict[str, tuple[str, Plot]]:
    from daace.eqi.report.figures.charts import densities_compared

    if not results.performance:
        return {}
    return {
        "densities": (
            "How well each density describes the counties, and what the paper prints; held-out "
            "counties and cross-validation are what counts.",
            densities_compared(results.performance, PUBLISHED),
        )
    }


def _draw_counties(results: CountyResults) -> dict[str, tuple[str, Plot]]:
    """Draw a panel per penalty for each of the paper's three counties."""
    from daace.eqi.report.figures.charts import counties_by_algorithm

    figures = {}
    for fips in THREE:
        panels = {
            f"penalty {p:g}": frame
            for p in results.penalties()
            if len(frame := county_changes(results, fips, p))
        }
        if len(panels) > 1:
            name = results.counties.label(fips)
            figures[f"county-{fips}"] = (
                f"{name}: what each algorithm does to the indices, penalty by penalty; as planned.",
                counties_by_algorithm(panels, title=name),
            )
    return figures


def _draw_groups(results: CountyResults) -> dict[str, tuple[str, Plot]]:
    """Draw the mean changes by rural-urban code, and by category."""
    from daace.eqi.report.figures.charts import changes_by_group

    figures = {}
    for column, xlabel in (("rucc", "rural-urban code"), ("category", "category now")):
        groups = results.select().groupby(column)
        means = groups[list(DOMAINS)].mean()
        words = [
            rucc_name(int(k)) if column == "rucc" else f"{k} {CATEGORIES[int(k)]}"
            for k in means.index
        ]
        counts = dict(zip(words, groups.size(), strict=True))
        figures[f"changes-{column}"] = (
            f"Mean change of each domain index by {xlabel}; BayesACE, penalty {PENALTY:g}.",
            changes_by_group(means.set_axis(words), counts, xlabel=xlabel),
        )  # fmt: skip
    return figures


def _draw_most_changed(
    results: CountyResults, network: LinearGaussianNetwork
) -> dict[str, tuple[str, Plot]]:
    from daace.eqi.report.figures.charts import changes_of_variables, most_changed
    from daace.eqi.report.figures.networks import domain_networks

    counties, tops = results.counties, top_variables(results)
    labels = {str(v): str(x) for v, x in counties.variables["label"].items()}
    chosen, changes = {d: list(top.index) for d, top in tops.items()}, results.changes()
    return {
        "most-changed": (
            f"The five most changed variables of each domain; BayesACE, penalty {PENALTY:g}.",
            most_changed(tops, labels),
        ),
        "most-changed-boxes": (
            f"How the same variables change, with the sign; BayesACE, penalty {PENALTY:g}, "
            f"{len(changes)} counties.",
            changes_of_variables(
                {domain: changes[list(top.index)] for domain, top in tops.items()}, labels
            ),
        ),
        "most-changed-networks": (
            "The same variables in the network.",
            domain_networks(_domain_parts(network, counties, chosen)),
        ),
    }


def _most_correlated(network: LinearGaussianNetwork, counties: Counties) -> dict[str, list[str]]:
    groups = domain_effects(network, counties.domain_of).groupby("domain")["correlation"]
    return {domain: list(groups.get_group(domain).abs().nlargest(8).index) for domain in DOMAINS}


def _domain_parts(
    network: LinearGaussianNetwork, counties: Counties, chosen: Mapping[str, Sequence[str]]
) -> dict[str, tuple[list[str], pd.DataFrame, dict[str, str]]]:
    """Return nodes, arcs and labels of one network per domain, in the sense "high = good"."""
    arcs = _signed(network)
    labels = {str(v): _short(x) for v, x in counties.variables["label"].items()}
    parts = {}
    for domain, names in chosen.items():
        index = index_name(domain)
        parts[domain] = ([index, *names], arcs, {**labels, index: index})
    return parts


def _signed(network: LinearGaussianNetwork) -> pd.DataFrame:
    """Return the arcs between features with their effects, in the sense "high = good"."""
    arcs = signed_arcs(network).rename(columns={"coefficient": "effect"})
    flips = arcs["parent"].isin(INDICES) ^ arcs["child"].isin(INDICES)
    return arcs.assign(effect=np.where(flips, -arcs["effect"], arcs["effect"]))


def _short(label: str) -> str:
    text = label.removesuffix(" emissions").removesuffix(" in drinking water").split(" (")[0]
    text = text.removesuffix(" per county").removeprefix("Rate of ").removeprefix("Percent of ")
    return text if len(text) <= 34 else text[:32].rsplit(" ", 1)[0] + " ..."


def _measures(results: CountyResults) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return cost over BayesACE's, distance and sparsity, by penalty and algorithm."""
    columns = {
        RELATIVE_COST: "cost",
        "distance (L2), in sd": "l2",
        "features that move": "path_sparsity",
    }
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for penalty in (5.0, 10.0):
        found = {a: results.select(a, penalty=penalty) for a in results.algorithms(penalty)}
        # DAACE may have planned for few counties, to which the others would be cut down.
        most = max((len(f) for f in found.values()), default=0)
        found = {a: f for a, f in found.items() if a != "DAACE" or len(f) == most}
        if "BayesACE" not in found or not all(len(f) for f in found.values()):
            continue
        common = sorted(set.intersection(*(set(f.index) for f in found.values())))
        for label, column in columns.items():
            values = {a: f.loc[common, column] for a, f in found.items()}
            shown = {a: v.tolist() for a, v in values.items()}
            if column == "cost":
                unit = values["BayesACE"]
                shown = {a: paired_ratio(v, unit).tolist() for a, v in values.items()}
            panels.setdefault(label, {})[f"{penalty:g}"] = shown
    return panels


def _plain(series: Any) -> dict[int, object]:
    return {int(fips): value for fips, value in series.items()}
