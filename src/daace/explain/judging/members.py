"""The members of a committee: small smooth models of the class, evaluated with exact gradients.

Each gives one score of a row for two classes (the log-odds of the second), and one score for each
of several classes (the logits of a softmax). They are arrays of weights: a model file can hold
them, and no value of a training row is among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray

#: Largest numbers of members, of hidden units and of knots that a file may have: each is evaluated
#: at every draw, and a small file must not take all memory.
MAX_MEMBERS, MAX_UNITS, MAX_KNOTS = 20, 100, 100


@dataclass(frozen=True, eq=False)
class Inputs:
    """From model-space rows to what the members look at: scaled numbers, then a mark per level.

    Attributes:
        columns: of the rows that are taken as numbers: numbers, and codes that are ordered.
        center: subtracted from them.
        scale: what they are divided by.
        moving: which of these columns are numbers; codes have no slopes.
        marked: column of each mark.
        codes: the code that it marks.
        joined: of each level that few rows have: its column, its code, and the code that it counts
            as, shape `(levels, 3)`. A weight of its own would tell the class of these rows.
    """

    columns: IntArray
    center: FloatArray
    scale: FloatArray
    moving: BoolArray
    marked: IntArray
    codes: FloatArray
    joined: FloatArray

    @property
    def width(self) -> int:
        """Number of inputs."""
        return len(self.columns) + len(self.marked)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the inputs of rows, shape `(rows, width)`."""
        X, U = join_levels(X, self.joined), np.empty((len(X), self.width))
        count = len(self.columns)
        U[:, :count] = (X[:, self.columns] - self.center) / self.scale
        U[:, count:] = X[:, self.marked] == self.codes
        return U

    def pull_back(self, slopes: FloatArray, n: int) -> FloatArray:
        """Return gradients with respect to rows of n columns.

        Args:
            slopes: with respect to the inputs, shape `(..., width)`.
            n: number of columns of the rows.
        """
        gradient = np.zeros((*slopes.shape[:-1], n))
        numbers = slopes[..., : len(self.columns)] / self.scale
        gradient[..., self.columns[self.moving]] = numbers[..., self.moving]
        return gradient


def join_levels(X: FloatArray, joined: FloatArray) -> FloatArray:
    """Return rows in which levels of few rows are those that they count as.

    Args:
        X: model-space rows.
        joined: see `Inputs`.
    """
    if not len(joined):
        return X
    rows = X.copy()
    for column, code, instead in joined:
        rows[X[:, int(column)] == code, int(column)] = instead
    return rows


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores that are linear in the inputs.

    Attributes:
        weights: shape `(width, scores)`.
        bias: shape `(scores,)`.
    """

    weights: FloatArray
    bias: FloatArray

    def scores(self, U: FloatArray) -> FloatArray:
        """Return the scores of inputs, shape `(rows, scores)`."""
        scores: FloatArray = U @ self.weights + self.bias
        return scores

    def slopes(self, U: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the gradient of `sum(shares * scores)` with respect to the inputs."""
        slopes: FloatArray = shares @ self.weights.T
        return slopes


