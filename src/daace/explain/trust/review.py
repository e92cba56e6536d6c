"""Questions about a model itself: is it good enough, what does it remember, how is it built?"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence

from daace.density.base import ConditionalDensity
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.trust.check import Check, check_density, membership_auc
from daace.explain.trust.network import Network, read_network


class ModelReview(ABC):
    """The questions about a model that an `Explainer` answers besides those about rows."""

    density: ConditionalDensity

    @property
    @abstractmethod
    def _classifier_judge(self) -> ClassifierPosterior | None:
        """The classifier that judges the class; None if the density does."""

    def check(self, table: object) -> Check:
        """Compare the density with rows that it has not seen, and warn if it is weak.

        Args:
            table: held-out rows with their classes, as a `Table` or a frame with the class
                column. Rows that the density was fitted on make it look better than it is.

        Raises:
            InvalidInput: the table has no rows, other features, or classes that are not known.
        """
        result = check_density(self.density, table, self._classifier_judge)
        for sentence in result.warnings:
            warnings.warn(sentence, stacklevel=2)
        return result

    def membership(self, training: object, held_out: object) -> float:
        """Return how well the density tells its training rows from others.

        Args:
            training: rows that it was fitted on, as a `Table` or a frame with the class column.
            held_out: rows of the same kind that it was not fitted on, as one or the other.

        Returns:
            the probability that a training row is denser than a held-out one (AUC): 0.5 if the
            density has not learned its rows by heart, 1 if it gives them away.
        """
        return membership_auc(self.density, training, held_out)

    def network(self, *, features: Sequence[str] | None = None, most: int = 30) -> Network:
        """Return the Bayesian network behind the answers: a frame of arcs, and a plot.

        Args:
            features: nodes to show; those with the strongest arcs when left out.
            most: how many those are, at most.

        Raises:
            InvalidInput: the density is not a Bayesian network, or has no such feature.
        """
        return read_network(self.density, features=features, most=most)
