from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.density.flow import coupling
from daace.density.flow.coupling import BOUND, CouplingFlow


def random_flow(
    n: int,
    *,
    classes: int = 3,
    flows: int = 5,
    layers: int = 2,
    units: int = 12,
    seed: int = 0,
    decayed: bool = False,
) -> CouplingFlow:
    """A flow with weights as large as after a training.

    With `decayed`, weight decay has done away with some units of each network, another number in
    each layer, and with all of the second network.
    """
    rng = np.random.default_rng(seed)
    kept = n // 2
    widths = [kept + classes, *[units] * layers, 2 * (n - kept)]
    shapes = [(flows, out, into) for into, out in pairwise(widths)]
    orders = np.stack([rng.permutation(n) for _ in range(flows)])
    weights = tuple(rng.normal(size=shape) / np.sqrt(shape[2]) for shape in shapes)
    biases = tuple(0.3 * rng.normal(size=shape[:2]) for shape in shapes)
    if decayed:
        for j, (before, after) in enumerate(pairwise(weights)):
            for flow in range(flows):
                gone = range(units) if flow == 1 else rng.permutation(units)[: 2 + j + flow]
                before[flow, gone] *= 1e-9
                after[flow][:, gone] *= 1e-9
    return CouplingFlow(orders, weights, biases, classes)


def slow_log_density(flow: CouplingFlow, x: FloatArray, k: int) -> tuple[FloatArray, float]:
    """The reference: one row, one class, unit by unit; z and log p(x | y=k)."""
    z = x.copy()
    log_det = 0.0
    kept = flow.features // 2
    for layer, order in enumerate(flow.orders):
        h = np.concatenate([z[order[:kept]], np.eye(flow.classes)[k]])
        for j, (weight, bias) in enumerate(zip(flow.weights, flow.biases, strict=True)):
            h = np.array([w @ h + b for w, b in zip(weight[layer], bias[layer], strict=True)])
            if j < len(flow.weights) - 1:
                h = np.maximum(h, 0)
        raw, shift = np.split(h, 2)
        scale = raw / (1 + np.abs(raw) / BOUND)
        z[order[kept:]] = np.exp(scale) * z[order[kept:]] + shift
        log_det += scale.sum()
    return z, float(log_det - 0.5 * z @ z - 0.5 * len(z) * np.log(2 * np.pi))


