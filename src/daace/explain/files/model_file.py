"""An explainer in a file: density, committee and settings, but no classifier and no row."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from daace._json import read_number, read_text, reason
from daace.density.base import ConditionalDensity
from daace.density.model_file import read_model, write_model
from daace.density.registry import name_of
from daace.exceptions import DaaceError, ModelFileError
from daace.explain.asking.settings import Settings
from daace.explain.judging.committee import Committee
from daace.explain.trust.held_out import from_record, to_record
from daace.landscape.constraints import Constraints
from daace.planners.optimizer import PathOptimizer

#: Most that a model file may ask for: more would take hours, or all memory.
MAX_VERTICES, MAX_STARTS = 100, 1000


def read_settings(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str | None]:
    """Return the arguments of the explainer in a model file, and the name of its classifier.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
        MissingFile: there is no such file.
    """
    density, settings = read_model(path)
    try:
        penalty, plausibility = (read_number(settings[n]) for n in ("penalty", "plausibility"))
        asked = settings["min_posterior"]
        planner, rules = settings["planner"], settings["constraints"]
        judge = settings.get("classifier")  # files of earlier versions have none
        judge = None if judge is None else read_text(judge)
        arguments = {
            "density": density,
            "planner": None if planner is None else _rebuild_planner(planner),
            "changes": settings.get("changes", "all"),  # the only choice of earlier versions
            "penalty": penalty,
            "scale": settings["scale"],
            "plausibility": plausibility,
            "min_posterior": None if asked is None else read_number(asked),
            "judge": settings.get("judge"),
            "round": settings.get("round", False),
            "committee": _read_committee(density, settings),
            "constraints": None if rules is None else Constraints(**rules),
            "held_out": from_record(settings.get("held_out"), name_of(density)),
        }
        Settings(**arguments)  # raises if they are invalid
    except (DaaceError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"'{path}' holds wrong settings: {reason(error)}.") from None
    return arguments, judge


def _read_committee(density: ConditionalDensity, settings: Mapping[str, Any]) -> Committee | None:
    """Return the committee of a model file, if it has one."""
    return Committee.from_arrays(density, settings["arrays"]) if "arrays" in settings else None


def _rebuild_planner(settings: dict[str, Any]) -> PathOptimizer:
    """Return the planner of a model file.

    Raises:
        ValueError: it asks for too much.
    """
    vertices, starts = settings["vertices"], settings["starts"]
    if not all(type(v) is int and v <= MAX_VERTICES for v in vertices):
        raise ValueError(f"'vertices' must be integers up to {MAX_VERTICES}")
    if not (type(starts) is int and starts <= MAX_STARTS):
        raise ValueError(f"'starts' must be an integer up to {MAX_STARTS}")
    return PathOptimizer(**{**settings, "vertices": tuple(vertices)})


def save(settings: Settings, path: str | os.PathLike[str], *, include_rows: bool) -> None:
    """Write density and settings; see `Explainer.save`."""
    kept = settings.planner if type(settings.planner) is PathOptimizer else None
    if settings.planner is not kept:
        warnings.warn(
            f"A model file does not hold a {type(settings.planner).__name__}: the loaded "
            "explainer uses PathOptimizer. Pass planner=... to explain.",
            stacklevel=3,
        )
    rules = settings.constraints
    record = {
        "penalty": settings.penalty,
        "scale": settings.scale,
        "plausibility": settings.plausibility,
        "min_posterior": settings.min_posterior,
        "constraints": None if rules is None else asdict(rules),
        "planner": None if kept is None else {**asdict(kept), "vertices": kept.tried},
        "judge": settings.judge,
        "round": settings.round,
        "changes": settings.changes,
        "classifier": settings.classifier,
        "held_out": to_record(settings.held_out),
    }
    if settings.committee is not None:
        record["arrays"] = settings.committee.to_arrays()
    write_model(path, settings.density, record, include_rows=include_rows)
