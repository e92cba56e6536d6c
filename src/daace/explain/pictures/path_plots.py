"""Pictures of one path: each feature step by step, what brings the class, the terrain between."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from daace._checks import check_choice
from daace._formats import percent, shorten
from daace.explain.answers.answer import Answer
from daace.explain.answers.contributions import contributions, target_log_odds
from daace.explain.answers.curves import values_along
from daace.explain.answers.terrain import terrain
from daace.explain.answers.words import advice, format_change, headline
from daace.explain.pictures.canvas import (
    BORDER,
    GOAL,
    INK,
    PATH,
    QUIET,
    Plot,
    legend,
    plain,
    tidy,
)
from daace.explain.pictures.profile_strip import draw_strip, profile_stretches
from daace.explain.pictures.terrain_plot import draw_terrain

Kind = Literal["overview", "steps", "landscape", "waterfall", "along", "profile"]
KINDS = ("overview", "steps", "landscape", "waterfall", "along", "profile")

#: Most features in the plot of steps; the smaller changes are counted.
MOST_FEATURES = 12


def draw(
    e: Answer,
    kind: Kind,
    *,
    features: tuple[str, str] | None = None,
) -> Plot:
    """Draw an explanation; see `Explanation.plot`."""
    check_choice("kind", kind, KINDS)
    if e.status == "invalid_row":
        kind = "steps"  # which gives the reason
    if kind == "waterfall":
        return draw_waterfall(e)
    if kind in ("along", "profile"):
        return draw_along(e)
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


def steps_height(e: Answer) -> float:
    """Return the height that the plot of steps needs, in inches."""
    return 1.9 + 0.33 * max(2, min(MOST_FEATURES, len(e.changes())))


def draw_steps(figure: Figure | SubFigure, e: Answer) -> None:
    """Draw each feature from the start to the counterfactual, in standard deviations."""
    axes = figure.subplots()
    changes = e.changes()
    if changes.empty:
        axes.set_axis_off()
        text = "Nothing changes." if e.found else "\n".join(["No path was found.", *advice(e)])
        axes.text(0.5, 0.5, plain(text), ha="center", va="center", color=INK, wrap=True)
        return
    shown = list(changes["feature"].head(MOST_FEATURES))
    names = list(e.states.columns)
    columns = [names.index(name) for name in shown]
    values = e.states.iloc[:, columns].to_numpy()
    moves = e.moves()[:, columns]
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


def draw_waterfall(e: Answer) -> Plot:
    """Draw what each change does for the log-odds of the target, one after the other.

    Where that is not known (a classifier judged, or the density is not at hand), the bars are the
    changes themselves, in standard deviations.
    """
    data = contributions(e)
    if data.empty:
        return _reason(e)
    known = bool(data["contribution"].notna().all())
    values = data["contribution" if known else "change_sd"].to_numpy()
    shown = min(len(values), MOST_FEATURES)
    sizes, names = values[:shown], [shorten(name, 30) for name in data["feature"].head(shown)]
    ways = [
        " → ".join(format_change(e, name, before, after))
        for name, before, after in data[["feature", "from", "to"]].head(shown).to_numpy().tolist()
    ]
    rest = len(values) - shown
    if rest and known:
        sizes = np.append(sizes, values[shown:].sum())
        names.append(f"{rest} other change{'s' * (rest > 1)}")
        ways.append("")
    begin = float(target_log_odds(e)[0]) if known else 0.0
    left = begin + np.concatenate([[0.0], sizes.cumsum()[:-1]]) if known else np.zeros(len(sizes))
    figure = Plot(figsize=(8.6, 1.7 + 0.36 * len(sizes)), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(sizes))
    axes.barh(rows, sizes, left=left, height=0.62, color=np.where(sizes > 0, BORDER, PATH))
    if known:
        edges = left + sizes
        axes.vlines(edges[:-1], rows[:-1] - 0.31, rows[1:] + 0.31, color=QUIET, linewidth=0.8)
        axes.axvline(begin, color=QUIET, linewidth=1)
        axes.axvline(edges[-1], color=GOAL, linewidth=1.6)
        axes.set_xlabel(plain(f"log-odds of '{shorten(str(e.target), 30)}', in nats"))
        ends = (percent(share) for share in e.along["posterior"].iloc[[0, -1]])
        title = "What raises the probability, from {} to {}".format(*ends)
    else:
        axes.axvline(0, color=QUIET, linewidth=1)
        axes.set_xlabel("change, in standard deviations of each feature")
        note = f"; {rest} smaller change{'s' * (rest > 1)} not shown" if rest else ""
        title = f"What changes{note}"
    axes.set_title(plain(title), fontsize=11, color=INK, loc="left")
    axes.set_yticks(rows, [plain(name) for name in names])
    right = axes.secondary_yaxis("right")
    right.set_yticks(rows, [plain(way) for way in ways])
    for side in (axes.yaxis, right.yaxis):
        side.set_tick_params(length=0)
    right.spines["right"].set_visible(False)
    axes.set_ylim(len(sizes) - 0.5, -0.5)
    axes.use_sticky_edges = False  # bars do not end at the frame
    axes.margins(x=0.06)
    tidy(axes, grid="x", hide=("top", "left", "right"))
    up, down = ("for it", "against it") if known else ("rises", "falls")
    handles = [Line2D([], [], color=BORDER, linewidth=6), Line2D([], [], color=PATH, linewidth=6)]
    labels = [up, down]
    if known:
        handles += [Line2D([], [], color=QUIET), Line2D([], [], color=GOAL, linewidth=1.6)]
        labels += ["start", "counterfactual"]
    legend(figure, handles, labels)
    return figure


def draw_along(e: Answer) -> Plot:
    """Draw plausibility and probability of the target along the path, one above the other.

    Below them is a strip of the most similar profiles, if the density has any.
    """
    if e.step_count == 0:
        return _reason(e)
    data = values_along(e)
    corner = data["waypoint"] % 1 == 0
    profiles = bool(e.profiles)
    figure = Plot(figsize=(8.6, 5.1 if profiles else 4.6), layout="constrained")
    ratios = [1.0, 1.0, 0.16] if profiles else [1.0, 1.0]
    upper, lower, *strip = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
    source = e.provenance
    for axes, column in ((upper, "plausibility"), (lower, "posterior")):
        known = data[column].notna()
        axes.plot(data["length"][known], data[column][known], color=PATH, linewidth=2)
        axes.scatter(
            data["length"][corner], data[column][corner], s=46, color="white",
            edgecolors=PATH, linewidths=1.6, zorder=4,
        )  # fmt: skip
        tidy(axes, grid="y", hide=("top", "right"))
    threshold = source.plausibility
    if threshold is None and e.density is not None:
        mean, sd = e.plausible_scale()
        threshold = (source.min_log_prob - mean) / sd
    if threshold is not None:
        upper.axhline(threshold, color=GOAL, linestyle="--", linewidth=1.4)
    lower.axhline(source.min_posterior, color=GOAL, linestyle="--", linewidth=1.4)
    upper.set_ylabel("plausibility\n(sd of log p)")
    lower.set_ylabel(plain(f"probability of\n'{shorten(str(e.target), 24)}'"))
    lower.set_ylim(-0.04, 1.04)
    lower.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    [lower, *strip][-1].set_xlabel("length of the path, in standard deviations")
    figure.align_ylabels([upper, lower])
    for number, length in enumerate(data["length"][corner]):
        name = {0: "start", e.step_count: "counterfactual"}.get(number, str(number))
        few = e.step_count <= 12 or number in (0, e.step_count)
        place = {0: "left", e.step_count: "right"}.get(number, "center")
        upper.annotate(
            name if few else "", (length, 1.0), xycoords=("data", "axes fraction"),
            xytext=(0, 4), textcoords="offset points", ha=place, fontsize=8, color=INK,
        )  # fmt: skip
    upper.set_title("Along the path", fontsize=11, color=INK, loc="left", pad=18)
    handles = [
        Line2D([], [], color=PATH, linewidth=2),
        Line2D([], [], color=GOAL, linestyle="--", linewidth=1.4),
    ]
    labels = ["the path; circles are waypoints", "required at the end"]
    if profiles:
        more, names = draw_strip(strip[0], profile_stretches(data))
        handles, labels = [*handles, *more], [*labels, *names]
    legend(figure, handles, labels)
    return figure


def _reason(e: Answer) -> Plot:
    """Return a figure with the reason why there is nothing to draw."""
    figure = Plot(figsize=(8.6, 2.2), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    text = "Nothing changes." if e.found else "\n".join(["No path was found.", *advice(e)])
    axes.text(0.5, 0.5, plain(text), ha="center", va="center", color=INK, wrap=True)
    return figure
