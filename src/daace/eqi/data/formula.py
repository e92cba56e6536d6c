"""The formulas of the published indices: affine functions of their variables.

A domain index is the first principal component of the domain's standardised variables, scaled to
variance 1, so `index = intercept + sum_j weight_j t_j` with t the variables after EPA's
logarithms. The overall index is such a function of the five domain indices. A counterfactual whose
index does not follow this formula describes no county that could exist.

How EPA made the index: Messer et al. 2014, "Construction of an environmental quality index for
public health research", doi:10.1186/1476-069X-13-39.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput

#: Where the overall index is cut into categories, as shares of the counties.
QUANTILES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)

#: Smallest correlation of a formula with the published index; rounding in the files allows more.
AGREES = 0.99999


@dataclass(frozen=True, eq=False)
class Formula:
    """`intercept + weights' t`, by name.

    Attributes:
        intercept: value where all t are 0.
        weights: one per variable.
        correlation: with the published index.

    Example:
        >>> double = Formula(1.0, pd.Series({"a": 2.0}), 1.0)
        >>> double(pd.DataFrame({"a": [0.0, 3.0]})).tolist()
        [1.0, 7.0]
    """

    intercept: float
    weights: pd.Series
    correlation: float

    def __call__(self, values: pd.DataFrame) -> pd.Series:
        """Return the index of each row of a frame that has the variables among its columns."""
        columns = values[list(self.weights.index)]
        total = self.intercept + columns.to_numpy(dtype=np.float64) @ self.weights.to_numpy()
        return pd.Series(total, index=values.index)


def principal_formula(values: pd.DataFrame, published: pd.Series) -> Formula:
    """Return the first principal component of standardised columns, in the published units.

    A constant column has weight 0.

    Args:
        values: the transformed variables of one domain, one row per county.
        published: the index of the same counties.
    """
    X = values.to_numpy(dtype=np.float64)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    varies = sd > 1e-12 * np.maximum(1.0, np.abs(mean))
    Z = (X - mean)[:, varies] / sd[varies]
    _, axes = np.linalg.eigh(Z.T @ Z)
    component = Z @ axes[:, -1]
    y = published.to_numpy(dtype=np.float64)
    slope = float(component @ (y - y.mean()) / (component @ component))
    weights = np.zeros(X.shape[1])
    weights[varies] = slope * axes[:, -1] / sd[varies]
    correlation = float(abs(np.corrcoef(component, y)[0, 1]))
    return Formula(
        float(y.mean() - weights @ mean), pd.Series(weights, index=values.columns), correlation
    )


def linear_formula(values: pd.DataFrame, published: pd.Series) -> Formula:
    """Return the least-squares formula of an index, with its correlation."""
    X = values.to_numpy(dtype=np.float64)
    y = published.to_numpy(dtype=np.float64)
    design = np.column_stack([np.ones(len(X)), X])
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    correlation = float(np.corrcoef(design @ solution, y)[0, 1])
    return Formula(float(solution[0]), pd.Series(solution[1:], index=values.columns), correlation)


@dataclass(frozen=True, eq=False)
class Formulas:
    """How domain indices, overall index and category follow from the variables.

    Attributes:
        domains: formula of each domain index, in transformed variables.
        overall: formula of the overall index, in domain indices.
        cuts: borders between the categories, in units of the overall index.
    """

    domains: Mapping[str, Formula]
    overall: Formula
    cuts: FloatArray

    def indices(self, transformed: pd.DataFrame) -> pd.DataFrame:
        """Return the five indices of each row, recomputed; published sense (high = bad)."""
        return pd.DataFrame({domain: f(transformed) for domain, f in self.domains.items()})

    def category(self, overall: pd.Series) -> pd.Series:
        """Return the category of each value of the overall index: 0 is the best, 6 the worst."""
        place: IntArray = np.searchsorted(self.cuts, overall.to_numpy(dtype=np.float64))
        return pd.Series(place, index=overall.index)


def learn_formulas(
    transformed: pd.DataFrame,
    domain_of: pd.Series,
    indices: pd.DataFrame,
    overall: pd.Series,
) -> Formulas:
    """Recover how the published indices were made, and verify it.

    Args:
        transformed: variables after EPA's logarithms, one row per county.
        domain_of: domain of each variable.
        indices: published domain indices, one column per domain.
        overall: published overall index; may be missing for some counties.

    Raises:
        InvalidInput: a published index does not follow from its variables.
    """
    domains = {
        domain: principal_formula(
            transformed[list(domain_of.index[domain_of == domain])], indices[domain]
        )
        for domain in indices.columns
    }
    known = overall.dropna()
    whole = linear_formula(indices.loc[known.index], known)
    for name, formula in [*domains.items(), ("overall", whole)]:
        if not formula.correlation > AGREES:
            raise InvalidInput(
                f"The files must be EPA's: the {name} index, recomputed from its variables, must "
                f"correlate with the published one above {AGREES}. Got {formula.correlation:.6f}: "
                "a column was changed, or the files are of different years; get them again."
            )
    cuts = np.quantile(known.to_numpy(dtype=np.float64), QUANTILES[1:-1])
    return Formulas(domains, whole, cuts)
