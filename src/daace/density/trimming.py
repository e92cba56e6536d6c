"""Units of a trained network that cannot matter: found by their weights, and left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from daace._typing import FloatArray

#: A unit that changes no output by more than this share of the largest input is left out.
NEGLIGIBLE = 1e-12


def trim(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the linear maps of a ReLU network without the units that cannot matter.

    Weight decay under Adam lets go of units that do not help: their weights end near 1e-5 and
    below, on both sides. ReLU never grows differences, so when the inputs move by at most 1, unit
    u moves by at most `reach_u`, and the outputs together by at most `gain_u` for each step of u:

        reach = |W| reach',   gain = |W|^T gain'

    summed over the layer before and the one after. Where `reach_u gain_u` is negligible, u counts
    as the constant that it is at 0, which joins the biases of the next layer. That holds for all
    inputs, however large, and asks for no data.

    Args:
        weights: of each linear map, shape `(outputs, inputs)`.
        biases: of each linear map, shape `(outputs,)`.

    Returns:
        Weights and biases of the smaller network; those of a constant one are a single map
        without inputs.

    Example:
        >>> weights = [np.array([[2.0], [1e-9]]), np.array([[1.0, 1e-9]])]
        >>> (first, last), _ = trim(weights, [np.array([0.5, 0.5]), np.zeros(1)])
        >>> first.tolist(), last.tolist()
        ([[2.0]], [[1.0]])
    """
    gains = [np.ones(len(weights[-1]))]
    for weight in reversed(weights[1:]):
        gains.append(np.abs(weight).T @ gains[-1])
    reach, value = np.ones(weights[0].shape[1]), np.zeros(weights[0].shape[1])
    kept_weights, kept_biases = list(weights), [bias.copy() for bias in biases]
    for layer, gain in enumerate(reversed(gains[1:])):
        reach = np.abs(kept_weights[layer]) @ reach
        value = np.maximum(kept_weights[layer] @ value + kept_biases[layer], 0.0)
        kept = reach * gain > NEGLIGIBLE
        after = kept_weights[layer + 1]
        kept_biases[layer + 1] += after[:, ~kept] @ value[~kept]
        kept_weights[layer + 1] = after[:, kept]
        kept_weights[layer], kept_biases[layer] = (
            kept_weights[layer][kept],
            kept_biases[layer][kept],
        )
        reach, value = reach[kept], value[kept]
    if all(len(weight) for weight, _ in pairwise(kept_weights)):
        return kept_weights, kept_biases
    return kept_weights[-1:], kept_biases[-1:]
