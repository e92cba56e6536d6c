"""How good a counterfactual and its path are: one pure function per measure.

All arrays are in model space; `path` has shape `(waypoints, n)`, the start first and the
counterfactual last, as in `Plan.waypoints`. On tables with categories, distances are `l0` and
`gower`, which know what a column holds by the table's `encoding`.
"""

from __future__ import annotations

import numpy as np
import scipy

from daace._checks import check_integer, check_number
from daace._typing import FloatArray, Labels
from daace.data.encoding import Encoding
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal, Posterior
from daace.planners.wachter import median_deviation

__all__ = [
    "cost",
    "distance",
    "end_sparsity",
    "gower",
    "gower_to",
    "hops",
    "l0",
    "l1_over_mad",
    "l2",
    "log_density",
    "median_deviation",
    "path_sparsity",
    "posterior",
    "valid",
    "y_nn",
]

#: Smaller changes, in standard deviations, do not count: as in the paper's experiments.
CHANGED = 0.1


def cost(path: FloatArray, landscape: Landscape) -> float:
    """Return the cost of a path over any landscape: the integral of f(u) ds along it.

    The landscape need not be the one that was planned on: over the true density this is the
    paper's "actionability".

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> round(cost(np.array([[0.0], [2.0]]), Landscape(density, penalty=0)), 6)
        2.0
    """
    return landscape.path_cost(path)


def l2(path: FloatArray) -> float:
    """Return the Euclidean distance `|x' - x|` between start and counterfactual.

    Example:
        >>> l2(np.array([[0.0, 0.0], [9.0, 9.0], [3.0, 4.0]]))
        5.0
    """
    return distance(_rows(path)[0], _rows(path)[-1])


def l1_over_mad(path: FloatArray, deviations: FloatArray) -> float:
    """Return Wachter's distance between start and counterfactual: `sum_j |x'_j - x_j| / MAD_j`.

    Args:
        path: the path.
        deviations: median absolute deviation of each feature, by `median_deviation(rows)`.

    Example:
        >>> l1_over_mad(np.array([[0.0, 0.0], [1.0, -2.0]]), np.array([0.5, 1.0]))
        4.0
    """
    rows = _rows(path)
    return float((np.abs(rows[-1] - rows[0]) / deviations).sum())


def path_sparsity(path: FloatArray, *, threshold: float = CHANGED) -> int:
    """Return how many features differ by more than a threshold between any two waypoints.

    Example:
        >>> path_sparsity(np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.2, 0.0]]))
        2
    """
    check_number("threshold", threshold, at_least=0)
    return int((np.ptp(_rows(path), axis=0) > threshold).sum())


def end_sparsity(path: FloatArray, *, threshold: float = CHANGED) -> int:
    """Return how many features differ by more than a threshold between start and counterfactual.

    Example:
        >>> end_sparsity(np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.2, 0.0]]))
        1
    """
    return path_sparsity(_rows(path)[[0, -1]], threshold=threshold)


def l0(path: FloatArray, encoding: Encoding) -> int:
    """Return L0: how many features are not the same at the counterfactual as at the start.

    A number that also leaves an atom, or becomes missing, is one change.

    Args:
        path: the path.
        encoding: encoding of the table, `density.encoding_`.

    Example:
        >>> from daace.data.kinds import Feature
        >>> housing = Feature("housing", "category", levels=("own", "rent"))
        >>> encoding = Encoding((Feature("savings", atoms=(0.0,)), housing))
        >>> l0(np.array([[0.0, 1.0, 1.0], [2.5, 1.0, 0.0]]), encoding)
        1
    """
    start, end = _rows(path)[[0, -1]]
    return int((_differences(end, start[None], encoding, np.ones(len(start))) > 0).sum())


def gower(path: FloatArray, rows: FloatArray, encoding: Encoding) -> float:
    """Return Gower's distance between start and counterfactual.

    The mean over features of `|x'_j - x_j|` over the range of the rows for numbers, over the number
    of steps of the ladder for ordered features, and 0 or 1 for categories (Gower 1971,
    doi:10.2307/2528823). A number that becomes missing, or known, counts as 1.

    Args:
        path: the path.
        rows: data of which the ranges are taken, shape `(rows, n)`.
        encoding: encoding of the table, `density.encoding_`.

    Example:
        >>> from daace.data.kinds import Feature
        >>> housing = Feature("housing", "category", levels=("own", "rent"))
        >>> encoding = Encoding((Feature("income"), housing))
        >>> path = np.array([[1.0, 1.0], [3.0, 0.0]])
        >>> gower(path, np.array([[0.0, 0.0], [4.0, 1.0]]), encoding)  # (2 / 4 + 1) / 2
        0.75
    """
    start, end = _rows(path)[[0, -1]]
    return float(_gower(end, start[None], encoding, np.ptp(_rows(rows), axis=0))[0])


