"""The results of a study, from the folder of a run or from a compact record of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._json import load_json
from daace.exceptions import InvalidInput
from daace.explain import metrics
from daace.planners.base import Status
from daace.study.records import (
    Record,
    read_compact,
    read_records,
    to_frame,
    write_compact,
)

#: What makes a problem, whoever solves it.
PROBLEM = ["table", "instance", "penalty", "plausibility", "certainty"]

#: Whose counterfactual the others are measured against, as in the paper.
REFERENCE, TO_REFERENCE = "FACE GT", "to_face_gt"

#: Status of an answer whose start needs no change.
ALREADY_THERE = str(Status.ALREADY_THERE)

PLAN_KEY = "plan"


@dataclass(frozen=True, eq=False)
class Results:
    """Records of one study.

    Attributes:
        plan: name of the study, algorithms that are compared, families of those with each vertex.
        records: of problems and densities, those of the plan only.
    """

    plan: Mapping[str, Any]
    records: tuple[Record, ...]

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One row per problem and algorithm that was tried; failures are rows without measures."""
        frame = to_frame(self.records)
        if frame.empty:
            raise InvalidInput("The study must have records. It has none: run it first.")
        families = self.plan["families"]
        frame["family"] = [families.get(name, ["", None])[0] for name in frame["algorithm"]]
        frame["vertices"] = [families.get(name, ["", None])[1] for name in frame["algorithm"]]
        frame["seconds_with_graph"] = frame["seconds"] + frame["graph_seconds"]
        return frame

    @property
    def densities(self) -> list[Record]:
        """Comparison of the densities, one record per table, in the order of the study."""
        order = {name: k for k, name in enumerate(self.plan.get("densities", ()))}
        found = [record for record in self.records if record.get("kind") == "densities"]
        return sorted(found, key=lambda record: order.get(record["table"], len(order)))

    @property
    def compared(self) -> list[str]:
        """The algorithms that answer every problem, in the order of the study."""
        there = set(self.problems["algorithm"])
        return [name for name in self.plan["compared"] if name in there]

    def scores(self, measure: str, where: pd.Series | None = None) -> pd.DataFrame:
        """Return a measure with one row per problem and one column per compared algorithm.

        Not found is infinite. Problems that some algorithm has not been asked yet, or that have
        no such measure, are left out; so is FACE GT where the distance to its own counterfactual
        is measured.

        Args:
            measure: a column of `problems`.
            where: mask over `problems`; all when left out.
        """
        frame = self.problems if where is None else self.problems[where]
        frame = frame[frame["algorithm"].isin(self.compared)]
        found = frame["found"].astype(bool)
        values = frame[measure].astype(float).where(found, np.inf)
        wide = frame.assign(score=values).pivot(index=PROBLEM, columns="algorithm", values="score")
        names = [n for n in self.compared if n != REFERENCE or measure != TO_REFERENCE]
        return wide.reindex(columns=names).dropna()

    @cached_property
    def already_there(self) -> pd.MultiIndex:
        """Problems whose start meets the goal under the density of some compared algorithm."""
        frame = self.problems
        there = frame["algorithm"].isin(self.compared) & (frame["status"] == ALREADY_THERE)
        return pd.MultiIndex.from_frame(frame.loc[there, PROBLEM].drop_duplicates())

    def without(self, problems: pd.MultiIndex) -> Results:
        """Return the results without some problems."""
        left_out = set(problems)
        kept = [
            record
            for record in self.records
            if record.get("kind") != "problem"
            or tuple(record[name] for name in PROBLEM) not in left_out
        ]
        return Results(self.plan, tuple(kept))

    def write_compact(self, path: str | os.PathLike[str]) -> None:
        """Write everything a report needs into one file."""
        plan = {name: value for name, value in self.plan.items() if name != "questions"}
        write_compact(path, [{"key": PLAN_KEY, **plan}, *self.records])


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read the folder of a run, or a compact record.

    Raises:
        InvalidInput: there are no records.
    """
    place = Path(path)
    if place.is_file():
        kept = read_compact(place)
        if PLAN_KEY not in kept:
            raise InvalidInput(f"'{path}' must be a compact record, from 'daace study export'.")
        plan = kept.pop(PLAN_KEY)
        return Results(plan, tuple(kept.values()))
    records = read_records(place / "records.jsonl")
    try:
        plan = load_json((place / "plan.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(
            f"'{place / 'plan.json'}' must say which records belong to the study. It is missing or "
            "damaged: 'daace study run' writes it again."
        ) from None
    asked = [key for keys in plan["questions"].values() for key in keys]
    wanted = [*plan["densities"].values(), *asked]
    there = [records[key] for key in wanted if key in records]
    return Results(plan, tuple(_measure_to_reference(there)))


def _measure_to_reference(records: list[Record]) -> list[Record]:
    """Add the distance between each counterfactual and that of FACE GT for the same problem."""
    ends = {
        tuple(record[name] for name in PROBLEM): np.array(record["path"][-1])
        for record in records
        if record.get("algorithm") == REFERENCE and record["found"]
    }
    measured = []
    for record in records:
        end = None
        if record.get("kind") == "problem" and record["found"]:
            end = ends.get(tuple(record[name] for name in PROBLEM))
        away = None if end is None else metrics.distance(np.array(record["path"][-1]), end)
        measured.append(record | {TO_REFERENCE: away})
    return measured
