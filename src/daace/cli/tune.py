"""`daace tune`: search for the settings with which a flow describes a table best."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daace._options import expanded
from daace.cli.tables import Columns, read_table
from daace.cli.terminal import check_file, note

if TYPE_CHECKING:
    from daace.density.tuning.tune import Tuning


@dataclass
class Search:
    """How much is tried."""

    trials: Annotated[int, typer.Option(help="How many settings to try in all.")] = 50
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10
    epochs: Annotated[int, typer.Option(help="Longest training, in passes over the rows.")] = 500
    storage: Annotated[
        Path | None, typer.Option(help="File of trials, from which a stopped search continues.")
    ] = None
    jobs: Annotated[int, typer.Option(help="Trials at the same time.")] = 1
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no new trial begins.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, trainings and search.")] = 0


@expanded
def tune(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the settings, as JSON.")
    ],
    columns: Columns,
    search: Search,
) -> None:
    """Search for the settings with which a realnvp describes a table best."""
    from daace.density.tuning.settings import write_settings
    from daace.density.tuning.tune import tune_realnvp

    check_file("--output", output, data)
    if search.storage is not None:
        check_file("--storage", search.storage, data, output)
    try:
        found = tune_realnvp(
            read_table(data, columns),
            trials=search.trials,
            folds=search.folds,
            epochs=search.epochs,
            storage=search.storage,
            n_jobs=search.jobs,
            time_limit=search.time_limit,
            progress=True,
            seed=search.seed,
        )
    except KeyboardInterrupt:
        note("Interrupted before any settings had a score: nothing was written.")
        raise typer.Exit(130) from None
    write_settings(output, found)
    _show_best(found)
    dropped = [word for name in columns.drop or [] for word in ("--drop", name)]
    dropped += [word for name in columns.keep or [] for word in ("--keep", name)]
    further = [
        "daace", "fit", str(data), "--target", columns.target, *dropped, "--density", "realnvp",
        "--settings", str(output), "-o", "model.daace",
    ]  # fmt: skip
    count = len(found.trials)
    note(
        f"Mean held-out log p(x, class) {found.score:.3f}, "
        f"the best of {count} trial{'s' * (count != 1)}: {output}. "
        f"To use it, with at most {search.epochs} epochs as here: {shlex.join(further)}"
    )


def _show_best(found: Tuning) -> None:
    """Print the best trials."""
    best = found.trials.dropna(subset="score").sort_values("score", ascending=False)
    shown = best.head(5).drop(columns=["state", "folds"])
    forms = {"score": "{:.3f}".format, "seconds": "{:.1f}".format}
    typer.echo(shown.to_string(index=False, float_format="%.4g", formatters=forms))
    others, given_up = len(best) - len(shown), len(found.trials) - len(best)
    if others or given_up:
        typer.echo(f"Not shown: {others} with a lower score, {given_up} given up early.")
