"""Files larger than memory, explained block by block; an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._files import check_writable, destination, replacing
from daace._journal import Journal
from daace._json import dump_json
from daace._progress import Bar
from daace._signals import remembering_interrupts
from daace._wording import quote
from daace.data.files import TableFile, import_parquet, open_table
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answers.record import to_record
from daace.explain.answers.summary import Summary, Tally
from daace.explain.answers.tables import OUTCOME, to_outcome
from daace.explain.asking.identity import identify_settings
from daace.explain.asking.query import Query, refuse
from daace.explain.asking.rows import Rows, read_rows
from daace.explain.asking.settings import Settings
from daace.explain.explanation import Explanation
from daace.explain.files.answer_file import FORMATS, AnswerWriter, passed_columns
from daace.explain.several.jobs import BLOCK, Jobs, answer_all, share_out

#: Rows that are converted to the final format together.
FINAL = 4096


def explain_file(
    settings: Settings,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    target: object,
    jobs: Jobs,
    resume: bool,
    strict: bool,
    long: bool,
) -> Summary:
    """Explain every row of a file; see `Explainer.explain_file`."""
    source, output = Path(source), Path(output)
    density, suffix = settings.density, output.suffix.lower()
    _check_output(output, long)
    no_rows = Rows(np.empty((0, density.encoding_.width)))
    Query.of(settings, no_rows, target, strict=True)  # raises if the question itself is invalid
    if target is not None:
        density.class_index(target)
    check_writable(output, source)
    table = open_table(source)
    known = model_columns(source, table.columns, density)
    if strict:
        with closing(table.blocks(BLOCK, columns=known)) as blocks:
            _check_rows(settings, source, blocks)
    whole = suffix == ".jsonl"
    asked = _fingerprint(settings, source, target, whole)
    with (
        closing(table.blocks(BLOCK, columns=known)) as blocks,
        Journal(part_of(output), asked, resume=resume) as journal,
        remembering_interrupts() as raise_lost,
    ):
        _check_answers(journal, density, whole=whole, long=long)
        with Bar("Explaining", None, done=journal.rows, shown=jobs.progress is True) as bar:
            quiet = replace(jobs, progress=False)
            for first, frame, parts in _waiting(blocks, journal, one_by_one=jobs.single):
                try:
                    query = Query.of(
                        settings, read_rows(density, frame), target, strict=strict, first=first
                    )
                    answers = answer_all(query, quiet, parts=parts)
                except InvalidInput as error:
                    raise _placed(error, source, first, len(frame), journal) from None
                journal.append(_lines(first, answers, whole=whole))
                bar.advance(steps=len(frame))
                raise_lost()
        others = [name for name in table.columns if name not in known]
        summary = _finish(journal, output, table, others, density, long)
        journal.remove()
    return summary


def _check_output(output: Path, long: bool) -> None:
    """Raise unless answers can be written to a file of this name."""
    suffix = output.suffix.lower()
    if suffix not in FORMATS:
        raise InvalidInput(
            argument="output", expected=f"end in {quote(FORMATS)}", got=f"'{output.name}'"
        )
    if long and suffix == ".jsonl":
        raise InvalidInput(
            argument="long",
            expected="go with .csv or .parquet",
            remedy="JSON lines have all changes",
        )
    if suffix == ".parquet":
        import_parquet()


def _placed(
    error: InvalidInput, source: Path, first: int, rows: int, journal: Journal
) -> InvalidInput:
    """Return an error with the rows that it is about, and the file of the answers before them."""
    last = first + rows - 1
    kept = f" The answers before these rows are in '{journal.path}'." if journal.rows else ""
    return InvalidInput(f"Rows {first} to {last} of '{source}', counted from 0: {error}{kept}")


def part_of(output: Path) -> Path:
    """Return the file in which finished rows are kept until all are finished."""
    return Path(f"{destination(output)}.part")


def _check_rows(settings: Settings, source: Path, blocks: Iterable[pd.DataFrame]) -> None:
    """Raise `InvalidInput` for rows that cannot be explained, before the search begins."""
    invalid: dict[int, str] = {}
    first = 0
    for frame in blocks:
        rows = read_rows(settings.density, frame)
        found = {**rows.invalid, **settings.excluded(rows)}
        invalid.update({first + row: why for row, why in found.items()})
        first += len(rows)
    refuse(invalid, max(first, 2), place=f"'{source}', rows counted from 0: ")


def _check_answers(
    journal: Journal, density: ConditionalDensity, *, whole: bool, long: bool
) -> None:
    """Raise `InvalidInput` unless the answers of an interrupted run can be written in the end.

    Args:
        journal: the journal of the run.
        density: knows features and classes.
        whole: whether they are whole explanations.
        long: one row a change.
    """
    writer = AnswerWriter(BytesIO(), ".jsonl" if whole else ".csv", density, long=long)
    for outcomes in journal.blocks(FINAL):
        try:
            _count(Tally(), outcomes)
            writer.write(0, outcomes, pd.DataFrame(index=pd.RangeIndex(len(outcomes))))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise InvalidInput(
                f"'{journal.path}' must hold answers of this program. Some of its lines are "
                "something else: delete the file to start again."
            ) from None


def _count(tally: Tally, outcomes: Sequence[dict[str, Any]]) -> None:
    """Count outcomes, or whole explanations."""
    for one in outcomes:
        steps = one["steps"] if "steps" in one else len(one["path"]) - 1
        tally.add(one["status"], cost=float(one["cost"]), steps=steps, notes=one["notes"])


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


def _fingerprint(settings: Settings, source: Path, target: object, whole: bool) -> dict[str, Any]:
    """Return what the answers depend on; an interrupted run resumes only if it is the same."""
    from daace import __version__

    return {
        "version": __version__,
        "source": source.name,
        "content": _digest(source),
        "whole explanations": whole,
        "columns": [*OUTCOME, "changes", "moved", "start", "end"],
        **identify_settings(settings),
        "target": None if target is None else str(target),
    }


def _digest(source: Path) -> str:
    """Return a hash of a file's content."""
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(first: int, answers: Sequence[Explanation], *, whole: bool) -> list[str]:
    """Return the journal's line for each answer: all of it, or the columns of a table."""
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
            _count(tally, outcomes)
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
