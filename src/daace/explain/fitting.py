"""From a table to an explainer, in one step."""

from __future__ import annotations

from inspect import signature
from typing import Literal

from daace._checks import check_choice
from daace._wording import quote
from daace.data.inputs import as_table
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.registry import learned_kinds, new_density
from daace.exceptions import InvalidInput
from daace.explain.asking.settings import JUDGES
from daace.explain.explainer import Explainer
from daace.explain.judging.committee import Committee
from daace.explain.trust.held_out import judge_held_out, summarize_fit

#: Maximum number of classes for a committee; with more, the density judges.
MOST_CLASSES = 30


def fit(
    table: object,
    y: object = None,
    *,
    target: object = None,
    density: str | ConditionalDensity | None = None,
    judge: Literal["committee", "density"] = "committee",
    progress: bool = False,
) -> Explainer:
    """Learn the density of a table and return an explainer with the default settings.

    Rows and classes come in one of three ways: `fit(table)` with a `daace.Table`, `fit(frame,
    target="class")`, or `fit(X, y)`. Columns that do not vary are left out of the model, with a
    warning; rows to be explained may have them or not.

    The density is checked on rows that it was not fitted on: a network on a fifth of the rows,
    after a fit on the others; a flow on those that early stopping holds out; a KDE by
    leave-one-out. The result is `explainer.held_out`, None if there are too few rows. If the
    density is weak, every explanation has a note on it.

    Args:
        table: rows with their class: a `Table`; or a frame of pandas, polars or pyarrow; or, with
            `y`, an array.
        y: the class of each row, as an array, Series or list. A density, or the name of one,
            is read as `density`: `fit(table, "kde")`.
        target: name of the frame's column that holds the class.
        density: 'profiles' (when left out), a network with hidden profiles; 'linear-gaussian', the
            paper's network; 'kde', 'realnvp', or a density of your own; one that is fitted
            already is used as it is. Settings are those of the density:
            `fit(table, daace.RealNVP(epochs=100))`.
        judge: judge of the class. 'committee': a few small, smooth models are trained beside the
            density (logistic regressions, networks), and all of them have to accept the end of a
            path; other models then tend to accept it, too. 'density': the density alone, as in
            the paper.
        progress: show a bar on stderr while profiles are counted or a flow is trained.

    Raises:
        InvalidInput: the density is unknown, or fitted on other columns; or the rows or classes
            are not what was expected.
        MissingDependency: the density needs a package that is not installed.

    Example:
        >>> from daace import load_table
        >>> fit(load_table("iris")).density.kind
        'linear-gaussian'
        >>> fit(load_table("iris").to_frame(), target="class", density="kde").density.kind
        'kde'
    """
    if isinstance(y, str | ConditionalDensity):
        density, y = _choose_density(table, y, density), None
    check_choice("judge", judge, JUDGES)
    learner = _unfitted(density)
    rows = as_table(table, y, target=target)
    if hasattr(learner, "standardizer_"):
        if set(learner.features_) != set(rows.features):
            others = sorted(set(learner.features_) ^ set(rows.features))
            raise InvalidInput(
                f"'density' must have the features of the table. They differ in {quote(others)}.",
                argument="density",
            )
        return explainer_of(learner, rows, judge)
    if not hasattr(learner, "fit"):
        raise InvalidInput(
            f"'density' must have a method 'fit'. {type(learner).__name__} has none.",
            argument="density",
        )
    shows = progress and "progress" in signature(learner.fit).parameters
    fitted = learner.fit(rows, progress=True) if shows else learner.fit(rows)
    return explainer_of(fitted, rows, judge, checked=True)


def explainer_of(
    density: ConditionalDensity, table: Table, judge: str, *, checked: bool = False
) -> Explainer:
    """Return the explainer of a fitted density, with a committee if requested.

    Args:
        density: density fitted on the table.
        table: rows with their class.
        judge: 'committee' or 'density'.
        checked: whether to check the density on rows that it was not fitted on.
    """
    said = judge_held_out(density, table) if checked else None
    committee = None
    if judge == "committee" and len(density.classes_) <= MOST_CLASSES:
        committee = Committee.train(density, table, said)
    held_out = None if said is None else summarize_fit(said, density)
    return Explainer(density, committee=committee, held_out=held_out)


def _choose_density(
    table: object, second: str | ConditionalDensity, density: str | ConditionalDensity | None
) -> str | ConditionalDensity:
    """Return the density that was given as the second argument."""
    if density is not None:
        raise InvalidInput(
            argument="density", expected="be given once", got="it as second argument, too"
        )
    if isinstance(second, str) and second not in learned_kinds() and not isinstance(table, Table):
        raise InvalidInput(
            f"The second argument must be the class of each row, or a density. Got '{second}': "
            f"if it is the column of the classes, pass target='{second}'."
        )
    return second


def _unfitted(density: str | ConditionalDensity | None) -> ConditionalDensity:
    """Return the requested density, fitted or not."""
    if density is None:
        density = learned_kinds()[0]
    if isinstance(density, str):
        check_choice("density", density, learned_kinds())
        density = new_density(density)
    if not isinstance(density, ConditionalDensity):
        raise InvalidInput(
            argument="density",
            expected=f"be one of {quote(learned_kinds())} or a ConditionalDensity",
            got=type(density).__name__,
        )
    return density
