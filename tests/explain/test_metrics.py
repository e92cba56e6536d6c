from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.explain import metrics

PATH = np.array([[0.0, 0.0, 1.0], [2.0, 0.05, 1.0], [1.0, 0.1, 1.0], [3.0, -0.04, 1.0]])


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    means = [[0.0, 0.0, 1.0], [4.0, 0.0, 1.0]]
    return GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["a", "b"])


def test_cost_is_that_of_any_landscape(density: GaussianMixture) -> None:
    for land in (Landscape(density, penalty=3.0), Landscape(density, scale="nll")):
        assert metrics.cost(PATH, land) == land.path_cost(PATH)


def test_lengths() -> None:
    assert metrics.l2(PATH) == pytest.approx(np.sqrt(9 + 0.04**2))
    assert metrics.l1_over_mad(PATH, np.array([2.0, 0.5, 1.0])) == pytest.approx(1.58)
    assert metrics.distance(PATH[0], PATH[1]) == pytest.approx(np.hypot(2, 0.05))
    assert metrics.hops(PATH) == 3


def test_sparsity_counts_changes_on_the_way() -> None:
    """Feature 2 spans 0.14, though no waypoint is more than 0.1 from the start."""
    assert metrics.path_sparsity(PATH) == 2
    assert metrics.end_sparsity(PATH) == 1
    assert metrics.path_sparsity(PATH, threshold=0.2) == 1
    pairs = [(a, b) for a in PATH for b in PATH]
    assert metrics.path_sparsity(PATH) == max(
        sum(any(abs(a[j] - b[j]) > 0.1 for a, b in pairs) for j in range(3)), 0
    )


def test_the_end_is_judged(density: GaussianMixture) -> None:
    assert metrics.log_density(PATH, density) == density.log_prob(PATH[-1:])[0]
    assert metrics.posterior(PATH, density, "b") == density.predict_proba(PATH[-1:])[0, 1]
    assert metrics.valid(PATH, density, Goal("b"))
    assert not metrics.valid(PATH[::-1], density, Goal("b"))
    with pytest.raises(InvalidInput, match=r"'target' must be one of a, b\. Got 'c'"):
        metrics.posterior(PATH, density, "c")


def test_y_nn_is_the_share_of_near_rows(rng: np.random.Generator) -> None:
    rows, labels = rng.normal(size=(50, 3)) + PATH[-1], rng.choice(["a", "b"], 50)
    order = sorted(range(50), key=lambda i: np.linalg.norm(rows[i] - PATH[-1]))
    share = np.mean([labels[i] == "b" for i in order[:7]])
    assert metrics.y_nn(PATH, rows, labels, "b", k=7) == pytest.approx(share)
    assert metrics.y_nn(PATH, rows, labels, "b", k=999) == pytest.approx((labels == "b").mean())
    with pytest.raises(InvalidInput, match="'rows' and 'labels' must be as many"):
        metrics.y_nn(PATH, rows, labels[1:], "b")


def test_who_stays_changes_nothing(density: GaussianMixture) -> None:
    stay = PATH[:1]
    assert metrics.cost(stay, Landscape(density)) == 0
    assert (metrics.l2(stay), metrics.hops(stay), metrics.path_sparsity(stay)) == (0, 0, 0)


def test_paths_are_checked() -> None:
    with pytest.raises(InvalidInput, match=r"'path' must have shape \(waypoints, features\)"):
        metrics.l2(np.zeros(3))


def test_distances_of_mixed_rows() -> None:
    """Whatever a column is: a switch is 1, ladders and numbers are shares of their range."""
    encoding = Encoding(
        (
            Feature("savings", atoms=(0.0, np.nan), fill=5.0),
            Feature("school", "ordered", levels=("low", "mid", "high"), gaps=True),
            Feature("home", "category", levels=("own", "rent", "free")),
        )
    )
    # savings, school, home, code of savings: 1 at 0, 2 missing
    start = [0.0, 0.0, 0.0, 1.0]
    rows = np.array(
        [
            start,
            [10.0, 2.0, 2.0, 0.0],
            [5.0, 3.0, 0.0, 2.0],  # both are missing
            [2.5, 1.0, 1.0, 0.0],
        ]
    )
    means = [metrics.gower(np.array([start, row]), rows, encoding) for row in rows]
    assert means == pytest.approx([0, 1, 2 / 3, (0.25 + 0.5 + 1) / 3])
    assert [metrics.l0(np.array([start, row]), encoding) for row in rows] == [0, 3, 2, 3]
    path = np.array([rows[1], rows[2]])
    assert metrics.gower_to(path, rows, encoding) == pytest.approx([2 / 3, 1, 0, 1])
    labels = np.array(["a", "b", "a", "b"])  # by codes alone, the last row would be the second
    assert metrics.y_nn(path, rows, labels, "a", k=2, encoding=encoding) == 1.0
    assert metrics.y_nn(path, rows, labels, "a", k=2) == 0.5
    numbers = Encoding.of_numbers(["a", "b", "c"])
    assert metrics.l0(PATH, numbers) == 2
    spread = np.abs(PATH[-1] - PATH[0]) / [3.0, 0.14, 1.0]
    assert metrics.gower(PATH, PATH, numbers) == pytest.approx(spread.mean())
