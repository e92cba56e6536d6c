"""`daace demo`: a first explanation, without any data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daace.cli.terminal import busy, check_file, note

#: A typical malignant case of breast_cancer, kept out of the fit of the demo.
DEMO_ROW = 499


def demo(
    html: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("demo.html"),
) -> None:
    """Explain one malignant case of the table breast_cancer, which the model has not seen."""
    from daace.data.catalog import load_table
    from daace.explain.fitting import fit as learn

    check_file("--html", html)
    table = load_table("breast_cancer")
    others = [row for row in range(len(table)) if row != DEMO_ROW]
    with busy("Learning the density of 568 cases"):
        explainer = learn(table.take(others))
    with busy("Looking for a path to 'benign'"):
        explanation = explainer.explain(table.to_frame().iloc[DEMO_ROW], target="benign")
    typer.echo(explanation.describe())
    with busy("Drawing"):
        explanation.to_html(html)
    note(f"\nThe page with the plots: {html.resolve()}")
