"""`daace demo`: a first explanation, without any data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daace.cli.terminal import busy, check_file, note

#: A refused application of the table, kept out of the fit of the demo.
DEMO_ROW = 30


def demo(
    html: Annotated[Path, typer.Option(help="Page to write.")] = Path("demo.html"),
) -> None:
    """Explain a refused loan from a simulated table."""
    from daace.data.catalog import load_table
    from daace.explain.fitting import fit as learn
    from daace.landscape.constraints import Constraints

    check_file("--html", html)
    table = load_table("loans")
    others = [row for row in range(len(table)) if row != DEMO_ROW]
    rules = Constraints(
        fixed=["age"],
        only_up=["education", "employed_years"],
        max_rise={"employed_years": 2},
    )
    with busy("Learning from 2,999 simulated loan applications"):
        explainer = learn(table.take(others))
    with busy("Looking for a path from 'refused' to 'granted'"):
        row = table.to_frame().iloc[DEMO_ROW]
        explanation = explainer.explain(row, target="granted", constraints=rules)
    typer.echo(explanation.describe())
    with busy("Drawing"):
        explanation.to_html(html)
    note(f"\nPage: {html.resolve()}")
