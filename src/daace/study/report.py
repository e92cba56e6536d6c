"""A study as one HTML page: what holds, what does not, and every figure; no scripts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import combinations
from pathlib import Path

import numpy as np

from daace._files import write_atomically
from daace._progress import Bar
from daace.explain.page import PAGE, RESULTS_STYLE, STYLE, captioned, cards, table
from daace.study.checks import ALPHA, Verdict, by_table
from daace.study.claims import Claim, check_claims
from daace.study.gallery import MEASURES, draw_figures
from daace.study.protocol import other_rows
from daace.study.results import Results, read_results
from daace.study.statistics import adjust_pairwise, compare_two

CLASSES = {"holds": "holds", "does not hold": "contra"}

VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not significant", "not run")


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
    like_the_paper = any(claim.verdict != "not run" for claim in claims)
    body = [
        f"<h1>{escape(title)}</h1>",
        _summary(results),
        *([_differences(results), _claims(claims)] if like_the_paper else []),
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


def _claims(claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    letters = {v: ", ".join(c.letter for c in claims if c.verdict == v) for v in counts}
    outcome = "; ".join(f"{verdict}: {letters[verdict]}" for verdict in VERDICTS if counts[verdict])
    parts = [
        "<h2>The paper's claims</h2>",
        f"<p>In one line: {outcome}. A claim with several parts holds only if all of them do.</p>",
        f'<p class="note">Level {ALPHA}. Pairs are compared by Wilcoxon\'s signed ranks over '
        "problems; medians are standardised. The lead by table is the share of problems won minus "
        "lost, one vote per table, with a 95% interval.</p>",
    ]
    for claim in claims:
        if claim.verdict == "not run":
            continue
        checks = [
            f"<tr><td>{escape(c.what)}</td><td>{escape(c.ours)}</td><td>{escape(c.by_table)}</td>"
            f"<td>{_verdict(c.verdict)}</td></tr>"
            for c in claim.checks
        ]
        parts.append(
            f"<h3>({claim.letter}) {escape(claim.text)} {_verdict(claim.verdict)}"
            f"{_parts(claim)}</h3>"
            '<table class="words"><thead><tr><th>part</th><th>ours</th><th>by table</th>'
            f"<th></th></tr></thead><tbody>{''.join(checks)}</tbody></table>"
        )
    return "\n".join(parts)


def _parts(claim: Claim) -> str:
    """Return how many of several parts hold."""
    many = len(claim.checks)
    good = sum(check.verdict == "holds" for check in claim.checks)
    if many < 2 or claim.verdict == "not run":
        return ""
    return f"<small>{good} of {many} parts hold</small>"


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
                f"{valid:.1%}",
                f"{negative}",
                f"{found['hops'].astype(float).median():g}",
                f"{mine['seconds'].median():.3g}",
                f"{mine['graph_seconds'].max():.3g}",
            )
        )
    head = (
        "algorithm", "asked", "found", "valid under the truth", "negative costs",
        "steps (median)", "search [s], median", "graph [s], largest",
    )  # fmt: skip
    note = (
        "Each algorithm checks the goal with its own density; of what it found, this share also "
        "meets the goal under the truth. Not found counts as the worst rank, and is never averaged."
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
