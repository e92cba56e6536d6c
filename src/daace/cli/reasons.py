"""`daace reasons`: what speaks against a class now, for one row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daace.cli.explain import import_object, pick_row
from daace.cli.terminal import busy


def reasons(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the row; may have more columns.")
    ],
    row: Annotated[int, typer.Option(help="Which row: 0 is the first below the header.")] = 0,
    to: Annotated[
        str | None, typer.Option(help="Class asked about; may be left out if there are two.")
    ] = None,
    most: Annotated[int, typer.Option(help="Largest number of reasons.")] = 4,
    classifier: Annotated[
        str | None,
        typer.Option(metavar="MODULE:OBJECT", help="Judge of the class, as in 'daace explain'."),
    ] = None,
) -> None:
    """Say which features count most against a class now, and from which value on they would not."""
    from daace.explain.loading import load

    with busy("Asking the judge"):
        explainer = load(model, None if classifier is None else import_object(classifier))
        found = explainer.reasons(pick_row(data, row, explainer.density), target=to, most=most)
    typer.echo(str(found))
