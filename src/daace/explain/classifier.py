"""A user's classifier as the judge of the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace._typing import FloatArray, Labels
from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput


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
