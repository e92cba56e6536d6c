"""Pictures beyond the path: what brings the class, trade-offs, networks, checks, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from daace.explain.along import contributions, profile_along, target_log_odds
from daace.explain.network import lay_out, strong_arcs
from daace.explain.plots import BORDER, GOAL, INK, MOST_FEATURES, PATH, QUIET, Plot, legend, plain
from daace.explain.words import advice, format_change, percent, shorten

if TYPE_CHECKING:
    from daace.explain.audit import Audit
    from daace.explain.explanation import Explanation
    from daace.explain.front import ExplanationFront
    from daace.explain.network import Network
    from daace.explain.tradeoff import Tradeoff
    from daace.explain.trust import Check

#: More arcs than these hide each other.
MOST_ARCS = 90


# One explanation ----------------------------------------------------------------------------------


def draw_waterfall(e: Explanation) -> Plot:
    """Draw what each change does for the log-odds of the target, one after the other.

    Where that is not known (a classifier judged, or the density is not at hand), the bars are the
    changes themselves, in standard deviations.
    """
    data = contributions(e)
    if data.empty:
        return _say(e)
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
        ends = (percent(share) for share in e.profile["posterior"].iloc[[0, -1]])
        title = "What brings the class, from {} to {}".format(*ends)
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
    _tidy(axes, grid="x", hide=("top", "left", "right"))
    up, down = ("for it", "against it") if known else ("rises", "falls")
    handles = [Line2D([], [], color=BORDER, linewidth=6), Line2D([], [], color=PATH, linewidth=6)]
    labels = [up, down]
    if known:
        handles += [Line2D([], [], color=QUIET), Line2D([], [], color=GOAL, linewidth=1.6)]
        labels += ["start", "counterfactual"]
    legend(figure, handles, labels)
    return figure


def draw_profile(e: Explanation) -> Plot:
    """Draw plausibility and probability of the target along the path, one above the other."""
    if e.step_count == 0:
        return _say(e)
    data = profile_along(e)
    corner = data["waypoint"] % 1 == 0
    figure = Plot(figsize=(8.6, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    source = e.provenance
    for axes, column in ((upper, "plausibility"), (lower, "posterior")):
        known = data[column].notna()
        axes.plot(data["length"][known], data[column][known], color=PATH, linewidth=2)
        axes.scatter(
            data["length"][corner], data[column][corner], s=46, color="white",
            edgecolors=PATH, linewidths=1.6, zorder=4,
        )  # fmt: skip
        _tidy(axes, grid="y", hide=("top", "right"))
    threshold = source.plausibility
    if threshold is None and e.density is not None:
        draws = e.density.draws_
        threshold = (source.min_log_prob - draws.mean) / draws.sd
    if threshold is not None:
        upper.axhline(threshold, color=GOAL, linestyle="--", linewidth=1.4)
    lower.axhline(source.min_posterior, color=GOAL, linestyle="--", linewidth=1.4)
    upper.set_ylabel("plausibility\n(sd of log p)")
    lower.set_ylabel(plain(f"probability of\n'{shorten(str(e.target), 24)}'"))
    lower.set_ylim(-0.04, 1.04)
    lower.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    lower.set_xlabel("length of the way, in standard deviations")
    figure.align_ylabels()
    for number, length in enumerate(data["length"][corner]):
        name = {0: "start", e.step_count: "counterfactual"}.get(number, str(number))
        few = e.step_count <= 12 or number in (0, e.step_count)
        place = {0: "left", e.step_count: "right"}.get(number, "center")
        upper.annotate(
            name if few else "", (length, 1.0), xycoords=("data", "axes fraction"),
            xytext=(0, 4), textcoords="offset points", ha=place, fontsize=8, color=INK,
        )  # fmt: skip
    upper.set_title("Along the way", fontsize=11, color=INK, loc="left", pad=18)
    handles = [
        Line2D([], [], color=PATH, linewidth=2),
        Line2D([], [], color=GOAL, linestyle="--", linewidth=1.4),
    ]
    legend(figure, handles, ["the way; circles are waypoints", "asked for at the end"])
    return figure


def _say(e: Explanation) -> Plot:
    """Return a figure that says why there is nothing to draw."""
    figure = Plot(figsize=(8.6, 2.2), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    text = "Nothing changes." if e.found else "\n".join(["No path was found.", *advice(e)])
    axes.text(0.5, 0.5, plain(text), ha="center", va="center", color=INK, wrap=True)
    return figure


# Choices ------------------------------------------------------------------------------------------


def draw_tradeoff(scan: Tradeoff) -> Plot:
    """Draw the mean log-density of each way over its length."""
    figure = Plot(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    data = scan.to_frame()
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
    axes.set_xlabel("length of the way, in standard deviations")
    axes.set_ylabel("mean log p along the way, in nats")
    axes.set_title(
        "Short or plausible: each point is the way at a penalty", fontsize=11, color=INK, loc="left"
    )
    axes.margins(0.12)
    _tidy(axes, grid="both", hide=("top", "right"))
    return figure


def draw_front(front: ExplanationFront) -> Plot:
    """Draw cost against plausibility, coloured by the probability of the target."""
    figure = Plot(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    data = front.to_frame()
    if data.empty:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "No path to the goal was found.", ha="center", color=INK)
        return figure
    asked = front[0].provenance.min_posterior
    points = axes.scatter(
        data["cost"], data["percentile"], c=data["posterior"], cmap="viridis", vmin=asked, vmax=1,
        s=64, edgecolors="white", linewidths=0.6,
    )  # fmt: skip
    share = FuncFormatter(lambda value, _: f"{100 * value:g}%")
    bar = figure.colorbar(points, ax=axes, pad=0.02, format=share)
    bar.set_label(plain(f"probability of '{shorten(str(front[0].target), 30)}' at the end"))
    bar.outline.set_visible(False)
    axes.set_ylim(-4, 104)
    axes.set_xlabel("cost of the way")
    axes.set_ylabel("end is more plausible than so many % of cases")
    title = (
        "One way: nothing more to buy"
        if len(front) == 1
        else (f"{len(front)} ways: what a higher cost buys")
    )
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    _tidy(axes, grid="both", hide=("top", "right"))
    return figure


# The model ----------------------------------------------------------------------------------------


def draw_network(network: Network) -> Plot:
    """Draw the network on a circle: blue arcs are positive coefficients, orange ones negative."""
    angles = lay_out(network)
    figure = Plot(figsize=(9.2, 9.0), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    colors = {1: BORDER, -1: PATH, 0: QUIET}
    arcs = strong_arcs(network, most=MOST_ARCS)
    largest = max(float(network.arcs["coefficient"].abs().max()), 1e-12) if len(arcs) else 1.0
    at = {name: (np.cos(angle), np.sin(angle)) for name, angle in angles.items()}
    for parent, child, coefficient, sign in arcs.itertuples(index=False):
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
        face = INK if name in network.of_class else "white"
        axes.scatter(x, y, s=42, color=face, edgecolors=INK, linewidths=1, zorder=3)
        left = x < -1e-9
        axes.text(
            1.05 * x, 1.05 * y, plain(shorten(name, 22)), fontsize=9, color=INK, zorder=3,
            ha="right" if left else "left", va="center", rotation_mode="anchor",
            rotation=np.degrees(angle) + (180 if left else 0),
        )  # fmt: skip
    axes.set_xlim(-1.75, 1.75)
    axes.set_ylim(-1.75, 1.75)
    notes = [f"{len(network.arcs)} arcs"]
    if len(arcs) < len(network.arcs):
        notes = [f"the strongest {len(arcs)} of {len(network.arcs)} arcs"]
    if network.left_out:
        notes.append(f"{network.left_out} features are not shown")
    title = f"What depends on what: {', '.join(notes)}"
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    handles = [Line2D([], [], color=colors[sign], linewidth=2.5) for sign in (1, -1, 0)]
    words = ["positive", "negative", f"sign differs by {network.target}"]
    words.append(f"depends on {network.target}")
    handles += [Line2D([], [], marker="o", linestyle="", color=INK)]
    legend(figure, handles, [plain(word) for word in words])
    return figure


def draw_check(check: Check) -> Plot:
    """Draw how plausible the rows are among the density's draws, and how calibrated it is."""
    figure = Plot(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(check.percentiles, bins=np.linspace(0, 100, 21), color=BORDER, alpha=0.85,
              weights=np.full(len(check.percentiles), 1 / len(check.percentiles)))  # fmt: skip
    left.axhline(0.05, color=GOAL, linestyle="--", linewidth=1.6, label="as many as expected")
    left.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    left.set_xlabel("percentile of log p among the density's draws")
    left.set_ylabel("share of the rows")
    left.set_title("Are such rows expected?", fontsize=11, color=INK, loc="left")
    left.legend(frameon=False)
    bins = check.reliability
    right.plot([0, 1], [0, 1], color=GOAL, linestyle="--", linewidth=1.6, label="calibrated")
    right.plot(bins["confidence"], bins["accuracy"], color=QUIET, linewidth=1.2)
    right.scatter(
        bins["confidence"], bins["accuracy"], s=20 + 200 * bins["rows"] / bins["rows"].sum(),
        color=PATH, zorder=3, label="rows, by how sure the model is",
    )  # fmt: skip
    for axis in (right.xaxis, right.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    low = min(0.5, float(bins["confidence"].min()), float(bins["accuracy"].min())) - 0.03
    right.set_xlim(low, 1.03)
    right.set_ylim(low, 1.03)
    right.set_xlabel("probability of the most probable class")
    right.set_ylabel("how often it is the class")
    right.set_title("Does a probability mean what it says?", fontsize=11, color=INK, loc="left")
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        _tidy(axes, grid="y", hide=("top", "right"))
    return figure


def draw_audit(audit: Audit) -> Plot:
    """Draw by group how often a way is found, what it costs and how long it is."""
    data = audit.to_frame()
    names = [plain(shorten(str(name), 24)) for name in data.index]
    rows = np.arange(len(data))
    figure = Plot(figsize=(11.5, 1.8 + 0.45 * len(data)), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    kinds = (
        ("found", "found", "a way is found"),
        ("cost", "median cost", "cost of the way"),
        ("length", "median length, in sd", "length of the way"),
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
        axes.set_xlabel("share of those who need one" if column == "found" else unit)
        axes.set_title(title, fontsize=11, color=INK, loc="left")
        axes.margins(x=0.22)
        axes.set_xlim(left=0)
        if column == "found":
            axes.set_xlim(0, 1.25)
            axes.xaxis.set_major_locator(FixedLocator([0.0, 0.5, 1.0]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
        _tidy(axes, grid="x", hide=("top", "right", "left"))
        axes.yaxis.set_tick_params(length=0)
    panels[0].set_yticks(rows, names)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.suptitle(
        plain(f"Ways to '{shorten(audit.target_name, 30)}' by {shorten(audit.by, 30)}"),
        fontsize=12, color=INK,
    )  # fmt: skip
    return figure


def _tidy(axes: Axes, *, grid: Literal["x", "y", "both"], hide: tuple[str, ...]) -> None:
    axes.grid(axis=grid, color="#EEEEEE")
    axes.set_axisbelow(True)
    axes.spines[list(hide)].set_visible(False)
