"""An explanation as one HTML page: no scripts, no requests, fit to print and to send."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

import pandas as pd

from daace._formats import percent, percent_of_cases
from daace.explain.answers.answer import Answer
from daace.explain.answers.curves import profiles_along
from daace.explain.answers.profiles import describe_passage
from daace.explain.answers.steps import write_steps
from daace.explain.answers.words import (
    NAMED,
    advice,
    format_change,
    format_size,
    headline,
    step_name,
)
from daace.explain.pages.page import PAGE, STYLE, cards, picture, table
from daace.landscape.constraints import Constraints

#: Percentile of plausibility below which a start is unusual.
RARE = 5.0


def render(e: Answer) -> str:
    """Return the whole page."""
    title = escape(headline(e))
    body = [
        _summary(e),
        _glance(e),
        _steps(e),
        _reasons(e),
        _landscape(e),
        _alternatives(e),
        _changes(e),
        _caveats(e),
        _settings(e),
    ]
    return PAGE.format(title=title, style=STYLE, body="\n".join(part for part in body if part))


def render_fragment(e: Answer) -> str:
    """Return outcome and steps, without plots, for a notebook's output cell."""
    return f'<style>{STYLE}</style><div class="daace">{_summary(e)}{_steps(e)}</div>'


def _summary(e: Answer) -> str:
    if e.status == "invalid_row":
        reason = "<br>".join(map(escape, e.notes))
        return f'<h1>{escape(headline(e))}</h1>\n<p class="advice">{reason}</p>'
    known = [
        (
            f"Probability of '{e.target}'",
            _way([percent(share) for share in e.along["posterior"]]),
        ),
        (
            "More plausible than",
            _way([percent_of_cases(p) for p in e.along["percentile"]]) + " of cases",
        ),
    ]
    if e.found:
        known += [("Steps", str(e.step_count)), ("Cost of the path", f"{e.cost:.3g}")]
    lines = list(e.notes) if e.found else advice(e)
    hint = f'<p class="advice">{"<br>".join(map(escape, lines))}</p>' if lines else ""
    meaning = (
        "Cases are what the model expects to see: a state that is more plausible than few of them "
        "is an unusual one. Changes are also given in standard deviations (sd) of each feature."
    )
    return f'<h1>{escape(headline(e))}</h1>\n{hint}{cards(known)}\n<p class="note">{meaning}</p>'


def _way(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} → {values[-1]}"


def _steps(e: Answer) -> str:
    if e.step_count == 0:
        return ""
    parts = ["<h2>How to get there</h2>"]
    for step, paragraph in enumerate(write_steps(e), 1):
        parts.append(f"<h3>{escape(step_name(e, step))}</h3>")
        parts.append(f"<p>{escape(paragraph)}</p>")
        parts.append(_table(e, e.changes(step).head(NAMED)))
    return "\n".join(parts)


def _changes(e: Answer) -> str:
    changes = e.changes()
    if changes.empty:
        return ""
    same = len(e.path.columns) - len(changes)
    note = f'<p class="note">{same} features keep their value.</p>' if same else ""
    return f"<h2>From start to counterfactual</h2>\n{_table(e, changes)}\n{note}"


def _table(e: Answer, changes: pd.DataFrame) -> str:
    rows = []
    for name, before, after, change, size in changes.itertuples(index=False):
        old, new = format_change(e, name, before, after)
        rows.append((name, old, new, format_size(change, size)))
    return table(("feature", "from", "to", "change"), rows)


def _svg(e: Answer, kind: Literal["steps", "landscape", "along", "waterfall"]) -> bytes:
    from daace.explain.pictures.path_plots import draw

    return draw(e, kind).to_svg()


def _glance(e: Answer) -> str:
    if e.step_count == 0:
        return ""
    steps = picture("Each feature from the start to the counterfactual", _svg(e, "steps"))
    return f"<h2>At a glance</h2>\n{steps}"


def _landscape(e: Answer) -> str:
    if e.density is None:
        return ""
    view = picture("The path over the landscape of two features", _svg(e, "landscape"))
    meaning = "White ground is where cases are common, grey where they are rare."
    return f'<h2>The landscape</h2>\n<p class="note">{meaning}</p>\n{view}'


