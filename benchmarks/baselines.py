"""FACE, Wachter and Roadmap: how fast graphs are built, and how all planners compare.

`python -m benchmarks.baselines --folder results` writes `problems.csv`, a line per problem and
planner, and goes on where it stopped; then it prints the tables. A problem is a table, a goal, a
penalty (relative scale) and a start drawn from the density, a linear Gaussian network.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import daace
from benchmarks import geodesic
from daace import (
    NSGA2,
    ConditionalDensity,
    Face,
    Goal,
    Landscape,
    PathOptimizer,
    Planner,
    Problem,
    Roadmap,
    Wachter,
)
from daace._typing import FloatArray
from daace.explain import metrics
from daace.landscape.path import gauss_rule
from daace.planners.graphs import EdgeRule, Graph, log_prob_along

TABLES = ("phoneme", "wine", "MagicTelescope", "breast_cancer")
PENALTIES = (1.0, 5.0, 10.0, 15.0)
STARTS = 13

#: What is asked of the end: the defaults, and more than most rows of a table have to offer.
GOALS = {
    "default": {"plausibility": -0.5, "min_posterior": 0.5},
    "strict": {"plausibility": 0.5, "min_posterior": 0.99},
}

#: NSGA2 takes minutes per problem: only the first start of these tables.
NSGA2_TABLES = ("phoneme", "wine")

KEY = ["table", "goal", "penalty", "start", "planner"]


# Building graphs ------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the time of a call by the clock of the process: others share the machine."""
    began = time.process_time()
    work()
    return time.process_time() - began


def build(
    name: str, density: ConditionalDensity, points: FloatArray, *, edges: int, repeats: int = 3
) -> dict[str, object]:
    """Compare building and weighing a full `integral` graph with plain loops over some edges.

    'path_cost' asks the landscape for the cost of each segment by the midpoint rule; 'bare' does
    nothing but the arithmetic of the graph's own rule, without a check or an object. All three
    take turns, and the shortest time of each counts.
    """
    landscape = Landscape(density, penalty=5.0)
    rule = gauss_rule(16)

    def made() -> Graph:
        graph = Graph.build(points, density)
        graph.weights(landscape)
        return graph

    graph = made()
    chosen = np.random.default_rng(0).choice(graph.edges, min(edges, graph.edges), replace=False)
    pairs = graph.points[np.column_stack([graph.begins()[chosen], graph.indices[chosen]])]

    def path_cost() -> None:
        for pair in pairs:
            landscape.path_cost(pair, rule="midpoint", pieces=len(rule))

    def bare() -> None:
        for a, b in pairs:
            along = a + rule.nodes[:, None] * (b - a)
            prices = landscape.price(landscape.roughness(density.log_prob(along)))
            float(prices @ rule.weights * np.linalg.norm(b - a))

    times = np.array([[cpu_seconds(f) for f in (made, path_cost, bare)] for _ in range(repeats)])
    ours, by_path_cost, by_hand = times.min(axis=0)
    share = graph.edges / len(pairs)
    return {
        "density": name,
        "points": len(points),
        "features": points.shape[1],
        "edges": graph.edges,
        "CPU seconds": ours,
        "loop of path_cost / ours": share * by_path_cost / ours,
        "bare loop / ours": share * by_hand / ours,
        "bytes per edge, cache": graph.cache_nbytes / graph.edges,
        "bytes per edge, rest": (graph.nbytes - graph.cache_nbytes) / graph.edges,
    }


def kde_and_points() -> tuple[daace.KernelDensity, FloatArray]:
    """Return a KDE of 20,000 rows, and 128 of them."""
    many = daace.load_table("california").shuffle(rng=np.random.default_rng(0))
    kde = daace.KernelDensity(bandwidth=0.25).fit(many)
    return kde, Face(kde.to_model(many.to_frame()), nodes=128).points


def building() -> pd.DataFrame:
    """Return one row per density: the network on 1000 points, a KDE of 20,000 rows on 48."""
    table = daace.load_table("MagicTelescope")
    network = daace.LinearGaussianNetwork().fit(table)
    rows = Face(network.to_model(table.to_frame())).points
    wide = daace.load_table("breast_cancer")
    deep = daace.LinearGaussianNetwork().fit(wide)
    kde, few = kde_and_points()
    return pd.DataFrame(
        [
            build("network, MagicTelescope", network, rows, edges=3_000, repeats=5),
            build(
                "network, breast_cancer",
                deep,
                deep.to_model(wide.to_frame()),
                edges=3_000,
                repeats=5,
            ),
            build(
                f"kde of {sum(map(len, kde.rows_))} rows, california", kde, few[:48], edges=1_128
            ),
        ]
    )


def _look(density: ConditionalDensity, a: FloatArray, b: FloatArray) -> float:
    began = time.process_time()
    log_prob_along(density, a, b, (density.log_joint(a), density.log_joint(b)), gauss_rule(16))
    return time.process_time() - began


