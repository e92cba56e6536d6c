"""Charts: changes by group, most changed variables, three counties, measures of the algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from daace.eqi.report.colours import DOMAIN_COLOURS
from daace.explain.pictures.canvas import INK, Plot

#: Of the algorithms, as Okabe and Ito's.
ALGORITHM_COLOURS = {
    "BayesACE": "#0072B2",
    "DAACE": "#56B4E9",
    "FACE": "#D55E00",
    "Wachter": "#8A8A8A",
}


def changes_by_group(means: pd.DataFrame, counts: Mapping[str, int], *, xlabel: str) -> Plot:
    """Draw bars: the mean change of each domain index, group by group.

    Args:
        means: a row per group, a column per domain; high = good.
        counts: counties in each group.
        xlabel: name of the groups.
    """
    figure = Plot(figsize=(8.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / means.shape[1]
    for j, domain in enumerate(means.columns):
        at = np.arange(len(means)) + (j - (means.shape[1] - 1) / 2) * width
        axes.bar(at, means[domain], width, color=DOMAIN_COLOURS[domain], label=domain)
    labels = [f"{name}\n({counts[name]} counties)" for name in means.index]
    axes.set_xticks(range(len(means)), labels, fontsize=9)
    axes.axhline(0, color=INK, lw=0.9)
    _finish(axes, xlabel=xlabel, ylabel="mean change of the index, in sd\n(up is better)")
    axes.set_title("Where improvement is planned", fontsize=11, color=INK)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


def most_changed(tops: Mapping[str, pd.Series], labels: Mapping[str, str]) -> Plot:
    """Draw the variables that change most in each domain, by the mean size of the change.

    Args:
        tops: by domain: mean absolute change in sd, by variable.
        labels: labels of the variables.
    """
    rows = [(domain, str(name), size) for domain, top in tops.items() for name, size in top.items()]
    figure = Plot(figsize=(8.8, 0.9 + 0.27 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    names = [shorten(labels[name], 62, placeholder=" ...") for _, name, _ in rows]
    axes.barh(
        range(len(rows)), [size for *_, size in rows],
        color=[DOMAIN_COLOURS[domain] for domain, *_ in rows],
    )  # fmt: skip
    axes.set_yticks(range(len(rows)), names, fontsize=8.5)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    _finish(axes, xlabel="mean size of the change, in sd of the variable")
    axes.set_title("What changes most", fontsize=11, color=INK)
    _legend(figure, {domain: DOMAIN_COLOURS[domain] for domain in tops})
    return figure


def changes_of_variables(changes: Mapping[str, pd.DataFrame], labels: Mapping[str, str]) -> Plot:
    """Draw a box per variable: how it changes over the counties, with its sign.

    Args:
        changes: by domain: a row per county, a column per variable, in sd.
        labels: labels of the variables.
    """
    rows = [(domain, str(name)) for domain, frame in changes.items() for name in frame.columns]
    data = [changes[domain][name].to_numpy() for domain, name in rows]
    figure = Plot(figsize=(8.8, 0.9 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    drawn = axes.boxplot(
        data, orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.65,
        patch_artist=True, medianprops={"color": INK, "linewidth": 1.5},
    )  # fmt: skip
    for box, (domain, _) in zip(drawn["boxes"], rows, strict=True):
        box.set(facecolor=DOMAIN_COLOURS[domain], alpha=0.85)
    names = [shorten(labels[name], 62, placeholder=" ...") for _, name in rows]
    axes.set_yticks(range(1, len(rows) + 1), names, fontsize=8.5)
    axes.invert_yaxis()
    axes.axvline(0, color=INK, lw=0.9)
    _finish(axes, xlabel="change, in sd of the variable; box: quartiles, whiskers: 5% and 95%")
    _legend(figure, {domain: DOMAIN_COLOURS[domain] for domain in changes})
    return figure


def densities_compared(rows: Sequence[Mapping[str, Any]], published: Mapping[str, float]) -> Plot:
    """Draw the mean log p(x, y) of each density on each set of rows, and the paper's number.

    Args:
        rows: the measurements: model, rows, log_joint.
        published: the paper's number, by model.
    """
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    kinds = list(dict.fromkeys(str(row["rows"]) for row in rows))
    figure = Plot(figsize=(8.4, 1.6 + 0.55 * len(models)), layout="constrained")
    axes = figure.add_subplot()
    styles = dict(zip(kinds, ("o#56B4E9", "s#0072B2", "^#009E73"), strict=False))
    for kind, style in styles.items():
        mine = [row for row in rows if row["rows"] == kind]
        axes.plot(
            [row["log_joint"] for row in mine], [models.index(str(row["model"])) for row in mine],
            style[0], color=style[1:], ms=9, label=kind,
        )  # fmt: skip
    known = [name for name in models if name in published]
    axes.plot(
        [published[name] for name in known], [models.index(name) for name in known], "x",
        color="#D55E00", ms=10, mew=2.2, label="the paper",
    )  # fmt: skip
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.5, -0.5)
    _finish(axes, xlabel="mean log p(x, y), in nats; right is better")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def counties_by_algorithm(changes: Mapping[str, pd.DataFrame], *, title: str) -> Plot:
    """Draw, panel by panel, what each algorithm does to the five indices.

    Args:
        changes: by the title of the panel: a row per algorithm, a column per domain; high = good.
        title: title of the figure.
    """
    figure = Plot(figsize=(12.5, 4.3), layout="constrained")
    grid = figure.subplots(1, len(changes), sharey=True, squeeze=False)[0]
    for axes, (county, frame) in zip(grid, changes.items(), strict=True):
        width = 0.8 / max(1, len(frame))
        for j, algorithm in enumerate(frame.index):
            at = np.arange(frame.shape[1]) + (j - (len(frame) - 1) / 2) * width
            axes.bar(at, frame.loc[algorithm], width, color=ALGORITHM_COLOURS[algorithm])
        short = [d if len(d) < 8 else "Socio-\ndemogr." for d in frame.columns]
        axes.set_xticks(range(frame.shape[1]), short, fontsize=9)
        axes.axhline(0, color=INK, lw=0.9)
        axes.set_title(county, fontsize=11, color=INK)
        _finish(axes, xlabel="", ylabel=" ")
    grid[0].set_ylabel("change of the index, in sd\n(up is better)")
    figure.suptitle(title, fontsize=11, color=INK)
    shown = {str(a) for frame in changes.values() for a in frame.index}
    _legend(figure, {name: c for name, c in ALGORITHM_COLOURS.items() if name in shown})
    return figure


def measures_by_algorithm(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]], *, log: Sequence[str]
) -> Plot:
    """Draw boxes: measures of the algorithms at several penalties.

    Args:
        panels: by measure, by penalty, by algorithm: the values.
        log: measures on a logarithmic axis.
    """
    figure = Plot(figsize=(12.5, 4.4), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (measure, by_penalty) in zip(grid, panels.items(), strict=True):
        at = 0.0
        ticks = []
        for penalty, by_algorithm in by_penalty.items():
            middle = at + (len(by_algorithm) - 1) / 2
            ticks.append((middle, f"penalty {penalty}"))
            for algorithm, values in by_algorithm.items():
                drawn = axes.boxplot(
                    [list(values)], positions=[at], widths=0.7, whis=(5, 95), showfliers=False,
                    patch_artist=True, medianprops={"color": INK, "linewidth": 1.5},
                )  # fmt: skip
                drawn["boxes"][0].set(facecolor=ALGORITHM_COLOURS[algorithm], alpha=0.8)
                at += 1
            at += 0.8
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
        if measure in log:
            axes.set_yscale("log")
        _finish(axes, xlabel="", ylabel=measure)
    names = list(next(iter(next(iter(panels.values())).values())))
    _legend(figure, {name: ALGORITHM_COLOURS[name] for name in names})
    return figure


def _legend(figure: Plot, colours: Mapping[str, str]) -> None:
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)


def _finish(axes: Axes, *, xlabel: str, ylabel: str = "") -> None:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(axis="y" if ylabel else "x", color="#DDDDDD", lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
