"""The landscape under two features around a path: the data of the terrain plot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.exceptions import InvalidInput
from daace.explain.answers.answer import Answer
from daace.landscape.path import midpoint_rule, points_along

#: Replaces the logarithm of zero.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Terrain:
    """Plausibility and goal on a grid over one or two features.

    With one or two features in all this is the landscape itself. With more, it is the part of it
    that the path crosses and would continue to: exact on the path, see `complete`.

    Attributes:
        features: names of the axes, one or two.
        axes: grid values of each axis, in user units.
        plausibility: log p in standard deviations from its mean over the density's draws; shape
            `(y, x)`, or `(x,)` for one feature.
        probable: positive where the target is probable enough, negative elsewhere; None if a
            classifier judged the class, which the density does not know, or judges are missing.
        plausible: positive where log p reaches the threshold of plausibility.
        path: the waypoints on these features, in user units, shape `(waypoints, axes)`.
    """

    features: tuple[str, ...]
    axes: tuple[FloatArray, ...]
    plausibility: FloatArray
    probable: FloatArray | None
    plausible: FloatArray
    path: FloatArray

    @property
    def goal(self) -> FloatArray:
        """Positive inside the goal, negative outside."""
        if self.probable is None:
            return self.plausible
        return np.minimum(self.probable, self.plausible)


def terrain(e: Answer, *, features: tuple[str, str] | None = None, size: int = 81) -> Terrain:
    """Evaluate the density around a path.

    Args:
        e: an explanation with its density.
        features: the two axes; those that change most when left out.
        size: grid points along each axis.

    Raises:
        InvalidInput: the density is not known, or a feature is not one of its features.
    """
    density = e.density
    if density is None:
        raise InvalidInput(
            "The landscape can be plotted only with its density: "
            "Explanation.from_json(text, density=explainer.density)."
        )
    names = _choose(e, features)
    columns = [list(e.states.columns).index(name) for name in names]
    path = density.to_model(e.states)
    route = np.vstack([path, heart_of_goal(e, density, path[-1])])
    mean, scale = density.standardizer_.mean[columns], density.standardizer_.scale[columns]
    size = size if len(columns) == 2 else size**2
    model_axes = [_axis(route[:, column], size) for column in columns]
    mesh = np.meshgrid(*model_axes)
    grid = np.column_stack([part.ravel() for part in mesh])
    ground = complete(grid, columns, route, density.pool(e.target).X)
    codes = list(density.encoding_.code_sizes)
    ground[:, codes] = path[-1, codes]  # those of the end of the path
    log_joint = density.log_joint(ground)
    log_prob = log_sum_exp(log_joint).reshape(mesh[0].shape)
    probable = None
    if (share := log_share(e, density, ground, log_joint)) is not None:
        asked = log_odds(np.log(np.maximum(e.provenance.min_posterior, TINY)))
        probable = (log_odds(share) - asked).reshape(mesh[0].shape)
    centre, spread = e.plausible_scale()
    return Terrain(
        features=names,
        axes=tuple(axis * scale[k] + mean[k] for k, axis in enumerate(model_axes)),
        plausibility=(log_prob - centre) / spread,
        probable=probable,
        plausible=log_prob - e.provenance.min_log_prob,
        path=e.states[list(names)].to_numpy(),
    )


def log_share(
    e: Answer, density: ConditionalDensity, X: FloatArray, log_joint: FloatArray
) -> FloatArray | None:
    """Return log p(target | x) of model-space rows, as density or committee judge; None if neither.

    A classifier would have to predict thousands of rows for a picture.
    """
    index = density.class_index(e.target)
    if e.provenance.judge == "density":
        share: FloatArray = log_posterior(log_joint)[:, index]
        return share
    if e.provenance.judge == "committee" and e.judge is not None:
        return e.judge.log_posterior(X)[:, index]
    return None


def log_odds(log_share: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)) from log p: smooth where p itself is a step, so good for contours."""
    odds: FloatArray = log_share - np.log(np.maximum(-np.expm1(log_share), TINY))
    return odds


def heart_of_goal(e: Answer, density: ConditionalDensity, end: FloatArray) -> FloatArray:
    """Return where a path would continue to: the centre of the goal's cases near its end."""
    pool = density.pool(e.target)
    inside = log_sum_exp(pool.log_joint) >= e.provenance.min_log_prob
    if (share := log_share(e, density, pool.X, pool.log_joint)) is not None:
        inside &= np.exp(share) >= e.provenance.min_posterior
    cases = pool.X[inside] if inside.any() else pool.X
    near = np.argsort(((cases - end) ** 2).sum(axis=1), kind="stable")[:50]
    middle: FloatArray = cases[near].mean(axis=0)
    return middle


def complete(
    grid: FloatArray, columns: list[int], path: FloatArray, cases: FloatArray
) -> FloatArray:
    """Complete grid points over some columns to whole rows around a path.

    On the path the other columns are those of the path. Beside it they change with the grid's
    columns as they do among cases (linear regression); otherwise all terrain beside the path
    would be implausible merely because other columns do not change.

    Args:
        grid: shape `(points, len(columns))`.
        columns: columns of the grid's axes.
        path: waypoints, shape `(waypoints, n)`.
        cases: rows of the regression, shape `(rows, n)`.

    Returns:
        shape `(points, n)`.
    """
    n = path.shape[1]
    covariance = np.cov(cases, rowvar=False).reshape(n, n)
    block = covariance[np.ix_(columns, columns)]
    ridge = 1e-3 * np.trace(block) / len(columns) * np.eye(len(columns))  # two of a kind
    slopes = np.linalg.solve(block + ridge, covariance[columns])
    stations = np.concatenate([path, points_along(path, midpoint_rule(40)).reshape(-1, n)])
    seen = stations[:, columns]
    distance = ((grid[:, None, :] - seen) ** 2).sum(axis=2)
    nearest = distance.min(axis=1, keepdims=True)
    # On the path the nearest station counts, far from it an average of several: no cliffs.
    shares = np.exp(-8.0 * (distance / np.maximum(nearest, 1e-12) - 1.0))
    shares /= shares.sum(axis=1, keepdims=True)
    rows: FloatArray = grid @ slopes + shares @ (stations - seen @ slopes)
    rows[:, columns] = grid
    return rows


def _choose(e: Answer, features: tuple[str, str] | None) -> tuple[str, ...]:
    names = list(e.states.columns)
    if features is None:
        numbers = [name for name, number in zip(names, e.measured, strict=True) if number]
        moving = [name for name in e.changes()["feature"] if name in numbers]
        most_changed = [*moving, *numbers]
        return tuple(dict.fromkeys(most_changed))[:2]
    unknown = [name for name in features if name not in names]
    if unknown or len(features) != 2 or len(set(features)) != 2:
        raise InvalidInput(
            argument="features",
            expected="be two different features of the model",
            got=quote(features),
        )
    return tuple(features)


def _axis(values: FloatArray, size: int) -> FloatArray:
    """Return the grid of one axis, in model space: the range of the path and a margin."""
    low, high = float(values.min()), float(values.max())
    room = max(0.25 * (high - low), 0.8)
    return np.linspace(low - room, high + room, size)