def sharing(density: ConditionalDensity, points: FloatArray, *, tasks: int = 8) -> dict[str, float]:
    """Return how much two processes gain on the edges of one block, split into equal tasks.

    On a busy machine the wall clock says little. The CPU seconds of all tasks in two processes,
    halved, are what free cores would need.
    """
    begin, end = np.triu_indices(len(points), k=1)
    parts = np.array_split(np.arange(2048), tasks)
    work = [(points[begin[part]], points[end[part]]) for part in parts]
    Parallel(n_jobs=2)(delayed(_look)(density, a[:1], b[:1]) for a, b in work)  # start them
    seconds, cpu = {}, {}
    for jobs in (1, 2):
        began = time.perf_counter()
        cpu[jobs] = sum(Parallel(n_jobs=jobs)(delayed(_look)(density, a, b) for a, b in work))
        seconds[jobs] = time.perf_counter() - began
    return {
        "one process / two, wall clock": seconds[1] / seconds[2],
        "one process / two, by CPU seconds": cpu[1] / (cpu[2] / 2),
        "load": os.getloadavg()[0],
    }


def memory(points: int = 20_000) -> dict[str, object]:
    """Return the most that arrays took while a `knn` graph was built and weighed, in MB."""
    means, shapes = np.eye(2, 10) * 3, np.stack([np.eye(10)] * 2)
    density = daace.GaussianMixture([1, 1], means, shapes, ["a", "b"])
    X, _ = density.sample(points, rng=np.random.default_rng(0))
    tracemalloc.start()
    graph = Graph.build(X, density, EdgeRule(kind="knn"))
    graph.weights(Landscape(density))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return {"knn points": points, "edges": graph.edges, "peak MB": peak}


# Problems -------------------------------------------------------------------------------------


def planners(rows: FloatArray) -> dict[str, Planner]:
    """Return all planners, on the rows of a table where they need them."""
    return {
        "PathOptimizer": PathOptimizer(),
        "Roadmap": Roadmap(),
        "Roadmap, not refined": Roadmap(refine=False),
        "Face integral": Face(rows),
        "Face density": Face(rows, graph="density"),
        "Face epsilon": Face(rows, graph="epsilon"),
        "Face knn": Face(rows, graph="knn"),
        "Wachter data": Wachter(rows),
        "Wachter gradient": Wachter(rows, search="gradient"),
        "NSGA2": NSGA2(),
    }


def starts(density: ConditionalDensity, count: int) -> list[tuple[FloatArray, object]]:
    """Draw starts that have somewhere to go, and the class to reach; the same for all penalties."""
    rng = np.random.default_rng(4)
    found: list[tuple[FloatArray, object]] = []
    while len(found) < count:
        x = density.sample(1, rng=rng)[0][0]
        other = density.classes_[1 - int(density.predict_proba(x[None])[0].argmax())]
        if not Goal(other).check(density, x):
            found.append((x, other))
    return found


def measure(planner: Planner, problem: Problem, deviations: FloatArray) -> dict[str, object]:
    """Solve one problem and measure the answer; nothing is measured where there is none."""
    plan = planner.solve(problem, rng=np.random.default_rng(0))
    row: dict[str, object] = {"found": plan.found, "cost": plan.cost, "seconds": plan.seconds}
    if not plan.found:
        return row
    density, path = problem.landscape.density, plan.waypoints
    return row | {
        "L2": metrics.l2(path),
        "L1/MAD": metrics.l1_over_mad(path, deviations),
        "path sparsity": metrics.path_sparsity(path),
        "end sparsity": metrics.end_sparsity(path),
        "hops": metrics.hops(path),
        "log p": metrics.log_density(path, density),
        "posterior": metrics.posterior(path, density, problem.goal.target),
        "valid": metrics.valid(path, density, problem.goal),
    }


def problems(
    tables: tuple[str, ...], count: int, done: set[tuple[object, ...]], *, nsga2: bool
) -> Iterator[dict[str, object]]:
    """Yield one row per problem and planner that is not done yet."""
    for table in tables:
        data = daace.load_table(table).shuffle(rng=np.random.default_rng(0))
        density = daace.LinearGaussianNetwork().fit(data)
        rows = density.to_model(data.to_frame())
        deviations = metrics.median_deviation(rows)
        chosen, everyone = starts(density, count), planners(rows)
        for penalty, goal in product(PENALTIES, GOALS):
            landscape = Landscape(density, penalty=penalty)
            for start, (x, target) in enumerate(chosen):
                problem = Problem(x, landscape, Goal(target, **GOALS[goal]))
                for name, planner in everyone.items():
                    key = (table, goal, penalty, start, name)
                    if key in done or _left_out(*key, nsga2=nsga2):
                        continue
                    if isinstance(planner, Face | Roadmap):  # built before the clock runs
                        planner.build(density).weights(landscape)
                    row = measure(planner, problem, deviations)
                    yield {**dict(zip(KEY, key, strict=True)), "features": len(x), **row}


def _left_out(
    table: str, goal: str, _penalty: float, start: int, planner: str, *, nsga2: bool
) -> bool:
    if not nsga2:
        return planner == "NSGA2"
    return planner != "NSGA2" or start > 0 or goal != "default" or table not in NSGA2_TABLES


