"""PathOptimizer against NSGA2 at the paper's settings: same landscape, goal, box and density.

A problem is a start, a penalty, a scale and a number of vertices. Costs are compared at the same
number of vertices; times are CPU seconds of v = 0..3 together, each planner alone on one thread.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import daace
from daace import ConditionalDensity, Goal, Landscape, PathOptimizer, Plan, Planner, Problem
from daace.data.preprocess import preprocess
from daace.planners.graphs import roadmap_graph
from daace.planners.nsga2 import NSGA2

PENALTIES = (1.0, 5.0, 10.0, 15.0)
VERTICES = (0, 1, 2, 3)

#: Paths that are planned as one batch, where that is measured too.
TOGETHER = 32


@dataclass(frozen=True)
class Task:
    table: str
    density: str
    scale: str
    penalty: float
    start: int


KEY = tuple(Task.__dataclass_fields__)


def fit(table: str, density: str) -> ConditionalDensity:
    rows = daace.load_table(table).shuffle(rng=np.random.default_rng(0))
    if density == "clgn":
        return daace.LinearGaussianNetwork().fit(rows)
    if density == "realnvp":  # the paper tuned it on what its preprocessing keeps
        return daace.RealNVP.preset(table).fit(preprocess(rows), progress=True)
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


def timed(planner: Planner, problem: Problem) -> tuple[Plan, float]:
    """Return a plan and its CPU seconds."""
    began = time.process_time()
    plan = planner.solve(problem, rng=np.random.default_rng(0))
    return plan, time.process_time() - began


def timed_together(planner: Planner, problems: list[Problem]) -> float:
    """Return the CPU seconds of one of many plans that are made as one batch."""
    began = time.process_time()
    planner.solve_many(problems, rngs=np.random.default_rng(0).spawn(len(problems)))
    return (time.process_time() - began) / len(problems)


def draw_problem(
    landscape: Landscape, rng: np.random.Generator, goal: Goal | None = None
) -> Problem:
    """Return a start that has somewhere to go: to the other class, or to a goal."""
    density = landscape.density
    while True:
        x = density.sample(1, rng=rng)[0][0]
        other = density.classes_[1 - int(density.predict_proba(x[None])[0].argmax())]
        problem = Problem(x, landscape, goal or Goal(other))
        if not problem.met_by(x):
            return problem


def compare(task: Task, density: ConditionalDensity) -> pd.DataFrame:
    """Solve one start by both planners at every number of vertices: one row per problem."""
    rng = np.random.default_rng([task.start, int(task.penalty), len(task.table)])
    scale = "nll" if task.scale == "nll" else "relative"
    landscape = Landscape(density, penalty=task.penalty, scale=scale)
    problem = draw_problem(landscape, rng)
    x = problem.x
    for label in density.classes_:  # made once per density, as is the graph: they serve all starts
        density.pool(label)
    roadmap_graph(density)
    _, seconds = timed(PathOptimizer(vertex_tolerance=0), problem)
    together = np.nan
    if task.density == "realnvp":
        others = [draw_problem(landscape, rng, problem.goal) for _ in range(TOGETHER - 1)]
        together = timed_together(PathOptimizer(vertex_tolerance=0), [problem, *others])
    rows: list[dict[str, object]] = []
    for v in VERTICES:
        plan, _ = timed(PathOptimizer(vertices=v, vertex_tolerance=0), problem)
        peer, peer_seconds = timed(NSGA2(vertices=v), problem)
        valid = all(p.found == problem.met_by(p.waypoints[-1]) for p in (plan, peer))
        rows.append(
            {
                **asdict(task),
                "features": len(x),
                "vertices": v,
                "ours": plan.cost,
                "nsga2": peer.cost,
                "found": plan.found,
                "nsga2 found": peer.found,
                "valid": valid,
                "our seconds": seconds,
                "our seconds together": together,
                "nsga2 seconds": peer_seconds,
            }
        )
    return pd.DataFrame(rows)


def measure(chosen: list[Task], *, record: Path, jobs: int = 1) -> pd.DataFrame:
    """Return one row per problem; what the record holds already is not solved again.

    The record is a CSV file that grows start by start, so that hours of work survive a stop.
    """
    done = pd.read_csv(record) if record.exists() else pd.DataFrame(columns=list(KEY))
    known = {Task(*row) for row in done[list(KEY)].drop_duplicates().itertuples(index=False)}
    waiting = [task for task in chosen if task not in known]
    densities = {key: fit(*key) for key in dict.fromkeys((t.table, t.density) for t in waiting)}
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    solved = workers(delayed(compare)(t, densities[t.table, t.density]) for t in waiting)
    for count, rows in enumerate(solved, start=1):
        rows.to_csv(record, mode="a", header=not record.exists(), index=False)
        print(f"\r{count} of {len(waiting)} starts", end="", file=sys.stderr, flush=True)
    results = pd.read_csv(record)
    wanted = {tuple(asdict(task).values()) for task in chosen}
    mine = [tuple(row) in wanted for row in results[list(KEY)].itertuples(index=False)]
    return results[mine].reset_index(drop=True)


def with_differences(results: pd.DataFrame) -> pd.DataFrame:
    """Keep the problems that both solved; add ratios, signed differences and speed."""
    results = results.reindex(columns=[*results.columns.union(["our seconds together"])])
    both = results[results["found"] & results["nsga2 found"]].copy()
    both["ratio"] = both["ours"] / both["nsga2"]
    both["excess"] = (both["ours"] - both["nsga2"]) / both["nsga2"].abs()
    total = results.groupby(list(KEY))["nsga2 seconds"].sum().rename("nsga2 total")
    both = both.join(total, on=list(KEY))
    both["times faster"] = both["nsga2 total"] / both["our seconds"]
    both["times faster together"] = both["nsga2 total"] / both["our seconds together"]
    return both


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the comparison that the project holds itself to."""
    both = with_differences(results)
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
                "median cost ratio, n>=10, v>=1": large["ratio"].median()
                if scale == "relative"
                else np.nan,
                "median signed difference": group["excess"].median(),
                "negative costs": int((group["ours"] < 0).sum()),
                "NSGA2's negative costs": int((group["nsga2"] < 0).sum()),
                "times faster, median": searches["times faster"].median(),
                "times faster, in batches": searches["times faster together"].median(),
                "infeasible ends": int((~mine["valid"]).sum()),
            }
        )
    return pd.DataFrame(lines)


def by_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return differences and speed by table, scale and penalty."""
    groups = with_differences(results).groupby(["density", "scale", "table", "penalty"])
    return groups.agg(
        **{
            "problems": ("excess", "size"),
            "median difference": ("excess", "median"),
            "worst difference": ("excess", "max"),
            "times faster": ("times faster", "median"),
            "our seconds": ("our seconds", "median"),
        }
    ).reset_index()
