"""Draw the pictures of README and documentation: `python docs/pictures/draw.py [NAME ...]`.

Each function makes one picture in docs/images; everything in them is computed by the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import daace
from daace.cli.demo import DEMO_ROW
from daace.data.synthetic import draw_table, moons

FOLDER = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREEN, GREY = "#3b6ea8", "#d9822b", "#4a8c5c", "#7a7a7a"
START = {"x1": -1.0, "x2": 0.0}  # one end of the upper moon


@cache
def crescents() -> daace.GaussianMixture:
    """Two classes in the plane, each a crescent."""
    return daace.GaussianMixture(*moons(width=0.15))


@cache
def loan() -> tuple[daace.Explainer, daace.Explanation]:
    """The refused loan of `daace demo`."""
    table = daace.load_table("loans")
    explainer = daace.fit(table.take([row for row in range(len(table)) if row != DEMO_ROW]))
    rules = daace.Constraints(
        fixed=["age"], only_up=["education", "employed_years"], max_rise={"employed_years": 2}
    )
    row = table.to_frame().iloc[DEMO_ROW]
    return explainer, explainer.explain(row, target="granted", constraints=rules)


def ground(axes: Axes, density: daace.ConditionalDensity, box: tuple[float, ...]) -> None:
    """Draw log p of a density in the plane as terrain, dark where rows are common."""
    x, y = np.meshgrid(np.linspace(*box[:2], 120), np.linspace(*box[2:], 120))
    points = pd.DataFrame({"x1": x.ravel(), "x2": y.ravel()})
    height = density.log_prob(density.to_model(points)).reshape(x.shape)
    top = height.max()
    axes.contourf(x, y, np.maximum(height, top - 14), levels=14, cmap="Blues", alpha=0.75)
    axes.set(xlim=box[:2], ylim=box[2:], xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)


def walk(axes: Axes, path: pd.DataFrame, colour: str, label: str) -> None:
    """Draw a path with its waypoints."""
    axes.plot(path["x1"], path["x2"], "-o", color=colour, ms=4, lw=1.8, label=label)


def draw_loan() -> Figure:
    """A loan from 'refused' to 'granted': the changing features at each step."""
    _, e = loan()
    changed = list(e.changes()["feature"])
    certain = e.along["posterior"].to_numpy()
    figure, rooms = plt.subplots(1, len(changed) + 1, figsize=(10, 2.5), layout="constrained")
    steps = np.arange(len(e.path))
    for axes, name in zip(rooms, changed, strict=False):
        values = e.path[name].to_numpy(dtype=float)
        axes.plot(steps, values, "-o", color=BLUE, ms=5)
        for step, value in zip(steps, values, strict=True):
            axes.annotate(
                f"{value:,.0f}", (step, value), (0, 6), textcoords="offset points", ha="center"
            )
        axes.set_title(name.replace("_", " "))
    rooms[-1].bar(steps, 100 * certain, color=[ORANGE] * (len(steps) - 1) + [GREEN])
    for step, share in zip(steps, certain, strict=True):
        rooms[-1].annotate(
            f"{share:.0%}", (step, 100 * share), (0, 3), textcoords="offset points", ha="center"
        )
    rooms[-1].set_title("probability of 'granted'")
    for axes in rooms:
        axes.set_xticks(steps, ["now", *map(str, steps[1:])])
        axes.margins(x=0.2, y=0.25)
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
    figure.supxlabel("step", fontsize=9)
    return figure


def draw_density() -> Figure:
    """Density of two classes in the plane, and the border where they are equally likely."""
    density = crescents()
    figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
    box = (-2.0, 3.0, -1.5, 2.0)
    ground(axes, density, box)
    x, y = np.meshgrid(np.linspace(*box[:2], 200), np.linspace(*box[2:], 200))
    X = density.to_model(pd.DataFrame({"x1": x.ravel(), "x2": y.ravel()}))
    share = np.exp(density.log_posterior(X)[:, density.class_index("lower")]).reshape(x.shape)
    axes.contour(x, y, share, levels=[0.5], colors=ORANGE, linewidths=1.8)
    axes.text(-1.6, 1.2, "class 'upper'", color="black")
    axes.text(1.5, -1.2, "class 'lower'", color="black")
    axes.text(-1.9, -1.3, "equally likely", color=ORANGE)
    return figure


def draw_profiles() -> Figure:
    """One Gaussian per class against profiles, learned from the same rows."""
    table = draw_table(moons(width=0.15), 1500, rng=np.random.default_rng(0), name="moons")
    rows = table.to_frame()
    figure, rooms = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
    for axes, profiles, title in (
        (rooms[0], 1, "one Gaussian per class"),
        (rooms[1], "auto", "profiles"),
    ):
        density = daace.LinearGaussianNetwork(profiles=profiles).fit(table)
        ground(axes, density, (-2.0, 3.0, -1.5, 2.0))
        axes.plot(rows["x1"][::4], rows["x2"][::4], ".", color="black", ms=1.5, alpha=0.5)
        axes.set_title(title, fontsize=10)
    return figure


def draw_landscape() -> Figure:
    """The same question at three penalties."""
    density = crescents()
    figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    ground(axes, density, (-2.0, 3.0, -1.5, 2.0))
    planner = daace.PathOptimizer(vertices=8)
    for penalty, colour in ((0, GREY), (1, ORANGE), (5, GREEN)):
        explainer = daace.Explainer(density, penalty=penalty, planner=planner)
        walk(axes, explainer.explain(START, target="lower").path, colour, f"penalty {penalty}")
    axes.legend(frameon=False, loc="lower left", fontsize=9)
    return figure


def draw_planners() -> Figure:
    """A straight line, a walk from row to row, and the optimised path."""
    density = crescents()
    rows = draw_table(moons(width=0.15), 300, rng=np.random.default_rng(0), name="moons")
    figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    ground(axes, density, (-2.0, 3.0, -1.5, 2.0))
    frame = rows.to_frame()
    axes.plot(frame["x1"], frame["x2"], ".", color="black", ms=1.5, alpha=0.5)
    X = density.to_model(frame)
    for name, planner, colour in (
        ("Wachter", daace.Wachter(X), GREY),
        ("Face", daace.Face(X), ORANGE),
        ("PathOptimizer", daace.PathOptimizer(vertices=8), GREEN),
    ):
        explainer = daace.Explainer(density, penalty=5, planner=planner)
        walk(axes, explainer.explain(START, target="lower").path, colour, name)
    axes.legend(frameon=False, loc="lower left", fontsize=9)
    return figure


def draw_judges() -> Figure:
    """What each judge thinks of the refused loan and of the end of its path."""
    _, e = loan()
    judges = e.judges
    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    places = np.arange(len(judges))[::-1]
    axes.hlines(places, judges["start"], judges["end"], color=GREY, lw=1)
    axes.plot(judges["start"], places, "o", color=ORANGE, label="start")
    axes.plot(judges["end"], places, "o", color=GREEN, label="end")
    axes.axvline(e.provenance.min_posterior, color="black", lw=1, ls=":", label="asked for")
    axes.set_yticks(places, judges["judge"])
    axes.set(xlim=(0, 1), xlabel="probability of 'granted'")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
    return figure


def draw_switches() -> Figure:
    """A path over a number and a category: move, switch, move."""
    rng = np.random.default_rng(0)
    owns = rng.random(2000) < 0.5
    income = np.where(owns, rng.normal(3.4, 0.7, 2000), rng.normal(2.0, 0.5, 2000))
    granted = rng.random(2000) < 1 / (1 + np.exp(-3 * (income - 2.6) - 2 * (owns - 0.5)))
    frame = pd.DataFrame(
        {
            "income": income,
            "housing": np.where(owns, "own", "rent"),
            "loan": np.where(granted, "granted", "refused"),
        }
    )
    density = daace.LinearGaussianNetwork().fit(daace.Table.from_frame(frame, target="loan"))
    explainer = daace.Explainer(density, penalty=2, changes="all", min_posterior=0.9)
    path = explainer.explain({"income": 1.3, "housing": "rent"}, target="granted").path
    figure, axes = plt.subplots(figsize=(5.4, 2.6), layout="constrained")
    grid = np.linspace(0.5, 5, 150)
    height = {"rent": 0.0, "own": 1.6}
    for level, base in height.items():
        rows = pd.DataFrame({"income": grid, "housing": level})
        share = np.exp(density.log_prob(density.to_model(rows)))
        axes.fill_between(grid, base, base + share / share.max(), color=BLUE, alpha=0.3, lw=0)
        axes.text(0.4, base + 0.1, f"housing = {level}", ha="right")
    before = path.iloc[0]
    for _, after in path.iloc[1:].iterrows():
        corners = [before["income"], before["income"], after["income"]]
        bases = [height[before["housing"]], height[after["housing"]], height[after["housing"]]]
        axes.plot(corners, bases, color=GREEN, lw=2)
        axes.plot(corners[-1], bases[-1], "o", color=GREEN, ms=6)
        before = after
    axes.plot(path["income"].iloc[0], 0.0, "o", color=ORANGE, ms=7)
    axes.set(xlabel="income (thousands)", yticks=[], xlim=(-0.6, 5))
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "loan": draw_loan,
    "density": draw_density,
    "profiles": draw_profiles,
    "landscape": draw_landscape,
    "switches": draw_switches,
    "judges": draw_judges,
    "planners": draw_planners,
}


def main(names: list[str]) -> None:
    """Draw the pictures named, or all of them."""
    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 9, "savefig.dpi": 110, "axes.titlesize": 10})
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(FOLDER / f"{name}.png", metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
