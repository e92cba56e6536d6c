"""The paper's ten findings, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data import DOMAINS, RUCC, Counties
from daace.eqi.model import domain_effects, domains_of, index_arcs
from daace.eqi.results import Results
from daace.eqi.run import PENALTY
from daace.explain.network import signed_arcs

AGREES, IN_PART, DIFFERS, OPEN = "agrees", "in part", "does not agree", "not enough plans"

SOCIO = "Sociodemographic"


@dataclass(frozen=True)
class Part:
    """One statement that can be checked: what it says, our numbers, and whether it holds."""

    says: str
    ours: str
    holds: bool | None


@dataclass(frozen=True)
class Finding:
    """A row of the table: what the paper found, and its parts."""

    number: int
    title: str
    paper: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        """Return whether ours agrees: in all parts, in some, or in none."""
        known = [part.holds for part in self.parts if part.holds is not None]
        if not known:
            return OPEN
        return AGREES if all(known) else IN_PART if any(known) else DIFFERS


def check_findings(results: Results, network: LinearGaussianNetwork) -> list[Finding]:
    """Return the ten findings, each with our numbers.

    Args:
        results: of a run.
        network: the restricted one.
    """
    counties = results.counties
    checks: Sequence[tuple[str, str, Callable[[], list[Part]]]] = (
        (
            "Signs among the indices",
            "Class to index: all positive but the sociodemographic one; built and "
            "sociodemographic are linked positively.",
            lambda: _signs(network),
        ),
        (
            "Variables against their index",
            "Air, water and land variables act negatively on their index.",
            lambda: _variables(network, counties),
        ),
        (
            "City and country",
            "Metropolitan counties: all indices up but the sociodemographic, slightly down. Rural: "
            "sociodemographic up, more needed everywhere, air most.",
            lambda: _city_and_country(results),
        ),
        (
            "By category",
            "Good counties need the sociodemographic domain; worse ones a uniform improvement, air "
            "most (text). The need in water and land grows and that in air falls (caption).",
            lambda: _by_category(results),
        ),
        (
            "Most changed variables",
            "Isophorone and cobalt compounds, linked in the network; vacant houses, home value, "
            "home ownership.",
            lambda: _most_changed(results, network),
        ),
        (
            "Cost and sparsity",
            "BayesACE is cheaper and sparser at penalties 3 and 5; at 10 and 15 FACE is cheaper "
            "and Wachter sparser.",
            lambda: _cost(results),
        ),
        (
            "Wachter's blind spot",
            "Wachter often misses the sociodemographic loss.",
            lambda: _blind_spot(results),
        ),
        (
            "New York",
            "Air first for all; sociodemographic -2.7 (FACE -3.7, Wachter -5.7, and land -3.6); "
            "FACE slightly better in cost and sparsity.",
            lambda: _new_york(results),
        ),
        (
            "Los Angeles",
            "Water and built first; sociodemographic -1.9 (FACE +0.6, but a loss at penalties 10 "
            "and 15); methoxychlor and dinoseb down.",
            lambda: _los_angeles(results),
        ),
        (
            "Conejos",
            "Built, land, water, in that order; public transport and roads; no index damaged; mean "
            "change 2.59 (FACE 3.67, Wachter 4.5, which raises the sociodemographic index).",
            lambda: _conejos(results),
        ),
    )
    return [
        Finding(k, title, paper, tuple(parts()))
        for k, (title, paper, parts) in enumerate(checks, 1)
    ]


# What the network says ----------------------------------------------------------------------------


def _signs(network: LinearGaussianNetwork) -> list[Part]:
    arcs = index_arcs(network)
    effect: Any = arcs[arcs["parent"] == "Category"].set_index("child")["effect"]
    ours = ", ".join(f"{c.removesuffix(' index')} {e:+.2f}" for c, e in effect.items())
    socio = effect.pop(f"{SOCIO} index")
    pair = {f"{SOCIO} index", "Built index"}
    linked = arcs[[{p, c} == pair for p, c in zip(arcs["parent"], arcs["child"], strict=True)]]
    between = float(linked["effect"].iloc[0]) if len(linked) else np.nan
    return [
        Part("all positive but the sociodemographic", ours, bool((effect > 0).all() and socio < 0)),
        Part(
            "built - sociodemographic positive",
            f"built and sociodemographic {_signed(between)}",
            bool(between > 0),
        ),
    ]


def _variables(network: LinearGaussianNetwork, counties: Counties) -> list[Part]:
    effects = domain_effects(network, domains_of(counties))
    parts = []
    for domain in ("Air", "Water", "Land"):
        mine = effects.loc[effects["domain"] == domain, "correlation"]
        arcs = effects.loc[effects["domain"] == domain, "effect"].dropna()
        parts.append(
            Part(
                f"{domain}: more of a variable, a worse index",
                f"{(mine < 0).mean():.0%} of {len(mine)} variables, mean correlation "
                f"{mine.mean():+.2f}; {int((arcs < 0).sum())} of {len(arcs)} arcs from the index",
                bool((mine < 0).mean() > 0.5 and mine.mean() < 0),
            )
        )
    return parts


# What the plans say -------------------------------------------------------------------------------


def _city_and_country(results: Results) -> list[Part]:
    plans = results.select()
    means: Any = plans.groupby("rucc")[list(DOMAINS)].mean()
    if not {1, 4} <= set(means.index):
        return [Part("metropolitan and rural counties", "none of one kind were planned for", None)]
    city, country = means.loc[1], means.loc[4]
    others = [domain for domain in DOMAINS if domain != SOCIO]
    return [
        Part("metropolitan: all up but sociodemographic, slightly down",
             f"metropolitan {_list(city)}",
             bool((city[others] > 0).all() and -0.5 < city[SOCIO] < 0)),
        Part("rural: sociodemographic up", f"rural sociodemographic {_signed(country[SOCIO])}",
             bool(country[SOCIO] > 0)),
        Part("rural: more needed everywhere",
             f"rural {_list(country)}", bool((country[others] > city[others]).all())),
        Part("rural: air most", f"rural most: {country.idxmax()}", bool(country.idxmax() == "Air")),
    ]  # fmt: skip


def _by_category(results: Results) -> list[Part]:
    means: Any = results.select().groupby("category")[list(DOMAINS)].mean()
    if len(means) < 3:
        return [Part("categories", "plans of fewer than three categories", None)]
    best, worst = means.iloc[0], means.iloc[-2:].mean()
    slope = {d: float(np.polyfit(means.index.to_numpy(float), means[d], 1)[0]) for d in DOMAINS}
    others = [domain for domain in DOMAINS if domain != SOCIO]
    return [
        Part("good counties need sociodemographic", f"category {means.index[0]}: {_list(best)}",
             bool(best[SOCIO] > 0)),
        Part("worse ones: uniform, air most (text)", f"the two worst: {_list(worst)}",
             bool((worst[others] > 0).all() and worst.idxmax() == "Air")),
        Part("need in water and land grows (caption)",
             f"per category: water {slope['Water']:+.2f}, land {slope['Land']:+.2f}",
             slope["Water"] > 0 and slope["Land"] > 0),
        Part("need in air falls (caption)", f"air {slope['Air']:+.2f}", slope["Air"] < 0),
    ]  # fmt: skip


def top_variables(results: Results, *, most: int = 5, mode: str = "free") -> dict[str, pd.Series]:
    """Return, by domain, the variables with the largest mean absolute change, in sd."""
    changes = results.changes(mode=mode).abs().mean()
    counties = results.counties
    return {
        domain: changes[[v for v in counties.kept if counties.domain(v) == domain]].nlargest(most)
        for domain in DOMAINS
    }


def _most_changed(results: Results, network: LinearGaussianNetwork) -> list[Part]:
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
            Part("air: isophorone and cobalt among the first five",
                 ", ".join(names[v].removesuffix(" emissions") for v in tops["Air"].index),
                 wanted <= set(tops["Air"].index)),
            Part("isophorone and cobalt are linked",
                 "an arc joins them" if linked else "no arc", linked),
        ]  # fmt: skip
    if homes <= known:
        parts.append(
            Part("vacancy, home value, ownership among the first five",
                 ", ".join(names[v] for v in tops[SOCIO].index), homes <= set(tops[SOCIO].index))
        )  # fmt: skip
    return parts or [Part("EPA's variables", "other variables", None)]


def _cost(results: Results) -> list[Part]:
    parts = []
    for penalty in results.penalties():
        found = {a: results.select(a, penalty=penalty) for a in results.algorithms(penalty)}
        if not {"BayesACE", "FACE", "Wachter"} <= set(found):
            continue
        both = found["BayesACE"].index.intersection(found["FACE"].index)
        ours, face = (found[a].loc[both, "cost"].astype(float) for a in ("BayesACE", "FACE"))
        wins = float((ours < face).mean())
        sparse = {
            a: float(found[a]["path_sparsity"].median()) for a in ("BayesACE", "FACE", "Wachter")
        }
        low = penalty <= PENALTY
        ratio = float((ours / face).median())
        share = f"{wins:.0%} of {len(both)}"
        cheaper = f"at {penalty:g} BayesACE cheaper for {share}, median ratio {ratio:.2g}"
        sizes = ", ".join(f"{a} {s:g}" for a, s in sparse.items())
        least = min(sparse, key=lambda a: sparse[a])
        parts += [
            Part(f"penalty {penalty:g}: {'BayesACE' if low else 'FACE'} cheaper", cheaper,
                 bool(wins > 0.5) if low else bool(wins < 0.5)),
            Part(f"penalty {penalty:g}: {'BayesACE' if low else 'Wachter'} sparsest",
                 f"median features {sizes}",
                 least == ("BayesACE" if low else "Wachter")),
        ]  # fmt: skip
    return parts or [Part("three algorithms", "not all have plans", None)]


def _blind_spot(results: Results) -> list[Part]:
    ours: Any = results.select()
    other: Any = results.select("Wachter")
    both = ours.index.intersection(other.index)
    if both.empty:
        return [Part("both algorithms", "not both have plans", None)]
    loss = ours.loc[both, SOCIO] < 0
    if not loss.any():
        return [Part("counties with a loss", "BayesACE sees none", None)]
    missed = float((other.loc[both, SOCIO][loss] >= 0).mean())
    return [
        Part("no loss for over a third of the counties where BayesACE sees one",
             f"Wachter shows none for {missed:.0%} of {int(loss.sum())}", missed > 1 / 3)
    ]  # fmt: skip


# Three counties -----------------------------------------------------------------------------------


def county_changes(results: Results, fips: int, *, penalty: float = PENALTY) -> pd.DataFrame:
    """Return what each algorithm does to the indices of a county: a row per algorithm."""
    rows = {}
    for algorithm in results.algorithms(penalty):
        found = results.select(algorithm, penalty=penalty)
        if fips in found.index:
            rows[algorithm] = found.loc[fips, list(DOMAINS)].astype(float)
    return pd.DataFrame(rows).T.reindex(columns=list(DOMAINS))


def _new_york(results: Results) -> list[Part]:
    frame: Any = county_changes(results, 36061)
    if "BayesACE" not in frame.index:
        return [Part("New York", "no plan", None)]
    paper = frame.drop(index="DAACE", errors="ignore")  # whom the paper did not ask
    first = {a: frame.loc[a].idxmax() for a in frame.index}
    socio = "sociodemographic: " + ", ".join(f"{a} {_signed(x)}" for a, x in frame[SOCIO].items())
    parts = [
        Part("air first for all", "first: " + ", ".join(f"{a} {d}" for a, d in first.items()),
             {first[a] for a in paper.index} == {"Air"}),
        Part("sociodemographic loss, least by BayesACE", socio,
             bool((paper[SOCIO] < 0).all() and paper[SOCIO].idxmax() == "BayesACE")),
    ]  # fmt: skip
    ours: Any = results.select()
    face: Any = results.select("FACE")
    if 36061 in ours.index and 36061 in face.index:
        a, b = ours.loc[36061], face.loc[36061]
        better = float(b["cost"]) < float(a["cost"]) and b["path_sparsity"] <= a["path_sparsity"]
        parts.append(
            Part("FACE better in cost and sparsity",
                 f"cost {float(b['cost']):.3g} against {float(a['cost']):.3g}, features "
                 f"{b['path_sparsity']:g} against {a['path_sparsity']:g}", bool(better))
        )  # fmt: skip
    return parts


def _los_angeles(results: Results) -> list[Part]:
    frame: Any = county_changes(results, 6037)
    if "BayesACE" not in frame.index:
        return [Part("Los Angeles", "no plan", None)]
    ours = frame.loc["BayesACE"]
    change: Any = results.changes().loc[6037]
    parts = [
        Part("water and built first", _list(ours.sort_values(ascending=False)),
             set(ours.nlargest(2).index) == {"Water", "Built"}),
        Part("sociodemographic loss",
             "sociodemographic: "
             + ", ".join(f"{a} {_signed(x)}" for a, x in frame[SOCIO].items()),
             bool(ours[SOCIO] < 0)),
    ]  # fmt: skip
    if "FACE" in frame.index:
        later = {
            p: float(results.select("FACE", penalty=p)[SOCIO][6037])
            for p in results.penalties()
            if p > PENALTY and 6037 in results.select("FACE", penalty=p).index
        }
        text = ", ".join(f"at {p:g} {_signed(x)}" for p, x in later.items())
        parts.append(
            Part("FACE: a gain at 5, a loss at 10 and 15",
                 f"FACE at {PENALTY:g} {_signed(frame.loc['FACE', SOCIO])}, {text}",
                 bool(frame.loc["FACE", SOCIO] > 0 and all(x < 0 for x in later.values())))
        )  # fmt: skip
    pesticides = {"W_METHOXYCHLOR": "methoxychlor", "W_DINOSEB": "dinoseb"}
    if set(pesticides) <= set(change.index):
        text = ", ".join(f"{name} {_signed(change[v])} sd" for v, name in pesticides.items())
        parts.append(Part("methoxychlor and dinoseb down", text,
                          bool((change[list(pesticides)] < 0).all())))  # fmt: skip
    return parts


def _conejos(results: Results) -> list[Part]:
    frame: Any = county_changes(results, 8021)
    if "BayesACE" not in frame.index:
        return [Part("Conejos", "no plan", None)]
    ours = frame.loc["BayesACE"]
    order = list(ours.sort_values(ascending=False).index[:3])
    mean = frame.abs().mean(axis=1)
    parts = [
        Part("built, land, water, in that order", _list(ours.sort_values(ascending=False)),
             order == ["Built", "Land", "Water"]),
        Part("no index damaged", f"least: {_signed(ours.min())} ({ours.idxmin()})",
             bool(ours.min() > -0.05)),
        Part("smallest mean change of the indices by BayesACE",
             "mean change: " + ", ".join(f"{a} {x:.2f}" for a, x in mean.items()),
             mean.drop("DAACE", errors="ignore").idxmin() == "BayesACE"),
    ]  # fmt: skip
    if "Wachter" in frame.index:
        parts.append(Part("Wachter raises sociodemographic",
                          f"Wachter's sociodemographic {_signed(frame.loc['Wachter', SOCIO])}",
                          bool(frame.loc["Wachter", SOCIO] > 0)))  # fmt: skip
    change: Any = results.changes().loc[8021]
    built = [v for v in results.counties.kept if results.counties.domain(v) == "Built"]
    wanted = {"PubTrans", "SecondaryRoadProportion"}
    if wanted <= set(built):
        top = change[built].abs().nlargest(5)
        names = results.counties.variables["label"]
        parts.append(Part("public transport and roads among the first five of built",
                          ", ".join(f"{names[v]} {_signed(change[v])} sd" for v in top.index),
                          wanted <= set(top.index)))  # fmt: skip
    return parts


def rucc_name(code: int) -> str:
    """Return a rural-urban code in words.

    Example:
        >>> rucc_name(4)
        '4 rural'
    """
    return f"{code} {RUCC[code]}"


def _list(values: pd.Series) -> str:
    return ", ".join(f"{domain} {_signed(x)}" for domain, x in values.items())


def _signed(value: float) -> str:
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}"
