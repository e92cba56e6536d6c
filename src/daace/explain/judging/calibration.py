"""Calibration of log-odds on rows that a model has not seen (Platt 1999), never decreasing.

`p = 1 / (1 + exp(-(slope * odds + offset)))`, with a slope that is positive. A weak prior holds
both at 1 and 0, so that a few rows change them little. Where fewer than ten rows are of the class,
or not of it, they are 1 and 0: from two numbers the odds of two rows could be computed.

J. Platt (1999), "Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods", Advances in Large Margin Classifiers.
"""

from __future__ import annotations

import numpy as np
import scipy

from daace._typing import BoolArray, FloatArray
from daace.density.privacy import FEWEST_ROWS

#: Log-odds beyond which a model's certainty is not believed: they are cut before slopes are fitted.
CERTAIN = 12.0

#: Weight of the prior: that of a row that is as probable as the model says.
PRIOR = 1.0

#: Range of slopes: a model that knows nothing does not become one without slopes.
FLATTEST, STEEPEST = 0.05, 1.0


def fit_calibration(odds: FloatArray, hits: BoolArray) -> tuple[float, float]:
    """Return slope and offset that make log-odds fit what was seen; 1 and 0 if that is too little.

    Args:
        odds: log-odds of a class that a model gives to rows it has not seen, shape `(rows,)`.
        hits: whether they are of that class.

    Example:
        >>> odds = np.random.default_rng(0).normal(size=4000)
        >>> share = 1 / (1 + np.exp(-0.5 * odds - 1))
        >>> hits = np.random.default_rng(1).random(4000) < share
        >>> [round(part, 1) for part in fit_calibration(odds, hits)]
        [0.5, 1.0]
    """
    if min(hits.sum(), (~hits).sum()) < FEWEST_ROWS:
        return 1.0, 0.0
    cut = np.clip(odds, -CERTAIN, CERTAIN)
    sign = np.where(hits, 1.0, -1.0)

    def loss(parts: FloatArray) -> tuple[float, FloatArray]:
        growth, offset = parts
        slope = np.exp(growth)
        margin = sign * (slope * cut + offset)
        value = np.logaddexp(0.0, -margin).sum() + PRIOR * (growth**2 + offset**2)
        doubt = -sign * scipy.special.expit(-margin)
        gradient = [
            (doubt * cut).sum() * slope + 2 * PRIOR * growth,
            doubt.sum() + 2 * PRIOR * offset,
        ]
        return float(value), np.array(gradient)

    bounds = [(np.log(FLATTEST), np.log(STEEPEST)), (-CERTAIN, CERTAIN)]
    growth, offset = scipy.optimize.minimize(
        loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    return float(np.exp(growth)), float(offset)