COLUMNS = [
    *(*KEY, "features", "found", "cost", "seconds", "L2", "L1/MAD", "path sparsity"),
    *("end sparsity", "hops", "log p", "posterior", "valid"),
]


def run(path: Path, tables: tuple[str, ...], count: int, *, nsga2: bool = False) -> pd.DataFrame:
    """Solve what the file does not hold yet, line by line, and return all."""
    done: set[tuple[object, ...]] = set()
    if path.exists():
        done = set(pd.read_csv(path)[KEY].itertuples(index=False, name=None))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(columns=COLUMNS).to_csv(path, index=False)
    for row in problems(tables, count, done, nsga2=nsga2):
        line = pd.DataFrame([row]).reindex(columns=COLUMNS)
        line.to_csv(path, mode="a", header=False, index=False)
    return pd.read_csv(path)


def against_face(results: pd.DataFrame) -> pd.DataFrame:
    """Return PathOptimizer's cost over that of FACE's `integral` graph, by table and in all."""
    cost = results.pivot(index=KEY[:-1], columns="planner", values="cost")
    ours, face = cost["PathOptimizer"], cost["Face integral"]
    both = np.isfinite(ours) & np.isfinite(face)
    frame = pd.DataFrame(
        {
            "ratio": (ours / face)[both],
            "not higher": (ours <= face * (1 + 1e-9))[both],
        }
    ).reset_index()

    def lines(by: object) -> pd.DataFrame:
        return frame.groupby(by).agg(
            problems=("ratio", "size"),
            not_higher=("not higher", "mean"),
            median=("ratio", "median"),
            worst=("ratio", "max"),
        )

    everything = lines(lambda _: "all")
    return pd.concat([lines("table"), lines("penalty"), lines("goal"), everything])


def by_planner(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per planner: medians over the problems that it solved.

    Cost and L2 are divided by PathOptimizer's on the same problem.
    """
    frame = results.copy()
    ours = frame[frame["planner"] == "PathOptimizer"].set_index(KEY[:-1])
    index = pd.MultiIndex.from_frame(frame[KEY[:-1]])
    for name in ("cost", "L2"):
        frame[f"{name} / PathOptimizer's"] = frame[name] / ours[name].reindex(index).to_numpy()
    frame["not found"] = ~frame["found"].astype(bool)
    shown = {
        "cost": "cost / PathOptimizer's",
        "L2": "L2 / PathOptimizer's",
        "path sparsity": "path sparsity",
        "end sparsity": "end sparsity",
        "hops": "hops",
        "log p": "log p",
        "seconds": "seconds",
    }
    table = {
        planner: {
            "problems": len(group),
            "found": 1 - group["not found"].mean(),
            **{
                title: group.loc[~group["not found"], column].median()
                for title, column in shown.items()
            },
        }
        for planner, group in frame.groupby("planner", sort=False)
    }
    return pd.DataFrame(table).T


# Walls ----------------------------------------------------------------------------------------


def walls(*, penalties: tuple[float, ...] = (1.0, 5.0)) -> list[dict[str, object]]:
    """Compare Roadmap with PathOptimizer on the problems in the plane that have walls."""
    table: list[dict[str, object]] = []
    for case in (case for case in geodesic.cases() if case.walls):
        for penalty in penalties:
            problem = Problem(
                case.start, Landscape(case.density, penalty=penalty), Goal(case.target)
            )
            row: dict[str, object] = {"case": case.name, "penalty": penalty}
            for vertices in ((0, 1, 2, 3), 8):
                ours, peer = (
                    kind(vertices=vertices, vertex_tolerance=0).solve(
                        problem, rng=np.random.default_rng(0)
                    )
                    for kind in (Roadmap, PathOptimizer)
                )
                row["v = 8" if vertices == 8 else "v <= 3"] = ours.cost / peer.cost
            raw = Roadmap(refine=False).solve(problem, rng=np.random.default_rng(0))
            row["not refined"] = raw.cost / peer.cost
            table.append(row)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("baselines"))
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--only", choices=("building", "walls", "problems", "nsga2"))
    options = parser.parse_args()
    chosen = options.only
    with threadpool_limits(1):
        if chosen in (None, "building"):
            options.folder.mkdir(parents=True, exist_ok=True)
            built = building()
            built.to_csv(options.folder / "building.csv", index=False)
            print(built.to_string(float_format="%.4g"), flush=True)
            print(sharing(*kde_and_points()), flush=True)
            print(memory(), flush=True)
        if chosen in (None, "walls"):
            print(pd.DataFrame(walls()).to_string(float_format="%.4f"), flush=True)
        if chosen in (None, "problems", "nsga2"):
            file, tables = options.folder / "problems.csv", tuple(options.tables)
            results = run(file, tables, options.starts, nsga2=chosen == "nsga2")
            print(against_face(results).to_string(float_format="%.4g"))
            for goal, group in results.groupby("goal"):
                print(f"\nGoal: {goal}\n{by_planner(group).to_string(float_format='%.4g')}")


if __name__ == "__main__":
    main()
