"""Arguments of a constructor as parameters, as scikit-learn has them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from daace._checks import check_known

Owner = TypeVar("Owner")


def read_params(owner: object) -> dict[str, Any]:
    """Return the arguments of the constructor, by name.

    Args:
        owner: stores its arguments, untouched, under their names.
    """
    return {name: getattr(owner, name) for name in inspect.signature(type(owner)).parameters}


def change_params(owner: Owner, params: Mapping[str, Any]) -> Owner:
    """Change arguments of the constructor; what was learned stays.

    Args:
        owner: stores its arguments, untouched, under their names.
        params: new values by name.

    Raises:
        InvalidInput: there is no such argument, or its value is not allowed.
    """
    known = read_params(owner)
    check_known(type(owner).__name__, params, known)
    checked = type(owner)(**{**known, **params})
    owner.__dict__.update(checked.__dict__)
    return owner
