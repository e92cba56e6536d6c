"""Pictures of a path: each feature step by step, and the landscape under it."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from daace._checks import check_choice
from daace.explain.terrain import Terrain, terrain
from daace.explain.words import advice, format_change, headline, percent, shorten

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

# Okabe and Ito's colours, told apart by everyone.
PATH, GOAL, BORDER, INK, QUIET = "#D55E00", "#009E73", "#0072B2", "#222222", "#8A8A8A"

#: White is flat, plausible ground; grey are the mountains. Not to black: the path must be seen.
GROUND = ListedColormap(colormaps["Greys_r"](np.linspace(0.35, 1.0, 256)))

Kind = Literal["overview", "steps", "landscape", "waterfall", "profile"]
KINDS = ("overview", "steps", "landscape", "waterfall", "profile")

#: Most features in the plot of steps; the smaller changes are counted.
MOST_FEATURES = 12


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


def draw(
    e: Explanation,
    kind: Kind,
    *,
    features: tuple[str, str] | None = None,
) -> Plot:
    """Draw an explanation; see `Explanation.plot`."""
    check_choice("kind", kind, KINDS)
    if e.status == "invalid_row":
        kind = "steps"  # which says why there are none
    if kind in ("waterfall", "profile"):
        from daace.explain.figures import draw_profile, draw_waterfall

        return draw_waterfall(e) if kind == "waterfall" else draw_profile(e)
    if kind == "landscape":
        figure = Plot(figsize=(7.2, 5.8), layout="constrained")
        draw_terrain(figure, e, terrain(e, features=features))
        return figure
    height = steps_height(e)
    if kind == "steps" or e.density is None:
        figure = Plot(figsize=(8.6, height), layout="constrained")
        draw_steps(figure, e)
        return figure
    figure = Plot(figsize=(15, max(height, 5.8)), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=(8.2, 6.8), wspace=0.03)
    draw_steps(halves[0], e)
    draw_terrain(halves[1], e, terrain(e, features=features))
    figure.suptitle(plain(headline(e)), color=INK, fontsize=13)
    return figure


# Steps --------------------------------------------------------------------------------------------


def steps_height(e: Explanation) -> float:
    """Return the height that the plot of steps needs, in inches."""
    return 1.9 + 0.33 * max(2, min(MOST_FEATURES, len(e.changes())))


def draw_steps(figure: Figure | SubFigure, e: Explanation) -> None:
    """Draw each feature's way from the start to the counterfactual, in standard deviations."""
    axes = figure.subplots()
    changes = e.changes()
    if changes.empty:
        axes.set_axis_off()
        text = "Nothing changes." if e.found else "\n".join(["No path was found.", *advice(e)])
        axes.text(0.5, 0.5, plain(text), ha="center", va="center", color=INK, wrap=True)
        return
    shown = list(changes["feature"].head(MOST_FEATURES))
    names = list(e.path.columns)
    columns = [names.index(name) for name in shown]
    values = e.path.to_numpy()[:, columns]
    moves = (values - values[0]) / e.sd[columns]
    rows = np.arange(len(shown))
    colors = colormaps["Blues"](np.linspace(0.35, 0.85, max(1, e.step_count - 1)))
    axes.axvline(0, color=QUIET, linewidth=1)
    axes.hlines(rows, moves.min(axis=0), moves.max(axis=0), color="#CCCCCC", linewidth=2.5)
    axes.scatter(
        moves[0], rows, s=38, color="white", edgecolors=INK, label="start", zorder=4, linewidths=1
    )
    for step in range(1, e.step_count):
        label = f"step {step}" if e.step_count <= 5 or step in (1, e.step_count - 1) else None
        axes.scatter(moves[step], rows, s=38, color=colors[step - 1], label=label, zorder=3)
    axes.scatter(moves[-1], rows, s=70, color=PATH, marker="D", label="counterfactual", zorder=5)
    axes.set_yticks(rows, [plain(shorten(name, 30)) for name in shown])
    right = axes.secondary_yaxis("right")
    right.set_yticks(
        rows,
        [
            plain(" → ".join(format_change(e, name, way[0], way[-1])))
            for name, way in zip(shown, values.T, strict=True)
        ],
    )
    for side in (axes.yaxis, right.yaxis):
        side.set_tick_params(length=0)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.margins(x=0.08)
    axes.grid(axis="x", color="#EEEEEE")
    axes.set_axisbelow(True)
    axes.set_xlabel("change from the start, in standard deviations of each feature")
    rest = len(changes) - len(shown)
    note = f"; {rest} smaller change{'s' * (rest > 1)} not shown" if rest else ""
    axes.set_title(f"What changes, step by step{note}", fontsize=11, color=INK, loc="left")
    axes.spines[["top", "left", "right"]].set_visible(False)
    right.spines["right"].set_visible(False)
    legend(figure, *axes.get_legend_handles_labels())


