"""A plan in the user's units and words: the one object that text, tables and plots consume."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace._files import write_atomically
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity, log_posterior, log_sum_exp
from daace.exceptions import InvalidInput
from daace.explain.advice import relaxed_thresholds
from daace.explain.encoding import dump_json
from daace.explain.oddities import find_oddities
from daace.explain.provenance import Provenance
from daace.explain.record import parse_record, to_record
from daace.explain.words import NAMED
from daace.landscape.problem import Problem
from daace.landscape.rows import frame_of_rows
from daace.planners.base import Plan, Status

if TYPE_CHECKING:
    from daace.explain.explainer import Explainer
    from daace.explain.plots import Plot
    from daace.explain.stability import Stability

Label = str | int | bool

#: Columns of `Explanation.profile`.
PROFILE = ("log_prob", "plausibility", "percentile", "posterior")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Explanation:
    """What would have to change, and how to get there.

    Attributes:
        status: how the search ended; true when a counterfactual was found.
        current: the most probable class at the start; None for an invalid row.
        target: the class asked for; None for an invalid row that was not given one.
        path: waypoints in user units; the first row is the start, the last the counterfactual.
            The start only, when none was found.
        profile: for each waypoint `log_prob` (model space), `plausibility` (the same in standard
            deviations from the mean of the density's draws, the unit of the argument
            `plausibility`), `percentile` (share of draws that are less plausible) and
            `posterior` (probability of the target).
        cost: of the path; infinite when none was found.
        relax: when none was found, thresholds that would do, each alone, by argument name.
        sd: standard deviation of each feature, in user units.
        units: unit by feature name, where known.
        provenance: settings, seed, version.
        density: for plots of the landscape; not part of the JSON.
        explainer: who was asked, with the settings of the question; for `stability`, not part of
            the JSON.
        alternatives: other answers to the same question, cheapest first, with ends far from this
            one's and from each other; none unless `explain` was asked for them.
        notes: what the search has to say besides, one sentence each.

    Example:
        >>> from daace import GaussianMixture
        >>> from daace.explain.explainer import Explainer
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> e = Explainer(density).explain([0.0], target="well")
        >>> e.found, e.counterfactual.round().to_dict()
        (True, {'x1': 3.0})
    """

    status: Status
    current: Label | None
    target: Label | None
    path: pd.DataFrame
    profile: pd.DataFrame
    cost: float
    relax: Mapping[str, float]
    sd: FloatArray
    units: Mapping[str, str]
    provenance: Provenance
    density: ConditionalDensity | None = None
    explainer: Explainer | None = None
    alternatives: tuple[Explanation, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        problem: Problem,
        plan: Plan,
        *,
        provenance: Provenance,
        explainer: Explainer | None = None,
    ) -> Explanation:
        """Put a plan into the user's units.

        Args:
            problem: what was asked.
            plan: the answer, in model space.
            provenance: where the answer comes from.
            explainer: who was asked.
        """
        density, region = problem.landscape.density, problem.region
        judge = density if problem.posterior is None else problem.posterior
        # One row at a time, as the goal is checked: BLAS rounds differently in a batch.
        path = problem.to_user(plan.waypoints)
        rows = [density.standardizer_.transform(row)[None] for row in path]
        joint = np.concatenate([density.log_joint(row) for row in rows])
        log_prob = log_sum_exp(joint)
        if plan.judged is not None:
            shares = np.exp(plan.judged.log_posterior)
        elif problem.posterior is None:
            shares = np.exp(log_posterior(joint))
        else:
            shares = np.exp([judge.log_posterior(row)[0] for row in rows])
        draws = density.draws_
        profile = frame_of_rows(
            np.column_stack(
                [
                    log_prob,
                    (log_prob - draws.mean) / draws.sd,
                    [draws.percentile(value) for value in log_prob],
                    shares[:, region.index],
                ]
            ),
            PROFILE,
        )
        frame = frame_of_rows(path, density.features_, whole=problem.to_user.whole)
        return cls(
            status=plan.status,
            current=judge.classes_.item(int(np.argmax(shares[0]))),
            target=judge.classes_.item(region.index),
            path=frame.rename_axis("waypoint"),
            profile=profile.rename_axis("waypoint"),
            cost=plan.cost,
            relax=relaxed_thresholds(problem, plan),
            sd=density.standardizer_.scale.copy(),
            units=dict(density.units_),
            provenance=provenance,
            density=density,
            explainer=explainer,
            notes=(*plan.notes, *find_oddities(problem, path)),
        )

    # What was found ---------------------------------------------------------------------------

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.status)

    @property
    def counterfactual(self) -> pd.Series | None:
        """The last waypoint, in user units; None when none was found."""
        return self.path.iloc[-1].rename("counterfactual") if self.found else None

    @property
    def log_prob(self) -> float:
        """Log-density of the counterfactual (model space); of the start when none was found."""
        return float(self.profile["log_prob"].iloc[-1])

    @property
    def posterior(self) -> float:
        """Probability of the target at the counterfactual; at the start when none was found."""
        return float(self.profile["posterior"].iloc[-1])

    @property
    def step_count(self) -> int:
        """Number of steps from the start to the counterfactual."""
        return len(self.path) - 1

    def changes(self, step: int | None = None) -> pd.DataFrame:
        """Return the features that change, in order of size: all the way, or in one step.

        Args:
            step: 1 is the first step; the whole way when left out.

        Returns:
            feature, from, to, change (user units) and change_sd (standard deviations).

        Raises:
            InvalidInput: there is no such step.
        """
        if step is not None:
            check_integer("step", step, at_least=1)
            if step > self.step_count:
                raise InvalidInput(
                    f"'step' must be one of the {self.step_count} steps. Got {step!r}."
                )
        begin, end = (0, -1) if step is None else (step - 1, step)
        before, after = self.path.iloc[begin].to_numpy(), self.path.iloc[end].to_numpy()
        frame = pd.DataFrame(
            {
                "feature": list(self.path.columns),
                "from": before,
                "to": after,
                "change": after - before,
                "change_sd": (after - before) / self.sd,
            }
        )
        frame = frame[frame["change"].abs() > 0]
        order = np.argsort(-frame["change_sd"].abs().to_numpy(), kind="stable")
        return frame.iloc[order].reset_index(drop=True)

    # Can it be trusted? -----------------------------------------------------------------------

    def stability(self, table: object = None, *, seeds: int = 5, refits: int = 10) -> Stability:
        """Explain again with other seeds, and with models of other samples, and compare.

        Args:
            table: the training rows, as a `Table` or a frame with the class column; without
                them, other samples cannot be drawn.
            seeds: how many other seeds to try.
            refits: how many bootstrap samples of the table to fit and ask.

        Raises:
            InvalidInput: no way was found, the explanation was read from JSON, or the table is
                not what was expected.
        """
        from daace.explain.stability import measure_stability

        return measure_stability(self, table, seeds=seeds, refits=refits)

    def nearest_rows(self, rows: object) -> pd.DataFrame:
        """Return how far each waypoint is from the closest of some rows, and which that is.

        Args:
            rows: training rows, as a `Table` or a frame in user units.

        Returns:
            distance (standard deviations), row, and percentile of the distance among those of
            the rows to their own closest row: near 0, the waypoint copies somebody.
        """
        from daace.explain.trust import nearest_rows

        return nearest_rows(self, rows)

    # In words and pictures --------------------------------------------------------------------

    def describe(self, *, features: int = NAMED) -> str:
        """Return the steps as text.

        Args:
            features: largest changes to name in each step, at least 1.
        """
        from daace.explain.words import describe

        check_integer("features", features, at_least=1)
        return describe(self, features=features)

    def steps(self, *, features: int = NAMED) -> list[str]:
        """Return a paragraph for each step: what to change, and where that leads.

        Each names the probability of the target after the step and its plausibility, as the
        percentile of the log-density among the density's draws. The list is empty where nothing
        changes, and where no path was found.

        Args:
            features: largest changes to name in each step, at least 1.
        """
        from daace.explain.steps import write_steps

        check_integer("features", features, at_least=1)
        return write_steps(self, features=features)

    def __repr__(self) -> str:
        return (
            f"Explanation(status='{self.status}', current={self.current!r}, "
            f"target={self.target!r}, steps={self.step_count}, cost={self.cost:.4g})"
        )

    def __str__(self) -> str:
        return self.describe()

    def plot(
        self,
        kind: Literal["overview", "steps", "landscape", "waterfall", "profile"] = "overview",
        *,
        features: tuple[str, str] | None = None,
    ) -> Plot:
        """Draw the path, as a matplotlib figure of its own (pyplot is not touched).

        Args:
            kind: 'steps' shows each feature along the path; 'landscape' the terrain under two
                features; 'overview' both; 'waterfall' what each change does for the target;
                'profile' plausibility and probability along the path. An explanation read from
                JSON knows no density: 'overview' is then the steps alone.
            features: the two features of the landscape; the most changed when left out.
        """
        from daace.explain.plots import draw

        return draw(self, kind, features=features)

    def plot_data(
        self,
        kind: Literal["steps", "landscape", "waterfall", "profile"],
        *,
        features: tuple[str, str] | None = None,
    ) -> pd.DataFrame:
        """Return the numbers behind a plot, as a frame.

        Args:
            kind: as in `plot`.
            features: as in `plot`.
        """
        from daace.explain.along import plot_data

        return plot_data(self, kind, features=features)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page, and write it where a path is given.

        Raises:
            OSError: the file cannot be written; an older one stays whole.
        """
        from daace.explain.report import render

        page = render(self)
        if path is not None:
            write_atomically(path, page)
        return page

    def _repr_html_(self) -> str:
        from daace.explain.report import render_fragment

        return render_fragment(self)

    # JSON -------------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all but the density as JSON; `from_json` gives back the same numbers."""
        return dump_json(to_record(self), indent=indent)

    @classmethod
    def from_json(cls, text: str, *, density: ConditionalDensity | None = None) -> Explanation:
        """Read what `to_json` wrote.

        Args:
            text: JSON.
            density: the density of the explanation, where its landscape shall be plotted.

        Raises:
            InvalidInput: the text is not such JSON, or of another version of the schema.
        """
        fields = parse_record(text)
        others = tuple(
            cls(**{**other, "alternatives": ()}, density=density)
            for other in fields.pop("alternatives")
        )
        return cls(**fields, density=density, alternatives=others)
