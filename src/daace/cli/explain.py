"""`daace explain`: what would have to change in one row of a table, or in all."""

from __future__ import annotations

import sys
from dataclasses import dataclass, make_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daace._files import write_atomically
from daace._options import expanded
from daace._wording import quote
from daace.cli.terminal import busy, check_file, note
from daace.cli.wording import sentence, with_options
from daace.exceptions import InvalidInput
from daace.landscape.rules.reading import options, read_options, read_rules

if TYPE_CHECKING:
    from daace.density.base import ConditionalDensity
    from daace.explain.explainer import Explainer
    from daace.explain.explanation import Explanation
    from daace.landscape.constraints import Constraints


@dataclass
class Question:
    """What is asked, besides rules; what is left out is as the model file has it."""

    to: Annotated[
        str | None, typer.Option(help="Class to reach; may be left out if there are two.")
    ] = None
    penalty: Annotated[
        float | None, typer.Option(help="How much to avoid implausible regions.")
    ] = None
    scale: Annotated[
        str | None, typer.Option(help="Of the landscape: relative, or the paper's nll.")
    ] = None
    plausibility: Annotated[
        float | None, typer.Option(help="How plausible the end must be, in sd of log p.")
    ] = None
    min_log_prob: Annotated[
        float | None, typer.Option(help="Threshold of log p itself, instead of --plausibility.")
    ] = None
    min_posterior: Annotated[
        float | None, typer.Option(help="Smallest probability of the class at the end.")
    ] = None
    classifier: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="Judge of the class in place of the density: an object that can be imported, "
            "with predict_proba, or a function of rows.",
        ),
    ] = None
    classifier_budget: Annotated[
        int | None, typer.Option(help="Rows that it may be asked about for each explanation.")
    ] = None
    vertices: Annotated[
        list[int] | None,
        typer.Option(help="Number of waypoints between start and end to try; repeatable."),
    ] = None
    changes: Annotated[
        str | None,
        typer.Option(
            help="few: hold features while the cost grows by at most a quarter; all: the cheapest "
            "path."
        ),
    ] = None
    sparsity: Annotated[
        float | None,
        typer.Option(help="Share by which the cost may grow so that fewer features change."),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the search, with --all for that of some 100 rows."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0


#: One option for each kind of rule, as the rules describe themselves.
RuleOptions: Any = make_dataclass(
    "RuleOptions",
    [
        (
            "rules",
            Annotated[
                Path | None,
                typer.Option(
                    help="TOML file of rules; options about the same feature replace them."
                ),
            ],
            None,
        ),
        *(
            (
                rule.name,
                Annotated[
                    list[str] | None if rule.repeated else str | None,
                    typer.Option(rule.option, metavar=rule.metavar, help=rule.help),
                ],
                None,
            )
            for rule in options()
        ),
    ],
)


@dataclass
class OneRow:
    """What goes with one row."""

    row: Annotated[
        int | None, typer.Option(help="Which row: 0, the first below the header, if left out.")
    ] = None
    alternatives: Annotated[int, typer.Option(help="How many other answers to look for.")] = 0
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None
    json: Annotated[
        str | None, typer.Option(help="Write JSON to a file; '-' prints it instead of the text.")
    ] = None


@dataclass
class AllRows:
    """What goes with all rows."""

    every: Annotated[
        bool, typer.Option("--all", help="Explain all rows, to the file of --output.")
    ] = False
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With --all: .csv, .parquet or .jsonl to write."),
    ] = None
    jobs: Annotated[int, typer.Option(help="With --all: processes; -1 for all processors.")] = 1
    backend: Annotated[
        str, typer.Option(help="With --all: runs the processes: loky, dask or ray.")
    ] = "loky"
    strict: Annotated[
        bool, typer.Option("--strict", help="With --all: refuse the file if a row is invalid.")
    ] = False
    long: Annotated[bool, typer.Option("--long", help="With --all: write one row a change.")] = (
        False
    )


@expanded
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the row; may have more columns.")
    ],
    one: OneRow,
    question: Question,
    rules: RuleOptions,
    many: AllRows,
) -> None:
    """Say what would have to change in one row of a table, or in all, and how to get there.

    With --all, a run that was stopped continues where it was when it is called again.
    """
    _check_use(one, question, many)
    constraints = _read_constraints(rules)
    if many.output is not None:
        check_file("--output", many.output, model, data)
        found = _explain_all(
            data, many.output, _configure(model, question, constraints), question, many
        )
    else:
        if one.html is not None:
            check_file("--html", one.html, model, data)
        if one.json not in (None, "-"):
            check_file("--json", one.json, model, data, one.html)
        found = _explain_one(model, data, question, constraints, one)
    raise typer.Exit(0 if found else 1)


def _explain_one(
    model: Path, data: Path, question: Question, constraints: Constraints | None, one: OneRow
) -> bool:
    """Explain one row; return whether a counterfactual was found."""
    with busy("Looking for a path"):
        explainer = _configure(model, question, constraints)
        explanation = explainer.explain(
            pick_row(data, one.row or 0, explainer.density),
            target=question.to,
            min_log_prob=question.min_log_prob,
            seed=question.seed,
            time_limit=question.time_limit,
            alternatives=one.alternatives,
        )
    _deliver(explanation, one)
    return explanation.found


