"""What the paper found about three counties; one plan each, so there is nothing to test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from daace.eqi.data import DOMAINS
from daace.eqi.evidence import Part, list_changes, missing, signed
from daace.eqi.results import Results
from daace.eqi.run import PENALTY

SOCIO = "Sociodemographic"

LOS_ANGELES, CONEJOS, NEW_YORK = 6037, 8021, 36061

PESTICIDES = {"W_METHOXYCHLOR": "methoxychlor", "W_DINOSEB": "dinoseb"}

#: An index that falls by less than this is not damaged.
DAMAGE = 0.05


def county_changes(results: Results, fips: int, *, penalty: float = PENALTY) -> pd.DataFrame:
    """Return what each algorithm does to the indices of a county: a row per algorithm."""
    rows = {}
    for algorithm in results.algorithms(penalty):
        found = results.select(algorithm, penalty=penalty)
        if fips in found.index:
            rows[algorithm] = found.loc[fips, list(DOMAINS)].astype(float)
    return pd.DataFrame(rows).T.reindex(columns=list(DOMAINS))


def new_york(results: Results) -> Sequence[Part]:
    """Air first for all; a sociodemographic loss, least by BayesACE; FACE slightly better."""
    frame: Any = county_changes(results, NEW_YORK)
    if "BayesACE" not in frame.index:
        return missing("New York", "no plan")
    paper = frame.drop(index="DAACE", errors="ignore")  # whom the paper did not ask
    first = {a: frame.loc[a].idxmax() for a in frame.index}
    parts = [
        Part(
            says="air first for all",
            ours="first: " + ", ".join(f"{a} {d}" for a, d in first.items()),
            holds={first[a] for a in paper.index} == {"Air"},
        ),
        Part(
            says="sociodemographic loss, least by BayesACE",
            ours=f"sociodemographic: {list_changes(frame[SOCIO])}",
            holds=bool((paper[SOCIO] < 0).all() and paper[SOCIO].idxmax() == "BayesACE"),
        ),
    ]
    ours: Any = results.select()
    face: Any = results.select("FACE")
    if NEW_YORK in ours.index and NEW_YORK in face.index:
        a, b = ours.loc[NEW_YORK], face.loc[NEW_YORK]
        better = float(b["cost"]) < float(a["cost"]) and b["path_sparsity"] <= a["path_sparsity"]
        parts.append(
            Part(
                says="FACE better in cost and sparsity",
                ours=f"cost {float(b['cost']):.3g} against {float(a['cost']):.3g}, features "
                f"{b['path_sparsity']:g} against {a['path_sparsity']:g}",
                holds=bool(better),
            )
        )
    return parts


def los_angeles(results: Results) -> Sequence[Part]:
    """Water and built first; a sociodemographic loss; two pesticides down."""
    frame: Any = county_changes(results, LOS_ANGELES)
    if "BayesACE" not in frame.index:
        return missing("Los Angeles", "no plan")
    ours = frame.loc["BayesACE"]
    parts = [
        Part(
            says="water and built first",
            ours=list_changes(ours.sort_values(ascending=False)),
            holds=set(ours.nlargest(2).index) == {"Water", "Built"},
        ),
        Part(
            says="sociodemographic loss",
            ours=f"sociodemographic: {list_changes(frame[SOCIO])}",
            holds=bool(ours[SOCIO] < 0),
        ),
    ]
    if "FACE" in frame.index:
        later = {
            p: float(results.select("FACE", penalty=p)[SOCIO][LOS_ANGELES])
            for p in results.penalties()
            if p > PENALTY and LOS_ANGELES in results.select("FACE", penalty=p).index
        }
        text = ", ".join(f"at {p:g} {signed(x)}" for p, x in later.items())
        gain = frame.loc["FACE", SOCIO]
        parts.append(
            Part(
                says="FACE: a gain at 5, a loss at 10 and 15",
                ours=f"FACE at {PENALTY:g} {signed(gain)}, {text}",
                holds=bool(gain > 0 and all(x < 0 for x in later.values())),
            )
        )
    change: Any = results.changes().loc[LOS_ANGELES]
    if set(PESTICIDES) <= set(change.index):
        parts.append(
            Part(
                says="methoxychlor and dinoseb down",
                ours=", ".join(f"{name} {signed(change[v])} sd" for v, name in PESTICIDES.items()),
                holds=bool((change[list(PESTICIDES)] < 0).all()),
            )
        )
    return parts


def conejos(results: Results) -> Sequence[Part]:
    """Built, land, water; no index damaged; the smallest sum of changes by BayesACE."""
    frame: Any = county_changes(results, CONEJOS)
    if "BayesACE" not in frame.index:
        return missing("Conejos", "no plan")
    ours = frame.loc["BayesACE"]
    order = ours.sort_values(ascending=False)
    total = frame.sum(axis=1)
    parts = [
        Part(
            says="built, land, water, in that order",
            ours=list_changes(order),
            holds=list(order.index[:3]) == ["Built", "Land", "Water"],
        ),
        Part(
            says="no index damaged",
            ours=f"least: {signed(ours.min())} ({ours.idxmin()})",
            holds=bool(ours.min() > -DAMAGE),
        ),
        Part(
            says="smallest sum of changes over the domains by BayesACE",
            ours=f"sum of changes: {list_changes(total)}",
            holds=bool(total.drop("DAACE", errors="ignore").idxmin() == "BayesACE"),
        ),
    ]
    if "Wachter" in frame.index:
        raised = frame.loc["Wachter", SOCIO]
        parts.append(
            Part(
                says="Wachter raises sociodemographic",
                ours=f"Wachter's sociodemographic {signed(raised)}",
                holds=bool(raised > 0),
            )
        )
    change: Any = results.changes().loc[CONEJOS]
    built = [v for v in results.counties.kept if results.counties.domain(v) == "Built"]
    wanted = {"PubTrans", "SecondaryRoadProportion"}
    if wanted <= set(built):
        top = change[built].abs().nlargest(5)
        names = results.counties.variables["label"]
        parts.append(
            Part(
                says="public transport and roads among the first five of built",
                ours=", ".join(f"{names[v]} {signed(change[v])} sd" for v in top.index),
                holds=wanted <= set(top.index),
            )
        )
    return parts
