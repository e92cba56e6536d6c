"""`daace tune`: search for the settings of a flow that fit a table best."""

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

    trials: Annotated[
        int, typer.Option(help="Number of trials in total, those in --storage included.")
    ] = 50
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10
    epochs: Annotated[int, typer.Option(help="Maximum number of epochs per training.")] = 500
    storage: Annotated[
        Path | None,
        typer.Option(help="Database of trials: an interrupted search resumes from it."),
    ] = None
    jobs: Annotated[int, typer.Option(help="Trials in parallel.")] = 1
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no new trial is started.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, training and search.")] = 0


@expanded
def tune(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON file of the best settings to write.")
    ],
    columns: Columns,
    search: Search,
) -> None:
    """Search for the settings of a realnvp that fit a table best.

    They are passed on by 'daace fit --density realnvp --settings FILE'.
    """
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
        note("Interrupted before the first trial was finished: nothing was written.")
        raise typer.Exit(130) from None
    write_settings(output, found)
    _show_best(found)
    dropped = [word for name in columns.drop or [] for word in ("--drop", name)]
    dropped += [word for name in columns.keep or [] for word in ("--keep", name)]
    fit = [
        "daace", "fit", str(data), "--target", columns.target, *dropped, "--density", "realnvp",
        "--settings", str(output), "-o", "model.daace",
    ]  # fmt: skip
    count = len(found.trials)
    note(
        f"Mean held-out log p(x, class) {found.score:.3f}, "
        f"the best of {count} trial{'s' * (count != 1)}: {output}. "
        f"To fit with these settings and at most {search.epochs} epoch{'s' * (search.epochs != 1)}:"
        f" {shlex.join(fit)}"
    )


def _show_best(found: Tuning) -> None:
    """Print the best trials."""
    best = found.trials.dropna(subset="score").sort_values("score", ascending=False)
    shown = best.head(5).drop(columns=["state", "folds"])
    forms = {"score": "{:.3f}".format, "seconds": "{:.1f}".format}
    typer.echo(shown.to_string(index=False, float_format="%.4g", formatters=forms))
    others, unscored = len(best) - len(shown), len(found.trials) - len(best)
    if others or unscored:
        typer.echo(f"Not shown: {others} with a lower score, {unscored} pruned or failed.")
