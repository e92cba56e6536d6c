"""Profiles against the single network and RealNVP: likelihood, paths, time.

Each part appends lines to a file in OUTPUT and skips what stands there:

    python -m benchmarks.profiles OUTPUT likelihood   # half an hour, OUTPUT/likelihood.csv
    python -m benchmarks.profiles OUTPUT paths        # half an hour, OUTPUT/paths.csv
    python -m benchmarks.profiles OUTPUT nsga2        # an hour, OUTPUT/nsga2.csv
    python -m benchmarks.profiles OUTPUT small        # seconds

`paths` solves the problems of the published study at penalties 1 and 5, and compares them with the
answers of its record. `--margin M` makes all algorithms aim higher than what they are judged by:
alpha is raised by M standard deviations of log p, and beta by the share M of what it lacks to 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import daace
from benchmarks.flow import Task, flow_of, log_joint, prepare
from daace.data.catalog import OPENML, load_table
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.nsga2 import NSGA2
from daace.planners.optimizer import PathOptimizer
from daace.study.cache import Cache
from daace.study.evaluation import evaluate_plan
from daace.study.results import PROBLEM, read_results
from daace.study.spec import DensitySpec, StudySpec
from daace.study.spec_reader import read_spec
from daace.study.table_setup import TableSetup
from daace.study.tables import fingerprint
from daace.study.trials import TableKeys, Trial

# Likelihood ---------------------------------------------------------------------------------------

#: Tables with published flows, of which RealNVP's likelihood is known.
WITH_FLOWS = ("phoneme", "wine", "MagicTelescope", "california", "electricity")

#: Epochs of a flow's training, and how many of them are timed; how often fits and flows take turns.
EPOCHS, TIMED, ROUNDS = 500, 10, 3


def likelihood_tasks() -> list[Task]:
    """Return the tables with flows, resampled and original, and the original rows of the others."""
    others = [name for name in OPENML if name not in WITH_FLOWS]
    return (
        [Task(name, "resampled") for name in WITH_FLOWS]
        + [Task(name, "original") for name in WITH_FLOWS]
        + [Task(name, "original") for name in others]
    )


def likelihood(task: Task) -> dict[str, object]:
    """Fit on 80% of the rows and compare on the others, as `benchmarks.flow` does."""
    table, truth = prepare(task)
    train, test = table.split(0.2, rng=np.random.default_rng(1))
    single, profiles = LinearGaussianNetwork(), LinearGaussianNetwork(profiles="auto")
    single_seconds = _cpu_seconds(lambda: single.fit(train))
    turns = ROUNDS if task.table in WITH_FLOWS else 1
    rounds = [_timed_round(task, profiles, train) for _ in range(turns)]
    seconds, flow_seconds = (float(np.median(times)) for times in zip(*rounds, strict=True))
    gain = log_joint(profiles, test) - log_joint(single, test)
    own = np.arange(len(test)), np.searchsorted(single.classes_, test.y)
    by_bic, behind = _choice_of_bic(profiles)
    return {
        "table": task.table,
        "data": task.data,
        "rows": len(table),
        "features": len(table.features),
        "truth": np.nan if truth is None else truth.log_joint(test.X)[own].mean(),
        "network": log_joint(single, test).mean(),
        "profiles": log_joint(profiles, test).mean(),
        "gain": gain.mean(),
        "standard_error": gain.std() / np.sqrt(len(gain)),
        "numbers": _words(np.bincount(profiles.components_.owner)),
        "numbers_by_bic": _words(by_bic),
        "bic_behind": behind,
        "network_seconds": single_seconds,
        "seconds": seconds,
        "flow_seconds": flow_seconds,
        "ratio": float(np.median([flow / fit for fit, flow in rounds])),
    }


def _cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _timed_round(task: Task, network: LinearGaussianNetwork, train: Table) -> tuple[float, float]:
    """Return the CPU seconds of one fit, and of one training of the flow right after it.

    The training, with the paper's settings, is extrapolated from some of its epochs.
    """
    fit = _cpu_seconds(lambda: network.fit(train))
    if task.table not in WITH_FLOWS:
        return fit, np.nan
    few, more = (_training_seconds(task, train, epochs) for epochs in (1, 1 + TIMED))
    return fit, (more - few) / TIMED * EPOCHS


def _choice_of_bic(network: LinearGaussianNetwork) -> tuple[list[int], float]:
    """Return the numbers that BIC would choose, and by how much the best predict better (nats)."""
    trials = network.trials_
    chosen, behind = [], []
    for _, tried in trials.groupby(network.target_, sort=False):
        best = tried.loc[tried["bic"].idxmax()]
        chosen.append(int(best["profiles"]))
        behind.append(tried["held_out"].max() - best["held_out"])
    return chosen, float(np.mean(behind)) if behind else np.nan


def _training_seconds(task: Task, train: Table, epochs: int) -> float:
    flow = flow_of(task, epochs)
    return _cpu_seconds(lambda: flow.fit(train))


def _words(numbers: Any) -> str:
    return ", ".join(str(int(number)) for number in numbers)


# Paths --------------------------------------------------------------------------------------------

PUBLISHED = Path(__file__).parents[1] / "docs" / "results" / "synthetic"

#: Name of each density, and the algorithm of the study that it stands for.
DENSITIES = {"clgn": "BayesACE", "profiles": "BayesACE (profiles)"}

PENALTIES = (1.0, 5.0)


def study() -> StudySpec:
    """Return the published study at two penalties, with the densities of interest."""
    spec = read_spec(PUBLISHED / "synthetic.toml")
    profiles = DensitySpec(name="profiles", kind="profiles")
    return replace(spec, penalties=PENALTIES, densities=(*spec.densities, profiles))


def setups(folder: Path, only: str) -> Iterator[TableSetup]:
    """Yield the tables of the study; what is fitted is kept in the folder."""
    spec = study()
    for table in spec.tables:
        if only in table.name:
            keys = TableKeys(spec, table, fingerprint(table, spec.seed))
            yield TableSetup(keys, Cache(folder / "cache"))


def problems(setup: TableSetup) -> list[Trial]:
    """Return the problems of a table as the study gave them to BayesACE."""
    return [trial for trial in setup.keys.trials() if trial.algorithm == "BayesACE"]


def pose(setup: TableSetup, trial: Trial, density: str, margin: float = 0.0) -> Problem:
    """Return a problem of the study, with thresholds raised by a margin."""
    start, _, target = setup.instance(trial.instance)
    certain = setup.summary.min_posterior(trial.certainty)
    goal = Goal(
        target=target,
        min_log_prob=setup.summary.min_log_prob(trial.plausibility + margin),
        min_posterior=certain + (1 - certain) * min(1.0, margin),
    )
    landscape = Landscape(setup.density(density), penalty=trial.penalty, scale="nll")
    return Problem(start=start, landscape=landscape, goal=goal, box=setup.box)


def solve(setup: TableSetup, trial: Trial, density: str, margin: float) -> dict[str, object]:
    """Solve a problem over one density and evaluate the path under the truth."""
    problem = pose(setup, trial, density, margin)
    planner = PathOptimizer(vertex_tolerance=0)
    began = time.process_time()
    plan = planner.solve(problem, rng=np.random.default_rng(trial.seed))
    seconds = time.process_time() - began
    asked = pose(setup, trial, density)
    return {
        **{name: getattr(trial, name) for name in PROBLEM},
        "density": density,
        "margin": margin,
        "status": str(plan.status),
        "found": plan.found,
        "own_cost": plan.cost,
        **evaluate_plan(plan, asked, setup.truth),
        "seconds": seconds,
    }


def measure_paths(folder: Path, only: str, margin: float) -> None:
    path = folder / "paths.csv"
    done = read(path).reindex(columns=["table", "margin"]).to_numpy().tolist()
    for setup in setups(folder, only):
        if [setup.keys.table.name, margin] in done:
            continue
        for density in DENSITIES:
            setup.density(density)
        lines = [
            solve(setup, trial, density, margin)
            for trial in problems(setup)
            for density in DENSITIES
        ]
        frame = pd.DataFrame(lines)
        frame.to_csv(path, mode="a", header=not path.exists(), index=False)
        print(setup.keys.table.name, frame.groupby("density")["seconds"].sum().to_dict())
        print(summarise(read(path), margin).to_string(float_format="%.3g"), flush=True)


def summarise(paths: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Compare the densities with each other and with the published answers, table by table."""
    frame = paths[paths["margin"] == margin]
    rows = {}
    for name, mine in (*frame.groupby("table", sort=False), ("all", frame)):
        rows[name] = _compare(mine)
    return pd.DataFrame(rows).T


