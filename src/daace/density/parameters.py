"""Arguments of a constructor as parameters, as scikit-learn has them: methods of every density."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any, TypeVar

from daace._checks import check_known

Owner = TypeVar("Owner")


def read_params(self: object, deep: bool = True) -> dict[str, Any]:
    """Return the arguments of the constructor, by name.

    Args:
        self: stores its arguments, untouched, under their names.
        deep: for scikit-learn; no argument of a density has arguments of its own.
    """
    return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}


def change_params(self: Owner, **params: Any) -> Owner:
    """Change arguments of the constructor, by name; what was learned stays until the next fit.

    Args:
        self: stores its arguments, untouched, under their names.
        params: new values.

    Raises:
        InvalidInput: there is no such argument, or its value is not allowed.

    Example:
        >>> from daace import KernelDensity
        >>> KernelDensity().set_params(bandwidth=0.5)
        KernelDensity(bandwidth=0.5, smoothing='cv', max_rows_per_class=10000)
    """
    known = read_params(self)
    check_known(type(self).__name__, params, known)
    for name, value in vars(type(self)(**{**known, **params})).items():
        setattr(self, name, value)
    return self


def copy_unfitted(self: Owner) -> Owner:
    """Return an unfitted one with the same arguments: `sklearn.base.clone`."""
    return type(self)(**deepcopy(read_params(self)))


def show_params(self: object) -> str:
    """Return class and arguments, as code."""
    settings = ", ".join(f"{name}={value!r}" for name, value in read_params(self).items())
    return f"{type(self).__name__}({settings})"
