"""Writing files so that nothing is lost: all of the new content, or all of the old.

Every file that this package writes is written here, or, where lines are added to it over hours, is
opened or locked here. Temporary files are new, beside the result, under names that nobody can
guess, so that no link or file of somebody else's is ever written to in their place.
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
    """Raise `MissingFile` if there is nothing at this path to be read."""
    if not Path(path).exists():
        reason = "must be an existing file. It is not there."
        raise MissingFile(errno.ENOENT, reason, os.fspath(path))


#: How temporary files are called, after the first letters of the result.
TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.tmp")

#: Seconds after which a temporary file has lost its writer.
ABANDONED = 3600.0

#: Not on every system: links are not followed, line ends stay as they are.
NOFOLLOW, BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)


def check_writable(path: str | os.PathLike[str], *used: str | os.PathLike[str] | None) -> None:
    """Raise the error that `write_atomically` would meet, as far as it can be foreseen.

    Args:
        path: the file to be written.
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
    place = destination(path)
    trouble = None
    if place.is_dir():
        trouble = errno.EISDIR
    elif not place.parent.is_dir():
        reason = f"must be in an existing folder. '{place.parent}' does not exist: make it first."
        raise MissingFile(errno.ENOENT, reason, os.fspath(path))
    elif (place.exists() and not os.access(place, os.W_OK)) or (
        not _is_special(place) and not os.access(place.parent, os.W_OK)
    ):
        trouble = errno.EACCES
    if trouble is not None:
        raise OSError(trouble, os.strerror(trouble), os.fspath(path))


def destination(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path stands for: where a link points, unless that is a device."""
    if os.path.islink(path) and not _is_special(path):
        return Path(os.path.realpath(path))
    return Path(path)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a device, pipe or socket, which is written to and never replaced."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file through a temporary one beside it, as `replacing` does.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
    """
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file whose content takes the place of another's when the block ends without error.

    Whatever happens on the way, a reader sees either the old file or the new one, complete. A
    link keeps pointing where it points; a device or pipe is written directly.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
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
                if place.exists():  # before the content is there: it may be for few to read
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
    """Remove temporary files that writers left behind when they were killed."""
    for file in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):
            age = time.time() - file.lstat().st_mtime
            if TEMPORARY.fullmatch(file.name) and age > ABANDONED:
                file.unlink()


def open_for_one(path: Path, *, shared: bool = False) -> BinaryIO:
    """Open a file to read and write, alone, until it is closed; made if it is not there.

    Args:
        path: the file.
        shared: whether it may be a link, or another user's.

    Raises:
        InvalidInput: it is a link, no plain file, another user's, or being written to.
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
            with suppress(FileNotFoundError):  # the one before may have removed it meanwhile
                if os.path.samestat(about, os.stat(path)):
                    file = os.fdopen(handle, "r+b")
        except BaseException:
            # A handle that is closed twice would turn an interrupt into an error of the file.
            os.close(handle) if file is None else file.close()
            raise
        if file is not None:
            return file
        os.close(handle)


def lock(handle: int, path: Path) -> None:
    """Keep others from writing to an open file; the lock ends with it, or with the process.

    Where the file system knows no locks, nothing is kept from anyone.

    Args:
        handle: of the open file.
        path: its name, for the message.

    Raises:
        InvalidInput: another process has locked it.
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
