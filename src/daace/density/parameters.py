"""Arguments of a constructor as parameters, as scikit-learn has them."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any, Self

from daace._checks import check_known


class Parameterized:
    """Something whose constructor stores its arguments, untouched, under their names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor, by name.

        Args:
            deep: for scikit-learn; no argument of a density has arguments of its own.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; what was learned stays until the next fit.

        Args:
            params: new values by name.

        Raises:
            InvalidInput: there is no such argument, or its value is not allowed.

        Example:
            >>> from daace import KernelDensity
            >>> KernelDensity().set_params(bandwidth=0.5)
            KernelDensity(bandwidth=0.5, max_rows_per_class=10000)
        """
        known = self.get_params()
        check_known(type(self).__name__, params, known)
        checked = type(self)(**{**known, **params})
        self.__dict__.update(checked.__dict__)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted density with the same arguments: `sklearn.base.clone`."""
        return type(self)(**deepcopy(self.get_params()))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({settings})"
