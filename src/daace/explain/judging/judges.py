"""A classifier beside a density: a judge for each set of whole features, and rows judged by it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.judging.classifier import ClassifierPosterior


class Judges:
    """A classifier beside a density, as one judge for each set of whole features.

    Judges are kept: they remember what the classifier predicts for draws of the density.

    Args:
        classifier: as in `ClassifierPosterior`.
        density: as in `ClassifierPosterior`.
        grad: as in `ClassifierPosterior`.
    """

    def __init__(
        self,
        classifier: Any,
        density: ConditionalDensity,
        grad: Callable[[Any], Any] | None = None,
    ) -> None:
        self._classifier, self._density, self._grad = classifier, density, grad
        self._judges: dict[frozenset[str], ClassifierPosterior] = {}

    @classmethod
    def of(
        cls, classifier: Any, density: ConditionalDensity, grad: Callable[[Any], Any] | None
    ) -> Judges | None:
        """Return the judges of a classifier; None if there is no classifier.

        Raises:
            InvalidInput: there is a gradient but no classifier.
        """
        if classifier is not None:
            return cls(classifier, density, grad)
        if grad is not None:
            raise InvalidInput(
                argument="classifier_grad", expected="come with a 'classifier'", got="none"
            )
        return None

    @property
    def name(self) -> str:
        """The name of a function, or the class of any other classifier."""
        return str(getattr(self._classifier, "__name__", type(self._classifier).__name__))

    def seeing(self, whole: Collection[str]) -> ClassifierPosterior:
        """Return the judge for which these features are whole numbers."""
        features = frozenset(whole)
        if features not in self._judges:
            self._judges[features] = ClassifierPosterior(
                self._classifier, self._density, self._grad, whole=features
            )
        return self._judges[features]

    def on(self, density: ConditionalDensity) -> Judges:
        """Return the same classifier beside another density of the same columns and classes."""
        return Judges(self._classifier, density, self._grad)


def judge_rows(
    judge: ClassifierPosterior, rows: FloatArray, raw: pd.DataFrame | None = None
) -> tuple[FloatArray, dict[int, str]]:
    """Return log p(y | x) of rows in user units, NaN where there is none, and why, by row.

    Args:
        judge: the classifier.
        rows: shape `(rows, columns)`.
        raw: of each row the cells that the density does not name.
    """
    if len(rows) == 0:
        return np.empty((0, len(judge.classes_))), {}
    judge = judge if raw is None else judge.beside(raw)
    try:
        return judge.log_posterior_of_rows(rows), {}
    except InvalidInput:
        logs, unjudged = np.full((len(rows), len(judge.classes_)), np.nan), {}
        for number, row in enumerate(rows):
            alone = judge if raw is None else judge.beside(raw.iloc[[number]])
            try:
                logs[number] = alone.log_posterior_of_rows(row[None])[0]
            except InvalidInput as error:
                unjudged[number] = str(error)
        return logs, unjudged
