"""A receipt: one printable page with question, answer, model and date."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any

import pandas as pd

from daace._formats import exact
from daace.explain.answers.words import (
    advice,
    follow_sentence,
    format_level,
    headline,
    sentences_of_certainty,
)
from daace.explain.explanation import Explanation
from daace.explain.pages.page import PAGE, STYLE, table
from daace.web.questions import RowQuestion

EXTRA = """
.daace { max-width: 46rem; }
.daace .meta { color: #555; }
.daace .sign { margin-top: 3rem; display: flex; gap: 2rem; }
.daace .sign div { flex: 1; border-top: 1px solid #555; padding-top: .3rem; color: #555; }
.daace code { overflow-wrap: anywhere; font-size: .85rem; }
"""


def write_receipt(
    e: Explanation, question: RowQuestion, facts: Mapping[str, Any], *, made: datetime
) -> str:
    """Return the page.

    Args:
        e: the answer.
        question: the question.
        facts: facts of the model.
        made: date and time of the receipt.
    """
    body = [
        f"<h1>{escape(headline(e))}</h1>",
        f'<p class="meta">Made on {made:%d %B %Y at %H:%M (UTC%z)} by DAACE '
        f"{escape(str(facts['version']))} with the model “{escape(str(facts['name']))}”.</p>",
        _answer(e),
        _about(e),
        _asked(e, question),
        _model(facts),
        '<div class="sign"><div>Date</div><div>Signature</div></div>',
    ]
    return PAGE.format(
        title=escape(f"Receipt: {headline(e)}"), style=STYLE + EXTRA, body="\n".join(body)
    )


def _answer(e: Explanation) -> str:
    if not e.found:
        lines = "".join(f"<li>{escape(line)}</li>" for line in advice(e))
        return f"<h2>Why there is no path</h2><ul>{lines}</ul>"
    steps = "".join(f"<li>{escape(words)}</li>" for words in e.steps(features=len(e.path.columns)))
    said = [*([follow_sentence(e)] if e.certainty.follow else []), *sentences_of_certainty(e)]
    sure = "".join(f"<li>{escape(line)}</li>" for line in [*said, *e.notes])
    parts = [f"<h2>What to do</h2><ol>{steps}</ol>"] if steps else []
    return "\n".join([*parts, f"<h2>How sure is it?</h2><ul>{sure}</ul>" if sure else ""])


def _about(e: Explanation) -> str:
    cells = e.path.astype(object).where(e.path.notna(), None)
    head = ["feature", "now", *(["then"] if e.step_count else [])]
    rows = []
    for name in cells.columns:
        values = [cells[name].iloc[0], *([cells[name].iloc[-1]] if e.step_count else [])]
        rows.append([str(name), *("missing" if v is None else _text(v) for v in values)])
    return f"<h2>The case</h2>{table(head, rows)}"


def _text(value: Any) -> str:
    return "missing" if pd.isna(value) else format_level(value)


def _asked(e: Explanation, question: RowQuestion) -> str:
    asked = e.provenance
    plausible = (
        f"log p at least {asked.min_log_prob:.4g}"
        if asked.plausibility is None
        else exact(asked.plausibility)
    )
    rows = [
        ["Goal", str(e.target)],
        ["Probability at least", exact(asked.min_posterior)],
        ["Plausibility at least", plausible],
        ["Penalty", exact(asked.penalty)],
        ["Rules", question.rules.describe() or "none"],
        ["Planner", asked.planner],
        ["Seed", str(asked.seed)],
    ]
    return f'<h2>The question</h2><div class="settings">{table(["", ""], rows)}</div>'


def _model(facts: Mapping[str, Any]) -> str:
    judge = facts["judge"]
    decides = "the density itself" if judge == "density" else str(judge)
    return (
        f"<h2>The model</h2><p>Kind: {escape(str(facts['density']))}. "
        f"The class is decided by {escape(decides)}.</p>"
        f"<p>Hash: <code>{escape(str(facts['hash']))}</code></p>"
        '<p class="note">A prediction of the model is not a promise: the model describes the '
        "cases that it has learned from.</p>"
    )
