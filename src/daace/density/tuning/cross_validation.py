"""The cross-validated log-likelihood that a search maximises."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daace.data.standardizer import Standardizer
from daace.data.table import Table, check_table
from daace.density.base import ConditionalDensity
from daace.density.flow.checkpoint import fingerprint
from daace.density.privacy import check_class_sizes
from daace.density.realnvp import RealNVP
from daace.density.splits import spread_folds
from daace.density.tuning.space import WHOLE
from daace.density.tuning.trials import falls_behind, import_optuna
from daace.exceptions import InvalidInput

STUDY = "realnvp"

#: Version of the assignment of rows to folds: scores of different versions are not comparable.
SPLITS = 2


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The score of settings: mean held-out log p(x, y) over the folds of a table.

    It is sent to the processes that run the trials.

    Attributes:
        table: rows with their class.
        folds: number of folds.
        base: a flow with the settings that all trials share.
        space: smallest and largest value by setting.
        seed: seed of the folds and of the search.
    """

    table: Table
    folds: int
    base: RealNVP
    space: dict[str, tuple[float, float]]
    seed: int

    def check(self) -> None:
        """Raise `InvalidInput` if the table cannot be learned fold by fold."""
        check_table(self.table)
        check_class_sizes(self.table, RealNVP.fewest_rows)
        _check_variety(self.table)
        for fold, (train, _) in enumerate(self.splits()):
            try:
                check_class_sizes(train, RealNVP.fewest_rows)
                _check_variety(train)
            except InvalidInput as error:
                raise error.at(f"Without fold {fold + 1} of {self.folds}: ") from None

    def splits(self) -> Iterator[tuple[Table, Table]]:
        """Yield the rows to train on and those to test on, fold by fold."""
        rng = np.random.default_rng(self.seed)
        fold_of = spread_folds(self.table.X, self.table.y, self.folds, rng=rng)
        for fold in range(self.folds):
            inside = fold_of == fold
            yield self.table.take(np.flatnonzero(~inside)), self.table.take(np.flatnonzero(inside))

    def open(self, place: str | None) -> Any:
        """Return the study at an address, new or existing.

        Args:
            place: address of the storage; None for one in memory.

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
                argument="storage",
                expected="be a file of Optuna's trials, or a new one",
                got=f"{place!r} ({type(error).__name__})",
                remedy="give another name",
            ) from None
        known = study.user_attrs.get("fingerprint")
        if known is None:
            study.set_user_attr("fingerprint", mark)
        elif known != mark:
            raise InvalidInput(
                argument="storage",
                expected="belong to this search. It holds trials of other rows or settings",
                remedy="give another name, or delete it",
            )
        return study

    def density(self, settings: dict[str, Any]) -> RealNVP:
        """Return an unfitted flow with these settings, by name, and those that all trials share."""
        return RealNVP(**{**self.base.get_params(), **settings})

    def first(self) -> dict[str, Any]:
        """Return the default settings, each clipped to its range."""
        return {
            name: min(max(getattr(self.base, name), low), high)
            for name, (low, high) in self.space.items()
        }

    def score(self, trial: Any, number: int) -> float:
        """Return the mean held-out log p(x, y) over the folds; prune the trial if it is low.

        Args:
            trial: Optuna's trial, which suggests the settings.
            number: the number from which the seed of the trial was made; stored with it.
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
                    warnings.simplefilter("ignore")  # a training that fails has a low score
                    density = self.density(settings).fit(train)
            except InvalidInput:  # the table was checked: this is an overflow
                raise import_optuna().TrialPruned from None
            if density.stopped_ == "interrupted":
                raise KeyboardInterrupt
            total += len(test) * mean_log_joint(density, test, self.table)
            rows += len(test)
            mean = total / rows
            trial.report(mean, fold)
            if fold < self.folds - 1 and falls_behind(trial.study, mean, fold):
                raise import_optuna().TrialPruned
        return mean


def mean_log_joint(density: ConditionalDensity, test: Table, whole: Table) -> float:
    """Return the mean log p(x, y) of rows, in the standardised units of the whole table.

    Each fold has its own standardisation; in common units the folds can be averaged.

    Args:
        density: fitted on the rows of the other folds.
        test: the rows to score.
        whole: the table of all rows, whose units are used.
    """
    X = density.standardizer_.transform(test.X)
    joint, encoding = density.log_joint(X), whole.encoding
    y = np.searchsorted(density.classes_, test.y)
    own = joint[np.arange(len(y)), y].mean()
    if not encoding.code_sizes:
        units = np.log(density.standardizer_.scale / whole.X.std(axis=0)).sum()
        return float(own - units)
    own += density.log_measure(X).mean()
    for j in encoding.number_columns:  # at an atom a number has no unit
        place = encoding.atom_columns.get(j)
        share = 1.0 if place is None else (X[:, place] == 0).mean()
        own -= share * np.log(density.standardizer_.scale[j] / whole.X[:, j].std())
    return float(own)


def _check_variety(table: Table) -> None:
    """Raise `InvalidInput` if a number of a table is constant."""
    names, codes = table.encoding.column_names, tuple(table.encoding.code_sizes)
    Standardizer.fit(table.X, features=names, codes=codes)
