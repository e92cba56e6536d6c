"""`daace explain`: what would have to change in one row of a table, or in all."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, make_dataclass, replace
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
    """What is asked, besides rules; None: as in the model file."""

    to: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Class to reach; may be left out if there are two."),
    ] = None
    penalty: Annotated[
        float | None,
        typer.Option(help="How strongly to avoid implausible regions; 0: the shortest path."),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="relative|nll",
            help="Scale of the landscape: relative to the density's samples, or -log p as in the "
            "paper.",
        ),
    ] = None
    plausibility: Annotated[
        float | None,
        typer.Option(
            help="Minimum plausibility of the end, in standard deviations of log p from its mean."
        ),
    ] = None
    min_log_prob: Annotated[
        float | None, typer.Option(help="Minimum log p of the end, instead of --plausibility.")
    ] = None
    min_posterior: Annotated[
        float | None, typer.Option(help="Minimum probability of the class at the end, below 1.")
    ] = None
    classifier: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="Classifier that decides the class: an importable object with predict_proba, or "
            "a function of rows.",
        ),
    ] = None
    classifier_budget: Annotated[
        int | None,
        typer.Option(help="Maximum number of rows that it evaluates for each explanation."),
    ] = None
    vertices: Annotated[
        list[int] | None,
        typer.Option(
            metavar="NUMBER",
            help="Number of waypoints between start and end to try; repeatable.",
        ),
    ] = None
    changes: Annotated[
        str | None,
        typer.Option(
            metavar="few|all",
            help="few: hold features while the cost grows by at most a quarter; all: the cheapest "
            "path.",
        ),
    ] = None
    sparsity: Annotated[
        float | None,
        typer.Option(help="Share by which the cost may grow for fewer changes, such as 0.25."),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the search; with --all, for each 32 to 160 rows."),
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
                    help="TOML file of rules; an option overrides its rule for the same feature."
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
    """Options for one row."""

    row: Annotated[int | None, typer.Option(help="Row to explain, counted from 0; default: 0.")] = (
        None
    )
    alternatives: Annotated[int, typer.Option(help="Maximum number of alternative answers.")] = 0
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None
    json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write JSON to a file; '-' prints it instead of the text."
        ),
    ] = None


@dataclass
class AllRows:
    """Options for all rows."""

    every: Annotated[
        bool, typer.Option("--all", help="Explain every row; the answers go to --output.")
    ] = False
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With --all: .csv, .parquet or .jsonl file to write."),
    ] = None
    jobs: Annotated[
        int, typer.Option(help="With --all: number of processes; -1 for one per core.")
    ] = 1
    backend: Annotated[
        str,
        typer.Option(metavar="loky|dask|ray", help="With --all: backend of the processes."),
    ] = "loky"
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="With --all: fail before the work begins if a row is invalid."
        ),
    ] = False
    long: Annotated[bool, typer.Option("--long", help="With --all: write one row per change.")] = (
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
    """Show what would have to change in a row, and how to get there.

    Settings that are left out are those of the model file. With --all, the same command resumes
    an interrupted run.
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
            note(f"Stopped. The answers are in '{part}': the same command resumes from there.")
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
    """Return the object that `module:object` names; the current folder is searched, too.

    Raises:
        InvalidInput: there is no such module or object.

    Example:
        >>> import_object("math:sqrt")(4.0)
        2.0
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise InvalidInput(argument="classifier", expected="be like MODULE:OBJECT", got=f"'{text}'")
    sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"'classifier' must name an object that can be imported: {str(error).rstrip('.')}.",
            argument="classifier",
        ) from None
    finally:
        sys.path.remove("")
    return found


def _check_use(one: OneRow, question: Question, many: AllRows) -> None:
    """Reject options for one row beside --all, and vice versa."""
    if not many.every:
        if lost := _given(many):
            raise InvalidInput(
                f"{quote(lost)} must go with --all: use --json or --html for one row."
            )
        return
    given = _given(one) + ["--min-log-prob"] * (question.min_log_prob is not None)
    if given:
        raise InvalidInput(f"'--all' must go without {quote(given)}.")
    if many.output is None:
        raise InvalidInput("'--all' must go with --output: a .csv, .parquet or .jsonl file.")


def _given(options: OneRow | AllRows) -> list[str]:
    """Return the options that differ from their defaults."""
    changed = [f.name for f in fields(options) if getattr(options, f.name) != f.default]
    return [f"--{name}" for name in changed]


def pick_row(data: Path, row: int, density: ConditionalDensity) -> object:
    """Return one row of a file, with the columns that the model needs.

    Args:
        data: the file.
        row: its number, from 0.
        density: has the names of the columns.

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
    """Print an explanation, and write the files that are requested."""
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
            f"The result is complete, but a file could not be written: {sentence(error)}"
        ) from None
