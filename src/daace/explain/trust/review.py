"""Reviews of a model: its fit, its privacy and its structure."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence

from daace.density.base import ConditionalDensity
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.trust.check import Check, check_density, membership_auc
from daace.explain.trust.network import Network, read_network


class ModelReview(ABC):
    """The methods of an `Explainer` that review its model."""

    density: ConditionalDensity

    @property
    @abstractmethod
    def _classifier_judge(self) -> ClassifierPosterior | None:
        """The classifier that judges the class; None if the density does."""

    def check(self, table: object) -> Check:
        """Check the density on held-out rows, and warn if it is weak.

        Args:
            table: held-out rows with their classes, as a `Table` or a frame with the class
                column. On rows that it was fitted on, a density looks better than it is.

        Raises:
            InvalidInput: the table has no rows, other features, or unknown classes.
        """
        result = check_density(self.density, table, self._classifier_judge)
        for sentence in result.warnings:
            warnings.warn(sentence, stacklevel=2)
        return result

    def membership(self, training: object, held_out: object) -> float:
        """Return how well the density distinguishes its training rows from held-out ones.

        Args:
            training: rows that it was fitted on, as a `Table` or a frame with the class column.
            held_out: rows that it was not fitted on, in the same form.

        Returns:
            The probability that a training row is denser than a held-out one (AUC): 0.5 if they
            cannot be told apart, 1 if every training row can be identified.
        """
        return membership_auc(self.density, training, held_out)

    def network(self, *, features: Sequence[str] | None = None, most: int = 30) -> Network:
        """Return the Bayesian network behind the answers: a frame of its arcs, and a plot.

        Args:
            features: features to show; None for those with the strongest arcs.
            most: maximum number of features if `features` is None.

        Raises:
            InvalidInput: the density is not a Bayesian network, or has no such feature.
        """
        return read_network(self.density, features=features, most=most)
