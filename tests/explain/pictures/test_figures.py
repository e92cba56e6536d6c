from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from daace import Explanation, Table
from daace.explain.explainer import Explainer
from daace.explain.fitting import fit
from daace.explain.pictures.canvas import BORDER, PATH


def texts(figure) -> list[str]:
    """All text of a figure, drawn: a missing font or bad formula would warn here."""
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@cache
def many(features: int) -> Explainer:
    """Long names, dollar signs, scales from 1e-9 to 1e11."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 150)
    X = rng.normal(size=(300, features)) + (y == "b")[:, None] * 0.8
    X[:, 1:] -= 0.7 * X[:, :-1]
    X *= 10.0 ** rng.integers(-9, 12, features)
    names = tuple(f"share of $households$ with {j} cars_{{}}^^" * 2 for j in range(features))
    return fit(
        Table(X, y, names, np.unique(y), units=dict.fromkeys(names, "$ per m²")), judge="density"
    )


@pytest.mark.parametrize("features", [1, 2, 30, 130])
@pytest.mark.parametrize("kind", ["waterfall", "along"])
@pytest.mark.parametrize("outcome", ["found", "already_there", "goal_unreachable"])
def test_every_size_and_outcome_can_be_drawn(kind, features, outcome, ending):
    e = ending(many(features), outcome)
    for one in (e, Explanation.from_json(e.to_json())):
        shown = " ".join(texts(one.plot(kind)))
        if outcome == "already_there":
            assert shown == "Nothing changes."
        elif outcome == "goal_unreachable":
            assert shown.startswith("No path was found.")


def test_bars_of_the_waterfall_are_its_data(explanation):
    axes = explanation.plot("waterfall").axes[0]
    data = explanation.plot_data("waterfall")["contribution"]
    bars = [patch for patch in axes.patches if patch.get_height() > 0.5]
    widths = [bar.get_width() for bar in bars]
    assert widths[:12] == pytest.approx(data.head(12).tolist())
    assert sum(widths) == pytest.approx(data.sum())
    colors = {to_hex(bar.get_facecolor()).upper() for bar in bars if bar.get_width() > 0}
    assert colors == {BORDER.upper()}
    assert {to_hex(b.get_facecolor()).upper() for b in bars if b.get_width() < 0} <= {PATH.upper()}
    low, high = axes.get_xlim()
    assert all(low < bar.get_x() < high for bar in bars)  # none is cut by the frame
    assert all(low < bar.get_x() + bar.get_width() < high for bar in bars)
    words = " ".join(texts(axes.figure))
    assert "log-odds of 'benign', in nats" in words
    assert "18 other changes" in words


def test_along_shows_both_curves_and_thresholds(explanation):
    figure = explanation.plot("along")
    upper, lower = figure.axes[:2]
    data = explanation.plot_data("along")
    assert upper.lines[0].get_ydata().tolist() == data["plausibility"].tolist()
    assert lower.lines[0].get_ydata().tolist() == data["posterior"].tolist()
    assert upper.lines[1].get_ydata()[0] == explanation.provenance.plausibility
    assert lower.lines[1].get_ydata()[0] == explanation.provenance.min_posterior
    assert {"start", "counterfactual"} <= set(texts(figure))


def test_a_threshold_of_log_p_is_drawn_in_sd(simple):
    e = simple.explain([0.0, 0.0], target="well", min_log_prob=-4.0)
    draws = simple.density.draws_
    line = e.plot("along").axes[0].lines[1].get_ydata()[0]
    assert line == pytest.approx((-4.0 - draws.mean) / draws.sd)


@pytest.mark.parametrize("features", [1, 2, 30, 130])
def test_networks_of_any_size_can_be_drawn(features):
    network = many(features).network()
    words = " ".join(texts(network.plot()))
    assert "What depends on what" in words
    assert ("100 features are not shown" in words) == (features == 130)


def test_arcs_are_coloured_by_sign(explainer):
    network = explainer.network(most=5)
    axes = network.plot().axes[0]
    axes.figure.canvas.draw()
    drawn = [
        to_hex(text.arrow_patch.get_edgecolor()).upper()
        for text in axes.texts
        if getattr(text, "arrow_patch", None) is not None
    ]
    signs = network.arcs["sign"]
    assert drawn.count(BORDER.upper()) == (signs == 1).sum()
    assert drawn.count(PATH.upper()) == (signs == -1).sum()
    assert not {"raises", "lowers"} & set(texts(network.plot()))  # a network claims no causes


def test_the_tradeoff_can_be_drawn(simple):
    scan = simple.tradeoff([0.0, 0.0], target="well", penalties=(0, 1))
    shown = texts(scan.plot())
    assert "0 to 1" in shown  # the same straight line
    assert "length of the path, in standard deviations" in shown
    none = simple.tradeoff([0.0, 0.0], target="well", penalties=(0,), plausibility=50)
    assert "No path was found at any penalty." in texts(none.plot())


def test_a_check_can_be_drawn(mixture, rng):
    X, y = mixture.sample(60, rng=rng)
    check = Explainer(mixture).check(Table(X, y, mixture.features_, mixture.classes_))
    shown = texts(check.plot())
    assert "calibrated" in shown
    assert "share of the rows" in shown


def test_an_audit_can_be_drawn(simple):
    frame = pd.DataFrame({"x1": [0.0, 1.0, 4.0], "x2": 0.0, "group": ["$a$", "b" * 60, "c"]})
    audit = simple.audit(frame, by="group", target="well")
    shown = texts(audit.plot())
    assert {"cost of the path", "length of the path", "none", "100%"} <= set(shown)
