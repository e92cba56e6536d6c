"""Which figures a study has, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from daace.study.results import PROBLEM, Results
from daace.study.statistics import standardise

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Measures in the order of the paper: column, title, unit.
MEASURES = {
    "cost_nll": ("Cost under the truth", "the paper's scale, -log p"),
    "cost_relative": ("Cost under the truth, relative scale", "never rewards a detour"),
    "l2": ("Distance between start and counterfactual", "L2, standard deviations"),
    "path_sparsity": ("Path sparsity", "features that change by more than 0.1 sd"),
    "to_face_gt": ("Distance to the counterfactual of FACE GT", "L2, standard deviations"),
    "seconds": ("Time of the search", "seconds"),
    "seconds_with_graph": ("Time with graph building", "seconds, as if built for each question"),
}

#: The shares of a setting that are shown as a table of colours.
SETTING = ["penalty", "plausibility", "certainty"]


def draw_figures(results: Results) -> Iterator[tuple[str, str, Plot]]:
    """Yield name, caption and figure."""
    from daace.study import figures

    colours = figures.palette(results.compared)  # the same in every figure
    for measure, (title, unit) in MEASURES.items():
        scores = results.scores(measure)
        if scores.shape[1] < 2 or scores.empty:
            continue
        standard = standardise(scores)
        yield (
            f"box-{measure}",
            f"{title} ({unit}), standardised over the algorithms of each problem; in brackets, "
            "problems solved.",
            figures.box_plot(
                standard, label=f"{title}, standardised (lower is better)", colours=colours
            ),
        )
        if measure.startswith("seconds"):
            yield (
                f"box-{measure}-raw",
                f"{title} ({unit}).",
                figures.box_plot(scores, label=f"{title} [s]", log=True, colours=colours),
            )
        yield f"ranks-{measure}", f"{title}: critical differences.", figures.rank_diagram(scores)
        for setting, label in (("penalty", "penalty"), ("plausibility", "threshold m of log p")):
            medians = standard.groupby(level=setting).median()
            if len(medians) > 1:
                yield (
                    f"{setting}-{measure}",
                    f"{title}: median of the standardised values by {label}.",
                    figures.line_plot(
                        medians, xlabel=label, ylabel="median, standardised", colours=colours
                    ),
                )
    rates = _found_rates(results)
    yield (
        "found",
        "Share of problems for which something was found, by penalty, m of alpha and m of beta.",
        figures.found_plot(rates, label="penalty | m of alpha | m of beta"),
    )
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
    for family, medians in _gains(results):
        yield (
            f"vertices-{family.lower().replace(' ', '-')}",
            f"{family}: own cost with v vertices as a share of the cost with none (median).",
            figures.line_plot(medians, xlabel="vertices", ylabel="cost / cost with v = 0"),
        )


def _gains(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each family with its median cost by vertices and penalty, relative to none."""
    frame = results.problems
    for family, mine in frame[(frame["family"] != "") & frame["found"].astype(bool)].groupby(
        "family"
    ):
        wide = mine.pivot(index=PROBLEM, columns="vertices", values="own_cost").dropna()
        if 0 not in wide.columns:
            continue
        wide = wide[wide[0] > 0]  # a share of a negative cost says nothing
        shares = wide.div(wide[0], axis=0).groupby(level="penalty").median().T
        if shares.size:
            yield str(family), shares.rename(columns=lambda p: f"penalty {p:g}")


def _found_rates(results: Results) -> pd.DataFrame:
    frame = results.problems
    frame = frame[frame["algorithm"].isin(results.compared)]
    rates = frame.assign(found=frame["found"].astype(float)).pivot_table(
        index="algorithm", columns=SETTING, values="found"
    )
    rates.columns = pd.Index(["\n".join(f"{value:g}" for value in c) for c in rates.columns])
    return rates.reindex(results.compared)
