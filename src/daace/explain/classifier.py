"""A user's classifier as the judge of the class."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from daace._typing import FloatArray, Labels
from daace.data.table import quote
from daace.density.base import DRAWS_SEED, ConditionalDensity
from daace.exceptions import InvalidInput

#: Step of difference quotients, in standard deviations; half of it must give the same.
STEP = 1e-3

#: Share by which two difference quotients of a smooth classifier may differ.
AGREEMENT = 0.05

#: Draws at which a classifier is tried: is it smooth?
TRIED = 32

#: Below it a probability counts as this: the logarithm of what underflows has no slope.
SMALLEST = 1e-300


class ClassifierPosterior:
    """`log p(y | x)` from a fitted classifier with `predict_proba`, in the scikit-learn manner.

    The classifier sees the user's columns in the user's units; the density still says what is
    plausible.

    Args:
        classifier: has `classes_` and `predict_proba`.
        density: maps model space to the user's columns.

    Attributes:
        classes_: those of the density, in its order.

    Raises:
        InvalidInput: the classifier knows other classes or other columns than the density.

    Example:
        >>> from daace import load_table, LinearGaussianNetwork
        >>> from sklearn.linear_model import LogisticRegression
        >>> table = load_table("iris")
        >>> model = LogisticRegression(max_iter=1000).fit(table.X, table.y)
        >>> density = LinearGaussianNetwork().fit(table)
        >>> ClassifierPosterior(model, density).log_posterior(np.zeros((1, 4))).shape
        (1, 3)
    """

    classes_: Labels

    def __init__(self, classifier: Any, density: ConditionalDensity) -> None:
        missing = [n for n in ("predict_proba", "classes_") if not hasattr(classifier, n)]
        if missing:
            raise InvalidInput(
                "'classifier' must be fitted and have 'predict_proba' and 'classes_'. "
                f"Got {type(classifier).__name__} without {quote(missing)}."
            )
        position = {str(label): k for k, label in enumerate(classifier.classes_)}
        unknown = [label for label in density.classes_.tolist() if str(label) not in position]
        if unknown or len(position) != len(density.classes_):
            raise InvalidInput(
                f"'classifier' must know the classes {quote(density.classes_.tolist())}. "
                f"Got {quote(position)}."
            )
        names = getattr(classifier, "feature_names_in_", None)
        if names is not None and sorted(map(str, names)) != sorted(density.features_):
            others = sorted({str(name) for name in names} ^ set(density.features_))
            raise InvalidInput(
                f"'classifier' must have the density's columns. They differ in {quote(others)}."
            )
        width = getattr(classifier, "n_features_in_", len(density.features_))
        if width != len(density.features_):
            raise InvalidInput(
                f"'classifier' must have the density's {len(density.features_)} columns. "
                f"Got {width}."
            )
        self.classes_ = density.classes_
        self._classifier = classifier
        self._density = density
        self._names = None if names is None else list(names)
        self._columns = [position[str(label)] for label in density.classes_.tolist()]

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of model-space rows; -inf where the classifier says never."""
        frame = self._density.to_user(X)
        rows = frame.to_numpy() if self._names is None else frame[self._names]
        shares = np.asarray(self._classifier.predict_proba(rows), dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(shares[:, self._columns])
        return logs

    @cached_property
    def smooth(self) -> bool:
        """Whether difference quotients mean something: for trees, which are all steps, they do not.

        Tried at some draws of the density, along random directions, with two lengths.
        """
        rng = np.random.default_rng(DRAWS_SEED)
        X, _ = self._density.sample(TRIED, rng=rng)
        way = rng.normal(size=X.shape)
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        ends = [X + length * way for length in (STEP, -STEP, STEP / 2, -STEP / 2)]
        logs = self._logs(np.concatenate(ends)).reshape(4, TRIED, -1)
        long, short = (logs[0] - logs[1]) / (2 * STEP), (logs[2] - logs[3]) / STEP
        slope = np.abs(long).max(axis=1)
        alike = np.abs(long - short).max(axis=1) <= AGREEMENT * slope
        return bool(np.median(slope) > 0 and alike.mean() >= 1 - AGREEMENT)

    def gradient(self, X: FloatArray, index: int) -> FloatArray:
        """Return the gradient of log p(y = index | x) by central differences, `(rows, n)`."""
        rows, n = X.shape
        ways = STEP * np.concatenate([np.eye(n), -np.eye(n)])
        logs = self._logs((X[:, None] + ways).reshape(-1, n))[:, index].reshape(rows, 2, n)
        slopes: FloatArray = (logs[:, 0] - logs[:, 1]) / (2 * STEP)
        return slopes

    def _logs(self, X: FloatArray) -> FloatArray:
        return np.maximum(self.log_posterior(X), np.log(SMALLEST))
