"""What the paper found about three counties; one plan each, so there is nothing to test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from daace.eqi.data.counties import DOMAINS
from daace.eqi.policy.study import CONEJOS, LOS_ANGELES, NEW_YORK, PENALTY
from daace.eqi.report.evidence import Part, list_changes, missing, observed, signed
from daace.eqi.report.results import CountyResults

SOCIO = "Sociodemographic"

PESTICIDES = {"W_METHOXYCHLOR": "methoxychlor", "W_DINOSEB": "dinoseb"}

#: An index that falls by less than this is not damaged.
DAMAGE = 0.05


def county_changes(results: CountyResults, fips: int, penalty: float = PENALTY) -> pd.DataFrame:
    """Return what each algorithm does to the indices of a county: a row per algorithm."""
    rows = {}
    for algorithm in results.algorithms(penalty):
        found = results.select(algorithm, penalty=penalty)
        if fips in found.index:
            rows[algorithm] = found.loc[fips, list(DOMAINS)]
    return pd.DataFrame(rows).T.reindex(columns=list(DOMAINS))


def check_three_counties(results: CountyResults) -> list[Sequence[Part]]:
    """Return what holds for New York, Los Angeles and Conejos, in the order of the paper."""
    checks = (
        ("New York", NEW_YORK, _new_york),
        ("Los Angeles", LOS_ANGELES, _los_angeles),
        ("Conejos", CONEJOS, _conejos),
    )
    found: list[Sequence[Part]] = []
    for name, fips, check in checks:
        frame = county_changes(results, fips)
        planned = "BayesACE" in frame.index
        found.append(check(results, frame) if planned else missing(name, "no plan"))
    return found


def _new_york(results: CountyResults, frame: Any) -> list[Part]:
    """Air first for all; a sociodemographic loss, least by BayesACE; FACE slightly better."""
    paper = frame.drop(index="DAACE", errors="ignore")  # which the paper did not run here
    first = {a: frame.loc[a].idxmax() for a in frame.index}
    parts = [
        observed(
            "air first for all",
            "first: " + ", ".join(f"{a} {d}" for a, d in first.items()),
            {first[a] for a in paper.index} == {"Air"},
        ),
        observed(
            "sociodemographic loss, least by BayesACE",
            f"sociodemographic: {list_changes(frame[SOCIO])}",
            (paper[SOCIO] < 0).all() and paper[SOCIO].idxmax() == "BayesACE",
        ),
    ]
    if "FACE" in frame.index:
        plans: Any = {name: results.select(name).loc[NEW_YORK] for name in ("BayesACE", "FACE")}
        a, b = plans["BayesACE"], plans["FACE"]
        better = float(b["cost"]) < float(a["cost"]) and b["path_sparsity"] <= a["path_sparsity"]
        ours = (
            f"cost {float(b['cost']):.3g} against {float(a['cost']):.3g}, features "
            f"{b['path_sparsity']:g} against {a['path_sparsity']:g}"
        )
        parts.append(observed("FACE better in cost and sparsity", ours, better))
    return parts


def _los_angeles(results: CountyResults, frame: Any) -> list[Part]:
    """Water and built first; a sociodemographic loss; two pesticides down."""
    ours = frame.loc["BayesACE"]
    parts = [
        observed(
            "water and built first",
            list_changes(ours.sort_values(ascending=False)),
            set(ours.nlargest(2).index) == {"Water", "Built"},
        ),
        observed(
            "sociodemographic loss",
            f"sociodemographic: {list_changes(frame[SOCIO])}",
            ours[SOCIO] < 0,
        ),
    ]
    if "FACE" in frame.index:
        higher = {p: results.select("FACE", penalty=p) for p in results.penalties() if p > PENALTY}
        later = {
            p: float(found[SOCIO][LOS_ANGELES])
            for p, found in higher.items()
            if LOS_ANGELES in found.index
        }
        gain = frame.loc["FACE", SOCIO]
        text = ", ".join(f"at {p:g} {signed(x)}" for p, x in later.items())
        parts.append(
            observed(
                "FACE: a gain at 5, a loss at 10 and 15",
                f"FACE at {PENALTY:g} {signed(gain)}, {text}",
                gain > 0 and all(x < 0 for x in later.values()),
            )
        )
    change: Any = results.changes().loc[LOS_ANGELES]
    if set(PESTICIDES) <= set(change.index):
        named = ", ".join(f"{name} {signed(change[v])} sd" for v, name in PESTICIDES.items())
        down = (change[list(PESTICIDES)] < 0).all()
        parts.append(observed("methoxychlor and dinoseb down", named, down))
    return parts


def _conejos(results: CountyResults, frame: Any) -> list[Part]:
    """Built, land, water; no index damaged; the smallest sum of changes by BayesACE."""
    ours = frame.loc["BayesACE"]
    order = ours.sort_values(ascending=False)
    total = frame.sum(axis=1)
    parts = [
        observed(
            "built, land, water, in that order",
            list_changes(order),
            list(order.index[:3]) == ["Built", "Land", "Water"],
        ),
        observed(
            "no index damaged",
            f"least: {signed(ours.min())} ({ours.idxmin()})",
            ours.min() > -DAMAGE,
        ),
        observed(
            "smallest sum of changes over the domains by BayesACE",
            f"sum of changes: {list_changes(total)}",
            total.drop("DAACE", errors="ignore").idxmin() == "BayesACE",
        ),
    ]
    if "Wachter" in frame.index:
        raised = frame.loc["Wachter", SOCIO]
        text = f"Wachter's sociodemographic {signed(raised)}"
        parts.append(observed("Wachter raises sociodemographic", text, raised > 0))
    counties = results.counties
    change: Any = results.changes().loc[CONEJOS]
    built = [v for v in counties.kept if counties.domain(v) == "Built"]
    wanted = {"PubTrans", "SecondaryRoadProportion"}
    if wanted <= set(built):
        top = change[built].abs().nlargest(5)
        names = counties.variables["label"]
        parts.append(
            observed(
                "public transport and roads among the first five of built",
                ", ".join(f"{names[v]} {signed(change[v])} sd" for v in top.index),
                wanted <= set(top.index),
            )
        )
    return parts
