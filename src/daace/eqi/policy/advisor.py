"""What would improve a county: an explainer over the network or the flow, free or consistent."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import FloatArray
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import CATEGORIES, INDICES, Counties
from daace.eqi.models.consistency import SlicedDensity, consistent_slice
from daace.eqi.models.folder import read_models
from daace.eqi.models.planners import CountyRows, StraightOptimizer
from daace.eqi.policy.recourse import Recourse
from daace.eqi.policy.request import OVER_NETWORK, Algorithm, Ask
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.landscape.constraints import Constraints
from daace.planners.base import Planner
from daace.planners.face import Face
from daace.planners.nsga2 import NSGA2
from daace.planners.wachter import Wachter

#: The paper's thresholds: log p at least the mean minus a quarter of a standard deviation over the
#: held-out counties, and this probability of the target.
PLAUSIBILITY, MIN_POSTERIOR = -0.25, 0.7

#: How BayesACE plans.
PLANNER = StraightOptimizer()

#: Over the flow each evaluation of the terrain takes milliseconds: DAACE plans with fewer.
DAACE_PLANNER = StraightOptimizer(vertices=(0, 1), starts=2, time_limit=120.0)

#: How the paper searches: NSGA-II with each number of vertices, the cheapest path.
GENETIC = NSGA2(vertices=(0, 1, 2, 3), vertex_tolerance=0.0)

#: Nodes of FACE's graph, the paper's number; all are joined.
FACE_NODES = 1000


@dataclass(frozen=True, eq=False)
class Advisor:
    """Plans for counties over fitted densities.

    Args:
        counties: the data.
        network: BayesACE's density.
        flow: the RealNVP, which DAACE, FACE and Wachter need; both are fitted on the same rows.
        min_posterior: minimum probability of the target at the end.
        planner: planner of BayesACE.
        genetic: planner of BayesACE by NSGA-II.
        one_threshold: use the flow's threshold of log p for all algorithms, as in the paper.

    Raises:
        InvalidInput: the densities differ in their features or their model space.
    """

    counties: Counties
    network: LinearGaussianNetwork
    flow: ConditionalDensity | None = None
    min_posterior: float = MIN_POSTERIOR
    planner: StraightOptimizer = PLANNER
    genetic: NSGA2 = GENETIC
    one_threshold: bool = False

    def __post_init__(self) -> None:
        features = self.counties.table.features
        for name, density in (("network", self.network), ("flow", self.flow)):
            if density is not None and density.features_ != features:
                raise InvalidInput(
                    argument=name,
                    expected="have the features of these files. It was fitted on others",
                    remedy="run 'daace eqi fit' again",
                )
        if self.flow is not None:
            mine, other = self.network.standardizer_, self.flow.standardizer_
            if not (np.allclose(mine.mean, other.mean) and np.allclose(mine.scale, other.scale)):
                raise InvalidInput(
                    "'network' and 'flow' must be fitted on the same counties: "
                    "run 'daace eqi fit' again."
                )

    @cached_property
    def rows(self) -> FloatArray:
        """All counties in model space, in the order of `counties.places`."""
        return self.network.standardizer_.transform(self.counties.table.X)

    @cached_property
    def known_rows(self) -> FloatArray:
        """Model-space counties that the densities were learned from."""
        return self.rows[self.counties.split[0]]

    def density(self, algorithm: Algorithm) -> ConditionalDensity:
        """Return the density that an algorithm plans over and is judged by.

        Raises:
            InvalidInput: it needs the flow, and there is none.
        """
        if algorithm in OVER_NETWORK:
            return self.network
        if self.flow is None:
            raise InvalidInput(
                f"{algorithm} needs the RealNVP: train it with 'daace eqi fit --flow' and pass "
                "its folder with --models."
            )
        return self.flow

    def threshold(self, algorithm: Algorithm) -> float:
        """Return the smallest log p of an end, under the density of an algorithm.

        It is the mean minus a quarter of the standard deviation of log p over the held-out
        counties. The paper uses the flow's for all algorithms; but our flow is a much better
        density, and no county reaches its threshold under the network. Each density therefore has
        its own, unless `one_threshold` is set.
        """
        if self.one_threshold:
            algorithm = "DAACE"
        if algorithm not in self._thresholds:
            held_out = self.rows[self.counties.split[1]]
            self._thresholds[algorithm] = plausible_from(self.density(algorithm).log_prob(held_out))
        return self._thresholds[algorithm]

    def target(self, fips: int, improve: int) -> int:
        """Return the category that a county is to reach.

        Raises:
            InvalidInput: there is no category so much better.
        """
        now = int(self.counties.category[fips])
        if now == 0:
            raise InvalidInput(
                f"{self.counties.label(fips)} is in the best category already: nothing to improve."
            )
        if improve > now:
            raise InvalidInput(
                f"{self.counties.label(fips)} is in category '{CATEGORIES[now]}' and can improve "
                f"by at most {now}. Got {improve}: lower --improve."
            )
        return now - improve

    def advise(self, fips: Sequence[int], ask: Ask) -> list[Recourse]:
        """Plan for counties, in their order.

        Args:
            fips: FIPS codes.
            ask: the request.

        Raises:
            InvalidInput: a county cannot improve that far, or the algorithm lacks its density.
        """
        for code in fips:
            self.target(code, ask.improve)  # refuse before any search
        if not ask.consistent:
            rules = Constraints(
                fixed=self._fixed(ask), only_down=INDICES if ask.equity else (), given=False
            )
            starts = self.rows[[self.counties.position(code) for code in fips]]
            return self._explain(fips, ask, self._in_model_space(ask.algorithm), starts, rules)
        found = []
        for code in fips:
            sliced, start = consistent_slice(
                self.density(ask.algorithm),
                self.counties,
                code,
                fixed=self._fixed(ask),
                turned=ask.equity,
            )
            falling = [i for i in INDICES if i in sliced.features_] if ask.equity else ()
            rules = Constraints(only_down=falling, given=False)
            found += self._explain([code], ask, sliced, start[None], rules)
        return found

    def _explain(
        self,
        fips: Sequence[int],
        ask: Ask,
        space: ConditionalDensity,
        starts: FloatArray,
        rules: Constraints,
    ) -> list[Recourse]:
        """Explain counties over the coordinates that may move.

        Args:
            fips: the counties.
            ask: how to plan.
            space: a density over model space, or a slice through it; its rows have no other units.
            starts: the counties in its coordinates.
            rules: about them.
        """
        explainer = Explainer(
            space,
            planner=self._planner(ask.algorithm),
            penalty=ask.penalty,
            scale="nll",
            min_posterior=self.min_posterior,
            constraints=rules,
            changes="all",
            round=False,
        )
        began = time.perf_counter()
        answers = explainer.explain_batch(
            starts,
            target=[self.target(code, ask.improve) for code in fips],
            min_log_prob=self.threshold(ask.algorithm),
            seed=ask.seed,
        )
        seconds = (time.perf_counter() - began) / max(1, len(fips))
        found = []
        for code, answer in zip(fips, answers, strict=True):
            path = answer.path.to_numpy().copy(order="C")  # sums over rows round as in a plan
            waypoints = space.lift(path) if isinstance(space, SlicedDensity) else path
            states = self.density(ask.algorithm).to_user(waypoints)
            found.append(Recourse(code, ask, answer, waypoints, states, seconds))
        return found

    def _planner(self, algorithm: Algorithm) -> Planner:
        if algorithm == "BayesACE":
            return self.planner
        if algorithm == "BayesACE by NSGA-II":
            return self.genetic
        if algorithm == "DAACE":
            return DAACE_PLANNER
        return CountyRows(self._face if algorithm == "FACE" else self._wachter)

    def _fixed(self, ask: Ask) -> tuple[str, ...]:
        """Return the variables to fix that the model has; those that it has not stay anyway."""
        known = set(self.counties.variables.index)
        unknown = [name for name in ask.fixed if name not in known]
        if unknown:
            raise InvalidInput(
                argument="fixed",
                expected="name EPA's variables, such as 'a_isophorone'",
                got=repr(unknown[0]),
            )
        return tuple(name for name in ask.fixed if name in self.counties.kept)

    def _in_model_space(self, algorithm: Algorithm) -> ConditionalDensity:
        """Return the density of an algorithm with model space for its users' units.

        A plan is then exactly what the planner found, without the rounding of a change of units.
        """
        density = self.density(algorithm)
        if algorithm not in self._spaces:
            space = copy(density)
            space.standardizer_ = Standardizer.identity(len(density.features_))
            space.whole_ = space.nonnegative_ = ()
            self._spaces[algorithm] = space
        return self._spaces[algorithm]

    # Made once, when they are first asked for: the same densities, and so the same graphs and
    # draws, serve all counties.

    @cached_property
    def _spaces(self) -> dict[Algorithm, ConditionalDensity]:
        return {}

    @cached_property
    def _thresholds(self) -> dict[Algorithm, float]:
        return {}

    @cached_property
    def _face(self) -> Face:
        return Face(self.known_rows, graph="density", nodes=FACE_NODES)

    @cached_property
    def _wachter(self) -> Wachter:
        return Wachter(self.known_rows)


def plausible_from(log_prob: FloatArray) -> float:
    """Return the paper's alpha: the mean minus a quarter of the standard deviation of log p.

    Example:
        >>> plausible_from(np.array([-1.0, 1.0]))
        -0.25
    """
    return float(log_prob.mean() + PLAUSIBILITY * log_prob.std())


def read_advisor(
    counties: Counties,
    folder: str | os.PathLike[str] | None,
    *,
    min_posterior: float = MIN_POSTERIOR,
) -> Advisor:
    """Return the advisor over the models of a folder, or over a network learned right now.

    Args:
        counties: the data.
        folder: the folder of the models, from `daace eqi fit`; None for a network alone.
        min_posterior: smallest probability of the target at the end.

    Raises:
        InvalidInput: the folder holds no network.
    """
    return Advisor(counties, *read_models(counties, folder), min_posterior=min_posterior)
