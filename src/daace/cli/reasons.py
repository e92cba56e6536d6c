"""`daace reasons`: which features of a row count against a class."""

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
    row: Annotated[int, typer.Option(help="Row to explain, counted from 0.")] = 0,
    to: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Class to reach; may be left out if there are two."),
    ] = None,
    most: Annotated[int, typer.Option(help="Maximum number of reasons.")] = 4,
    classifier: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:OBJECT", help="Classifier that decides, as in 'daace explain'."
        ),
    ] = None,
) -> None:
    """Show which features of a row count most against a class.

    For each, the value is given from which it would no longer do so.
    """
    from daace.explain.loading import load

    with busy("Comparing the features"):
        explainer = load(model, None if classifier is None else import_object(classifier))
        found = explainer.reasons(pick_row(data, row, explainer.density), target=to, most=most)
    typer.echo(str(found))
