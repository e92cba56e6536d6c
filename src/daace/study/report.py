"""A study as one HTML page: found rates, times, tests and figures; no scripts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pandas as pd

from daace._files import write_atomically
from daace._progress import Bar
from daace.explain.pages.page import captioned, cards, page_of_results, table
from daace.study.client import NO_CLIENT, StudyClient, TableFact
from daace.study.contest import compare_by_table
from daace.study.corrections import adjust_pairwise
from daace.study.evaluation import PIECES
from daace.study.figure_list import draw_figures, measures_of
from daace.study.results import ALREADY_THERE, PROBLEM, StudyResults, read_results
from daace.study.statistics import rank_beside, rank_scores, standardise, standardise_beside

#: Measures that are compared with one vote per table.
BY_TABLE = ("cost_nll", "cost_relative", "l2", "path_sparsity", "seconds_with_graph")


def write_report(
    records: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    client: StudyClient = NO_CLIENT,
) -> Path:
    """Write `report.html`, and every figure as PNG and SVG beside it.

    Args:
        records: folder of a run, or a compact record.
        folder: where to write; created if missing.
        client: what this particular study adds to the page.

    Returns:
        The page.

    Raises:
        InvalidInput: there are no records.
        OSError: the folder cannot be written.
    """
    results = read_results(records, reference=client.reference)
    results.problems  # noqa: B018  # raises if there are none
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pictures = {}
    with Bar("Drawing", None) as bar:
        for name, text, figure in chain(draw_figures(results), client.draw_figures(results)):
            svg = figure.to_svg()
            write_atomically(place / f"{name}.svg", svg)
            write_atomically(place / f"{name}.png", figure._repr_png_())
            pictures[name] = (text, svg)
            bar.advance(name)
    title = f"Study '{results.plan['study']}'"
    body = [
        f"<h1>{escape(title)}</h1>",
        _summary(results, client.facts),
        *client.write_sections(results),
        _rates(results),
        *_beside(results),
        _pictures(pictures),
        _by_table(results),
        _failures(results),
    ]
    write_atomically(place / "report.html", page_of_results(title, body))
    return place / "report.html"


def _summary(results: StudyResults, facts: Sequence[TableFact]) -> str:
    frame = results.problems
    versions = {r["versions"].get("code") for r in results.records if "versions" in r}
    known = [("Tables", frame["table"].nunique()), ("Records", len(frame))]
    known += [("Algorithms compared", len(results.compared))]
    known += [("Instances per table", frame["instance"].nunique())]
    known += [("Failed", int((frame["status"] == "failed").sum()))]
    hosts, memory = frame["host"].nunique(), frame["memory_mb"].max()
    note = (
        f"Paths are planned on the {results.plan['scale']} scale and judged by the ground truth "
        f"with the midpoint rule, {PIECES} pieces per segment. {hosts} host(s), at most "
        f"{memory:.0f} MB per worker."
    )
    if len(versions) > 1:
        note += f" The records come from {len(versions)} different states of the code."
    shown = [fact for fact in facts if any(fact.name in r for r in results.densities)]
    rows = [
        (
            r["table"], str(r["features"]), f"{r['rows']:,}",
            *("" if r.get(fact.name) is None else fact.show(r[fact.name]) for fact in shown),
            f"{r['log_prob'][0]:.2f} ± {r['log_prob'][1]:.2f}",
            f"{r['posterior'][0]:.3f} ± {r['posterior'][1]:.3f}",
        )
        for r in results.densities
    ]  # fmt: skip
    labels = (fact.label for fact in shown)
    head = ("table", "features", "rows", *labels, "log p", "p(true class | x)")
    return f'{cards(known)}<p class="note">{escape(note)}</p>{table(head, rows)}'


def _rates(results: StudyResults) -> str:
    rows = []
    groups = {str(name): mine for name, mine in results.problems.groupby("algorithm")}
    first = [*results.compared, *results.beside]
    for name in [*first, *sorted(set(groups) - set(first))]:
        mine = groups[name]
        found = mine[mine["found"].astype(bool)]
        negative = int((found["cost_nll"].astype(float) < 0).sum())
        valid = found["valid"].astype(float).mean() if len(found) else np.nan
        rows.append(
            (
                name,
                f"{len(mine)}",
                f"{len(found) / len(mine):.1%}",
                f"{int((mine['status'] == ALREADY_THERE).sum())}",
                f"{valid:.1%}",
                f"{negative}",
                f"{found['hops'].astype(float).median():g}",
                f"{mine['seconds'].median():.3g}",
                f"{mine['graph_seconds'].max():.3g}",
            )
        )
    head = (
        "algorithm", "asked", "found", "already there", "valid under the truth",
        "negative costs", "steps (median)", "search [s], median", "graph [s], largest",
    )  # fmt: skip
    note = (
        "Each algorithm checks the goal with its own density; of what it found, this share also "
        "meets the goal under the truth. Already there: the start meets the goal, nothing changes. "
        "Not found counts as the worst rank, and is never averaged."
    )
    return f'<h2>Found, valid, fast</h2><p class="note">{note}</p>{table(head, rows)}'


def _beside(results: StudyResults) -> list[str]:
    """Compare the algorithms that are not ranked, if there are any, with those that are."""
    if not results.beside:
        return []
    frame = results.problems.set_index(PROBLEM)
    frame = frame[frame["found"].astype(bool)].astype({"cost_nll": float, "valid": bool})
    answers = {str(name): mine for name, mine in frame.groupby("algorithm")}
    rows = [
        (
            f"{name} against {other}",
            *_lower(both),
            *_lower(both[both["valid"] & both["valid_other"]]),
        )
        for name in results.beside
        for other in results.compared
        if name in answers and other in answers
        for both in [answers[name].join(answers[other].add_suffix("_other"), how="inner")]
    ]
    head = (
        "pair", "both found", "first cheaper", "median ratio of costs",
        "both valid", "first cheaper", "median ratio of costs",
    )  # fmt: skip
    note = (
        f"{', '.join(results.beside)}: given the same problems, but no part of the ranks, the "
        "standardised values and the tests of this page. Costs are those under the truth; ratios "
        "are taken where both are positive. Valid: the end meets the goal under the truth."
    )
    return [
        f'<h2>Shown beside</h2><p class="note">{escape(note)}</p>{table(head, rows)}',
        _would_rank(results),
    ]


def _would_rank(results: StudyResults) -> str:
    """Return found rate, rank and median cost of those beside, and of those that are ranked."""
    scores, beside = results.scores("cost_nll"), results.scores_beside("cost_nll")
    ranks = pd.concat([rank_beside(beside, scores), rank_scores(scores).mean()])
    standard = [standardise_beside(beside, scores), standardise(scores)]
    medians = pd.concat([frame.median() for frame in standard])
    found = results.problems.groupby("algorithm")["found"].mean()
    names = [name for name in (*results.beside, *results.compared) if name in ranks]
    rows = [(n, f"{float(found[n]):.1%}", f"{ranks[n]:.2f}", f"{medians[n]:.2f}") for n in names]
    note = (
        f"Of {', '.join(results.beside)} the rank that it would have among the algorithms that "
        "are ranked, and its median in their standardised values; neither changes theirs."
    )
    head = ("algorithm", "found", "mean rank, cost", "median, standardised")
    return f'<p class="note">{escape(note)}</p>{table(head, rows)}'


def _lower(both: pd.DataFrame) -> tuple[str, str, str]:
    """Return how many problems two algorithms share, and how often the first is cheaper."""
    ours, theirs = both["cost_nll"], both["cost_nll_other"]
    ratio = (ours / theirs)[(ours > 0) & (theirs > 0)]
    cheaper = f"{(ours < theirs).mean():.1%}" if len(both) else ""
    return f"{len(both)}", cheaper, f"{ratio.median():.2f}" if len(ratio) else ""


def _pictures(pictures: dict[str, tuple[str, bytes]]) -> str:
    """Return the figures, two in a row; found rates and panels take the width of the page."""
    parts = [
        f"{'<div class=wide>' if _is_wide(name) else '<div>'}{captioned(*shown)}</div>"
        for name, shown in pictures.items()
    ]
    return f'<h2>Figures</h2><div class="gallery">{"".join(parts)}</div>'


def _is_wide(name: str) -> bool:
    return name == "found" or (name.startswith("box-") and "-by-" in name)


def _by_table(results: StudyResults) -> str:
    """Compare all pairs with one vote per table, corrected by Holm."""
    parts = [
        "<h2>One vote per table</h2>",
        '<p class="note">Problems of one table are not independent. Lead: share of problems on '
        "which the first is lower minus higher, median over tables with its 95% interval; effect: "
        "matched-pairs rank-biserial correlation (negative when the first is lower); p by "
        "Wilcoxon, corrected by Holm.</p>",
    ]
    titles = measures_of(results)
    for measure in BY_TABLE:
        scores = results.scores(measure)
        if scores.shape[1] < 2 or scores.empty:
            continue
        pairs = list(combinations(scores.columns, 2))
        tests = [compare_by_table(scores, a, b)[0] for a, b in pairs]
        adjusted = adjust_pairwise(
            [test.p_value for test in tests], scores.shape[1], correction="holm"
        )
        rows = [
            (
                f"{a} against {b}",
                f"{-test.median:+.2f}",
                f"{-test.interval[1]:+.2f} to {-test.interval[0]:+.2f}",
                f"{test.effect:+.2f}",
                f"{p:.2g}",
            )
            for (a, b), test, p in zip(pairs, tests, adjusted, strict=True)
        ]
        head = ("pair", "lead", "95% interval", "effect", "p")
        count = scores.index.get_level_values("table").nunique()
        parts.append(
            f"<details><summary>{escape(titles[measure][0])}, N = {count} tables</summary>"
            f"{table(head, rows)}</details>"
        )
    return "\n".join(parts)


def _failures(results: StudyResults) -> str:
    frame = results.problems
    if "error" not in frame or not frame["error"].notna().any():
        return ""
    counts = frame.groupby(["algorithm", "table", "error"]).size().reset_index()
    rows = [tuple(map(str, row)) for row in counts.itertuples(index=False)]
    return "<h2>Failed</h2>" + table(("algorithm", "table", "error", "problems"), rows)
