"""An explanation as one HTML page: no scripts, no requests, fit to print and to send."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

import pandas as pd

from daace._formats import percent, percent_of_cases
from daace.explain.answers.answer import Answer
from daace.explain.answers.curves import profiles_along
from daace.explain.answers.steps import write_steps
from daace.explain.answers.words import (
    NAMED,
    advice,
    describe_passage,
    follow_sentence,
    format_change,
    format_size,
    headline,
    sentences_of_certainty,
    step_name,
    values_of_others,
)
from daace.explain.pages.page import PAGE, STYLE, cards, picture, table
from daace.landscape.constraints import Constraints

#: Percentile of plausibility below which a start is unusual.
RARE = 5.0


def render(e: Answer) -> str:
    """Return the page: first what to do and how certain it is, then the numbers."""
    body = [_what_to_do(e), _how_sure(e), _alternatives(e), _caveats(e), _analysts(e)]
    title = escape(headline(e))
    return PAGE.format(title=title, style=STYLE, body="\n".join(part for part in body if part))


def render_fragment(e: Answer) -> str:
    """Return what to do and how sure that is, without plots, for a notebook's output cell."""
    return f'<style>{STYLE}</style><div class="daace">{_what_to_do(e)}{_how_sure(e)}</div>'


def _what_to_do(e: Answer) -> str:
    """Return the outcome and the steps, in a few lines without statistics."""
    head = f"<h1>{escape(headline(e))}</h1>"
    if not e.found:
        return f'{head}\n<p class="advice">{"<br>".join(map(escape, advice(e)))}</p>'
    parts = [
        head,
        *(
            f"<h2>{escape(step_name(e, step))}</h2>\n{_todo(e, e.changes(step))}"
            for step in range(1, e.step_count + 1)
        ),
    ]
    if along := follow_sentence(e):
        parts.append(f"<p>{escape(along)}</p>")
    return "\n".join(parts)


def _todo(e: Answer, changes: pd.DataFrame) -> str:
    """Return the largest changes as a list, and the values that the others go to in one line."""
    rows = (_change_line(e, row) for row in changes.head(NAMED).itertuples(index=False))
    rest = values_of_others(e, changes, NAMED)
    smaller = [f"<small>{escape(rest)}</small>"] if rest else []
    listed = [*rows, *smaller] or ["nothing changes"]
    return f'<ul class="todo">{"".join(f"<li>{line}</li>" for line in listed)}</ul>'


def _change_line(e: Answer, row: Any) -> str:
    name, before, after, change, size = row
    old, new = format_change(e, name, before, after)
    verb = "Switch" if pd.isna(change) else "Raise" if size > 0 else "Lower"
    return f"{verb} <b>{escape(str(name))}</b> from {escape(old)} to <b>{escape(new)}</b>"


def _how_sure(e: Answer) -> str:
    lines = [*sentences_of_certainty(e), *(e.notes if e.found else ())]
    if not lines:
        return ""
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>How sure is it?</h2>\n<ul>{listed}</ul>"


def _analysts(e: Answer) -> str:
    """Return cost, plots, tables and settings, folded; they are not printed unless unfolded."""
    if e.status == "invalid_row":
        return ""
    parts = [
        _numbers(e),
        _glance(e),
        _steps(e),
        _along(e),
        _landscape(e),
        _changes(e),
        _settings(e),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f"<details>\n<summary>For analysts: numbers, plots, settings</summary>\n{body}\n</details>"
    )


def _numbers(e: Answer) -> str:
    known = [
        (
            f"Probability of '{e.target}'",
            _from_to([percent(share) for share in e.along["posterior"]]),
        ),
        (
            "More plausible than",
            _from_to([percent_of_cases(p) for p in e.along["percentile"]]) + " of cases",
        ),
    ]
    if e.found:
        known += [("Steps", str(e.step_count)), ("Cost of the path", f"{e.cost:.3g}")]
    meaning = (
        "Cases are samples of the model: a state that is more plausible than only a few of them is "
        "unusual. Changes are also given in standard deviations (sd) of each feature."
    )
    if e.alternatives:
        costs = ", ".join(f"{other.cost:.3g}" for other in e.alternatives)
        meaning += f" The alternatives cost {costs} instead of {e.cost:.3g}."
    return f'{cards(known)}\n<p class="note">{meaning}</p>'


def _from_to(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} → {values[-1]}"


def _steps(e: Answer) -> str:
    if e.step_count == 0:
        return ""
    parts = ["<h2>Step by step</h2>"]
    for step, paragraph in enumerate(write_steps(e), 1):
        parts.append(f"<h3>{escape(step_name(e, step))}</h3>")
        parts.append(f"<p>{escape(paragraph)}</p>")
        parts.append(_table(e, e.changes(step).head(NAMED)))
    return "\n".join(parts)


