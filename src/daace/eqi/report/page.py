"""The application as one HTML page: maps, figures, and the paper's findings beside ours."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daace._files import write_atomically
from daace.eqi.data.counties import Counties
from daace.eqi.data.outlines import find_outlines
from daace.eqi.models.folder import read_models, read_performance
from daace.eqi.policy.advisor import FACE_NODES
from daace.eqi.report import tables
from daace.eqi.report.evidence import Finding
from daace.eqi.report.figure_list import draw_figures, draw_maps
from daace.eqi.report.findings import check_findings
from daace.eqi.report.results import CountyResults, read_results
from daace.explain.pages.page import PAGE, RESULTS_STYLE, STYLE, captioned
from daace.study.statistics import ALPHA

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

MORE_STYLE = """
.daace summary { font-weight: 600; margin: 1.2rem 0 .3rem; }
.daace .warning { border-left: .3rem solid #D55E00; background: #fdf4ee; padding: .6rem 1rem; }
"""

COMPACT = "records.gz"
MAP_DPI = 105

NOT_CAUSAL = (
    "The network is not a causal model. Its arcs show which values are found together, not what "
    "happens when one is changed. A plan shows a state in which counties of the better category "
    "are found, and a way there over plausible states; whether a measure brings it about must be "
    "judged by people who know the county."
)


def write_report(
    counties: Counties,
    records: str | os.PathLike[str],
    models: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str],
    *,
    outlines: str | os.PathLike[str] | None = None,
) -> Path:
    """Write `report.html` with all figures inside, and the compact record beside it.

    Args:
        counties: the data.
        records: folder of a run, or its compact record.
        models: folder of the models; None to learn the network again and to show the performance
            that the compact record has.
        folder: where to; created if missing.
        outlines: the file of outlines; None for that in `$DAACE_DATA/map`, if there is one.

    Returns:
        the page.

    Raises:
        InvalidInput: there are no records or models, or they do not belong to the data.
        OSError: the folder cannot be written.
    """
    results = read_results(counties, records)
    if models is not None:
        results = results.with_performance(read_performance(models))
    network, _ = read_models(counties, models)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    where = find_outlines(outlines)
    maps = draw_maps(results, where) if where is not None else {}
    body = [
        "<h1>What would improve a county, and at what price</h1>",
        f'<p class="warning">{escape(NOT_CAUSAL)}</p>',
        _message(results),
        tables.summary(results),
        _findings(check_findings(results, network)),
        _maps(maps),
        _pictures(draw_figures(results, network)),
        tables.consistency(results),
        tables.equity(results),
        tables.costs(results),
        tables.densities(results.performance),
        _how(results),
    ]
    title = "Environmental quality of US counties"
    page = PAGE.format(title=title, style=STYLE + RESULTS_STYLE + MORE_STYLE, body="\n".join(body))
    write_atomically(place / "report.html", page)
    if Path(records).is_dir():
        results.write_compact(place / COMPACT)
    return place / "report.html"


def _message(results: CountyResults) -> str:
    """Return the main results in three sentences."""
    sentences = []
    for mode, how in (
        ("free", "Planned as in the paper, with indices that move freely,"),
        ("consistent", "Planned over the variables alone, with indices that follow from them,"),
    ):
        plans, share = results.reached(mode)
        if plans:
            sentences.append(
                f"{how} {share:.0%} of {plans} plans by BayesACE reach the target category by "
                "EPA's own formulas."
            )
    for mode, what in (
        ("consistent", "Such plans cost"),
        ("consistent equity", "If, besides, no domain may get worse, they cost"),
    ):
        own, judged = (tables.price(results, mode, column=c) for c in ("own_cost", "cost"))
        if len(own):
            sentences.append(
                f"{what} {np.median(own):.2f} times as much under the network (in the median), "
                f"{np.median(judged):.2f} times under the RealNVP."
            )
    if len(tables.price(results, "consistent")):
        sentences.append(
            "To the RealNVP, states whose indices contradict their variables are implausible."
        )
    return f"<p>{escape(' '.join(sentences))}</p>"


def _findings(findings: Sequence[Finding]) -> str:
    overview = [
        (f"{f.number}. {f.title}", f.paper, "; ".join(p.ours for p in f.parts), _outcome(f))
        for f in findings
    ]
    parts = [
        "<h2>The paper's findings</h2>",
        f'<p class="note">Level {ALPHA}. Algorithms, and the five domains, are compared by their '
        "ranks over the counties: Friedman's test, then Bergmann and Hommel's correction of all "
        "pairs. Changes are tested against 0 by Wilcoxon's signed ranks, groups of counties "
        "against each other by Mann and Whitney, trends over the categories by Spearman's rank "
        "correlation, shares by the binomial distribution. A part with several conditions is as "
        "sure as its least sure one. Single counties and the network are not tested.</p>",
        _table_of_words(("finding", "the paper", "ours", ""), overview),
    ]
    for f in findings:
        rows = [(p.statement, p.ours, p.evidence, _verdict(p.verdict)) for p in f.parts]
        parts.append(
            f"<h3>{f.number}. {escape(f.title)} {_outcome(f)}</h3>"
            f'<p class="note">The paper: {escape(f.paper)}</p>'
            + _table_of_words(("part", "ours", "test", ""), rows)
        )
    return "\n".join(parts)


def _table_of_words(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of sentences; the last cell of each row is HTML."""
    names = "".join(f"<th>{name}</th>" for name in head)
    cells = [[*map(escape, row[:-1]), row[-1]] for row in rows]
    body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in cells)
    return f'<table class="words"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'


