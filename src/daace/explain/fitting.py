"""From a table to an explainer, in one step."""

from __future__ import annotations

from daace._checks import check_choice
from daace.data.table import Table, check_table, quote
from daace.density.base import ConditionalDensity
from daace.density.realnvp import RealNVP
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.registry import LEARNED, density_class


def fit(
    table: Table,
    density: str | ConditionalDensity = "linear-gaussian",
    *,
    progress: bool = False,
) -> Explainer:
    """Learn the density of a table and return an explainer with the default settings.

    Args:
        table: rows with their class.
        density: 'linear-gaussian', 'kde', 'realnvp', or a density of your own; one that is
            fitted already is used as it is. Settings are those of the density:
            `fit(table, daace.RealNVP(epochs=100))`.
        progress: show a bar while a flow is trained, on stderr.

    Raises:
        InvalidInput: the density is unknown, or fitted on other columns.
        MissingDependency: the density needs a package that is not installed.

    Example:
        >>> from daace import load_table
        >>> fit(load_table("iris")).density.kind
        'linear-gaussian'
    """
    check_table(table)
    if isinstance(density, str):
        check_choice("density", density, LEARNED)
        density = density_class(density)()
    if not isinstance(density, ConditionalDensity):
        raise InvalidInput(
            f"'density' must be one of {quote(LEARNED)} or a ConditionalDensity. "
            f"Got {type(density).__name__}."
        )
    if hasattr(density, "standardizer_"):
        if set(density.features_) != set(table.features):
            others = sorted(set(density.features_) ^ set(table.features))
            raise InvalidInput(
                f"'density' must have the features of the table. They differ in {quote(others)}."
            )
        return Explainer(density)
    if not hasattr(density, "fit"):
        raise InvalidInput(
            f"'density' must have a method 'fit'. {type(density).__name__} has none."
        )
    shown = {"progress": True} if progress and isinstance(density, RealNVP) else {}
    return Explainer(density.fit(table, **shown))
