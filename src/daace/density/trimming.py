"""Units of a trained network that cannot matter: found by their weights, and left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray

#: A unit that moves the outputs by no more than this for each 1 that the inputs move by is left
#: out. What later layers make of it then still drowns in rounding.
NEGLIGIBLE = 1e-16


@np.errstate(over="ignore", invalid="ignore")  # the absurd weights of a damaged file
def trim(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the linear maps of a ReLU network without the units that cannot matter.

    Weight decay under Adam lets go of units that do not help: their weights end near 1e-5 and
    below, on both sides. ReLU never widens a difference, so when no input moves by more than 1,
    unit u moves by at most `reach_u`; and for each 1 that u moves by, the outputs together move by
    at most `gain_u`:

        reach = |W| reach',   gain = |W|^T gain'

    over the layer before and the one after. Where `reach_u gain_u <= 1e-16`, u counts as the
    constant that it is when all inputs are 0, which joins the biases of the next layer. So the
    outputs change by at most 1e-16 for each unit left out, times the largest input: a bound for
    all inputs, however large, that asks for no data.

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
    small_weights, small_biases = [], []
    weight, bias = weights[0], biases[0]
    for gain, after, bias_after in zip(reversed(gains[1:]), weights[1:], biases[1:], strict=True):
        reach = np.abs(weight) @ reach
        value = np.maximum(weight @ value + bias, 0.0)
        kept = reach * gain > NEGLIGIBLE
        small_weights.append(weight[kept])
        small_biases.append(bias[kept])
        weight, bias = after[:, kept], bias_after + after[:, ~kept] @ value[~kept]
        reach, value = reach[kept], value[kept]
    if not len(reach):  # beyond an empty layer nothing is reached
        return [weight], [bias]
    return [*small_weights, weight], [*small_biases, bias]
