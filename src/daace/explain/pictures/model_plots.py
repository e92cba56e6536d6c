"""Pictures of a model: its network, how well it fits, how its training went."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from daace._formats import shorten
from daace._typing import FloatArray
from daace.explain.pictures.canvas import BORDER, GOAL, INK, PATH, QUIET, Plot, legend, plain, tidy


def draw_network(
    angles: Mapping[str, float],
    arcs: pd.DataFrame,
    *,
    of_class: Collection[str],
    differs: str,
    target: str,
    title: str,
    caption: str,
) -> Plot:
    """Draw a network on a circle: blue arcs are positive coefficients, orange ones negative.

    Args:
        angles: where each feature stands.
        arcs: parent, child, coefficient and sign of the arcs to draw.
        of_class: features that depend on the class.
        differs: label of arcs whose sign is not the same everywhere.
        target: name of the class.
        title: title of the picture.
        caption: below the network.
    """
    figure = Plot(figsize=(9.2, 9.0), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    colors = {1: BORDER, -1: PATH, 0: QUIET}
    largest = max(float(arcs["coefficient"].abs().max()), 1e-12) if len(arcs) else 1.0
    at = {name: (np.cos(angle), np.sin(angle)) for name, angle in angles.items()}
    for parent, child, coefficient, sign, *_ in arcs.itertuples(index=False):
        # Curves bend inwards, neighbours' most: no arc runs along the rim.
        turn = (angles[child] - angles[parent] + np.pi) % (2 * np.pi) - np.pi
        bend = 0.45 * np.sign(turn) * (1 - abs(turn) / np.pi)
        axes.annotate(
            "", at[child], xytext=at[parent], zorder=1,
            arrowprops={
                "arrowstyle": "-|>,head_width=0.22,head_length=0.45", "color": colors[sign],
                "alpha": 0.8, "linewidth": 0.6 + 2.6 * abs(coefficient) / largest,
                "connectionstyle": f"arc3,rad={-bend:.4f}", "shrinkA": 5, "shrinkB": 6,
            },
        )  # fmt: skip
    for name, angle in angles.items():
        x, y = at[name]
        face = INK if name in of_class else "white"
        axes.scatter(x, y, s=42, color=face, edgecolors=INK, linewidths=1, zorder=3)
        left = x < -1e-9
        axes.text(
            1.05 * x, 1.05 * y, plain(shorten(name, 22)), fontsize=9, color=INK, zorder=3,
            ha="right" if left else "left", va="center", rotation_mode="anchor",
            rotation=np.degrees(angle) + (180 if left else 0),
        )  # fmt: skip
    axes.set_xlim(-1.75, 1.75)
    axes.set_ylim(-1.75, 1.75)
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    axes.text(
        0.5, -0.01, plain(fill(caption, 110)), transform=axes.transAxes, ha="center", va="top",
        fontsize=9, color=INK,
    )  # fmt: skip
    handles = [Line2D([], [], color=colors[sign], linewidth=2.5) for sign in (1, -1, 0)]
    words = ["positive", "negative", differs, f"depends on {target}"]
    handles += [Line2D([], [], marker="o", linestyle="", color=INK)]
    legend(figure, handles, [plain(word) for word in words])
    return figure


def draw_check(percentiles: FloatArray, bins: pd.DataFrame) -> Plot:
    """Draw how plausible rows are among the density's draws, and how calibrated it is.

    Args:
        percentiles: percentiles of each row's log-density among the draws.
        bins: rows, confidence and accuracy of groups of rows.
    """
    figure = Plot(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(percentiles, bins=np.linspace(0, 100, 21), color=BORDER, alpha=0.85,
              weights=np.full(len(percentiles), 1 / len(percentiles)))  # fmt: skip
    left.axhline(0.05, color=GOAL, linestyle="--", linewidth=1.6, label="as many as expected")
    left.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    left.set_xlabel("percentile of log p among samples of the density")
    left.set_ylabel("share of the rows")
    left.set_title("Percentiles of the rows under the density", fontsize=11, color=INK, loc="left")
    left.legend(frameon=False)
    right.plot([0, 1], [0, 1], color=GOAL, linestyle="--", linewidth=1.6, label="calibrated")
    right.plot(bins["confidence"], bins["accuracy"], color=QUIET, linewidth=1.2)
    right.scatter(
        bins["confidence"], bins["accuracy"], s=20 + 200 * bins["rows"] / bins["rows"].sum(),
        color=PATH, zorder=3, label="rows, grouped by confidence",
    )  # fmt: skip
    for axis in (right.xaxis, right.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    low = min(0.5, float(bins["confidence"].min()), float(bins["accuracy"].min())) - 0.03
    right.set_xlim(low, 1.03)
    right.set_ylim(low, 1.03)
    right.set_xlabel("probability of the most probable class")
    right.set_ylabel("share of rows of this class")
    right.set_title("Calibration of the probabilities", fontsize=11, color=INK, loc="left")
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        tidy(axes, grid="y", hide=("top", "right"))
    return figure


def draw_history(history: pd.DataFrame) -> Plot:
    """Draw the course of a training: `draw_history(density.history_)` of a `RealNVP`."""
    figure = Plot(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(history["epoch"], history["train_loss"], color=BORDER, label="training batches")
    column = "train_loss"
    if history["validation_loss"].notna().any():
        column = "validation_loss"
        axes.plot(history["epoch"], history[column], color=PATH, label="held-out rows")
    best = history.iloc[[int(np.nanargmin(history[column]))]]
    axes.scatter(best["epoch"], best[column], s=45, color=GOAL, zorder=5, label="best epoch")
    axes.set_xlabel("epoch")
    axes.set_ylabel("-log p(x | y), nats per row")
    right = axes.twinx()
    right.step(
        history["epoch"], history["learning_rate"], where="mid", color=QUIET, linestyle=":",
        label="learning rate",
    )  # fmt: skip
    right.set_ylim(0, 1.1 * float(history["learning_rate"].max()))
    right.set_ylabel("learning rate", color=QUIET)
    axes.spines["top"].set_visible(False)
    right.spines["top"].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    more, names = right.get_legend_handles_labels()
    legend(figure, handles + more, labels + names)
    return figure
