"""The application as one HTML page: maps, figures, and the paper's findings beside ours."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace._files import write_atomically
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data import CATEGORIES, DOMAINS, INDICES, Counties, index_name
from daace.eqi.findings import (
    AGREES,
    DIFFERS,
    Finding,
    check_findings,
    county_changes,
    rucc_name,
    top_variables,
)
from daace.eqi.fitting import read_advisor, read_performance
from daace.eqi.model import domain_effects, domains_of, index_arcs
from daace.eqi.outlines import find_outlines, read_outlines
from daace.eqi.policy import FACE_NEIGHBOURS, FACE_NODES
from daace.eqi.results import Results, paired_ratio, read_results
from daace.eqi.run import PENALTY, THREE
from daace.explain.network import signed_arcs
from daace.explain.report import PAGE, STYLE

if TYPE_CHECKING:
    from daace.explain.plots import Plot

MORE_STYLE = """
.daace { max-width: 72rem; }
.daace td, .daace th { vertical-align: top; }
.daace td:first-child, .daace th:first-child { overflow-wrap: normal; }
.daace .words td, .daace .words th { text-align: left; }
.daace .words td:last-child { white-space: nowrap; }
.daace .holds { color: #00664B; font-weight: 600; }
.daace .contra { color: #A33B00; font-weight: 600; }
.daace .open { color: #555; font-weight: 600; }
.daace .warning { border-left: .3rem solid #D55E00; background: #fdf4ee; padding: .6rem 1rem; }
"""

COMPACT = "records.gz"
MAP_DPI = 105
RELATIVE_COST = "cost over BayesACE's"

#: Plan modes with their names on the page.
MODES = ("free", "equity", "consistent", "consistent equity")

NOT_CAUSAL = (
    "The network is not a causal model. Its arcs say which values are found together, not what "
    "happens when one is changed. A plan shows a state in which counties of the better category "
    "are found, and a way there over plausible states; whether a measure brings it about must be "
    "judged by people who know the county."
)


def write_report(
    counties: Counties,
    records: str | os.PathLike[str],
    models: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    outlines: str | os.PathLike[str] | None = None,
) -> Path:
    """Write `report.html` with all figures inside, and the compact record beside it.

    Args:
        counties: the data.
        records: folder of a run, or its compact record.
        models: folder of the models.
        folder: where to; made when it is not there.
        outlines: the map; `$DAACE_DATA/map` when left out, and no maps where there is none.

    Returns:
        the page.

    Raises:
        InvalidInput: there are no records or models, or they do not belong to the data.
        OSError: the folder cannot be written.
    """
    results = read_results(counties, records)
    network = read_advisor(counties, models).network
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    where = find_outlines(outlines)
    maps = draw_maps(results, where) if where is not None else {}
    body = [
        "<h1>What would improve a county, and at what price</h1>",
        f'<p class="warning">{escape(NOT_CAUSAL)}</p>',
        _message(results),
        _summary(results),
        _findings(check_findings(results, network)),
        _maps(maps),
        _pictures(draw_figures(results, network)),
        _consistency(results),
        _equity(results),
        _costs(results),
        _models(read_performance(models)),
        _how(results),
    ]
    title = "Environmental quality of US counties"
    page = PAGE.format(title=title, style=STYLE + MORE_STYLE, body="\n".join(body))
    write_atomically(place / "report.html", page)
    if Path(records).is_dir():
        results.write_compact(place / COMPACT)
    return place / "report.html"


# Figures ------------------------------------------------------------------------------------------


def draw_maps(results: Results, path: Path) -> dict[str, tuple[str, Plot]]:
    """Return the maps: category now, after, and the domain to act on; with what each shows."""
    from daace.eqi.figures.maps import CATEGORY_COLOURS, DOMAIN_COLOURS, county_map

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


def draw_figures(results: Results, network: LinearGaussianNetwork) -> dict[str, tuple[str, Plot]]:
    """Return every other figure, with what it shows."""
    from daace.eqi.figures.charts import (
        changes_by_group,
        counties_by_algorithm,
        measures_by_algorithm,
        most_changed,
    )
    from daace.eqi.figures.networks import domain_networks, index_network

    counties = results.counties
    labels = {str(v): str(x) for v, x in counties.variables["label"].items()}
    plans = results.select()
    figures: dict[str, tuple[str, Plot]] = {
        "index-network": (
            "The class and the five domain indices in the restricted network; every index in the "
            "sense high = good. Numbers: standard deviations of the child per standard deviation "
            "of the parent, and per category for arcs of the class.",
            index_network(index_arcs(network)),
        ),
        "domain-networks": (
            "In each domain the eight variables most correlated with its index, and the arcs among "
            "them.",
            domain_networks(_domain_parts(network, counties, _most_correlated(network, counties))),
        ),
    }
    for column, name, xlabel in (
        ("rucc", "rucc", "rural-urban code"), ("category", "category", "category now"),
    ):  # fmt: skip
        groups = plans.groupby(column)
        means = groups[list(DOMAINS)].mean()
        words = [
            rucc_name(int(k)) if name == "rucc" else f"{k} {CATEGORIES[int(k)]}"
            for k in means.index
        ]
        counts = dict(zip(words, groups.size(), strict=True))
        figures[f"changes-{name}"] = (
            f"Mean change of each domain index by {xlabel}; BayesACE, penalty {PENALTY:g}.",
            changes_by_group(means.set_axis(words), counts, xlabel=xlabel,
                             title="Where improvement is planned"),
        )  # fmt: skip
    tops = top_variables(results)
    figures["most-changed"] = (
        f"The five most changed variables of each domain; BayesACE, penalty {PENALTY:g}.",
        most_changed(tops, labels, title="What changes most"),
    )
    chosen = {domain: list(top.index) for domain, top in tops.items()}
    figures["most-changed-networks"] = (
        "The same variables in the network.",
        domain_networks(_domain_parts(network, counties, chosen)),
    )
    three = {counties.label(f): county_changes(results, f) for f in THREE if f in plans.index}
    if three:
        figures["three-counties"] = (
            f"What each algorithm does to the indices of the paper's three counties, penalty "
            f"{PENALTY:g}; as planned.",
            counties_by_algorithm(three, title="Recourse of three counties"),
        )
    panels = _measures(results)
    if panels:
        figures["measures"] = (
            "Cost under the RealNVP over BayesACE's for the same county, distance, and number of "
            "features that move by more than 0.1 sd on the way, over the counties for which every "
            "algorithm found a plan.",
            measures_by_algorithm(panels, log=[RELATIVE_COST]),
        )
    return figures


def _most_correlated(
    network: LinearGaussianNetwork, counties: Counties, *, most: int = 8
) -> dict[str, list[str]]:
    effects = domain_effects(network, domains_of(counties))
    return {
        domain: list(
            effects.loc[effects["domain"] == domain, "correlation"].abs().nlargest(most).index
        )
        for domain in DOMAINS
    }


def _domain_parts(
    network: LinearGaussianNetwork, counties: Counties, chosen: Mapping[str, Sequence[str]]
) -> dict[str, tuple[list[str], pd.DataFrame, dict[str, str]]]:
    """Return nodes, arcs and labels of one network per domain, in the sense "high = good"."""
    arcs = signed_arcs(network).rename(columns={"coefficient": "effect"})
    flips = arcs["parent"].isin(INDICES) ^ arcs["child"].isin(INDICES)
    arcs = arcs.assign(effect=np.where(flips, -arcs["effect"], arcs["effect"]))
    labels = {str(v): _short(x) for v, x in counties.variables["label"].items()}
    parts = {}
    for domain, names in chosen.items():
        index = index_name(domain)
        parts[domain] = ([index, *names], arcs, {**labels, index: index})
    return parts


def _short(label: str) -> str:
    text = label.removesuffix(" emissions").removesuffix(" in drinking water").split(" (")[0]
    text = text.removesuffix(" per county").removeprefix("Rate of ").removeprefix("Percent of ")
    return text if len(text) <= 34 else text[:32].rsplit(" ", 1)[0] + " ..."


def _measures(results: Results) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return cost over BayesACE's, distance and sparsity, by penalty and algorithm."""
    columns = {
        RELATIVE_COST: "cost",
        "distance (L2), in sd": "l2",
        "features that move": "path_sparsity",
    }
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for penalty in (5.0, 10.0):
        found = {
            a: results.select(a, penalty=penalty)
            for a in results.algorithms(penalty)
            if a != "DAACE"
        }
        if "BayesACE" not in found or not all(len(f) for f in found.values()):
            continue
        common = sorted(set.intersection(*(set(f.index) for f in found.values())))
        for label, column in columns.items():
            values = {a: f.loc[common, column].astype(float) for a, f in found.items()}
            unit = values["BayesACE"] if column == "cost" else 1.0
            shown = {a: (v / unit).tolist() for a, v in values.items()}
            panels.setdefault(label, {})[f"{penalty:g}"] = shown
    return panels


# Sections -----------------------------------------------------------------------------------------


def _message(results: Results) -> str:
    """Return what a reader should take along, in three sentences."""
    free = results.select()
    sentences = []
    for mode, how in (
        ("free", "Planned as in the paper, with indices that move freely,"),
        ("consistent", "Planned over the variables alone, with indices that follow from them,"),
    ):
        mine = results.select(mode=mode)
        if len(mine):
            share = (mine["category_recomputed"] <= mine["target"]).mean()
            sentences.append(
                f"{how} {share:.0%} of {len(mine)} plans by BayesACE reach the target category by "
                "EPA's own formulas."
            )
    for mode, what in (
        ("consistent", "That costs"),
        ("consistent equity", "If, besides, no domain may get worse, it costs"),
    ):
        ratio = paired_ratio(
            results.select(mode=mode)["cost"].astype(float), free["cost"].astype(float)
        )
        if len(ratio):
            sentences.append(f"{what} {np.median(ratio):.2f} times as much in the median.")
    return f"<p>{escape(' '.join(sentences))}</p>"


def _summary(results: Results) -> str:
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


def _findings(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{f.number}. {escape(f.title)}</td><td>{escape(f.paper)}</td>"
        f"<td>{_verdict(f.verdict)}</td></tr>"
        for f in findings
    )
    parts = [
        "<h2>The paper's findings</h2>",
        '<table class="words"><thead><tr><th>finding</th><th>the paper</th><th>ours</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>",
    ]
    for finding in findings:
        checks = "".join(
            f"<tr><td>{escape(p.says)}</td><td>{escape(p.ours)}</td>"
            f"<td>{_verdict({True: AGREES, False: DIFFERS, None: 'open'}[p.holds])}</td></tr>"
            for p in finding.parts
        )
        parts.append(
            f"<h3>{finding.number}. {escape(finding.title)} {_verdict(finding.verdict)}</h3>"
            f'<p class="note">The paper: {escape(finding.paper)}</p>'
            '<table class="words"><thead><tr><th>part</th><th>ours</th><th></th></tr></thead>'
            f"<tbody>{checks}</tbody></table>"
        )
    return "\n".join(parts)


def _verdict(verdict: str) -> str:
    kind = {AGREES: "holds", DIFFERS: "contra"}.get(verdict, "open")
    return f'<span class="{kind}">{verdict}</span>'


def _maps(maps: Mapping[str, tuple[str, Plot]]) -> str:
    if not maps:
        return (
            '<h2>Maps</h2><p class="note">No map file was given: pass --map with county outlines '
            "(us-atlas, counties-albers-10m.json).</p>"
        )
    return "<h2>Maps</h2>" + "\n".join(
        _image(text, plot, svg=False) for text, plot in maps.values()
    )


def _pictures(figures: Mapping[str, tuple[str, Plot]]) -> str:
    return "<h2>Figures</h2>" + "\n".join(_image(t, plot, svg=True) for t, plot in figures.values())


def _image(text: str, plot: Plot, *, svg: bool) -> str:
    kind = "svg+xml" if svg else "png"  # thousands of outlines: pixels are smaller
    buffer = io.BytesIO(plot.to_svg() if svg else b"")
    if not svg:
        plot.savefig(buffer, format="png", dpi=MAP_DPI)
    source = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        f'<p class="note">{escape(text)}</p>'
        f'<img alt="{escape(text)}" src="data:image/{kind};base64,{source}">'
    )


def _consistency(results: Results) -> str:
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


def _equity(results: Results) -> str:
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


def _costs(results: Results) -> str:
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


def _models(rows: Sequence[Mapping[str, Any]]) -> str:
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


def _how(results: Results) -> str:
    alpha, beta = results.thresholds
    items = [
        f"Goal: two categories better, log p at least {alpha:.2f} (the mean minus a quarter of the "
        "standard deviation of log p over the held-out counties under the RealNVP; the paper's is "
        f"-125.47), and a probability of the target of at least {beta:g}.",
        "Counties: a random tenth is held out from learning; the study takes those of category 2 "
        "or worse, up to 150, and Los Angeles, Conejos and New York.",
        f"FACE: a graph on {FACE_NODES} known counties, each joined to its {FACE_NEIGHBOURS} "
        "nearest, edges weighed by the density at their middle. The paper joins all and "
        "integrates along edges: with 131 features and 7 classes that takes an hour.",
        "Wachter: the nearest known county that meets the goal, by L1 over median absolute "
        "deviations.",
        "Indices are shown with high = good; EPA publishes them with high = bad.",
        "Some words of EPA's dictionary contradict its numbers (household income is the number of "
        "households, fatal crashes are counts): such variables are shown as what the numbers are.",
    ]
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<h2>How it was done</h2><ul class="caveats">{listed}</ul>'


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


def _plain(series: Any) -> dict[int, object]:
    return {int(fips): value for fips, value in series.items()}
