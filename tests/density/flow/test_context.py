"""What a flow sees of codes and of numbers with atoms."""

from __future__ import annotations

import numpy as np
import pytest

from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.density.flow.context import FlowColumns
from daace.density.flow.coupling import CouplingFlow


@pytest.fixture
def columns() -> FlowColumns:
    features = (
        Feature("age"),
        Feature("job", "ordered", levels=(1, 2, 3), dtype="Int64", gaps=True),
        Feature("debt", atoms=(0.0,)),
        Feature("housing", "category", levels=("own", "rent"), dtype="str"),
    )
    return FlowColumns.of(Encoding(features))


def test_what_it_sees(columns: FlowColumns) -> None:
    assert columns.numbers.tolist() == [0]
    assert columns.names == ("job", "debt", "housing")
    X = np.array([[9.0, 1.0, 7.0, 1.0, 0.0], [9.0, 3.0, 2.0, 0.0, 1.0]])
    assert columns.context(X).tolist() == [[0.5, 0, 7, 0, 1, 1, 0], [0.5, 1, 0, 1, 0, 0, 1]]
    assert columns.contexts == 7


def test_slopes_of_a_number_with_atoms_count_where_it_is_elsewhere(columns: FlowColumns) -> None:
    X = np.array([[9.0, 1.0, 7.0, 1.0, 0.0], [9.0, 3.0, 2.0, 0.0, 1.0]])
    to_context = np.arange(14.0).reshape(2, 7)
    pulled = columns.pull(X, np.array([[5.0], [6.0]]), to_context)
    assert pulled.tolist() == [[5, 0, 2, 0, 0], [6, 0, 0, 0, 0]]


def test_a_flow_depends_on_its_context() -> None:
    rng = np.random.default_rng(0)
    n, classes, contexts, units = 3, 2, 4, 8
    orders = np.array([[0, 1, 2], [2, 0, 1]])
    sizes = [(units, 1 + classes + contexts), (units, units), (4, units)]
    weights = tuple(0.5 * rng.normal(size=(2, *size)) for size in sizes)
    biases = tuple(0.5 * rng.normal(size=(2, size[0])) for size in sizes)
    flow = CouplingFlow(orders, weights, biases, classes, contexts)
    X, c, y = rng.normal(size=(20, n)), rng.normal(size=(20, contexts)), rng.integers(2, size=20)
    assert flow.inverse(flow.forward(X, y, c), y, c) == pytest.approx(X, abs=1e-10)
    joint, pullback = flow.log_density_and_pullback(X, c)
    assert np.array_equal(joint, flow.log_density(X, c))
    W, step = rng.normal(size=joint.shape), 1e-6
    both = np.concatenate([X, c], axis=1)
    gradient = pullback(W)
    assert gradient.shape == (20, n + contexts)
    for j in range(n + contexts):
        ahead, behind = both.copy(), both.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        change = flow.log_density(ahead[:, :n], ahead[:, n:])
        change -= flow.log_density(behind[:, :n], behind[:, n:])
        assert gradient[:, j] == pytest.approx((change * W).sum(axis=1) / (2 * step), abs=1e-5)
    folded = [w.copy() for w in weights]
    for k in range(classes):  # a constant context is another bias of every class
        folded[0][:, :, 1 + k] += weights[0][:, :, 1 + classes :] @ c[0]
    plain = CouplingFlow(orders, (folded[0][:, :, : 1 + classes], *folded[1:]), biases, classes)
    assert flow.log_density(X, np.tile(c[0], (20, 1))) == pytest.approx(plain.log_density(X))
