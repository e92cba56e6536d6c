"""Types shared by all layers."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[Any]

#: Maps weights of several outputs to the gradient of their weighted sum.
Pullback: TypeAlias = Callable[[FloatArray], FloatArray]
