"""Affine coupling layers in numpy: from data to noise and back, log-determinant, gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray, Pullback
from daace.density.flow.trimming import trim

#: Bound of s: a layer stretches a feature at most e^2-fold, so that nothing overflows far away.
BOUND = 2.0

#: Numbers of one array worked on at once: 1 MB stays in the cache.
BLOCK = 131_072

#: Multiplications in a matrix product up to which OpenBLAS does not pack, on some processors: a
#: fifth faster; on others the size of a piece hardly matters.
SMALL_PRODUCT = 1_000_000

#: Smallest number of columns that go through a network at once: with fewer, calls dominate.
FEWEST_COLUMNS = 256

#: Bytes kept for the gradient; with more rows the activations are computed again.
TAPE = 256 * 2**20


class Step(NamedTuple):
    """State of one layer for the gradient: numbers for b, and which ReLU units were active."""

    stretch: FloatArray
    stretched: FloatArray
    slope: FloatArray
    active: list[list[BoolArray]]  # of each piece and hidden layer


class Piece(NamedTuple):
    """Columns that go through a network at once, and room for its hidden layers, in turns."""

    inputs: FloatArray
    hidden: tuple[FloatArray, FloatArray]  # the first line is the constant 1, for biases
    zeros: FloatArray  # numpy's maximum of two arrays is 2.5 times as fast as that with a number
    out: FloatArray


class Workspace(NamedTuple):
    """Arrays that all layers write to: a, the network's outputs, and the pieces."""

    a: FloatArray
    out: FloatArray
    pieces: list[Piece]


