from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.eqi.data.formula import Formula, learn_formulas, linear_formula, principal_formula
from daace.exceptions import InvalidInput


def test_a_principal_formula_is_an_eigenvector(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    values = pd.DataFrame(X, columns=list("abcd"))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    _, _, axes = np.linalg.svd(Z, full_matrices=False)
    component = pd.Series(3 - 2 * Z @ axes[0])
    formula = principal_formula(values, component)
    assert formula.correlation == pytest.approx(1)
    assert formula(values).to_numpy() == pytest.approx(component.to_numpy())


def test_a_linear_formula_is_recovered(rng: np.random.Generator) -> None:
    values = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    formula = linear_formula(values, 1 + 2 * values["a"] - values["b"])
    assert (formula.intercept, *formula.weights) == pytest.approx((1, 2, -1))


def test_an_overall_index_of_something_else(rng: np.random.Generator) -> None:
    values = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    index = pd.DataFrame({"Air": Formula(0, pd.Series({"a": 1.0, "b": 1.0}), 1)(values)})
    one = principal_formula(values, index["Air"])
    made = pd.DataFrame({"Air": one(values)})
    with pytest.raises(InvalidInput, match="the overall index"):
        learn_formulas(
            values, pd.Series({"a": "Air", "b": "Air"}), made, pd.Series(rng.normal(size=60))
        )
