"""How the time of one counterfactual grows: with features, vertices, classes and KDE rows."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from daace import (
    ConditionalDensity,
    Goal,
    KernelDensity,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Problem,
    Table,
)
from daace.data.synthetic import draw_table, random_mixture

REPEATS = 5


def table_of(features: int, classes: int = 2, rows: int = 1500) -> Table:
    """Draw correlated classes whose distance does not depend on the number of features."""
    rng = np.random.default_rng([features, classes])
    parameters = random_mixture(
        features, classes=classes, components=1, spread=2 / np.sqrt(features), rng=rng
    )
    return draw_table(parameters, rows, rng=rng)


def seconds(density: ConditionalDensity, planner: PathOptimizer, penalty: float = 2.0) -> float:
    """Return the median time of one path, after one that fills the caches."""
    landscape = Landscape(density, penalty=penalty)
    rng = np.random.default_rng(0)
    target = density.classes_[-1]
    goal = Goal(target)
    times: list[float] = []
    while len(times) <= REPEATS:
        x = density.sample(1, rng=rng, label=density.classes_[0])[0][0]
        problem = Problem(x, landscape, goal)
        if problem.met_by(x):
            continue
        begin = time.perf_counter()
        planner.solve(problem, rng=rng)
        times.append(time.perf_counter() - begin)
    return float(np.median(times[1:]))


def rows() -> pd.DataFrame:
    """Return times relative to the smallest case of each series, and the fitted exponent."""
    default = PathOptimizer()
    series: dict[str, list[tuple[int, float]]] = {
        "features (CLGN)": [
            (n, seconds(LinearGaussianNetwork(max_parents=3).fit(table_of(n)), default))
            for n in (5, 10, 20, 40, 80, 130)
        ],
        "vertices (CLGN, 10 features)": [
            (v, seconds(LinearGaussianNetwork().fit(table_of(10)), PathOptimizer(vertices=v)))
            for v in (1, 2, 4, 8)
        ],
        "classes (CLGN, 10 features)": [
            (k, seconds(LinearGaussianNetwork().fit(table_of(10, classes=k)), default))
            for k in (2, 4, 8)
        ],
        "rows (KDE, 5 features)": [
            (r, seconds(KernelDensity(bandwidth=0.3).fit(table_of(5, rows=r)), default))
            for r in (500, 2000, 8000)
        ],
    }
    found = []
    for name, points in series.items():
        sizes, times = np.array(points).T
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        found.append(
            {
                "grows with": name,
                "sizes": ", ".join(str(int(size)) for size in sizes),
                "time relative to the first": ", ".join(f"{t / times[0]:.2f}" for t in times),
                "exponent": round(float(exponent), 2),
            }
        )
    return pd.DataFrame(found)