def gower_to(path: FloatArray, rows: FloatArray, encoding: Encoding) -> FloatArray:
    """Return Gower's distance between the counterfactual and each of some rows, as `gower`.

    Args:
        path: the path.
        rows: data, of which the ranges are taken, too; shape `(rows, n)`.
        encoding: encoding of the table, `density.encoding_`.
    """
    rows = _rows(rows)
    return _gower(_rows(path)[-1], rows, encoding, np.ptp(rows, axis=0))


def hops(path: FloatArray) -> int:
    """Return the number of steps: waypoints without the start.

    Example:
        >>> hops(np.zeros((4, 2)))
        3
    """
    return len(_rows(path)) - 1


def log_density(path: FloatArray, density: ConditionalDensity) -> float:
    """Return log p of the counterfactual."""
    return float(density.log_prob(_rows(path)[-1:])[0])


def posterior(path: FloatArray, judge: ConditionalDensity | Posterior, target: object) -> float:
    """Return the probability of the target class at the counterfactual.

    Args:
        path: the path.
        judge: a density or another model that predicts class probabilities.
        target: one of its classes.

    Raises:
        InvalidInput: the judge does not know the target.
    """
    known = [str(label) for label in judge.classes_.tolist()]
    if str(target) not in known:
        raise InvalidInput(
            argument="target", expected=f"be one of {', '.join(known)}", got=repr(target)
        )
    log_probability = judge.log_posterior(_rows(path)[-1:])[0, known.index(str(target))]
    return float(np.exp(log_probability))


def valid(
    path: FloatArray, density: ConditionalDensity, goal: Goal, judge: Posterior | None = None
) -> bool:
    """Whether the counterfactual meets both thresholds of a goal, judged alone."""
    return goal.check(density, _rows(path)[-1], judge)


def y_nn(
    path: FloatArray,
    rows: FloatArray,
    labels: Labels,
    target: object,
    *,
    k: int = 5,
    encoding: Encoding | None = None,
) -> float:
    """Return yNN: the share of the k rows nearest to the counterfactual that are of the target.

    Args:
        path: the path.
        rows: data, shape `(rows, n)`.
        labels: their classes, true or predicted.
        target: the class that was asked for.
        k: neighbours; all rows where there are fewer.
        encoding: encoding of a table with categories, where the nearest are those by `gower_to`.

    Example:
        >>> rows, labels = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "b"])
        >>> y_nn(np.array([[0.0], [1.9]]), rows, labels, "b", k=2)
        1.0
    """
    check_integer("k", k, at_least=1)
    if len(rows) != len(labels) or len(rows) == 0:
        raise InvalidInput(
            f"'rows' and 'labels' must be as many, at least one. Got {len(rows)} and {len(labels)}."
        )
    if encoding is None:
        away = scipy.spatial.distance.cdist(_rows(path)[-1:], rows)[0]
    else:
        away = gower_to(path, rows, encoding)
    nearest = np.argsort(away, kind="stable")[:k]
    return float(np.mean([str(labels[i]) == str(target) for i in nearest]))


def distance(a: FloatArray, b: FloatArray) -> float:
    """Return the Euclidean distance between two counterfactuals of the same row.

    Example:
        >>> distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
        5.0
    """
    return float(np.linalg.norm(np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)))


def _gower(x: FloatArray, rows: FloatArray, encoding: Encoding, ranges: FloatArray) -> FloatArray:
    away: FloatArray = _differences(x, rows, encoding, ranges).mean(axis=1)
    return away


def _differences(
    x: FloatArray, rows: FloatArray, encoding: Encoding, ranges: FloatArray
) -> FloatArray:
    """Return how far each feature of rows is from that of x, shape `(rows, features)`.

    Numbers in units of their ranges, ordered features in shares of their ladder, switches as 1.
    """
    away = np.empty((len(rows), len(encoding.features)))
    for j, feature in enumerate(encoding.features):
        apart = np.abs(rows[:, j] - x[j])
        if feature.kind == "category":
            away[:, j] = apart > 0
            continue
        unit = len(feature.levels) - 1 if feature.coded else ranges[j]
        away[:, j] = apart / (unit if unit > 0 else 1.0)
        if feature.gap_code is not None:
            column = encoding.atom_columns.get(j, j)
            gaps, gap = rows[:, column] == feature.gap_code, x[column] == feature.gap_code
            np.copyto(away[:, j], gaps != gap, where=gaps | gap)
    return away


def _rows(path: FloatArray) -> FloatArray:
    rows = np.asarray(path, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise InvalidInput(
            argument="path", expected="have shape (waypoints, features)", got=str(rows.shape)
        )
    return rows
