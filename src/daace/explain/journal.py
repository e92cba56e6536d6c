"""A file of finished work that survives a stop at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from daace._files import open_for_one
from daace._json import dump_json, load_json, plain
from daace._wording import quote
from daace.exceptions import InvalidInput

#: How every journal begins: what begins otherwise is somebody else's, and left alone.
HEAD = '{"daace": "unfinished work", "asked": '


class Journal:
    """Lines of JSON that are on the disk once `append` returns; the first says what was asked.

    A process that is killed may leave half a line: it is cut off when the journal is opened again.
    As long as it is open, nobody else can open it.

    Args:
        path: of the file; begun if it is not there.
        asked: what the lines depend on; must be the same when the work goes on.
        resume: go on with what is there; False begins anew.

    Raises:
        InvalidInput: the file belongs to another question, is no journal, or is being written to.

    Attributes:
        rows: number of lines after the first.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], *, resume: bool = True) -> None:
        self.path = path
        self.rows = 0
        self._file = open_for_one(path)
        try:
            self._begin(plain(asked), resume)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, asked: dict[str, Any], resume: bool) -> None:
        head = self._file.readline()
        if not (head.startswith(HEAD.encode()) or HEAD.encode().startswith(head)):
            raise InvalidInput(
                f"'{self.path}' must be unfinished work of this program. It is not: "
                "move it away or choose another output."
            )
        if not (resume and head.endswith(b"\n")):  # new, or killed before the first line was whole
            self._file.seek(0)
            self._file.truncate()
            self._write([f"{HEAD}{dump_json(asked)}}}"])
            return
        try:
            before = dict(load_json(head.decode())["asked"])
        except (ValueError, TypeError):
            before = {}  # damaged: it differs in everything
        others = [name for name in asked if before.get(name) != asked[name]]
        if others:
            raise InvalidInput(
                f"'{self.path}' must be unfinished work on the same question. It differs in "
                f"{quote(others)}: ask as before, or delete the file to begin anew."
            )
        whole = len(head)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            self.rows += 1
        self._file.truncate(whole)
        self._file.seek(whole)

    def append(self, lines: Sequence[str]) -> None:
        """Write lines, and wait until they are on the disk."""
        self._write(lines)
        self.rows += len(lines)

    def cut(self, rows: int) -> None:
        """Keep only so many rows."""
        self._file.seek(0)
        end = len(self._file.readline())
        for _ in range(rows):
            end += len(self._file.readline())
        self._file.truncate(end)
        self._file.seek(end)
        self.rows = min(self.rows, rows)

    def blocks(self, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows, so many at a time."""
        self._file.seek(0)
        self._file.readline()
        block = []
        for line in self._file:
            block.append(self._read(line))
            if len(block) == size:
                yield block
                block = []
        if block:
            yield block

    def remove(self) -> None:
        """Remove the file, which nobody needs any more."""
        if os.name == "nt":  # where an open file cannot be removed
            self._file.close()
        self.path.unlink()

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            record: dict[str, Any] = load_json(line.decode())
        except ValueError:
            raise InvalidInput(
                f"'{self.path}' is damaged: a line of it is no record. Delete the file and run "
                "the same command again."
            ) from None
        return record

    def _write(self, lines: Sequence[str]) -> None:
        self._file.write("".join(f"{line}\n" for line in lines).encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
