"""Units of a trained network that cannot affect its outputs: found by their weights, removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray

#: Units are removed if a change of 1 in the inputs changes the outputs by at most this through
#: them: less than rounding errors, even after later layers.
NEGLIGIBLE = 1e-16


@np.errstate(over="ignore", invalid="ignore")  # the absurd weights of a damaged file
def trim(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the linear maps of a ReLU network without the units that cannot matter.

    Weight decay under Adam shrinks the incoming and outgoing weights of useless units to 1e-5 and
    less. ReLU never increases a difference, so if no input changes by more than 1, unit u changes
    by at most `reach_u`; and if u changes by 1, the outputs together change by at most `gain_u`:

        reach = |W| reach',   gain = |W|^T gain'

    over the layer before and the one after. If `reach_u gain_u <= 1e-16`, u is replaced by its
    value for inputs of 0, which is added to the biases of the next layer. So the outputs change by
    at most 1e-16 per removed unit, times the largest input: a bound for all inputs that needs no
    data.

    Args:
        weights: weights of each linear map, shape `(outputs, inputs)`.
        biases: biases of each linear map, shape `(outputs,)`.

    Returns:
        Weights and biases of the smaller network; a constant network is a single map without
        inputs.

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
