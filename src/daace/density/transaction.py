"""A fit that fails or is interrupted changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Density = TypeVar("Density")
Arguments = ParamSpec("Arguments")


def all_or_nothing(
    fit: Callable[Concatenate[Density, Arguments], Density],
) -> Callable[Concatenate[Density, Arguments], Density]:
    """Decorate `fit`: if it fails or is interrupted, the density stays as it was."""

    @wraps(fit)
    def whole(density: Density, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Density:
        before = dict(density.__dict__)
        try:
            return fit(density, *args, **kwargs)
        except BaseException:
            density.__dict__.clear()
            density.__dict__.update(before)
            raise

    return whole
