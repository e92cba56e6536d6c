"""Densities by name: for `daace.fit`, the command line, studies and model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


#: Names for a kind with some settings, the default first.
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "profiles": (LinearGaussianNetwork.kind, {"profiles": "auto"}),
}


def learned_kinds() -> tuple[str, ...]:
    """Return the names of densities that can be learned from a table, the default first.

    Example:
        >>> learned_kinds()[:2]
        ('profiles', 'linear-gaussian')
    """
    learned = (kind for kind, density in DENSITIES.items() if hasattr(density, "fit"))
    return (*PRESETS, *learned)


def new_density(name: str, settings: Mapping[str, Any] | None = None) -> ConditionalDensity:
    """Return an unfitted density by name.

    Args:
        name: one of `learned_kinds()`.
        settings: arguments of its constructor that differ from the defaults.

    Raises:
        InvalidInput: there is no such density, or a setting is not allowed.

    Example:
        >>> new_density("profiles").get_params()["profiles"]
        'auto'
    """
    own = PRESETS[name][1] if name in PRESETS else {}
    maker: Any = density_class(name)
    density: ConditionalDensity = maker(**{**own, **(settings or {})})
    return density


def name_of(density: ConditionalDensity) -> str:
    """Return the name by which `daace.fit` learns a density like this one.

    Example:
        >>> name_of(LinearGaussianNetwork(profiles="auto"))
        'profiles'
    """
    for name, (kind, settings) in PRESETS.items():
        if density.kind == kind and settings.items() <= density.get_params().items():
            return name
    return density.kind


def density_class(kind: str) -> type[ConditionalDensity]:
    """Return the class of a density by its name.

    Args:
        kind: name of the density.

    Raises:
        InvalidInput: there is no such kind.

    Example:
        >>> density_class("kde").__name__
        'KernelDensity'
    """
    kind = PRESETS[kind][0] if kind in PRESETS else kind
    if kind not in DENSITIES:
        raise InvalidInput(
            argument="The density", expected=f"be one of {quote(DENSITIES)}", got=repr(kind)
        )
    return DENSITIES[kind]
