"""One table of a study: its truth, thresholds, densities and planners, each made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daace._typing import FloatArray, Labels
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.density.mixture import GaussianMixture
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.base import Planner
from daace.planners.face import Face
from daace.planners.graphs import Graph
from daace.planners.nsga2 import NSGA2, tune_nsga2
from daace.study.cache import Cache
from daace.study.graph_planner import GraphPlanner
from daace.study.rescaled_density import RescaledDensity
from daace.study.spec import TRUTH, AlgorithmSpec, takes_rows
from daace.study.tables import load_rows, mixture_of
from daace.study.trials import TableKeys

#: The largest probability that a threshold asks for.
MOST_CERTAIN = 0.99

#: What the random numbers of a table are for.
RESAMPLE, INSTANCE, COMPARE, TUNE = 1, 2, 3, 4

#: Number of the first instance on which settings are chosen; those of a study begin with 0.
TUNED = 1_000_000

#: The settings that are chosen.
GRID = ("eta_crossover", "eta_mutation", "selection")


@dataclass(frozen=True)
class SampleSummary:
    """What the resampled rows are like under the truth; the thresholds come from it.

    Attributes:
        rows: how many.
        log_prob: mean and standard deviation of log p(x).
        posterior: mean and standard deviation of p(true class | x).
        lower: smallest value of each feature, model space.
        upper: largest value of each feature, model space.
    """

    rows: int
    log_prob: tuple[float, float]
    posterior: tuple[float, float]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def min_log_prob(self, m: float) -> float:
        """Return alpha = mean + m sd.

        Args:
            m: standard deviations above the mean.
        """
        return self.log_prob[0] + m * self.log_prob[1]

    def min_posterior(self, m: float) -> float:
        """Return beta = mean + m sd, clipped to 0..0.99.

        Args:
            m: standard deviations above the mean.
        """
        return max(0.0, min(MOST_CERTAIN, self.posterior[0] + m * self.posterior[1]))


class TableSetup:
    """All that the trials of one table need; taken from the cache, or made and kept there.

    All points are in the model space of the truth.

    Args:
        keys: the keys of the table.
        cache: the cache of the study.
    """

    def __init__(self, keys: TableKeys, cache: Cache) -> None:
        self.keys, self.cache, self.spec = keys, cache, keys.spec
        self._densities: dict[str, ConditionalDensity] = {}
        self._planners: dict[tuple[str, str], tuple[Planner, float]] = {}

    @cached_property
    def truth(self) -> ConditionalDensity:
        """The density that the rows are drawn from and every path is evaluated under."""
        table = self.keys.table
        if table.mixture:
            return GaussianMixture(*mixture_of(table, self.spec.seed))
        kept = self.cache.density(self.keys.truth)
        if kept is None:
            kept = self.spec.truth.make(table.name)
            with threadpool_limits(1):
                kept.fit(load_rows(table))
            self.cache.keep_density(self.keys.truth, kept)
        return kept

    @cached_property
    def sample(self) -> tuple[FloatArray, Labels]:
        """The resampled rows, which take the place of the data, and their classes."""
        least, most = self.spec.rows
        original = least if self.keys.table.mixture else self._original_rows()
        count = min(max(original, least), most)
        return self.truth.sample(count, rng=self._rng(RESAMPLE))

    def _original_rows(self) -> int:
        key = f"{self.keys.truth}-rows"
        if not self.cache.has(key, "json"):
            self.cache.keep_notes(key, len(load_rows(self.keys.table)))
        return int(self.cache.notes(key))

    @cached_property
    def summary(self) -> SampleSummary:
        """What the resampled rows are like under the truth."""
        kept = self.cache.notes(self.keys.sample)
        if kept is None:
            X, y = self.sample
            with threadpool_limits(1):
                log_joint = self.truth.log_joint(X)
            log_prob = log_sum_exp(log_joint)
            own = np.exp(log_posterior(log_joint))[
                np.arange(len(y)), np.searchsorted(self.truth.classes_, y)
            ]
            kept = {
                "rows": len(X),
                "log_prob": [log_prob.mean(), log_prob.std()],
                "posterior": [own.mean(), own.std()],
                "lower": X.min(axis=0),
                "upper": X.max(axis=0),
            }
            self.cache.keep_notes(self.keys.sample, kept)
            kept = self.cache.notes(self.keys.sample)
        ranges = {name: tuple(v) for name, v in kept.items() if isinstance(v, list)}
        return SampleSummary(rows=kept["rows"], **ranges)

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """The range of the resampled rows, widened by the margin."""
        lower, upper = np.array(self.summary.lower), np.array(self.summary.upper)
        return lower - self.spec.margin, upper + self.spec.margin

    def instance(self, number: int) -> tuple[FloatArray, str, str]:
        """Return a start, its class and the target; more instances do not change the first.

        Args:
            number: number of the instance.
        """
        X, y = self.truth.sample(1, rng=self._rng(INSTANCE, number))
        now = y[0]
        if self.spec.target == "predicted":
            now = self.truth.classes_[self.truth.predict_proba(X)[0].argmax()]
        target = next(label for label in self.truth.classes_ if label != now)
        return X[0], str(y[0]), str(target)

    def problem(
        self, density: ConditionalDensity, number: int, penalty: float, m: float, c: float
    ) -> tuple[Problem, str]:
        """Return a problem over a density, and the class of its start.

        Args:
            density: that plans and checks the goal.
            number: number of the instance.
            penalty: exponent of the local cost.
            m: the m of the threshold of log p(x).
            c: the m of the threshold of p(target | x).
        """
        start, label, target = self.instance(number)
        goal = Goal(
            target=target,
            min_log_prob=self.summary.min_log_prob(m),
            min_posterior=self.summary.min_posterior(c),
        )
        landscape = Landscape(density, penalty=penalty, scale=self.spec.scale)  # type: ignore[arg-type]
        return Problem(start=start, landscape=landscape, goal=goal, box=self.box), label

    def density(self, name: str) -> ConditionalDensity:
        """Return a density in the model space of the truth.

        Args:
            name: name of the density.
        """
        if name == TRUTH:
            return self.truth
        if name not in self._densities:
            key = self.keys.density(name)
            learned = self.cache.density(key)
            if learned is None:
                learned = self._learn(name, key)
                self.cache.keep_density(key, learned)
                self.cache.place(key, "checkpoint").unlink(missing_ok=True)
            self._densities[name] = RescaledDensity(learned, self.truth.standardizer_)
        return self._densities[name]

    def _learn(self, name: str, key: str) -> ConditionalDensity:
        X, y = self.sample
        truth = self.truth
        table = Table(
            truth.standardizer_.inverse(X),
            y,
            truth.features_,
            truth.classes_,
            truth.target_,
            truth.units_,
            self.keys.table.name,
        )
        density: Any = self.spec.density(name).make(table.name)
        with threadpool_limits(1):
            if density.kind != "realnvp":
                return density.fit(table)  # type: ignore[no-any-return]
            self.cache.folder.mkdir(parents=True, exist_ok=True)
            density.fit(table, checkpoint=self.cache.place(key, "checkpoint"))
        if density.stopped_ == "interrupted":  # it keeps its best state, which is not the last
            raise KeyboardInterrupt
        return density  # type: ignore[no-any-return]

    def settings(self, algorithm: AlgorithmSpec) -> dict[str, Any]:
        """Return the settings of a planner: those of the study, and those chosen for the table.

        Args:
            algorithm: an algorithm of the study.
        """
        given = dict(algorithm.settings)
        if not algorithm.tune:
            return given
        key = self.keys.tuning(algorithm)
        chosen: dict[str, Any] | None = self.cache.notes(key)
        if chosen is None:
            chosen = self._tune(algorithm)
            self.cache.keep_notes(key, chosen)
        return given | chosen

    def _tune(self, algorithm: AlgorithmSpec) -> dict[str, Any]:
        """Choose eta and selection of NSGA-II on problems that are not in the study."""
        density = self.density(algorithm.density)
        grid = list(product(self.spec.plausibility, self.spec.certainty, self.spec.penalties))
        picked = [grid[k * len(grid) // algorithm.tune] for k in range(algorithm.tune)]
        problems = [
            self.problem(density, TUNED + k, penalty, m, c)[0]
            for k, (m, c, penalty) in enumerate(picked)
        ]
        base = NSGA2(**{**dict(algorithm.settings), "vertices": 1})
        best = tune_nsga2(problems, rng=self._rng(TUNE), base=base)
        return {name: getattr(best, name) for name in GRID}

    def planner(self, algorithm: AlgorithmSpec, target: str) -> tuple[Planner, float]:
        """Return the planner of an algorithm, and the seconds that its graph took to build.

        Args:
            algorithm: an algorithm of the study.
            target: class to be reached.
        """
        known = (algorithm.name, target if algorithm.rows == "target" else "")
        if known not in self._planners:
            maker: Any = algorithm.planner_class()
            rows = (self._rows(algorithm, target),) if takes_rows(maker) else ()
            planner = maker(*rows, **self.settings(algorithm))
            seconds = 0.0
            if isinstance(planner, Face):
                graph = self._graph(algorithm, planner, known[1])
                planner, seconds = GraphPlanner(graph), graph.seconds
            self._planners[known] = planner, seconds
        return self._planners[known]

    def _graph(self, algorithm: AlgorithmSpec, face: Face, target: str) -> Graph:
        key = self.keys.graph(algorithm, target)
        graph = self.cache.graph(key, face.edge_rule)
        if graph is None:
            graph = face.build(self.density(algorithm.density))
            self.cache.keep_graph(key, graph)
        return graph

    def _rows(self, algorithm: AlgorithmSpec, target: str) -> FloatArray:
        X, y = self.sample
        return X if algorithm.rows == "all" else X[y.astype(str) == target]

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, int(self.keys.truth[:8], 16), *purpose])

    def compare_rng(self) -> np.random.Generator:
        """Return the generator of the draws on which densities are compared."""
        return self._rng(COMPARE)
