"""Conditional RealNVP: a normalising flow, trained with torch, evaluated without it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from daace._checks import check_choice, check_integer, check_number
from daace._typing import BoolArray, FloatArray, IntArray, Labels
from daace.data.table import Table
from daace.density.base import ConditionalDensity, Pullback, all_or_nothing, draw_classes
from daace.density.checkpoint import Arrays, Checkpoint
from daace.density.coupling import BOUND, CouplingFlow
from daace.density.presets import find_preset
from daace.density.splits import hold_out
from daace.density.training import STOPPED, history_frame, train
from daace.exceptions import MissingDependency

#: Rows held out below which the loss on them is a matter of luck.
FEW_HELD_OUT = 10

#: Initial weights are Xavier's normal ones, scaled: the paper's.
INITIAL = 1 / 3

#: A best loss above so many times that of a plain Gaussian is no model of the rows.
ASTRAY = 2.0

WARNED = {"interrupted": "was interrupted", "overflow": "overflowed again and again"}


class RealNVP(ConditionalDensity):
    """p(x, y) = p(y) N(f(x | y); 0, I) |det df/dx|, with f a stack of affine coupling layers.

    Each layer keeps some features a and maps the others, z_b = e^s x_b + t, where s and t come
    from a network with ReLU units that sees a and the class (see `CouplingFlow`). Trained by Adam
    on the negative log-likelihood, in float32 on one thread, with Gaussian noise on each batch:
    the same seed gives the same model. The learning rate falls by a tenth after 30 epochs without
    improvement, 15 worse epochs lead back to the best state, and training ends in it. Evaluated
    by numpy in float64: a saved flow needs no torch.

    It differs from the paper in two points: s is bounded, so that nothing overflows however far
    from the data, and the random orders of the features are balanced, so that none is left out.

    Args:
        flows: number of coupling layers.
        layers: hidden layers of each network.
        hidden: units of a hidden layer, as a multiple of the number of features.
        learning_rate, weight_decay: of Adam.
        noise: standard deviation of the noise, in standard deviations of a feature.
        epochs: largest number of passes over the rows.
        batches: steps per epoch.
        early_stopping: hold out a tenth of the rows, end in the state that is best on them, and
            stop after 60 epochs without improvement.
        time_limit: seconds after which no new epoch begins.
        seed: of initial weights, orders, batches and noise.

    Attributes:
        history_: frame with epoch, train_loss, validation_loss (-log p(x | y), nats per row) and
            learning_rate.
        stopped_: why training ended: 'epochs', 'early', 'time', 'interrupted' or 'overflow'.
        log_prior_: log p(y).
        flow_: the trained `CouplingFlow`.

    Example:
        >>> density = RealNVP.preset("phoneme")
        >>> density.flows, density.early_stopping
        (10, False)
    """

    kind: ClassVar[str] = "realnvp"

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
        """Return the settings that the paper tuned for a table, without early stopping.

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
            progress: show a bar with the loss on stderr, or a line a minute in a log.
            checkpoint: file to which the state is written now and then, and from which a stopped
                training goes on, with the same result; more `epochs` may be asked for then. One
                that has come further than `epochs` is taken as it is.

        Raises:
            MissingDependency: torch is not installed.
            InvalidInput: the training overflows whatever the initial weights, or the checkpoint
                is that of another training.
            KeyboardInterrupt: it came before the first epoch was over.

        Warns:
            UserWarning: the training was interrupted, overflowed again and again, or went astray;
                there is one feature only, or too few rows for early stopping.
        """
        import_torch()
        X, y = self._learn_names(table)
        counts = np.bincount(y, minlength=len(self.classes_))
        rng = np.random.default_rng(self.seed)
        held_out = hold_out(X, y, rng=rng) & self.early_stopping
        self._warn_of_limits(X.shape[1], int(held_out.sum()))
        orders = balanced_orders(self.flows, X.shape[1], rng=rng)
        # More epochs or more time only prolong a training; all else makes it another one.
        settings = self.get_params() | {"epochs": None, "time_limit": None}
        place = None if checkpoint is None else Checkpoint.of(checkpoint, X, y, settings)
        with one_thread():
            trainer = Trainer(self, X, y, held_out, orders, rng)
            schedule, self.stopped_ = train(
                trainer,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                time_limit=self.time_limit,
                progress=progress,
                checkpoint=place,
            )
            flow = CouplingFlow(orders, *trainer.network(), len(counts))
            self._keep(np.log(counts / counts.sum()), flow, history_frame(schedule.history))
            self._describe_draws()
        if self.stopped_ in WARNED:
            resumes = checkpoint is not None and self.stopped_ == "interrupted"
            further = f" To go on, fit again with '{checkpoint}'." if resumes else ""
            warnings.warn(
                f"The training {WARNED[self.stopped_]} in epoch {schedule.epochs + 1} of "
                f"{self.epochs}: the best state so far is kept.{further}",
                stacklevel=3,  # whoever called fit, past its decorator
            )
        plain = trainer.plain_loss()
        if schedule.best > ASTRAY * plain:
            warnings.warn(
                f"The training went astray: its best loss is {schedule.best:.3g} nats per row, "
                f"a plain Gaussian's {plain:.3g}. Lower 'learning_rate' ({self.learning_rate:g}).",
                stacklevel=3,
            )
        return self

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`.

        Without notes for a gradient: an eighth faster, and no memory for them.
        """
        rows = self._check_rows(X)
        return self.flow_.log_density(rows) + self.log_prior_

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        log_density, pullback = self.flow_.log_density_and_pullback(X)
        return log_density + self.log_prior_, pullback

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        chosen = draw_classes(self.log_prior_, n, rng=rng, index=index)
        noise = rng.normal(size=(n, self.flow_.features))
        return self.flow_.inverse(noise, chosen), self.classes_[chosen]

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        # No model file holds NaN: of a loss that is missing, or of an epoch that overflowed.
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
        return arrays, self.get_params() | {"stopped": self.stopped_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        density = cls(**{name: value for name, value in settings.items() if name != "stopped"})
        check_choice("stopped", settings["stopped"], STOPPED)
        orders, log_prior, history = (arrays[n] for n in ("orders", "log_prior", "history"))
        if log_prior.ndim != 1 or orders.ndim != 2 or (orders != orders.round()).any():
            raise ValueError("'log_prior' or 'orders' is not what it must be")
        if history.ndim != 2 or history.shape[1] not in (3, 4):
            raise ValueError(f"'history' has shape {history.shape}, not (epochs, 3 or 4)")
        maps = range(density.layers + 1)
        flow = CouplingFlow(
            orders.astype(np.intp),
            tuple(arrays[f"weight_{j}"] for j in maps),
            tuple(arrays[f"bias_{j}"] for j in maps),
            len(log_prior),
        )
        if orders.shape[0] != density.flows or flow.units != density.hidden * flow.features:
            raise ValueError("the network is not of the size that its settings say")
        density.stopped_ = settings["stopped"]
        density._keep(log_prior, flow, history_frame(history))
        return density

    def _warn_of_limits(self, features: int, held_out: int) -> None:
        """Say before a training what it cannot give."""
        if features == 1:
            warnings.warn(
                "With one feature a flow is one Gaussian per class: a kernel density ('kde') "
                "follows any shape.",
                stacklevel=4,  # whoever called fit, past its decorator
            )
        if self.early_stopping and held_out < FEW_HELD_OUT:
            warnings.warn(
                f"Too few rows to tell when to stop: held out for early stopping are {held_out}. "
                "The flow may learn the rows by heart; a Bayesian network ('linear-gaussian') "
                "needs fewer.",
                stacklevel=4,
            )

    def _keep(self, log_prior: FloatArray, flow: CouplingFlow, history: pd.DataFrame) -> None:
        self.log_prior_ = log_prior
        self.flow_ = flow
        self.history_ = history


class Trainer:
    """Torch's side of a training: all parameters in one vector, so that one Adam step is one call.

    Args:
        settings: of the flow.
        X, y: model-space rows and their class indices.
        held_out: which rows are for validation only.
        orders: order of the features in each layer.
        rng: for the initial weights.
    """

    def __init__(
        self,
        settings: RealNVP,
        X: FloatArray,
        y: IntArray,
        held_out: BoolArray,
        orders: IntArray,
        rng: np.random.Generator,
    ) -> None:
        torch = import_torch()
        classes, n = int(y.max()) + 1, X.shape[1]
        kept, units = n // 2, settings.hidden * n
        widths = [kept + classes, *[units] * settings.layers, 2 * (n - kept)]
        self.settings, self.torch, self.n = settings, torch, n
        self.shapes = [(settings.flows, out, into) for into, out in pairwise(widths)]
        self.sizes = [math.prod(shape[:dims]) for shape in self.shapes for dims in (3, 2)]
        # Rows stand as b, a, one-hot class; an index leads from the order of a layer to the next.
        turned = np.concatenate([orders[:, kept:], orders[:, :kept]], axis=1)
        before = np.concatenate([np.arange(n)[None], turned[:-1]])
        tail = np.arange(n, n + classes)
        self.moves = [
            torch.from_numpy(np.concatenate([np.argsort(old)[new], tail]))
            for old, new in zip(before, turned, strict=True)
        ]
        rows = np.concatenate([X, np.eye(classes)[y]], axis=1).astype(np.float32)
        self.rows = torch.from_numpy(rows[~held_out])
        self.validation = torch.from_numpy(rows[held_out])
        xavier = [
            part
            for _, out, into in self.shapes
            for part in (
                rng.normal(
                    scale=INITIAL * math.sqrt(2 / (out + into)), size=settings.flows * out * into
                ),
                np.zeros(settings.flows * out),
            )
        ]
        self.initial = torch.from_numpy(np.concatenate(xavier).astype(np.float32))
        self.begin(1.0)

    def begin(self, shrink: float) -> None:
        self.parameters = (self.initial * shrink).requires_grad_()
        self.adam = self.torch.optim.Adam(
            [self.parameters], weight_decay=self.settings.weight_decay, fused=True
        )

    def epoch(self, number: int, learning_rate: float) -> float:
        torch, settings = self.torch, self.settings
        # Each epoch has its own seed: a training that goes on needs no state of the generator.
        seed = np.random.SeedSequence([settings.seed, number]).generate_state(1, np.uint64)[0]
        generator = torch.Generator().manual_seed(int(seed))
        rows = self.rows[torch.randperm(len(self.rows), generator=generator)]
        noise = torch.randn((len(rows), self.n), generator=generator)
        rows[:, : self.n] += settings.noise * noise
        self.adam.param_groups[0]["lr"] = learning_rate
        total = 0.0
        for batch in rows.tensor_split(min(settings.batches, len(rows))):
            self.adam.zero_grad()
            loss = self.loss(batch)
            loss.backward()
            self.adam.step()
            total += float(loss.detach()) * len(batch)
            if not math.isfinite(total):
                return math.nan
        return total / len(rows) if torch.isfinite(self.parameters).all() else math.nan

    def validate(self) -> float | None:
        if not len(self.validation):
            return None
        with self.torch.no_grad():
            return float(self.loss(self.validation))

    def plain_loss(self) -> float:
        """Return the loss that a standard Gaussian has on the rows that count."""
        counted = self.validation if len(self.validation) else self.rows
        squares = float(counted[:, : self.n].double().square().sum()) / len(counted)
        blur = 0.0 if len(self.validation) else self.n * self.settings.noise**2
        return float(0.5 * (squares + blur + self.n * math.log(2 * math.pi)))

    def loss(self, rows: Any) -> Any:
        """Return the mean of -log p(x | y) over rows of features and one-hot class."""
        torch = self.torch
        linear = torch.nn.functional.linear
        weights, biases = self.maps()
        b = self.n - self.n // 2
        x, log_det = rows, 0.0
        for flow, move in enumerate(self.moves):
            x = x.index_select(1, move)
            h = x[:, b:]
            for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
                h = linear(h, weight[flow], bias[flow]).relu_()
            out = linear(h, weights[-1][flow], biases[-1][flow])
            raw = out[:, :b]
            scale = raw / (1 + raw.abs() / BOUND)
            log_det = log_det + scale.sum()
            mapped = torch.addcmul(out[:, b:], x[:, :b], scale.exp())
            x = torch.cat([mapped, x[:, b:]], dim=1)
        squares = 0.5 * x[:, : self.n].square().sum()
        return (squares - log_det) / len(rows) + 0.5 * self.n * math.log(2 * math.pi)

    def maps(self) -> tuple[list[Any], list[Any]]:
        """Return weights and biases of each linear map, by layer, as views of the parameters."""
        pieces = self.parameters.split(self.sizes)
        weights = [
            w.view(shape).unbind() for w, shape in zip(pieces[::2], self.shapes, strict=True)
        ]
        biases = [
            b.view(shape[:2]).unbind() for b, shape in zip(pieces[1::2], self.shapes, strict=True)
        ]
        return weights, biases

    def network(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        """Return weights and biases as the evaluation takes them."""
        pieces = np.split(self.state()["parameters"].astype(np.float64), np.cumsum(self.sizes)[:-1])
        weights = zip(pieces[::2], self.shapes, strict=True)
        biases = zip(pieces[1::2], self.shapes, strict=True)
        return (
            tuple(w.reshape(shape) for w, shape in weights),
            tuple(b.reshape(shape[:2]) for b, shape in biases),
        )

    def state(self) -> Arrays:
        moments = self.adam.state.get(self.parameters, {})
        state = {name: np.array(value.numpy()) for name, value in moments.items()}
        return state | {"parameters": self.parameters.detach().numpy().copy()}

    def restore(self, state: Arrays) -> None:
        torch = self.torch
        with torch.no_grad():
            self.parameters.copy_(torch.from_numpy(state["parameters"]))
        self.adam.state[self.parameters] = {
            name: torch.from_numpy(np.array(value))
            for name, value in state.items()
            if name != "parameters"
        }


def import_torch() -> Any:
    """Return torch, or say how to get it."""
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingDependency("RealNVP needs torch: pip install 'daace[flow]'.") from None
    return torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and BLAS to one thread: matrices are small, and the sums always the same."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def balanced_orders(flows: int, n: int, *, rng: np.random.Generator) -> IntArray:
    """Return random orders of n features in which each is mapped as often as any other.

    The second half of an order is mapped, so those come first that were mapped most often. With
    independent orders, one of 128 features is left out of all 7 layers on average.

    Example:
        >>> orders = balanced_orders(2, 4, rng=np.random.default_rng(0))
        >>> sorted([*orders[0, 2:], *orders[1, 2:]]) == [0, 1, 2, 3]
        True
    """
    mapped = np.zeros(n, dtype=np.intp)
    orders = np.empty((flows, n), dtype=np.intp)
    for order in orders:
        order[:] = np.lexsort((rng.random(n), -mapped))
        mapped[order[n // 2 :]] += 1
    return orders
