"""Digests that identify densities, classifiers and planners."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from daace._json import dump_json
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.draws import DRAWS_SEED
from daace.exceptions import InvalidInput
from daace.explain.asking.settings import Settings
from daace.explain.judging.classifier import ClassifierPosterior

#: Number of draws at which densities and classifiers are compared; fewer for gradients.
DRAWS, GRADIENTS = 1000, 32

#: Number of rows in one call of a classifier; if it fails on one, all of them are left out.
ASKED = 100

#: Numbers are compared in steps of its inverse, 3e-6: sums of a forest's trees, or of matrix
#: products, differ in the last digits from run to run. No fraction lies on the edge of two steps,
#: as the factor is irrational.
STEPS = 1e5 * np.pi


def identify_settings(settings: Settings) -> dict[str, Any]:
    """Return everything that the answers of some settings depend on, by name."""
    judge, planner = settings.classifier_posterior, settings.planner
    return {
        "features": list(settings.density.features_),
        "model": identify_density(settings.density),
        "held-out rows": settings.weakness,
        "penalty": float(settings.penalty),
        "scale": settings.scale,
        "plausibility": float(settings.plausibility),
        "min_posterior": settings.min_posterior,
        "committee": identify_committee(settings),
        "constraints": None if settings.constraints is None else repr(settings.constraints),
        "planner": None if planner is None else planner.describe(),
        "rows of the planner": None if planner is None else identify_planner(planner),
        "classifier": settings.classifier,
        "answers of the classifier": None
        if judge is None
        else identify_judge(judge, settings.density, budget=settings.classifier_budget),
        "round": settings.round,
        "seed": int(settings.seed),
    }


def identify_committee(settings: Settings) -> str | None:
    """Return a digest of the committee; None if it does not decide."""
    if settings.committee is None or settings.decides != "committee":
        return None
    return _digest({}, settings.committee.to_arrays())


def identify_density(density: ConditionalDensity) -> str:
    """Return a digest of the learned state of a density.

    This is its arrays or, for a class of your own without `to_arrays`, log p(x, y) of fixed draws.

    Example:
        >>> from daace import GaussianMixture
        >>> means = ([[0.0], [4.0]], [[0.0], [4.0]], [[0.0], [4.1]])
        >>> densities = [GaussianMixture([1, 1], m, [[[1.0]]] * 2, ["ill", "well"]) for m in means]
        >>> one, same, other = map(identify_density, densities)
        >>> one == same, one == other
        (True, False)
    """
    about: dict[str, Any] = {
        "class": type(density).__qualname__,
        "features": density.features_,
        "classes": density.classes_,
        "target": density.target_,
        "units": density.units_,
        "whole": density.whole_,
        "nonnegative": density.nonnegative_,
    }
    if density.encoding_.code_sizes:
        about["encoding"] = density.encoding_.to_json()
    scaling, draws = density.standardizer_, density.draws_
    arrays = {
        "standardizer.mean": scaling.mean,
        "standardizer.scale": scaling.scale,
        "draws.quantiles": draws.quantiles,
        "draws.moments": np.array([draws.mean, draws.sd]),
        "draws.lower": draws.lower,
        "draws.upper": draws.upper,
    }
    if type(density).to_arrays is ConditionalDensity.to_arrays:
        X = _draws(density, DRAWS)
        learned = {"X": _steps(X), "log_joint": _steps(density.log_joint(X))}
    else:
        learned, about["settings"] = density.to_arrays()
    return _digest(about, {**arrays, **{f"density.{n}": array for n, array in learned.items()}})


def identify_judge(
    judge: ClassifierPosterior, density: ConditionalDensity, *, budget: int | None
) -> str:
    """Return a digest of a classifier's predictions of fixed draws of the density.

    Args:
        judge: the classifier.
        density: the density of the model.
        budget: maximum number of rows to predict, if there is a limit.
    """
    count = DRAWS if budget is None else min(DRAWS, budget)
    X = _draws(density, count)
    answers = {str(first): answer for first, answer in _answers(judge, X)}
    if judge.has_grad:  # compared, too: a function of the user's
        few = X[:GRADIENTS]
        for index in range(len(judge.classes_)):
            slopes = judge.log_posterior_and_gradient(few, index)[1]
            answers[f"gradient {index}"] = _steps(slopes)
    return _digest({"budget": budget}, answers)


def identify_planner(planner: Any) -> str:
    """Return a digest of the rows that a planner holds; its settings are not part of it."""
    held = fields(planner) if is_dataclass(planner) else ()
    values = {entry.name: getattr(planner, entry.name) for entry in held}
    return _digest({}, {n: v for n, v in values.items() if isinstance(v, np.ndarray)})


def _answers(judge: ClassifierPosterior, X: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield the class probabilities block by block, except blocks on which the classifier fails."""
    for first in range(0, len(X), ASKED):
        try:
            yield first, _steps(np.exp(judge.log_posterior(X[first : first + ASKED])))
        except InvalidInput:  # the search copes with it too
            yield first, np.empty(0)


def _draws(density: ConditionalDensity, count: int) -> FloatArray:
    return density.sample(count, rng=np.random.default_rng(DRAWS_SEED))[0]


def _steps(values: FloatArray) -> FloatArray:
    steps: FloatArray = np.rint(values * STEPS) + 0.0  # not -0
    return steps


def _digest(about: dict[str, Any], arrays: dict[str, FloatArray]) -> str:
    """Return a hash of names and numbers."""
    digest = hashlib.sha256(dump_json(about).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
