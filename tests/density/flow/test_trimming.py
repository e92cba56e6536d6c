from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.density.flow.trimming import NEGLIGIBLE, trim

Layers = list[FloatArray]


def random_network(*widths: int, seed: int = 0) -> tuple[Layers, Layers]:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(out, into)) / np.sqrt(into) for into, out in pairwise(widths)]
    return weights, [0.3 * rng.normal(size=out) for out in widths[1:]]


def evaluate(weights: Layers, biases: Layers, X: FloatArray) -> FloatArray:
    h = X.T
    for j, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        h = weight @ h + bias[:, None]
        h = np.maximum(h, 0) if j < len(weights) - 1 else h
    return h.T


def forget(weights: Layers, layer: int, units: list[int], *, into: float, out: float) -> None:
    """Let weight decay have its way with some units of a hidden layer."""
    weights[layer][units] *= into
    weights[layer + 1][:, units] *= out


def test_a_network_of_which_every_unit_matters_stays_as_it_is() -> None:
    weights, biases = random_network(4, 9, 8, 3)
    kept_weights, kept_biases = trim(weights, biases)
    for before, after in zip([*weights, *biases], [*kept_weights, *kept_biases], strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize(("into", "out"), [(1e-9, 1e-9), (0.0, 1.0), (1.0, 0.0), (1e-18, 1.0)])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_what_is_left_computes_the_same_however_far_away(
    layer: int, into: float, out: float
) -> None:
    weights, biases = random_network(4, 9, 8, 7, 3)
    forget(weights, layer, [1, 4, 6], into=into, out=out)
    small_weights, small_biases = trim(weights, biases)
    widths = [len(weight) for weight in small_weights]
    expected = [9, 8, 7, 3]
    expected[layer] -= 3
    assert widths == expected
    X = np.random.default_rng(1).normal(size=(200, 4))
    for size in (1.0, 1e2, 1e6):
        before = evaluate(weights, biases, size * X)
        after = evaluate(small_weights, small_biases, size * X)
        largest = max(1.0, np.abs(size * X).max())
        assert (
            np.abs(after - before).max() <= 3 * NEGLIGIBLE * largest + 1e-15 * np.abs(before).max()
        )


def test_a_unit_that_would_matter_far_away_stays() -> None:
    weights, biases = random_network(2, 5, 3)
    biases[0][2] = -1e9  # silent on all that will ever be seen, but not everywhere
    assert len(trim(weights, biases)[0][0]) == 5


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_network_that_forgot_its_inputs_is_a_constant(layer: int) -> None:
    weights, biases = random_network(4, 6, 6, 6, 2)
    weights[layer] *= 0.0
    (weight,), (constant,) = trim(weights, biases)
    assert weight.shape == (2, 0)
    X = np.random.default_rng(1).normal(size=(10, 4))
    assert evaluate(weights, biases, X) == pytest.approx(np.tile(constant, (10, 1)), abs=1e-15)


@pytest.mark.parametrize(
    ("maps", "widths"),
    [
        (([[1.0, -1.0]], [[1.0]]), [1, 1]),  # weights that cancel out reach all the same
        (([[1.0]], [[1.0], [-1.0]]), [1, 2]),
        (([[1e-6]], [[1e-6]], [[1e-6]]), [1]),  # small steps multiply
        (([[1e-5]], [[1e-5]], [[1e-5]]), [1, 1, 1]),
        (([[1e-8]], [[0.9e-8]]), [1]),  # just below and just above
        (([[1e-8]], [[1.1e-8]]), [1, 1]),
        (([[1e-8]], [[0.6e-8], [0.6e-8]]), [1, 2]),  # two outputs together
        (([[1.0]], [[0.8e-16], [0.8e-16]], [[1.0, 1.0]]), [1]),  # the first layer goes with them
    ],
)
def test_which_units_count(maps: tuple[list[list[float]], ...], widths: list[int]) -> None:
    weights = [np.array(each) for each in maps]
    assert [len(w) for w in trim(weights, [np.zeros(len(w)) for w in weights])[0]] == widths


def test_a_unit_left_out_is_worth_what_units_that_stay_make_of_it() -> None:
    weights = [np.array([[1.0]]), np.array([[1e-9], [1.0]]), np.array([[1e-9, 1.0]])]
    biases = [np.array([1e8]), np.array([2.0, 0.0]), np.zeros(1)]
    small_weights, small_biases = trim(weights, biases)
    assert [len(weight) for weight in small_weights] == [1, 1, 1]
    assert small_biases[2] == pytest.approx([(1e8 * 1e-9 + 2.0) * 1e-9], rel=1e-12)


def test_absurd_weights_give_no_warning() -> None:
    weights, biases = random_network(3, 6, 6, 2)
    trim([1e200 * weight for weight in weights], biases)


def test_what_it_is_given_is_not_changed() -> None:
    weights, biases = random_network(3, 6, 6, 2)
    forget(weights, 1, [0, 1], into=0.0, out=0.0)
    copies = [array.copy() for array in [*weights, *biases]]
    trim(weights, biases)
    for before, after in zip(copies, [*weights, *biases], strict=True):
        assert np.array_equal(before, after)
