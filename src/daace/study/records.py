"""The records of a study: one line of JSON per problem, written once, by one process."""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from daace._files import write_atomically
from daace._journal import Journal
from daace._json import dump_json, load_json
from daace._wording import quote
from daace.exceptions import InvalidInput

Record = dict[str, Any]

#: How a record begins: with 'key' or 'kind'.
BEGINS = '{"k'

#: Entry of a record that may differ between two runs: times, host, memory.
CIRCUMSTANCES = "run"

#: Entries that only the full record has.
BULKY = ("path", "versions")


class RecordFile:
    """The records of a run, in a journal that one process at a time may write.

    An incomplete last line is removed, and its problem solved again. Any other line that cannot be
    read stays in the file, and a warning gives its number.

    Args:
        path: the file; created if missing.

    Attributes:
        path: the file.
        records: by their keys; of a key that occurs twice, the last.

    Raises:
        InvalidInput: another run is writing to the file, or it holds something else.
        OSError: the file cannot be written.

    Example:
        >>> with RecordFile("records.jsonl") as file:
        ...     file.append([{"key": "a", "cost": 1.5}])
        ...     file.records["a"]["cost"]
        1.5
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._journal = Journal(self.path, begins=BEGINS, must="hold the records of a study")
        try:
            self.records = parse_records(self._journal.lines(), name=str(self.path))
        except BaseException:
            self._journal.close()
            raise

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records; each line completely or not at all.

        Args:
            records: each with a 'key'.

        Raises:
            OSError: the disk is full or gone; the file ends with the last complete record.
        """
        lines = [(str(record["key"]), dump_json(record)) for record in records]
        self._journal.append([line for _, line in lines])
        self.records |= {key: load_json(line) for key, line in lines}

    def close(self) -> None:
        """Close the file, so that others can write to it."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def parse_records(lines: Iterable[bytes], *, name: str) -> dict[str, Record]:
    """Return records by key; of a key that occurs twice, the last.

    Args:
        lines: lines of JSON.
        name: name of the file, for the warning about lines that are not records.
    """
    records: dict[str, Record] = {}
    broken = []
    for number, line in enumerate(lines, start=1):
        try:
            record = load_json(line.decode("utf-8"))
            records[str(record["key"])] = record
        except (ValueError, KeyError, TypeError):
            broken.append(number)
    if broken:
        warnings.warn(
            f"'{name}' has {len(broken)} lines that are no records (line {quote(broken)}): they "
            "are left as they are, and their problems count as not solved.",
            stacklevel=2,
        )
    return records


def read_records(path: str | os.PathLike[str]) -> dict[str, Record]:
    """Read the records of a run without writing; an incomplete last line is ignored.

    Args:
        path: the file.

    Raises:
        InvalidInput: there is no such file.
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"'{file}' must hold the records of a study. There is no such file.")
    return parse_records(file.read_bytes().split(b"\n")[:-1], name=str(file))


def write_compact(path: str | os.PathLike[str], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records without paths and versions, compressed; same records, same bytes.

    Numbers keep 6 digits. 8,400 problems take about 1 MB.

    Args:
        path: the file.
        records: each with a 'key', in any order.
    """
    lines = []
    for record in sorted(records, key=lambda r: str(r["key"])):
        slim = {name: _short(value) for name, value in record.items() if name not in BULKY}
        lines.append(dump_json(slim) + "\n")
    write_atomically(path, gzip.compress("".join(lines).encode("utf-8"), mtime=0))


def read_compact(path: str | os.PathLike[str]) -> dict[str, Record]:
    """Read what `write_compact` wrote.

    Args:
        path: the file.

    Raises:
        InvalidInput: the file is something else.
    """
    try:
        data = gzip.decompress(Path(path).read_bytes())
    except (gzip.BadGzipFile, EOFError):
        raise InvalidInput(
            f"'{path}' must be a compact record, from 'daace study export'."
        ) from None
    return parse_records(data.split(b"\n")[:-1], name=str(path))


def to_frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per problem; times, host and memory become columns of their own.

    Args:
        records: records of any kind; only those of problems become rows.
    """
    rows = []
    for record in records:
        if record.get("kind") == "problem":
            flat = {k: v for k, v in record.items() if k not in (*BULKY, CIRCUMSTANCES)}
            rows.append(flat | record.get(CIRCUMSTANCES, {}))
    frame = pd.DataFrame(rows)
    for name in ("own_cost", "cost_nll", "cost_relative"):
        if name in frame:
            frame[name] = pd.to_numeric(frame[name])  # 'inf' was written as text
    return frame


def _short(value: Any) -> Any:
    """Return a number with 6 digits: enough for every test and figure."""
    if isinstance(value, bool) or not isinstance(value, float | dict | list):
        return value
    if isinstance(value, dict):
        return {name: _short(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_short(entry) for entry in value]
    return float(f"{value:.6g}")
