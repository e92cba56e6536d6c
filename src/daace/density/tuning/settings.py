"""The settings of a flow in a file, which `daace tune` writes and `daace fit` reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from daace._files import check_exists, write_atomically
from daace.density.realnvp import RealNVP
from daace.density.tuning.tune import Tuning
from daace.exceptions import InvalidInput


def write_settings(path: str | os.PathLike[str], found: Tuning) -> None:
    """Write the best settings as JSON, for `read_settings`.

    Args:
        path: the file.
        found: the result of the search.

    Raises:
        OSError: the file cannot be written.
    """
    content = {
        "density": RealNVP.kind,
        "settings": found.best.get_params(),
        "score": found.score,
        "trials": len(found.trials),
    }
    write_atomically(path, json.dumps(content, indent=1, default=np.generic.item) + "\n")


def read_settings(path: str | os.PathLike[str]) -> RealNVP:
    """Return an unfitted flow with the settings in a file.

    Args:
        path: the file.

    Raises:
        MissingFile: there is no such file.
        InvalidInput: it holds no settings, or wrong ones.
        OSError: the file cannot be read.
    """
    check_exists(path)
    data = Path(path).read_bytes()
    try:
        content = json.loads(data)
        settings = dict(content["settings"])
        if content.get("density", RealNVP.kind) != RealNVP.kind:
            raise ValueError("they are those of another density")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = "no 'settings' inside" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"'{path}' must hold the settings of a realnvp, as written by 'daace tune': {why}."
        ) from None
    try:
        return RealNVP().set_params(**settings)
    except InvalidInput as error:
        raise InvalidInput(f"'{path}' holds wrong settings: {error}") from None
