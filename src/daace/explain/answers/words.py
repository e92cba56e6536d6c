"""An explanation as text: the steps in plain words, in original units."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import exact, format_number, format_sd, percent, percent_of_cases, shorten
from daace._wording import quote
from daace.explain.answers.answer import Answer, is_number
from daace.explain.answers.opinions import Limit

#: Number of changes of each step that get a line of their own; the others share one.
NAMED = 5

#: Width of that shared line.
WIDTH = 90

#: Characters of a level that are shown.
LONGEST_LEVEL = 60

#: The consequence of smaller changes.
MISSED: dict[Limit, str] = {
    "posterior": "would not be enough for the required {}",
    "plausibility": "would end at a case that is less typical than required",
}


def describe(e: Answer, *, features: int = NAMED) -> str:
    """Return the explanation as text: what to do, how sure that is, and numbers for analysts."""
    lines = [headline(e)]
    if not e.found:
        if e.status != "invalid_row":
            lines += ["", f"Start: {waypoint_summary(e, 0)}"]
        return "\n".join([*lines, "", *advice(e)])
    for step in range(1, e.step_count + 1):
        lines += ["", f"{step_name(e, step)}:", *step_table(e, e.changes(step), features)]
    if along := follow_sentence(e):
        lines += ["", along]
    if sure := sentences_of_certainty(e):
        lines += ["", *sure]
    if e.notes:
        lines += ["", *e.notes]
    for number, other in enumerate(e.alternatives, 1):
        lines += ["", f"Alternative {number} ({percent(other.posterior)} '{e.target}'):"]
        lines += step_table(other, other.changes(), features)
        lines += [f"  {note}" for note in other.notes if note not in e.notes]
    if e.step_count:
        lines += ["", *for_analysts(e, features)]
    return "\n".join(lines)


def follow_sentence(e: Answer) -> str:
    """Return the sentence on changes that come with the others, or an empty string."""
    names = e.certainty.follow
    if not names:
        return ""
    need, follow = ("is", "usually changes") if len(names) == 1 else ("are", "usually change")
    return f"Of these, {quote(names)} {need} not needed for '{e.target}', but {follow} with others."


def sentences_of_certainty(e: Answer) -> list[str]:
    """Return sentences on the end: how much is enough, how sure, how usual."""
    if not e.step_count:
        return []
    before, after = (float(e.along["posterior"].iloc[k]) for k in (0, -1))
    lines = [
        f"The probability of '{e.target}' goes from {percent(before)} to {percent(after)}"
        f"{most_sceptical(e)}."
    ]
    if e.certainty.limit is not None:
        missed = MISSED[e.certainty.limit].format(percent(e.provenance.min_posterior))
        lines.append(f"A tenth less of each change {missed}.")
    if (held := e.certainty.nearby) is not None:
        lines.append(
            f"If these values are missed by a little, the outcome is still '{e.target}' in "
            f"{round(100 * held)} of 100 cases."
        )
    usual = percent_of_cases(float(e.along["percentile"].iloc[-1]))
    lines.append(f"A case with these values is more typical than {usual} of all cases.")
    return lines


def most_sceptical(e: Answer) -> str:
    """Return whose probability it is, if several judges decide."""
    count = int(e.judges["decides"].sum())
    return f", according to the most sceptical of {count} models" if count > 1 else ""


def for_analysts(e: Answer, features: int) -> list[str]:
    """Return cost, state of each step, the changes in standard deviations, and passed profiles."""
    steps = range(e.step_count + 1)
    lines = [f"For analysts: cost {e.cost:.3g}."]
    names = ["Start", *(f"Step {k}" for k in steps[1:])]
    lines += [f"  {name:<7} {waypoint_summary(e, k)}" for k, name in zip(steps, names, strict=True)]
    lines += step_table(e, e.changes(), features, sized=True)
    if passage := describe_passage(e):
        lines.append(f"  {passage}")
    return lines


def describe_passage(e: Answer) -> str:
    """Return how the most similar group changes from waypoint to waypoint, as a sentence.

    It is empty if there is one group along the whole path, or the density has no profiles.
    """
    first, *others = [name for name, _ in groupby(e.along["profile"])]
    if not others:
        return ""
    told: set[str] = set()

    def tell(name: str) -> str:
        text = f"'{name}'" if name in told else f"'{name}' ({e.profiles[name]})"
        told.add(name)
        return text

    begin = f"On the way, the most similar group changes from {tell(first)} to "
    return begin + ", then to ".join(map(tell, others)) + "."


def headline(e: Answer) -> str:
    """Return the outcome in one sentence."""
    if e.status == "invalid_row":
        return "This row cannot be explained (invalid_row)."
    if e.status == "already_there":
        return f"Nothing has to change: '{e.target}' is reached already."
    count = "one step" if e.step_count == 1 else f"{e.step_count} steps"
    if e.current == e.target:
        before, asked = float(e.along["posterior"].iloc[0]), e.provenance.min_posterior
        now, wanted = f"The probability of '{e.target}' is {percent(before)}", percent(asked)
        aim = f"the required {wanted}" if before < asked else "a case that is typical enough"
        if e.found:
            return f"{now}; reaching {aim} takes {count}."
        return f"{now}; no path to {aim} was found ({e.status})."
    way = f"rom '{e.current}' to '{e.target}'"
    return f"F{way} in {count}." if e.found else f"No path f{way} was found ({e.status})."


def advice(e: Answer) -> list[str]:
    """Return the thresholds, and what to relax so that a path can be found; one entry per line."""
    if e.status == "invalid_row":
        return list(e.notes)
    asked = e.provenance
    if asked.plausibility is None:
        plausible = f"min_log_prob {asked.min_log_prob:.4g}"
    else:
        plausible = f"plausibility {exact(asked.plausibility)}"
    lines = [f"Asked for: {plausible} and min_posterior {exact(asked.min_posterior)}."]
    said = [note for note in e.notes if note.code != "weak_density"]  # which is not a reason
    if e.status == "timeout" and not said:
        lines.append("The time limit was reached before a path was found: raise 'time_limit'.")
    lines += e.notes
    options = [f"lower '{name}' to {exact(value)}" for name, value in e.relax.items()]
    if any(asked.constraints.values()) and not said:
        options.append("loosen the constraints")
    named = asked.constraints.get("allowed") or ()
    gaps = [name for name in _missing_numbers(e) if name not in named]
    if gaps and not said:
        options.append(f"let {quote(gaps)} become known with 'allowed'")
    if not e.relax and not said:
        options.insert(0, "lower both thresholds")
    if options and (e.status == "goal_unreachable" or e.relax):
        lines.append(f"To find a path, {', or '.join(options)}.")
    unheeded = [name for name in ("max_changed", "integer") if asked.constraints.get(name)]
    if e.relax and unheeded:  # not examined: without them there was no path either
        lines.append(f"These values hold for a path without {quote(unheeded)}.")
    return lines


def _missing_numbers(e: Answer) -> list[str]:
    """Return the numbers that are missing at the start."""
    start = e.states.iloc[:1]
    return [
        str(name)
        for name, cells in start.items()
        if cells.isna().any()
        and pd.api.types.is_numeric_dtype(cells.dtype)
        and not pd.api.types.is_bool_dtype(cells.dtype)
    ]


def step_name(e: Answer, waypoint: int) -> str:
    """Return 'Start', 'Step 1', ... ; a single step needs no number."""
    if waypoint == 0:
        return "Start"
    return f"Step {waypoint}" if e.step_count > 1 else "What to do"


def waypoint_summary(e: Answer, waypoint: int) -> str:
    """Return the probability of the target and the plausibility of a waypoint."""
    row = e.along.iloc[waypoint]
    return (
        f"{percent(row['posterior'])} '{e.target}', "
        f"more plausible than {percent_of_cases(row['percentile'])} of cases"
    )


def step_table(
    e: Answer, changes: pd.DataFrame, features: int, *, sized: bool = False
) -> list[str]:
    """Return the largest changes as aligned lines, then the others.

    Args:
        e: the answer.
        changes: the changes from `e.changes`.
        features: number of features that get a line of their own.
        sized: whether to add their size in standard deviations, and only count the others.
    """
    if changes.empty:
        return ["  nothing changes"]
    shown = changes.head(features)
    names = [shorten(name) for name in shown["feature"]]
    rows = zip(shown["feature"], shown["from"], shown["to"], strict=True)
    before, after = zip(*[format_change(e, *row) for row in rows], strict=True)
    lines = [
        f"  {name:<{_width(names)}}  {old:>{_width(before)}} -> {new:<{_width(after)}}"
        for name, old, new in zip(names, before, after, strict=True)
    ]
    if sized:
        sizes = zip(shown["change"], shown["change_sd"], strict=True)
        lines = [f"{line}  ({format_size(*size)})" for line, size in zip(lines, sizes, strict=True)]
    rest = smaller_changes(changes, features) if sized else values_of_others(e, changes, features)
    lines += wrap(rest, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return [line.rstrip() for line in lines]


def values_of_others(e: Answer, changes: pd.DataFrame, features: int) -> str:
    """Return the values of features beyond the largest changes; empty if there are none.

    Someone who follows the steps has to make these changes too.
    """
    others = changes.iloc[features:]
    values = zip(others["feature"], others["from"], others["to"], strict=True)
    named = [f"{name} to {format_change(e, name, *both)[1]}" for name, *both in values]
    return f"and smaller changes: {', '.join(named)}" if named else ""


def smaller_changes(changes: pd.DataFrame, features: int) -> str:
    """Return the number of changes beyond the largest ones, in words; empty if there are none."""
    rest = len(changes) - features
    return f"and {rest} smaller change{'s' * (rest > 1)}" if rest > 0 else ""


def format_change(e: Answer, feature: str, before: Any, after: Any) -> tuple[str, str]:
    """Return both values with their unit, with enough digits to distinguish them.

    Values are given to about a hundredth of the feature's standard deviation, and finer where
    the change is smaller than that.
    """
    if not all(is_number(value) and value == value for value in (before, after)):
        return format_level(before), format_level(after)
    unit = e.units.get(feature, "")
    if all(isinstance(value, int | np.integer) for value in (before, after)):  # counts
        return f"{before:,} {unit}".rstrip(), f"{after:,} {unit}".rstrip()
    sd = float(e.sd[list(e.states.columns).index(feature)])
    step = abs(after - before)
    grain = min(sd, 30 * step) if step > 0 else sd
    size = max(abs(before), abs(after))
    old, new = (format_number(value, grain, size) for value in (before, after))
    while "." in old and old[-1] == new[-1] == "0":  # neither needs this digit
        old, new = old[:-1], new[:-1]
    old, new = (text.rstrip(".") for text in (old, new))
    return f"{old} {unit}".rstrip(), f"{new} {unit}".rstrip()


def format_level(value: Any) -> str:
    """Return a level of a category, or a number that may be missing, as text.

    Example:
        >>> format_level("rent"), format_level(None), format_level(2.0)
        ('rent', 'missing', '2')
    """
    if pd.isna(value):
        return "missing"
    return f"{float(value):,.6g}" if is_number(value) else shorten(str(value), LONGEST_LEVEL)


def format_size(change: float, size: float) -> str:
    """Return the size of a change: in standard deviations, or 'switch'."""
    return "switch" if np.isnan(change) else format_sd(size)


def _width(texts: Sequence[str]) -> int:
    return max(len(text) for text in texts)
