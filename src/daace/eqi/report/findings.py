"""The paper's ten findings, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import DOMAINS, Counties
from daace.eqi.models.effects import domain_effects, index_arcs
from daace.eqi.policy.study import COMPARED, PENALTY
from daace.eqi.report.evidence import (
    Direction,
    Finding,
    Part,
    all_of,
    before,
    first_of,
    larger,
    list_changes,
    missing,
    most,
    observed,
    rises,
    share_above,
    signed,
    trend,
)
from daace.eqi.report.results import CountyResults
from daace.eqi.report.three_counties import SOCIO, check_three_counties
from daace.explain.trust.network import signed_arcs
from daace.study.contest import Contest

#: "Often": more than this share of the counties.
OFTEN = 1 / 3

OTHERS = [domain for domain in DOMAINS if domain != SOCIO]


#: Title of each finding, and the paper's statement.
FINDINGS = (
    (
        "Signs among the indices",
        "Class to index: all positive but the sociodemographic one; built and "
        "sociodemographic are linked positively.",
    ),
    (
        "Variables against their index",
        "Air, water and land variables act negatively on their index.",
    ),
    (
        "City and country",
        "Metropolitan counties: all indices up but the sociodemographic, slightly down. Rural: "
        "sociodemographic up, more needed everywhere, air most.",
    ),
    (
        "By category",
        "Good counties need the sociodemographic domain; worse ones a uniform improvement, air "
        "most (text). The need in water and land grows and that in air falls (caption).",
    ),
    (
        "Most changed variables",
        "Isophorone and cobalt compounds, linked in the network; vacant houses, home value, "
        "home ownership.",
    ),
    (
        "Cost and sparsity",
        "BayesACE is cheaper and sparser at penalties 3 and 5; at 10 and 15 FACE is cheaper "
        "and Wachter sparser.",
    ),
    (
        "Wachter's blind spot",
        "Wachter often misses the sociodemographic loss.",
    ),
    (
        "New York",
        "Air first for all; sociodemographic -2.7 (FACE -3.7, Wachter -5.7, and land -3.6); "
        "FACE slightly better in cost and sparsity.",
    ),
    (
        "Los Angeles",
        "Water and built first; sociodemographic -1.9 (FACE +0.6, but a loss at penalties 10 "
        "and 15); methoxychlor and dinoseb down.",
    ),
    (
        "Conejos",
        "Built, land, water, in that order; public transport and roads; no index damaged; sum "
        "of changes 2.59 (FACE 3.67, Wachter 4.5, which raises the sociodemographic index).",
    ),
)


def check_findings(results: CountyResults, network: LinearGaussianNetwork) -> list[Finding]:
    """Return the ten findings, each with our numbers.

    Args:
        results: the results of a run.
        network: the restricted one.
    """
    counties = results.counties
    parts = (
        _signs(network),
        _variables(network, counties),
        _city_and_country(results),
        _by_category(results),
        _most_changed(results, network),
        _cost(results),
        _blind_spot(results),
        *check_three_counties(results),
    )
    return [
        Finding(number, title, paper, tuple(mine))
        for number, ((title, paper), mine) in enumerate(zip(FINDINGS, parts, strict=True), 1)
    ]


# Findings about the network -----------------------------------------------------------------------


def _signs(network: LinearGaussianNetwork) -> list[Part]:
    arcs = index_arcs(network)
    effect: Any = arcs[arcs["parent"] == "Category"].set_index("child")["effect"]
    ours = ", ".join(f"{c.removesuffix(' index')} {e:+.2f}" for c, e in effect.items())
    socio = effect.pop(f"{SOCIO} index")
    pair = {f"{SOCIO} index", "Built index"}
    linked = arcs[[{p, c} == pair for p, c in zip(arcs["parent"], arcs["child"], strict=True)]]
    between = float(linked["effect"].iloc[0]) if len(linked) else np.nan
    return [
        observed(
            "all positive but the sociodemographic",
            ours,
            (effect > 0).all() and socio < 0,
        ),
        observed(
            "built - sociodemographic positive",
            f"built and sociodemographic {signed(between)}",
            between > 0,
        ),
    ]


def _variables(network: LinearGaussianNetwork, counties: Counties) -> list[Part]:
    effects = domain_effects(network, counties.domain_of)
    parts = []
    for domain in ("Air", "Water", "Land"):
        mine = effects.loc[effects["domain"] == domain, "correlation"]
        arcs = effects.loc[effects["domain"] == domain, "effect"].dropna()
        negative = int((mine < 0).sum())
        ours = (
            f"{negative / len(mine):.0%} of {len(mine)} variables, mean correlation "
            f"{mine.mean():+.2f}; {int((arcs < 0).sum())} of {len(arcs)} arcs from the index"
        )
        statement = f"{domain}: more of a variable, a worse index"
        parts.append(all_of(statement, ours, [share_above(negative, len(mine), 0.5)]))
    return parts


# Findings about the plans -------------------------------------------------------------------------


def _city_and_country(results: CountyResults) -> Sequence[Part]:
    plans: Any = results.select()
    groups = {int(code): mine[list(DOMAINS)] for code, mine in plans.groupby("rucc")}
    if not {1, 4} <= set(groups):
        return missing("metropolitan and rural counties", "none of one kind were planned for")
    city, country = groups[1], groups[4]
    up = [rises(city[d]) for d in OTHERS]
    return [
        all_of(
            "metropolitan: all up but sociodemographic, down",
            f"metropolitan ({len(city)}) {list_changes(city.mean())}",
            [*up, rises(city[SOCIO], falls=True)],
        ),
        all_of(
            "rural: sociodemographic up",
            f"rural ({len(country)}) sociodemographic {signed(country[SOCIO].mean())}",
            [rises(country[SOCIO])],
        ),
        all_of(
            "rural: more needed everywhere",
            f"rural {list_changes(country.mean())}",
            [larger(country[d], city[d]) for d in OTHERS],
        ),
        all_of("rural: air most", _order(country), [most(country, "Air")]),
    ]


def _by_category(results: CountyResults) -> Sequence[Part]:
    plans: Any = results.select()
    categories = sorted(int(k) for k in plans["category"].unique())
    if len(categories) < 3:
        return missing("categories", "plans of fewer than three categories")
    changes, category = plans[list(DOMAINS)], plans["category"]
    best = changes[category == categories[0]]
    worst = changes[category.isin(categories[-2:])]
    rho = {domain: trend(changes[domain], category) for domain in DOMAINS}
    grows = {d: Direction(rho[d][0] > 0, rho[d][1]) for d in ("Water", "Land")}
    listed = {d: f"{rho[d][0]:+.2f}" for d in DOMAINS}
    return [
        all_of(
            "good counties need sociodemographic",
            f"category {categories[0]} ({len(best)}): {list_changes(best.mean())}",
            [rises(best[SOCIO])],
        ),
        all_of(
            "worse ones: all up, air most (text)",
            f"the two worst ({len(worst)}): {list_changes(worst.mean())}",
            [*(rises(worst[d]) for d in OTHERS), most(worst, "Air")],
        ),
        all_of(
            "need in water and land grows (caption)",
            f"rank correlation with the category: water {listed['Water']}, land {listed['Land']}",
            grows.values(),
        ),
        all_of(
            "need in air falls (caption)",
            f"rank correlation with the category: air {listed['Air']}",
            [Direction(rho["Air"][0] < 0, rho["Air"][1])],
        ),
    ]


def top_variables(results: CountyResults) -> dict[str, pd.Series]:
    """Return, by domain, the five variables with the largest mean absolute change, in sd."""
    changes = results.changes().abs().mean()
    counties = results.counties
    return {
        domain: changes[[v for v in counties.kept if counties.domain(v) == domain]].nlargest(5)
        for domain in DOMAINS
    }


def _most_changed(results: CountyResults, network: LinearGaussianNetwork) -> Sequence[Part]:
    tops = top_variables(results)
    names = results.counties.variables["label"]
    arcs = signed_arcs(network)
    wanted = {"a_isophorone", "a_co"}
    linked = any({p, c} == wanted for p, c in zip(arcs["parent"], arcs["child"], strict=True))
    homes = {"Pct_Vacant_Housing", "Med_HH_Value", "Pct_RenterOcc"}
    known = set(names.index)
    parts = []
    if wanted <= known:
        parts = [
            observed(
                "air: isophorone and cobalt among the first five",
                ", ".join(names[v].removesuffix(" emissions") for v in tops["Air"].index),
                wanted <= set(tops["Air"].index),
            ),
            observed(
                "isophorone and cobalt are linked",
                "an arc joins them" if linked else "no arc",
                linked,
            ),
        ]
    if homes <= known:
        parts.append(
            observed(
                "vacancy, home value, ownership among the first five",
                ", ".join(names[v] for v in tops[SOCIO].index),
                homes <= set(tops[SOCIO].index),
            )
        )
    return parts or missing("EPA's variables", "other variables")


def _cost(results: CountyResults) -> Sequence[Part]:
    parts = []
    for penalty in results.penalties():
        if not set(COMPARED) <= set(results.algorithms(penalty)):
            continue
        found = {a: results.select(a, penalty=penalty) for a in COMPARED}
        cost, sparse = (
            pd.DataFrame({a: f[column] for a, f in found.items()}).dropna()
            for column in ("cost", "path_sparsity")
        )
        if cost.empty:
            continue
        low = penalty <= PENALTY
        cheaper, dearer = ("BayesACE", "FACE") if low else ("FACE", "BayesACE")
        sparsest = "BayesACE" if low else "Wachter"
        contests = Contest(cost), Contest(sparse)
        parts += [
            all_of(
                f"penalty {penalty:g}: {cheaper} cheaper",
                f"at {penalty:g} {_cheaper(cost)}; {_ranks(contests[0])}",
                [before(contests[0], cheaper, dearer)],
            ),
            all_of(
                f"penalty {penalty:g}: {sparsest} sparsest",
                "median features "
                + ", ".join(f"{a} {x:g}" for a, x in sparse.median().items())
                + f"; {_ranks(contests[1])}",
                [first_of(contests[1], sparsest)],
            ),
        ]
    return parts or missing("three algorithms", "not all have plans")


def _cheaper(cost: pd.DataFrame) -> str:
    """Compare BayesACE's cost with FACE's; ratios are taken of positive costs only."""
    ours, face = cost["BayesACE"], cost["FACE"]
    positive = (ours > 0) & (face > 0)
    ratio = float((ours / face)[positive].median())
    return (
        f"BayesACE cheaper for {float((ours < face).mean()):.0%} of {len(cost)}, median ratio "
        f"{ratio:.2g}"
    )


def _ranks(contest: Contest) -> str:
    ranks = contest.test.mean_ranks
    return "mean ranks " + ", ".join(f"{a} {x:.2f}" for a, x in ranks.items())


def _order(changes: pd.DataFrame) -> str:
    ranks = Contest(-changes).test.mean_ranks.sort_values()
    return "mean ranks, most first: " + ", ".join(f"{d} {x:.2f}" for d, x in ranks.items())


def _blind_spot(results: CountyResults) -> Sequence[Part]:
    ours: Any = results.select()
    other: Any = results.select("Wachter")
    both = ours.index.intersection(other.index)
    if both.empty:
        return missing("both algorithms", "not both have plans")
    loss = ours.loc[both, SOCIO] < 0
    many = int(loss.sum())
    if not many:
        return missing("counties with a loss", "BayesACE sees none")
    missed = int((other.loc[both, SOCIO][loss] >= 0).sum())
    return [
        all_of(
            "no loss for over a third of the counties where BayesACE sees one",
            f"Wachter shows none for {missed} of {many}, {missed / many:.0%}",
            [share_above(missed, many, OFTEN)],
        )
    ]
