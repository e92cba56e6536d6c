"""Sections of a study's page about the paper: deviations from it, and which claims hold."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from daace.explain.pages.page import outcome, verdict, words_table
from daace.study.paper.claims import Claim, check_claims
from daace.study.paper.protocol import other_rows
from daace.study.results import PROBLEM, StudyResults
from daace.study.statistics import ALPHA

HOW = (
    f"Level {ALPHA}. All algorithms are ranked on each problem; Friedman's "
    "test and Bergmann and Hommel's correction of all pairs decide (p is the larger of the two "
    "p-values). Wilcoxon's signed ranks compare the two algorithms alone, and decide only "
    "where two sets of results are compared: in (h), and for converged integrals. Medians are "
    "standardised over the algorithms of each problem. The lead by table is the share of "
    "problems won minus lost, one vote per table, with a 95% interval. A part with a * is "
    "ours, not the paper's, and is not counted."
)


def write_sections(results: StudyResults) -> list[str]:
    """Return the sections about the paper; none if no claim is about this study's algorithms.

    Args:
        results: the results of the study.
    """
    claims = check_claims(results)
    if not any(claim.tested for claim in claims):
        return []
    return [_differences(results), _claims(claims, results)]


def _differences(results: StudyResults) -> str:
    sentences = list(results.plan.get("differences", []))
    sentences += other_rows({r["table"]: r["rows"] for r in results.densities})
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<h2>Where this study differs from the paper's</h2><ul>{items}</ul>"


def _claims(claims: Sequence[Claim], results: StudyResults) -> str:
    shown = [claim for claim in claims if claim.tested]
    in_short = "; ".join(f"({claim.letter}) {claim.outcome}" for claim in shown)
    parts = [
        "<h2>The paper's claims</h2>",
        f"<p>In one line: {in_short}.</p>",
        f'<p class="note">{HOW}</p>',
        _already_there(claims, results),
    ]
    for claim in shown:
        rows = [
            (
                f"{part.what}{'' if part.counted else ' *'}",
                part.ours,
                part.wilcoxon,
                part.by_table,
                verdict(part.verdict),
            )
            for part in claim.parts
        ]
        result = outcome(claim.outcome, holding=claim.holding, of=len(claim.tested))
        head = ("part", "ranks of all", "the two alone", "by table", "")
        parts.append(
            f"<h3>({claim.letter}) {escape(claim.text)} {result}</h3>{words_table(head, rows)}"
        )
    return "\n".join(parts)


def _already_there(claims: Sequence[Claim], results: StudyResults) -> str:
    """Count the starts that need no change, and name the verdicts that change without them."""
    there, frame = results.already_there, results.problems
    if there.empty:
        return ""
    compared = frame[frame["algorithm"].isin(results.compared)]
    every = len(compared[PROBLEM].drop_duplicates())
    predicted = results.plan.get("target") == "predicted"
    how = "predicted for the start by the truth" if predicted else "drawn with the start"
    text = (
        f"On {len(there)} of {every} problems the start is already there: it meets the goal under "
        "the density of at least one algorithm, whose path then has no length and costs nothing. "
        f"The target is the class that was not {how}; the paper's is determined automatically."
    )
    if len(there) < every:
        others = {
            (claim.letter, part.what): part.verdict
            for claim in check_claims(results.without(there))
            for part in claim.parts
        }
        turned = [
            f"({claim.letter}) {part.what} ({others[claim.letter, part.what]})"
            for claim in claims
            for part in claim.tested
            if others[claim.letter, part.what] != part.verdict
        ]
        text += " Without these problems " + (
            f"the verdict is another on: {'; '.join(turned)}." if turned else "no verdict changes."
        )
    return f'<p class="note">{escape(text)}</p>'
