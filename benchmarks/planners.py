"""PathOptimizer against NSGA2 at the paper's settings: same landscape, goal, box and density.

A problem is a start, a penalty, a scale and a number of vertices. Costs are compared at the same
number of vertices; times are those of v = 0..3 together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import daace
from daace import ConditionalDensity, Goal, Landscape, PathOptimizer, Problem
from daace.planners.nsga2 import NSGA2

PENALTIES = (1.0, 5.0, 10.0, 15.0)
VERTICES = (0, 1, 2, 3)


@dataclass(frozen=True)
class Task:
    table: str
    density: str
    scale: str
    penalty: float
    start: int


def fit(table: str, density: str) -> ConditionalDensity:
    rows = daace.load_table(table).shuffle(rng=np.random.default_rng(0))
    if density == "clgn":
        return daace.LinearGaussianNetwork().fit(rows)
    return daace.KernelDensity(max_rows_per_class=2000).fit(rows)


def tasks(
    density: str, tables: tuple[str, ...], scales: tuple[str, ...], starts: int
) -> list[Task]:
    return [
        Task(table, density, scale, penalty, start)
        for start in range(starts)
        for table in tables
        for scale in scales
        for penalty in PENALTIES
    ]


def compare(task: Task, density: ConditionalDensity) -> list[dict[str, object]]:
    """Solve one start by both planners at every number of vertices."""
    rng = np.random.default_rng([task.start, int(task.penalty), len(task.table)])
    scale = "nll" if task.scale == "nll" else "relative"
    landscape = Landscape(density, penalty=task.penalty, scale=scale)
    while True:  # a start that has somewhere to go
        x = density.sample(1, rng=rng)[0][0]
        other = density.classes_[1 - int(density.predict_proba(x[None])[0].argmax())]
        problem = Problem(x, landscape, Goal(other))
        if not problem.met_by(x):
            break
    ours = PathOptimizer(vertex_tolerance=0).solve(problem, rng=np.random.default_rng(0))
    theirs = [NSGA2(vertices=v).solve(problem, rng=np.random.default_rng(0)) for v in VERTICES]
    faster = sum(plan.seconds for plan in theirs) / ours.seconds
    rows: list[dict[str, object]] = []
    for v, peer in zip(VERTICES, theirs, strict=True):
        plan = PathOptimizer(vertices=v, vertex_tolerance=0).solve(
            problem, rng=np.random.default_rng(0)
        )
        valid = all(p.found == problem.met_by(p.waypoints[-1]) for p in (plan, peer))
        rows.append(
            {
                "table": task.table,
                "features": len(x),
                "density": task.density,
                "scale": task.scale,
                "penalty": task.penalty,
                "start": task.start,
                "vertices": v,
                "ours": plan.cost,
                "nsga2": peer.cost,
                "found": plan.found,
                "nsga2 found": peer.found,
                "valid": valid,
                "times faster": faster,
                "our seconds": ours.seconds,
            }
        )
    return rows


def measure(chosen: list[Task], *, jobs: int = 1) -> pd.DataFrame:
    """Return one row per problem."""
    densities = {key: fit(*key) for key in dict.fromkeys((t.table, t.density) for t in chosen)}
    for density in densities.values():
        for label in density.classes_:
            density.pool(label)
    found = Parallel(n_jobs=jobs, verbose=1 if jobs > 1 else 0)(
        delayed(compare)(task, densities[task.table, task.density]) for task in chosen
    )
    return pd.DataFrame([row for rows in found for row in rows])


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the comparison that the project holds itself to."""
    both = results[results["found"] & results["nsga2 found"]].copy()
    both["excess"] = (both["ours"] - both["nsga2"]) / both["nsga2"].abs()
    lines = []
    for (density, scale), group in both.groupby(["density", "scale"]):
        large = group[(group["features"] >= 10) & (group["vertices"] >= 1)]
        searches = group.drop_duplicates(["table", "penalty", "start"])
        mine = results[(results["density"] == density) & (results["scale"] == scale)]
        lines.append(
            {
                "density": density,
                "scale": scale,
                "problems": len(mine),
                "found": mine["found"].mean(),
                "NSGA2 found": mine["nsga2 found"].mean(),
                "not higher": (group["excess"] <= 1e-3).mean(),
                "worst excess": group["excess"].max(),
                "median cost ratio, n>=10, v>=1": (large["ours"] / large["nsga2"]).median()
                if scale == "relative"
                else np.nan,
                "median signed difference": group["excess"].median(),
                "negative costs": int((group["ours"] < 0).sum()),
                "times faster, median": searches["times faster"].median(),
                "infeasible ends": int((~mine["valid"]).sum()),
            }
        )
    return pd.DataFrame(lines)


def by_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return the median cost ratio and speed by table, scale and penalty."""
    both = results[results["found"] & results["nsga2 found"]].copy()
    both["ratio"] = both["ours"] / both["nsga2"]
    both["excess"] = (both["ours"] - both["nsga2"]) / both["nsga2"].abs()
    return (
        both.groupby(["density", "scale", "table", "penalty"])
        .agg(
            **{
                "median difference": ("excess", "median"),
                "worst difference": ("excess", "max"),
                "times faster": ("times faster", "median"),
                "our seconds": ("our seconds", "median"),
            }
        )
        .reset_index()
    )
