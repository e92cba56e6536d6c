"""The tables of the page: plans found, consistency with the formulas, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.eqi.data.counties import DOMAINS, rucc_name
from daace.eqi.models.performance import performance_table
from daace.eqi.policy.study import PENALTY
from daace.eqi.report.results import CountyResults, paired_ratio
from daace.explain.pages.page import cards, table

#: Rules of planning, in the order of the page.
MODES = ("free", "equity", "consistent", "consistent equity")


def summary(results: CountyResults) -> str:
    """Return the numbers to take along, how many plans were found, and why the others were not."""
    plans = results.plans
    met = plans.loc[plans["found"], "goal_met"].astype(bool)
    known = [("Counties", f"{plans['fips'].nunique()}")]
    for mode, name in (("free", "as in the paper"), ("consistent", "with real indices")):
        count, share = results.reached(mode)
        if count:
            known.append((f"Plans {name} that reach the target by EPA's formulas", f"{share:.0%}"))
    for mode, name in (
        ("consistent", "Cost of real indices"),
        ("consistent equity", "Cost of real indices of which none falls"),
    ):
        ratio = price(results, mode, column="own_cost")
        if len(ratio):
            known.append((f"{name}, free plans: 1", f"{np.median(ratio):.2f}"))
    penalties = sorted(float(p) for p in plans["penalty"].unique())
    rows = []
    ways: dict[tuple[str, str], dict[float, pd.DataFrame]] = {}
    for (algorithm, mode, penalty), mine in _ways(plans):
        ways.setdefault((algorithm, mode), {})[penalty] = mine
    for (algorithm, mode), by_penalty in ways.items():
        every = pd.concat(list(by_penalty.values()))
        why = every.loc[~every["found"], "status"].value_counts()
        found = [
            f"{int(by_penalty[p]['found'].sum())} of {len(by_penalty[p])}"
            if p in by_penalty
            else "-"
            for p in penalties
        ]
        reasons = ", ".join(f"{n} {status}" for status, n in why.items()) or "-"
        rows.append((algorithm, mode, *found, reasons))
    head = ("algorithm", "rules", *(f"found at penalty {p:g}" for p in penalties), "why not")
    note = (
        f"{len(plans):,} plans were asked for; {plans['found'].mean():.1%} were found, and "
        f"{met.mean():.1%} of these meet the goal under the density that they were planned over."
    )
    return f'{cards(known)}<p class="note">{note}</p>{table(head, rows, words=2)}'


def price(results: CountyResults, mode: str, *, column: str = "cost") -> FloatArray:
    """Return the cost of BayesACE's plans by some rules over that of free ones, by county.

    Args:
        results: the results of a run.
        mode: the rules.
        column: 'cost' under the RealNVP, 'own_cost' under the network.
    """
    mine, base = (results.select(mode=m)[column] for m in (mode, "free"))
    return paired_ratio(mine, base)


def consistency(results: CountyResults) -> str:
    """Compare the indices of the plans with those that their variables give."""
    rows = []
    plans = results.plans[results.plans["found"]]
    for (algorithm, mode, penalty), mine in _ways(plans):
        if penalty != PENALTY:
            continue
        share = (mine["category_recomputed"] <= mine["target"]).mean()
        kept = (mine["category_planned"] <= mine["target"]).mean()
        judged = mine["posterior_judge"] >= results.thresholds[2]
        rows.append(
            (
                str(algorithm), str(mode), str(len(mine)), _size(mine["gap"].median()),
                _size(mine["gap"].max()), f"{kept:.0%}", f"{share:.0%}", f"{judged.mean():.0%}",
            )
        )  # fmt: skip
    head = (
        "algorithm", "rules", "plans", "gap (median), sd", "gap (largest), sd",
        "target by the planned indices", "target by all variables", "target by the RealNVP",
    )  # fmt: skip
    note = (
        "The five domain indices are exact functions of their variables, which the paper does not "
        "check. Gap: the largest difference, over the way and the domains, between an index in the "
        "plan and the index that the variables of the plan give (those that are not in the model "
        "stay as they are). The last columns: the share of plans whose end is in the target "
        "category, or a better one, by EPA's formulas - first from the indices as planned, then "
        "from all variables - and the share to which the RealNVP, too, gives the target with the "
        f"probability asked for. Penalty {PENALTY:g}."
    )
    return _section("Are the plans real?", note, table(head, rows, words=2))


def equity(results: CountyResults) -> str:
    """Return the cost of the rules: no index may decrease, indices must follow the formulas."""
    base = results.select()
    rows = []
    for mode in MODES[1:]:
        mine = results.select(mode=mode)
        if mine.empty:
            continue
        ratio, own = (price(results, mode, column=column) for column in ("cost", "own_cost"))
        length = paired_ratio(mine["l2"], base["l2"])
        asked = results.plans
        asked = asked[(asked["mode"] == mode) & (asked["algorithm"] == "BayesACE")]
        falls = (mine[[f"{d} (real)" for d in DOMAINS]] < -0.01).any(axis=1)
        rows.append(
            (
                mode, f"{len(mine)} of {len(asked)}", f"{np.median(own):.2f}",
                f"{np.median(ratio):.2f}",
                f"{np.quantile(ratio, 0.1):.2f} to {np.quantile(ratio, 0.9):.2f}",
                f"{np.median(length):.2f}", f"{falls.mean():.0%}",
            )
        )  # fmt: skip
    falls = (base[list(DOMAINS)] < -0.01).mean()
    worst = ", ".join(f"{d} {x:.0%}" for d, x in falls.items())
    head = (
        "rules", "found", "cost over free, network", "cost over free, RealNVP",
        "10th to 90th percentile", "L2 over free (median)", "some real index falls",
    )  # fmt: skip
    weight = results.counties.formulas.overall.weights["Sociodemographic"]
    note = (
        "Equity: no domain index may get worse at any point of the way. Costs (medians) under the "
        "network, over which was planned, and under the RealNVP; BayesACE at penalty "
        f"{PENALTY:g}. To the RealNVP a state whose indices contradict its variables is "
        "implausible ground: it charges free plans for that. "
        f"Share of free plans in which an index falls: {worst}. "
        "One reason lies in the index itself: the sociodemographic index has weight "
        f"{weight:+.2f} in the overall one, so by EPA's formula a county improves when its "
        "sociodemographic conditions get worse."
    )
    return (
        _section("What equity costs", note, table(head, rows))
        + f"<h3>By rural-urban code</h3>{_groups(results, 'rucc')}"
        + f"<details><summary>By state</summary>{_groups(results, 'state')}</details>"
        + '<p class="note">Medians over the counties of a group. Real: indices that follow from '
        "the variables; fair: none of them may fall. Prices: cost under the network with the rule "
        "over cost without, equity among plans with real indices.</p>"
    )


def _groups(results: CountyResults, by: str) -> str:
    """Return found rate, cost, length and prices of the rules, group by group."""
    plans = results.plans
    mine = plans[(plans["algorithm"] == "BayesACE") & (plans["penalty"] == PENALTY)]
    modes = {mode: mine[(mine["mode"] == mode) & mine["found"]].set_index("fips") for mode in MODES}
    typical = float(modes["free"]["cost"].median())
    rows = []
    for key in sorted(mine[by].unique()):
        asked = mine[mine[by] == key]
        here = {mode: found[found[by] == key] for mode, found in modes.items()}
        shares = [
            f"{asked.loc[asked['mode'] == mode, 'found'].mean():.0%}"
            for mode in ("free", "consistent equity")
        ]
        ratios = [
            paired_ratio(here[a]["own_cost"], here[b]["own_cost"])
            for a, b in (("consistent", "free"), ("consistent equity", "consistent"))
        ]
        rows.append(
            (
                rucc_name(int(key)) if by == "rucc" else str(key),
                str(asked["fips"].nunique()),
                *shares,
                f"{here['free']['cost'].median() / typical:.2f}",
                f"{here['free']['length'].median():.2f}",
                f"{here['consistent equity']['length'].median():.2f}",
                *(f"{np.median(r):.2f}" if len(r) else "-" for r in ratios),
            )
        )
    head = (
        "", "counties", "found", "found, real and fair", "cost, RealNVP (all: 1)", "length, sd",
        "length, real and fair", "price of real indices", "price of equity",
    )  # fmt: skip
    return table(head, rows)


def costs(results: CountyResults) -> str:
    """Return cost, distance and sparsity of each algorithm, by penalty."""
    rows = []
    for penalty in results.penalties():
        base = results.select(penalty=penalty)["cost"]
        for algorithm in results.algorithms(penalty):
            mine = results.select(algorithm, penalty=penalty)
            if mine.empty:
                continue
            ratio = paired_ratio(mine["cost"], base)
            rows.append(
                (
                    f"{penalty:g}", algorithm, str(len(mine)),
                    f"{mine['cost'].median():.3g}",
                    str(int((mine["cost"] < 0).sum())),
                    f"{np.median(ratio):.2f}" if len(ratio) else "-",
                    f"{mine['l2'].median():.2f}",
                    f"{mine['path_sparsity'].median():g}",
                    f"{mine['valid_judge'].mean():.0%}",
                )
            )  # fmt: skip
    head = (
        "penalty", "algorithm", "plans", "cost (median)", "negative costs",
        "over BayesACE (median)", "L2 (median)", "features that move (median)",
        "valid under the RealNVP",
    )  # fmt: skip
    found = results.plans[results.plans["found"]]
    negative = int((found["cost"] < 0).sum())
    note = (
        "Cost under the RealNVP, by the paper's rule (19 pieces per segment), on its scale -log p. "
        "Each algorithm checks the goal with its own density. "
        f"{negative} of all {len(found):,} plans, of any rules, have a negative cost: where p(x) > "
        "1 the paper's scale pays for a detour. They count in ranks and medians; ratios are over "
        "the counties for which both costs are positive."
    )
    return _section("Algorithms", note, table(head, rows, words=2))


def densities(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how good the densities are; nothing where that was not measured."""
    if not rows:
        return ""
    note = (
        "The paper prints -137.89 (3 parents), -123.35 (no limit) and -98.93 (RealNVP), probably "
        "cross-validated. Features in standard deviations over all counties."
    )
    return _section("Densities", note, table(*performance_table(rows), words=2))


def _section(title: str, note: str, body: str) -> str:
    return f'<h2>{title}</h2><p class="note">{note}</p>{body}'


def _ways(plans: pd.DataFrame) -> list[tuple[tuple[str, str, float], pd.DataFrame]]:
    """Return the plans by algorithm, rules and penalty, in the order of the page."""
    groups: Any = plans.groupby(["algorithm", "mode", "penalty"])
    return sorted(groups, key=lambda item: (item[0][0], MODES.index(item[0][1]), item[0][2]))


def _size(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"