@dataclass(frozen=True, eq=False)
class CouplingFlow:
    """Class-conditional map z = f(x | y) that makes every class standard normal.

    Layer l splits the features, in its own order, into a and b, keeps a and maps b:

        z_b = e^s x_b + t,   (r, t) = network_l(a, one-hot y, c),   s = r / (1 + |r| / 2)

    with c all else x depends on, so `log p(x | y, c) = log N(f(x | y, c); 0, I) + sum of all s`.
    Its inverse is as cheap: `x_b = (z_b - t) e^-s` (RealNVP, Dinh, Sohl-Dickstein and Bengio 2017,
    arXiv:1605.08803; there s is a scaled tanh). The networks have ReLU units; those that cannot
    matter are stored but not evaluated, see `trim`. Internally, arrays have one line per feature
    and one column per row of data, so that splitting the features copies whole lines.

    Attributes:
        orders: order of the features in each layer, first a, then b, shape `(flows, n)`.
        weights: weights of each linear map of the networks, shape `(flows, outputs, inputs)`; the
            first takes a, the one-hot class and c, the last gives r and t.
        biases: biases of each linear map, shape `(flows, outputs)`.
        classes: number of classes.
        contexts: number of columns of c.

    Raises:
        ValueError: the shapes do not fit together, or an order is not a permutation.

    Example:
        >>> flow = CouplingFlow(
        ...     orders=np.array([[1, 0]]),
        ...     weights=(np.ones((1, 4, 3)), np.full((1, 2, 4), 0.1)),
        ...     biases=(np.zeros((1, 4)), np.zeros((1, 2))),
        ...     classes=2,
        ... )
        >>> x, y = np.array([[0.5, 2.0]]), np.array([1])
        >>> flow.inverse(flow.forward(x, y), y).round(12).tolist()
        [[0.5, 2.0]]
    """

    orders: IntArray
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    classes: int
    contexts: int = 0
    _parts: list[tuple[IntArray, IntArray]] = field(init=False, repr=False)
    _maps: list[list[FloatArray]] = field(init=False, repr=False)
    _widest: int = field(init=False, repr=False)  # hidden layer
    _taped: int = field(init=False, repr=False)  # bytes that the gradient of one row needs

    def __post_init__(self) -> None:
        if self.orders.ndim != 2 or any(weight.ndim != 3 for weight in self.weights):
            raise ValueError("the orders must have two dimensions, the weights three")
        flows, n = self.orders.shape
        kept, hidden, depth = n // 2, self.weights[0].shape[1], len(self.weights)
        inputs = [kept + self.classes + self.contexts, *[hidden] * (depth - 1)]
        outputs = [*[hidden] * (depth - 1), 2 * (n - kept)]
        for weight, bias, *size in zip(self.weights, self.biases, outputs, inputs, strict=True):
            if weight.shape != (flows, *size) or bias.shape != weight.shape[:2]:
                raise ValueError(
                    f"a linear map has shapes {weight.shape} and {bias.shape}, "
                    f"not {(flows, *size)} and {(flows, size[0])}"
                )
        if depth < 2 or (np.sort(self.orders, axis=1) != np.arange(n)).any():
            raise ValueError("a network has no hidden layer, or an order of features is none")
        maps = [self._trimmed(flow) for flow in range(flows)]
        object.__setattr__(self, "_maps", maps)
        object.__setattr__(self, "_parts", [(order[:kept], order[kept:]) for order in self.orders])
        object.__setattr__(self, "_widest", max(1, int(self.widths.max())))
        taped = self.classes * (int(self.widths.sum()) + 24 * self.orders.size)
        object.__setattr__(self, "_taped", taped)

    def _trimmed(self, flow: int) -> list[FloatArray]:
        """Return the linear maps of a layer's network, without the units that cannot matter.

        A bias is the weight of a constant 1, which comes first, so that one product is enough. The
        first map needs no constant: the one-hot class, which sums to 1, takes its place. A constant
        network has one map, of the constant 1 alone.
        """
        weights, biases = trim([w[flow] for w in self.weights], [b[flow] for b in self.biases])
        maps = [
            np.concatenate([b[:, None], w], axis=1) for w, b in zip(weights, biases, strict=True)
        ]
        if len(maps) > 1:
            maps[0] = weights[0]
            kept = self.features // 2
            maps[0][:, kept : kept + self.classes] += biases[0][:, None]
        return maps

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.orders.shape[1])

    @property
    def units(self) -> int:
        """Number of units of a hidden layer."""
        return int(self.weights[0].shape[1])

    @property
    def widths(self) -> IntArray:
        """Number of units of each network that matter, shape `(flows, hidden layers)`."""
        hidden = len(self.weights) - 1
        widths = [[len(weight) for weight in maps[:-1]] or [0] * hidden for maps in self._maps]
        return np.array(widths, dtype=np.intp)

    def forward(self, X: FloatArray, y: IntArray, c: FloatArray | None = None) -> FloatArray:
        """Return z = f(x | y, c) of each row, given its class index."""
        return self._map_rows(X, y, self._context(X, c), back=False)

    def inverse(self, Z: FloatArray, y: IntArray, c: FloatArray | None = None) -> FloatArray:
        """Return the x of each row with f(x | y, c) = z, given its class index."""
        return self._map_rows(Z, y, self._context(Z, c), back=True)

    def log_density(self, X: FloatArray, c: FloatArray | None = None) -> FloatArray:
        """Return `L[i, k] = log p(x_i | y=k, c_i)`, shape `(rows, classes)`."""
        result, c = np.empty((len(X), self.classes)), self._context(X, c)
        for part in self._blocks(len(X), self.classes):
            result[part] = self._evaluate(X[part], c[part], None)[0]
        return result

    def log_density_and_pullback(
        self, X: FloatArray, c: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """Return log p(x | y, c) and its pullback, the gradient of `sum_k W[i, k] L[i, k]`.

        The gradient is that with respect to x, followed by that with respect to c.
        """
        result, context = np.empty((len(X), self.classes)), self._context(X, c)
        keep = self._taped * len(X) <= TAPE
        X = X if keep else X.copy()  # read again by the pullback
        kept: list[tuple[slice, FloatArray | None, list[Step]]] = []
        for part in self._blocks(len(X), self.classes):
            steps: list[Step] = []
            result[part], z = self._evaluate(X[part], context[part], steps if keep else None)
            kept.append((part, z if keep else None, steps))

        def pullback(W: FloatArray) -> FloatArray:
            gradient = np.empty((len(X), self.features + self.contexts))
            for part, noise, steps in kept:
                z, tape = noise, steps
                if z is None:
                    tape = []
                    z = self._evaluate(X[part], context[part], tape)[1]
                gradient[part] = self._pull_back(W[part], z, tape)
            return gradient

        return result, pullback

    def _context(self, X: FloatArray, c: FloatArray | None) -> FloatArray:
        return np.zeros((len(X), 0)) if c is None else c

    def _blocks(self, rows: int, per_row: int) -> Iterator[slice]:
        # Lines of x, or of a, class and c.
        lines = max(self.features, self.features // 2 + self.classes + self.contexts)
        step = max(1, BLOCK // (per_row * lines))
        return (slice(begin, min(begin + step, rows)) for begin in range(0, rows, step))

    def _pieces(self, columns: int) -> list[slice]:
        """Split the columns of a block: small products, or in wide networks large arrays."""
        most = SMALL_PRODUCT // (self._widest * (self._widest + 1))
        if most < FEWEST_COLUMNS:
            most = max(FEWEST_COLUMNS, BLOCK // self._widest)
        step = -(-columns // -(-columns // most))  # as even as possible
        return [slice(begin, begin + step) for begin in range(0, columns, step)]

    def _evaluate(
        self, X: FloatArray, c: FloatArray, tape: list[Step] | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return log p(x | y, c), and z with one column per class and row; fill the tape."""
        rows, n = X.shape
        z = np.repeat(X.T[:, None], self.classes, axis=1).reshape(n, -1)
        one_hot = np.repeat(np.eye(self.classes), rows, axis=1)
        space = self._workspace(np.concatenate([one_hot, np.tile(c.T, (1, self.classes))]))
        log_density = np.full(self.classes * rows, -0.5 * n * np.log(2 * np.pi))
        for flow, (_, b) in enumerate(self._parts):
            active: list[list[BoolArray]] | None = None if tape is None else []
            self._network(flow, z, space, active)
            raw, shift = space.out[: len(b)], space.out[len(b) :]
            damping = damp(raw)
            scale = raw / damping
            log_density += np.add.reduce(scale, axis=0)
            stretch = np.exp(scale, out=scale)
            stretched = z[b]
            stretched *= stretch
            z[b] = shift + stretched
            if tape is not None and active is not None:
                damping *= damping
                slope = np.divide(1.0, damping, out=damping)  # ds/dr
                tape.append(Step(stretch, stretched, slope, active))
        log_density -= 0.5 * np.einsum("ij,ij->j", z, z)
        return log_density.reshape(self.classes, rows).T, z

    def _pull_back(self, W: FloatArray, z: FloatArray, tape: list[Step]) -> FloatArray:
        """Return the gradient of `sum_k W[i, k] L[i, k]`, from the last layer to the first."""
        w = np.ascontiguousarray(W.T).reshape(-1)
        g, g_context = -w * z, np.zeros((self.contexts, len(w)))
        pieces = self._pieces(len(w))
        for flow in range(len(tape) - 1, -1, -1):
            stretch, stretched, slope, active = tape[flow]
            a, b = self._parts[flow]
            g_b = g[b]
            g_out = np.empty((2 * len(b), len(w)))
            g_raw = np.multiply(g_b, stretched, out=g_out[: len(b)])
            g_raw += w
            g_raw *= slope
            g_out[len(b) :] = g_b
            if active:  # a constant network does not depend on a
                first, *others = self._maps[flow]
                g_a = np.empty((len(a), len(w)))
                for piece, layers in zip(pieces, active, strict=True):
                    g_h = g_out[:, piece]
                    for weight, on in zip(reversed(others), reversed(layers), strict=True):
                        g_h = weight[:, 1:].T @ g_h
                        g_h *= on
                    np.matmul(first[:, : len(a)].T, g_h, out=g_a[:, piece])
                    if self.contexts:
                        g_context[:, piece] += first[:, len(a) + self.classes :].T @ g_h
                g[a] += g_a
            g_b *= stretch
            g[b] = g_b
        both = np.concatenate([g, g_context]) if self.contexts else g
        gradient: FloatArray = both.reshape(len(both), self.classes, -1).sum(axis=1).T
        return gradient

    def _map_rows(self, X: FloatArray, y: IntArray, c: FloatArray, *, back: bool) -> FloatArray:
        """Map each row under its own class, towards the noise or back."""
        result = np.empty((len(X), self.features))
        flows = range(len(self.orders))
        for part in self._blocks(len(X), 1):
            x = np.array(X[part].T, order="C")
            space = self._workspace(np.concatenate([np.eye(self.classes)[:, y[part]], c[part].T]))
            for flow in reversed(flows) if back else flows:
                b = self._parts[flow][1]
                self._network(flow, x, space, None)
                raw, shift = space.out[: len(b)], space.out[len(b) :]
                scale = raw / damp(raw)
                x[b] = (x[b] - shift) * np.exp(-scale) if back else x[b] * np.exp(scale) + shift
            result[part] = x.T
        return result

    def _workspace(self, given: FloatArray) -> Workspace:
        """Return buffers for columns with these one-hot classes, and c below them."""
        kept, columns = self.features // 2, given.shape[1]
        inputs = np.empty((kept + len(given), columns))
        inputs[kept:] = given
        out = np.empty((2 * (self.features - kept), columns))
        pieces: list[Piece] = []
        for piece in self._pieces(columns):
            width = inputs[:, piece].shape[1]
            if not pieces or width < pieces[0].zeros.shape[1]:
                both = np.empty((2, self._widest + 1, width))
                both[:, 0] = 1.0
                zeros = np.zeros((self._widest, width))
            pieces.append(Piece(inputs[:, piece], (both[0], both[1]), zeros, out[:, piece]))
        return Workspace(inputs[:kept], out, pieces)

    def _network(
        self, flow: int, x: FloatArray, space: Workspace, active: list[list[BoolArray]] | None
    ) -> None:
        """Write r and t, one below the other, to `space.out`; append which units are active."""
        *maps, last = self._maps[flow]
        if not maps:
            space.out[:] = last
            return
        x.take(self._parts[flow][0], axis=0, out=space.a, mode="clip")  # 'raise' makes a copy
        for values, hidden, zeros, out in space.pieces:
            on: list[BoolArray] = []
            for j, weight in enumerate(maps):
                extended = hidden[j % 2][: len(weight) + 1]
                h = np.matmul(weight, values, out=extended[1:])
                np.maximum(h, zeros[: len(weight)], out=h)
                if active is not None:
                    on.append(h > 0)
                values = extended
            np.matmul(last, values, out=out)
            if active is not None:
                active.append(on)


def damp(raw: FloatArray) -> FloatArray:
    """Return 1 + |r| / 2, by which r is divided to keep s within its bound."""
    damping = np.abs(raw)
    damping *= 1 / BOUND
    damping += 1.0
    return damping
