"""The plan of a study: its name, and the keys of its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from daace._files import write_atomically
from daace._json import dump_json, load_json
from daace.exceptions import InvalidInput
from daace.study.spec import TRUTH, StudySpec
from daace.study.trials import TableKeys, Trial

PLAN = "plan.json"


def write_plan(
    folder: Path,
    spec: StudySpec,
    trials: Mapping[TableKeys, Sequence[Trial]],
    note: Callable[[StudySpec, Sequence[str]], Mapping[str, Any]],
) -> None:
    """Write the plan of a study; tables that earlier runs had are kept.

    Args:
        folder: the folder of the run.
        spec: the study.
        trials: the trials of each table that is run now.
        note: from the study and the names of all tables to more entries of the plan.
    """
    plan: dict[str, Any] = {
        "study": spec.name,
        "compared": spec.compared,
        "beside": spec.beside,
        "families": {a.name: [a.family, a.vertices] for a in spec.algorithms if a.family},
        "instances": spec.instances,
        "scale": spec.scale,
        "target": spec.target,
        "truth": TRUTH,
        "densities": {keys.table.name: keys.comparison() for keys in trials},
        "questions": {keys.table.name: [t.key for t in mine] for keys, mine in trials.items()},
    }
    others = [t.name for t in spec.tables if t.name not in plan["questions"]]
    if others and (folder / PLAN).exists():
        earlier = load_json((folder / PLAN).read_text(encoding="utf-8"))
        for part in ("densities", "questions"):
            plan[part] |= {name: earlier[part][name] for name in others if name in earlier[part]}
    plan |= note(spec, list(plan["questions"]))
    write_atomically(folder / PLAN, dump_json(plan))


def read_plan(folder: Path) -> dict[str, Any]:
    """Read the plan of a study.

    Args:
        folder: the folder of the run.

    Raises:
        InvalidInput: the plan is missing or damaged.
    """
    try:
        plan: dict[str, Any] = load_json((folder / PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(
            f"'{folder / PLAN}' must list the records of the study. It is missing or "
            "damaged: 'daace study run' writes it again."
        ) from None
    return plan


def planned_keys(plan: Mapping[str, Any]) -> list[str]:
    """Return the keys of all records that belong to a study.

    Args:
        plan: the plan of the study.
    """
    return [*plan["densities"].values(), *(k for keys in plan["questions"].values() for k in keys)]