def _explain_all(
    data: Path, output: Path, explainer: Explainer, question: Question, many: AllRows
) -> bool:
    """Explain all rows; return whether a counterfactual was found, or there is no row."""
    from daace.explain.files.stream import part_of

    try:
        summary = explainer.explain_file(
            data,
            output,
            target=question.to,
            n_jobs=many.jobs,
            backend=many.backend,  # type: ignore[arg-type]  # checked there
            progress=True,
            time_limit=question.time_limit,
            strict=many.strict,
            long=many.long,
            seed=question.seed,
        )
    except KeyboardInterrupt:
        part = part_of(output)
        if part.exists():
            note(f"Stopped. The answers are in '{part}': the same command continues from there.")
        raise typer.Exit(130) from None
    typer.echo(str(summary))
    note(f"Answers: {output}")
    return bool(summary.found or not summary.rows)


def _read_constraints(given: Any) -> Constraints | None:
    """Return the rules of options and file; None if there are none."""
    values = dict(vars(given))
    file = values.pop("rules")
    return read_options(values, base=None if file is None else read_rules(file))


def _configure(model: Path, question: Question, constraints: Constraints | None) -> Explainer:
    """Return the explainer of a model file with the settings of the command."""
    from daace.explain.loading import load

    judge = None if question.classifier is None else import_object(question.classifier)
    explainer = load(model, judge, classifier_budget=question.classifier_budget)
    given: dict[str, Any] = {
        "penalty": question.penalty,
        "scale": question.scale,
        "plausibility": question.plausibility,
        "min_posterior": question.min_posterior,
        "constraints": constraints,
        "changes": question.changes,
    }
    explainer = replace(
        explainer, **{name: value for name, value in given.items() if value is not None}
    )
    return _with_planner(explainer, question)


def _with_planner(explainer: Explainer, question: Question) -> Explainer:
    """Return the explainer with the planner that the options ask for."""
    from daace.explain.asking.settings import PLANNERS
    from daace.planners.optimizer import PathOptimizer

    if question.changes is not None:  # replaces the planner of the file
        explainer = replace(explainer, planner=None)
    given: dict[str, Any] = {}
    if question.vertices:
        given["vertices"] = tuple(question.vertices)
    if question.sparsity is not None:
        given["sparsity"] = question.sparsity
    if not given:
        return explainer
    planner = explainer.planner
    if not isinstance(planner, PathOptimizer):
        planner = PLANNERS[explainer.changes]
    return replace(explainer, planner=replace(planner, **given))


def import_object(text: str) -> Any:
    """Return what `module:object` names; modules of the current folder are found, too.

    Raises:
        InvalidInput: there is no such module or object.

    Example:
        >>> import_object("math:sqrt")(4.0)
        2.0
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise InvalidInput(argument="classifier", expected="be like module:object", got=f"'{text}'")
    sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            argument="classifier", expected="name an object that can be imported", got=str(error)
        ) from None
    finally:
        sys.path.remove("")
    return found


def _check_use(one: OneRow, question: Question, many: AllRows) -> None:
    """Refuse options for one row beside --all, and the other way round."""
    if not many.every:
        lost = [f"--{name}" for name in ("output", "strict", "long") if getattr(many, name)]
        if lost:
            raise InvalidInput(
                f"{quote(lost)} must go with --all: use --json or --html for one row."
            )
        return
    single = {
        "--row": one.row,
        "--html": one.html,
        "--json": one.json,
        "--alternatives": one.alternatives or None,
        "--min-log-prob": question.min_log_prob,
    }
    given = [option for option, value in single.items() if value is not None]
    if given:
        raise InvalidInput(f"'--all' must go without {quote(given)}.")
    if many.output is None:
        raise InvalidInput("'--all' must go with --output: a .csv, .parquet or .jsonl file.")


def pick_row(data: Path, row: int, density: ConditionalDensity) -> object:
    """Return one row of a file, with the columns that the model needs.

    Args:
        data: the file.
        row: its number, from 0.
        density: knows the columns.

    Raises:
        InvalidInput: there is no such row, or it cannot be read.
    """
    from daace.data.files import read_frame
    from daace.explain.asking.query import refuse
    from daace.explain.asking.rows import read_rows
    from daace.explain.files.stream import model_columns

    frame = read_frame(data)
    if not len(frame):
        raise InvalidInput(f"'{data}' must have rows. It has none.")
    if not 0 <= row < len(frame):
        raise InvalidInput(
            argument="row", expected=f"be between 0 and {len(frame) - 1}", got=str(row)
        )
    picked = frame.iloc[[row]][model_columns(data, frame.columns, density)]
    place = f"'{data}', rows counted from 0: "
    refuse(read_rows(density, picked).invalid, max(len(frame), 2), place=place, first=row)
    return picked


def _deliver(explanation: Explanation, one: OneRow) -> None:
    """Print an explanation, and write what was asked for."""
    if one.json == "-":
        typer.echo(explanation.to_json())
    else:
        typer.echo(with_options(explanation.describe(), explanation.path.columns))
    try:
        if one.json not in (None, "-"):
            write_atomically(str(one.json), explanation.to_json() + "\n")
            note(f"JSON: {one.json}")
        if one.html is not None:
            with busy("Drawing"):
                explanation.to_html(one.html)
            note(f"Page: {one.html}")
    except OSError as error:
        raise InvalidInput(
            f"The result is complete, only this file was not written: {sentence(error)}"
        ) from None
