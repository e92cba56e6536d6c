from __future__ import annotations

import numpy as np
import pytest

from daace.landscape.path import (
    PANEL,
    gauss_rule,
    midpoint_rule,
    points_along,
    segment_lengths,
    segment_vectors,
    split_segment,
    straight_paths,
)


@pytest.mark.parametrize("nodes", [1, 2, 5, PANEL])
def test_gauss_is_exact_for_polynomials(nodes: int) -> None:
    rule = gauss_rule(nodes)
    for degree in range(2 * nodes):
        assert rule.weights @ rule.nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-12)


@pytest.mark.parametrize("nodes", [1, 7, 16, 32, 48, 64])
def test_rules_are_rules(nodes: int) -> None:
    for rule in (gauss_rule(nodes), midpoint_rule(nodes)):
        assert len(rule) == nodes
        assert rule.weights.sum() == pytest.approx(1)
        assert (np.diff(rule.nodes) > 0).all()
        assert 0 < rule.nodes[0] <= rule.nodes[-1] < 1
        assert rule.nodes + rule.nodes[::-1] == pytest.approx(np.ones(nodes))


def test_more_panels_see_a_narrow_bump() -> None:
    def bump(t: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((t - 0.3) / 0.01) ** 2)

    exact = 0.01 * np.sqrt(2 * np.pi)
    errors = [
        abs(gauss_rule(m).weights @ bump(gauss_rule(m).nodes) - exact) for m in (16, 128, 512)
    ]
    assert errors[0] > 10 * errors[1]
    assert errors[2] < 1e-12


def test_midpoints_are_those_of_the_paper() -> None:
    rule = midpoint_rule(19)
    assert rule.nodes[0] == pytest.approx(0.5 / 19)
    assert rule.weights == pytest.approx(np.full(19, 1 / 19))


def test_points_and_lengths_of_a_polyline() -> None:
    path = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    vectors = segment_vectors(path)
    assert vectors.tolist() == [[3, 4], [0, 0]]
    assert segment_lengths(vectors) == pytest.approx([5, 0], rel=1e-12)
    points = points_along(path, midpoint_rule(2))
    assert points.shape == (2, 2, 2)
    assert points[0] == pytest.approx(np.array([[0.75, 1.0], [2.25, 3.0]]))
    assert points[1] == pytest.approx(np.array([[3.0, 4.0], [3.0, 4.0]]))


def test_straight_paths_end_where_they_are_told() -> None:
    ends = np.array([[1.0, 0.1], [0.3, -2.0]])
    paths = straight_paths(np.array([0.2, 0.2]), ends, vertices=3)
    assert paths.shape == (2, 5, 2)
    assert np.array_equal(paths[:, -1], ends)  # to the last bit: the goal was checked there
    assert (paths[:, 0] == 0.2).all()
    assert np.diff(paths, axis=1) == pytest.approx(np.repeat((ends - 0.2)[:, None] / 4, 4, axis=1))
    several = straight_paths(np.array([[0.0, 0.0], [5.0, 5.0]]), ends, vertices=0)
    assert several[:, 0].tolist() == [[0, 0], [5, 5]]


def test_splitting_puts_a_midpoint_into_one_segment() -> None:
    paths = np.array([[[0.0], [2.0], [6.0]], [[0.0], [2.0], [6.0]]])
    longer = split_segment(paths, np.array([0, 1]))
    assert longer[..., 0].tolist() == [[0, 1, 2, 6], [0, 2, 4, 6]]
