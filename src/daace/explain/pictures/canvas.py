"""What all pictures share: a figure that shows itself, colours, legends."""

from __future__ import annotations

import io
import warnings
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

# Okabe and Ito's colours, distinguishable with any colour vision.
PATH, GOAL, BORDER, INK, QUIET = "#D55E00", "#009E73", "#0072B2", "#222222", "#8A8A8A"


class Plot(Figure):
    """A figure that shows itself in notebooks, whether or not pyplot is in use."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=144)
        return buffer.getvalue()

    def to_svg(self) -> bytes:
        """Return the figure as SVG; the same figure gives the same bytes."""
        buffer = io.BytesIO()
        with rc_context({"svg.hashsalt": "daace"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in other scripts
            self.savefig(buffer, format="svg", dpi=150, metadata={"Date": None})
        return buffer.getvalue()


def plain(text: str) -> str:
    """Keep a user's dollar signs from being read as formulas."""
    return text.replace("$", r"\$")


def legend(figure: Figure | SubFigure, handles: list[Any], labels: list[str]) -> None:
    """Put a legend below everything else, in one or two rows."""
    rows = 1 if sum(map(len, labels)) < 60 else 2
    columns = -(-len(handles) // rows)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def tidy(axes: Axes, *, grid: Literal["x", "y", "both"], hide: tuple[str, ...]) -> None:
    """Draw a faint grid behind everything, and hide some sides of the frame."""
    axes.grid(axis=grid, color="#EEEEEE")
    axes.set_axisbelow(True)
    axes.spines[list(hide)].set_visible(False)
