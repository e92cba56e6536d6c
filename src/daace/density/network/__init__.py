"""The structure of a linear Gaussian network: graph, scores and hill climbing."""

from daace.density.network.families import (
    Family,
    SufficientStatistics,
    Terms,
    gaussian_scores,
    regress,
)
from daace.density.network.graph import Structure, topological_order
from daace.density.network.hill_climbing import hill_climb

__all__ = [
    "Family",
    "Structure",
    "SufficientStatistics",
    "Terms",
    "gaussian_scores",
    "hill_climb",
    "regress",
    "topological_order",
]
