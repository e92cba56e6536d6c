"""Settings of RealNVP by Bayesian optimisation of the cross-validated log-likelihood."""

from __future__ import annotations

import math
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._progress import Bar
from daace._workers import Workers
from daace.data.table import Standardizer, Table, check_table, quote
from daace.density.base import ConditionalDensity, check_class_sizes
from daace.density.checkpoint import fingerprint
from daace.density.realnvp import RealNVP
from daace.density.splits import spread_folds
from daace.density.trainer import import_torch
from daace.exceptions import InvalidInput, MissingDependency

#: The paper's space: smallest and largest value of each setting. Those of a network's size are
#: whole numbers; the noise is drawn on a logarithmic scale.
SPACE: dict[str, tuple[float, float]] = {
    "learning_rate": (1e-4, 5e-3),
    "weight_decay": (1e-4, 1e-2),
    "hidden": (2, 10),
    "layers": (1, 5),
    "flows": (1, 10),
    "noise": (0.01, 0.3),
}
TUNED = tuple(SPACE)
WHOLE = ("hidden", "layers", "flows")

STUDY = "realnvp"

#: Changes when rows are shared out otherwise: scores are then not to be compared.
SPLITS = 2

#: Trials with a score before one is given up for a low mean.
COMPARED = 5


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search for settings found.

    Attributes:
        best: an unfitted flow with the best settings.
        score: its mean held-out log p(x, y), in nats per standardised row.
        trials: one line per trial: state, score, folds, seconds and settings, in order of trial;
            those that were given up have no score.
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
    flows 1..10, noise 0.01..0.3 (log-uniform), by Optuna's tree-structured Parzen
    estimator. The default settings, moved into the space, are the first trial. A trial whose mean
    over the folds so far lies below the median of the others at that fold is given up.

    Args:
        table: rows with their class.
        trials: how many settings to try in all, those in `storage` included.
        folds: of the cross-validation; each class is spread evenly over them.
        epochs, early_stopping: of each training.
        space: other ranges, by setting: `{"hidden": (1, 3)}` where larger networks take too long,
            `{"noise": (0.01, 0.5)}` as the paper does for EQI.
        storage: SQLite file with the trials; a search that was stopped goes on from it.
        n_jobs: trials at the same time, each in its own process. With more than one, which
            settings are tried depends on which trial ends first.
        time_limit: seconds after which no new trial begins.
        progress: show a bar on stderr, or a line a minute in a log.
        seed: of folds, trainings and the search.

    Returns:
        The best settings, as an unfitted `RealNVP`, and a frame of all trials. An interrupt
        (Ctrl-C) returns what was found so far.

    Raises:
        MissingDependency: torch or optuna is not installed.
        InvalidInput: a setting is out of range, or `storage` is of another search.

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
        raise InvalidInput(f"'storage' must be a file name. Got {type(storage).__name__}.")
    base = RealNVP(epochs=epochs, early_stopping=early_stopping, seed=seed)
    ranges = SPACE | check_space(space or {})
    search = Search(table, folds, base, ranges, seed)
    search.check()
    with _quiet(optuna), _place(storage, n_jobs) as place:
        study = search.open(place)
        done = len(_finished(study))
        with Bar("Tuning", trials, done=done, shown=progress) as bar:
            try:
                numbers = _unused_numbers(study, trials - done)
                for _ in _run(search, study, place, numbers, n_jobs, deadline):
                    finished = _finished(study)
                    bar.advance(_note(study), steps=len(finished) - done)
                    done = len(finished)
            except KeyboardInterrupt:
                if not _scored(study):
                    raise
                further = "" if storage is None else f" To go on, search again with '{storage}'."
                warnings.warn(
                    f"The search was interrupted after {done} of {trials} trials: "
                    f"the best settings so far are returned.{further}",
                    stacklevel=2,
                )
        if not _scored(study):
            raise InvalidInput(
                "No trial gave a score: every training overflowed. Clip the table's outliers."
            )
        return Tuning(search.density(study.best_params), float(study.best_value), _frame(study))


