"""A study as one HTML page: what holds, what does not, and every figure; no scripts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import combinations
from pathlib import Path

import numpy as np

from daace._files import write_atomically
from daace._progress import Bar
from daace.explain.pages.page import PAGE, RESULTS_STYLE, STYLE, captioned, cards, table
from daace.study.checks import ALPHA, by_table
from daace.study.claims import Claim, check_claims
from daace.study.gallery import MEASURES, draw_figures
from daace.study.protocol import other_rows
from daace.study.results import ALREADY_THERE, PROBLEM, Results, read_results
from daace.study.statistics import adjust_pairwise, compare_two

CLASSES = {"holds": "holds", "does not hold": "contra"}


def write_report(records: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write `report.html`, and every figure as PNG and SVG beside it.

    Args:
        records: folder of a run, or a compact record.
        folder: where to; made when it is not there.

    Returns:
        The page.

    Raises:
        InvalidInput: there are no records.
        OSError: the folder cannot be written.
    """
    results = read_results(records)
    results.problems  # noqa: B018  # says so if there are none
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pictures = {}
    with Bar("Drawing", None) as bar:
        for name, text, figure in draw_figures(results):
            svg = figure.to_svg()
            write_atomically(place / f"{name}.svg", svg)
            write_atomically(place / f"{name}.png", figure._repr_png_())
            pictures[name] = (text, svg)
            bar.advance(name)
    title = f"Study '{results.plan['study']}'"
    claims = check_claims(results)
    like_the_paper = any(claim.tested for claim in claims)
    body = [
        f"<h1>{escape(title)}</h1>",
        _summary(results),
        *([_differences(results), _claims(claims, results)] if like_the_paper else []),
        _rates(results),
        _pictures(pictures),
        _table_level(results),
        _failures(results),
    ]
    page = PAGE.format(title=escape(title), style=STYLE + RESULTS_STYLE, body="\n".join(body))
    write_atomically(place / "report.html", page)
    return place / "report.html"


def _summary(results: Results) -> str:
    frame = results.problems
    versions = {r["versions"].get("code") for r in results.records if "versions" in r}
    known = [("Tables", frame["table"].nunique()), ("Records", len(frame))]
    known += [("Algorithms compared", len(results.compared))]
    known += [("Instances per table", frame["instance"].nunique())]
    known += [("Failed", int((frame["status"] == "failed").sum()))]
    hosts, memory = frame["host"].nunique(), frame["memory_mb"].max()
    note = (
        f"Paths are planned on the {results.plan['scale']} scale and judged by the ground truth "
        f"with the midpoint rule, 19 pieces per segment. {hosts} host(s), at most {memory:.0f} MB "
        "per worker."
    )
    if len(versions) > 1:
        note += f" The records come from {len(versions)} different states of the code."
    rows = [
        (
            r["table"], str(r["features"]), f"{r['rows']:,}", _p_value(r["normality"]),
            f"{r['log_prob'][0]:.2f} ± {r['log_prob'][1]:.2f}",
            f"{r['posterior'][0]:.3f} ± {r['posterior'][1]:.3f}",
        )
        for r in results.densities
    ]  # fmt: skip
    head = ("table", "features", "rows", "p of normality", "log p", "p(true class | x)")
    return f'{cards(known)}<p class="note">{escape(note)}</p>{table(head, rows)}'


def _differences(results: Results) -> str:
    sentences = list(results.plan.get("differences", []))
    sentences += other_rows({r["table"]: r["rows"] for r in results.densities})
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<h2>Where this study differs from the paper's</h2><ul>{items}</ul>"


