"""The settings of a query, everything besides rows and target, checked once."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any

from daace._checks import check_choice, check_integer
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answers.remarks import find_weakness
from daace.explain.asking.rows import Rows
from daace.explain.judging.budget import BudgetedPosterior
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.committee import Committee
from daace.explain.judging.judges import Judges
from daace.explain.trust.check import Check
from daace.landscape.constraints import NO_RULES, Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.notes import Note
from daace.planners.base import Planner
from daace.planners.optimizer import PathOptimizer

#: Possible judges of the class if there is no classifier.
JUDGES = ("committee", "density")
#: Default planners: for paths that change few features, which are held as long as the cost grows by
#: at most a quarter; or for the cheapest path, whatever it changes.
PLANNERS = {"few": PathOptimizer(sparsity=0.25), "all": PathOptimizer()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """The settings that all rows of a query share.

    Args:
        density: a fitted density.
        planner: planner of the paths; that of `changes` when None.
        changes: 'few' or 'all', a key of `PLANNERS`; not used if there is a planner.
        penalty: exponent of the local cost.
        scale: scale of the landscape, 'relative' or 'nll'.
        plausibility: threshold of log p at the end, in standard deviations from its mean over the
            density's draws.
        min_log_prob: threshold of log p itself; overrides `plausibility`.
        min_posterior: smallest probability of the target at the end; when None, the committee's
            own where it decides, 0.5 otherwise.
        constraints: rules of what may change; None for no rules.
        judge: 'committee' or 'density' decides the class, unless a classifier does; when None,
            the committee if there is one.
        committee: the committee trained beside the density; None if there is none.
        judges: the classifier that decides the class; None if there is none.
        classifier_budget: maximum number of rows for the classifier in a search; None for no limit.
        held_out: performance of the density on held-out rows.
        round: whether answers have round values where goal and rules allow it.
        time_limit: seconds; overrides that of the planner.
        seed: each row has its own random generator, spawned from it.

    Raises:
        InvalidInput: a setting is invalid.
    """

    density: ConditionalDensity
    planner: Planner | None = None
    changes: Any = "few"
    penalty: float = 1.0
    scale: Any = "relative"
    plausibility: float = -0.5
    min_log_prob: float | None = None
    min_posterior: float | None = None
    constraints: Constraints | None = None
    judge: str | None = None
    committee: Committee | None = None
    judges: Judges | None = None
    classifier_budget: int | None = None
    held_out: Check | None = None
    round: bool = True
    time_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_density()
        check_choice("changes", self.changes, tuple(PLANNERS))
        expected = {
            "planner": Planner,
            "constraints": Constraints,
            "held_out": Check,
            "committee": Committee,
        }
        for name, kind in expected.items():
            value = getattr(self, name)
            if not (value is None or isinstance(value, kind)):
                raise InvalidInput(
                    argument=name,
                    expected=f"be a daace.{kind.__name__}",
                    got=type(value).__name__,
                )
        self.rules.check(self.density)
        if self.classifier_budget is not None:
            check_integer("classifier_budget", self.classifier_budget, at_least=1)
        check_integer("seed", self.seed, at_least=0)
        if not isinstance(self.round, bool):
            raise InvalidInput(argument="round", expected="be True or False", got=repr(self.round))
        self._check_judge()
        # Each of these checks its own part.
        _ = self.landscape, self.goal(None), self.search, self.classifier_posterior

    def _check_judge(self) -> None:
        """Raise `InvalidInput` if the chosen judge does not exist."""
        if self.judge is not None:
            check_choice("judge", self.judge, JUDGES)
        if self.committee is not None and self.committee.density is not self.density:
            raise InvalidInput(argument="committee", expected="be that of the density")
        if self.judge == "committee" and self.committee is None:
            raise InvalidInput(
                argument="judge",
                expected="be 'density', as no committee was trained",
                remedy="daace.fit(table) trains one",
            )

    def _check_density(self) -> None:
        if not isinstance(self.density, ConditionalDensity):
            raise InvalidInput(
                argument="density",
                expected="be a ConditionalDensity",
                got=type(self.density).__name__,
                remedy="daace.fit(table) learns one",
            )
        if not hasattr(self.density, "standardizer_"):
            raise InvalidInput(
                argument="density",
                expected="be fitted",
                remedy="call its fit(table), or daace.fit(table)",
            )

    @cached_property
    def landscape(self) -> Landscape:
        """The terrain."""
        return Landscape(self.density, penalty=self.penalty, scale=self.scale)

    @cached_property
    def rules(self) -> Constraints:
        """The constraints, with an explainer's defaults for `natural` and `given`.

        On tables with codes natural rules hold, and what is fixed is given.
        """
        rules = NO_RULES if self.constraints is None else self.constraints
        if rules.natural is None and self.density.encoding_.code_sizes:
            rules = replace(rules, natural=True)
        if rules.given is None and rules.fixed:
            rules = replace(rules, given=True)
        return rules

    @cached_property
    def classifier_posterior(self) -> ClassifierPosterior | None:
        """The classifier, with rows in the form that the rules allow; None if there is none."""
        if self.judges is None:
            return None
        natural = self.density.encoding_.features if self.rules.natural else ()
        whole = [feature.name for feature in natural if feature.kind == "whole"]
        return self.judges.seeing({*self.rules.integer, *whole})

    @property
    def decides(self) -> str:
        """Kind of the judge: 'classifier', 'committee' or 'density'."""
        if self.judges is not None:
            return "classifier"
        return self.judge or ("density" if self.committee is None else "committee")

    @property
    def other_judge(self) -> ClassifierPosterior | Committee | None:
        """The judge of the class in place of the density; None if the density judges."""
        known = {"classifier": self.classifier_posterior, "committee": self.committee}
        return known.get(self.decides)

    @property
    def classifier(self) -> str | None:
        """Name of the classifier; None if there is none."""
        return None if self.judges is None else self.judges.name

    @cached_property
    def search(self) -> Planner:
        """The planner, with the time limit of the settings."""
        planner: Any = PLANNERS[self.changes] if self.planner is None else self.planner
        if self.time_limit is None:
            return planner  # type: ignore[no-any-return]
        if not (is_dataclass(planner) and hasattr(planner, "time_limit")):
            raise InvalidInput(
                f"'time_limit' must be left out: a {type(planner).__name__} has no time limit.",
                argument="time_limit",
            )
        return replace(planner, time_limit=self.time_limit)  # type: ignore[type-var, return-value]

    @cached_property
    def weakness(self) -> tuple[Note, ...]:
        """A note on a density that performs badly on held-out rows."""
        return find_weakness(self.held_out, classified=self.decides != "density")

    def goal(self, target: object) -> Goal:
        """Return the goal of rows with this target; that of any target if None."""
        asked = 0.5 if self.min_posterior is None else self.min_posterior
        if self.min_posterior is None and self.decides == "committee" and target is not None:
            assert self.committee is not None
            asked = float(self.committee.defaults[self.density.class_index(target)])
        return Goal(
            target,
            plausibility=self.plausibility,
            min_log_prob=self.min_log_prob,
            min_posterior=asked,
        )

    def box(self, target: object) -> tuple[FloatArray, FloatArray] | None:
        """Return the box of paths to a class, which spans its rows; None for that of the draws."""
        if self.committee is None or self.decides == "density":
            return None
        return self.committee.box(self.density.class_index(target))

    def excluded(self, rows: Rows) -> dict[int, str]:
        """Return why the constraints exclude rows that can be read, by position.

        Building the problems finds the same; this is a check in advance.
        """
        found = {}
        for row, x in enumerate(self.density.standardizer_.transform(rows.values)):
            if row not in rows.invalid:
                try:
                    self.rules.compile(self.density, x)
                except InvalidInput as error:
                    found[row] = str(error)
        return found

    def posterior(
        self, judge: ClassifierPosterior | Committee | None
    ) -> BudgetedPosterior | Committee | None:
        """Return the judge of one search; None if the density judges.

        Args:
            judge: judge of the class in place of the density.
        """
        if not isinstance(judge, ClassifierPosterior):
            return judge
        limit = getattr(self.search, "time_limit", None)
        return BudgetedPosterior(judge, budget=self.classifier_budget, time_limit=limit)
