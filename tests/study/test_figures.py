from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from daace.study import figures


@pytest.fixture
def scores(rng: np.random.Generator) -> pd.DataFrame:
    values = rng.normal(size=(60, 4)) + np.array([0, 0.1, 3, 6])
    return pd.DataFrame(values, columns=["a", "b", "c", "d"])


def texts(figure: figures.Plot) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_a_bar_joins_those_that_do_not_differ(scores: pd.DataFrame) -> None:
    figure = figures.rank_diagram(scores)
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() == 4]
    assert len(bars) == 1
    low, high = bars[0].get_xdata()
    assert 1 <= low < high < 2.2, "a and b"
    assert any(text.startswith("a ") for text in texts(figure))


def test_one_bar_joins_all_where_nothing_differs(rng: np.random.Generator) -> None:
    scores = pd.DataFrame(rng.normal(size=(10, 3)), columns=["a", "b", "c"])
    lines = figures.rank_diagram(scores).axes[0].lines
    assert sum(line.get_linewidth() == 4 for line in lines) == 1


def test_boxes_leave_out_what_was_not_found(scores: pd.DataFrame) -> None:
    scores.loc[:9, "a"] = np.inf
    figure = figures.box_plot(scores, label="cost")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[0] == "a  (50)"
    assert figure.axes[0].get_xlabel() == "cost"


def test_labels_do_not_overlap(scores: pd.DataFrame) -> None:
    figure = figures.rank_diagram(scores)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    overlaps = [
        (i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)
    ]
    assert overlaps == []


def test_shares_are_written_as_percent() -> None:
    figure = figures.found_plot(pd.DataFrame({"x": [0.5, 1.0]}, index=["a", "b"]), label="setting")
    assert texts(figure) == ["50%", "100%"]


def test_the_same_figure_has_the_same_bytes(scores: pd.DataFrame) -> None:
    first, second = (figures.line_plot(scores, xlabel="x", ylabel="y") for _ in range(2))
    assert first.to_svg() == second.to_svg()
