"""Figures of a study; the only module of this folder that imports matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from daace.explain.pictures.canvas import INK, QUIET, Plot
from daace.study.statistics import ALPHA, Friedman, cliques, compare_all, friedman

#: Okabe and Ito's colours, distinguishable with any colour vision, in the order of algorithms.
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#8A8A8A", "#222222")
MARKERS = "osD^vP*X"

Palette = dict[str, tuple[str, str]]


def palette(names: Sequence[str]) -> Palette:
    """Return a colour and a marker for each name, by its position.

    Args:
        names: names of the algorithms.
    """
    return {
        name: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, name in enumerate(names)
    }


def box_plot(
    scores: pd.DataFrame,
    *,
    label: str,
    log: bool = False,
    colours: Palette | None = None,
    beside: Sequence[str] = (),
) -> Plot:
    """Draw one box per algorithm: quartiles, and whiskers to the 5th and 95th percentile.

    Args:
        scores: one column per algorithm; missing or infinite if nothing was found.
        label: label of the axis.
        log: use a logarithmic axis.
        colours: colours of the algorithms; by their positions when left out.
        beside: algorithms whose boxes are hatched, as they are not compared.
    """
    figure = Plot(figsize=(6.4, 0.9 + 0.42 * scores.shape[1]), layout="constrained")
    axes = figure.add_subplot()
    _draw_boxes(axes, scores, colours or palette(list(scores.columns)), beside)
    if log:
        axes.set_xscale("log")
    _finish(axes, xlabel=label)
    return figure


def box_panels(
    panels: Mapping[str, pd.DataFrame],
    *,
    label: str,
    colours: Palette,
    beside: Sequence[str] = (),
) -> Plot:
    """Draw the boxes of several settings side by side, on one axis.

    Args:
        panels: by the name of the setting: one column per algorithm.
        label: label of the axis.
        colours: colours of the algorithms.
        beside: algorithms whose boxes are hatched.
    """
    many = max(frame.shape[1] for frame in panels.values())
    figure = Plot(figsize=(1.8 + 2.6 * len(panels), 1.4 + 0.4 * many), layout="constrained")
    grid = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for axes, (title, frame) in zip(grid, panels.items(), strict=True):
        _draw_boxes(axes, frame, colours, beside)
        axes.set_title(title, fontsize=10, color=INK)
        if axes is not grid[0]:
            axes.set_yticks(axes.get_yticks(), [""] * frame.shape[1])
        else:
            axes.set_yticks(axes.get_yticks(), list(frame.columns))
        _finish(axes, xlabel="")
    figure.supxlabel(label, fontsize=10)
    return figure


def _draw_boxes(axes: Axes, scores: pd.DataFrame, colours: Palette, beside: Sequence[str]) -> None:
    names = list(scores.columns)
    finite = scores.replace([np.inf, -np.inf], np.nan)
    data = [finite[name].dropna().to_numpy() for name in names]
    drawn = axes.boxplot(
        data, orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.6,
        patch_artist=True, medianprops={"color": INK, "linewidth": 1.6},
    )  # fmt: skip
    for box, name in zip(drawn["boxes"], names, strict=True):
        box.set(facecolor=colours[name][0], alpha=0.75, edgecolor=INK)
        if name in beside:
            box.set_hatch("///")
    counts = [f"{name}  ({len(values)})" for name, values in zip(names, data, strict=True)]
    axes.set_yticks(range(1, len(names) + 1), counts)
    axes.invert_yaxis()


def line_plot(
    medians: pd.DataFrame,
    *,
    xlabel: str,
    ylabel: str,
    colours: Palette | None = None,
    beside: Sequence[str] = (),
) -> Plot:
    """Draw a line per algorithm over a setting.

    Args:
        medians: index the setting, one column per algorithm.
        xlabel: name of the setting.
        ylabel: what is drawn.
        colours: colours of the algorithms; by their positions when left out.
        beside: algorithms whose lines are dashed, as they are not compared.
    """
    figure = Plot(figsize=(6.8, 3.8), layout="constrained")
    axes = figure.add_subplot()
    colours = colours or palette(list(medians.columns))
    for name in medians.columns:
        colour, marker = colours[name]
        style = "--" if name in beside else "-"
        axes.plot(
            medians.index, medians[name], style, color=colour, marker=marker, label=name, lw=1.6
        )
    axes.set_xticks(list(medians.index))
    _finish(axes, xlabel=xlabel, ylabel=ylabel)
    figure.legend(loc="outside right center", frameon=False, fontsize=9)
    return figure


def rank_diagram(scores: pd.DataFrame, *, beside: pd.Series | None = None) -> Plot:
    """Draw mean ranks on a line; a bar joins algorithms that do not differ significantly.

    Friedman's test, then all pairs by Bergmann and Hommel at the level of 0.05.

    Args:
        scores: one row per problem, one column per algorithm; lower is better.
        beside: the rank that further algorithms would have; drawn as open diamonds.
    """
    return rank_panels({"": scores}, beside=None if beside is None else {"": beside})


def rank_panels(
    panels: Mapping[str, pd.DataFrame], *, beside: Mapping[str, pd.Series] | None = None
) -> Plot:
    """Draw the diagram of `rank_diagram` for several settings, one below the other.

    Args:
        panels: by the name of the setting: one row per problem, one column per algorithm.
        beside: by the name of the setting, the rank that further algorithms would have.
    """
    diagrams = {title: _Ranks.of(scores) for title, scores in panels.items()}
    heights = [0.75 + 0.75 * diagram.height for diagram in diagrams.values()]
    figure = Plot(figsize=(7.0, sum(heights)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (title, diagram) in zip(grid, diagrams.items(), strict=True):
        others = (beside or {}).get(title, pd.Series(dtype=np.float64)).dropna()
        _draw_ranks(axes, diagram, others, title)
    return figure


@dataclass(frozen=True, eq=False)
class _Ranks:
    """What a critical-difference diagram shows.

    Attributes:
        test: Friedman's.
        ranks: mean ranks, the best first.
        bars: algorithms that do not differ.
    """

    test: Friedman
    ranks: pd.Series
    bars: list[tuple[str, ...]]

    @classmethod
    def of(cls, scores: pd.DataFrame) -> _Ranks:
        test, pairs = friedman(scores), compare_all(scores)
        ranks = test.mean_ranks.sort_values()
        if test.p_value < ALPHA:
            return cls(test, ranks, [b for b in cliques(pairs) if len(b) > 1])
        return cls(test, ranks, [tuple(ranks.index)])

    @property
    def depth(self) -> float:
        """Where the labels begin, below the axis and the bars."""
        return 0.28 * len(self.bars) + 0.45

    @property
    def height(self) -> float:
        """Of bars and labels."""
        return self.depth + 0.36 * ((len(self.ranks) + 1) // 2)


def _draw_ranks(axes: Axes, diagram: _Ranks, beside: pd.Series, title: str) -> None:
    ranks, count = diagram.ranks, len(diagram.ranks)
    left = list(ranks.index[: (count + 1) // 2])
    right = list(ranks.index[(count + 1) // 2 :][::-1])
    axes.set(xlim=(1 - 0.42 * (count - 1), count + 0.42 * (count - 1)), ylim=(-diagram.height, 0.7))
    axes.axis("off")
    axes.plot([1, count], [0, 0], color=INK, lw=1.2)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.1], color=INK, lw=1)
        axes.text(tick, 0.16, str(tick), ha="center", va="bottom", fontsize=9)
    for k, bar in enumerate(diagram.bars):
        low, high = (float(f([ranks[name] for name in bar])) for f in (min, max))
        y = -0.3 - 0.28 * k
        axes.plot([low - 0.05, high + 0.05], [y, y], color=INK, lw=4, solid_capstyle="butt")
    for names, end, side, sign in ((left, 0.92, "right", -1), (right, count + 0.08, "left", 1)):
        for k, name in enumerate(names):
            y = -diagram.depth - 0.36 * k
            axes.plot([ranks[name], ranks[name], end], [0, y, y], color=QUIET, lw=1)
            text = f"{name}  {ranks[name]:.2f}" if sign < 0 else f"{ranks[name]:.2f}  {name}"
            axes.text(end + 0.05 * sign, y, text, ha=side, va="center", fontsize=10)
    p = diagram.test.p_value
    words = [
        *([title] if title else []),
        f"mean rank (1 is best), {diagram.test.problems} problems; Friedman "
        + (f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"),
    ]
    text = ": ".join(words)
    for name, rank in beside.items():
        axes.plot([rank], [0], "D", ms=7, mfc="white", mec=INK, clip_on=False, zorder=5)
        text += f"\nnot compared, would rank (diamond): {name}  {rank:.2f}"
    axes.set_title(text[:1].upper() + text[1:], fontsize=10, color=INK)


def density_plot(records: Sequence[dict[str, Any]], *, measure: str, label: str) -> Plot:
    """Draw a measure of each density for each table, as a difference from the truth.

    Means; where the records have them, quartiles and the 5th and 95th percentile of the rows.

    Args:
        records: the comparison of the densities, one record per table.
        measure: entry of the record, 'nll' or 'squared_error'.
        label: label of the axis.
    """
    tables = [record["table"] for record in records]
    names = [name for name in records[0][measure] if name != "truth"]
    figure = Plot(figsize=(6.8, 1.2 + 0.34 * len(tables)), layout="constrained")
    axes = figure.add_subplot()
    spreads = [record.get("spread", {}).get(measure, {}) for record in records]
    for k, (name, (colour, marker)) in enumerate(palette(names).items()):
        values = [record[measure][name] - record[measure]["truth"] for record in records]
        rows = np.arange(len(tables), dtype=np.float64)
        if any(spreads):  # older records have means only
            rows = rows + 0.24 * (k - (len(names) - 1) / 2)
        for y, spread in zip(rows, spreads, strict=True):
            if name in spread:
                low, first, _, third, high = spread[name]
                axes.plot([low, high], [y, y], color=colour, lw=1)
                axes.plot([first, third], [y, y], color=colour, lw=4, alpha=0.5)
        axes.plot(values, rows, marker, color=colour, label=name, ms=7)
    axes.axvline(0, color=QUIET, lw=1)
    axes.set_yticks(range(len(tables)), tables)
    axes.set_ylim(len(tables) - 0.5, -0.5)
    _finish(axes, xlabel=label)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False, fontsize=9)
    return figure


def found_plot(rates: pd.DataFrame, *, label: str) -> Plot:
    """Draw shares as a table of colours.

    Args:
        rates: one row per algorithm, one column per setting.
        label: label of the columns.
    """
    figure = Plot(
        figsize=(2.6 + 0.75 * rates.shape[1], 1.3 + 0.36 * len(rates)), layout="constrained"
    )
    axes = figure.add_subplot()
    values = rates.to_numpy(dtype=float)
    axes.imshow(values, cmap="Blues", vmin=0, vmax=2.2, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        axes.text(j, i, f"{value:.0%}", ha="center", va="center", fontsize=8, color=INK)
    axes.set_xticks(range(rates.shape[1]), list(rates.columns), fontsize=8)
    axes.set_yticks(range(len(rates)), list(rates.index), fontsize=9)
    axes.tick_params(length=0)
    axes.set_xlabel(label, fontsize=9)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def _finish(axes: Axes, *, xlabel: str, ylabel: str = "") -> None:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(axis="x" if not ylabel else "y", color="#DDDDDD", lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