# Training -----------------------------------------------------------------------------------------


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


# Landscape ----------------------------------------------------------------------------------------


def draw_terrain(figure: Figure | SubFigure, e: Explanation, ground: Terrain) -> None:
    """Draw plausibility around the path, the goal, and the path."""
    axes = figure.subplots()
    handles: list[Any] = []
    if len(ground.features) == 1:
        height = _draw_profile(axes, e, ground, handles)
    else:
        height = ground.path[:, 1]
        _draw_map(figure, axes, e, ground, handles)
        axes.set_ylabel(plain(_axis_name(e, ground.features[1])))
    axes.set_xlabel(plain(_axis_name(e, ground.features[0])))
    handles += _draw_path(
        axes, ground.path[:, 0], height, line=len(ground.features) == 2, found=e.found
    )
    others = len(set(e.changes()["feature"]) - set(ground.features))
    title = "The ground under the path" if e.step_count else "The ground around the start"
    if others and e.step_count:
        title += f"; {others} other feature{'s' * (others > 1)} move{'s' * (others == 1)} along"
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    legend(figure, handles, [handle.get_label() for handle in handles])


def _draw_map(
    figure: Figure | SubFigure, axes: Axes, e: Explanation, ground: Terrain, handles: list[Any]
) -> None:
    x, y = ground.axes
    on_path = float(e.profile["plausibility"].min())
    low = min(on_path, -2.0) - 1.0
    high = max(float(ground.plausibility.max()), low + 1.0)
    levels = np.linspace(low, high, 24)
    hills = axes.contourf(
        x, y, np.clip(ground.plausibility, low, high), levels=levels, cmap=GROUND, extend="min"
    )
    hills.set_rasterized(True)
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
        inside = axes.contourf(
            x, y, ground.goal, [0, float(ground.goal.max()) + 1], colors=[GOAL], alpha=0.3
        )
        inside.set_rasterized(True)
        if _crosses(ground.goal):
            axes.contour(x, y, ground.goal, [0], colors=GOAL, linewidths=1.6)
        handles.append(Patch(facecolor=GOAL, alpha=0.45, label=label))


def _draw_profile(axes: Axes, e: Explanation, ground: Terrain, handles: list[Any]) -> np.ndarray:
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
    return e.profile["plausibility"].to_numpy()


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
    label = "start" if len(x) > 1 or not found else "start, already there"
    start = axes.scatter(x[0], y[0], s=90, color="white", edgecolors=INK, zorder=6, label=label)
    return [start, *handles]


# Common -------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Keep a user's dollar signs from being read as formulas."""
    return text.replace("$", r"\$")


def _crosses(values: np.ndarray) -> bool:
    """Whether there is a line to draw at zero."""
    return bool(values.min() < 0 < values.max())


def _axis_name(e: Explanation, feature: str) -> str:
    unit = e.units.get(feature)
    return f"{shorten(feature, 50)} ({unit})" if unit else shorten(feature, 50)


def legend(figure: Figure | SubFigure, handles: list[Any], labels: list[str]) -> None:
    """Put a legend below everything else, in one or two rows."""
    rows = 1 if sum(map(len, labels)) < 60 else 2
    columns = -(-len(handles) // rows)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