def _compare(frame: pd.DataFrame) -> dict[str, float]:
    wide = {name: mine.set_index(PROBLEM) for name, mine in frame.groupby("density")}
    wide["flow"] = published("DAACE").loc[wide["clgn"].index]
    ours, entries = wide["profiles"], {"problems": float(len(wide["clgn"]))}
    for name, mine in wide.items():
        entries[f"found {name}"] = mine["found"].astype(bool).mean()
        entries[f"valid {name}"] = is_valid(mine)[mine["found"].astype(bool)].mean()
    for name in ("clgn", "flow"):
        theirs = wide[name]
        both = is_valid(ours) & is_valid(theirs)
        both &= (ours["status"] == "found") & (theirs["status"] == "found")
        entries[f"both {name}"] = float(both.sum())
        for scale in ("nll", "relative"):
            costs = [mine.loc[both, f"cost_{scale}"].astype(float) for mine in (ours, theirs)]
            positive = (costs[0] > 0) & (costs[1] > 0)  # a ratio of negative costs says nothing
            entries[f"{scale} / {name}"] = (costs[0] / costs[1])[positive].median()
    entries["CPU / clgn"] = ours["seconds"].sum() / wide["clgn"]["seconds"].sum()
    recorded = published("BayesACE").loc[wide["clgn"].index]["seconds"].sum()
    flow = wide["flow"]["seconds"].sum() / recorded * wide["clgn"]["seconds"].sum()
    entries["CPU / flow"] = ours["seconds"].sum() / flow
    return entries


