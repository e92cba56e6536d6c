"""Torch's side of training a flow: parameters, loss, one epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.flow.checkpoint import Arrays
from daace.density.flow.coupling import BOUND
from daace.exceptions import MissingDependency

#: Scale of the initial weights, relative to Xavier's (Glorot and Bengio 2010): the paper's.
INITIAL = 1 / 3


class TrainingSettings(Protocol):
    """The settings of a `RealNVP` that its training needs."""

    flows: int
    layers: int
    hidden: int
    weight_decay: float
    noise: float
    batches: int
    seed: int


class Trainer:
    """A flow in training: all parameters in one vector, so that one Adam step is one call.

    Args:
        settings: number and size of the networks, weight decay, noise, batches and seed.
        X: rows that the flow maps, in model space, shape `(rows, features)`.
        y: class index of each row, shape `(rows,)`.
        held_out: which rows are for validation only, shape `(rows,)`.
        orders: order of the features in each layer, shape `(flows, features)`.
        rng: source of the initial weights.
        context: what x depends on besides the class, shape `(rows, contexts)`.
        features: number of features that `settings.hidden` refers to; that of X when left out.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        X: FloatArray,
        y: IntArray,
        held_out: BoolArray,
        orders: IntArray,
        rng: np.random.Generator,
        *,
        context: FloatArray | None = None,
        features: int | None = None,
    ) -> None:
        torch = import_torch()
        context = np.zeros((len(X), 0)) if context is None else context
        classes, n = int(y.max()) + 1, X.shape[1]
        kept, given = n // 2, classes + context.shape[1]
        units = settings.hidden * (n if features is None else features)
        widths = [kept + given, *[units] * settings.layers, 2 * (n - kept)]
        self.settings, self.torch, self.n = settings, torch, n
        self.shapes = [(settings.flows, out, into) for into, out in pairwise(widths)]
        self.sizes = [math.prod(shape[:dims]) for shape in self.shapes for dims in (3, 2)]
        # Columns are b, a, one-hot class, context; an index maps the order of one layer to that of
        # the next.
        turned = np.concatenate([orders[:, kept:], orders[:, :kept]], axis=1)
        before = np.concatenate([np.arange(n)[None], turned[:-1]])
        tail = np.arange(n, n + given)
        self.moves = [
            torch.from_numpy(np.concatenate([np.argsort(old)[new], tail]))
            for old, new in zip(before, turned, strict=True)
        ]
        rows = np.concatenate([X, np.eye(classes)[y], context], axis=1).astype(np.float32)
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
        # Each epoch has its own seed: resumed training needs no state of the generator.
        seed = np.random.SeedSequence([settings.seed, number]).generate_state(1, np.uint64)[0]
        generator = torch.Generator().manual_seed(int(seed))
        rows = self.rows[torch.randperm(len(self.rows), generator=generator)]
        noise = torch.randn((len(rows), self.n), generator=generator, dtype=rows.dtype)
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
        """Return the loss of a standard Gaussian on the validation rows, or else on the others."""
        counted = self.validation if len(self.validation) else self.rows
        squares = float(counted[:, : self.n].double().square().sum()) / len(counted)
        blur = 0.0 if len(self.validation) else self.n * self.settings.noise**2
        return float(0.5 * (squares + blur + self.n * math.log(2 * math.pi)))

    def loss(self, rows: Any) -> Any:
        """Return the mean of -log p(x | y) over rows of features, one-hot class and context."""
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
        """Return weights and biases in the form that `CouplingFlow` takes."""
        weights, biases = (
            tuple(self.torch.stack(layer).detach().double().numpy() for layer in part)
            for part in self.maps()
        )
        return weights, biases

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
    """Return torch.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingDependency("RealNVP needs torch: pip install 'daace[flow]'.") from None
    return torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and BLAS to one thread: matrices are small, and sums are reproducible.

    Gradients are enabled, even if the caller has disabled them.
    """
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def tiny_is_zero() -> Iterator[None]:
    """Flush subnormal numbers, those below 1e-38, to zero.

    Weight decay produces them in unused units, and processors are slow on them: with the paper's
    settings for EQI an epoch takes 40 seconds instead of 2.
    """
    torch = import_torch()
    already = torch.tensor(1e-40, dtype=torch.float32).mul(1.0).item() == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(already)


def balanced_orders(flows: int, n: int, *, rng: np.random.Generator) -> IntArray:
    """Return random orders of n features in which all features are mapped equally often.

    The second half of an order is mapped, so the features mapped most often come first in the next
    one. With independent orders, one of 128 features is on average never mapped by 7 layers.

    Args:
        flows: number of orders.
        n: number of features.
        rng: source of the orders.

    Returns:
        Shape `(flows, n)`.

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
