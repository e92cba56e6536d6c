"""An explainer in a file: its density and its settings, but no classifier and no training row."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from daace._json import read_number, read_text, reason
from daace.density.model_file import read_model, write_model
from daace.exceptions import DaaceError, ModelFileError
from daace.explain.held_out import from_record, to_record
from daace.explain.provenance import name_of
from daace.landscape.constraints import Constraints
from daace.planners.optimizer import PathOptimizer

if TYPE_CHECKING:
    from daace.explain.explainer import Explainer

#: Most that a model file may ask for: more would take hours, or all memory.
MAX_VERTICES, MAX_STARTS = 100, 1000


def load(
    path: str | os.PathLike[str],
    classifier: Any = None,
    *,
    classifier_grad: Callable[[Any], Any] | None = None,
    classifier_budget: int | None = None,
) -> Explainer:
    """Read an explainer that `Explainer.save` wrote.

    Args:
        path: the model file.
        classifier: judge of the class; model files never hold one.
        classifier_grad, classifier_budget: as in `Explainer`.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
        MissingFile: there is no such file.
    """
    from daace.explain.explainer import Explainer

    density, settings = read_model(path)
    try:
        penalty, plausibility, min_posterior = (
            read_number(settings[name]) for name in ("penalty", "plausibility", "min_posterior")
        )
        planner, rules = settings["planner"], settings["constraints"]
        judge = settings.get("classifier")  # files of earlier versions have none
        judge = None if judge is None else read_text(judge)
        if planner is not None:
            planner = _rebuild_planner(planner)
        explainer = Explainer(
            density,
            planner=planner,
            penalty=penalty,
            scale=settings["scale"],
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=None if rules is None else Constraints(**rules),
            held_out=from_record(settings.get("held_out"), density.kind),
        )
    except (DaaceError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"'{path}' holds wrong settings: {reason(error)}.") from None
    if classifier is not None:
        return replace(
            explainer,
            classifier=classifier,
            classifier_grad=classifier_grad,
            classifier_budget=classifier_budget,
        )
    if judge is not None:
        warnings.warn(
            f"'{path}' was saved with a classifier ({judge}), which a model file does not hold: "
            "the density judges the class now. Pass classifier=... to load.",
            stacklevel=2,
        )
    return explainer


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


def save(explainer: Explainer, path: str | os.PathLike[str], *, include_rows: bool) -> None:
    """Write density and settings of an explainer; see `Explainer.save`."""
    kept = explainer.planner if type(explainer.planner) is PathOptimizer else None
    if explainer.planner is not kept:
        warnings.warn(
            f"A model file does not hold a {type(explainer.planner).__name__}: the loaded "
            "explainer uses PathOptimizer. Pass planner=... to explain.",
            stacklevel=3,
        )
    rules, judge = explainer.constraints, explainer.classifier
    settings = {
        "penalty": explainer.penalty,
        "scale": explainer.scale,
        "plausibility": explainer.plausibility,
        "min_posterior": explainer.min_posterior,
        "constraints": None if rules is None else asdict(rules),
        "planner": None if kept is None else {**asdict(kept), "vertices": kept.tried},
        "classifier": None if judge is None else name_of(judge),
        "held_out": to_record(explainer.held_out),
    }
    write_model(path, explainer.density, settings, include_rows=include_rows)
