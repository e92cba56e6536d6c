"""Laws of densities: they hold for every `ConditionalDensity`."""

from __future__ import annotations

import copy
import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.model_file import read_model, write_model
from daace.density.registry import DENSITIES
from daace.exceptions import InvalidInput
from daace.testing._assertions import require, require_close, require_equal
from daace.testing.code_states import follow_by_states, sums_to_one
from daace.testing.distributions import follow_by_chi_square, follow_one_distribution
from daace.testing.grids import Stretch, integrals_over_cells
from daace.testing.points import near_and_far
from daace.testing.scikit_law import parameters_are_those_of_scikit_learn

DensityLaw: TypeAlias = Callable[[ConditionalDensity, np.random.Generator], None]

#: Attributes that a density has from its table, not from `to_arrays`.
FROM_TABLE = (
    "classes_",
    "features_",
    "encoding_",
    "line_weights_",
    "target_",
    "units_",
    "standardizer_",
    "draws_",
)


def check_density(density: ConditionalDensity, *, rng: np.random.Generator | None = None) -> None:
    """Check that a fitted density obeys every law.

    Its integral and the distribution of its samples are checked with one or two features only:
    fit your density on a small table of two features and on one of several.

    Args:
        density: fitted.
        rng: source of the points at which it is checked; a fixed one when left out.

    Raises:
        AssertionError: a law does not hold; the message names it.

    Example:
        >>> from daace import GaussianMixture
        >>> check_density(GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"]))
    """
    source = np.random.default_rng(0) if rng is None else rng
    for law, stream in zip(DENSITY_LAWS, source.spawn(len(DENSITY_LAWS)), strict=True):
        law(density, stream)


def check_refits(
    density: ConditionalDensity, table: Table, *, rng: np.random.Generator | None = None
) -> None:
    """Check that fitting again gives the same density, also on shuffled rows up to rounding.

    Flows, whose batches depend on the order of the rows, are exempt from this law.

    Args:
        density: fitted on `table`.
        table: rows with their class.
        rng: source of the order and of the points; a fixed one when left out.

    Raises:
        AssertionError: it does not hold.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    again, shuffled = (type(density)(**copy.deepcopy(density.get_params())) for _ in range(2))
    again.fit(table)
    shuffled.fit(table.shuffle(rng=rng))
    X = near_and_far(density, rng)
    require_equal(again.log_joint(X), density.log_joint(X), "A second fit must be the same.")
    for name in ("quantiles", "lower", "upper", "mean", "sd"):
        same = np.array_equal(getattr(again.draws_, name), getattr(density.draws_, name))
        require(same, f"A second fit must have the same statistics of draws. '{name}' differs.")
    sentence = "A fit on shuffled rows must be the same up to rounding."
    require_close(shuffled.log_joint(X), density.log_joint(X), sentence, rel=1e-9, at_least=1e-9)


def integrates_to_one(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Over all x, p(x, y) integrates to the share of class y; with one or two features.

    With codes, the plain density is summed over them; with up to two numbers and 200 states.
    """
    if density.encoding_.code_sizes:
        sums_to_one(density, rng)
        return
    if len(density.features_) > 2:
        return
    X, y = density.sample(10_000, rng=rng)
    everywhere = np.array([[-1.0], [1.0]]) * np.ones(X.shape[1])
    shares = integrals_over_cells(density, Stretch.of(X), everywhere, 320).reshape(-1)
    sentence = "p(x) must integrate to 1."
    require_close(shares.sum(), 1.0, f"{sentence} Got {shares.sum():.6g}.", rel=0, at_least=5e-5)
    drawn = [(y == label).mean() for label in density.classes_]
    sentence = "The integral of p(x, y) must be the share of class y among the draws."
    require_close(shares, drawn, sentence, rel=0, at_least=0.02)


def samples_follow(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Draws have the distribution of the density, by a chi-square test on a grid."""
    if density.encoding_.code_sizes:
        follow_by_states(density, rng)
    elif len(density.features_) <= 2:
        follow_by_chi_square(density, rng)


def posterior_is_exact(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Bayes' rule holds near the data and 50 standard deviations away."""
    X = near_and_far(density, rng)
    joint = density.log_joint(X)
    require(np.isfinite(joint).all(), "log p(x, y) must be finite 50 standard deviations away.")
    exact = joint.astype(np.longdouble)
    top = exact.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(exact - top).sum(axis=1, keepdims=True))
    sentence = "log p(x) must be logsumexp_y log p(x, y)."
    require_close(density.log_prob(X), total[:, 0], sentence, rel=1e-13, at_least=1e-12)
    sentence = "log p(y | x) must be log p(x, y) - log p(x)."
    require_close(density.log_posterior(X), exact - total, sentence, rel=1e-9, at_least=1e-9)
    shares = density.predict_proba(X).sum(axis=1)
    require_close(shares, np.ones(len(X)), "p(y | x) must sum to 1.", rel=0, at_least=1e-12)


