"""What a worker does: make what is missing, answer questions, return records."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import MissingDependency
from daace.explain import metrics
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.base import Plan
from daace.study.bench import Bench
from daace.study.cache import Cache
from daace.study.problems import Keys, Question, describe_question
from daace.study.spec import TRUTH
from daace.study.statistics import compare_two

#: Equal pieces of the midpoint rule by which every path is judged, as in the paper.
PIECES = 19

#: Entry of a record that may differ between two runs: times, host, memory.
CIRCUMSTANCES = "run"

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Work on one table that one worker does in one go.

    Attributes:
        keys: of the table.
        folder: of the cache.
        task: 'setting', 'density', 'graph', 'comparison' or 'questions'.
        name: of the density or the algorithm that is to be made.
        questions: to be answered.
    """

    keys: Keys
    folder: str
    task: str
    name: str = ""
    questions: tuple[Question, ...] = ()


def do(job: Job) -> list[Record]:
    """Do a job; what goes wrong with one question is said in its record.

    Raises:
        OSError: the cache cannot be written or read.
        MissingDependency: a package is missing.
    """
    bench = _bench(job.keys, job.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thousands of questions would repeat the same ones
        if job.task == "questions":
            return [answer(bench, question) for question in job.questions]
        if job.task == "comparison":
            return [compare_densities(bench)]
        try:
            _make(bench, job)
        except (OSError, MissingDependency):
            raise
        except Exception as error:
            return [{"error": describe_error(error)}]
    return []


def _make(bench: Bench, job: Job) -> None:
    if job.task == "setting":
        bench.setting  # noqa: B018  # made and kept when it is first asked for
    elif job.task == "density":
        bench.density(job.name)
    else:
        algorithm = bench.spec.algorithm(job.name)
        targets = bench.truth.classes_ if algorithm.rows == "target" else [""]
        for target in targets:
            bench.planner(algorithm, str(target))


def answer(bench: Bench, question: Question) -> Record:
    """Plan one path, judge it by the truth, and return the record."""
    record: Record = describe_question(question)
    try:
        record |= _solve(bench, question)
    except (OSError, MissingDependency):
        raise
    except Exception as error:
        record |= failed(describe_error(error))
    return record


def failed(error: str) -> Record:
    """Return the entries of a question that could not be answered."""
    return {"status": "failed", "found": False, "error": error, **_origin(0.0, 0.0)}


def _solve(bench: Bench, question: Question) -> Record:
    algorithm = bench.spec.algorithm(question.algorithm)
    density = bench.density(algorithm.density)
    start, label, target = bench.instance(question.instance)
    goal = Goal(
        target=target,
        min_log_prob=bench.setting.min_log_prob(question.plausibility),
        min_posterior=bench.setting.min_posterior(question.certainty),
    )
    landscape = Landscape(density, penalty=question.penalty, scale=bench.spec.scale)  # type: ignore[arg-type]
    problem = Problem(start=start, landscape=landscape, goal=goal, box=bench.box)
    planner, graph_seconds = bench.planner(algorithm, target)
    began = time.perf_counter()
    plan = planner.solve(problem, rng=np.random.default_rng(question.seed))
    seconds = time.perf_counter() - began
    settings = ", ".join(f"{name}={value!r}" for name, value in algorithm.settings)
    with threadpool_limits(1):
        judged = judge(plan, problem, bench.truth)
    return {
        "label": label,
        "target": target,
        "min_log_prob": goal.min_log_prob,
        "min_posterior": goal.min_posterior,
        "planner": f"{algorithm.planner.rpartition(':')[2]}({settings})",
        "density": algorithm.density,
        "status": str(plan.status),
        "found": plan.found,
        "own_cost": plan.cost,
        "evaluations": plan.evaluations,
        **judged,
        "path": plan.waypoints,
        **_origin(seconds, graph_seconds),
    }


def judge(plan: Plan, problem: Problem, truth: ConditionalDensity) -> Record:
    """Return the measures of a path under the truth; none where nothing was found."""
    names = (
        "cost_nll", "cost_relative", "l2", "path_sparsity", "end_sparsity", "hops", "length",
        "log_prob", "posterior", "valid",
    )  # fmt: skip
    if not plan.found:
        return dict.fromkeys(names)
    path, goal = plan.waypoints, problem.goal
    costs = [_cost(path, truth, problem.landscape.penalty, scale) for scale in ("nll", "relative")]
    values = (
        *costs,
        metrics.l2(path),
        metrics.path_sparsity(path),
        metrics.end_sparsity(path),
        metrics.hops(path),
        float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()),
        metrics.log_density(path, truth),
        metrics.posterior(path, truth, goal.target),
        metrics.valid(path, truth, goal),
    )
    return dict(zip(names, values, strict=True))


