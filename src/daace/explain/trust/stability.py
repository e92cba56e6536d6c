"""Would the answer be the same tomorrow? Other seeds, and models of other samples."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.exceptions import InvalidInput
from daace.explain.answers.answer import Answer
from daace.explain.asking.query import Query
from daace.explain.asking.rows import Rows
from daace.explain.asking.settings import Settings
from daace.explain.asking.solving import Solved, solve_row
from daace.explain.judging.committee import Committee
from daace.explain.trust.check import as_table
from daace.planners.readable import merge_steps

#: Draws of a bootstrap sample until every class has two rows.
TRIES = 100


@dataclass(frozen=True, eq=False)
class Stability:
    """An explanation compared with those for other seeds and other samples.

    Attributes:
        frame: one row per comparison. `kind` is 'seed' or 'refit'; `found` and `cost` are those of
            the new answer; `distance` is the distance of its end from the old one, in standard
            deviations; `holds` and `plausible` are whether the old end still has the required
            probability of the target and the required plausibility in the new model.
    """

    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return the comparisons."""
        return self.frame.copy()

    def __str__(self) -> str:
        lines = []
        for kind, words in (("seed", "other seeds"), ("refit", "models of bootstrap samples")):
            some = self.frame[self.frame["kind"] == kind]
            if len(some):
                away = some["distance"].median()
                lines.append(
                    f"{len(some)} {words}: a path was found by {int(some['found'].sum())}, its end "
                    f"{away:.2g} sd from this one in the median; this end still holds for "
                    f"{int(some['holds'].sum())}."
                )
        return "\n".join(lines)


def measure_stability(
    e: Answer, query: Query | None, table: object, *, seeds: int, refits: int
) -> Stability:
    """Explain again and compare; see `Explanation.stability`.

    Args:
        e: the answer.
        query: what was asked, about its row alone.
        table: the training rows; None for no refits.
        seeds: how many other seeds to try.
        refits: how many bootstrap samples to fit and ask.
    """
    check_integer("seeds", seeds, at_least=0)
    check_integer("refits", refits, at_least=0)
    if query is None or e.plan is None:
        raise InvalidInput(
            "Stability can be measured only for an explanation fresh from explainer.explain: "
            "one that was read from JSON has no model."
        )
    if not e.found:
        raise InvalidInput("Stability can be measured only for a path that was found.")
    settings = query.settings
    density = settings.density
    training = None if table is None else as_table(density, table, name="table")
    end = density.user_values(e.path.iloc[[-1]])
    rows = []
    for seed in range(settings.seed + 1, settings.seed + 1 + seeds):
        again = solve_row(replace(query, settings=replace(settings, seed=seed), first=0))
        asked = again.problem.region
        holds = e.posterior >= again.problem.goal.min_posterior
        rows.append(("seed", *_compare(e, again), holds, e.log_prob >= asked.min_log_prob))
    for number in range(refits):
        if training is None:
            break
        rng = np.random.default_rng([settings.seed, number])
        sample = resample(training, density.fewest_rows, rng=rng)
        other = _with_density(settings, refit(density, sample), sample)
        again = solve_row(Query.of(other, Rows(query.values, raw=query.raw), e.target, strict=True))
        there = _state(Query.of(other, Rows(end, raw=query.raw), e.target, strict=True))
        rows.append(("refit", *_compare(e, again), *there))
    columns = ["kind", "found", "cost", "distance", "holds", "plausible"]
    return Stability(pd.DataFrame(rows, columns=columns))


def _with_density(settings: Settings, density: ConditionalDensity, sample: Table) -> Settings:
    """Return the settings with another density and the judges that go with it."""
    judges = None if settings.judges is None else settings.judges.on(density)
    committee = None
    if settings.committee is not None:
        committee = Committee.train(density, sample, None)
    return replace(settings, density=density, judges=judges, committee=committee)


def _state(query: Query) -> tuple[bool, bool]:
    """Return whether a row has the target as probable, and is as plausible, as asked."""
    density, goal = query.settings.density, query.goals[0]
    X = density.standardizer_.transform(query.values)
    joint, committee = density.log_joint(X), query.settings.committee
    logs = log_posterior(joint) if query.start_logs is None else query.start_logs
    if query.settings.decides == "committee" and committee is not None:
        logs = committee.log_posterior(X)
    share = np.exp(logs)[0, density.class_index(goal.target)]
    plausible = log_sum_exp(joint)[0] >= query.problem(0, None).threshold
    return bool(share >= goal.min_posterior), bool(plausible)


def refit(density: ConditionalDensity, table: Table) -> ConditionalDensity:
    """Return a density of the same kind and settings, fitted to another table.

    Raises:
        InvalidInput: the density cannot be fitted.
    """
    learn = getattr(density, "fit", None)
    if learn is None:
        raise InvalidInput(
            f"'refits' must be 0 for a {type(density).__name__}, which cannot be fitted.",
            argument="refits",
        )
    names = inspect.signature(type(density)).parameters
    fresh = type(density)(**{name: getattr(density, name) for name in names})
    with warnings.catch_warnings():  # the sample repeats rows; the original fit has warned already
        warnings.simplefilter("ignore", UserWarning)
        fitted: ConditionalDensity = fresh.fit(table)
    return fitted


def resample(table: Table, fewest: int, *, rng: np.random.Generator) -> Table:
    """Return a bootstrap sample: as many rows, drawn with replacement, `fewest` of every class."""
    for _ in range(TRIES):
        sample = table.take(rng.integers(len(table), size=len(table)))
        if all((sample.y == label).sum() >= fewest for label in table.classes.tolist()):
            return sample
    raise InvalidInput(
        "'table' must have more rows of its rarest class for a bootstrap sample.", argument="table"
    )


def _compare(e: Answer, again: Solved) -> tuple[bool, float, float]:
    """Return whether a path was found again, its cost, and how far its end is from the old one."""
    plan = merge_steps(again.problem, again.plan)
    if not plan.found:
        return False, plan.cost, np.nan
    density = again.problem.landscape.density
    rows = again.problem.to_user(plan.waypoints[-1:])
    away = rows[0] - density.user_values(e.path.iloc[[-1]])[0]
    return True, plan.cost, float(np.linalg.norm(away / density.standardizer_.scale))
