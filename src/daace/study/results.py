"""The results of a study, from the folder of a run or from a compact record of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.exceptions import InvalidInput
from daace.explain import metrics
from daace.planners.base import Status
from daace.study.plan_file import planned_keys, read_plan
from daace.study.records import (
    Record,
    RecordFile,
    read_compact,
    read_records,
    to_frame,
    write_compact,
)

#: File of the records in the folder of a run.
RECORDS = "records.jsonl"

#: The columns that identify a problem.
PROBLEM = ["table", "instance", "penalty", "plausibility", "certainty"]

#: Status of an answer whose start needs no change.
ALREADY_THERE = str(Status.ALREADY_THERE)

PLAN_KEY = "plan"


@dataclass(frozen=True)
class Reference:
    """An algorithm whose counterfactuals the others are measured against.

    Attributes:
        algorithm: its name.
        measure: column of the distance (L2, model space) between the two counterfactuals.
    """

    algorithm: str
    measure: str


@dataclass(frozen=True, eq=False)
class StudyResults:
    """Records of one study.

    Attributes:
        plan: name of the study, algorithms that are compared, those that are shown beside, and
            families of algorithms made by `each_vertex`.
        records: records of problems and densities, those of the plan only.
        reference: algorithm that the others are measured against, if there is one.
    """

    plan: Mapping[str, Any]
    records: tuple[Record, ...]
    reference: Reference | None = None

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One row per trial; those that failed have no measures."""
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

    @cached_property
    def compared(self) -> list[str]:
        """The algorithms that are compared with each other, in the order of the study."""
        return self._with_records(self.plan["compared"])

    @cached_property
    def beside(self) -> list[str]:
        """The algorithms that are shown beside those, in the order of the study."""
        return self._with_records(self.plan.get("beside", ()))  # older records have none

    def _with_records(self, names: Sequence[str]) -> list[str]:
        there = set(self.problems["algorithm"])
        return [name for name in names if name in there]

    def scores(self, measure: str, where: pd.Series | None = None) -> pd.DataFrame:
        """Return a measure with one row per problem and one column per compared algorithm.

        If nothing was found, the score is infinite. Problems that some algorithm has not been given
        yet, or that have no such measure, are left out; so is the reference where the distance to
        its own counterfactual is measured.

        Args:
            measure: a column of `problems`.
            where: mask over `problems`; all when left out.
        """
        own = self.reference is not None and measure == self.reference.measure
        names = [n for n in self.compared if not (own and n == self.reference.algorithm)]  # type: ignore[union-attr]
        return self._pivot(measure, where, self.compared).reindex(columns=names).dropna()

    def scores_beside(self, measure: str, where: pd.Series | None = None) -> pd.DataFrame:
        """Return the same measure of the algorithms that are shown beside, on the same problems.

        Missing where such an algorithm has not been given the problem yet.

        Args:
            measure: a column of `problems`.
            where: mask over `problems`; all when left out.
        """
        wide = self._pivot(measure, where, self.beside)
        return wide.reindex(index=self.scores(measure, where).index, columns=self.beside)

    def _pivot(self, measure: str, where: pd.Series | None, names: Sequence[str]) -> pd.DataFrame:
        frame = self.problems if where is None else self.problems[where]
        frame = frame[frame["algorithm"].isin(names)]
        values = frame.get(measure, pd.Series(np.nan, index=frame.index)).astype(float)
        scores = values.where(frame["found"].astype(bool), np.inf)
        return frame.assign(score=scores).pivot(index=PROBLEM, columns="algorithm", values="score")

    @cached_property
    def already_there(self) -> pd.MultiIndex:
        """Problems whose start meets the goal under the density of some compared algorithm."""
        frame = self.problems
        there = frame["algorithm"].isin(self.compared) & (frame["status"] == ALREADY_THERE)
        return pd.MultiIndex.from_frame(frame.loc[there, PROBLEM].drop_duplicates())

    def without(self, problems: pd.MultiIndex) -> StudyResults:
        """Return the results without some problems.

        Args:
            problems: with the levels of `PROBLEM`.
        """
        left_out = set(problems)
        kept = [
            record
            for record in self.records
            if record.get("kind") != "problem"
            or tuple(record[name] for name in PROBLEM) not in left_out
        ]
        return replace(self, records=tuple(kept))

    def write_compact(self, path: str | os.PathLike[str]) -> None:
        """Write everything that a report needs into one file.

        Args:
            path: the file.
        """
        plan = {name: value for name, value in self.plan.items() if name != "questions"}
        records = [_with_end(record, self.reference) for record in self.records]
        write_compact(path, [{"key": PLAN_KEY, **plan}, *records])


def read_results(
    path: str | os.PathLike[str], *, reference: Reference | None = None
) -> StudyResults:
    """Read the results of a study.

    Args:
        path: the folder of a run, or a compact record.
        reference: algorithm that the others are measured against; a compact record has the
            distances already.

    Raises:
        InvalidInput: there are no records.
    """
    place = Path(path)
    if place.is_file():
        kept = read_compact(place)
        if PLAN_KEY not in kept:
            raise InvalidInput(f"'{path}' must be a compact record, from 'daace study export'.")
        plan = kept.pop(PLAN_KEY)
        return StudyResults(plan, tuple(kept.values()), reference)
    records = read_records(place / RECORDS)
    plan = read_plan(place)
    there = [records[key] for key in planned_keys(plan) if key in records]
    if reference is not None:
        there = _measure_to(reference, there)
    return StudyResults(plan, tuple(there), reference)


def restore(compact: str | os.PathLike[str], folder: str | os.PathLike[str]) -> int:
    """Put the records of a compact record into the folder of a run, which then continues them.

    Args:
        compact: from `write_compact`.
        folder: the folder of the run; created if missing. Records that it has already are kept.

    Returns:
        How many records were added.

    Raises:
        InvalidInput: the file is something else.
        OSError: the folder cannot be written.
    """
    kept = read_compact(compact)
    if PLAN_KEY not in kept:
        raise InvalidInput(f"'{compact}' must be a compact record, from 'daace study export'.")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with RecordFile(place / RECORDS) as file:
        missing = [r for key, r in kept.items() if key != PLAN_KEY and key not in file.records]
        file.append(missing)
    return len(missing)


def _end_of(record: Record) -> FloatArray | None:
    """Return the counterfactual, if one was found and it is known."""
    if record.get("kind") != "problem" or not record["found"]:
        return None
    end = record["path"][-1] if record.get("path") else record.get("end")
    return None if end is None else np.array(end)


def _with_end(record: Record, reference: Reference | None) -> Record:
    """Keep the counterfactual where a compact record needs it, as it has no paths.

    That is the reference's, which later answers are measured to, and where it is not there yet.
    """
    end = _end_of(record)
    needed = reference is not None and (
        record.get("algorithm") == reference.algorithm or record.get(reference.measure) is None
    )
    others = {name: value for name, value in record.items() if name != "end"}
    return others if end is None or not needed else others | {"end": end.tolist()}


def _measure_to(reference: Reference, records: list[Record]) -> list[Record]:
    """Add the distance between each counterfactual and the reference's for the same problem."""
    ends = {
        tuple(record[name] for name in PROBLEM): end
        for record in records
        if record.get("algorithm") == reference.algorithm and (end := _end_of(record)) is not None
    }
    measured = []
    for record in records:
        away, end = record.get(reference.measure), _end_of(record)
        if end is not None and tuple(record[name] for name in PROBLEM) in ends:
            away = metrics.distance(end, ends[tuple(record[name] for name in PROBLEM)])
        measured.append(record | {reference.measure: away})
    return measured