def _cost(path: FloatArray, truth: ConditionalDensity, penalty: float, scale: Any) -> float:
    if len(path) < 2:
        return 0.0
    landscape = Landscape(truth, penalty=penalty, scale=scale)
    return landscape.path_cost(path, rule="midpoint", pieces=PIECES)


def compare_densities(bench: Bench) -> Record:
    """Return how well each density describes fresh draws of the truth."""
    names = [TRUTH, *(density.name for density in bench.spec.densities)]
    X, y = bench.truth.sample(bench.spec.samples, rng=bench.compare_rng())
    nll: dict[str, FloatArray] = {}
    error: dict[str, FloatArray] = {}
    with threadpool_limits(1):
        for name in names:
            density = bench.density(name)
            nll[name] = -density.log_prob(X)
            own = density.predict_proba(X)[np.arange(len(y)), np.searchsorted(density.classes_, y)]
            error[name] = (1 - own) ** 2
    pairs = [
        {
            "first": a,
            "second": b,
            "measure": measure,
            "p_value": test.p_value,
            "effect": test.effect,
            "median": test.median,
        }
        for measure, scores in (("nll", nll), ("squared_error", error))
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for test in [compare_two(scores[a].tolist(), scores[b].tolist())]
    ]
    setting = bench.setting
    return {
        "kind": "densities",
        "key": bench.keys.comparison(),
        "table": bench.keys.table.name,
        "features": len(bench.truth.features_),
        "rows": setting.rows,
        "normality": setting.normality,
        "log_prob": setting.log_prob,
        "posterior": setting.posterior,
        "nll": {name: values.mean() for name, values in nll.items()},
        "squared_error": {name: values.mean() for name, values in error.items()},
        "pairs": pairs,
        **_origin(0.0, 0.0),
    }


def describe_error(error: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _origin(seconds: float, graph_seconds: float) -> Record:
    """Return versions, and what differs between two runs."""
    return {
        "versions": dict(_versions()),
        CIRCUMSTANCES: {
            "host": platform.node(),
            "seconds": seconds,
            "graph_seconds": graph_seconds,
            "memory_mb": peak_memory(),
        },
    }


def peak_memory() -> float:
    """Return the largest memory this process has held so far, in MB; 0 where unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


@lru_cache(maxsize=1)
def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version(), "code": code_state()}
    for package in ("daace", "numpy", "scipy", "torch", "pymoo"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    from daace import __version__

    return found | {"daace": __version__}


@lru_cache(maxsize=1)
def code_state() -> str:
    """Return a hash of the code that densities, costs and plans come from."""
    package = Path(__file__).parents[1]
    hashed = hashlib.sha256()
    for folder in ("data", "density", "landscape", "planners"):
        for file in sorted((package / folder).rglob("*.py")):
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]


_benches: dict[tuple[str, str], Bench] = {}


def _bench(keys: Keys, folder: str) -> Bench:
    """Return the table at hand; only one at a time is, so that memory is bounded."""
    known = (keys.comparison(), folder)
    kept = _benches.get(known)
    if kept is None or kept.spec != keys.spec:
        _benches.clear()
        _benches[known] = kept = Bench(keys, Cache(Path(folder)))
    return kept
