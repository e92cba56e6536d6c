"""Draws of a density that share some features with a row: a person's reference group."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.density.draws import GIVEN_DRAWS, DrawStatistics


def describe_given(
    density: ConditionalDensity, fixed: IntArray, x: FloatArray
) -> DrawStatistics | None:
    """Return the statistics of log p over draws that share some features with a row.

    They are those of `density.given` with log p(x_fixed) added: in the units of `log_prob`, so that
    a person is compared with others who cannot change the same things.

    Args:
        density: density of all features.
        fixed: positions of the shared features.
        x: the row in model space, shape `(n,)`.

    Returns:
        None if the density cannot make such draws.
    """
    if type(density).draw_given is ConditionalDensity.draw_given:
        return None
    atoms = density.encoding_.atom_columns
    codes = [atoms[j] for j in fixed.tolist() if j in atoms]
    X = density.draw_given(np.array([*fixed, *codes], dtype=np.intp), x, GIVEN_DRAWS)
    return None if X is None else density.draws_.with_log_prob(density.log_prob(X))
