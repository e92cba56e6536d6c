"""What would improve a county: plans by four algorithms, free or bound to what can be real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.consistent import consistent_slice
from daace.eqi.data import CATEGORIES, DOMAINS, INDICES, Counties
from daace.eqi.model import HELD_OUT, SPLIT_SEED
from daace.eqi.straight import StraightOptimizer
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.base import Clock, Plan, Planner, Status, already_there
from daace.planners.face import Face
from daace.planners.wachter import Wachter

Algorithm: TypeAlias = Literal["BayesACE", "DAACE", "FACE", "Wachter"]
ALGORITHMS = ("BayesACE", "DAACE", "FACE", "Wachter")

#: What a county cannot set: weather, what falls from the sky, rock, its people and their votes.
UNSETTABLE = (
    "Radon", "AvgOfD3_ave", "CaAve", "Kave", "NO3Ave", "ClAve", "SO4Ave", "HgAve", "W_ALPHA",
    "DEMO2008", "HH_Inc",
)  # fmt: skip

#: The paper's thresholds: log p at least the mean minus a quarter of a standard deviation over the
#: held-out counties, and this probability of the target.
PLAUSIBILITY, MIN_POSTERIOR = -0.25, 0.7

#: How BayesACE plans.
PLANNER = StraightOptimizer()

#: Over the flow each look at the terrain takes milliseconds: DAACE plans with fewer.
DAACE_PLANNER = StraightOptimizer(vertices=(0, 1), starts=2, time_limit=120.0)

#: Nodes of FACE's graph, the paper's number; all are joined.
FACE_NODES = 1000


@dataclass(frozen=True, kw_only=True)
class Ask:
    """How to plan.

    Args:
        algorithm: 'BayesACE' plans over the network, 'DAACE' over the flow; 'FACE' and 'Wachter'
            end in counties that exist, judged by the flow.
        penalty: how much the path avoids implausible ground.
        improve: by how many categories.
        consistent: plan over the variables alone; the indices follow by their formulas.
        equity: no domain index may get worse, at any point of the way.
        fixed: variables that keep their value.

    Example:
        >>> Ask(consistent=True).mode
        'consistent'
    """

    algorithm: Algorithm = "BayesACE"
    penalty: float = 5.0
    improve: int = 2
    consistent: bool = False
    equity: bool = False
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_number("penalty", self.penalty, at_least=0)
        check_integer("improve", self.improve, at_least=1)
        if self.consistent and self.algorithm in ("FACE", "Wachter"):
            raise InvalidInput(
                f"'consistent' must go with BayesACE or DAACE. {self.algorithm} ends in a county "
                "that exists: it cannot compute indices."
            )

    @property
    def mode(self) -> str:
        """Name of the rules: 'free', 'equity', 'consistent' or 'consistent equity'."""
        rules = [name for name in ("consistent", "equity") if getattr(self, name)]
        return " ".join(rules) or "free"


@dataclass(frozen=True, eq=False)
class Recourse:
    """A plan for one county.

    Attributes:
        fips: the county.
        ask: how it was planned.
        target: category to reach.
        status: how the search ended.
        waypoints: model-space states of all features, shape `(waypoints, n)`; the first is the
            county as it is, alone when nothing was found.
        cost: by the planner's own density and length.
        seconds: of the search; an equal share where counties were planned together.
        notes: what the planner has to say.
    """

    fips: int
    ask: Ask
    target: int
    status: Status
    waypoints: FloatArray
    cost: float
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether the path ends in the goal."""
        return bool(self.status)


