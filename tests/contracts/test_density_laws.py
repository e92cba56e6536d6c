"""Laws that hold for every density; a new one is one more line in `DENSITIES`."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from daace._typing import FloatArray
from daace.data.synthetic import MixtureParameters, draw_table, moons, random_mixture
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.exceptions import InvalidInput


class Case(NamedTuple):
    """How to make a density from a mixture and rows drawn of it."""

    make: Callable[[MixtureParameters, Table], ConditionalDensity]
    order_free: bool = True  # other batches do not make another model


def _flow(table: Table) -> ConditionalDensity:
    """Train a small flow for a few epochs: the laws hold however well it fits."""
    pytest.importorskip("torch", reason="a flow is trained with torch")
    return RealNVP(flows=4, layers=2, hidden=4, epochs=15, batches=10, learning_rate=5e-3).fit(
        table
    )


DENSITIES = {
    "linear-gaussian": Case(lambda _, table: LinearGaussianNetwork().fit(table)),
    "kde": Case(lambda _, table: KernelDensity(bandwidth=0.3).fit(table)),
    "realnvp": Case(lambda _, table: _flow(table), order_free=False),
    "gaussian-mixture": Case(lambda parameters, _: GaussianMixture(*parameters)),
}
NAMES_OF_A_FIT = ("classes_", "features_", "target_", "units_", "standardizer_", "draws_")


def _in_the_plane() -> tuple[MixtureParameters, Table]:
    parameters = moons(width=0.3, components=8)
    return parameters, draw_table(parameters, 300, rng=np.random.default_rng(1))


def _in_five_dimensions() -> tuple[MixtureParameters, Table]:
    parameters = random_mixture(5, classes=3, rng=np.random.default_rng(2))
    return parameters, draw_table(parameters, 400, rng=np.random.default_rng(3))


@pytest.fixture(scope="module", params=DENSITIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def plane(name: str) -> ConditionalDensity:
    """A density of 2 features and 2 classes."""
    return DENSITIES[name].make(*_in_the_plane())


@pytest.fixture(scope="module")
def five(name: str) -> ConditionalDensity:
    """A density of 5 features and 3 classes."""
    return DENSITIES[name].make(*_in_five_dimensions())


def _near_and_far(density: ConditionalDensity) -> FloatArray:
    """Return 40 draws, and 40 points 50 standard deviations away in random directions."""
    rng = np.random.default_rng(4)
    X, _ = density.sample(40, rng=rng)
    directions = rng.normal(size=X.shape)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    far = X.mean(axis=0) + 50 * X.std(axis=0) * directions
    return np.concatenate([X, far])


def _midpoints(edges: FloatArray, pieces: int) -> FloatArray:
    count = (len(edges) - 1) * pieces
    return np.asarray(edges[0] + (edges[-1] - edges[0]) * (np.arange(count) + 0.5) / count)


def _integrals(
    density: ConditionalDensity, across: FloatArray, down: FloatArray, pieces: int
) -> FloatArray:
    """Return the integral of p(x, y=k) over each cell of a grid, by `pieces`^2 midpoints each."""
    u, v = _midpoints(across, pieces), _midpoints(down, pieces)
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    p = np.exp(density.log_joint(points)) * (u[1] - u[0]) * (v[1] - v[0])
    cells = p.reshape(len(across) - 1, pieces, len(down) - 1, pieces, -1)
    return np.asarray(cells.sum(axis=(1, 3)))


def test_integrates_to_one_and_each_class_to_its_share(plane: ConditionalDensity) -> None:
    X, y = plane.sample(10_000, rng=np.random.default_rng(5))
    low, high = X.min(axis=0) - 4, X.max(axis=0) + 4
    shares = _integrals(plane, np.array([low[0], high[0]]), np.array([low[1], high[1]]), 320)[0, 0]
    assert shares.sum() == pytest.approx(1, abs=1e-5)
    drawn = [(y == label).mean() for label in plane.classes_]
    assert shares == pytest.approx(drawn, abs=0.02)


def test_samples_follow_the_density(plane: ConditionalDensity) -> None:
    draws = 20_000
    X, y = plane.sample(draws, rng=np.random.default_rng(6))
    low, high = np.percentile(X, [1, 99], axis=0)
    across, down = np.linspace(low, high, 11).T
    expected = draws * _integrals(plane, across, down, 12)
    seen = np.stack(
        [
            np.histogram2d(X[y == label, 0], X[y == label, 1], bins=[across, down])[0]
            for label in plane.classes_
        ],
        axis=-1,
    )
    enough = expected >= 5
    # Everything outside the grid or too thin to count is one more cell.
    expected = np.append(expected[enough], draws - expected[enough].sum())
    seen = np.append(seen[enough], draws - seen[enough].sum())
    chi_square = ((seen - expected) ** 2 / expected).sum()
    freedom = len(seen) - 1
    assert freedom > 80
    assert chi_square < freedom + 4 * np.sqrt(2 * freedom)


def test_posterior_is_exact_near_and_far(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    joint = five.log_joint(X)
    assert np.isfinite(joint).all()
    exact = joint.astype(np.longdouble)
    top = exact.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(exact - top).sum(axis=1, keepdims=True))
    assert five.log_prob(X) == pytest.approx(np.asarray(total[:, 0], np.float64), rel=1e-13)
    posterior = five.log_posterior(X)
    assert posterior == pytest.approx(np.asarray(exact - total, np.float64), rel=1e-9, abs=1e-9)
    assert five.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    # Far away one class wins by many nats; an underflow would make them equal.
    far = posterior[len(X) // 2 :]
    assert np.median(far.max(axis=1) - far.min(axis=1)) > 10


def test_gradient_is_the_finite_difference(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    W = np.random.default_rng(7).normal(size=(len(X), len(five.classes_)))
    gradient = five.log_joint_vjp(X, W)
    # So short a step seldom crosses a kink of a flow's ReLU units.
    step = 1e-6 * (1 + np.abs(X).max(axis=1, keepdims=True))
    difference = np.stack(
        [
            ((five.log_joint(X + step * e) - five.log_joint(X - step * e)) * W).sum(axis=1)
            / (2 * step[:, 0])
            for e in np.eye(X.shape[1])
        ],
        axis=1,
    )
    size = np.abs(gradient).max(axis=1, keepdims=True)
    assert (np.abs(gradient - difference) <= 1e-5 * size + 1e-7).all()


def test_vjp_is_the_pullback(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    W = np.random.default_rng(8).normal(size=(len(X), len(five.classes_)))
    joint, pullback = five.log_joint_and_pullback(X)
    assert np.array_equal(five.log_joint(X), joint)
    assert np.array_equal(five.log_joint_vjp(X, W), pullback(W))


def test_pullback_is_linear_and_can_be_called_again(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    _, pullback = five.log_joint_and_pullback(X)
    rows, classes = len(X), len(five.classes_)
    each = [pullback(np.tile(np.eye(classes)[k], (rows, 1))) for k in range(classes)]
    total = pullback(np.ones((rows, classes)))
    assert total == pytest.approx(np.sum(each, axis=0), rel=1e-9, abs=1e-9)


def test_a_row_alone_scores_as_in_a_batch(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    together = five.log_joint(X)
    alone = np.concatenate([five.log_joint(row[None]) for row in X])
    assert alone == pytest.approx(together, rel=1e-11, abs=1e-11)


def test_rows_are_only_read(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    kept = X.copy()
    X.flags.writeable = False
    W = np.ones((len(X), len(five.classes_)))
    W.flags.writeable = False
    five.log_joint_vjp(X, W)
    assert np.array_equal(X, kept)


def test_any_array_of_numbers_will_do(five: ConditionalDensity) -> None:
    X = np.round(five.sample(6, rng=np.random.default_rng(9))[0])
    expected = five.log_joint(X)
    assert five.log_joint(X.astype(np.float32)) == pytest.approx(expected, rel=1e-12)
    assert five.log_joint(X.astype(np.int64)) == pytest.approx(expected, rel=1e-12)
    assert five.log_joint(np.asfortranarray(X)) == pytest.approx(expected, rel=1e-12)
    gradient = five.log_joint_vjp(X, np.ones((6, 3)))
    for kind in (np.float32, np.int64):
        joint, pullback = five.log_joint_and_pullback(X.astype(kind))  # type: ignore[arg-type]
        assert joint == pytest.approx(expected, rel=1e-12)
        assert pullback(np.ones((6, 3))) == pytest.approx(gradient, rel=1e-12)


@pytest.mark.parametrize("looks", [1, 2])
def test_along_paths_and_at_their_ends_is_point_by_point(
    five: ConditionalDensity, looks: int
) -> None:
    rng = np.random.default_rng(11)
    paths, nodes = rng.normal(size=(4, 3, 5)), np.array([0.1, 0.5, 1.0])
    joint, there, pullback = five.log_joint_to_end(paths, nodes, looks)
    assert joint.shape == (4, 2, 3, 3)
    points = paths[:, :-1, None] + nodes[:, None] * np.diff(paths, axis=1)[:, :, None]
    expected = five.log_joint(points.reshape(-1, 5)).reshape(joint.shape)
    assert joint == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert there == pytest.approx(five.log_joint(paths[:, -1]), rel=1e-9, abs=1e-9)

    W, V = rng.normal(size=joint.shape), rng.normal(size=(4, looks, 3))
    gradient, slopes = pullback(W, V)
    for k in range(looks):
        slope = five.log_joint_vjp(paths[:, -1], V[:, k])
        assert slopes[:, k] == pytest.approx(slope, rel=1e-9, abs=1e-9)
    pulled = five.log_joint_vjp(points.reshape(-1, 5), W.reshape(-1, 3)).reshape(points.shape)
    by_hand = np.zeros_like(paths)
    for segment in range(2):
        for node, t in enumerate(nodes):
            by_hand[:, segment] += (1 - t) * pulled[:, segment, node]
            by_hand[:, segment + 1] += t * pulled[:, segment, node]
    assert gradient == pytest.approx(by_hand, rel=1e-8, abs=1e-8)


def test_no_rows_give_no_rows(five: ConditionalDensity) -> None:
    X = np.empty((0, 5))
    assert five.log_joint(X).shape == (0, 3)
    assert five.log_prob(X).shape == (0,)
    assert five.log_joint_vjp(X, np.empty((0, 3))).shape == (0, 5)
    assert five.sample(0, rng=np.random.default_rng(0))[0].shape == (0, 5)


@pytest.mark.parametrize("shape", [(5,), (2, 4), (2, 6), (1, 2, 5)])
def test_wrong_shapes_are_named(five: ConditionalDensity, shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"'X' must have shape \(rows, 5\)\. Got \("):
        five.log_prob(np.zeros(shape))


def test_same_rng_same_sample(five: ConditionalDensity) -> None:
    first = five.sample(50, rng=np.random.default_rng(10))
    second = five.sample(50, rng=np.random.default_rng(10))
    other = five.sample(50, rng=np.random.default_rng(11))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
    assert not np.array_equal(first[0], other[0])


def test_draws_of_one_class(five: ConditionalDensity) -> None:
    for k, label in enumerate(five.classes_):
        X, y = five.sample(2_000, rng=np.random.default_rng(12), label=label)
        assert (y == label).all()
        everyone, classes = five.sample(20_000, rng=np.random.default_rng(13))
        members = everyone[classes == label]
        error = X.std(axis=0) * np.sqrt(1 / len(X) + 1 / len(members))
        assert (np.abs(X.mean(axis=0) - members.mean(axis=0)) < 5 * error).all()
        assert five.pool(label).log_joint[:, k].mean() == pytest.approx(
            five.log_joint(X)[:, k].mean(), abs=0.5
        )


def test_unknown_class_is_named(five: ConditionalDensity) -> None:
    message = r"The class must be one of 'c0', 'c1', 'c2'\. Got 'c9'\."
    with pytest.raises(InvalidInput, match=message):
        five.sample(1, rng=np.random.default_rng(0), label="c9")
    with pytest.raises(InvalidInput, match=message):
        five.pool("c9")


def test_rebuilt_from_arrays_it_is_bit_equal(five: ConditionalDensity) -> None:
    arrays, settings = five.to_arrays()
    stored = {name: array.copy() for name, array in arrays.items()}
    again = type(five).from_arrays(stored, json.loads(json.dumps(settings)))
    for attribute in NAMES_OF_A_FIT:
        setattr(again, attribute, getattr(five, attribute))
    _assert_bit_equal(five, again)
    assert all(array.dtype == np.float64 for array in arrays.values())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_copy_is_bit_equal(
    five: ConditionalDensity, duplicate: Callable[[ConditionalDensity], ConditionalDensity]
) -> None:
    five.pool(five.classes_[0])  # a cache that need not travel
    _assert_bit_equal(five, duplicate(five))


def _assert_bit_equal(one: ConditionalDensity, two: ConditionalDensity) -> None:
    X = _near_and_far(one)
    W = np.random.default_rng(14).normal(size=(len(X), len(one.classes_)))
    assert np.array_equal(one.log_joint(X), two.log_joint(X))
    assert np.array_equal(one.log_joint_vjp(X, W), two.log_joint_vjp(X, W))
    drawn, labels = one.sample(30, rng=np.random.default_rng(15))
    again, same_labels = two.sample(30, rng=np.random.default_rng(15))
    assert np.array_equal(drawn, again)
    assert np.array_equal(labels, same_labels)
    assert np.array_equal(one.pool(one.classes_[1]).X, two.pool(two.classes_[1]).X)
    assert (one.resolution_, one.gaussian_) == (two.resolution_, two.gaussian_)


def test_the_order_of_the_rows_does_not_matter(name: str, five: ConditionalDensity) -> None:
    case = DENSITIES[name]
    parameters, table = _in_five_dimensions()
    other = case.make(parameters, table.shuffle(rng=np.random.default_rng(16)))
    if not case.order_free:  # other batches, hence another model: one that fits as well
        rows = five.to_model(table.to_frame())
        assert other.log_prob(rows).mean() == pytest.approx(five.log_prob(rows).mean(), abs=0.3)
        return
    X = _near_and_far(five)
    assert other.log_joint(X) == pytest.approx(five.log_joint(X), rel=1e-9, abs=1e-9)
    if isinstance(five, LinearGaussianNetwork):
        assert isinstance(other, LinearGaussianNetwork)
        assert other.arcs_ == five.arcs_


def test_statistics_of_the_draws(name: str, five: ConditionalDensity) -> None:
    draws = five.draws_
    again = DENSITIES[name].make(*_in_five_dimensions()).draws_
    assert (draws.mean, draws.sd) == (again.mean, again.sd)
    for attribute in ("quantiles", "lower", "upper"):
        assert np.array_equal(getattr(draws, attribute), getattr(again, attribute))

    X, _ = five.sample(10_000, rng=np.random.default_rng(17))
    log_prob = five.log_prob(X)
    assert draws.mean == pytest.approx(log_prob.mean(), abs=6 * draws.sd / 100)
    assert draws.sd == pytest.approx(log_prob.std(), rel=0.05)
    assert draws.level == pytest.approx(np.quantile(log_prob, 0.99), abs=0.1)
    quarters = np.quantile(log_prob, [0.25, 0.75])
    assert draws.spread == pytest.approx((quarters[1] - quarters[0]) / 1.349, rel=0.08)
    assert draws.percentile(float(np.median(log_prob))) == pytest.approx(50, abs=2)
    assert (np.diff(draws.quantiles) >= 0).all()
    inside = ((draws.lower <= X) & (draws.upper >= X)).mean(axis=0)
    assert (inside > 0.999).all()


def test_rows_of_the_user_and_of_the_model(five: ConditionalDensity) -> None:
    X = _near_and_far(five)
    frame = five.to_user(X)
    assert list(frame.columns) == list(five.features_)
    assert five.to_model(frame) == pytest.approx(X, rel=1e-12, abs=1e-12)
    backwards = frame[list(reversed(frame.columns))].assign(**{five.target_: "anything"})
    assert np.array_equal(five.to_model(backwards), five.to_model(frame))
    assert np.array_equal(five.to_model(frame.iloc[3]), five.to_model(frame)[[3]])
    assert np.array_equal(five.to_model(dict(frame.iloc[3])), five.to_model(frame)[[3]])
    assert np.array_equal(five.to_model(frame.to_numpy()[3]), five.to_model(frame)[[3]])


def test_parameters_are_read_changed_and_cloned_as_in_scikit_learn(
    plane: ConditionalDensity,
) -> None:
    from sklearn.base import clone

    params = plane.get_params()
    assert repr(type(plane)(**params)) == repr(plane)
    copied = clone(plane)
    assert type(copied) is type(plane)
    assert copied is not plane
    for name, value in copied.get_params().items():
        assert np.array_equal(value, params[name], equal_nan=False), name
    learned = isinstance(plane, GaussianMixture)  # its parameters are all there is to learn
    assert ("standardizer_" in vars(copied)) == learned
    assert copied.set_params(**params) is copied
    with pytest.raises(
        InvalidInput, match=f"'depth' must be an argument of {type(plane).__name__}"
    ):
        copied.set_params(depth=3)


def test_what_was_learned_stays_when_parameters_are_set_again(plane: ConditionalDensity) -> None:
    X = _near_and_far(plane)
    before = plane.log_joint(X)
    same = copy.copy(plane).set_params(**plane.get_params())
    assert np.array_equal(same.log_joint(X), before)
