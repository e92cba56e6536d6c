"""The container of a model file: a zip of JSON and safetensors, read with limits on its size."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from daace._files import write_atomically
from daace._json import reason
from daace._typing import FloatArray
from daace._wording import quote
from daace.data.numbers import LARGEST
from daace.exceptions import ModelFileError

META, ARRAYS = "meta.json", "arrays.safetensors"

#: Largest members that are read, in bytes. Members are stored uncompressed, so that a small file
#: cannot expand into a large one.
MAX_SIZE = {META: 16 * 2**20, ARRAYS: 2 * 2**30}


def write_archive(
    path: str | os.PathLike[str], meta: bytes, arrays: Mapping[str, FloatArray]
) -> None:
    """Write names and settings, and arrays; the same content gives the same bytes.

    Args:
        path: the file; an existing one is replaced as a whole or not at all.
        meta: names and settings, as JSON in UTF-8.
        arrays: arrays by name.

    Raises:
        OSError: the file cannot be written.
    """
    from safetensors.numpy import save

    members = {
        META: meta,
        ARRAYS: save({name: np.ascontiguousarray(array) for name, array in arrays.items()}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for member, data in members.items():  # ZipInfo has a fixed date: same model, same bytes
            archive.writestr(zipfile.ZipInfo(member), data)
    write_atomically(path, buffer.getvalue())


def read_archive(file: Path) -> dict[str, bytes]:
    """Return both members of a model file, `META` and `ARRAYS`.

    Sizes are checked before anything is read.

    Args:
        file: the model file.

    Raises:
        ModelFileError: it is not such a zip, or declares too large sizes.
        OSError: it cannot be opened.
    """
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            if sorted(names) != sorted([META, ARRAYS]):
                raise ModelFileError(
                    f"'{file}' must hold '{META}' and '{ARRAYS}' only. Got {quote(names)}."
                )
            for entry in entries:
                if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                    raise ModelFileError(
                        f"'{entry.filename}' in '{file}' must be stored uncompressed."
                    )
                if entry.file_size > min(MAX_SIZE[entry.filename], file.stat().st_size):
                    raise ModelFileError(
                        f"'{entry.filename}' in '{file}' is too large: "
                        f"{entry.file_size:,} bytes are declared."
                    )
            return {entry.filename: _read_bounded(archive, entry) for entry in entries}
    except (ModelFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # zipfile raises many kinds of error on hostile bytes
        raise ModelFileError(f"'{file}' is damaged or not a model file: {reason(error)}.") from None


def read_arrays(file: Path, data: bytes) -> dict[str, FloatArray]:
    """Return the arrays by name: float64, finite, and small enough to be squared.

    Args:
        file: the model file, for messages.
        data: the member `ARRAYS`.

    Raises:
        ModelFileError: an array is damaged, or not of that kind.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"'{ARRAYS}' in '{file}' is damaged: {reason(error)}.") from None
    for name, array in arrays.items():
        if array.dtype != np.float64:
            raise ModelFileError(f"'{name}' in '{file}' must be float64. Got {array.dtype}.")
        if not np.isfinite(array).all():
            raise ModelFileError(f"'{name}' in '{file}' must be finite. It holds NaN or infinity.")
        if (np.abs(array) > LARGEST).any():
            raise ModelFileError(f"'{name}' in '{file}' must be below {LARGEST:g} in size.")
    return {name: np.array(array) for name, array in arrays.items()}  # aligned and writeable


def _read_bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as handle:
        data = handle.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise zipfile.BadZipFile(f"'{entry.filename}' is not as long as declared")
    return data