@dataclass(frozen=True, eq=False)
class Advisor:
    """Plans for counties over fitted densities.

    Args:
        counties: the data.
        network: BayesACE's density.
        flow: the RealNVP, which DAACE, FACE and Wachter need; both are fitted on the same rows.
        min_log_prob: of the end of a path, under the planner's own density; when left out, the
            mean minus a quarter of the standard deviation of log p over the held-out counties,
            under each density.
        min_posterior: smallest probability of the target at the end.
        scale: of the landscape; the paper's is 'nll'.
        planner: of BayesACE.

    Raises:
        InvalidInput: the densities differ in their features or their model space.
    """

    counties: Counties
    network: LinearGaussianNetwork
    flow: ConditionalDensity | None = None
    min_log_prob: float | None = None
    min_posterior: float = MIN_POSTERIOR
    scale: Literal["relative", "nll"] = "nll"
    planner: StraightOptimizer = PLANNER

    def __post_init__(self) -> None:
        features = self.counties.table.features
        for name, density in (("network", self.network), ("flow", self.flow)):
            if density is not None and density.features_ != features:
                raise InvalidInput(
                    f"'{name}' must have the features of these files. It was fitted on others: "
                    "run 'daace eqi fit' again."
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
        return self.rows[self.counties.split(HELD_OUT, seed=SPLIT_SEED)[0]]

    def density(self, algorithm: Algorithm) -> ConditionalDensity:
        """Return the density that an algorithm plans over and is judged by.

        Raises:
            InvalidInput: it needs the flow, and there is none.
        """
        if algorithm == "BayesACE":
            return self.network
        if self.flow is None:
            raise InvalidInput(
                f"{algorithm} needs the RealNVP: train it with 'daace eqi fit --flow' and pass "
                "its folder with --models."
            )
        return self.flow

    def threshold(self, density: ConditionalDensity) -> float:
        """Return the smallest log p of an end under a density."""
        if self.min_log_prob is not None:
            return self.min_log_prob
        if id(density) not in self._thresholds:
            held_out = self.counties.split(HELD_OUT, seed=SPLIT_SEED)[1]
            self._thresholds[id(density)] = plausible_from(density.log_prob(self.rows[held_out]))
        return self._thresholds[id(density)]

    @cached_property
    def _thresholds(self) -> dict[int, float]:
        return {}

    def target(self, fips: int, improve: int) -> int:
        """Return the category that a county shall reach.

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

    def advise(self, fips: Sequence[int], ask: Ask, *, seed: int = 0) -> list[Recourse]:
        """Plan for counties, in their order; the answer to one does not depend on the others.

        Args:
            fips: FIPS codes.
            ask: how to plan.
            seed: each county has its own generator, made of it and the FIPS code.

        Raises:
            InvalidInput: a county cannot improve so much, or the algorithm lacks its density.
        """
        targets = {code: self.target(code, ask.improve) for code in fips}
        density = self.density(ask.algorithm)
        alpha = self.threshold(density)
        goals = {
            target: Goal(target, min_log_prob=alpha, min_posterior=self.min_posterior)
            for target in set(targets.values())
        }
        rngs = {code: np.random.default_rng([seed, code]) for code in fips}
        if ask.consistent:
            return [self._consistent(code, ask, density, goals[targets[code]], rngs[code])
                    for code in fips]  # fmt: skip
        landscape = Landscape(density, penalty=ask.penalty, scale=self.scale)
        rules = Constraints(fixed=self._fixed(ask), only_down=INDICES if ask.equity else ())
        problems = {
            code: Problem(
                self.rows[self.counties.position(code)], landscape, goals[targets[code]], rules
            )
            for code in fips
        }
        clock = Clock()
        plans = self._solve(ask, [problems[c] for c in fips], [rngs[c] for c in fips])
        share = clock.seconds / max(1, len(fips))
        return [
            Recourse(code, ask, targets[code], p.status, p.waypoints, p.cost, share, p.notes)
            for code, p in zip(fips, plans, strict=True)
        ]

    def _solve(
        self, ask: Ask, problems: list[Problem], rngs: list[np.random.Generator]
    ) -> list[Plan]:
        if ask.algorithm in ("BayesACE", "DAACE"):
            return self._optimizer(ask).solve_many(problems, rngs=rngs)
        if ask.algorithm == "Wachter":
            return [self._nearest(p, rng) for p, rng in zip(problems, rngs, strict=True)]
        return [self._route(problem) for problem in problems]

    def _optimizer(self, ask: Ask) -> StraightOptimizer:
        return self.planner if ask.algorithm == "BayesACE" else DAACE_PLANNER

    # The cost of these two is by the paper's rule: a finer one takes a minute for each path, as
    # the flow has a kink wherever one of its units switches.

    def _nearest(self, problem: Problem, rng: np.random.Generator) -> Plan:
        """Plan by Wachter, to whom the terrain does not matter."""
        flat = replace(problem, landscape=replace(problem.landscape, penalty=0.0))
        plan = self._wachter.solve(flat, rng=rng)
        if plan.status is not Status.FOUND:
            return plan
        return replace(plan, cost=problem.path_cost(plan.waypoints, rule="midpoint"))

    def _route(self, problem: Problem) -> Plan:
        """Plan by FACE."""
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        routes = self._face.query(problem)
        if not routes.paths:
            start = problem.x[None].copy()
            note = self._face.remedy(problem)
            return Plan(
                Status.GOAL_UNREACHABLE, start, np.inf, routes.joined, clock.seconds,
                routes.reachable, () if note is None else (note,),
            )  # fmt: skip
        path = routes.paths[0]
        cost = problem.path_cost(path, rule="midpoint")
        return Plan(Status.FOUND, path, cost, routes.joined, clock.seconds)

    def _consistent(
        self,
        fips: int,
        ask: Ask,
        density: ConditionalDensity,
        goal: Goal,
        rng: np.random.Generator,
    ) -> Recourse:
        sliced, start = consistent_slice(
            density, self.counties, fips, fixed=self._fixed(ask), turned=ask.equity
        )
        rules = Constraints()
        if ask.equity:
            rules = Constraints(only_down=[i for i in INDICES if i in sliced.features_])
        landscape = Landscape(sliced, penalty=ask.penalty, scale=self.scale)
        plan = self._optimizer(ask).solve(Problem(start, landscape, goal, rules), rng=rng)
        waypoints = sliced.lift(plan.waypoints)
        target = int(str(goal.target))
        return Recourse(
            fips, ask, target, plan.status, waypoints, plan.cost, plan.seconds, plan.notes
        )

    def _fixed(self, ask: Ask) -> tuple[str, ...]:
        """Return the variables to fix that the model has; those that it has not stay anyway."""
        known = set(self.counties.variables.index)
        unknown = [name for name in ask.fixed if name not in known]
        if unknown:
            raise InvalidInput(
                f"'fixed' must name EPA's variables, such as 'a_isophorone'. Got {unknown[0]!r}."
            )
        return tuple(name for name in ask.fixed if name in self.counties.kept)

    @cached_property
    def _face(self) -> Face:
        return Face(self.known_rows, graph="density", nodes=FACE_NODES)

    @cached_property
    def _wachter(self) -> Planner:
        return Wachter(self.known_rows)


def plausible_from(log_prob: FloatArray) -> float:
    """Return the paper's alpha: the mean minus a quarter of the standard deviation of log p.

    Example:
        >>> plausible_from(np.array([-1.0, 1.0]))
        -0.25
    """
    return float(log_prob.mean() + PLAUSIBILITY * log_prob.std())


# What a plan means --------------------------------------------------------------------------------


def transformed_path(
    counties: Counties, density: ConditionalDensity, recourse: Recourse
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a path in the table's units: the indices as planned, and all of EPA's variables.

    Variables that the model does not have stay as they are in the county.
    """
    frame = density.to_user(recourse.waypoints)
    indices = frame[list(INDICES)].set_axis(list(DOMAINS), axis=1)
    held = counties.transformed.loc[recourse.fips, counties.dropped]
    still = pd.DataFrame(
        np.tile(held.to_numpy(), (len(frame), 1)), columns=counties.dropped, index=frame.index
    )
    variables = pd.concat([frame[counties.kept], still], axis=1)
    return indices, variables[list(counties.variables.index)]


def recomputed_indices(counties: Counties, variables: pd.DataFrame) -> pd.DataFrame:
    """Return the indices that the variables of a path give, by EPA's formulas."""
    return counties.formulas.indices(variables)


def category_of(counties: Counties, indices: pd.DataFrame) -> list[int]:
    """Return the category that five indices give, by EPA's formula, for each row."""
    overall = counties.formulas.overall(indices)
    return [int(k) for k in counties.formulas.category(overall)]
