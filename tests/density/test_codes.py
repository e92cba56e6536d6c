"""Codes and atoms in a density that is known exactly."""

import numpy as np
import pytest
from scipy.stats import norm

from daace import GaussianMixture
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.density.bayes import log_sum_exp
from daace.density.codes import parents_first
from daace.exceptions import InvalidInput


@pytest.fixture(scope="module")
def mixture():
    """Return two numbers, the first with an atom at 0 and gaps, and two categories."""
    encoding = Encoding(
        (
            Feature("savings", atoms=(0.0, np.nan), fill=1.5),
            Feature("housing", "category", levels=("own", "rent"), dtype="str"),
            Feature("age"),
            Feature("job", "ordered", levels=(1, 2, 3), dtype="int64"),
        )
    )
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(3, 2, 2)) / 2
    return GaussianMixture(
        [1, 2, 3],
        rng.normal(size=(3, 2)),
        roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(2),
        ["no", "yes", "no"],
        tables=[rng.dirichlet(np.ones(size), 3) for size in (2, 3, 3)],
        encoding=encoding,
    )


def slow_log_joint(m, x):
    """Return log p(x, y) of one row, component by component, by the definition."""
    columns = list(m.encoding_.code_sizes)
    total = {label: [] for label in m.classes_}
    for c, label in enumerate(m.labels):
        log = np.log(m.weights[c])
        for table, column in zip(m.tables, columns, strict=True):
            log += np.log(table[c, int(x[column])])
        (a, b), ((aa, ab), (_, bb)) = m.means[c], m.covariances[c]
        if x[4] == 0:
            log += norm.logpdf(x[0], a, np.sqrt(aa)) - m.line_weights_[0]
        log += norm.logpdf(x[2], b + ab / aa * (x[0] - a), np.sqrt(bb - ab**2 / aa))
        total[label].append(log)
    return [np.logaddexp.reduce(total[label]) for label in m.classes_]


def test_log_joint_is_that_of_the_definition(mixture):
    X, _ = mixture.sample(200, rng=np.random.default_rng(0))
    assert len(np.unique(X[:, 4])) == 3
    assert mixture.log_joint(X) == pytest.approx(np.array([slow_log_joint(mixture, x) for x in X]))


def test_draws_stand_at_their_atoms(mixture):
    X, _ = mixture.sample(5_000, rng=np.random.default_rng(1))
    assert np.all(X[X[:, 4] == 1, 0] == 0.0)
    assert np.all(X[X[:, 4] == 2, 0] == 1.5)
    shares = np.array([np.mean(X[:, 3] == code) for code in range(3)])
    assert shares == pytest.approx(mixture.weights @ mixture.tables[1], abs=0.02)


def test_the_weight_of_a_line_is_the_mean_conditional_log_density(mixture):
    X, _ = mixture.sample(3_000, rng=np.random.default_rng(2))
    there = X[X[:, 4] == 0]
    grid = np.linspace(-12, 12, 1_001)
    plain = mixture.log_prob(there) + mixture.log_measure(there)
    logs = np.empty((len(there), len(grid)))
    for k, value in enumerate(grid):
        moved = there.copy()
        moved[:, 0] = value
        logs[:, k] = mixture.log_prob(moved) + mixture.log_measure(moved)
    conditional = plain - log_sum_exp(logs) - np.log(grid[1] - grid[0])
    error = conditional.std() / np.sqrt(len(there))
    assert abs(conditional.mean() - mixture.line_weights_[0]) < 4 * error


def test_segments_have_the_codes_of_their_last_waypoint(mixture):
    X, _ = mixture.sample(24, rng=np.random.default_rng(4))
    paths, nodes = X.reshape(6, 4, 5), np.array([0.1, 0.7])
    joint, pullback = mixture.log_joint_along(paths, nodes)
    again, slow = super(GaussianMixture, mixture).log_joint_along(paths, nodes)
    assert joint == pytest.approx(again)
    W = np.random.default_rng(5).normal(size=joint.shape)
    assert pullback(W) == pytest.approx(slow(W))
    assert not pullback(W)[..., list(mixture.encoding_.code_sizes)].any()
    one_pass = super(GaussianMixture, mixture).log_joint_to_end(paths, nodes, 1)
    assert one_pass[1] == pytest.approx(mixture.log_joint(paths[:, -1]))


def test_rows_come_back_in_the_users_dtypes(mixture):
    X, _ = mixture.sample(50, rng=np.random.default_rng(6))
    frame = mixture.to_user(X)
    assert frame["job"].dtype == np.int64
    assert frame["savings"].isna().sum() == (X[:, 4] == 2).sum()
    assert np.array_equal(mixture.to_model(frame), X)


def test_codes_that_do_not_exist_are_refused(mixture):
    with pytest.raises(InvalidInput, match=r"\('housing'\) must have codes 0 to 1"):
        mixture.log_joint(np.array([[0.0, 0.5, 0.0, 1.0, 0.0]]))


def test_parents_must_not_have_a_cycle():
    with pytest.raises(ValueError, match="cycle"):
        parents_first(np.array([1, 0]))
