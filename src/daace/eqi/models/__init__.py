"""The densities of the application, how good they are, and what planners do with them."""

from daace.eqi.models.consistency import SlicedDensity, consistent_slice
from daace.eqi.models.densities import eqi_flow, restricted_network
from daace.eqi.models.folder import fit_models, read_models
from daace.eqi.models.planners import CountyRows, StraightOptimizer

__all__ = [
    "CountyRows",
    "SlicedDensity",
    "StraightOptimizer",
    "consistent_slice",
    "eqi_flow",
    "fit_models",
    "read_models",
    "restricted_network",
]
