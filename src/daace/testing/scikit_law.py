"""The law of scikit-learn: arguments of the constructor are stored untouched."""

from __future__ import annotations

import copy

import numpy as np

from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.testing._assertions import require, require_equal
from daace.testing.points import near_and_far


def parameters_are_those_of_scikit_learn(
    density: ConditionalDensity, rng: np.random.Generator
) -> None:
    """Arguments of the constructor are stored untouched, can be read, changed and cloned."""
    from sklearn.base import clone

    params = density.get_params()
    same = repr(type(density)(**params)) == repr(density)
    require(same, "'get_params' must give the arguments of the constructor.")
    copied = clone(density)
    new = type(copied) is type(density) and copied is not density
    require(new, "sklearn.base.clone must return another density of the same class.")
    for name, value in copied.get_params().items():
        several = isinstance(value, tuple)
        pairs = zip(value, params[name], strict=True) if several else [(value, params[name])]
        for mine, theirs in pairs:
            require_equal(mine, theirs, f"A clone must have the same '{name}'.")
    require(copied.set_params(**params) is copied, "'set_params' must return the density.")
    try:
        copied.set_params(no_such_argument=3)
    except InvalidInput as error:
        sentence = f"'no_such_argument' must be an argument of {type(density).__name__}"
        require(sentence in str(error), f"An unknown argument must be named. Got '{error}'.")
    else:
        raise AssertionError("'set_params' must refuse arguments that there are not.")
    X = near_and_far(density, rng)
    kept = copy.copy(density).set_params(**params)
    sentence = "'set_params' must keep what was learned."
    require_equal(kept.log_joint(X), density.log_joint(X), sentence)
