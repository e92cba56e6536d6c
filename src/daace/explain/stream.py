"""Tables larger than memory: explained block by block, to a file, from where a stop left it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._files import check_writable, destination, replacing
from daace._progress import Bar
from daace._signals import remembering_interrupts
from daace._workers import BACKENDS, Backend
from daace.data.files import TableFile, import_parquet, open_table
from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answer_file import FORMATS, AnswerWriter, passed_columns
from daace.explain.batch import BLOCK, share_out
from daace.explain.encoding import dump_json
from daace.explain.held_out import find_weakness
from daace.explain.identity import identify_density, identify_judge, identify_planner
from daace.explain.journal import Journal
from daace.explain.oddities import note_denied
from daace.explain.outcomes import OUTCOME, to_outcome
from daace.explain.provenance import describe_planner, name_of
from daace.explain.record import to_record
from daace.explain.rows import read_rows, refuse_excluded
from daace.explain.summary import Summary, Tally

if TYPE_CHECKING:
    from daace.explain.explainer import Explainer
    from daace.explain.explanation import Explanation

#: Rows that are turned into the final format together.
FINAL = 4096


def explain_file(
    explainer: Explainer,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    target: object,
    n_jobs: int,
    backend: Backend,
    progress: bool,
    resume: bool,
    time_limit: float | None,
    strict: bool,
    long: bool,
    seed: int,
) -> Summary:
    """Explain every row of a file; see `Explainer.explain_file`."""
    source, output = Path(source), Path(output)
    if output.suffix.lower() not in FORMATS:
        raise InvalidInput(f"'output' must end in {quote(FORMATS)}. Got '{output.name}'.")
    if long and output.suffix.lower() == ".jsonl":
        raise InvalidInput("'long' must go with .csv or .parquet: JSON lines have all changes.")
    check_choice("backend", backend, BACKENDS)
    # Before the work begins: would the question itself be refused?
    nobody = np.empty((0, len(explainer.density.features_)))
    explainer.explain_values(nobody, target=target, time_limit=time_limit, seed=seed)
    if target is not None:
        explainer.density.class_index(target)
    if output.suffix.lower() == ".parquet":
        import_parquet()
    check_writable(output, source)
    whole = output.suffix.lower() == ".jsonl"
    table = open_table(source)
    known = model_columns(source, table.columns, explainer.density)
    if strict:
        with closing(table.blocks(BLOCK, columns=known)) as blocks:
            _check_rows(explainer, source, blocks)
    asked = _fingerprint(explainer, source, target, seed, whole)
    part = part_of(output)
    with (
        closing(table.blocks(BLOCK, columns=known)) as blocks,
        Journal(part, asked, resume=resume) as journal,
        remembering_interrupts() as raise_lost,
    ):
        _check_answers(journal, explainer.density, whole=whole, long=long)
        with Bar("Explaining", None, done=journal.rows, shown=progress) as bar:
            for first, frame, parts in _waiting(blocks, journal, one_by_one=n_jobs in (None, 1)):
                rows = read_rows(explainer.density, frame, explainer.constraints)
                try:
                    answers = explainer.explain_values(
                        rows.values,
                        invalid=rows.invalid,
                        strict=strict,
                        target=target,
                        time_limit=time_limit,
                        first=first,
                        parts=parts,
                        n_jobs=n_jobs,
                        backend=backend,
                        seed=seed,
                    )
                except InvalidInput as error:
                    kept = f" The answers before are kept in '{part}'." if journal.rows else ""
                    raise InvalidInput(
                        f"Rows {first} to {first + len(rows) - 1} of '{source}', counted from 0: "
                        f"{error}{kept}"
                    ) from None
                answers = note_denied(explainer.density, frame, answers)
                journal.append(_lines(first, answers, whole=whole))
                bar.advance(steps=len(rows))
                raise_lost()
        others = [name for name in table.columns if name not in known]
        summary = _finish(journal, output, table, others, explainer.density, long)
        journal.remove()
    return summary


def part_of(output: Path) -> Path:
    """Return where finished rows are kept until all are."""
    return Path(f"{destination(output)}.part")


def _check_rows(explainer: Explainer, source: Path, blocks: Iterable[pd.DataFrame]) -> None:
    """Raise `InvalidInput` for rows that cannot be explained, before hours have gone by.

    The first that cannot be read is told at once, those that break the constraints all together.
    """
    excluded = _excluded_rows(explainer, source, blocks)
    refuse_excluded(excluded, place=f"'{source}', rows counted from 0: ")


def _excluded_rows(
    explainer: Explainer, source: Path, blocks: Iterable[pd.DataFrame]
) -> Iterator[tuple[int, str]]:
    first = 0
    for frame in blocks:
        rows = read_rows(explainer.density, frame, explainer.constraints)
        for row, reason in sorted(rows.invalid.items()):
            if np.isnan(rows.values[row]).any():
                raise InvalidInput(
                    f"Row {first + row} of '{source}', counted from 0: {reason} Correct or drop "
                    "such rows."
                )
            yield first + row, reason
        first += len(frame)


def _check_answers(
    journal: Journal, density: ConditionalDensity, *, whole: bool, long: bool
) -> None:
    """Raise `InvalidInput` unless the answers of a stopped run can be written once all are there.

    Args:
        journal: of the run.
        density: knows features and classes.
        whole: whether they are whole explanations.
        long: one row a change.
    """
    writer = AnswerWriter(BytesIO(), ".jsonl" if whole else ".csv", density, long=long)
    for outcomes in journal.blocks(FINAL):
        try:
            _to_tally(outcomes)
            writer.write(0, outcomes, pd.DataFrame(index=pd.RangeIndex(len(outcomes))))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise InvalidInput(
                f"'{journal.path}' must hold answers of this program. Some of its lines are "
                "something else: delete the file to begin anew."
            ) from None


def _waiting(
    blocks: Iterable[pd.DataFrame], journal: Journal, *, one_by_one: bool
) -> Iterator[tuple[int, pd.DataFrame, list[slice]]]:
    """Yield rows without an answer, the number of the first, and which are solved together.

    What is solved together is part of the result, so a block is parted as if none had an answer.

    Args:
        blocks: the rows of the file.
        journal: has the answers to the first; those of a part that is not complete are cut off.
        one_by_one: yield each part alone, so that its answers are kept as soon as possible.
    """
    first = 0
    for frame in blocks:
        parts = [p for p in share_out(len(frame)) if first + p.stop > journal.rows]
        if parts and journal.rows > first + parts[0].start:
            journal.cut(first + parts[0].start)
        for group in [[part] for part in parts] if one_by_one else [parts] if parts else []:
            begin = group[0].start
            rows = frame.iloc[begin : group[-1].stop]
            yield first + begin, rows, [slice(p.start - begin, p.stop - begin) for p in group]
        first += len(frame)


def model_columns(source: Path, names: Iterable[str], density: ConditionalDensity) -> list[str]:
    """Return which columns of a file are the model's: the features, and the class if it is there.

    Raises:
        InvalidInput: the file lacks a feature.
    """
    known = list(names)
    missing = [name for name in density.features_ if name not in known]
    if missing:
        raise InvalidInput(
            f"'{source}' must have every feature of the model. Missing: {quote(missing)}."
        )
    return [name for name in (*density.features_, density.target_) if name in known]


def _fingerprint(
    explainer: Explainer, source: Path, target: object, seed: int, whole: bool
) -> dict[str, Any]:
    """Return what the answers depend on, to tell whether a stopped run may go on."""
    from daace import __version__

    planner, rules, judge = explainer.planner, explainer.constraints, explainer.judge
    return {
        "version": __version__,
        "source": source.name,
        "content": _digest(source),
        "whole explanations": whole,
        "features": list(explainer.density.features_),
        "columns": [*OUTCOME, "changes", "moved", "start", "end"],
        "model": identify_density(explainer.density),
        "held-out rows": find_weakness(
            explainer.held_out, classified=explainer.classifier is not None
        ),
        "penalty": float(explainer.penalty),
        "scale": explainer.scale,
        "plausibility": float(explainer.plausibility),
        "min_posterior": float(explainer.min_posterior),
        "constraints": None if rules is None else repr(rules),
        "planner": None if planner is None else describe_planner(planner),
        "rows of the planner": None if planner is None else identify_planner(planner),
        "classifier": None if judge is None else name_of(explainer.classifier),
        "answers of the classifier": None
        if judge is None
        else identify_judge(
            judge,
            explainer.density,
            budget=explainer.classifier_budget,
            has_grad=explainer.classifier_grad is not None,
        ),
        "target": None if target is None else str(target),
        "seed": int(seed),
    }


def _digest(source: Path) -> str:
    """Return a hash of what a file holds."""
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(first: int, answers: Sequence[Explanation], *, whole: bool) -> list[str]:
    """Return what the journal keeps of each answer: all of it, or what a table says."""
    if whole:
        return [dump_json({"row": row, **to_record(e)}) for row, e in enumerate(answers, first)]
    return [dump_json(to_outcome(e)) for e in answers]


def _finish(
    journal: Journal,
    output: Path,
    table: TableFile,
    others: Sequence[str],
    density: ConditionalDensity,
    long: bool,
) -> Summary:
    """Turn the journal into the output, which appears as a whole."""
    tally, suffix = Tally(), output.suffix.lower()
    with replacing(output) as file:
        writer = AnswerWriter(file, suffix, density, others=others, long=long)
        first = 0
        for outcomes, passed in _with_others(journal, table, others, verbatim=suffix == ".csv"):
            tally.add(_to_tally(outcomes))
            writer.write(first, outcomes, passed)
            first += len(outcomes)
        writer.close()
    return tally.summary()


def _with_others(
    journal: Journal, table: TableFile, others: Sequence[str], *, verbatim: bool
) -> Iterator[tuple[list[dict[str, Any]], pd.DataFrame]]:
    """Yield outcomes and the columns that are passed through, row by row the same.

    At least once: a table without rows has a header, too.
    """
    if not journal.rows:
        yield [], pd.DataFrame(columns=list(others))
        return
    if not others:
        for outcomes in journal.blocks(FINAL):
            yield outcomes, pd.DataFrame(index=pd.RangeIndex(len(outcomes)))
        return
    with closing(passed_columns(table, others, FINAL, verbatim=verbatim)) as passed:
        yield from zip(journal.blocks(FINAL), passed, strict=True)


def _to_tally(outcomes: list[dict[str, Any]]) -> pd.DataFrame:
    """Return what a summary needs of outcomes, or of whole explanations."""
    notes = [note if isinstance(note, str) else " ".join(note) for note in
             (outcome["notes"] for outcome in outcomes)]  # fmt: skip
    return pd.DataFrame(
        {
            "status": [outcome["status"] for outcome in outcomes],
            "cost": np.array([float(outcome["cost"]) for outcome in outcomes]),
            "steps": np.array(
                [o["steps"] if "steps" in o else len(o["path"]) - 1 for o in outcomes]
            ),
            "notes": notes,
        }
    )
