"""Conditional RealNVP: a normalising flow, trained with torch, evaluated without it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._typing import FloatArray, Labels, Pullback
from daace._warnings import warn_user
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.codes_first import CodesFirst, split_columns
from daace.density.draws import HeldOut, check_draw, draw_classes
from daace.density.flow.checkpoint import Checkpoint
from daace.density.flow.coupling import CouplingFlow
from daace.density.flow.presets import find_preset
from daace.density.flow.trainer import (
    Trainer,
    balanced_orders,
    import_torch,
    one_thread,
    tiny_is_zero,
)
from daace.density.flow.training import STOPPED, Schedule, history_frame, train, undisturbed
from daace.density.privacy import FEWEST_ROWS
from daace.density.splits import hold_out
from daace.density.transaction import all_or_nothing

#: With fewer held-out rows, the loss on them is mostly noise.
FEW_HELD_OUT = 10

#: Training has diverged if the best loss is above this multiple of a plain Gaussian's.
DIVERGED = 2.0

#: Settings in a model file besides a flow's own.
BESIDE = ("stopped", "network", "encoding")

WARNED = {"interrupted": "was interrupted", "overflow": "overflowed repeatedly"}


class RealNVP(ConditionalDensity):
    """p(x, y) = p(y) N(f(x | y); 0, I) |det df/dx|, with f a stack of affine coupling layers.

    On tables with codes, `p(x, d, y) = p(d, y) N(f(x | d, y); 0, I) |det df/dx|`. Here x are the
    numbers without atoms; d is everything else, codes and numbers with atoms, of which a
    `LinearGaussianNetwork` with profiles, fitted on them alone, gives p(d, y). The flow sees d as
    numbers besides the class, see `FlowColumns`. A flow maps a fixed number of features, but which
    are at their atoms differs from row to row: a flow over filled-in values would not be a density
    that sums and integrates to 1, as this one is.

    A conditional RealNVP (Dinh, Sohl-Dickstein and Bengio 2017, arXiv:1605.08803). Each layer
    keeps some features a and maps the others, z_b = e^s x_b + t, where s and t come from a network
    with ReLU units whose inputs are a and the class (see `CouplingFlow`). It is trained by Adam
    (Kingma and Ba 2015, arXiv:1412.6980) on the negative log-likelihood, in float32 on one thread,
    with Gaussian noise on each batch: the same seed gives the same model. The learning rate falls
    by a tenth after 30 epochs without improvement, training returns to the best state after 15,
    and ends in it. numpy evaluates the flow in float64: a saved flow needs no torch.

    It differs from the paper in three points: s is bounded, so that nothing overflows up to 1e100
    standard deviations from the data; the random orders of the features are balanced, so that two
    or more layers map all of them; and with early stopping, which presets do not use, the loss of
    the held-out rows decides about learning rate, returns and the best state.

    Args:
        flows: number of coupling layers.
        layers: hidden layers of each network.
        hidden: units of a hidden layer, as a multiple of the number of all features.
        learning_rate: learning rate of Adam in the first epoch.
        weight_decay: weight decay of Adam.
        noise: standard deviation of the noise, in standard deviations of a feature.
        epochs: largest number of passes over the rows.
        batches: steps per epoch.
        early_stopping: hold out a tenth of the rows, end in the state that is best on them, and
            stop after 60 epochs without improvement.
        time_limit: seconds after which no new epoch begins; None for no limit.
        seed: seed of initial weights, orders, batches and noise.

    Attributes:
        history_: frame with epoch, train_loss, validation_loss (-log p(x | y), nats per row) and
            learning_rate.
        stopped_: why training ended: 'epochs', 'early', 'time', 'interrupted' or 'overflow'.
        log_prior_: log p(y).
        flow_: the trained `CouplingFlow`.
        before_: the network of p(d, y); None without codes.

    Example:
        >>> density = RealNVP.preset("phoneme")
        >>> density.flows, density.early_stopping
        (10, False)
    """

    kind: ClassVar[str] = "realnvp"
    fewest_rows: ClassVar[int] = FEWEST_ROWS
    takes_codes: ClassVar[bool] = True

    def __init__(
        self,
        *,
        flows: int = 7,
        layers: int = 3,
        hidden: int = 6,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        noise: float = 0.1,
        epochs: int = 500,
        batches: int = 30,
        early_stopping: bool = True,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> None:
        for name, value in (
            ("flows", flows), ("layers", layers), ("hidden", hidden), ("epochs", epochs),
            ("batches", batches),
        ):  # fmt: skip
            check_integer(name, value, at_least=1)
        check_number("learning_rate", learning_rate, above=0)
        check_number("weight_decay", weight_decay, at_least=0)
        check_number("noise", noise, at_least=0)
        check_choice("early_stopping", early_stopping, (True, False))
        if time_limit is not None:
            check_number("time_limit", time_limit, above=0)
        check_integer("seed", seed, at_least=0)
        self.flows = flows
        self.layers = layers
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.noise = noise
        self.epochs = epochs
        self.batches = batches
        self.early_stopping = early_stopping
        self.time_limit = time_limit
        self.seed = seed

    @classmethod
    def preset(
        cls, name: str, *, epochs: int = 500, time_limit: float | None = None, seed: int = 0
    ) -> RealNVP:
        """Return an unfitted flow with the settings of the paper for a table.

        There is no early stopping.

        Args:
            name: name of the table.
            epochs: largest number of passes over the rows.
            time_limit: seconds after which no new epoch begins; None for no limit.
            seed: seed of initial weights, orders, batches and noise.

        Raises:
            InvalidInput: the paper has no such table.
        """
        settings = find_preset(name)._asdict()
        return cls(
            **settings, epochs=epochs, early_stopping=False, time_limit=time_limit, seed=seed
        )

    @all_or_nothing
    def fit(
        self,
        table: Table,
        *,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on a table; an interrupt (Ctrl-C) ends the training in its best state.

        Args:
            table: rows with their class.
            progress: show a bar with the loss on stderr, or a line per minute in a log.
            checkpoint: file to which the state is written regularly, and from which a stopped
                training resumes, with the same result and perhaps more `epochs`. A training that
                has had more than `epochs` is used as it is.

        Raises:
            MissingDependency: torch is not installed.
            InvalidInput: a class has fewer than 10 rows; every number has atoms; the training
                overflows with all initial weights; or the checkpoint is that of another training.
            KeyboardInterrupt: before the end of the first epoch.

        Warns:
            UserWarning: the training was interrupted, overflowed repeatedly, or diverged; there is
                only one feature; or there are too few rows for early stopping.
        """
        import_torch()
        X, y = self._learn_names(table)
        counts = np.bincount(y, minlength=len(self.classes_))
        rng = np.random.default_rng(self.seed)
        held_out = hold_out(X, y, rng=rng) & self.early_stopping
        columns = split_columns(self.encoding_)
        before = None if columns is None else CodesFirst.fit(table, columns)
        mapped = X if columns is None else X[:, columns.numbers]
        context = None if columns is None else columns.context(X)
        self._warn_of_limits(mapped.shape[1], int(held_out.sum()))
        orders = balanced_orders(self.flows, mapped.shape[1], rng=rng)
        # More epochs or more time only prolong a training; any other change makes it another one.
        settings = self.get_params() | {"epochs": None, "time_limit": None}
        place = None if checkpoint is None else Checkpoint.of(checkpoint, table.X, y, settings)
        with one_thread():
            trainer = Trainer(
                self,
                mapped,
                y,
                held_out,
                orders,
                rng,
                context=context,
                features=len(self.features_),
            )
            with tiny_is_zero():
                schedule, self.stopped_ = train(
                    trainer,
                    learning_rate=self.learning_rate,
                    epochs=self.epochs,
                    time_limit=self.time_limit,
                    progress=progress,
                    checkpoint=place,
                )
            with undisturbed():
                contexts = 0 if context is None else context.shape[1]
                flow = CouplingFlow(orders, *trainer.network(), len(counts), contexts)
                self._keep(np.log(counts / counts.sum()), flow, history_frame(schedule.history))
                self._begin_with(before)
                self._describe_draws()
        self._warn_of_training(schedule, trainer.plain_loss(), checkpoint)
        return self

    def held_out(self, table: Table) -> HeldOut | None:
        """Evaluate this flow on the rows that early stopping held out, if they are enough."""
        X, y = self.standardizer_.transform(table.X), np.searchsorted(table.classes, table.y)
        rng = np.random.default_rng(self._learned_with["seed"])
        rows = np.flatnonzero(hold_out(X, y, rng=rng))  # as in `fit`
        if not self._learned_with["early_stopping"] or len(rows) < FEW_HELD_OUT:
            return None
        other = copy(self)
        if self.before_ is not None:
            rest = np.setdiff1d(np.arange(len(y)), rows)
            other._begin_with(self.before_.refit(table.take(rest)))
        return other.judge_table(table.take(rows))

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`.

        Nothing is kept for a gradient, which saves memory and an eighth of the time.
        """
        rows = self._check_rows(X)
        if self.before_ is not None:
            return self.before_.log_joint(self.flow_, rows)
        return self.flow_.log_density(rows) + self.log_prior_

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        rows = self._check_rows(X)
        if self.before_ is not None:
            return self.before_.log_joint_and_pullback(self.flow_, rows)
        log_density, pullback = self.flow_.log_density_and_pullback(rows)
        return log_density + self.log_prior_, pullback

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        check_draw(n, rng)
        index = None if label is None else self.class_index(label)
        if self.before_ is not None:
            X, chosen = self.before_.sample(self.flow_, n, rng=rng, index=index)
            return X, self.classes_[chosen]
        chosen = draw_classes(self.log_prior_, n, rng=rng, index=index)
        noise = rng.normal(size=(n, self.flow_.features))
        return self.flow_.inverse(noise, chosen), self.classes_[chosen]

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        # A model file holds no NaN, as of a missing loss or of an epoch that overflowed.
        finite = self.history_.replace([np.inf, -np.inf], np.nan)
        history = finite.dropna(axis=1, how="all").dropna()
        arrays = {
            "log_prior": self.log_prior_,
            "orders": self.flow_.orders.astype(np.float64),
            "history": history.to_numpy(dtype=np.float64),
        }
        maps = zip(self.flow_.weights, self.flow_.biases, strict=True)
        for j, (weight, bias) in enumerate(maps):
            arrays[f"weight_{j}"], arrays[f"bias_{j}"] = weight, bias
        settings = self._learned_with | {"stopped": self.stopped_}
        if self.before_ is not None:
            of_network, settings["network"] = self.before_.to_arrays()
            arrays |= of_network
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        density = cls(**{n: v for n, v in settings.items() if n not in BESIDE})
        check_choice("stopped", settings["stopped"], STOPPED)
        orders, log_prior, history = (arrays[n] for n in ("orders", "log_prior", "history"))
        if log_prior.ndim != 1 or orders.ndim != 2 or (orders != orders.round()).any():
            raise ValueError("'log_prior' or 'orders' is not what it must be")
        if history.ndim != 2 or history.shape[1] not in (3, 4):
            raise ValueError(f"'history' has shape {history.shape}, not (epochs, 3 or 4)")
        before, features, maps = None, orders.shape[1], range(density.layers + 1)
        if "encoding" in settings:
            before = CodesFirst.from_arrays(arrays, settings["network"], settings["encoding"])
            if len(before.columns.numbers) != features:
                raise ValueError("it has other numbers than its encoding")
            features = len(settings["encoding"].features)
        flow = CouplingFlow(
            orders.astype(np.intp),
            tuple(arrays[f"weight_{j}"] for j in maps),
            tuple(arrays[f"bias_{j}"] for j in maps),
            len(log_prior),
            0 if before is None else before.columns.contexts,
        )
        if orders.shape[0] != density.flows or flow.units != density.hidden * features:
            raise ValueError("the network does not have the size in its settings")
        density.stopped_ = settings["stopped"]
        density._keep(log_prior, flow, history_frame(history))
        density._begin_with(before)
        return density

    def _warn_of_training(
        self, schedule: Schedule, plain: float, checkpoint: str | os.PathLike[str] | None
    ) -> None:
        """Warn after a training that did not end well."""
        if self.stopped_ in WARNED:
            interrupted = self.stopped_ == "interrupted"
            resumes = checkpoint is not None and interrupted
            further = f" To resume, fit again with '{checkpoint}'." if resumes else ""
            warn_user(
                f"The training {WARNED[self.stopped_]} in epoch {schedule.epochs + interrupted} of "
                f"{self.epochs}: the best state so far is kept.{further}",
            )
        if schedule.best > DIVERGED * plain:
            warn_user(
                f"Training diverged: the best loss is {schedule.best:.3g} nats per row, that of a "
                f"plain Gaussian {plain:.3g}. Lower 'learning_rate' ({self.learning_rate:g}).",
            )

    def _warn_of_limits(self, features: int, held_out: int) -> None:
        """Warn before a training of what it cannot achieve."""
        if features == 1 and not self.encoding_.code_sizes:
            warn_user(
                "With one feature a flow is one Gaussian per class: a kernel density ('kde') "
                "follows any shape.",
            )
        elif self.flows == 1:
            warn_user(
                "With one coupling layer half of the features are standard Gaussians, whatever "
                "the class: 'flows' should be at least 2.",
            )
        if self.early_stopping and held_out < FEW_HELD_OUT:
            warn_user(
                f"Too few rows for early stopping, which holds out {held_out}. "
                "The flow may memorise the rows; a Bayesian network ('linear-gaussian') needs "
                "fewer.",
            )

    def _keep(self, log_prior: FloatArray, flow: CouplingFlow, history: pd.DataFrame) -> None:
        self.log_prior_ = log_prior
        self.flow_ = flow
        self.history_ = history
        self._learned_with = self.get_params()  # they may be changed before the next fit

    def _begin_with(self, before: CodesFirst | None) -> None:
        self.before_ = before
        self.line_weights_ = {} if before is None else before.line_weights
