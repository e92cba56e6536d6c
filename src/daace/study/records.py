"""The record of a study: one line of JSON per problem, written once, by one writer."""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from daace._files import lock, write_atomically
from daace._json import dump_json, load_json
from daace._wording import quote
from daace.exceptions import InvalidInput

Record = dict[str, Any]

#: How every record begins: 'key' or 'kind'.
RECORD = b'{"k'

#: Entries that only the full record has.
BULKY = ("path", "versions")


class RecordFile:
    """Appends lines and brings each to the disk before the next; only one at a time may.

    A last line without its end was cut off by a crash: it is removed, and its problem solved
    again. Any other line that cannot be read stays where it is, and a warning names it.

    Args:
        path: of the file; made when it is not there.

    Raises:
        InvalidInput: another run writes to it, or it holds something else.
        OSError: it cannot be written.

    Example:
        >>> with RecordFile("records.jsonl") as file:
        ...     file.append([{"key": "a", "cost": 1.5}])
        ...     file.records["a"]["cost"]
        1.5
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            lock(self._file, self.path)
            data = self.path.read_bytes()
            self._size = data.rfind(b"\n") + 1
            self.records = parse_records(data[: self._size], name=str(self.path))
            if not (self.records or data.startswith(RECORD) or RECORD.startswith(data)):
                raise InvalidInput(
                    f"'{self.path}' must hold the records of a study. It holds something else: "
                    "move it away or choose another folder."
                )
            if self._size < len(data):
                os.ftruncate(self._file, self._size)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records; all of each line, or nothing of it.

        Raises:
            OSError: the disk is full or gone; the file ends with the last complete record.
        """
        lines = [(record, dump_json(record) + "\n") for record in records]
        data = "".join(line for _, line in lines).encode("utf-8")
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError as error:
            self._cut()
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno or 0)}; {len(self.records)} records are safe, make room "
                "and run the same command again",
                os.fspath(self.path),
            ) from None
        self._size += len(data)
        self.records |= {str(record["key"]): load_json(line) for record, line in lines}

    def _cut(self) -> None:
        """Remove what is beyond the last complete record, if the disk still lets us."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            return  # the next run does

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def parse_records(data: bytes, *, name: str) -> dict[str, Record]:
    """Return records by key; of a key that stands twice, the last."""
    records: dict[str, Record] = {}
    broken = []
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
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
    """Read the records of a run without writing; a line cut off at the end is ignored.

    Raises:
        InvalidInput: there are none.
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"'{file}' must hold the records of a study. There is no such file.")
    data = file.read_bytes()
    return parse_records(data[: data.rfind(b"\n") + 1], name=str(file))


def write_compact(path: str | os.PathLike[str], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records without paths and versions, compressed; same records, same bytes.

    What all records have in common is small beside the paths: 8,400 problems take about 1 MB.
    """
    lines = []
    for record in sorted(records, key=lambda r: str(r["key"])):
        slim = {name: _short(value) for name, value in record.items() if name not in BULKY}
        lines.append(dump_json(slim) + "\n")
    write_atomically(path, gzip.compress("".join(lines).encode("utf-8"), mtime=0))


def read_compact(path: str | os.PathLike[str]) -> dict[str, Record]:
    """Read what `write_compact` wrote.

    Raises:
        InvalidInput: the file is something else.
    """
    try:
        data = gzip.decompress(Path(path).read_bytes())
    except (gzip.BadGzipFile, EOFError):
        raise InvalidInput(
            f"'{path}' must be a compact record, from 'daace study export'."
        ) from None
    return parse_records(data, name=str(path))


def to_frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per problem; times, host and memory become columns of their own."""
    rows = []
    for record in records:
        if record.get("kind") == "problem":
            flat = {k: v for k, v in record.items() if k not in (*BULKY, "run")}
            rows.append(flat | record.get("run", {}))
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