@cache
def published(algorithm: str) -> pd.DataFrame:
    """Return the answers of an algorithm in the published study, by problem."""
    frame = read_results(PUBLISHED / "records.gz").problems
    return frame[frame["algorithm"] == algorithm].set_index(PROBLEM)


def is_valid(answers: pd.DataFrame) -> pd.Series:
    """Return whether each end meets the goal under the truth; not if nothing was found."""
    return answers["valid"].astype(str) == "True"


# NSGA2 --------------------------------------------------------------------------------------------


def measure_nsga2(folder: Path, only: str) -> None:
    """Compare the planners on the first problems of each table, over profiles, with one vertex."""
    path = folder / "nsga2.csv"
    done = read(path).reindex(columns=PROBLEM).to_numpy().tolist()
    for setup in setups(folder, only):
        for trial in problems(setup):
            about = {name: getattr(trial, name) for name in PROBLEM}
            if trial.instance or trial.certainty > -0.5 or list(about.values()) in done:
                continue
            problem = pose(setup, trial, "profiles")
            line: dict[str, object] = dict(about)
            for planner in (PathOptimizer(vertices=1), NSGA2(vertices=1)):
                began = time.process_time()
                plan = planner.solve(problem, rng=np.random.default_rng(trial.seed))
                name = type(planner).__name__
                line |= {name: plan.cost, f"{name}_seconds": time.process_time() - began}
            append(path, line)


# Small tables -------------------------------------------------------------------------------------


def compare_small() -> None:
    """Show that small tables keep one profile, and that answers are then the single network's."""
    for name in ("iris", "wine_cultivars"):
        table = load_table(name)
        profiles, single = (daace.fit(table, kind) for kind in ("profiles", "linear-gaussian"))
        rows = table.to_frame().drop(columns=table.target)
        same = total = 0
        for target in table.classes.tolist():
            ours, theirs = (e.explain_batch(rows, target=target) for e in (profiles, single))
            for one, other in zip(ours, theirs, strict=True):
                total += 1
                same += bool(
                    one.status == other.status
                    and one.plan.cost == other.plan.cost
                    and np.array_equal(one.plan.waypoints, other.plan.waypoints)
                )
        counts = profiles.density.profiles_.groupby(table.target).size().to_dict()
        print(f"{name}: profiles {counts}; {same} of {total} answers are equal to the last bit")


# Main ---------------------------------------------------------------------------------------------


def append(path: Path, line: dict[str, object]) -> None:
    pd.DataFrame([line]).to_csv(path, mode="a", header=not path.exists(), index=False)
    print(" ".join(f"{name}={_short(value)}" for name, value in line.items()), flush=True)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder for what is measured")
    parser.add_argument("part", choices=("likelihood", "paths", "nsga2", "small"))
    parser.add_argument("--margin", type=float, default=0.0, help="raise the thresholds by this")
    parser.add_argument("--only", default="", help="tables that contain this text")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        if options.part == "likelihood":
            path = options.output / "likelihood.csv"
            done = read(path).reindex(columns=["table", "data"]).to_numpy().tolist()
            for task in likelihood_tasks():
                if list(task[:2]) not in done and options.only in task.table:
                    append(path, likelihood(task))
        elif options.part == "paths":
            measure_paths(options.output, options.only, options.margin)
        elif options.part == "nsga2":
            measure_nsga2(options.output, options.only)
        else:
            compare_small()


if __name__ == "__main__":
    main()
