"""The landscape under a path."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from daace._formats import percent, shorten
from daace.explain.answers.answer import Answer
from daace.explain.answers.terrain import Terrain
from daace.explain.pictures.canvas import BORDER, GOAL, INK, PATH, QUIET, legend, plain

#: White is flat, plausible ground; grey are the mountains. Not to black: the path must be seen.
GROUND = ListedColormap(colormaps["Greys_r"](np.linspace(0.35, 1.0, 256)))


def draw_terrain(figure: Figure | SubFigure, e: Answer, ground: Terrain) -> None:
    """Draw plausibility around the path, the goal, and the path."""
    axes = figure.subplots()
    handles: list[Any] = []
    if len(ground.features) == 1:
        height = _draw_curve(axes, e, ground, handles)
    else:
        height = ground.path[:, 1]
        _draw_map(figure, axes, e, ground, handles)
        axes.set_ylabel(plain(_axis_name(e, ground.features[1])))
    axes.set_xlabel(plain(_axis_name(e, ground.features[0])))
    handles += _draw_path(
        axes, ground.path[:, 0], height, line=len(ground.features) == 2, found=e.found
    )
    others = len(set(e.changes()["feature"]) - set(ground.features))
    title = "The landscape along the path" if e.step_count else "The landscape around the start"
    if others and e.step_count:
        title += f"; {others} other feature{'s' * (others > 1)} move{'s' * (others == 1)} along"
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    legend(figure, handles, [handle.get_label() for handle in handles])


def _draw_map(
    figure: Figure | SubFigure, axes: Axes, e: Answer, ground: Terrain, handles: list[Any]
) -> None:
    x, y = ground.axes
    on_path = float(e.along["plausibility"].min())
    low = min(on_path, -2.0) - 1.0
    high = max(float(ground.plausibility.max()), low + 1.0)
    levels = np.linspace(low, high, 24)
    axes.set_rasterization_zorder(0)  # hundreds of outlines would make a page heavy
    hills = axes.contourf(
        x, y, np.clip(ground.plausibility, low, high), levels=levels, cmap=GROUND, extend="min",
        zorder=-2,
    )  # fmt: skip
    bar = figure.colorbar(hills, ax=axes, shrink=0.9, pad=0.02, format="%.0f")
    ticks = np.arange(np.ceil(low), np.floor(high) + 1, max(1, round((high - low) / 8)))
    bar.set_ticks(ticks.tolist())
    bar.set_label("plausibility: log p, in standard deviations from its mean")
    bar.outline.set_visible(False)
    threshold = percent(e.provenance.min_posterior)
    target = shorten(str(e.target), 20)
    label = plain(f"goal: '{target}' at least {threshold}, and plausible")
    if ground.probable is None:
        label = "plausible enough for the goal"
    elif _crosses(ground.probable):
        axes.contour(x, y, ground.probable, [0], colors=BORDER, linestyles="--", linewidths=1.4)
        border = plain(f"'{target}' is at {threshold}")
        handles.append(Line2D([], [], color=BORDER, linestyle="--", label=border))
    if (ground.goal >= 0).any():
        axes.contourf(
            x, y, ground.goal, [0, float(ground.goal.max()) + 1], colors=[GOAL], alpha=0.3,
            zorder=-1,
        )  # fmt: skip
        if _crosses(ground.goal):
            axes.contour(x, y, ground.goal, [0], colors=GOAL, linewidths=1.6)
        handles.append(Patch(facecolor=GOAL, alpha=0.45, label=label))


def _draw_curve(axes: Axes, e: Answer, ground: Terrain, handles: list[Any]) -> np.ndarray:
    """Draw the plausibility of the only feature; return the path's height on the curve."""
    (x,) = ground.axes
    axes.plot(x, ground.plausibility, color=QUIET, linewidth=2)
    axes.set_ylabel("plausibility: log p, in standard deviations from its mean")
    inside = ground.goal >= 0
    if inside.any():
        goal = axes.fill_between(
            x, 0, 1, where=inside, transform=axes.get_xaxis_transform(), color=GOAL, alpha=0.25
        )
        goal.set_label(plain(f"goal: '{shorten(str(e.target), 20)}'"))
        handles.append(goal)
    axes.spines[["top", "right"]].set_visible(False)
    walked = (x >= ground.path.min()) & (x <= ground.path.max())
    axes.plot(x[walked], ground.plausibility[walked], color=PATH, linewidth=2.2)
    return e.along["plausibility"].to_numpy()


def _draw_path(axes: Axes, x: np.ndarray, y: np.ndarray, *, line: bool, found: bool) -> list[Any]:
    handles: list[Any] = []
    if len(x) > 1:
        if line:
            axes.plot(x, y, color="white", linewidth=4.5, zorder=4, solid_capstyle="round")
            axes.plot(x, y, color=PATH, linewidth=2.2, zorder=5)
        for number in range(1, len(x) - 1):
            axes.scatter(x[number], y[number], s=110, color="white", edgecolors=PATH, zorder=6)
            axes.annotate(
                str(number), (x[number], y[number]), ha="center", va="center_baseline",
                fontsize=7.5, color=INK, zorder=7,
            )  # fmt: skip
        end = axes.scatter(x[-1], y[-1], s=110, c=PATH, marker="D", edgecolors="white", zorder=6)
        end.set_label("counterfactual")
        handles.append(end)
    label = "start" if len(x) > 1 or not found else "start, which meets the goal"
    start = axes.scatter(x[0], y[0], s=90, color="white", edgecolors=INK, zorder=6, label=label)
    return [start, *handles]


def _crosses(values: np.ndarray) -> bool:
    """Whether there is a line to draw at zero."""
    return bool(values.min() < 0 < values.max())


def _axis_name(e: Answer, feature: str) -> str:
    unit = e.units.get(feature)
    return f"{shorten(feature, 50)} ({unit})" if unit else shorten(feature, 50)
