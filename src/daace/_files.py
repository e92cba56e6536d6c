"""Writing files so that nothing is lost: all of the new content, or all of the old."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from daace.exceptions import InvalidInput, MissingFile


def check_exists(path: str | os.PathLike[str]) -> None:
    """Raise `MissingFile` if there is nothing at this path to be read."""
    if not Path(path).exists():
        reason = "must be an existing file. It is not there."
        raise MissingFile(errno.ENOENT, reason, os.fspath(path))


def check_writable(path: str | os.PathLike[str], *used: str | os.PathLike[str] | None) -> None:
    """Raise the error that `write_atomically` would meet, as far as it can be foreseen.

    Args:
        path: what shall be written.
        used: files that are read, or written too, and so must not be lost.

    Raises:
        InvalidInput: the path is one of the files that are used.
        MissingFile: its folder is not there.
        OSError: the path is a folder, or permission is missing.
    """
    for other in used:
        if other is not None and os.path.realpath(other) == os.path.realpath(path):
            raise InvalidInput(
                f"'{os.fspath(path)}' must not be written to, as it is used here already: "
                "choose another name for the result."
            )
    place = Path(os.path.realpath(path))
    trouble = None
    if place.is_dir():
        trouble = errno.EISDIR
    elif not place.parent.is_dir():
        folder = os.path.dirname(os.fspath(path)) or place.parent
        reason = f"must be in an existing folder. '{folder}' is none: make it first."
        raise MissingFile(errno.ENOENT, reason, os.fspath(path))
    elif (place.exists() and not os.access(place, os.W_OK)) or (
        (place.is_file() or not place.exists()) and not os.access(place.parent, os.W_OK)
    ):
        trouble = errno.EACCES
    if trouble is not None:
        raise OSError(trouble, os.strerror(trouble), os.fspath(path))


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file through a temporary one beside it.

    Whatever happens on the way, a reader sees either the old file or the new one, complete. A
    link keeps pointing where it points; a device or pipe is written directly.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.tmp")
    try:
        check_writable(path)
        if place.exists() and not place.is_file():
            place.write_bytes(data)
            return
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if place.exists():
                temporary.chmod(place.stat().st_mode & 0o777)
            os.replace(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:  # name the file that was asked for, not the temporary one
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
