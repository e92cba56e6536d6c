"""Densities by name: for `daace.fit`, the command line, studies and model files."""

from __future__ import annotations

from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.exceptions import InvalidInput

#: Class by kind. To register a density of your own, add a line here.
DENSITIES: dict[str, type[ConditionalDensity]] = {
    LinearGaussianNetwork.kind: LinearGaussianNetwork,
    KernelDensity.kind: KernelDensity,
    RealNVP.kind: RealNVP,
    GaussianMixture.kind: GaussianMixture,
}


def learned_kinds() -> tuple[str, ...]:
    """Return the kinds that can be learned from a table, the default first.

    Example:
        >>> learned_kinds()[0]
        'linear-gaussian'
    """
    return tuple(kind for kind, density in DENSITIES.items() if hasattr(density, "fit"))


def density_class(kind: str) -> type[ConditionalDensity]:
    """Return the class of a kind of density.

    Args:
        kind: name of the density.

    Raises:
        InvalidInput: there is no such kind.

    Example:
        >>> density_class("kde").__name__
        'KernelDensity'
    """
    if kind not in DENSITIES:
        raise InvalidInput(
            argument="The density", expected=f"be one of {quote(DENSITIES)}", got=repr(kind)
        )
    return DENSITIES[kind]