def _claims(claims: Sequence[Claim], results: Results) -> str:
    shown = [claim for claim in claims if claim.tested]
    outcome = "; ".join(f"({claim.letter}) {claim.outcome}" for claim in shown)
    parts = [
        "<h2>The paper's claims</h2>",
        f"<p>In one line: {outcome}.</p>",
        f'<p class="note">Level {ALPHA}. All algorithms are ranked on each problem; Friedman\'s '
        "test and Bergmann and Hommel's correction of all pairs decide (p is the larger of the two "
        "p-values). Wilcoxon's signed ranks compare the two algorithms alone, and decide only "
        "where two sets of results are compared: in (h), and for converged integrals. Medians are "
        "standardised over the algorithms of each problem. The lead by table is the share of "
        "problems won minus lost, one vote per table, with a 95% interval. A part with a * is "
        "ours, not the paper's, and is not counted.</p>",
        _already_there(claims, results),
    ]
    for claim in shown:
        rows = [
            f"<tr><td>{escape(c.what)}{'' if c.of_paper else ' *'}</td><td>{escape(c.ours)}</td>"
            f"<td>{escape(c.wilcoxon)}</td><td>{escape(c.by_table)}</td>"
            f"<td>{_verdict(c.verdict)}</td></tr>"
            for c in claim.checks
        ]
        parts.append(
            f"<h3>({claim.letter}) {escape(claim.text)} {_outcome(claim)}</h3>"
            '<table class="words"><thead><tr><th>part</th><th>ranks of all</th><th>the two alone'
            f"</th><th>by table</th><th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )
    return "\n".join(parts)


def _already_there(claims: Sequence[Claim], results: Results) -> str:
    """Say how many starts need no change, and what the claims are without them."""
    there, frame = results.already_there, results.problems
    if there.empty:
        return ""
    compared = frame[frame["algorithm"].isin(results.compared)]
    every = len(compared[PROBLEM].drop_duplicates())
    text = (
        f"On {len(there)} of {every} problems the start is already there: it meets the goal under "
        "the density of at least one algorithm, whose path then has no length and costs nothing. "
        "The target is the class that was not drawn with the start; the paper's is determined "
        "automatically."
    )
    if len(there) < every:
        others = {
            (claim.letter, check.what): check.verdict
            for claim in check_claims(results.without(there))
            for check in claim.checks
        }
        turned = [
            f"({claim.letter}) {check.what} ({others[claim.letter, check.what]})"
            for claim in claims
            for check in claim.tested
            if others[claim.letter, check.what] != check.verdict
        ]
        text += " Without these problems " + (
            f"the verdict is another on: {'; '.join(turned)}." if turned else "no verdict changes."
        )
    return f'<p class="note">{escape(text)}</p>'


def _outcome(claim: Claim) -> str:
    kind = {len(claim.tested): "holds", 0: "contra"}.get(claim.holding, "open")
    return f'<span class="{kind}">{claim.outcome}</span>'


def _p_value(value: float) -> str:
    return f"{value:.1g}" if value > 0 else "below 1e-300"


def _verdict(verdict: str) -> str:
    return f'<span class="{CLASSES.get(verdict, "open")}">{verdict}</span>'


def _rates(results: Results) -> str:
    rows = []
    groups = {str(name): mine for name, mine in results.problems.groupby("algorithm")}
    for name in [*results.compared, *sorted(set(groups) - set(results.compared))]:
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


def _pictures(pictures: dict[str, tuple[str, bytes]]) -> str:
    """Return the figures, two in a row; that of found rates is as wide as the page."""
    parts = [
        f"{'<div class=wide>' if name == 'found' else '<div>'}{captioned(*shown)}</div>"
        for name, shown in pictures.items()
    ]
    return f'<h2>Figures</h2><div class="gallery">{"".join(parts)}</div>'


def _table_level(results: Results) -> str:
    """Compare all pairs with one vote per table, corrected by Holm."""
    parts = [
        "<h2>One vote per table</h2>",
        '<p class="note">Problems of one table are not independent. Lead: share of problems on '
        "which the first is lower minus higher, median over tables with its 95% interval; effect: "
        "matched-pairs rank-biserial correlation (negative when the first is lower); p by "
        "Wilcoxon, corrected by Holm.</p>",
    ]
    for measure in ("cost_nll", "cost_relative", "l2", "path_sparsity", "seconds_with_graph"):
        scores = results.scores(measure)
        if scores.shape[1] < 2 or scores.empty:
            continue
        pairs = list(combinations(scores.columns, 2))
        tests = []
        for a, b in pairs:
            votes = by_table(scores, a, b)
            tests.append(compare_two((-votes).tolist(), [0.0] * len(votes)))
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
            f"<details><summary>{escape(MEASURES[measure][0])}, N = {count} tables</summary>"
            f"{table(head, rows)}</details>"
        )
    return "\n".join(parts)


def _failures(results: Results) -> str:
    frame = results.problems
    if "error" not in frame or not frame["error"].notna().any():
        return ""
    counts = frame.groupby(["algorithm", "table", "error"]).size().reset_index()
    rows = [tuple(map(str, row)) for row in counts.itertuples(index=False)]
    return "<h2>Failed</h2>" + table(("algorithm", "table", "error", "problems"), rows)
