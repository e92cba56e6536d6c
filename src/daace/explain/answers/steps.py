"""The path as instructions: a paragraph for each step, in plain words and units."""

from __future__ import annotations

from typing import Any

import pandas as pd

from daace._formats import percent, percent_of_cases, shorten
from daace.explain.answers.answer import Answer
from daace.explain.answers.words import NAMED, format_change, values_of_others


def write_steps(e: Answer, *, features: int = NAMED) -> list[str]:
    """Return a paragraph for each waypoint after the start.

    Each lists what to raise and what to lower, largest change first, and where that leads: the
    probability of the target, and the percentile of the log-density among the density's draws.

    Args:
        e: an explanation; if nothing changes, or no path was found, there is no step.
        features: number of largest changes to name in each step.
    """
    return [
        f"{_order(step, e.step_count)}{_actions(e, e.changes(step), features)} {state(e, step)}"
        for step in range(1, e.step_count + 1)
    ]


def state(e: Answer, waypoint: int) -> str:
    """Return probability and plausibility at a waypoint, as a sentence."""
    row = e.along.iloc[waypoint]
    return (
        f"Then '{e.target}' has a probability of {percent(row['posterior'])}, and the state is "
        f"more plausible than {percent_of_cases(row['percentile'])} of cases."
    )


def _order(step: int, count: int) -> str:
    return "The only step: " if count == 1 else f"Step {step} of {count}: "


def _actions(e: Answer, changes: pd.DataFrame, features: int) -> str:
    if changes.empty:
        return "nothing changes."
    shown = changes.head(features)
    parts = []
    switched = shown["change"].isna()
    for verb, some in (
        ("switch", shown[switched]),
        ("raise", shown[~switched & (shown["change_sd"] > 0)]),
        ("lower", shown[~switched & (shown["change_sd"] < 0)]),
    ):
        cells = zip(some["feature"], some["from"], some["to"], strict=True)
        listed = [_one(e, *cell) for cell in cells]
        if listed:
            parts.append((float(some["change_sd"].abs().max()), f"{verb} {_join(listed)}"))
    sentence = "; ".join(text for _, text in sorted(parts, reverse=True))
    rest = values_of_others(e, changes, features)
    return f"{sentence}; {rest}." if rest else f"{sentence}."


def _one(e: Answer, name: str, before: Any, after: Any) -> str:
    old, new = format_change(e, name, before, after)
    return f"{shorten(name)} from {old} to {new}"


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