def _reasons(e: Answer) -> str:
    if e.step_count == 0:
        return ""
    along = picture("Plausibility and probability of the target along the path", _svg(e, "along"))
    bars = picture("What each change does for the target", _svg(e, "waterfall"))
    meaning = (
        "Log-odds are the logarithm of the odds: 0 is 50%, 2.2 is 90%, 4.6 is 99%. Features move "
        "together, so a change can count against the target and still be part of the path."
    )
    note = ""
    if e.density is not None and e.provenance.classifier is None:
        note = f'\n<p class="note">{meaning}</p>'
    groups = _groups(e)
    return f"<h2>Along the path</h2>\n{along}{groups}\n<h2>What brings it about</h2>{note}\n{bars}"


def _groups(e: Answer) -> str:
    """Return the profiles that the path resembles most, if the density has profiles."""
    if not e.profiles:
        return ""
    meaning = (
        "A group consists of cases of one class that are alike. Its description says how it "
        "differs from the other cases of its class."
    )
    rows = []
    for name, words in profiles_along(e).items():
        at = [step_name(e, i) for i, here in enumerate(e.along["profile"]) if here == name]
        rows.append((name, words, ", ".join(at) or "between steps"))
    passage = describe_passage(e)
    said = f"<p>{escape(passage)}</p>\n" if passage else ""
    found = table(("most similar group", "description", "at"), rows, words=3)
    return f'\n{said}{found}\n<p class="note">{meaning}</p>'


def _alternatives(e: Answer) -> str:
    if not e.alternatives:
        return ""
    parts = [
        "<h2>Alternatives</h2>",
        f"<p>Each also ends in '{escape(str(e.target))}', elsewhere.</p>",
    ]
    for number, other in enumerate(e.alternatives, 1):
        small = f"<small>cost {other.cost:.3g} instead of {e.cost:.3g}</small>"
        parts.append(f"<h3>Alternative {number}{small}</h3>")
        parts += [f"<p>{escape(text)}</p>" for text in write_steps(other)]
    return "\n".join(parts)


def _caveats(e: Answer) -> str:
    if e.status == "invalid_row":
        return ""
    judge = "the model" if e.provenance.classifier is None else e.provenance.classifier
    items = [
        f"The probabilities are those of {judge}. They are as good as the data behind it, and "
        "explainer.check(table) says how good that is on rows it has not seen.",
    ]
    if e.step_count:
        causal = (
            "This is not a causal claim: cases like this one, with the other outcome, look like "
            "the end of the path. Whether a change can be made, and what else it brings, is for "
            "people to judge."
        )
        others = (
            "There may be other paths. This one is short and stays where cases are common; what "
            "must not change can be said beforehand."
        )
        items = [causal, *items, others]
    if e.step_count and float(e.along["percentile"].iloc[0]) < RARE:
        items.append(
            "The start itself is unusual: fewer than "
            f"{RARE:g}% of cases are less plausible, and the model knows little about such."
        )
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<h2>Before you act on it</h2>\n<ul class="caveats">{listed}</ul>'


def _settings(e: Answer) -> str:
    p = e.provenance
    rows: dict[str, Any] = {
        "status": e.status,
        "plausibility": "set by min_log_prob" if p.plausibility is None else p.plausibility,
        "min_log_prob": f"{p.min_log_prob:.6g}",
        "min_posterior": p.min_posterior,
        "penalty": p.penalty,
        "scale": p.scale,
        "constraints": Constraints(**p.constraints).describe() or "none",
        "density": p.density,
        "class judged by": p.classifier or "the density",
        "planner": p.planner,
        "seed": p.seed,
        "search": f"{p.seconds:.2f} s, {p.evaluations:,} paths evaluated"
        + f", classifier asked about {p.classifier_rows:,} rows" * (p.classifier is not None),
        "daace": p.version,
    }
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f'<h2>Settings</h2>\n<table class="settings"><tbody>{cells}</tbody></table>'
