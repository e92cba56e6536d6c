"""Tables larger than memory: explained block by block, to a file, from where a stop left it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._files import check_writable, destination, replacing
from daace._progress import Bar
from daace._workers import BACKENDS, Backend
from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput, MissingDependency
from daace.explain.batch import BLOCK, Batch, excluded_rows, refuse_excluded, share_out
from daace.explain.encoding import dump_json
from daace.explain.identity import identify_density, identify_judge, identify_planner
from daace.explain.journal import Journal
from daace.explain.oddities import note_denied
from daace.explain.provenance import describe_planner, name_of
from daace.explain.record import to_record
from daace.explain.summary import Summary, Tally

if TYPE_CHECKING:
    from daace.explain.explainer import Explainer

#: Rows that are turned into the final format together.
FINAL = 4096

FORMATS = (".csv", ".parquet", ".jsonl")


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
    seed: int,
) -> Summary:
    """Explain every row of a file; see `Explainer.explain_file`."""
    source, output = Path(source), Path(output)
    if output.suffix.lower() not in FORMATS:
        raise InvalidInput(f"'output' must end in {quote(FORMATS)}. Got '{output.name}'.")
    check_choice("backend", backend, BACKENDS)
    # Before the work begins: would the question itself be refused?
    nobody = np.empty((0, len(explainer.density.features_)))
    explainer.explain_values(nobody, target=target, time_limit=time_limit, seed=seed)
    if target is not None:
        explainer.density.class_index(target)
    if ".parquet" in (source.suffix.lower(), output.suffix.lower()):
        _parquet()
    check_writable(output, source)
    features = explainer.density.features_
    whole = output.suffix.lower() == ".jsonl"
    _check_rows(explainer, source)
    asked = _fingerprint(explainer, source, target, seed, whole)
    part = part_of(output)
    with (
        closing(read_blocks(source, explainer.density)) as blocks,
        Journal(part, asked, resume=resume) as journal,
    ):
        with Bar("Explaining", None, done=journal.rows, shown=progress) as bar:
            for first, rows, parts in _waiting(blocks, journal, one_by_one=n_jobs in (None, 1)):
                try:
                    answers = explainer.explain_values(
                        explainer.density.user_values(rows),
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
                answers = note_denied(explainer.density, rows, answers)
                batch = Batch(answers, pd.RangeIndex(first, first + len(rows)), features)
                journal.append(_lines(batch, whole=whole))
                bar.advance(steps=len(rows))
        summary = _finish(journal, output, features)
        journal.remove()
    return summary


def part_of(output: Path) -> Path:
    """Return where finished rows are kept until all are."""
    return Path(f"{destination(output)}.part")


def _check_rows(explainer: Explainer, source: Path) -> None:
    """Raise `InvalidInput` for rows that cannot be explained, before hours have gone by.

    The first that cannot be read are told at once, those that break the constraints all together.
    """
    with closing(read_blocks(source, explainer.density)) as blocks:
        excluded = _excluded_rows(explainer, source, blocks)
        refuse_excluded(excluded, place=f"'{source}', rows counted from 0: ")


def _excluded_rows(
    explainer: Explainer, source: Path, blocks: Iterable[pd.DataFrame]
) -> Iterator[tuple[int, str]]:
    first = 0
    for frame in blocks:
        last = first + len(frame) - 1
        try:
            values = explainer.density.user_values(frame)
        except InvalidInput as error:
            raise InvalidInput(
                f"Rows {first} to {last} of '{source}', counted from 0: {error}"
            ) from None
        yield from excluded_rows(explainer.constraints, explainer.density, values, first=first)
        first = last + 1


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


def read_blocks(source: Path, density: ConditionalDensity) -> Generator[pd.DataFrame, None, None]:
    """Yield the model's columns of a CSV, TSV or parquet file, `BLOCK` rows at a time.

    The features, and the class where the file has it.

    Raises:
        InvalidInput: the file is missing, of another kind, or lacks a feature.
    """
    if not source.is_file():
        raise InvalidInput(f"'{source}' must be an existing file. It is not there.")
    suffix = source.suffix.lower()
    if suffix not in (".csv", ".tsv", ".parquet"):
        raise InvalidInput(f"'{source}' must end in .csv, .tsv or .parquet. Got '{suffix}'.")
    try:
        if suffix == ".parquet":
            parquet = _parquet()
            with parquet.ParquetFile(source) as file:
                columns = model_columns(source, file.schema_arrow.names, density)
            return _even(_parquet_frames(source, columns))
        separator = "\t" if suffix == ".tsv" else ","
        header = pd.read_csv(source, sep=separator, nrows=0).columns
        return _text_frames(source, model_columns(source, header, density), separator)
    except InvalidInput:
        raise
    except (ValueError, OSError) as error:
        raise InvalidInput(f"'{source}' could not be read as a table: {error}") from None


def _text_frames(
    source: Path, columns: list[str], separator: str
) -> Generator[pd.DataFrame, None, None]:
    with pd.read_csv(source, sep=separator, usecols=columns, chunksize=BLOCK) as reader:
        yield from reader


def _parquet_frames(source: Path, columns: list[str]) -> Generator[pd.DataFrame, None, None]:
    with _parquet().ParquetFile(source) as file:
        for batch in file.iter_batches(batch_size=BLOCK, columns=columns):
            yield batch.to_pandas()


def _even(frames: Generator[pd.DataFrame, None, None]) -> Generator[pd.DataFrame, None, None]:
    """Yield blocks of equal size: a parquet file ends its batches where its row groups end."""
    waiting: list[pd.DataFrame] = []
    with closing(frames):
        for frame in frames:
            waiting.append(frame)
            while sum(map(len, waiting)) >= BLOCK:
                joined = pd.concat(waiting, ignore_index=True)
                yield joined.iloc[:BLOCK]
                waiting = [joined.iloc[BLOCK:]]
    rest = pd.concat(waiting, ignore_index=True) if waiting else pd.DataFrame()
    if len(rest):
        yield rest


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
        "columns": list(Batch((), pd.RangeIndex(0), explainer.density.features_).to_frame()),
        "model": identify_density(explainer.density),
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


def _lines(batch: Batch, *, whole: bool) -> list[str]:
    if whole:
        return [
            dump_json({"row": row, **to_record(e)})
            for row, e in zip(batch.index, batch, strict=True)
        ]
    frame = batch.to_frame()
    name = "explanation_row" if "row" in batch.features else "row"
    frame.insert(0, name, batch.index)
    return [dump_json(record) for record in frame.to_dict("records")]


def _finish(journal: Journal, output: Path, features: tuple[str, ...]) -> Summary:
    """Turn the journal into the output, which appears as a whole."""
    tally = Tally(features)
    suffix, writer = output.suffix.lower(), None
    with replacing(output) as file:
        first = True
        for records in journal.blocks(FINAL):
            if suffix == ".jsonl":
                tally.add(_outcomes(records, features))
                lines = [dump_json(record) + "\n" for record in records]
                file.write("".join(lines).encode())
                continue
            frame = _typed(pd.DataFrame(records), features)
            tally.add(frame)
            if suffix == ".csv":
                frame.to_csv(file, index=False, header=first)
            else:
                writer = _append_parquet(writer, file, frame)
            first = False
        if writer is not None:
            writer.close()
    return tally.summary()


def _append_parquet(writer: Any, file: Any, frame: pd.DataFrame) -> Any:
    parquet = _parquet()
    import pyarrow

    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if writer is None:
        writer = parquet.ParquetWriter(file, table.schema)
    writer.write_table(table)
    return writer


def _typed(frame: pd.DataFrame, features: tuple[str, ...]) -> pd.DataFrame:
    """Give the columns back the types they had before JSON."""
    numbers = [
        name
        for name in frame.columns
        if name in features
        or name.removeprefix("explanation_") in ("cost", "log_prob", "posterior")
    ]
    return frame.astype(dict.fromkeys(numbers, np.float64))


def _outcomes(records: list[dict[str, Any]], features: tuple[str, ...]) -> pd.DataFrame:
    """Return what a summary needs of whole explanations, named as in `Batch.to_frame`."""
    columns = {
        "status": [record["status"] for record in records],
        "cost": np.array([float(record["cost"]) for record in records]),
        "steps": np.array([len(record["path"]) - 1 for record in records]),
        "notes": [" ".join(record["notes"]) for record in records],
    }
    return pd.DataFrame(
        {f"explanation_{n}" if n in features else n: column for n, column in columns.items()}
    )


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependency("Parquet needs pyarrow: pip install 'daace[parquet]'.") from None
    return pyarrow.parquet