def gradient_is_finite_difference(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """The pullback is the derivative of log p(x, y)."""
    X = near_and_far(density, rng)
    W = rng.normal(size=(len(X), len(density.classes_)))
    gradient = density.log_joint_vjp(X, W)
    # So short a step seldom crosses a kink of a flow's ReLU units.
    step = 1e-6 * (1 + np.abs(X).max(axis=1, keepdims=True))
    difference = np.zeros_like(X)  # a code has no slope
    for column in density.encoding_.number_columns:
        e = np.eye(X.shape[1])[column]
        change = density.log_joint(X + step * e) - density.log_joint(X - step * e)
        difference[:, column] = (change * W).sum(axis=1) / (2 * step[:, 0])
    allowed = 1e-5 * np.abs(gradient).max(axis=1, keepdims=True) + 1e-7
    off = np.abs(gradient - difference) / allowed
    require(
        (off <= 1).all(),
        "The pullback must be the gradient of log p(x, y). It differs from finite differences "
        f"by {off.max():.3g} times what rounding allows.",
    )


def pullback_is_linear(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """The pullback belongs to `log_joint`, is linear and can be called again."""
    X = near_and_far(density, rng)
    rows, classes = len(X), len(density.classes_)
    W = rng.normal(size=(rows, classes))
    joint, pullback = density.log_joint_and_pullback(X)
    sentence = "'log_joint' must be the first part of 'log_joint_and_pullback'."
    require_equal(density.log_joint(X), joint, sentence)
    sentence = "'log_joint_vjp' must be the second part of 'log_joint_and_pullback'."
    require_equal(density.log_joint_vjp(X, W), pullback(W), sentence)
    each = [pullback(np.tile(np.eye(classes)[k], (rows, 1))) for k in range(classes)]
    total = pullback(np.ones((rows, classes)))
    sentence = "The pullback must be linear, and the same however often it is called."
    require_close(total, np.sum(each, axis=0), sentence, rel=1e-9, at_least=1e-9)


def rows_are_independent(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """A row alone has the density that it has in a batch, and no rows give no rows."""
    X = near_and_far(density, rng)
    alone = np.concatenate([density.log_joint(row[None]) for row in X])
    sentence = "A row alone must have the density that it has in a batch."
    require_close(alone, density.log_joint(X), sentence, rel=1e-11, at_least=1e-11)
    n, classes = X.shape[1], len(density.classes_)
    empty = np.empty((0, n))
    shapes = (
        density.log_joint(empty).shape,
        density.log_prob(empty).shape,
        density.log_joint_vjp(empty, np.empty((0, classes))).shape,
        density.sample(0, rng=rng)[0].shape,
    )
    require(shapes == ((0, classes), (0,), (0, n), (0, n)), "No rows must give no rows.")


def arrays_are_only_read(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Arrays that are passed in are not changed."""
    X = near_and_far(density, rng)
    W = np.ones((len(X), len(density.classes_)))
    kept = X.copy()
    X.flags.writeable = W.flags.writeable = False
    try:
        density.log_joint_vjp(X, W)
    except ValueError as error:
        raise AssertionError(f"'X' and 'W' must not be written to: {error}.") from None
    require_equal(X, kept, "'X' must not be changed.")


def any_numeric_array_will_do(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Numbers of any dtype and memory layout give the same density; wrong shapes are named."""
    X = np.round(density.sample(6, rng=rng)[0])
    W = np.ones((6, len(density.classes_)))
    expected, gradient = density.log_joint(X), density.log_joint_vjp(X, W)
    sentence = "float32, integers and other memory layouts must give the same density."
    for other in (X.astype(np.float32), X.astype(np.int64), np.asfortranarray(X)):
        joint, pullback = density.log_joint_and_pullback(other)  # type: ignore[arg-type]
        require_close(joint, expected, sentence, rel=1e-12, at_least=1e-12)
        require_close(pullback(W), gradient, sentence, rel=1e-12, at_least=1e-12)
    n = X.shape[1]
    for shape in ((n,), (2, n - 1), (2, n + 1), (1, 2, n)):
        try:
            density.log_prob(np.zeros(shape))
        except InvalidInput as error:
            expected_text = f"'X' must have shape (rows, {n}). Got {shape}."
            require(str(error) == expected_text, f"Expected {expected_text!r}. Got '{error}'.")
        else:
            raise AssertionError(f"'X' of shape {shape} must raise InvalidInput.")


def along_paths_is_point_by_point(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """`log_joint_to_end` is `log_joint` at the points, with the gradient of the waypoints."""
    n, classes = density.encoding_.width, len(density.classes_)
    paths, nodes = rng.normal(size=(4, 3, n)), np.array([0.1, 0.5, 1.0])
    codes = list(density.encoding_.code_sizes)
    if codes:
        paths = density.sample(12, rng=rng)[0].reshape(4, 3, n)
    points = paths[:, :-1, None] + nodes[:, None] * np.diff(paths, axis=1)[:, :, None]
    points[..., codes] = paths[:, 1:, None, codes]
    for looks in (1, 2):
        joint, there, pullback = density.log_joint_to_end(paths, nodes, looks)
        expected = density.log_joint(points.reshape(-1, n)).reshape(4, 2, 3, classes)
        sentence = "log p(x, y) along paths must be that of the points, one by one."
        require_close(joint, expected, sentence, rel=1e-9, at_least=1e-9)
        require_close(there, density.log_joint(paths[:, -1]), sentence, rel=1e-9, at_least=1e-9)
        W, V = rng.normal(size=joint.shape), rng.normal(size=(4, looks, classes))
        gradient, slopes = pullback(W, V)
        sentence = "The gradient at the ends of paths must be that of the points."
        for k in range(looks):
            slope = density.log_joint_vjp(paths[:, -1], V[:, k])
            require_close(slopes[:, k], slope, sentence, rel=1e-9, at_least=1e-9)
        pulled = density.log_joint_vjp(points.reshape(-1, n), W.reshape(-1, classes))
        pulled = pulled.reshape(points.shape)
        by_hand = np.zeros_like(paths)
        for segment in range(2):
            for node, t in enumerate(nodes):
                by_hand[:, segment] += (1 - t) * pulled[:, segment, node]
                by_hand[:, segment + 1] += t * pulled[:, segment, node]
        sentence = "The gradient of waypoints must be that of the points between them."
        require_close(gradient, by_hand, sentence, rel=1e-8, at_least=1e-8)


def same_rng_same_sample(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Draws depend on the generator and on nothing else."""
    seed = int(rng.integers(2**31))
    first, second, other = (
        density.sample(50, rng=np.random.default_rng(s)) for s in (seed, seed, seed + 1)
    )
    for one, two in zip(first, second, strict=True):
        require_equal(one, two, "The same rng must give the same sample.")
    differ = not np.array_equal(first[0], other[0])
    require(differ, "Another rng must give another sample.")


def draws_of_one_class(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Draws of a class are those that have this class among all draws."""
    everyone, classes = density.sample(20_000, rng=rng)
    for k, label in enumerate(density.classes_):
        X, y = density.sample(2_000, rng=rng, label=label)
        require((y == label).all(), f"Draws of class '{label}' must have this class.")
        members = everyone[classes == label]
        same = len(members) == 0 or follow_one_distribution(X, members)
        require(same, f"Draws of class '{label}' must be distributed like that class.")
        pooled = density.pool(label).log_joint[:, k].mean()
        sentence = f"The pool of class '{label}' must have the density of its draws."
        require_close(pooled, density.log_joint(X)[:, k].mean(), sentence, rel=0, at_least=0.5)
    for draw in (lambda: density.sample(1, rng=rng, label="?"), lambda: density.pool("?")):
        try:
            draw()
        except InvalidInput as error:
            named = "The class must be one of " in str(error)
            require(named, f"An unknown class must be named, by 'class_index'. Got '{error}'.")
        else:
            raise AssertionError("Draws of an unknown class must raise InvalidInput.")


def copies_are_bit_equal(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """A copy, a pickled copy, and one from arrays or a model file are the same, bit for bit."""
    density.pool(density.classes_[0])  # a cache that need not be copied
    _require_same(density, copy.deepcopy(density), rng, "A copy")
    _require_same(density, pickle.loads(pickle.dumps(density)), rng, "A pickled copy")
    if not density.kind:  # no model file can hold it
        return
    arrays, settings = density.to_arrays()
    floats = all(array.dtype == np.float64 for array in arrays.values())
    require(floats, "'to_arrays' must return float64 arrays.")
    stored = {name: array.copy() for name, array in arrays.items()}
    settings = json.loads(json.dumps(settings))
    if density.encoding_.code_sizes:
        settings["encoding"] = density.encoding_
    again = type(density).from_arrays(stored, settings)
    for name in FROM_TABLE:
        setattr(again, name, getattr(density, name))
    _require_same(density, again, rng, "A density rebuilt from its arrays")
    if density.kind in DENSITIES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.daace"
            write_model(path, density, {}, include_rows=True)
            _require_same(density, read_model(path)[0], rng, "A saved density")


def _require_same(
    one: ConditionalDensity, two: ConditionalDensity, rng: np.random.Generator, what: str
) -> None:
    sentence = f"{what} must be the same, bit for bit."
    X = near_and_far(one, rng)
    W = rng.normal(size=(len(X), len(one.classes_)))
    require_equal(two.log_joint(X), one.log_joint(X), sentence)
    require_equal(two.log_joint_vjp(X, W), one.log_joint_vjp(X, W), sentence)
    seed = int(rng.integers(2**31))
    drawn, again = (d.sample(30, rng=np.random.default_rng(seed)) for d in (one, two))
    require_equal(again[0], drawn[0], f"{sentence} Its draws differ.")
    require_equal(again[1], drawn[1], f"{sentence} Its draws differ.")
    require_equal(two.pool(two.classes_[1]).X, one.pool(one.classes_[1]).X, sentence)
    same = (one.resolution_, one.gaussian_) == (two.resolution_, two.gaussian_)
    require(same, f"{sentence} 'resolution_' or 'gaussian_' differs.")


def statistics_are_those_of_draws(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """`draws_` describes draws of this density."""
    draws, sentence = density.draws_, "'draws_' must describe draws: end fit by _describe_draws."
    X, _ = density.sample(10_000, rng=rng)
    log_prob = density.log_prob(X)
    middle = 6 * draws.sd / 100
    require_close(draws.mean, log_prob.mean(), sentence, rel=0, at_least=middle)
    require_close(draws.sd, log_prob.std(), sentence, rel=0.1, at_least=0)
    top = np.quantile(log_prob, 0.99)
    require_close(draws.level, top, sentence, rel=0, at_least=max(0.1, middle))
    quarters = np.quantile(log_prob, [0.25, 0.75])
    spread = (quarters[1] - quarters[0]) / 1.349
    require_close(draws.spread, spread, sentence, rel=0.08, at_least=0)
    median = draws.percentile(float(np.median(log_prob)))
    require_close(median, 50.0, sentence, rel=0, at_least=2.5)
    require((np.diff(draws.quantiles) >= 0).all(), "The quantiles of 'draws_' must not fall.")
    inside = ((draws.lower <= X) & (draws.upper >= X)).mean(axis=0)
    require((inside > 0.995).all(), "Nearly all draws must be within the box of 'draws_'.")


def rows_go_there_and_back(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Rows in user units, in any form, and in model space are the same rows."""
    X = near_and_far(density, rng)
    frame = density.to_user(X)
    names = [name for name in frame.columns if name in density.features_]
    require(
        names == list(density.features_),
        "'to_user' must return a frame with the features as columns.",
    )
    sentence = "'to_model' must undo 'to_user'."
    require_close(density.to_model(frame), X, sentence, rel=1e-12, at_least=1e-12)
    backwards = frame[list(reversed(frame.columns))].assign(**{density.target_: "anything"})
    sentence = "'to_model' must read frames with columns in any order, Series, dicts and arrays."
    require_equal(density.to_model(backwards), density.to_model(frame), sentence)
    row = density.to_model(frame)[[3]]
    forms: list[object] = [frame.iloc[3], dict(frame.iloc[3])]
    if not density.encoding_.code_sizes:
        forms.append(frame.to_numpy()[3])
    for given in forms:
        require_equal(density.to_model(given), row, sentence)


#: All laws; each is a function of a fitted density and of the rng for its points.
DENSITY_LAWS: tuple[DensityLaw, ...] = (
    integrates_to_one,
    samples_follow,
    posterior_is_exact,
    gradient_is_finite_difference,
    pullback_is_linear,
    rows_are_independent,
    arrays_are_only_read,
    any_numeric_array_will_do,
    along_paths_is_point_by_point,
    same_rng_same_sample,
    draws_of_one_class,
    copies_are_bit_equal,
    statistics_are_those_of_draws,
    rows_go_there_and_back,
    parameters_are_those_of_scikit_learn,
)
