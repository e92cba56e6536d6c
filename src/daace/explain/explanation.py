"""An answer with its forms: text, tables, pictures, a page, JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd

from daace._checks import check_integer
from daace._files import write_atomically
from daace._json import dump_json
from daace.density.base import ConditionalDensity
from daace.explain.answers.answer import Answer
from daace.explain.answers.curves import plot_data
from daace.explain.answers.record import parse_record, to_record
from daace.explain.answers.steps import write_steps
from daace.explain.answers.words import NAMED, describe
from daace.explain.asking.query import Query
from daace.explain.pages.report import render, render_fragment
from daace.explain.trust.neighbours import nearest_rows
from daace.explain.trust.stability import Stability, measure_stability

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Explanation(Answer):
    """What would have to change, and how to get there.

    Its data are those of `Answer`: status, path, cost, changes(), ... (see there).

    Attributes:
        query: the query, for `stability`; None if the answer was read from JSON.

    Example:
        >>> from daace import Explainer, GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> e = Explainer(density).explain([0.0], target="well")
        >>> e.found, e.counterfactual.round().to_dict()
        (True, {'x1': 3.0})
    """

    query: Query | None = None

    def with_model(self, query: Query) -> Explanation:
        """Return the answer to a query about one row, with the data for pictures and `stability`.

        A row that cannot be explained has no pictures.
        """
        if self.plan is None:
            return self
        settings = query.settings
        return replace(self, density=settings.density, judge=query.judge(0), query=query)

    @property
    def profile(self) -> pd.DataFrame:
        """`along`, by its name of version 0.1."""
        return self.along

    # Can it be trusted? -----------------------------------------------------------------------

    def stability(self, table: object = None, *, seeds: int = 5, refits: int = 10) -> Stability:
        """Explain again with other seeds, and with models of other samples, and compare.

        Args:
            table: the training rows, as a `Table` or a frame with the class column; without
                them, other samples cannot be drawn.
            seeds: number of other seeds to try.
            refits: number of bootstrap samples of the table to fit and query.

        Raises:
            InvalidInput: no path was found, the explanation was read from JSON, or the table is
                not what was expected.
        """
        return measure_stability(self, self.query, table, seeds=seeds, refits=refits)

    def nearest_rows(self, rows: object) -> pd.DataFrame:
        """Return how far each waypoint is from the closest of some rows, and which that is.

        Args:
            rows: training rows, as a `Table` or a frame in user units.

        Returns:
            distance (standard deviations), row, and percentile of the distance among those of
            the rows to their own closest row: near 0, the waypoint copies a row.
        """
        return nearest_rows(self, rows)

    # In words and pictures --------------------------------------------------------------------

    def describe(self, *, features: int = NAMED) -> str:
        """Return the steps as text.

        Args:
            features: largest changes to name in each step, at least 1.
        """
        check_integer("features", features, at_least=1)
        return describe(self, features=features)

    def steps(self, *, features: int = NAMED) -> list[str]:
        """Return a paragraph for each step: what to change, and where that leads.

        Each names the probability of the target after the step and its plausibility, as the
        percentile of the log-density among the density's draws. The list is empty if nothing
        changes, or if no path was found.

        Args:
            features: largest changes to name in each step, at least 1.
        """
        check_integer("features", features, at_least=1)
        return write_steps(self, features=features)

    def __str__(self) -> str:
        return self.describe()

    def plot(
        self,
        kind: Literal[
            "overview", "steps", "landscape", "waterfall", "along", "profile"
        ] = "overview",
        *,
        features: tuple[str, str] | None = None,
    ) -> Plot:
        """Draw the path, as a matplotlib figure of its own (pyplot is not touched).

        Args:
            kind: 'steps' shows each feature along the path; 'landscape' the terrain under two
                features; 'overview' both; 'waterfall' the effect of each change on the target;
                'along' plausibility and probability along the path ('profile' is its name of
                version 0.1). An explanation read from JSON has no density: 'overview' then shows
                the steps alone.
            features: the two features of the landscape; the most changed when left out.
        """
        from daace.explain.pictures.path_plots import draw

        return draw(self, kind, features=features)

    def plot_data(
        self,
        kind: Literal["steps", "landscape", "waterfall", "along", "profile"],
        *,
        features: tuple[str, str] | None = None,
    ) -> pd.DataFrame:
        """Return the numbers behind a plot, as a frame.

        Args:
            kind: as in `plot`.
            features: as in `plot`.
        """
        return plot_data(self, kind, features=features)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page, and write it where a path is given.

        Raises:
            OSError: the file cannot be written; an older one is kept.
        """
        page = render(self)
        if path is not None:
            write_atomically(path, page)
        return page

    def _repr_html_(self) -> str:
        return render_fragment(self)

    # JSON -------------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return everything except the model as JSON; `from_json` returns the same numbers."""
        return dump_json(to_record(self), indent=indent)

    @classmethod
    def from_json(cls, text: str, *, density: ConditionalDensity | None = None) -> Explanation:
        """Read an explanation written by `to_json`.

        Args:
            text: JSON.
            density: the density of the explanation, if its landscape is to be plotted.

        Raises:
            InvalidInput: the text is not such JSON, or of another version of the schema.
        """
        fields = parse_record(text)
        others = tuple(
            cls(**{**other, "alternatives": ()}, density=density)
            for other in fields.pop("alternatives")
        )
        return cls(**fields, density=density, alternatives=others)
