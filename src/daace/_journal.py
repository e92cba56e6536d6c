"""Files of finished work that survive a stop at any moment: one line of JSON per result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from daace._files import open_for_one
from daace.exceptions import InvalidInput

#: The start of the first line, the fingerprint of the work.
HEAD = '{"daace": "unfinished work", "asked": '

#: Bytes that are read at once.
CHUNK = 2**20

#: Number of settings that a message names; the others are counted.
NAMED = 5


class Journal:
    """An append-only file of lines, each on disk when `append` returns.

    A process that is killed may leave an incomplete line: it is removed when the file is opened
    again. While a journal is open, no other process can open it.

    With `asked`, the first line is a fingerprint of the work, and the work can be resumed only if
    it is the same. Without, there is no such line: every line identifies itself, and results of
    several settings share a file.

    Args:
        path: the file; created if missing.
        asked: the settings that the lines depend on.
        resume: keep the content of the file; False starts again.
        begins: how the first line begins, or, without `asked`, any line. A file without it belongs
            to another program and is not touched.
        must: what the file must be or hold, for the message about another program's file.

    Attributes:
        path: the file.
        rows: number of complete lines, without the fingerprint.

    Raises:
        InvalidInput: the file belongs to other work or to another program, or is being written to.
        OSError: the file cannot be opened.

    Example:
        >>> with Journal(Path("a.part"), {"seed": 1}) as journal:
        ...     journal.append(['{"cost": 1.5}', '{"cost": 2.5}'])
        ...     journal.cut(1)
        >>> with Journal(Path("a.part"), {"seed": 1}) as journal:
        ...     journal.rows, list(journal.blocks(10))
        (1, [[{'cost': 1.5}]])
    """

    def __init__(
        self,
        path: Path,
        asked: Mapping[str, Any] | None = None,
        *,
        resume: bool = True,
        begins: str = HEAD,
        must: str = "be unfinished work of this program",
    ) -> None:
        self.path = path
        self.rows = 0
        self._head = 0 if asked is None else 1
        self._size = 0
        # A record that outlives the run may be a link, or another user's whose work is resumed.
        self._file = open_for_one(path, shared=asked is None)
        try:
            if not self._is_ours(begins.encode()):
                raise InvalidInput(
                    f"'{self.path}' must {must}. It holds something else: move it away or choose "
                    "another output."
                )
            if asked is not None and not (resume and self._size):
                self._start(asked)
                return
            if asked is not None:
                self._check_same(next(self._every_line()), json.loads(_dump(asked)))
            self._truncate(self._size)  # an incomplete line at the end
        except BaseException:
            self._file.close()
            raise

    def append(self, lines: Sequence[str]) -> None:
        """Write lines and wait until they are on disk.

        Args:
            lines: without their line ends.

        Raises:
            OSError: the disk is full or gone; the file ends with its last complete line.
        """
        self._write(lines)
        self.rows += len(lines)

    def cut(self, rows: int) -> None:
        """Keep the first rows and remove all others.

        Args:
            rows: how many to keep.
        """
        kept = 0
        for number, line in enumerate(self._every_line()):
            if number == rows + self._head:
                break
            kept += len(line) + 1
        self._truncate(kept)
        self.rows = min(self.rows, rows)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines as they are, without the fingerprint and without line ends."""
        for number, line in enumerate(self._every_line()):
            if number >= self._head:
                yield line

    def blocks(self, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the lines in blocks, parsed.

        Args:
            size: lines of a block; the last may have fewer.

        Raises:
            InvalidInput: a line is damaged.
        """
        block = []
        for line in self.lines():
            block.append(self._parse(line))
            if len(block) == size:
                yield block
                block = []
        if block:
            yield block

    def remove(self) -> None:
        """Delete the file."""
        if os.name == "nt":  # where an open file cannot be deleted
            self._file.close()
        self.path.unlink()

    def close(self) -> None:
        """Close the file, so that others can open it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Opening ------------------------------------------------------------------------------------

    def _is_ours(self, begins: bytes) -> bool:
        """Count the complete lines and their bytes; return whether they can be a journal's."""
        ours = False
        for number, line in enumerate(self._every_line()):
            ours = ours or line.startswith(begins)
            if self._head and not ours:
                return False
            self._size += len(line) + 1
            self.rows = number + 1 - self._head
        torn = self._read(self._size, len(begins))
        return ours or torn == begins or (self._size == 0 and begins.startswith(torn))

    def _start(self, asked: Mapping[str, Any]) -> None:
        self._truncate(0)
        self.rows = 0
        self._write([f"{HEAD}{_dump(asked)}}}"])

    def _check_same(self, head: bytes, asked: dict[str, Any]) -> None:
        try:
            before = dict(json.loads(head)["asked"])
        except (ValueError, TypeError, RecursionError):
            before = {}  # damaged: it differs in everything
        others = [f"'{name}'" for name in asked if before.get(name) != asked[name]]
        if others:
            more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
            raise InvalidInput(
                f"'{self.path}' must be unfinished work on the same question. It differs in "
                f"{', '.join(others[:NAMED])}{more}: ask as before, or delete the file to start "
                "again."
            )

    # Bytes --------------------------------------------------------------------------------------

    def _every_line(self) -> Iterator[bytes]:
        """Yield all complete lines; writing meanwhile does not disturb the reading."""
        place, rest = 0, b""
        while data := self._read(place, CHUNK):
            place += len(data)
            *whole, rest = (rest + data).split(b"\n")
            yield from whole

    def _read(self, place: int, size: int) -> bytes:
        os.lseek(self._file.fileno(), place, os.SEEK_SET)
        return os.read(self._file.fileno(), size)

    def _write(self, lines: Sequence[str]) -> None:
        data, handle = "".join(f"{line}\n" for line in lines).encode(), self._file.fileno()
        try:
            os.lseek(handle, self._size, os.SEEK_SET)
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
            os.fsync(handle)
        except OSError as error:
            with suppress(OSError):  # otherwise the next run does
                self._truncate(self._size)
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno or 0)}; {self.rows} records are safe, make room and run "
                "the same command again",
                os.fspath(self.path),
            ) from None
        self._size += len(data)

    def _truncate(self, size: int) -> None:
        os.ftruncate(self._file.fileno(), size)
        self._size = size

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            raise InvalidInput(
                f"'{self.path}' is damaged: one of its lines is not a record. Delete the file and "
                "run the same command again."
            ) from None
        return record


def _dump(asked: Mapping[str, Any]) -> str:
    """Return settings as JSON; numpy's numbers and arrays become plain ones."""
    return json.dumps(dict(asked), ensure_ascii=False, default=lambda value: value.tolist())
