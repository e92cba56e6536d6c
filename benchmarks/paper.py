"""The paper's first figure on a plane, and how FACE's graph grows with its nodes.

`python -m benchmarks.paper figure docs/images/plane.png` draws; `python -m benchmarks.paper growth`
prints CPU seconds and memory of full graphs, and what 100,000 nodes would take.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from daace import Face, GaussianMixture, Goal, Landscape, PathOptimizer, Planner, Problem, Wachter
from daace.data.synthetic import curve_mixture, random_mixture
from daace.explain.pictures.canvas import INK, Plot

#: Penalties of the two DAACE paths.
PENALTIES = (1.0, 10.0)

#: Rows of the plane, and nodes of FACE's graph.
ROWS, NODES = 600, 200

#: Sizes of the graphs, features of the points, and the size that the paper speaks of.
SIZES, FEATURES, LARGE = (250, 500, 1000, 2000), 10, 100_000


def bay() -> GaussianMixture:
    """Two classes along one bent shore, with an empty bay between its ends."""
    angle = np.linspace(0.9, 2 * np.pi - 0.9, 80)
    shore = np.column_stack([4.0 * np.cos(angle), 2.75 * np.sin(angle)])
    return GaussianMixture(*curve_mixture({"start": shore[:46], "goal": shore[46:]}, width=0.7))


def draw_plane() -> Plot:
    """Draw the nearest point, FACE, and DAACE at a low and a high penalty, on one landscape."""
    density = bay()
    rng = np.random.default_rng(4)
    rows, labels = density.sample(ROWS, rng=rng)
    start = np.array([2.5, 2.15])
    goal = Goal("goal", plausibility=-0.5, min_posterior=0.8)

    def solve(planner: Planner, penalty: float) -> np.ndarray:
        landscape = Landscape(density, penalty=penalty, scale="nll")
        return planner.solve(Problem(start, landscape, goal), rng=rng).waypoints

    low, high = PENALTIES
    target = rows[labels == "goal"]
    paths = {
        "nearest row (Wachter)": (solve(Wachter(target), low), "#8A8A8A", ":"),
        f"FACE, penalty {high:g}": (
            solve(Face(rows[:NODES], graph="density"), high), "#D55E00", "--"),
        f"DAACE, penalty {low:g}": (solve(PathOptimizer(), low), "#56B4E9", "-"),
        f"DAACE, penalty {high:g}": (
            solve(PathOptimizer(vertices=(0, 1, 2, 3, 6)), high), "#0072B2", "-"),
    }  # fmt: skip
    figure = Plot(figsize=(7.4, 5.6), layout="constrained")
    axes = figure.add_subplot()
    x, y = np.meshgrid(np.linspace(-6.0, 5.4, 260), np.linspace(-5.0, 5.0, 230))
    heights = -density.log_prob(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    drawn = axes.contourf(x, y, np.minimum(heights, 16), levels=14, cmap="Greys", alpha=0.65)
    figure.colorbar(drawn, ax=axes, label="-log p(x), in nats; white is plausible", shrink=0.8)
    for label, colour in (("start", "#CC79A7"), ("goal", "#009E73")):
        axes.plot(*rows[labels == label].T, ".", ms=3, color=colour, alpha=0.6)
    for name, (path, colour, line) in paths.items():
        axes.plot(*path.T, line, color=colour, lw=2.2, marker="o", ms=4, label=name)
    axes.plot(*start, "*", ms=16, color="white", mec=INK, zorder=6)
    axes.set_aspect("equal")
    axes.axis("off")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def measure_growth() -> pd.DataFrame:
    """Return CPU seconds and memory of full graphs by nodes, each as a power of their number."""
    rng = np.random.default_rng(0)
    density = GaussianMixture(*random_mixture(FEATURES, components=2, spread=1.0, rng=rng))
    X, _ = density.sample(max(SIZES), rng=rng)
    rules = {"density": {}, "integral, 19 midpoints": {"rule": "midpoint", "pieces": 19}}
    found = []
    for name, settings in rules.items():
        points = []
        for size in SIZES:
            face = Face(X[:size], graph=name.split(",")[0], nodes=size, **settings)
            began = time.process_time()
            graph = face.build(density)
            seconds = time.process_time() - began
            arrays = [v for v in vars(graph).values() if isinstance(v, np.ndarray)]
            points.append((size, seconds, sum(v.nbytes for v in arrays) / 1e6))
        sizes, times, memory = np.array(points).T
        row: dict[str, object] = {"edges": name, "nodes": ", ".join(f"{n:g}" for n in sizes)}
        for what, values, unit in (("CPU", times, "s"), ("memory", memory, "MB")):
            large = values[-1] * (LARGE / sizes[-1]) ** 2
            row |= {
                f"{what} ({unit})": ", ".join(f"{v:.3g}" for v in values),
                f"{what}: exponent": round(float(np.log(values[-1] / values[-2]) / np.log(2)), 2),
                f"{what} at {LARGE:,} ({unit})": f"{large:.3g}",
            }
        found.append(row)
    return pd.DataFrame(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["figure", "growth"])
    parser.add_argument("output", type=Path, nargs="?", default=Path("plane.png"))
    options = parser.parse_args()
    if options.what == "figure":
        options.output.write_bytes(draw_plane()._repr_png_())
    else:
        print(measure_growth().T.to_string(header=False))


if __name__ == "__main__":
    main()
