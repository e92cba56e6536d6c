"""`daace check`: how well a model describes rows that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daace._files import replacing
from daace.cli.tables import read_known
from daace.cli.terminal import busy, check_file, note
from daace.exceptions import InvalidInput

#: Share of pairs in which a training row is denser than another, from which there is a word on it:
#: on 130 rows of wine a Bayesian network had 0.57, a flow that described new rows worse 0.72.
REMEMBERED = 0.65


def check(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Rows that the model was not fitted on.")
    ],
    target: Annotated[
        str | None, typer.Option(help="Column that holds the class, if it has another name.")
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="The training rows: can the density tell them from the others?"),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot: .png, .svg or .pdf.")] = None,
) -> None:
    """Say how well a model describes rows that it has not seen, and warn if it is weak."""
    from daace.explain.loading import load

    if plot is not None:
        check_file("--plot", plot, model, data, training)
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise InvalidInput(
                argument="--plot", expected="end in .png, .svg or .pdf", got=f"'{plot.name}'"
            )
    explainer = load(model)
    column = explainer.density.target_ if target is None else target
    with busy("Looking at the rows"):
        held_out = read_known(data, column, explainer.density)
        result = explainer.check(held_out)
    typer.echo(result.numbers)
    if training is not None:
        known = read_known(training, column, explainer.density)
        remembered = explainer.membership(known, held_out)
        typer.echo(f"membership AUC    {remembered:.3f} (0.5: none)")
        if remembered > REMEMBERED:
            note(
                "The model knows its training rows from others: it describes new rows less well, "
                "and tells who was among them. A flow with more 'noise', or another density, "
                "may not."
            )
    if plot is not None:
        with replacing(plot) as file:
            result.plot().savefig(file, format=plot.suffix.lower()[1:], dpi=150)
        note(f"Plot: {plot}")
