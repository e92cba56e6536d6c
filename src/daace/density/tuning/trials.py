"""Trials of a search, kept by Optuna."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace.density.tuning.space import TUNED
from daace.exceptions import InvalidInput, MissingDependency

#: Scored trials that are needed before one is pruned for a low mean.
COMPARED = 5


def import_optuna() -> Any:
    """Return optuna.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import optuna
    except ModuleNotFoundError:
        raise MissingDependency("tune_realnvp needs optuna: pip install 'daace[tune]'.") from None
    return optuna


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Silence Optuna: no line per trial on stderr, no traceback of an interrupt."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def storage_address(storage: str | os.PathLike[str] | None, n_jobs: int) -> Iterator[str | None]:
    """Yield the address of the trials: a file, a temporary one shared by processes, or None.

    Args:
        storage: the SQLite file; None for trials in memory, or in a temporary file.
        n_jobs: number of processes.

    Raises:
        InvalidInput: the folder of the file does not exist.
    """
    from sqlalchemy import URL  # a dependency of Optuna; it escapes '?' and '%'

    def address(path: Path) -> str:
        return str(URL.create("sqlite", database=str(path)))

    if storage is not None:
        path = Path(storage).resolve()
        if not path.parent.is_dir():
            raise InvalidInput(
                argument="storage", expected="be in a folder that exists", got=f"'{storage}'"
            )
        yield address(path)
    elif n_jobs == 1:
        yield None
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield address(Path(folder) / "trials.db")


def unused_numbers(study: Any, most: int) -> list[int]:
    """Return numbers for new trials: the lowest that no finished trial has.

    Args:
        study: the trials so far.
        most: how many numbers to return.
    """
    used = {trial.user_attrs.get("number", trial.number) for trial in finished_trials(study)}
    return list(islice((number for number in count() if number not in used), max(most, 0)))


def finished_trials(study: Any) -> list[Any]:
    """Return the trials that were scored or pruned, without those that were interrupted."""
    trials = study.get_trials(deepcopy=False)
    return [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")]


def falls_behind(study: Any, mean: float, fold: int) -> bool:
    """Whether the mean over the folds so far is below the median of other trials at this fold.

    Optuna's own median pruner compares the best of the means so far: after an easy first fold it
    never prunes.

    Args:
        study: the trials so far.
        mean: mean score of a trial over the folds so far.
        fold: number of the last of them.
    """
    scored = [trial for trial in finished_trials(study) if trial.state.name == "COMPLETE"]
    means = [trial.intermediate_values[fold] for trial in scored]
    return len(means) >= COMPARED and bool(mean < np.median(means))


def has_score(study: Any) -> bool:
    """Whether any trial has a score."""
    return any(trial.state.name == "COMPLETE" for trial in finished_trials(study))


def progress_note(study: Any) -> str:
    """Return the best score so far, for the progress bar."""
    return f"best log p {study.best_value:.3f}" if has_score(study) else ""


def trials_frame(study: Any) -> pd.DataFrame:
    """Return one line per finished trial; pruned trials have no score."""
    lines = [
        {
            "trial": trial.number,
            "state": trial.state.name.lower(),
            # Optuna scores a pruned trial by its mean over fewer folds, which is not comparable.
            "score": trial.value if trial.state.name == "COMPLETE" else np.nan,
            "folds": len(trial.intermediate_values),
            "seconds": trial.duration.total_seconds(),
            **{name: trial.params.get(name, np.nan) for name in TUNED},
        }
        for trial in finished_trials(study)
    ]
    return pd.DataFrame(lines)
