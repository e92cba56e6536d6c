"""Measure everything in one run and print it as tables: ratios, not seconds.

`python -m benchmarks.run` takes minutes; `--full` solves every problem and takes hours.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

import daace
from benchmarks import (
    baselines,
    batches,
    classifiers,
    clgn,
    geodesic,
    growth,
    kde,
    peers,
    planners,
    rules,
)
from daace.eqi.data import read_counties


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def tables(full: bool, jobs: int, resume: bool) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return what to measure, by title."""
    real = "DAACE_DATA" in os.environ
    names = ("breast_cancer", "phoneme", "MagicTelescope", "wine") if real else ("breast_cancer",)

    def against_nsga2() -> pd.DataFrame:
        starts = 2 if full else 1
        chosen = planners.tasks("clgn", names, ("relative", "nll"), starts)
        if full and real:
            chosen += planners.tasks("kde", ("phoneme", "wine"), ("relative",), 2)
            chosen += planners.tasks("realnvp", ("phoneme",), ("relative",), 2)
            chosen += planners.tasks("realnvp", ("credit",), ("relative",), 1)
        if not full:
            chosen = [t for t in chosen if t.penalty in (1.0, 5.0) and t.table != "MagicTelescope"]
        record = Path(__file__).parent / "planners.csv"
        if not resume:
            record.unlink(missing_ok=True)
        results = planners.measure(chosen, record=record, jobs=jobs)
        print(planners.by_table(results).to_string(index=False, float_format="%.4g"))
        return planners.summarise(results).set_index(["density", "scale"]).T

    def against_geodesics() -> pd.DataFrame:
        return pd.DataFrame(geodesic.rows(only=slice(None, None, 1 if full else 3)))

    def all_planners() -> pd.DataFrame:
        record = Path(__file__).parent / "baselines.csv"
        if not resume:
            record.unlink(missing_ok=True)
        results = baselines.run(record, baselines.TABLES, baselines.STARTS)
        print(baselines.against_face(results).to_string(float_format="%.4g"))
        return pd.concat(
            {goal: baselines.by_planner(group) for goal, group in results.groupby("goal")}
        )

    def own_classifiers() -> pd.DataFrame:
        record = Path(__file__).parent / "classifiers.csv"
        if not resume:
            record.unlink(missing_ok=True)
        if full and real:
            return classifiers.rows(record)
        return classifiers.rows(record, names=("breast_cancer",), starts=5)

    chosen: dict[str, Callable[[], pd.DataFrame]] = {
        "PathOptimizer against NSGA2": against_nsga2,
        "PathOptimizer against exact geodesics": against_geodesics,
        "Linear Gaussian network against PyBNesian": lambda: pd.DataFrame(clgn.rows(full=full)),
        "Kernel density against scikit-learn": lambda: pd.DataFrame(kde.rows(full=full)),
        "Your own classifier": own_classifiers,
        "Batches": lambda: batches.rows(repeats=3 if full else 1),
        "Random rules": lambda: rules.rows(rules.TABLES if real else ("breast_cancer",), full=full),
        "Growth": growth.rows,
        "Building graphs": baselines.building,
        "Roadmap against PathOptimizer around walls": lambda: pd.DataFrame(baselines.walls()),
    }
    if full and real:
        chosen["All planners"] = all_planners
    if real and (Path(os.environ["DAACE_DATA"]) / "eqi").is_dir():
        from benchmarks import eqi

        chosen["Counties: restricted network against PyBNesian"] = lambda: pd.DataFrame(
            eqi.fitting(read_counties())
        )
    if has("dice_ml"):
        chosen["Peers"] = peers.rows
    if has("zuko"):
        from benchmarks import flow

        chosen["Flow against zuko"] = lambda: pd.DataFrame(flow.rows(full=full))
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="every problem (hours)")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the NSGA2 comparison")
    parser.add_argument(
        "--resume", action="store_true", help="go on where the long comparisons were stopped"
    )
    parser.add_argument("--only", default="", help="titles that contain this text")
    options = parser.parse_args()
    print(f"daace {daace.__version__}, Python {platform.python_version()}, one BLAS thread")
    with threadpool_limits(1):
        for title, measure in tables(options.full, options.jobs, options.resume).items():
            if options.only.lower() in title.lower():
                print(f"\n## {title}\n", flush=True)
                print(measure().to_string(float_format="%.4g"), flush=True)


if __name__ == "__main__":
    main()
