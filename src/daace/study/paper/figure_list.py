"""The paper's figures by penalty and by threshold, which the page of any study has only overall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from daace.study.figure_list import OF_PATHS, Drawn, colours_of, standard_scores
from daace.study.results import StudyResults
from daace.study.statistics import rank_beside

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Which measures the paper shows by which setting.
BY_SETTING = (
    ("penalty", "cost_nll"),
    ("penalty", "l2"),
    ("penalty", "path_sparsity"),
    ("plausibility", "cost_nll"),
)

#: What a value of a setting is called.
WORDS = {"penalty": "penalty {:g}", "plausibility": "m = {:g}"}

#: Penalty and threshold at which the paper finds BayesACE ahead of FACE-DE.
AHEAD = (1.0, -0.5)


def draw_paper_figures(results: StudyResults) -> Drawn:
    """Yield name, caption and figure of what the paper shows by penalty and by threshold.

    Args:
        results: the results of the study.
    """
    for setting, measure in BY_SETTING:
        if results.problems[setting].nunique() > 1:
            yield from _by_setting(results, setting, measure)
    frame = results.problems
    where = (frame["penalty"] == AHEAD[0]) & (frame["plausibility"] == AHEAD[1])
    if where.any() and len(results.compared) > 1:
        yield _at_one_setting(results, where)
    yield from _of_tables(results)


def _by_setting(results: StudyResults, setting: str, measure: str) -> Drawn:
    from daace.study import figures

    values = sorted(results.problems[setting].unique())
    masks = {WORDS[setting].format(v): results.problems[setting] == v for v in values}
    scores = {word: results.scores(measure, mask) for word, mask in masks.items()}
    masks = {word: masks[word] for word, some in scores.items() if len(some)}
    title, unit = OF_PATHS[measure]
    if not masks or len(results.compared) < 2:
        return
    yield (
        f"box-{measure}-by-{setting}",
        f"{title} ({unit}) by {setting}, standardised over the algorithms of each problem; lower "
        "is better. A hatched box is not part of the comparison.",
        figures.box_panels(
            {word: standard_scores(results, measure, mask) for word, mask in masks.items()},
            label=f"{title}, standardised", colours=colours_of(results), beside=results.beside,
        ),
    )  # fmt: skip
    yield (
        f"ranks-{measure}-by-{setting}",
        f"{title}: critical differences by {setting}.",
        figures.rank_panels(
            {word: scores[word] for word in masks},
            beside={
                word: rank_beside(results.scores_beside(measure, mask), scores[word])
                for word, mask in masks.items()
            },
        ),
    )


def _at_one_setting(results: StudyResults, where: pd.Series) -> tuple[str, str, Plot]:
    from daace.study import figures

    penalty, m = AHEAD
    title, _ = OF_PATHS["cost_nll"]
    return (
        "box-cost_nll-penalty-1-m-half",
        f"{title} at penalty {penalty:g} with m = {m:g}, standardised over the algorithms of each "
        "problem; in brackets, problems solved.",
        figures.box_plot(
            standard_scores(results, "cost_nll", where), beside=results.beside,
            label=f"{title}, standardised (lower is better)", colours=colours_of(results),
        ),
    )  # fmt: skip


def _of_tables(results: StudyResults) -> Drawn:
    """Draw how each density does over the tables, standardised over the densities of a table."""
    from daace.study import figures
    from daace.study.statistics import standardise

    for measure, label in (("nll", "-log p(x)"), ("squared_error", "squared error of p(y|x)")):
        rows = {r["table"]: r[measure] for r in results.densities if len(r[measure]) > 1}
        if len(rows) < 2:
            continue
        means = pd.DataFrame(rows).T.dropna(axis=1)
        yield (
            f"box-density-{measure}",
            f"Density performance over the tables: mean {label} on fresh draws of the truth, "
            "standardised over the densities of each table; in brackets, tables.",
            figures.box_plot(
                standardise(means), label=f"{label}, standardised (lower is better)",
                colours=figures.palette(list(means.columns)),
            ),
        )  # fmt: skip
        yield (
            f"ranks-density-{measure}",
            f"Density performance: mean {label}, critical differences over the tables.",
            figures.rank_diagram(means),
        )
