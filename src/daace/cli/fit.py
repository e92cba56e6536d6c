"""`daace fit`: learn the density of a table and write it to a model file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daace._checks import check_choice
from daace._options import expanded
from daace._wording import quote
from daace.cli.tables import Columns, read_table
from daace.cli.terminal import busy, check_file, note
from daace.density.registry import density_class, learned_kinds, new_density
from daace.exceptions import InvalidInput

if TYPE_CHECKING:
    from daace.data.table import Table
    from daace.density.base import ConditionalDensity
    from daace.density.realnvp import RealNVP
    from daace.explain.trust.check import Check

#: Values that Python and JSON write differently.
PYTHON_WORDS = {"True": True, "False": False, "None": None}

#: Kinds of columns, in words.
KINDS = {
    "number": "numbers",
    "whole": "whole numbers",
    "ordered": "ordered",
    "category": "categories",
}

#: How a training ended, in words.
ENDED = {
    "epochs": "the maximum",
    "early": "until the held-out loss stopped improving",
    "time": "until the time limit",
    "interrupted": "until interrupted",
    "overflow": "until it overflowed",
}


@dataclass
class Learning:
    """How a density is learned."""

    density: Annotated[
        str, typer.Option(metavar="KIND", help=f"Density: one of {quote(learned_kinds())}.")
    ] = learned_kinds()[0]
    judge: Annotated[
        str,
        typer.Option(
            metavar="JUDGE",
            help="What decides the class: 'committee', several models that must all agree, or "
            "'density' alone.",
        ),
    ] = "committee"
    settings: Annotated[
        Path | None, typer.Option(help="Settings of a realnvp: the JSON file of 'daace tune'.")
    ] = None
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the density, such as max_parents=2; repeatable.",
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Checkpoint of a realnvp: an interrupted training resumes from it."),
    ] = None
    changes: Annotated[
        str,
        typer.Option(
            metavar="few|all",
            help="What explanations look for: 'few' changes at a cost up to a quarter higher, or "
            "'all' changes of the cheapest path.",
        ),
    ] = "few"
    include_rows: Annotated[
        bool,
        typer.Option(
            "--include-rows", help="Write a model file that contains training rows (kde)."
        ),
    ] = False


@expanded
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path(
        "model.daace"
    ),
    columns: Columns,
    learning: Learning,
) -> None:
    """Learn the density of a table and write it to a model file."""
    from daace.density.realnvp import RealNVP
    from daace.explain.fitting import explainer_of
    from daace.explain.fitting import fit as learn

    _check_use(data, output, learning)
    unfitted = _unfitted(learning.density, learning.settings, learning.assignments or [])
    changes: Any = learning.changes
    judge: Any = learning.judge
    table = read_table(data, columns)
    if isinstance(unfitted, RealNVP):
        trained = _train(unfitted, table, learning.checkpoint)
        explainer = explainer_of(trained, table, learning.judge, checked=True)
        replace(explainer, changes=changes).save(output)
    else:
        with busy(f"Learning the density of {len(table)} rows"):
            explainer = learn(table, density=unfitted, judge=judge)
            explainer = replace(explainer, changes=changes)
            explainer.save(output, include_rows=learning.include_rows)
    names = "1 feature" if len(table.features) == 1 else f"{len(table.features)} features"
    note(
        f"Learned {names} and the classes {quote(table.classes.tolist())} from {len(table)} rows: "
        f"{output}"
    )
    for line in _on_columns(table):
        note(line)
    note(_on_held_out(explainer.held_out, explainer.density))


def _on_columns(table: Table) -> list[str]:
    """Return how the columns were read, a line for each kind; nothing if all are plain numbers."""
    features = table.encoding.features
    if all(feature.kind == "number" and not feature.atoms for feature in features):
        return []
    lines = []
    for kind, words in KINDS.items():
        names = []
        for feature in features:
            if feature.kind == kind:
                rare = ("rare levels",) if feature.pooled else ()
                apart = rare if feature.coded else feature.words[1:]
                names.append(feature.name + (f" ({', '.join(apart)} apart)" if apart else ""))
        if names:
            lines.append(f"  {words}: {', '.join(names)}")
    if any(feature.kind != "number" for feature in features):
        lines.append("  Read otherwise by --kind NAME=KIND and --order NAME=LOW,...,HIGH.")
    return lines


def _check_use(data: Path, output: Path, learning: Learning) -> None:
    """Refuse options that do not go together, and files that cannot be written."""
    kind, settings, checkpoint = learning.density, learning.settings, learning.checkpoint
    if learning.judge not in ("committee", "density"):
        raise InvalidInput(
            argument="--judge", expected="be 'committee' or 'density'", got=f"'{learning.judge}'"
        )
    if kind not in learned_kinds():
        raise InvalidInput(
            argument="--density", expected=f"be one of {quote(learned_kinds())}", got=f"'{kind}'"
        )
    if density_class(kind).holds_rows and not learning.include_rows:
        raise InvalidInput(
            f"A model file of density '{kind}' holds the training rows: "
            "pass --include-rows if its readers may see them."
        )
    check_choice("--changes", learning.changes, ("few", "all"))
    check_file("--output", output, data, settings)
    for option, path in (("--settings", settings), ("--checkpoint", checkpoint)):
        if path is not None and kind != "realnvp":
            raise InvalidInput(
                argument=option, expected="go with --density realnvp", got=f"'{kind}'"
            )
    if checkpoint is not None:
        check_file("--checkpoint", checkpoint, data, settings, output)


def _unfitted(kind: str, settings: Path | None, assignments: Sequence[str]) -> ConditionalDensity:
    """Return a density with the settings of a file, if there is one, and those given one by one."""
    from daace.density.tuning.settings import read_settings

    density = new_density(kind) if settings is None else read_settings(settings)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise InvalidInput(
                argument="--set", expected="be like epochs=100", got=f"'{assignment}'"
            )
        try:
            value = PYTHON_WORDS[text] if text in PYTHON_WORDS else json.loads(text)
        except ValueError:  # a word
            value = text
        try:
            density.set_params(**{name: value})
        except InvalidInput as error:
            raise InvalidInput(f"'--set {assignment}' is invalid: {error}") from None
    return density


def _train(density: RealNVP, table: Table, checkpoint: Path | None) -> RealNVP:
    """Train a flow, and report how training ended; an interrupt keeps the best state."""
    try:
        density.fit(table, progress=True, checkpoint=checkpoint)
    except KeyboardInterrupt:
        note("Interrupted before the end of the first epoch: nothing was written.")
        raise typer.Exit(130) from None
    history = density.history_
    validated = history["validation_loss"].notna().any()
    loss = history["validation_loss" if validated else "train_loss"].min()
    where = "held-out" if validated else "training"
    note(
        f"Trained for {len(history)} epochs, {ENDED[density.stopped_]}. "
        f"Mean log p(x | class) of the {where} rows: {-loss:.6g}"
    )
    return density


def _on_held_out(check: Check | None, density: ConditionalDensity) -> str:
    """Return the result of the check on held-out rows in a sentence."""
    from daace.density.base import ConditionalDensity
    from daace.explain.answers.remarks import find_weakness

    if type(density).held_out is ConditionalDensity.held_out:
        return "Not checked on held-out rows: the density has no 'held_out' of its own."
    if check is None:
        return "Not checked on held-out rows: there are too few of them."
    weak = find_weakness(check, classified=False)
    return weak[0] if weak else f"Checked on {check.rows:,} held-out rows: no warnings."