def _verdict(verdict: str) -> str:
    kind = {"holds": "holds", "does not hold": "contra"}.get(verdict, "open")
    return f'<span class="{kind}">{verdict}</span>'


def _outcome(finding: Finding) -> str:
    kind = {len(finding.tested): "holds", 0: "contra"}.get(finding.holding, "open")
    return f'<span class="{kind if finding.tested else "open"}">{finding.outcome}</span>'


def _maps(maps: Mapping[str, tuple[str, Plot]]) -> str:
    shown = [captioned(text, _pixels(plot), kind="png") for text, plot in maps.values()]
    none = (
        '<p class="note">No map file was given: pass --map with county outlines '
        "(us-atlas, counties-albers-10m.json).</p>"
    )
    return "<h2>Maps</h2>" + ("\n".join(shown) or none)


def _pixels(plot: Plot) -> bytes:
    """Return a map as PNG: of thousands of outlines, pixels are smaller."""
    buffer = io.BytesIO()
    plot.savefig(buffer, format="png", dpi=MAP_DPI)
    return buffer.getvalue()


def _pictures(figures: Mapping[str, tuple[str, Plot]]) -> str:
    shown = [captioned(text, plot.to_svg()) for text, plot in figures.values()]
    return "<h2>Figures</h2>" + "\n".join(shown)


def _how(results: CountyResults) -> str:
    flow, network, beta = results.thresholds
    items = [
        "Goal: two categories better, a probability of the target of at least "
        f"{beta:g}, and log p of at least {flow:.2f} under the RealNVP, {network:.2f} under the "
        "network: the mean minus a quarter of the standard deviation of log p over the held-out "
        "counties. The paper takes the RealNVP's, -125.47, for all algorithms. Ours is a better "
        "density: no county at all is that plausible to the network, so each density has its own.",
        "Counties: a random tenth is held out from learning; the study takes those of category 2 "
        "or worse, up to 150, and Los Angeles, Conejos and New York.",
        f"BayesACE tries {_listed(results.vertices)} vertices and keeps the cheapest path, as in "
        "the paper. DAACE, which the paper does not run here, tries 0 and 1.",
        f"FACE: the paper's full graph, {FACE_NODES} known counties at random, each joined to all "
        "others. An edge weighs its length times the local cost at its middle, as the paper's "
        "FACE-DE does.",
        "Wachter: the nearest known county that meets the goal, by L1 over median absolute "
        "deviations.",
        "Indices are shown with high = good; EPA publishes them with high = bad.",
        "Some words of EPA's dictionary contradict its numbers (household income is the number of "
        "households, fatal crashes are counts): such variables are described by what their numbers "
        "measure.",
    ]
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<h2>How it was done</h2><ul class="caveats">{listed}</ul>'


def _listed(values: Sequence[int]) -> str:
    return f"{', '.join(map(str, values[:-1]))} and {values[-1]}"
