"""Networks with green and red arcs: what goes up together, and what goes against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from daace._typing import FloatArray
from daace.explain.pictures.canvas import INK, Plot

#: Green is positive; red and dashed is negative.
GREEN, RED = "#1A7F4B", "#C0392B"


def index_network(arcs: pd.DataFrame) -> Plot:
    """Draw class and domain indices on a circle, in the sense "high = good".

    Args:
        arcs: parent, child and effect, from `index_arcs`.
    """
    names = ["Category", *dict.fromkeys(arcs["child"])]
    figure = Plot(figsize=(7.6, 6.2), layout="constrained")
    axes = figure.add_subplot()
    labels = {name: name.removesuffix(" index") for name in names}
    draw_circle(axes, names, arcs, labels=labels, values=True)
    _legend(figure)
    return figure


def whole_network(
    arcs: pd.DataFrame, domains: Mapping[str, Sequence[str]], colours: Mapping[str, str]
) -> Plot:
    """Draw every node of the network on one circle, domain by domain, the class in the middle.

    Args:
        arcs: parent, child and effect; an arc from the class has a parent that is not a node.
        domains: nodes of each domain, its index first.
        colours: colours of the domains.
    """
    figure = Plot(figsize=(10.5, 9.0), layout="constrained")
    axes = figure.add_subplot()
    places: dict[str, FloatArray] = {}
    gap = 3  # nodes left out between two domains
    count = sum(len(names) + gap for names in domains.values())
    slot = 0
    for domain, names in domains.items():
        first = slot
        for name in names:
            angle = np.pi / 2 - 2 * np.pi * slot / count
            places[name] = np.array([np.cos(angle), np.sin(angle)])
            slot += 1
        middle = np.pi / 2 - 2 * np.pi * (first + (len(names) - 1) / 2) / count
        side = "left" if np.cos(middle) > 0 else "right"
        axes.text(
            1.09 * np.cos(middle), 1.09 * np.sin(middle), domain, fontsize=13, color=INK,
            ha=side, va="center",
        )  # fmt: skip
        slot += gap
    width = 2.2 / max(float(arcs["effect"].abs().max()), 1e-9)
    for parent, child, effect in arcs[["parent", "child", "effect"]].itertuples(index=False):
        begin = places.get(parent, np.zeros(2))
        axes.annotate(
            "", xy=tuple(places[child]), xytext=tuple(begin),
            arrowprops={
                "arrowstyle": "-|>,head_length=0.3,head_width=0.12", "alpha": 0.7,
                "color": GREEN if effect > 0 else RED, "linewidth": 0.4 + width * abs(effect),
                "linestyle": "-" if effect > 0 else (0, (4, 1.5)), "shrinkA": 4, "shrinkB": 4,
                "connectionstyle": "arc3,rad=0.25",
            },
        )  # fmt: skip
    for domain, names in domains.items():
        points = np.array([places[name] for name in names])
        axes.plot(*points[1:].T, "o", ms=6, color=colours[domain], mec="white", mew=0.5)
        axes.plot(*points[:1].T, "s", ms=12, color=colours[domain], mec=INK)
    axes.plot([0], [0], "D", ms=14, color="#E8EEF7", mec=INK)
    axes.text(0, -0.06, "category", ha="center", va="top", fontsize=11, color=INK)
    axes.set(xlim=(-1.42, 1.42), ylim=(-1.06, 1.06), aspect="equal")
    axes.axis("off")
    _legend(figure)
    return figure


def domain_networks(
    parts: Mapping[str, tuple[list[str], pd.DataFrame, dict[str, str]]],
) -> Plot:
    """Draw a network per domain: its index and some variables.

    Args:
        parts: by domain: the nodes, the arcs among them (parent, child, effect), the labels.
    """
    figure = Plot(figsize=(13.5, 4.9 * (-(-len(parts) // 3))), layout="constrained")
    grid = figure.subplots(-(-len(parts) // 3), 3, squeeze=False).ravel()
    for axes, (domain, (nodes, arcs, labels)) in zip(grid, parts.items(), strict=False):
        draw_circle(axes, list(nodes), arcs, labels=labels, values=False)
        axes.set_title(domain, fontsize=12, color=INK)
    for axes in grid[len(parts) :]:
        axes.axis("off")
    _legend(figure)
    return figure


def draw_circle(
    axes: Axes,
    names: Sequence[str],
    arcs: pd.DataFrame,
    *,
    labels: Mapping[str, str],
    values: bool,
) -> None:
    """Draw nodes on a circle, the first on top, and arcs by sign and size.

    Args:
        axes: where to.
        names: names of the nodes.
        arcs: parent, child and effect; those with an end elsewhere are left out.
        labels: labels of the nodes.
        values: whether the effects are written beside the arcs.
    """
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    place = {n: np.array([np.cos(a), np.sin(a)]) for n, a in zip(names, angle, strict=True)}
    shown = arcs[arcs["parent"].isin(names) & arcs["child"].isin(names)]
    size = 9.0 if values else 7.5
    texts = {n: fill(labels[n], 17, break_long_words=False) for n in names}
    largest = max(float(shown["effect"].abs().max()) if len(shown) else 0.0, 1e-9)
    for parent, child, effect in shown[["parent", "child", "effect"]].itertuples(index=False):
        begin, end = place[parent], place[child]
        colour, line = (GREEN, "-") if effect > 0 else (RED, (0, (4, 1.5)))
        width = 0.8 + 2.6 * abs(effect) / largest
        axes.annotate(
            "", xy=tuple(end), xytext=tuple(begin),
            arrowprops={
                "arrowstyle": "-|>,head_length=0.5,head_width=0.25", "color": colour,
                "linewidth": width, "linestyle": line,
                "shrinkA": _reach(texts[parent], size, end - begin),
                "shrinkB": _reach(texts[child], size, end - begin) + 2,
                "connectionstyle": "arc3,rad=0.12", "alpha": 0.9,
            },
        )  # fmt: skip
        if values:
            across = np.array([begin[1] - end[1], end[0] - begin[0]])
            middle = begin + 0.42 * (end - begin) - 0.055 * across
            axes.text(
                middle[0], middle[1], f"{effect:+.2f}", fontsize=8, color=colour, ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.9},
            )  # fmt: skip
    for number, name in enumerate(names):
        axes.text(
            place[name][0], place[name][1], texts[name], ha="center", va="center",
            fontsize=size, color=INK,
            fontweight="bold" if number == 0 else "normal",
            bbox={
                "boxstyle": "round,pad=0.35", "edgecolor": "#777777", "linewidth": 0.9,
                "facecolor": "#E8EEF7" if number == 0 else "white",
            },
        )  # fmt: skip
    axes.set(xlim=(-1.42, 1.42), ylim=(-1.25, 1.25))
    axes.axis("off")


def _reach(text: str, size: float, direction: FloatArray) -> float:
    """Return how far a label's box reaches from its middle in a direction, in points.

    From the number of letters and lines: the box itself is known only once it is drawn, and arrows
    that end far from a wide box, or under it, are hard to read.
    """
    lines = text.split("\n")
    half = np.array([0.29 * size * max(map(len, lines)), 0.62 * size * len(lines)]) + 0.35 * size
    towards = np.abs(direction) / np.linalg.norm(direction)
    return float(np.min(half / np.maximum(towards, 1e-9)))


def _legend(figure: Plot) -> None:
    lines = (
        (GREEN, "-", "positive: they rise together"),
        (RED, (0, (4, 1.5)), "negative: one falls as the other rises"),
    )
    handles = [Line2D([], [], color=c, lw=2, ls=ls, label=text) for c, ls, text in lines]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
