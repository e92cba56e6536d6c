"""Members of a committee against scikit-learn, and their gradients against differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer

from daace import load_table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.explain.judging import training
from daace.explain.judging.members import (
    HiddenLayer,
    Kernels,
    Linear,
    Splines,
    arrays_of,
    kind_of,
    read_inputs,
    read_member,
)
from daace.explain.judging.training import MemberTraining, find_inputs


def learn(classes: int) -> tuple[MemberTraining, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    U, places = rng.normal(size=(400, 3)), rng.normal(scale=2.0, size=(50, 3))
    scores = np.stack([np.zeros(400), 2 * U[:, 0] - U[:, 1] ** 2, U[:, 2] ** 3], axis=1)
    y = (scores + rng.gumbel(size=scores.shape))[:, :classes].argmax(axis=1)
    return MemberTraining(U, y, classes, np.random.default_rng(7)), U, places


def shares(member, U: np.ndarray, classes: int) -> np.ndarray:
    """Class probabilities from a member's scores."""
    scores = member.scores(U)
    if classes == 2:
        scores = np.hstack([np.zeros((len(U), 1)), scores])
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3])
def test_members_predict_what_scikit_learn_does(classes):
    learner, U, places = learn(classes)
    linear = LogisticRegression(C=training.LINEAR_C, max_iter=training.STEPS).fit(U, learner.y)
    curves = learner.splines(U)
    basis = SplineTransformer(
        degree=3, knots=curves.knots.T, extrapolation="linear", include_bias=False
    )
    splines = make_pipeline(
        basis, LogisticRegression(C=training.SPLINES_C, max_iter=training.STEPS)
    ).fit(U, learner.y)
    network = learner.network()
    again = MemberTraining(U, learner.y, classes, np.random.default_rng(7))
    rows = again._sample()
    model = MLPClassifier(
        (len(network.shift),),
        activation="tanh",
        solver="lbfgs",
        alpha=training.NETWORK_ALPHA,
        max_iter=training.STEPS,
        random_state=int(again.rng.integers(2**31)),
    ).fit(U[rows], learner.y[rows])
    kernels = learner.kernels(U[:30])
    smooth = FunctionTransformer(
        partial(rbf_kernel, Y=kernels.centers, gamma=float(kernels.sharpness[0]))
    )
    close = make_pipeline(
        smooth, LogisticRegression(C=training.KERNELS_C, max_iter=training.STEPS)
    ).fit(U, learner.y)
    pairs = ((learner.linear(), linear), (curves, splines), (kernels, close), (network, model))
    for member, theirs in pairs:
        np.testing.assert_allclose(
            shares(member, places, classes), theirs.predict_proba(places), atol=1e-9
        )


@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_are_those_of_difference_quotients(classes):
    learner, U, places = learn(classes)
    weights = np.random.default_rng(3).normal(size=(len(places), 1 if classes == 2 else classes))
    close = learner.kernels(U[:30])
    for member in (learner.linear(), learner.splines(U), close, learner.network()):
        slopes = member.slopes(places, weights)
        for j in range(places.shape[1]):
            step = np.zeros(places.shape[1])
            step[j] = 1e-6
            ahead, behind = member.scores(places + step), member.scores(places - step)
            quotient = (weights * (ahead - behind)).sum(axis=1) / 2e-6
            np.testing.assert_allclose(slopes[:, j], quotient, rtol=1e-5, atol=1e-6)


def test_inputs_mark_levels_and_scale_numbers():
    table = load_table("loans")
    density = LinearGaussianNetwork().fit(table)
    X = density.to_model(table.to_frame().iloc[:300])
    inputs = find_inputs(density, X, X)
    U = inputs(X)
    numbers = len(inputs.columns)
    np.testing.assert_allclose(U[:, :numbers].mean(axis=0), 0, atol=1e-9)
    assert set(np.unique(U[:, numbers:])) == {0.0, 1.0}
    sizes = density.encoding_.code_sizes
    ordered = [j for j in inputs.columns if j in sizes]
    few = [(j, code) for j, code, _ in inputs.joined if j not in ordered]
    assert all((X[:, int(j)] == code).sum() < 10 for j, code in few)
    levels = sum(size for j, size in sizes.items() if j not in ordered)
    assert len(inputs.marked) == levels - len(few)
    gradient = inputs.pull_back(np.ones((2, inputs.width)), X.shape[1])
    assert not gradient[:, list(sizes)].any()
    moving = inputs.columns[inputs.moving]
    np.testing.assert_allclose(gradient[0, moving], 1 / inputs.scale[inputs.moving])


def test_members_that_rest_on_too_few_rows_are_left_out():
    rng = np.random.default_rng(0)
    learner = MemberTraining(rng.normal(size=(14, 12)), np.arange(14) % 2, 2, rng)
    assert learner.linear() is None  # 13 weights need 15 rows
    assert learner.splines(learner.U) is None
    assert learner.kernels(learner.U[:3]) is not None  # 4 weights need 10 rows
    assert learner.kernels(learner.U[:1]) is None
    assert learner.network() is None
    learner = MemberTraining(rng.normal(size=(15, 12)), np.arange(15) % 2, 2, rng)
    assert learner.linear() is not None


def test_members_are_calibrated_on_rows_that_they_have_not_seen():
    table = load_table("iris")
    density = LinearGaussianNetwork().fit(table)
    trained = training.train_members(density, table)
    rows = np.concatenate([part.rows for part in trained.parts])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(table)))
    assert trained.unseen.all()
    first = trained.parts[0]
    assert len(first.members) == len(trained.members)
    assert {kind_of(m) for m in first.members} == {kind_of(m) for m in trained.members}


def test_members_come_back_from_their_arrays():
    density = LinearGaussianNetwork().fit(load_table("iris"))
    X = density.to_model(load_table("iris").to_frame())
    inputs = find_inputs(density, X, X)
    U, n = inputs(X), X.shape[1]
    again = read_inputs(arrays_of(inputs), {}, n)
    np.testing.assert_array_equal(again(X), U)
    y = np.searchsorted(density.classes_, load_table("iris").y)
    learner = MemberTraining(U, y, 3, np.random.default_rng(0))
    for made, member in (
        (Linear, learner.linear()),
        (Splines, learner.splines(U)),
        (Kernels, learner.kernels(U[:30])),
        (HiddenLayer, learner.network()),
    ):
        assert isinstance(member, made)
        other = read_member(kind_of(member), arrays_of(member), inputs, 3)
        np.testing.assert_array_equal(other.scores(U), member.scores(U))
        damaged = arrays_of(member) | {"bias": np.zeros(2)}
        with pytest.raises(ValueError, match="other names or shapes"):
            read_member(kind_of(member), damaged, inputs, 3)
    with pytest.raises(ValueError, match="do not fit its features"):
        read_inputs(arrays_of(inputs) | {"scale": np.zeros(n)}, {}, n)
