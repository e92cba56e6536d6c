"""Settings of RealNVP by Bayesian optimisation of the cross-validated log-likelihood."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._progress import Bar
from daace._workers import Workers
from daace.data.table import Table
from daace.density.flow.trainer import import_torch
from daace.density.realnvp import RealNVP
from daace.density.tuning.cross_validation import CrossValidation
from daace.density.tuning.space import SPACE, check_space
from daace.density.tuning.trials import (
    finished_trials,
    has_score,
    import_optuna,
    progress_note,
    quiet,
    storage_address,
    trials_frame,
    unused_numbers,
)
from daace.exceptions import InvalidInput


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of a search for settings.

    Attributes:
        best: an unfitted flow with the best settings.
        score: its mean held-out log p(x, y), in nats per standardised row.
        trials: one line per trial: state, score, folds, seconds and settings, in order of trial;
            pruned trials have no score.
    """

    best: RealNVP
    score: float
    trials: pd.DataFrame


def tune_realnvp(
    table: Table,
    *,
    trials: int = 50,
    folds: int = 10,
    epochs: int = 500,
    early_stopping: bool = True,
    space: Mapping[str, tuple[float, float]] | None = None,
    storage: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    time_limit: float | None = None,
    progress: bool = False,
    seed: int = 0,
) -> Tuning:
    """Search the paper's space of settings for the highest cross-validated log-likelihood.

    Learning rate 1e-4..5e-3 and weight decay 1e-4..1e-2 (uniform), hidden 2..10, layers 1..5,
    flows 1..10, noise 0.01..0.3 (log-uniform), by the tree-structured Parzen estimator (Bergstra
    et al. 2011, https://papers.nips.cc/paper/4443) of Optuna (Akiba et al. 2019,
    arXiv:1907.10902). The default settings, clipped to the space, are the first trial. A trial is
    pruned if its mean over the folds so far is below the median of the others at that fold.

    Args:
        table: rows with their class.
        trials: number of trials in all, those in `storage` included.
        folds: number of folds of the cross-validation, stratified by class.
        epochs: largest number of epochs of each training.
        early_stopping: whether each training stops early, see `RealNVP`.
        space: other ranges, by setting: `{"hidden": (1, 3)}` if larger networks take too long,
            `{"noise": (0.01, 0.5)}` as the paper does for EQI.
        storage: SQLite file with the trials; a stopped search resumes from it.
        n_jobs: number of trials at the same time, each in its own process. With more than one,
            the settings that are tried depend on which trial ends first.
        time_limit: seconds after which no new trial begins; None for no limit.
        progress: show a bar on stderr, or a line per minute in a log.
        seed: seed of folds, trainings and the search.

    Returns:
        The best settings, as an unfitted `RealNVP`, and a frame of all trials. An interrupt
        (Ctrl-C) returns the best so far.

    Raises:
        MissingDependency: torch or optuna is not installed.
        InvalidInput: a setting is out of range, or `storage` belongs to another search.

    Example:
        `daace.tune_realnvp(table, trials=20, folds=5, storage="tune.db").best.fit(table)`
    """
    optuna = import_optuna()
    import_torch()
    check_integer("trials", trials, at_least=1)
    check_integer("folds", folds, at_least=2)
    check_integer("n_jobs", n_jobs, at_least=1)
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    check_choice("progress", progress, (True, False))
    deadline = math.inf if time_limit is None else time.time() + time_limit
    if not isinstance(storage, str | os.PathLike | None):
        raise InvalidInput(
            argument="storage", expected="be a file name", got=type(storage).__name__
        )
    base = RealNVP(epochs=epochs, early_stopping=early_stopping, seed=seed)
    ranges = SPACE | check_space(space or {})
    search = CrossValidation(table, folds, base, ranges, seed)
    search.check()
    with quiet(optuna), storage_address(storage, n_jobs) as place:
        study = search.open(place)
        done = len(finished_trials(study))
        with Bar("Tuning", trials, done=done, shown=progress) as bar:
            try:
                numbers = unused_numbers(study, trials - done)
                for _ in _run(search, study, place, numbers, n_jobs, deadline):
                    finished = finished_trials(study)
                    bar.advance(progress_note(study), steps=len(finished) - done)
                    done = len(finished)
            except KeyboardInterrupt:
                if not has_score(study):
                    raise
                further = "" if storage is None else f" To resume, search again with '{storage}'."
                warnings.warn(
                    f"The search was interrupted after {done} of {trials} trials: "
                    f"the best settings so far are returned.{further}",
                    stacklevel=2,
                )
        if not has_score(study):
            raise InvalidInput(
                "No trial gave a score: every training overflowed. Clip the table's outliers."
            )
        return Tuning(
            search.density(study.best_params), float(study.best_value), trials_frame(study)
        )


def _run(
    search: CrossValidation,
    study: Any,
    place: str | None,
    numbers: Sequence[int],
    n_jobs: int,
    deadline: float,
) -> Iterator[None]:
    """Run trials one by one or in processes; yield after each. The first has no deadline."""
    deadlines = [math.inf, *[deadline] * len(numbers)]
    tasks = zip(numbers, deadlines, strict=False)
    if n_jobs == 1:
        for number, last in tasks:
            if time.time() < last:
                _run_one(search, study, number)
                yield
        return
    with Workers(jobs=n_jobs).ready() as crew:
        for _ in crew.run(partial(_run_elsewhere, search, place), tasks):
            yield


def _run_one(search: CrossValidation, study: Any, number: int) -> None:
    # Each trial has its own seed: a resumed search does not repeat its first draws.
    seed = np.random.SeedSequence([search.seed, number]).generate_state(1)[0]
    samplers = import_optuna().samplers
    study.sampler = samplers.TPESampler(seed=int(seed))
    if number == 0:  # Optuna's queue of trials could be read by two processes at once
        defaults = search.first()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # this sampler is experimental
            study.sampler = samplers.PartialFixedSampler(defaults, study.sampler)
    study.optimize(lambda trial: search.score(trial, number), n_trials=1)


def _run_elsewhere(search: CrossValidation, place: str | None, task: tuple[int, float]) -> None:
    number, deadline = task
    if time.time() < deadline:
        with quiet(import_optuna()):
            _run_one(search, search.open(place), number)
