"""Writing files atomically: a reader finds all of the new content, or all of the old.

Every file of this package is written here or, if lines are appended to it over hours, opened and
locked here. Temporary files are created beside the result under unpredictable names, so that no
link or file of another user is written to in their place.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from daace.exceptions import InvalidInput, MissingFile


def check_exists(path: str | os.PathLike[str]) -> None:
    """Raise `MissingFile` if there is no file at this path."""
    if not Path(path).exists():
        raise MissingFile(errno.ENOENT, "does not exist.", os.fspath(path))


#: Names of temporary files; they begin with up to 40 characters of the result's name.
TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.tmp")

#: Seconds after which a temporary file is taken for abandoned.
ABANDONED = 3600.0

#: Flags that not every system has: do not follow links, do not translate line ends.
NOFOLLOW, BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)


def check_writable(path: str | os.PathLike[str], *used: str | os.PathLike[str] | None) -> None:
    """Raise the error that `write_atomically` would raise, as far as it can be foreseen.

    Args:
        path: the file to be written.
        used: other files that are read or written, and so must not be overwritten.

    Raises:
        InvalidInput: the path is one of the other files.
        MissingFile: its folder does not exist.
        OSError: the path is a folder, or permission is missing.
    """
    for other in used:
        if other is not None and os.path.realpath(other) == os.path.realpath(path):
            raise InvalidInput(
                f"'{os.fspath(path)}' must not be written to, as it is used here already: "
                "choose another name for the result."
            )
    place = destination(path)
    trouble = None
    if place.is_dir():
        trouble = errno.EISDIR
    elif not place.parent.is_dir():
        reason = f"must be in an existing folder. '{place.parent}' does not exist: create it first."
        raise MissingFile(errno.ENOENT, reason, os.fspath(path))
    elif (place.exists() and not os.access(place, os.W_OK)) or (
        not _is_special(place) and not os.access(place.parent, os.W_OK)
    ):
        trouble = errno.EACCES
    if trouble is not None:
        raise OSError(trouble, os.strerror(trouble), os.fspath(path))


def destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path refers to: the target of a link, unless that is a device."""
    if os.path.islink(path) and not _is_special(path):
        return Path(os.path.realpath(path))
    return Path(path)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a device, pipe or socket, which is written to but never replaced."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file through a temporary one beside it, as `replacing` does.

    Raises:
        OSError: the file cannot be written; the old one is unchanged.
    """
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the file when the block ends without error.

    At any time, a reader sees either the old file or the new one, complete. Links are kept;
    a device or pipe is written directly.

    Raises:
        OSError: the file cannot be written; the old one is unchanged.
    """
    check_writable(path)
    place = destination(path)
    try:
        if _is_special(place):
            with place.open("wb") as file:
                yield file
            return
        temporary = place.with_name(f".{place.name[:40]}.{secrets.token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
        handle = os.open(temporary, flags, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                if place.exists():  # before it is written: its content may be confidential
                    temporary.chmod(stat.S_IMODE(place.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:  # name the file that was asked for, not the temporary one
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of writers that were killed."""
    for file in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):
            age = time.time() - file.lstat().st_mtime
            if TEMPORARY.fullmatch(file.name) and age > ABANDONED:
                file.unlink()


def open_for_one(path: Path, *, shared: bool = False) -> BinaryIO:
    """Open a file for reading and writing, locked until it is closed; created if missing.

    Args:
        path: the file.
        shared: whether it may be a link, or belong to another user.

    Raises:
        InvalidInput: it is a link, not a plain file, another user's, or locked by another process.
        OSError: it cannot be opened.
    """
    while True:
        if path.is_symlink() and not shared:
            raise InvalidInput(f"'{path}' must be a plain file. It is a link: remove it.")
        flags = os.O_RDWR | os.O_CREAT | BINARY | (0 if shared else NOFOLLOW)
        handle = os.open(path, flags, 0o666)
        file: BinaryIO | None = None
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise InvalidInput(f"'{path}' must be a plain file. It is not: remove it.")
            if not shared and about.st_uid != getattr(os, "geteuid", lambda: 0)():
                raise InvalidInput(
                    f"'{path}' must be a file of yours. It belongs to another user: choose "
                    "another output."
                )
            lock(handle, path)
            with suppress(FileNotFoundError):  # the previous holder may have removed it meanwhile
                if os.path.samestat(about, os.stat(path)):
                    file = os.fdopen(handle, "r+b")
        except BaseException:
            # Closing a handle twice would turn an interrupt into an OSError.
            os.close(handle) if file is None else file.close()
            raise
        if file is not None:
            return file
        os.close(handle)


def lock(handle: int, path: Path) -> None:
    """Lock an open file against other processes, until it is closed or the process ends.

    Does nothing if the file system has no locks.

    Args:
        handle: the file handle.
        path: the file's name, for the message.

    Raises:
        InvalidInput: another process has locked the file.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            here = os.lseek(handle, 0, os.SEEK_CUR)
            os.lseek(handle, 2**62, os.SEEK_SET)  # a byte that nobody reads
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, here, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return
        raise InvalidInput(
            f"'{path}' must have one writer. Another process is writing to it: wait for it, or "
            "choose another name."
        ) from None
