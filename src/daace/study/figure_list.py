"""The figures of a study's page, with their captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from daace.study.results import PROBLEM, StudyResults
from daace.study.statistics import rank_beside, standardise, standardise_beside

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot
    from daace.study.figures import Palette

#: Title and unit of each measure of a path.
OF_PATHS = {
    "cost_nll": ("Cost under the truth", "scale 'nll', -log p"),
    "cost_relative": ("Cost under the truth, relative scale", "never rewards a detour"),
    "l2": ("Distance between start and counterfactual", "L2, standard deviations"),
    "path_sparsity": ("Path sparsity", "features that change by more than 0.1 sd"),
}

#: Title and unit of each measure of time.
OF_TIME = {
    "seconds": ("Time of the search", "seconds"),
    "seconds_with_graph": ("Time with graph building", "seconds, as if built for each question"),
}

#: What makes a setting, for the found rates.
SETTING = ["penalty", "plausibility", "certainty"]


#: Name, caption and figure.
Drawn = Iterator[tuple[str, str, "Plot"]]


def measures_of(results: StudyResults) -> dict[str, tuple[str, str]]:
    """Return title and unit of each measure that a study has, in the order of the page.

    Args:
        results: the results of the study.
    """
    reference, further = results.reference, {}
    if reference is not None:
        title = f"Distance to the counterfactual of {reference.algorithm}"
        further = {reference.measure: (title, "L2, standard deviations")}
    return OF_PATHS | further | OF_TIME


def draw_figures(results: StudyResults) -> Drawn:
    """Yield name, caption and figure.

    Args:
        results: the results of the study.
    """
    for measure, (title, unit) in measures_of(results).items():
        scores = results.scores(measure)
        if scores.shape[1] > 1 and not scores.empty:
            yield from _of_measure(results, measure, scores, title, unit)
    yield from _of_found_rates(results)
    yield from _of_densities(results)
    yield from _of_vertices(results)


def _of_measure(
    results: StudyResults, measure: str, scores: pd.DataFrame, title: str, unit: str
) -> Drawn:
    from daace.study import figures

    colours = colours_of(results)  # the same in every figure
    standard = standard_scores(results, measure)
    yield (
        f"box-{measure}",
        f"{title} ({unit}), standardised over the algorithms of each problem; in brackets, "
        "problems solved.",
        figures.box_plot(
            standard, label=f"{title}, standardised (lower is better)", colours=colours,
            beside=results.beside,
        ),
    )  # fmt: skip
    if measure in OF_TIME:
        yield (
            f"box-{measure}-raw",
            f"{title} ({unit}).",
            figures.box_plot(scores, label=f"{title} [s]", log=True, colours=colours),
        )
    yield (
        f"ranks-{measure}",
        f"{title}: critical differences.",
        figures.rank_diagram(scores, beside=rank_beside(results.scores_beside(measure), scores)),
    )
    for setting, label in (("penalty", "penalty"), ("plausibility", "threshold m of log p")):
        medians = standard.groupby(level=setting).median()
        if len(medians) > 1:
            yield (
                f"{setting}-{measure}",
                f"{title}: median of the standardised values by {label}.",
                figures.line_plot(
                    medians, xlabel=label, ylabel="median, standardised", colours=colours,
                    beside=results.beside,
                ),
            )  # fmt: skip


def colours_of(results: StudyResults) -> Palette:
    """Return a colour and a marker for each algorithm, those shown beside included.

    Args:
        results: the results of the study.
    """
    from daace.study.figures import palette

    return palette([*results.compared, *results.beside])


def standard_scores(
    results: StudyResults, measure: str, where: pd.Series | None = None
) -> pd.DataFrame:
    """Return a measure, standardised over the compared algorithms, with those beside in its units.

    Args:
        results: the results of the study.
        measure: a column of its problems.
        where: mask over `results.problems`; all when left out.
    """
    scores, beside = results.scores(measure, where), results.scores_beside(measure, where)
    return pd.concat([standardise(scores), standardise_beside(beside, scores)], axis=1)


def _of_found_rates(results: StudyResults) -> Drawn:
    from daace.study import figures

    yield (
        "found",
        "Share of problems for which something was found, by penalty, m of alpha and m of beta.",
        figures.found_plot(_found_rates(results), label="penalty | m of alpha | m of beta"),
    )


def _of_densities(results: StudyResults) -> Drawn:
    from daace.study import figures

    for measure, label in (
        ("nll", "mean -log p(x), above that of the truth [nats]"),
        ("squared_error", "mean squared error of p(y|x), above that of the truth"),
    ):
        if results.densities and len(results.densities[0][measure]) > 1:
            yield (
                f"density-{measure}",
                f"Density performance: {label}.",
                figures.density_plot(results.densities, measure=measure, label=label),
            )


def _of_vertices(results: StudyResults) -> Drawn:
    from daace.study import figures

    for family, medians in _gains(results):
        yield (
            f"vertices-{family.lower().replace(' ', '-')}",
            f"{family}: own cost with v vertices as a share of the cost with none (median).",
            figures.line_plot(medians, xlabel="vertices", ylabel="cost / cost with v = 0"),
        )


def _gains(results: StudyResults) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each family with its median cost by vertices and penalty, relative to none."""
    frame = results.problems
    for family, mine in frame[(frame["family"] != "") & frame["found"].astype(bool)].groupby(
        "family"
    ):
        wide = mine.pivot(index=PROBLEM, columns="vertices", values="own_cost").dropna()
        if 0 not in wide.columns:
            continue
        wide = wide[wide[0] > 0]  # ratios of negative costs have no meaning
        shares = wide.div(wide[0], axis=0).groupby(level="penalty").median().T
        if shares.size:
            yield str(family), shares.rename(columns=lambda p: f"penalty {p:g}")


def _found_rates(results: StudyResults) -> pd.DataFrame:
    names = [*results.compared, *results.beside]
    frame = results.problems
    frame = frame[frame["algorithm"].isin(names)]
    rates = frame.assign(found=frame["found"].astype(float)).pivot_table(
        index="algorithm", columns=SETTING, values="found"
    )
    rates.columns = pd.Index(["\n".join(f"{value:g}" for value in c) for c in rates.columns])
    return rates.reindex(names)
