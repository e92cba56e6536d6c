"""`daace check`: how well a model fits held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daace._files import replacing
from daace.cli.tables import read_known
from daace.cli.terminal import busy, check_file, note
from daace.exceptions import InvalidInput

#: Membership AUC above which a warning is printed: on 130 rows of wine, a Bayesian network had
#: 0.57, a flow that overfitted 0.72.
OVERFITTED = 0.65


def check(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Held-out rows, with the class column.")
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Class column, if named differently than in training."),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Training rows: also report how well they can be told from DATA."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write the plots to a file: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Report how well a model fits held-out rows.

    A warning is printed if it fits worse than chance explains.
    """
    from daace.explain.loading import load

    if plot is not None:
        check_file("--plot", plot, model, data, training)
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise InvalidInput(
                argument="--plot", expected="end in .png, .svg or .pdf", got=f"'{plot.name}'"
            )
    explainer = load(model)
    column = explainer.density.target_ if target is None else target
    with busy("Checking the model"):
        held_out = read_known(data, column, explainer.density)
        result = explainer.check(held_out)
    typer.echo(result.numbers)
    if training is not None:
        known = read_known(training, column, explainer.density)
        membership = explainer.membership(known, held_out)
        typer.echo(f"membership AUC    {membership:.3f} (0.5: cannot be told apart)")
        if membership > OVERFITTED:
            note(
                "The density is higher on training rows than on held-out ones: the model overfits, "
                "and reveals which rows it was trained on. Try another density, or a flow with "
                "more 'noise'."
            )
    if plot is not None:
        with replacing(plot) as file:
            result.plot().savefig(file, format=plot.suffix.lower()[1:], dpi=150)
        note(f"Plot: {plot}")
