"""The tables of the application's page: what was found, what is real, what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from daace.eqi.data import DOMAINS
from daace.eqi.findings import rucc_name
from daace.eqi.results import Results, paired_ratio
from daace.eqi.run import PENALTY

#: Rules of planning, in the order of the page.
MODES = ("free", "equity", "consistent", "consistent equity")


def summary(results: Results) -> str:
    """Return how many plans were asked for and found, and why the others were not."""
    plans = results.plans
    met = plans.loc[plans["found"].astype(bool), "goal_met"].astype(bool)
    cards = [
        ("Counties", plans["fips"].nunique()),
        ("Plans asked for", len(plans)),
        ("Found", f"{plans['found'].mean():.1%}"),
        ("Of these, meet the goal", f"{met.mean():.1%}"),
    ]
    shown = "".join(f"<div><dt>{escape(a)}</dt><dd>{b}</dd></div>" for a, b in cards)
    rows = []
    for (algorithm, mode, penalty), mine in _ways(plans):
        found = mine[mine["found"].astype(bool)]
        why = mine.loc[~mine["found"].astype(bool), "status"].value_counts()
        rows.append(
            (
                str(algorithm), str(mode), f"{penalty:g}", str(len(mine)),
                f"{len(found) / len(mine):.0%}",
                ", ".join(f"{n} {status}" for status, n in why.items()) or "-",
            )
        )  # fmt: skip
    head = ("algorithm", "rules", "penalty", "asked", "found", "why not")
    return f'<dl class="cards">{shown}</dl>' + _table(head, rows)


def consistency(results: Results) -> str:
    """Compare the indices of the plans with those that their variables give."""
    rows = []
    plans = results.plans[results.plans["found"].astype(bool)]
    for (algorithm, mode, penalty), mine in _ways(plans):
        if penalty != PENALTY:
            continue
        share = (mine["category_recomputed"] <= mine["target"]).mean()
        kept = (mine["category_planned"] <= mine["target"]).mean()
        judged = mine["posterior_judge"].astype(float) >= results.thresholds[1]
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
    return f'<h2>Are the plans real?</h2><p class="note">{note}</p>{_table(head, rows)}'


def equity(results: Results) -> str:
    """Return what it costs that no index may fall, and that indices must be real."""
    base = results.select()
    rows = []
    for mode in MODES[1:]:
        mine = results.select(mode=mode)
        if mine.empty:
            continue
        ratio = paired_ratio(mine["cost"].astype(float), base["cost"].astype(float))
        length = paired_ratio(mine["l2"].astype(float), base["l2"].astype(float))
        asked = results.plans
        asked = asked[(asked["mode"] == mode) & (asked["algorithm"] == "BayesACE")]
        falls = (mine[[f"{d} (real)" for d in DOMAINS]].astype(float) < -0.01).any(axis=1)
        rows.append(
            (
                mode, f"{len(mine)} of {len(asked)}", f"{np.median(ratio):.2f}",
                f"{np.quantile(ratio, 0.1):.2f} to {np.quantile(ratio, 0.9):.2f}",
                f"{np.median(length):.2f}", f"{falls.mean():.0%}",
            )
        )  # fmt: skip
    falls = (base[list(DOMAINS)].astype(float) < -0.01).mean()
    worst = ", ".join(f"{d} {x:.0%}" for d, x in falls.items())
    head = (
        "rules", "found", "cost over free (median)", "10th to 90th percentile",
        "L2 over free (median)", "some real index falls",
    )  # fmt: skip
    weight = results.counties.formulas.overall.weights["Sociodemographic"]
    note = (
        "Equity: no domain index may get worse at any point of the way. Costs under the RealNVP, "
        f"BayesACE at penalty {PENALTY:g}. Share of free plans in which an index falls: {worst}. "
        "One reason lies in the index itself: the sociodemographic index has weight "
        f"{weight:+.2f} in the overall one, so by EPA's formula a county improves when its "
        "sociodemographic conditions get worse."
    )
    return (
        f'<h2>What equity costs</h2><p class="note">{note}</p>{_table(head, rows)}'
        + _groups(results, "rucc", "By rural-urban code")
        + _groups(results, "state", "By state, the ten with most counties of the study")
    )


def _groups(results: Results, by: str, title: str) -> str:
    plans = results.plans
    mine = plans[(plans["algorithm"] == "BayesACE") & (plans["penalty"] == PENALTY)]
    free, fair = (mine[mine["mode"] == mode] for mode in ("free", "equity"))
    base = results.select()["cost"].astype(float)
    rows = []
    order = free[by].value_counts()
    keys = sorted(order.index) if by == "rucc" else list(order.index[:10])
    for key in keys:
        here = free[free[by] == key]
        found = here[here["found"].astype(bool)]
        also = fair[(fair[by] == key) & fair["found"].astype(bool)].set_index("fips")
        ratio = paired_ratio(also["cost"].astype(float), base)
        rows.append(
            (
                rucc_name(int(key)) if by == "rucc" else str(key),
                str(len(here)),
                f"{here['found'].mean():.0%}",
                f"{found['cost'].astype(float).median():.3g}",
                f"{found['l2'].astype(float).median():.2f}",
                f"{np.median(ratio):.2f}" if len(ratio) else "-",
            )
        )
    head = ("", "counties", "found", "cost (median)", "L2 (median)", "price of equity")
    return f"<h3>{title}</h3>{_table(head, rows)}"


def costs(results: Results) -> str:
    """Return cost, distance and sparsity of each algorithm, by penalty."""
    rows = []
    for penalty in results.penalties():
        base = results.select(penalty=penalty)["cost"].astype(float)
        for algorithm in results.algorithms(penalty):
            mine = results.select(algorithm, penalty=penalty)
            if mine.empty:
                continue
            ratio = paired_ratio(mine["cost"].astype(float), base)
            rows.append(
                (
                    f"{penalty:g}", algorithm, str(len(mine)),
                    f"{mine['cost'].astype(float).median():.3g}",
                    f"{np.median(ratio):.2f}" if len(ratio) else "-",
                    f"{mine['l2'].astype(float).median():.2f}",
                    f"{mine['path_sparsity'].astype(float).median():g}",
                    f"{mine['valid_judge'].mean():.0%}",
                )
            )  # fmt: skip
    head = (
        "penalty", "algorithm", "plans", "cost (median)", "over BayesACE (median)", "L2 (median)",
        "features that move (median)", "valid under the RealNVP",
    )  # fmt: skip
    note = (
        "Cost under the RealNVP, by the paper's rule (19 pieces per segment), on its scale -log p. "
        "Each algorithm checks the goal with its own density. DAACE plans for few counties, as the "
        "flow takes milliseconds for each point."
    )
    return f'<h2>Algorithms</h2><p class="note">{note}</p>{_table(head, rows)}'


def densities(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how good the densities are; nothing where that was not measured."""
    if not rows:
        return ""
    body = [
        (
            str(r["model"]), str(r["rows"]), f"{r['log_joint']:.2f}", f"{r['accuracy']:.1%}",
            f"{r['near']:.1%}", f"{r['log_loss']:.3f}", f"{r['brier']:.3f}",
            str(r.get("arcs", "-")),
        )
        for r in rows
    ]  # fmt: skip
    head = (
        "density", "rows", "mean log p(x, y)", "category right", "within one", "log loss", "Brier",
        "arcs",
    )  # fmt: skip
    note = (
        "The paper prints -137.89 (3 parents), -123.35 (no limit) and -98.93 (RealNVP), probably "
        "cross-validated. Features in standard deviations over all counties."
    )
    return f'<h2>Densities</h2><p class="note">{note}</p>{_table(head, body)}'


def _ways(plans: pd.DataFrame) -> list[tuple[tuple[str, str, float], pd.DataFrame]]:
    """Return the plans by algorithm, rules and penalty, in the order of the page."""
    groups: Any = plans.groupby(["algorithm", "mode", "penalty"])
    return sorted(groups, key=lambda item: (item[0][0], MODES.index(item[0][1]), item[0][2]))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _size(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"