@dataclass(frozen=True, eq=False)
class Search:
    """What all trials share; it travels to the processes that run them."""

    table: Table
    folds: int
    base: RealNVP
    space: dict[str, tuple[float, float]]
    seed: int

    def check(self) -> None:
        """Raise `InvalidInput` where the table cannot be learned fold by fold."""
        check_table(self.table)
        check_class_sizes(self.table, RealNVP.fewest_rows)
        Standardizer.fit(self.table.X, features=self.table.features)
        for fold, (train, _) in enumerate(self.splits()):
            try:
                check_class_sizes(train, RealNVP.fewest_rows)
                Standardizer.fit(train.X, features=train.features)
            except InvalidInput as error:
                raise InvalidInput(f"Without fold {fold + 1} of {self.folds}: {error}") from None

    def splits(self) -> Iterator[tuple[Table, Table]]:
        """Yield the rows to train on and those to score, fold by fold."""
        rng = np.random.default_rng(self.seed)
        fold_of = spread_folds(self.table.X, self.table.y, self.folds, rng=rng)
        for fold in range(self.folds):
            inside = fold_of == fold
            yield self.table.take(np.flatnonzero(~inside)), self.table.take(np.flatnonzero(inside))

    def open(self, place: str | None) -> Any:
        """Return the study at a place, new or begun before.

        Raises:
            InvalidInput: it holds the trials of another search.
        """
        optuna = import_optuna()
        shared = {"folds": self.folds, "space": self.space, "splits": SPLITS}
        settings = self.base.get_params() | shared
        y = np.searchsorted(self.table.classes, self.table.y)
        mark = fingerprint(self.table.X, y, settings)
        try:
            study = optuna.create_study(
                storage=place,
                study_name=STUDY,
                load_if_exists=True,
                direction="maximize",
            )
        except Exception as error:
            raise InvalidInput(
                f"'storage' must be a file of Optuna's trials, or a new one. Got {place!r} "
                f"({type(error).__name__}): give another name."
            ) from None
        known = study.user_attrs.get("fingerprint")
        if known is None:
            study.set_user_attr("fingerprint", mark)
        elif known != mark:
            raise InvalidInput(
                "'storage' must belong to this search. It holds trials of other rows or settings: "
                "give another name, or delete it."
            )
        return study

    def density(self, settings: dict[str, Any]) -> RealNVP:
        """Return an unfitted flow with these settings and those that all trials share."""
        return RealNVP(**{**self.base.get_params(), **settings})

    def first(self) -> dict[str, Any]:
        """Return the default settings, each moved into its range."""
        return {
            name: min(max(getattr(self.base, name), low), high)
            for name, (low, high) in self.space.items()
        }

    def score(self, trial: Any, number: int) -> float:
        """Return the mean held-out log p(x, y) over the folds; give up early where it is low.

        The number, from which the seed comes, is kept with the trial.
        """
        trial.set_user_attr("number", number)
        settings = {
            name: trial.suggest_int(name, int(low), int(high))
            if name in WHOLE
            else trial.suggest_float(name, low, high, log=name == "noise")
            for name, (low, high) in self.space.items()
        }
        total, rows = 0.0, 0
        for fold, (train, test) in enumerate(self.splits()):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that a trial goes wrong is a low score
                    density = self.density(settings).fit(train)
            except InvalidInput:  # the table was checked: this is an overflow
                raise import_optuna().TrialPruned from None
            if density.stopped_ == "interrupted":
                raise KeyboardInterrupt
            total += len(test) * mean_log_joint(density, test, self.table)
            rows += len(test)
            mean = total / rows
            trial.report(mean, fold)
            if fold < self.folds - 1 and _falls_behind(trial.study, mean, fold):
                raise import_optuna().TrialPruned
        return mean


