"""Answers in the form of the page: words, numbers and curves, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from daace._formats import percent, percent_of_cases
from daace.explain.answers.answer import Answer
from daace.explain.answers.curves import profiles_along
from daace.explain.answers.record import to_record
from daace.explain.answers.terrain import terrain
from daace.explain.answers.words import (
    advice,
    describe_passage,
    follow_sentence,
    format_change,
    format_size,
    headline,
    sentences_of_certainty,
    step_name,
    waypoint_summary,
)
from daace.explain.explanation import Explanation
from daace.explain.several.tradeoff import Tradeoff
from daace.web.questions import RowQuestion
from daace.web.remedies import find_remedies
from daace.web.wording import with_labels

#: Grid points along each axis of the terrain.
GRID = 41

#: Decimals of numbers that are only drawn.
DRAWN = 4


def view_answer(e: Explanation, question: RowQuestion, name: str) -> dict[str, Any]:
    """Return an answer for the page; exact numbers are in `record`.

    Args:
        e: the answer.
        question: the question.
        name: name of the answer in later requests.
    """
    known = e.path.columns
    steps = e.steps() if e.status != "invalid_row" else []
    return {
        "answer": name,
        "question": question.to_record(),
        **view_summary(e),
        "advice": [] if e.found else [with_labels(line, known) for line in advice(e)],
        "remedies": find_remedies(e, question),
        "sure": [*([follow_sentence(e)] if e.certainty.follow else []), *sentences_of_certainty(e)],
        "notes": [with_labels(note, known) for note in e.notes] if e.found else [],
        "steps": [{"name": step_name(e, k), "words": words} for k, words in enumerate(steps, 1)],
        "waypoints": [view_waypoint(e, k) for k in range(len(e.path))],
        "record": to_record(e),
    }


def view_summary(e: Answer) -> dict[str, Any]:
    """Return the summary of an answer beside others to the same question."""
    return {
        "status": str(e.status),
        "found": e.found,
        "headline": headline(e),
        "current": e.current,
        "target": e.target,
        "cost": e.cost if np.isfinite(e.cost) else None,
        "posterior": _finite(e.posterior),
        "probability": percent(e.posterior) if np.isfinite(e.posterior) else "",
        "step_count": e.step_count,
        "changes": view_changes(e) if e.status != "invalid_row" else [],
    }


def view_changes(e: Answer) -> list[dict[str, Any]]:
    """Return the changes along the path, largest first, in words and numbers."""
    found = []
    for name, before, after, change, size in e.changes().itertuples(index=False):
        old, new = format_change(e, name, before, after)
        verb = "switch" if pd.isna(change) else "raise" if size > 0 else "lower"
        found.append(
            {
                "feature": name,
                "verb": verb,
                "from": old,
                "to": new,
                "size": format_size(change, size),
                "sd": float(size),
            }
        )
    return found


def view_waypoint(e: Answer, waypoint: int) -> dict[str, Any]:
    """Return the row at a waypoint, with its probability and plausibility."""
    row, here = e.path.iloc[waypoint], e.along.iloc[waypoint]
    valid = e.status != "invalid_row"
    return {
        "name": step_name(e, waypoint) if waypoint or not e.step_count else "Start",
        "row": {name: None if pd.isna(cell) else plain_cell(cell) for name, cell in row.items()},
        "summary": waypoint_summary(e, waypoint) if valid else "",
        "posterior": _finite(here["posterior"]),
        "percentile": _finite(here["percentile"]),
        "usual": percent_of_cases(here["percentile"]) if valid else "",
        "profile": here["profile"],
    }


def view_pictures(e: Explanation) -> dict[str, Any]:
    """Return the curves along the path, and the effect of each change on the target."""
    along = e.plot_data("along")
    moves = e.moves()
    bars = e.plot_data("waterfall") if e.step_count else pd.DataFrame()
    return {
        "along": {
            "waypoint": rounded(along["waypoint"]),
            "length": rounded(along["length"]),
            "plausibility": rounded(along["plausibility"]),
            "posterior": rounded(along["posterior"]),
            "profile": along["profile"].tolist(),
        },
        "asked": {
            "posterior": e.provenance.min_posterior,
            "plausibility": _asked(e),
        },
        "features": [
            {"feature": name, "moves": rounded(moves[:, j]), "values": _texts(e, name)}
            for j, name in enumerate(e.path.columns)
            if np.abs(moves[:, j]).max() > 0
        ],
        "contributions": [
            {"feature": row.feature, "contribution": _finite(row.contribution)}
            for row in bars.itertuples()
        ],
        "judges": [
            {"judge": row.judge, "decides": row.decides, "start": row.start, "end": row.end}
            for row in e.judges.itertuples()
        ],
        "profiles": profiles_along(e),
        "passage": describe_passage(e),
    }


def view_terrain(e: Explanation, features: tuple[str, str]) -> dict[str, Any]:
    """Return plausibility and goal on a grid over two features, and the path on it.

    Args:
        e: the answer.
        features: the axes, both numbers.

    Raises:
        InvalidInput: there are no such features.
    """
    ground = terrain(e, features=features, size=GRID)
    return {
        "features": list(ground.features),
        "axes": [axis.tolist() for axis in ground.axes],
        "plausibility": [rounded(row) for row in ground.plausibility],
        "goal": [rounded(np.clip(row, -50, 50)) for row in ground.goal],
        "path": np.asarray(ground.path, dtype=np.float64).tolist(),
    }


def view_tradeoff(scan: Tradeoff, names: list[str]) -> list[dict[str, Any]]:
    """Return a point for each penalty.

    Args:
        scan: answers at several penalties.
        names: names of its answers.
    """
    rows = scan.to_frame().to_dict("records")
    return [
        {
            "answer": name,
            **{str(key): _finite(value) for key, value in row.items() if key != "found"},
            "found": bool(row["found"]),
            "changes": view_changes(e),
        }
        for row, e, name in zip(rows, scan, names, strict=True)
    ]


def rounded(values: Any) -> list[float | None]:
    """Return numbers for drawing; None for missing ones."""
    numbers = np.asarray(values, dtype=np.float64)
    return [round(x, DRAWN) if np.isfinite(x) else None for x in numbers.tolist()]


def plain_cell(cell: Any) -> Any:
    """Return the value of a cell as a Python object."""
    return cell.item() if isinstance(cell, np.generic) else cell


def _asked(e: Explanation) -> float | None:
    """Return the threshold of log p in the unit of plausibility."""
    mean, sd = e.plausible_scale()
    return _finite((e.provenance.min_log_prob - mean) / sd)


def _texts(e: Answer, name: str) -> list[str]:
    """Return the value of a feature at each waypoint, in words."""
    cells = e.path[name].tolist()
    after = [*cells[1:], cells[-1]]
    if len(cells) == 1:
        return [format_change(e, name, cells[0], cells[0])[0]]
    pairs = [format_change(e, name, a, b) for a, b in zip(cells, after, strict=True)]
    return [*(old for old, _ in pairs[:-1]), pairs[-2][1]]


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