@dataclass(frozen=True, eq=False)
class Splines:
    """Scores that are sums of a cubic spline of each number and a weight of each mark.

    Beyond the outer knots the splines are straight lines.

    Attributes:
        knots: of each number, ascending, shape `(numbers, knots)`.
        pieces: coefficients of powers 0 to 3 of the distance from the knot at a piece's left (of
            the first piece: at its right), shape `(numbers, knots + 1, 4, scores)`.
        weights: of the marks, shape `(marks, scores)`.
        bias: shape `(scores,)`.
    """

    knots: FloatArray
    pieces: FloatArray
    weights: FloatArray
    bias: FloatArray

    def scores(self, U: FloatArray) -> FloatArray:
        """Return the scores of inputs, shape `(rows, scores)`."""
        count = len(self.knots)
        away, piece = self._places(U[:, :count])
        powers = away[..., None] ** np.arange(4)
        scores: FloatArray = np.einsum("rjp,rjps->rs", powers, piece)
        return scores + U[:, count:] @ self.weights + self.bias

    def slopes(self, U: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the gradient of `sum(shares * scores)` with respect to the inputs."""
        count = len(self.knots)
        away, piece = self._places(U[:, :count])
        powers = np.stack([np.ones_like(away), 2 * away, 3 * away**2], axis=-1)
        slopes = np.zeros(U.shape)
        slopes[:, :count] = np.einsum("rjp,rjps,rs->rj", powers, piece[:, :, 1:], shares)
        return slopes

    def _places(self, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distance of numbers from the knots of their pieces, and these pieces."""
        numbers = np.arange(len(self.knots))
        place = (T[:, :, None] >= self.knots).sum(axis=2)
        away = T - self.knots[numbers, np.maximum(place - 1, 0)]
        return away, self.pieces[numbers, place]


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """Scores of a network with one hidden layer of hyperbolic tangents.

    Attributes:
        hidden: weights of the hidden units, shape `(width, units)`.
        shift: their bias, shape `(units,)`.
        weights: of the scores, shape `(units, scores)`.
        bias: shape `(scores,)`.
    """

    hidden: FloatArray
    shift: FloatArray
    weights: FloatArray
    bias: FloatArray

    def scores(self, U: FloatArray) -> FloatArray:
        """Return the scores of inputs, shape `(rows, scores)`."""
        scores: FloatArray = np.tanh(U @ self.hidden + self.shift) @ self.weights + self.bias
        return scores

    def slopes(self, U: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the gradient of `sum(shares * scores)` with respect to the inputs."""
        bent = 1.0 - np.tanh(U @ self.hidden + self.shift) ** 2
        slopes: FloatArray = ((shares @ self.weights.T) * bent) @ self.hidden.T
        return slopes


@dataclass(frozen=True, eq=False)
class Kernels:
    """Scores that are sums of Gaussian bumps: what is close to similar cases has their class.

    Attributes:
        centers: of the bumps, shape `(bumps, width)`.
        sharpness: one over twice the square of their width, shape `(1,)`.
        weights: of the scores, shape `(bumps, scores)`.
        bias: shape `(scores,)`.
    """

    centers: FloatArray
    sharpness: FloatArray
    weights: FloatArray
    bias: FloatArray

    def scores(self, U: FloatArray) -> FloatArray:
        """Return the scores of inputs, shape `(rows, scores)`."""
        scores: FloatArray = bumps(U, self.centers, self.sharpness) @ self.weights + self.bias
        return scores

    def slopes(self, U: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the gradient of `sum(shares * scores)` with respect to the inputs."""
        pull = (shares @ self.weights.T) * bumps(U, self.centers, self.sharpness)
        towards: FloatArray = pull @ self.centers - pull.sum(axis=1, keepdims=True) * U
        return 2 * self.sharpness * towards


def bumps(U: FloatArray, centers: FloatArray, sharpness: float | FloatArray) -> FloatArray:
    """Return `exp(-sharpness |u - c|^2)` of inputs and centres, shape `(rows, bumps)`."""
    squares = (U**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2 * U @ centers.T
    heights: FloatArray = np.exp(-sharpness * np.maximum(squares, 0.0))
    return heights


Member = Linear | Splines | Kernels | HiddenLayer

#: The kinds of members by name, in the order in which a committee has them.
KINDS: dict[str, type[Member]] = {
    "linear": Linear, "splines": Splines, "kernels": Kernels, "network": HiddenLayer,
}  # fmt: skip


def kind_of(member: Member) -> str:
    """Return the name of a member's kind."""
    return next(kind for kind, made in KINDS.items() if isinstance(member, made))


# Arrays of a model file -----------------------------------------------------------------------


def arrays_of(part: Inputs | Member) -> dict[str, FloatArray]:
    """Return the arrays of inputs or of a member by name, as float64."""
    return {f.name: np.asarray(getattr(part, f.name), dtype=np.float64) for f in fields(part)}


def read_inputs(arrays: Mapping[str, FloatArray], code_sizes: Mapping[int, int], n: int) -> Inputs:
    """Rebuild inputs from their arrays.

    Args:
        arrays: finite, by name; perhaps from an untrusted source.
        code_sizes: number of codes of each column of the rows that holds codes.
        n: number of columns of the rows.

    Raises:
        KeyError, ValueError: they are no inputs of such rows.
    """
    columns, marked = (arrays[name].astype(np.intp) for name in ("columns", "marked"))
    joined = arrays["joined"]
    _check_shapes(
        arrays,
        {
            **dict.fromkeys(("columns", "center", "scale", "moving"), (len(columns),)),
            **dict.fromkeys(("marked", "codes"), (len(marked),)),
            "joined": (len(joined), 3),
        },
    )
    moving, taken = arrays["moving"] != 0, np.concatenate([columns, marked])
    coded = np.isin(columns, list(code_sizes))
    if not (
        ((taken >= 0) & (taken < n)).all()
        and len(np.unique(columns)) == len(columns)
        and (moving != coded).all()
        and _are_levels(arrays["marked"], arrays["codes"], code_sizes)
        and _are_levels(joined[:, 0], joined[:, 1], code_sizes)
        and all(0 <= other < code_sizes[int(j)] for j, _, other in joined)
        and (arrays["scale"] > 0).all()
    ):
        raise ValueError("the inputs of its committee do not fit its features")
    return Inputs(
        columns, arrays["center"], arrays["scale"], moving, marked, arrays["codes"], joined
    )


def _are_levels(columns: FloatArray, codes: FloatArray, code_sizes: Mapping[int, int]) -> bool:
    """Tell whether these are codes of columns that hold codes, each once."""
    pairs = list(zip(columns.tolist(), codes.tolist(), strict=True))
    known = all(j in code_sizes and code in range(code_sizes[int(j)]) for j, code in pairs)
    return known and len(set(pairs)) == len(pairs)


def read_member(kind: str, arrays: Mapping[str, FloatArray], inputs: Inputs, scores: int) -> Member:
    """Rebuild a member from its arrays.

    Args:
        kind: one of `KINDS`.
        arrays: finite, by name; perhaps from an untrusted source.
        inputs: that it looks at.
        scores: number of its scores.

    Raises:
        KeyError, ValueError: they are no such member.
    """
    numbers, width = len(inputs.columns), inputs.width
    if kind == "linear":
        shapes: dict[str, tuple[int, ...]] = {"weights": (width, scores)}
    elif kind == "kernels":
        count = len(arrays["centers"])
        shapes = {"centers": (count, width), "sharpness": (1,), "weights": (count, scores)}
    elif kind == "network":
        units = len(arrays["shift"])
        _check_size("hidden units", units, MAX_UNITS)
        shapes = {"hidden": (width, units), "shift": (units,), "weights": (units, scores)}
    else:
        knots = arrays["knots"].shape[-1]
        _check_size("knots", knots, MAX_KNOTS)
        shapes = {
            "knots": (numbers, knots),
            "pieces": (numbers, knots + 1, 4, scores),
            "weights": (width - numbers, scores),
        }
    _check_shapes(arrays, {**shapes, "bias": (scores,)})
    if kind == "splines" and not (np.diff(arrays["knots"]) > 0).all():
        raise ValueError("the knots of its splines do not ascend")
    return KINDS[kind](**arrays)


def _check_size(what: str, size: int, most: int) -> None:
    """Raise `ValueError` for a member that is larger than any that is trained."""
    if size > most:
        raise ValueError(f"its committee has {size:,} {what}, and {most:,} is the limit")


def _check_shapes(arrays: Mapping[str, FloatArray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise `ValueError` unless there are just these arrays, of these shapes."""
    if {name: array.shape for name, array in arrays.items()} != dict(shapes):
        raise ValueError("the arrays of its committee have other names or shapes")
