from __future__ import annotations

import numpy as np
import pytest

from daace.exceptions import InvalidInput
from daace.explain.answers.terrain import complete, log_odds, terrain
from daace.explain.explanation import Explanation


def test_two_features_show_the_density_itself(simple):
    e = simple.explain([0.0, 0.0])
    ground = terrain(e, size=9)
    x, y = np.meshgrid(*ground.axes)
    rows = np.column_stack([x.ravel(), y.ravel()])
    draws = simple.density.draws_
    expected = (simple.density.log_prob(rows) - draws.mean) / draws.sd
    assert ground.plausibility.ravel() == pytest.approx(expected)
    inside = simple.density.predict_proba(rows)[:, 1] >= 0.5
    assert ((ground.probable >= 0).ravel() == inside).all()
    assert ((ground.goal >= 0) == ((ground.probable >= 0) & (ground.plausible >= 0))).all()


def test_the_grid_holds_the_path(explanation):
    ground = terrain(explanation)
    assert ground.features == tuple(explanation.changes()["feature"].head(2))
    for axis, values in zip(ground.axes, ground.path.T, strict=True):
        assert axis[0] < values.min() <= values.max() < axis[-1]
    assert (ground.goal > 0).any()


def test_on_the_path_all_columns_are_those_of_the_path():
    rng = np.random.default_rng(0)
    path, cases = rng.random(size=(4, 6)).cumsum(axis=0), rng.normal(size=(500, 6))
    between = 0.5 * (path[1:] + path[:-1])
    for rows in (path, path[:1]):
        assert complete(rows[:, [1, 4]], [1, 4], path, cases) == pytest.approx(rows, abs=1e-6)
    assert complete(between[:, [1, 4]], [1, 4], path, cases) == pytest.approx(between, abs=0.02)


def test_log_odds():
    shares = np.array([0.1, 0.5, 0.999])
    assert log_odds(np.log(shares)) == pytest.approx(np.log(shares / (1 - shares)))
    assert np.isfinite(log_odds(np.array([0.0, -1e9]))).all()


@pytest.mark.parametrize("features", [("x1", "x1"), ("x1", "age"), ("x1",)])
def test_axes_are_two_different_features(simple, features):
    with pytest.raises(InvalidInput, match="'features' must be two different features"):
        terrain(simple.explain([0.0, 0.0]), features=features)


def test_without_density_there_is_no_terrain(explanation, explainer):
    text = explanation.to_json()
    with pytest.raises(InvalidInput, match="only with its density"):
        terrain(Explanation.from_json(text))
    ground = terrain(Explanation.from_json(text, density=explainer.density), size=5)
    assert ground.plausibility.shape == (5, 5)
