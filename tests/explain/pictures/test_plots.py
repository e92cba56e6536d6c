from __future__ import annotations

import dataclasses
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from daace import Constraints, GaussianMixture, Table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.explain.fitting import fit

KINDS = ("overview", "steps", "landscape")


def texts(figure) -> list[str]:
    """All text of a figure, drawn: a missing font or bad formula would warn here."""
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(Text)]


@cache
def many(features: int) -> Explainer:
    """Long names, dollar signs, scales from 1e-9 to 1e11."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 150)
    X = rng.normal(size=(300, features)) + (y == "b")[:, None] * 0.8
    X *= 10.0 ** rng.integers(-9, 12, features)
    names = tuple(f"share of $households$ with {j} cars, in percent of all_{{}}^^" * 2 + str(j)
                  for j in range(features))  # fmt: skip
    table = Table(X, y, names, np.unique(y), units=dict.fromkeys(names, "$ per m²"))
    return fit(table, judge="density")


@pytest.mark.parametrize("features", [1, 2, 3, 130])
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        *[(kind, "found") for kind in KINDS],
        ("overview", "already_there"),
        ("overview", "goal_unreachable"),
    ],
)
def test_every_size_and_outcome_can_be_drawn(kind, features, outcome, ending):
    e = ending(many(features), outcome)
    shown = texts(e.plot(kind))
    if kind == "steps" and outcome == "found":
        ways = {text.replace(r"\$", "$") for text in shown if "→" in text}
        assert len(ways) == min(features, 12)
        assert all("$ per m²" in way for way in ways)


@pytest.mark.parametrize("kind", KINDS)
def test_plots_of_a_learned_model(explanation, kind):
    shown = " ".join(texts(explanation.plot(kind)))
    assert explanation.changes()["feature"].iloc[0] in shown
    assert "counterfactual" in shown
    assert "standard deviations" in shown
    if kind != "steps":
        assert "goal: 'benign' at least 75%, and plausible" in shown


def test_features_of_the_landscape_can_be_chosen(explanation):
    axes = explanation.plot("landscape", features=("mean area", "mean texture")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mean area", "mean texture")


def test_from_json_draws_the_steps(explanation):
    back = Explanation.from_json(explanation.to_json())
    assert texts(back.plot()) == texts(explanation.plot("steps"))
    with pytest.raises(InvalidInput, match="only with its density"):
        back.plot("landscape")


def test_an_unknown_kind_is_refused(explanation):
    with pytest.raises(InvalidInput, match="'kind' must be one of 'overview', 'steps'"):
        explanation.plot("pie")


def test_a_long_path_names_first_and_last_step(straight, simple):
    e = simple.explain([0.0, 0.0])
    rows = np.linspace(e.path.iloc[0], e.path.iloc[-1], 12)
    longer = dataclasses.replace(
        e,
        path=pd.DataFrame(rows, columns=e.path.columns),
        along=e.along.iloc[[0] * 12].reset_index(drop=True),
    )
    shown = texts(longer.plot())
    assert "step 1" in shown
    assert "step 10" in shown
    assert "step 5" not in shown


def test_a_figure_shows_itself_in_a_notebook(simple):
    figure = simple.explain([0.0, 0.0]).plot("steps")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_pyplot_is_not_touched():
    code = """
import sys
from daace import GaussianMixture
from daace.explain.explainer import Explainer
density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
Explainer(density).explain([0.0]).to_html()
print("matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_one_class_can_be_drawn(straight):
    density = GaussianMixture([1.0], [[0.0, 0.0]], [np.eye(2)], ["only"])
    e = Explainer(density, planner=straight).explain([3.0, 3.0], target="only")
    assert e.found
    texts(e.plot())


def test_the_course_of_a_training_can_be_drawn():
    from daace.density.flow.training import history_frame
    from daace.explain.pictures.model_plots import draw_history

    history = history_frame([[1, 3.0, 3.2, 0.1], [2, 2.0, 2.5, 0.1], [3, 1.9, 2.6, 0.09]])
    words = texts(draw_history(history))
    assert {"training batches", "held-out rows", "best epoch", "learning rate"} <= set(words)
    assert draw_history(history).to_svg() == draw_history(history).to_svg()
    words = texts(draw_history(history.assign(validation_loss=np.nan)))
    assert "held-out rows" not in words


def test_fixed_features_do_not_move_along(cancer):
    features = list(cancer.features)
    rules = Constraints(fixed=features[7:])
    e = dataclasses.replace(fit(cancer, judge="density"), changes="all").explain(
        cancer.to_frame().iloc[10], target="benign", constraints=rules, plausibility=-30
    )
    others = len(e.changes()) - 2
    assert 0 < others <= 5
    shown = " ".join(texts(e.plot("landscape")))
    assert f"; {others} other feature{'s' * (others > 1)} move{'s' * (others == 1)} along" in shown
