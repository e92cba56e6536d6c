"""Densities by the name that users and model files call them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput, MissingDependency

#: Module and class by kind; a module is imported when its density is asked for.
DENSITIES = {
    "linear-gaussian": ("daace.density.linear_gaussian", "LinearGaussianNetwork"),
    "kde": ("daace.density.kde", "KernelDensity"),
    "realnvp": ("daace.density.realnvp", "RealNVP"),
    "gaussian-mixture": ("daace.density.mixture", "GaussianMixture"),
}

#: Those that `fit` can learn from a table.
LEARNED = ("linear-gaussian", "kde", "realnvp")


def available() -> tuple[str, ...]:
    """Return the kinds that `fit` can learn and that this version of the package has.

    Example:
        >>> available()[:2]
        ('linear-gaussian', 'kde')
    """
    return tuple(kind for kind in LEARNED if find_spec(DENSITIES[kind][0]) is not None)


def density_class(kind: str) -> type[ConditionalDensity]:
    """Return the class of a kind of density.

    Raises:
        InvalidInput: there is no such kind.
        MissingDependency: it needs a package that is not installed.

    Example:
        >>> density_class("kde").__name__
        'KernelDensity'
    """
    if kind not in DENSITIES:
        raise InvalidInput(f"The density must be one of {quote(DENSITIES)}. Got {kind!r}.")
    module, name = DENSITIES[kind]
    try:
        found: type[ConditionalDensity] = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name == module:
            raise MissingDependency(
                f"The density '{kind}' is not part of this version of daace: "
                "use 'linear-gaussian' or 'kde'."
            ) from None
        raise MissingDependency(f"{name} needs {error.name}: pip install 'daace[flow]'.") from None
    return found
