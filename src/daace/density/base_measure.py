"""The measure that the density of a mixed table is taken with respect to.

At an atom a number adds a probability to log p, elsewhere a density, whose size depends on the
unit. So log p is taken with respect to a measure in which the line of a number has the weight e^h
beside the mass 1 of each of its atoms. With h the mean of log p(x_i | everything else) over draws
that are elsewhere, terrain and answers are the same in any unit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace._typing import FloatArray
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout
from daace.density.components import ClassComponents
from daace.density.draws import DRAWS, DRAWS_SEED

#: Largest weight of a line: model space is standardised, so that no mean log-density is as large.
LARGEST_WEIGHT = 50.0


def weigh_lines(components: ClassComponents) -> ClassComponents:
    """Return components whose measure has the weights h, from fixed-seed draws of their own.

    Args:
        components: components; without codes they are returned as they are.
    """
    if components.codes is None or not len(components.codes.layout.atomic):
        return components
    rng = np.random.default_rng(DRAWS_SEED)
    X, _ = components.sample(DRAWS, rng=rng)
    return replace(components, codes=replace(components.codes, measure=line_weights(components, X)))


def line_weights(components: ClassComponents, X: FloatArray) -> FloatArray:
    """Return the mean of log p(x_i | everything else) over rows in which number i is elsewhere.

    With residuals `r = a x_i + b` of a component, the integral of its density over x_i is
    `p(x) sqrt(2 pi) / |a| exp((a'r)^2 / (2 a'a))`.

    Args:
        components: components with codes.
        X: rows in model space.

    Returns:
        Shape `(numbers,)`; 0 for numbers without atoms.
    """
    assert components.codes is not None
    layout, gaussians = components.codes.layout, components.gaussians
    weights = np.zeros(len(layout.numbers))
    for i in layout.atomic.tolist():
        _, all_codes = layout.split(X)
        there = X[all_codes[:, layout.atoms[i]] == 0]
        found = []
        for part in gaussians.blocks(len(there)):
            numbers, codes = layout.split(there[part])
            elsewhere = layout.elsewhere(codes)
            free = np.ones_like(numbers) if elsewhere is None else elsewhere
            residuals = np.einsum("cni,ri->rcn", gaussians.whiteners, numbers) + gaussians.offsets
            slopes = gaussians.whiteners[:, :, i]
            steepness = free @ (slopes**2).T
            along = np.einsum("rcn,cn,rn->rc", residuals, slopes, free)
            joint = components.log_components(there[part])
            beside = joint + 0.5 * along**2 / steepness - 0.5 * np.log(steepness / (2 * np.pi))
            found.append(log_sum_exp(joint) - log_sum_exp(beside))
        if len(there):
            weights[i] = np.concatenate(found).mean()
    return weights


def check_line_weights(weights: FloatArray, layout: CodeLayout) -> None:
    """Raise `ValueError` unless the weights of lines can be those of a density.

    Args:
        weights: weights from a model file.
        layout: layout of the columns.
    """
    if weights.shape != layout.numbers.shape:
        raise ValueError("it has other numbers than its encoding")
    if weights[layout.atoms < 0].any():
        raise ValueError("a number without atoms has a weight for its line")
    if np.abs(weights).max(initial=0.0) > LARGEST_WEIGHT:
        raise ValueError("the weight of a line is too large")