def check_space(space: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return ranges that were asked for, checked.

    Raises:
        InvalidInput: a name is no setting of the search, or a range is not one.
    """
    for name, limits in space.items():
        if name not in SPACE:
            raise InvalidInput(f"'space' must name settings among {quote(SPACE)}. Got {name!r}.")
        kind = "whole numbers" if name in WHOLE else "numbers"
        types = (int, np.integer) if name in WHOLE else (int, float, np.number)
        if (
            not isinstance(limits, tuple | list)
            or len(limits) != 2
            or not all(isinstance(v, types) and not isinstance(v, bool) for v in limits)
            or not 0 < limits[0] <= limits[1] < np.inf
        ):
            raise InvalidInput(
                f"'space' must give {name!r} two positive {kind}, the smaller first. "
                f"Got {limits!r}."
            )
    return {name: (low, high) for name, (low, high) in space.items()}


def mean_log_joint(density: ConditionalDensity, test: Table, whole: Table) -> float:
    """Return the mean log p(x, y) of rows, in the standardised units of the whole table.

    A fold has its own standardisation; in common units folds can be averaged.
    """
    joint = density.log_joint(density.standardizer_.transform(test.X))
    y = np.searchsorted(density.classes_, test.y)
    units = np.log(density.standardizer_.scale / whole.X.std(axis=0)).sum()
    return float(joint[np.arange(len(y)), y].mean() - units)


def import_optuna() -> Any:
    """Return optuna, or say how to get it."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise MissingDependency("tune_realnvp needs optuna: pip install 'daace[tune]'.") from None
    return optuna


def _unused_numbers(study: Any, most: int) -> list[int]:
    """Return numbers of new trials: the lowest that no finished trial has."""
    used = {trial.user_attrs.get("number", trial.number) for trial in _finished(study)}
    return list(islice((number for number in count() if number not in used), max(most, 0)))


def _run(
    search: Search,
    study: Any,
    place: str | None,
    numbers: Sequence[int],
    n_jobs: int,
    deadline: float,
) -> Iterator[None]:
    """Run trials one by one or in processes, the first in any case; yield after each."""
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


def _run_one(search: Search, study: Any, number: int) -> None:
    # Each trial has its own seed: a search that goes on does not repeat its first draws.
    seed = np.random.SeedSequence([search.seed, number]).generate_state(1)[0]
    samplers = import_optuna().samplers
    study.sampler = samplers.TPESampler(seed=int(seed))
    if number == 0:  # a queue of one would be read by two processes at the same time
        defaults = search.first()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that this sampler is experimental
            study.sampler = samplers.PartialFixedSampler(defaults, study.sampler)
    study.optimize(lambda trial: search.score(trial, number), n_trials=1)


def _run_elsewhere(search: Search, place: str | None, task: tuple[int, float]) -> None:
    number, deadline = task
    if time.time() < deadline:
        with _quiet(import_optuna()):
            _run_one(search, search.open(place), number)


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from a line per trial on stderr, and from a traceback of an interrupt."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _place(storage: str | os.PathLike[str] | None, n_jobs: int) -> Iterator[str | None]:
    """Give the address of the trials: a file, a temporary one for processes to share, or none."""
    from sqlalchemy import URL  # Optuna's; it knows what '?' and '%' become in an address

    def address(path: Path) -> str:
        return str(URL.create("sqlite", database=str(path)))

    if storage is not None:
        path = Path(storage).resolve()
        if not path.parent.is_dir():
            raise InvalidInput(f"'storage' must be in a folder that exists. Got '{storage}'.")
        yield address(path)
    elif n_jobs == 1:
        yield None
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield address(Path(folder) / "trials.db")


def _finished(study: Any) -> list[Any]:
    """Return the trials that count: scored or given up, but none that was cut off."""
    trials = study.get_trials(deepcopy=False)
    return [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")]


def _falls_behind(study: Any, mean: float, fold: int) -> bool:
    """Whether a mean over the folds so far is below the median of the others' at this fold.

    Optuna's own pruner compares the best of these means instead: if the first fold is an easy
    one, nobody ever falls behind it.
    """
    scored = [trial for trial in _finished(study) if trial.state.name == "COMPLETE"]
    means = [trial.intermediate_values[fold] for trial in scored]
    return len(means) >= COMPARED and bool(mean < np.median(means))


def _scored(study: Any) -> bool:
    return any(trial.state.name == "COMPLETE" for trial in _finished(study))


def _note(study: Any) -> str:
    return f"best log p {study.best_value:.3f}" if _scored(study) else ""


def _frame(study: Any) -> pd.DataFrame:
    lines = [
        {
            "trial": trial.number,
            "state": trial.state.name.lower(),
            # Optuna gives one that was given up its mean over fewer folds: not to be compared.
            "score": trial.value if trial.state.name == "COMPLETE" else np.nan,
            "folds": len(trial.intermediate_values),
            "seconds": trial.duration.total_seconds(),
            **{name: trial.params.get(name, np.nan) for name in TUNED},
        }
        for trial in _finished(study)
    ]
    return pd.DataFrame(lines)