def rows(n: int, count: int = 30) -> FloatArray:
    return np.random.default_rng(5).normal(size=(count, n))


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_it_is_the_formula(n: int, decayed: bool) -> None:
    flow = random_flow(n, decayed=decayed)
    X = rows(n, 8)
    log_density = flow.log_density(X)
    for i, x in enumerate(X):
        for k in range(3):
            z, expected = slow_log_density(flow, x, k)
            assert flow.forward(x[None], np.array([k]))[0] == pytest.approx(z, abs=1e-12)
            assert log_density[i, k] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_the_inverse_undoes_it(n: int) -> None:
    flow = random_flow(n)
    rng = np.random.default_rng(6)
    X = rows(n, 500)
    y = rng.integers(0, 3, 500)
    assert flow.inverse(flow.forward(X, y), y) == pytest.approx(X, abs=1e-10)
    assert flow.forward(flow.inverse(X, y), y) == pytest.approx(X, abs=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_log_determinant_is_that_of_the_jacobian(n: int) -> None:
    flow = random_flow(n)
    x, step = rows(n, 1)[0], 1e-6
    for k in range(3):
        y = np.full(n, k)
        ahead, behind = x + step * np.eye(n), x - step * np.eye(n)
        jacobian = (flow.forward(ahead, y) - flow.forward(behind, y)) / (2 * step)
        z = flow.forward(x[None], y[:1])[0]
        normal = -0.5 * z @ z - 0.5 * n * np.log(2 * np.pi)
        log_det = np.linalg.slogdet(jacobian)[1]
        assert flow.log_density(x[None])[0, k] == pytest.approx(normal + log_det, abs=1e-6)


def test_units_that_cannot_matter_are_left_out() -> None:
    assert random_flow(6).widths.tolist() == [[12, 12]] * 5
    decayed = random_flow(6, decayed=True)
    assert decayed.widths.tolist() == [[10, 9], [0, 0], [8, 7], [7, 6], [6, 5]]
    assert decayed.units == 12
    assert decayed.weights[0].shape == (5, 12, 6)  # a model file holds them all


def test_of_networks_without_weights_an_affine_map_is_left() -> None:
    flow = random_flow(4)
    biases = tuple(np.zeros_like(bias) for bias in flow.biases)
    biases[-1][:, :2] = 0.5  # r of two features that each layer maps
    nothing = tuple(np.zeros_like(weight) for weight in flow.weights)
    constant = CouplingFlow(flow.orders, nothing, biases, 3)
    assert not constant.widths.any()
    X = rows(4)
    W = np.random.default_rng(7).normal(size=(len(X), 3))
    log_density, pullback = constant.log_density_and_pullback(X)
    stretch = np.exp(0.4 * np.bincount(flow.orders[:, 2:].ravel(), minlength=4))
    expected = (
        -0.5 * ((X * stretch) ** 2).sum(axis=1) + np.log(stretch).sum() - 2 * np.log(2 * np.pi)
    )
    assert log_density == pytest.approx(np.tile(expected[:, None], 3), rel=1e-12)
    assert pullback(W) == pytest.approx(-X * stretch**2 * W.sum(axis=1)[:, None], rel=1e-12)


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_the_pullback_is_the_finite_difference(n: int, decayed: bool) -> None:
    flow = random_flow(n, decayed=decayed)
    X, step = rows(n), 1e-6
    W = np.random.default_rng(7).normal(size=(len(X), 3))
    log_density, pullback = flow.log_density_and_pullback(X)
    assert np.array_equal(log_density, flow.log_density(X))
    difference = np.stack(
        [
            ((flow.log_density(X + step * e) - flow.log_density(X - step * e)) * W).sum(axis=1)
            / (2 * step)
            for e in np.eye(n)
        ],
        axis=1,
    )
    assert pullback(W) == pytest.approx(difference, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("fewest", [256, 400])  # with 400 the network counts as too wide
def test_blocks_and_a_tape_too_long_to_keep_change_nothing(
    monkeypatch: pytest.MonkeyPatch, fewest: int, decayed: bool
) -> None:
    flow = random_flow(6, decayed=decayed)
    X = rows(6, 700)
    W = np.random.default_rng(8).normal(size=(len(X), 3))
    monkeypatch.setattr(coupling, "BLOCK", 6 * 3 * 300)  # blocks of 300 rows, 900 columns
    monkeypatch.setattr(coupling, "SMALL_PRODUCT", 12 * 13 * 350)  # in pieces of 350 columns
    monkeypatch.setattr(coupling, "FEWEST_COLUMNS", fewest)
    log_density, pullback = flow.log_density_and_pullback(X)
    gradient = pullback(W)
    monkeypatch.setattr(coupling, "TAPE", 0)
    again, computed_again = flow.log_density_and_pullback(X)
    assert np.array_equal(log_density, again)
    assert np.array_equal(gradient, computed_again(W))
    monkeypatch.undo()
    whole, at_once = flow.log_density_and_pullback(X)
    assert log_density == pytest.approx(whole, rel=1e-11)
    assert gradient == pytest.approx(at_once(W), rel=1e-9, abs=1e-10)


def test_the_classes_differ_and_rows_do_not_mix() -> None:
    flow = random_flow(4)
    X = rows(4)
    log_density = flow.log_density(X)
    assert np.abs(log_density[:, 0] - log_density[:, 1]).min() > 1e-6
    assert flow.log_density(X[::-1]) == pytest.approx(log_density[::-1], rel=1e-12)


def test_nothing_overflows() -> None:
    flow = random_flow(5, flows=10, layers=5)
    for size in (1e2, 1e4, 1e100):
        log_density, pullback = flow.log_density_and_pullback(size * rows(5))
        assert np.isfinite(log_density).all()
        assert np.isfinite(pullback(np.ones_like(log_density))).all()


def test_many_classes_take_no_more_memory_at_once() -> None:
    """The one-hot class of each column is an array too: columns at once become fewer."""
    few, many = (random_flow(2, classes=classes) for classes in (2, 200))
    tracemalloc.start()
    peaks = []
    for flow in (few, many):
        X = rows(2, count=400)
        tracemalloc.reset_peak()
        flow.log_density(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < 10e6


@pytest.mark.parametrize("decayed", [False, True])
def test_agrees_with_torch(decayed: bool) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is torch's autograd")
    flow = random_flow(7, flows=6, layers=3, units=20, decayed=decayed)
    X = rows(7)
    W = np.random.default_rng(9).normal(size=(len(X), 3))
    kept = flow.features // 2

    def forward(x: object, k: int) -> tuple[object, object]:
        z, log_det = x, 0.0
        context = torch.eye(3, dtype=torch.float64)[k].expand(len(x), 3)  # type: ignore[arg-type]
        for layer, order in enumerate(torch.from_numpy(flow.orders)):
            h = torch.cat([z[:, order[:kept]], context], dim=1)  # type: ignore[index]
            for j, (weight, bias) in enumerate(zip(flow.weights, flow.biases, strict=True)):
                h = h @ torch.from_numpy(weight[layer]).T + torch.from_numpy(bias[layer])
                h = h.relu() if j < len(flow.weights) - 1 else h
            raw, shift = h.chunk(2, dim=1)
            scale = raw / (1 + raw.abs() / BOUND)
            log_det = log_det + scale.sum(dim=1)
            mapped = z[:, order[kept:]] * scale.exp() + shift  # type: ignore[index]
            z = torch.cat([z[:, order[:kept]], mapped], dim=1)[:, torch.argsort(order)]  # type: ignore[index]
        return z, log_det

    def log_density(x: object, k: int) -> object:
        z, log_det = forward(x, k)
        return torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(dim=1) + log_det

    x = torch.from_numpy(X.copy()).requires_grad_()
    joint = torch.stack([log_density(x, k) for k in range(3)], dim=1)  # type: ignore[misc]
    (joint * torch.from_numpy(W)).sum().backward()
    values, pullback = flow.log_density_and_pullback(X)
    assert values == pytest.approx(joint.detach().numpy(), rel=1e-9, abs=1e-9)
    assert pullback(W) == pytest.approx(x.grad.numpy(), rel=1e-9, abs=1e-9)
    for k in range(3):  # the log-determinant is that of autograd's Jacobian
        for i in range(5):
            one = torch.from_numpy(X[[i]])
            jacobian = torch.autograd.functional.jacobian(lambda v, k=k: forward(v, k)[0][0], one)
            z = flow.forward(X[[i]], np.array([k]))[0]
            log_det = values[i, k] + 0.5 * z @ z + 0.5 * len(z) * np.log(2 * np.pi)
            assert log_det == pytest.approx(
                torch.linalg.slogdet(jacobian[:, 0])[1].item(), abs=1e-9
            )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders": np.array([[0, 0, 1, 2]] * 5)}, "an order of features is none"),
        ({"orders": np.arange(4)}, "must have two dimensions"),
        ({"classes": 2}, r"a linear map has shapes \(5, 12, 5\) and \(5, 12\), not \(5, 12, 4\)"),
        ({"biases": (np.zeros((5, 12)),) * 3}, "a linear map has shapes"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    flow = random_flow(4)
    parts = {
        "orders": flow.orders, "weights": flow.weights, "biases": flow.biases, "classes": 3,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        CouplingFlow(**{**parts, **change})  # type: ignore[arg-type]
