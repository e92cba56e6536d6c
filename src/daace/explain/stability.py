"""Would the answer be the same tomorrow? Other seeds, and models of other samples."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.trust import as_table

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

#: Draws of a bootstrap sample until every class has two rows.
TRIES = 100


@dataclass(frozen=True, eq=False)
class Stability:
    """An explanation compared with what other seeds and other samples give.

    Attributes:
        frame: a row per comparison. `kind` is 'seed' or 'refit'; `found` and `cost` are those of
            the new answer; `distance` is how far its end is from the old one (standard
            deviations); `holds` says whether the old end still has the target as probable as
            asked, and `plausible` whether it is still as plausible as asked, in the new model.
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
                    f"{len(some)} {words}: a way was found by {int(some['found'].sum())}, its end "
                    f"{away:.2g} sd from this one in the median; this end still holds for "
                    f"{int(some['holds'].sum())}."
                )
        return "\n".join(lines)


def measure_stability(e: Explanation, table: object, *, seeds: int, refits: int) -> Stability:
    """Explain again and compare; see `Explanation.stability`."""
    check_integer("seeds", seeds, at_least=0)
    check_integer("refits", refits, at_least=0)
    explainer = e.explainer
    if explainer is None:
        raise InvalidInput(
            "The stability can be measured of an explanation fresh from explainer.explain only: "
            "one that was read from JSON knows no model."
        )
    if not e.found:
        raise InvalidInput("The stability can be measured of a way that was found only.")
    training = None if table is None else as_table(explainer.density, table, name="table")
    asked: dict[str, Any] = {"target": e.target}
    if e.provenance.plausibility is None:
        asked["min_log_prob"] = e.provenance.min_log_prob
    row = e.path.iloc[0]
    rows = []
    for seed in range(e.provenance.seed + 1, e.provenance.seed + 1 + seeds):
        again = explainer.explain(row, **asked, seed=seed)
        rows.append(("seed", *_compare(e, again, e)))
    if training is not None:
        for number in range(refits):
            rng = np.random.default_rng([e.provenance.seed, number])
            sample = resample(training, explainer.density.fewest_rows, rng=rng)
            density = refit(explainer.density, sample)
            other = replace(explainer, density=density)
            again = other.explain(row, **asked, seed=e.provenance.seed)
            # The old end as the start of the same question: what does the new model say of it?
            there = other.explain(e.path.iloc[-1], **asked, seed=e.provenance.seed)
            rows.append(("refit", *_compare(e, again, there)))
    columns = ["kind", "found", "cost", "distance", "holds", "plausible"]
    return Stability(pd.DataFrame(rows, columns=columns))


def refit(density: ConditionalDensity, table: Table) -> ConditionalDensity:
    """Return a density of the same kind and settings, fitted to another table.

    Raises:
        InvalidInput: the density cannot be fitted.
    """
    learn = getattr(density, "fit", None)
    if learn is None:
        raise InvalidInput(
            f"'refits' must be 0 for a {type(density).__name__}, which cannot be fitted."
        )
    names = inspect.signature(type(density)).parameters
    fresh = type(density)(**{name: getattr(density, name) for name in names})
    with warnings.catch_warnings():  # the sample repeats rows; the original fit had its say
        warnings.simplefilter("ignore", UserWarning)
        fitted: ConditionalDensity = fresh.fit(table)
    return fitted


def resample(table: Table, fewest: int, *, rng: np.random.Generator) -> Table:
    """Return a bootstrap sample: as many rows, drawn with replacement, `fewest` of every class."""
    for _ in range(TRIES):
        sample = table.take(rng.integers(len(table), size=len(table)))
        if all((sample.y == label).sum() >= fewest for label in table.classes):
            return sample
    raise InvalidInput("'table' must have more rows of its rarest class for a bootstrap sample.")


def _compare(e: Explanation, again: Explanation, judged: Explanation) -> tuple[object, ...]:
    """Return found, cost, distance, and whether the old end holds and is plausible.

    `judged` tells of the old end: at its start in a new model, at its end in the old one.
    """
    state = judged.profile.iloc[-1 if judged is e else 0]
    away = (again.path.iloc[-1].to_numpy() - e.path.iloc[-1].to_numpy()) / e.sd
    return (
        again.found,
        again.cost,
        float(np.linalg.norm(away)) if again.found else np.nan,
        bool(state["posterior"] >= judged.provenance.min_posterior),
        bool(state["log_prob"] >= judged.provenance.min_log_prob),
    )
