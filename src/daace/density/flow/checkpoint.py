"""The state of a training on disk, to resume it; without pickle and without rows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from daace._files import check_writable, write_atomically
from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

#: Latest state, best state, and notes that fit into JSON.
Snapshot: TypeAlias = tuple[Arrays, Arrays, dict[str, Any]]

FORMAT = "daace-checkpoint-1"


def fingerprint(X: FloatArray, y: IntArray, settings: Mapping[str, Any]) -> str:
    """Return a hash that identifies rows and settings.

    Args:
        X: the rows, shape `(rows, features)`.
        y: class index of each row.
        settings: values in JSON's types, or numpy's numbers.

    Example:
        >>> X, y = np.zeros((2, 1)), np.array([0, 1])
        >>> fingerprint(X, y, {"flows": 3}) == fingerprint(X, y, {"flows": np.int64(3)})
        True
    """
    text = json.dumps(dict(settings), sort_keys=True, default=np.generic.item)
    digest = hashlib.sha256(text.encode())
    digest.update(repr(X.shape).encode())
    digest.update(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y, dtype=np.int64).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A file with the latest and the best state of one training, and notes in JSON's types.

    Attributes:
        path: the file.
        fingerprint: hash of the rows and settings of the training.
    """

    path: Path
    fingerprint: str

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        X: FloatArray,
        y: IntArray,
        settings: Mapping[str, Any],
    ) -> Checkpoint:
        """Return the checkpoint of a training, identified by its rows and settings.

        Args:
            path: the file.
            X: the rows, shape `(rows, features)`.
            y: class index of each row.
            settings: settings of the training.

        Example:
            >>> Checkpoint.of("a.ckpt", np.zeros((2, 1)), np.array([0, 1]), {"flows": 3}).path.name
            'a.ckpt'

        Raises:
            InvalidInput: the folder of the file does not exist.
            OSError: the file cannot be written, as far as this can be checked in advance.
        """
        if not Path(path).absolute().parent.is_dir():
            raise InvalidInput(
                argument="checkpoint", expected="be in a folder that exists", got=f"'{path}'"
            )
        check_writable(path)
        return cls(path=Path(path), fingerprint=fingerprint(X, y, settings))

    def write(self, latest: Arrays, best: Arrays, notes: Mapping[str, Any]) -> None:
        """Replace the file atomically: a reader sees the old one or the new one.

        Args:
            latest: state after the last epoch.
            best: state with the lowest loss.
            notes: further entries in JSON's types.

        Raises:
            OSError: the file cannot be written.
        """
        from safetensors.numpy import save

        arrays = {f"latest.{name}": array for name, array in latest.items()}
        arrays |= {f"best.{name}": array for name, array in best.items()}
        about = {"format": FORMAT, "fingerprint": self.fingerprint, "notes": json.dumps(notes)}
        write_atomically(self.path, save(arrays, metadata=about))

    def read(self) -> Snapshot | None:
        """Return the content of the file; None if there is no file yet.

        Raises:
            InvalidInput: the file is not a checkpoint, or that of another training.
        """
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                about = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            notes = json.loads(about["notes"])
        except (SafetensorError, OSError, ValueError, KeyError):
            about, arrays, notes = {}, {}, {}
        if about.get("format") != FORMAT:
            raise InvalidInput(
                argument="checkpoint",
                expected=(
                    f"be a file that a training wrote, or a new one. '{self.path}' is something "
                    "else"
                ),
                remedy="give another name",
            )
        if about.get("fingerprint") != self.fingerprint:
            raise InvalidInput(
                argument="checkpoint",
                expected=(
                    f"belong to this training. '{self.path}' is that of other rows or settings"
                ),
                remedy="give another name, or delete it",
            )
        parts = [
            {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            for prefix in ("latest.", "best.")
        ]
        return parts[0], parts[1], notes
