"""The map between user units and model space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace._wording import quote
from daace.data.left_out import is_constant
from daace.exceptions import InvalidInput


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtract the mean and divide by the standard deviation, feature by feature.

    `transform` gives `z = (x - mean) / scale`; `inverse` undoes it to 1e-12 relative.

    Attributes:
        mean: mean of each feature, shape `(features,)`.
        scale: standard deviation of each feature, shape `(features,)`.

    Example:
        >>> import numpy as np
        >>> s = Standardizer.fit(np.array([[1.0], [3.0]]), features=("a",))
        >>> s.transform(np.array([[5.0]])).tolist()
        [[3.0]]
    """

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def fit(
        cls, X: FloatArray, *, features: Sequence[str], codes: Sequence[int] = ()
    ) -> Standardizer:
        """Learn mean and standard deviation.

        Args:
            X: rows in user units, shape `(rows, features)`.
            features: names of the columns, for messages.
            codes: columns that hold codes, which stay as they are.

        Raises:
            InvalidInput: a feature is constant, or varies by less than rounding errors.
        """
        mean = X.mean(axis=0)
        scale = np.sqrt(((X - mean) ** 2).mean(axis=0))
        constant = is_constant(X)
        for column in codes:
            mean[column], scale[column], constant[column] = 0.0, 1.0, False
        if constant.any():
            names = [name for name, flat in zip(features, constant, strict=True) if flat]
            raise InvalidInput(
                f"Features must vary. Got constant {quote(names)}: drop them, for example with "
                "daace.preprocess(table)."
            )
        return cls(mean, scale)

    @classmethod
    def identity(cls, n: int) -> Standardizer:
        """Return the map of `n` features that changes nothing."""
        return cls(np.zeros(n), np.ones(n))

    def transform(self, X: FloatArray) -> FloatArray:
        """Map rows in user units, shape `(rows, features)`, to model space."""
        return (X - self.mean) / self.scale

    def inverse(self, Z: FloatArray) -> FloatArray:
        """Map rows in model space, shape `(rows, features)`, to user units."""
        return Z * self.scale + self.mean
