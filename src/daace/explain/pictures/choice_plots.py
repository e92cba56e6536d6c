"""Pictures of several answers: trade-offs, fronts, groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter

from daace._formats import shorten
from daace.explain.pictures.canvas import BORDER, INK, PATH, QUIET, Plot, plain, tidy


def draw_tradeoff(data: pd.DataFrame) -> Plot:
    """Draw the mean log-density of each path over its length; see `Tradeoff.to_frame`."""
    figure = Plot(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    data = data[data["found"]]
    if data.empty:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "No path was found at any penalty.", ha="center", color=INK)
        return figure
    axes.plot(data["length"], data["log_prob"], color=QUIET, linewidth=1.4)
    axes.scatter(data["length"], data["log_prob"], s=60, color=PATH, zorder=3)
    for _, same in data.groupby([data["length"].round(9), data["log_prob"].round(9)]):
        point, first, last = same.iloc[0], same["penalty"].iloc[0], same["penalty"].iloc[-1]
        label = f"{first:g}" if first == last else f"{first:g} to {last:g}"
        axes.annotate(
            label, (point["length"], point["log_prob"]), xytext=(7, -4),
            textcoords="offset points", color=INK, va="top",
        )  # fmt: skip
    axes.set_xlabel("length of the path, in standard deviations")
    axes.set_ylabel("mean log p along the path, in nats")
    axes.set_title(
        "Short or plausible: each point is the path at a penalty",
        fontsize=11,
        color=INK,
        loc="left",
    )
    axes.margins(0.12)
    tidy(axes, grid="both", hide=("top", "right"))
    return figure


def draw_front(data: pd.DataFrame, *, target: object, asked: float) -> Plot:
    """Draw cost against plausibility, coloured by the probability of the target.

    Args:
        data: see `ExplanationFront.to_frame`.
        target: the class asked for.
        asked: smallest probability of it.
    """
    figure = Plot(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    if data.empty:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "No path to the goal was found.", ha="center", color=INK)
        return figure
    points = axes.scatter(
        data["cost"], data["percentile"], c=data["posterior"], cmap="viridis", vmin=asked, vmax=1,
        s=64, edgecolors="white", linewidths=0.6,
    )  # fmt: skip
    share = FuncFormatter(lambda value, _: f"{100 * value:g}%")
    bar = figure.colorbar(points, ax=axes, pad=0.02, format=share)
    bar.set_label(plain(f"probability of '{shorten(str(target), 30)}' at the end"))
    bar.outline.set_visible(False)
    axes.set_ylim(-4, 104)
    axes.set_xlabel("cost of the path")
    axes.set_ylabel("end is more plausible than this % of cases")
    title = (
        "One path: none is more plausible or more certain"
        if len(data) == 1
        else f"{len(data)} paths: cost, plausibility and probability"
    )
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    tidy(axes, grid="both", hide=("top", "right"))
    return figure


def draw_audit(data: pd.DataFrame, *, target: str, by: str) -> Plot:
    """Draw found rate, cost and length of the paths by group.

    Args:
        data: see `Audit.to_frame`.
        target: the class asked for.
        by: name of the grouping.
    """
    names = [plain(shorten(str(name), 24)) for name in data.index]
    rows = np.arange(len(data))
    figure = Plot(figsize=(11.5, 1.8 + 0.45 * len(data)), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    kinds = (
        ("found", "found", "a path is found"),
        ("cost", "median cost", "cost of the path"),
        ("length", "median length, in sd", "length of the path"),
        ("changes", "mean number", "features that change"),
    )
    for axes, (column, unit, title) in zip(panels, kinds, strict=True):
        values = data[column].to_numpy(dtype=np.float64)
        axes.barh(rows, np.nan_to_num(values), color=BORDER, height=0.62)
        for row, value in zip(rows, values, strict=True):
            text = f"{100 * value:.3g}%" if column == "found" else f"{value:.3g}"
            text = "none" if np.isnan(value) else text
            axes.annotate(
                text, (np.nan_to_num(value), row), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8.5, color=INK,
            )  # fmt: skip
        axes.set_xlabel("share of rows that need a path" if column == "found" else unit)
        axes.set_title(title, fontsize=11, color=INK, loc="left")
        axes.margins(x=0.22)
        axes.set_xlim(left=0)
        if column == "found":
            axes.set_xlim(0, 1.25)
            axes.xaxis.set_major_locator(FixedLocator([0.0, 0.5, 1.0]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
        tidy(axes, grid="x", hide=("top", "right", "left"))
        axes.yaxis.set_tick_params(length=0)
    panels[0].set_yticks(rows, names)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.suptitle(
        plain(f"Paths to '{shorten(target, 30)}' by {shorten(by, 30)}"),
        fontsize=12, color=INK,
    )  # fmt: skip
    return figure
