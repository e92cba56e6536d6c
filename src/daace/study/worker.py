"""The jobs of a worker: prepare tables, densities and graphs, run trials, return records."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from daace.exceptions import MissingDependency
from daace.study.cache import Cache
from daace.study.client import TableFact
from daace.study.evaluation import compare_densities, evaluate_plan
from daace.study.provenance import describe_origin
from daace.study.records import Record
from daace.study.table_setup import TableSetup
from daace.study.trials import TableKeys, Trial

#: What a job can be: summarise the resampled rows, learn a density, build a graph, choose settings,
#: compare the densities, or run trials.
Task = Literal["sample", "density", "graph", "tuning", "comparison", "trials"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """Work on one table that a worker does in one go.

    Attributes:
        keys: the keys of the table.
        folder: the folder of the cache.
        task: what to do.
        name: name of the density to learn, or of the algorithm whose graph is to be built or whose
            settings are to be chosen.
        trials: trials to run.
        facts: facts to compute with the comparison of the densities.
    """

    keys: TableKeys
    folder: str
    task: Task
    name: str = ""
    trials: tuple[Trial, ...] = ()
    facts: tuple[TableFact, ...] = ()


def do(job: Job) -> list[Record]:
    """Do a job; an error in one trial becomes part of its record.

    Args:
        job: the work.

    Returns:
        The records of the trials or of the comparison. If something could not be made, one record
        with the 'error'.

    Raises:
        OSError: the cache cannot be written or read.
        MissingDependency: a package is missing.
    """
    setup = _setup(job.keys, job.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thousands of trials would repeat the same ones
        if job.task == "trials":
            return [run_trial(setup, trial) for trial in job.trials]
        if job.task == "comparison":
            return [compare_densities(setup, job.facts)]
        try:
            _make(setup, job)
        except (OSError, MissingDependency):
            raise
        except Exception as error:
            return [{"error": describe_error(error)}]
    return []


def _make(setup: TableSetup, job: Job) -> None:
    if job.task == "sample":
        setup.summary  # noqa: B018  # made and kept when it is first asked for
    elif job.task == "density":
        setup.density(job.name)
    elif job.task == "tuning":
        setup.settings(setup.spec.algorithm(job.name))
    else:
        algorithm = setup.spec.algorithm(job.name)
        targets = setup.truth.classes_ if algorithm.rows == "target" else [""]
        for target in targets:
            setup.planner(algorithm, str(target))


def run_trial(setup: TableSetup, trial: Trial) -> Record:
    """Plan one path, evaluate it under the truth, and return the record.

    Args:
        setup: the setup of the table.
        trial: the problem and the algorithm.
    """
    record: Record = trial.describe()
    try:
        record |= _solve(setup, trial)
    except (OSError, MissingDependency):
        raise
    except Exception as error:
        record |= describe_failure(describe_error(error))
    return record


def describe_failure(error: str) -> Record:
    """Return the entries of a trial that ended in an error.

    Args:
        error: in one line.
    """
    return {"status": "failed", "found": False, "error": error, **describe_origin()}


def describe_error(error: BaseException) -> str:
    """Return an error in one line.

    Args:
        error: any.
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _solve(setup: TableSetup, trial: Trial) -> Record:
    algorithm = setup.spec.algorithm(trial.algorithm)
    density = setup.density(algorithm.density)
    problem, label = setup.problem(
        density, trial.instance, trial.penalty, trial.plausibility, trial.certainty
    )
    goal = problem.goal
    planner, graph_seconds = setup.planner(algorithm, str(goal.target))
    began = time.perf_counter()
    plan = planner.solve(problem, rng=np.random.default_rng(trial.seed))
    seconds = time.perf_counter() - began
    chosen = setup.settings(algorithm)
    settings = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
    with threadpool_limits(1):
        measures = evaluate_plan(plan, problem, setup.truth)
    return {
        "label": label,
        "target": str(goal.target),
        "min_log_prob": goal.min_log_prob,
        "min_posterior": goal.min_posterior,
        "planner": f"{algorithm.planner.rpartition(':')[2]}({settings})",
        "density": algorithm.density,
        "status": str(plan.status),
        "found": plan.found,
        "own_cost": plan.cost,
        "evaluations": plan.evaluations,
        **measures,
        "path": plan.waypoints,
        **describe_origin(seconds, graph_seconds),
    }


_setups: dict[tuple[str, str], TableSetup] = {}


def _setup(keys: TableKeys, folder: str) -> TableSetup:
    """Return the table at hand; only one is held at a time, so that memory is bounded."""
    known = (keys.comparison(), folder)
    kept = _setups.get(known)
    if kept is None or kept.spec != keys.spec:
        _setups.clear()
        _setups[known] = kept = TableSetup(keys, Cache(Path(folder)))
    return kept
