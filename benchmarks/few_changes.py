"""How many features change with `changes="few"`, at which cost, and how long the search takes.

    python -m benchmarks.few_changes [--models FOLDER] [TABLE ...]

`daace.fit` learns up to 4,000 rows of each table, with its defaults. The queries are the first rows
that miss the goal of the other class. Each is planned with `changes="all"` and `changes="few"`: 32
as one batch, and the first six one by one. Times are CPU time, and ratios are few over all in one
run. `--models` keeps the fitted models.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from daace import Explainer, PathOptimizer, Plan, Problem, Table, load_table
from daace.explain.asking.settings import PLANNERS
from daace.planners.rules.held_paths import changed_features

TABLES = (
    "breast_cancer", "house_16H", "jannis", "credit_default", "south_german_credit", "adult",
)  # fmt: skip

#: The class that is asked for; where there is none, the less probable one.
TARGETS = {"credit_default": "no", "south_german_credit": "good", "adult": ">50K"}

#: Rows of a table that are learned, rows of a batch, and rows that are asked about one by one.
ROWS, BATCH, ALONE = 4000, 32, 6


def read(name: str) -> Table:
    """Return up to `ROWS` rows of a table."""
    table = load_table(name)
    order = np.random.default_rng(0).permutation(len(table))
    return table.take(order[:ROWS]) if len(table) > ROWS else table


def learn(table: Table, kept: Path | None) -> Explainer:
    """Return an explainer with defaults, from a file if it was fitted before."""
    if kept is None or not kept.exists():
        explainer = daace.fit(table)
        if kept is not None:
            explainer.save(kept)
        return explainer
    return daace.load(kept)


def questions(explainer: Explainer, table: Table, target: object) -> list[Problem]:
    """Return the problems of the first rows that miss their goal."""
    settings, density = explainer._settings(), explainer.density
    frame, found = table.to_frame()[list(table.features)], []
    labels = [str(label) for label in density.classes_]
    for row in range(len(frame)):
        start = frame.iloc[[row]]
        least = int(density.predict_proba(density.to_model(start))[0].argmin())
        wanted = least if target is None else labels.index(str(target))
        goal = settings.goal(density.classes_.item(wanted))
        problem = Problem(start, settings.landscape, goal, settings.rules)
        if not problem.met_by(problem.x):
            found.append(problem)
        if len(found) == BATCH:
            break
    return found


def plan(planner: Any, problems: list[Problem]) -> tuple[list[Plan], float]:
    """Return plans and CPU seconds."""
    began = time.process_time()
    plans = planner.solve_many(problems, rngs=[np.random.default_rng(0)] * len(problems))
    return plans, time.process_time() - began


def measure(name: str, models: Path | None) -> dict[str, object]:
    """Return the line of a table."""
    table = read(name)
    explainer = learn(table, None if models is None else models / f"{name}.daace")
    problems = questions(explainer, table, TARGETS.get(name))
    PathOptimizer().solve(problems[0], rng=np.random.default_rng(0))  # makes draws and graphs
    (cheap, plain), (few, sparse) = (plan(PLANNERS[k], problems) for k in ("all", "few"))
    both = [
        (problem, a, b)
        for problem, a, b in zip(problems, cheap, few, strict=True)
        if a.found and b.found and len(a.waypoints) > 1
    ]
    counts = np.array(
        [[changed_features(p, one.waypoints).sum() for one in (a, b)] for p, a, b in both]
    )
    growth = np.array([b.cost / a.cost for _, a, b in both])
    alone = [
        plan(PLANNERS["few"], [problem])[1] / plan(PLANNERS["all"], [problem])[1]
        for problem in problems[:ALONE]
    ]
    assert all(p.met_by(b.waypoints[-1]) and p.feasible.contains(b.waypoints) for p, _, b in both)
    return {
        "table": name,
        "features": len(explainer.density.features_),
        "found, all / few": f"{sum(a.found for a in cheap)} / {sum(b.found for b in few)}",
        "changed, all": float(np.median(counts[:, 0])),
        "changed, few": float(np.median(counts[:, 1])),
        "growth of the cost": f"{np.median(growth):.2f}",
        "largest growth": f"{growth.max():.2f}",
        "time, batch": f"{sparse / plain:.2f}",
        "time, alone": f"{np.median(alone):.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--models", type=Path)
    options = parser.parse_args()
    for name in options.tables:
        line = measure(name, options.models)
        print(pd.DataFrame([line]).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