def _changes(e: Answer) -> str:
    changes = e.changes()
    if changes.empty:
        return ""
    same = len(e.states.columns) - len(changes)
    note = f'<p class="note">{same} features keep their value.</p>' if same else ""
    return f"<h2>From start to end</h2>\n{_table(e, changes)}\n{note}"


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
    steps = picture("Each feature from the start to the end", _svg(e, "steps"))
    return f"<h2>At a glance</h2>\n{steps}"


def _landscape(e: Answer) -> str:
    if e.density is None:
        return ""
    view = picture("The path over the landscape of two features", _svg(e, "landscape"))
    meaning = "Cases are common in white areas and rare in grey ones."
    return f'<h2>The landscape</h2>\n<p class="note">{meaning}</p>\n{view}'


def _along(e: Answer) -> str:
    if e.step_count == 0:
        return ""
    along = picture("Plausibility and probability of the target along the path", _svg(e, "along"))
    bars = picture("Contribution of each change to the target", _svg(e, "waterfall"))
    meaning = (
        "Log-odds are the logarithm of the odds: 0 is 50%, 2.2 is 90%, 4.6 is 99%. Features move "
        "together, so a change can count against the target and still be part of the path."
    )
    note = ""
    if e.density is not None and e.provenance.classifier is None:
        note = f'\n<p class="note">{meaning}</p>'
    along += _groups(e) + _judges(e)
    return f"<h2>Along the path</h2>\n{along}\n<h2>What raises the probability</h2>{note}\n{bars}"


def _judges(e: Answer) -> str:
    """Return the probabilities of each model at start and end, if there are several models."""
    if len(e.judges) < 2:
        return ""
    views = e.judges.astype({"judge": str}).to_dict("list")
    rows = [
        (name, "yes" if decides else "no", percent(start), percent(end))
        for name, decides, start, end in zip(*views.values(), strict=True)
    ]
    meaning = (
        f"Probability of '{escape(str(e.target))}' by each model. Every model that decides must "
        f"give at least {percent(e.provenance.min_posterior)}."
    )
    found = table(("model", "decides", "at the start", "at the end"), rows, words=2)
    return f'\n<h2>Who agrees</h2>\n{found}\n<p class="note">{meaning}</p>'


def _groups(e: Answer) -> str:
    """Return the profiles that the path resembles most, if the density has profiles."""
    if not e.profiles:
        return ""
    meaning = (
        "A group consists of similar cases of one class. Its description states how it "
        "differs from the other cases of its class."
    )
    rows = []
    for name, words in profiles_along(e).items():
        at = [step_name(e, i) for i, here in enumerate(e.along["profile"]) if here == name]
        rows.append((name, words, ", ".join(at) or "between steps"))
    passage = describe_passage(e)
    lead = f"<p>{escape(passage)}</p>\n" if passage else ""
    found = table(("most similar group", "description", "at"), rows, words=3)
    return f'\n{lead}{found}\n<p class="note">{meaning}</p>'


def _alternatives(e: Answer) -> str:
    if not e.alternatives:
        return ""
    parts = ["<h2>Alternatives</h2>"]
    for number, other in enumerate(e.alternatives, 1):
        share = f"<small>{percent(other.posterior)} '{escape(str(e.target))}'</small>"
        parts.append(f"<h3>Alternative {number}{share}</h3>\n{_todo(other, other.changes())}")
        own = "".join(f"<li>{escape(note)}</li>" for note in other.notes if note not in e.notes)
        parts.append(f"<ul>{own}</ul>" if own else "")
    return "\n".join(part for part in parts if part)


def _caveats(e: Answer) -> str:
    if e.status == "invalid_row":
        return ""
    judge = {
        "density": "the model",
        "committee": "the most sceptical of several models",
    }.get(e.provenance.judge, e.provenance.classifier)
    items = [f"The probabilities are those of {judge}, and only as good as its data."]
    if e.step_count:
        causal = (
            "The end of the path is what similar cases with the other outcome look like. It is not "
            "proven that the changes cause this outcome."
        )
        others = "Whether a change is possible, and what else it affects, is for people to judge."
        items = [causal, others, *items]
    if e.step_count and float(e.along["percentile"].iloc[0]) < RARE:
        items.append(
            "The start itself is unusual: fewer than "
            f"{RARE:g}% of cases are less plausible, and the model has seen few like it."
        )
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<h2>Limitations</h2>\n<ul class="caveats">{listed}</ul>'


#: What the setting 'changes' means.
CHANGES = {
    "few": "few: features are held while the cost grows by at most a quarter",
    "all": "all: the cheapest path",
}


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
        "class judged by": p.classifier or f"the {p.judge}",
        "planner": p.planner,
        "changes": CHANGES.get(p.changes or "", "set by the planner"),
        "seed": p.seed,
        "search": f"{p.seconds:.2f} s, {p.evaluations:,} paths evaluated"
        + f", {p.classifier_rows:,} rows evaluated by the classifier" * (p.classifier is not None),
        "daace": p.version,
    }
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f'<h2>Settings</h2>\n<table class="settings"><tbody>{cells}</tbody></table>'
