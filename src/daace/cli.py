"""The command `daace`: the package's words, from a shell.

Results go to stdout, everything else to stderr. Exit code 0: done; 1: no counterfactual was found;
2: wrong use, or an error of ours, in one sentence; 130: Ctrl-C; 143: SIGTERM.
"""

from __future__ import annotations

import json as json_format
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from daace._files import check_writable, replacing, write_atomically
from daace._signals import TERMINATED, terminable
from daace._wording import did_you_mean, quote
from daace.density.registry import density_class, learned_kinds
from daace.eqi.cli import app as eqi_app
from daace.exceptions import DaaceError, InvalidInput
from daace.explain.shell import one_line, sentence, with_options
from daace.study.cli import app as study_app

if TYPE_CHECKING:
    from daace.data.table import Table
    from daace.density.base import ConditionalDensity
    from daace.density.realnvp import RealNVP
    from daace.explain.explanation import Explanation
    from daace.explain.trust import Check

#: A typical malignant case of breast_cancer, kept out of the fit of the demo.
DEMO_ROW = 499

#: Share of pairs in which a training row is denser than another, from which there is a word on it:
#: on 130 rows of wine a Bayesian network had 0.57, a flow that described new rows worse 0.72.
REMEMBERED = 0.65

#: Values that Python writes otherwise than JSON.
SPOKEN = {"True": True, "False": False, "None": None}

#: How a training ended, in words.
ENDED = {
    "epochs": "all that were asked for",
    "early": "then the held-out rows were described no better",
    "time": "then the time was over",
    "interrupted": "then it was interrupted",
    "overflow": "then it overflowed",
}

app = typer.Typer(
    help="Actionable counterfactual explanations: what would have to change, and how to get there.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(study_app, name="study")
app.add_typer(eqi_app, name="eqi")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(), terminable() as terminated:
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            code = app(args=given or ["--help"], prog_name="daace", standalone_mode=False)
        except (DaaceError, OSError) as error:
            code = _fail(sentence(error))
        except MemoryError:
            code = _fail(
                "This needs more memory than there is: take fewer rows or a smaller density."
            )
        except typer.Abort:  # an interrupt, in older versions of typer
            code = 130
        except Exception as error:
            if hasattr(error, "format_message"):  # wrong use, as typer says it
                code = _fail(f"{one_line(error.format_message()).rstrip('.')}.")
            else:
                what = one_line(error).rstrip(".")
                code = _fail(f"Internal error: {type(error).__name__}: {what}; please report it.")
        except SystemExit:  # typer's answer to a reader that closed the pipe
            code = 2
    sys.exit(TERMINATED if terminated else code or 0)


def _version(wanted: bool) -> None:
    if wanted:
        from daace import __version__

        typer.echo(f"daace {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Actionable counterfactual explanations: what would have to change, and how to get there."""


@app.command(
    epilog="Example: daace demo --html demo.html",
)
def demo(
    html: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("demo.html"),
) -> None:
    """Explain one malignant case of the table breast_cancer, which the model has not seen."""
    from daace.data.catalog import load_table
    from daace.explain.fitting import fit as learn

    _check_file("--html", html)
    table = load_table("breast_cancer")
    others = [row for row in range(len(table)) if row != DEMO_ROW]
    with _busy("Learning the density of 568 cases"):
        explainer = learn(table.take(others))
    with _busy("Looking for a way to 'benign'"):
        explanation = explainer.explain(table.to_frame().iloc[DEMO_ROW], target="benign")
    typer.echo(explanation.describe())
    with _busy("Drawing"):
        explanation.to_html(html)
    _note(f"\nThe page with the plots: {html.resolve()}")


@app.command(
    epilog="Example: daace fit data.csv --target class --density linear-gaussian -o model.daace, "
    "or with --density realnvp --set epochs=100 --set time_limit=600",
)
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column that holds the class.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    density: Annotated[
        str, typer.Option(help=f"How to learn: one of {quote(learned_kinds())}.")
    ] = "linear-gaussian",
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to model although it looks like an id; repeatable."),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="Settings of a realnvp, from 'daace tune'.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the density; repeatable."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which a stopped training of a realnvp goes on.")
    ] = None,
    include_rows: Annotated[
        bool, typer.Option("--include-rows", help="Allow a file that holds training rows (kde).")
    ] = False,
) -> None:
    """Learn the density of a table and write it to a model file."""
    from daace.density.realnvp import RealNVP
    from daace.explain.explainer import Explainer
    from daace.explain.fitting import fit as learn
    from daace.explain.held_out import check_fit

    if density not in learned_kinds():
        raise InvalidInput(f"'--density' must be one of {quote(learned_kinds())}. Got '{density}'.")
    if density_class(density).holds_rows and not include_rows:
        raise InvalidInput(
            f"A model file of density '{density}' holds the training rows: "
            "pass --include-rows if whoever reads the file may see them."
        )
    _check_file("--output", output, data, settings)
    for option, path in (("--settings", settings), ("--checkpoint", checkpoint)):
        if path is not None and density != "realnvp":
            raise InvalidInput(f"'{option}' must go with --density realnvp. Got '{density}'.")
    if checkpoint is not None:
        _check_file("--checkpoint", checkpoint, data, settings, output)
    unfitted = _unfitted(density, settings, changes or [])
    table = _read_table(data, target, drop, keep)
    if isinstance(unfitted, RealNVP):
        trained = _train(unfitted, table, checkpoint)
        explainer = Explainer(trained, held_out=check_fit(trained, table))
        explainer.save(output)
    else:
        with _busy(f"Learning the density of {len(table)} rows"):
            explainer = learn(table, density=unfitted)
            explainer.save(output, include_rows=include_rows)
    names = "1 feature" if len(table.features) == 1 else f"{len(table.features)} features"
    _note(
        f"Learned {names} and the classes {quote(table.classes.tolist())} from {len(table)} rows: "
        f"{output}"
    )
    _note(_on_held_out(explainer.held_out))


@app.command(
    epilog="Example: daace tune data.csv --target class --trials 50 --storage tune.db -o best.json",
)
def tune(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column that holds the class.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the settings, as JSON.")
    ],
    trials: Annotated[int, typer.Option(help="How many settings to try in all.")] = 50,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    epochs: Annotated[int, typer.Option(help="Longest training, in passes over the rows.")] = 500,
    storage: Annotated[
        Path | None, typer.Option(help="File of trials, from which a stopped search goes on.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Trials at the same time.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no new trial begins.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to model although it looks like an id; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, trainings and search.")] = 0,
) -> None:
    """Search for the settings with which a realnvp describes a table best."""
    from daace.density.tuning.settings import write_settings
    from daace.density.tuning.tune import tune_realnvp

    _check_file("--output", output, data)
    if storage is not None:
        _check_file("--storage", storage, data, output)
    try:
        found = tune_realnvp(
            _read_table(data, target, drop, keep),
            trials=trials,
            folds=folds,
            epochs=epochs,
            storage=storage,
            n_jobs=jobs,
            time_limit=time_limit,
            progress=True,
            seed=seed,
        )
    except KeyboardInterrupt:
        _note("Interrupted before any settings had a score: nothing was written.")
        raise typer.Exit(130) from None
    write_settings(output, found)
    best = found.trials.dropna(subset="score").sort_values("score", ascending=False)
    shown = best.head(5).drop(columns=["state", "folds"])
    forms = {"score": "{:.3f}".format, "seconds": "{:.1f}".format}
    typer.echo(shown.to_string(index=False, float_format="%.4g", formatters=forms))
    others, given_up = len(best) - len(shown), len(found.trials) - len(best)
    if others or given_up:
        typer.echo(f"Not shown: {others} with a lower score, {given_up} given up early.")
    dropped = [word for name in drop or [] for word in ("--drop", name)]
    dropped += [word for name in keep or [] for word in ("--keep", name)]
    further = [
        "daace", "fit", str(data), "--target", target, *dropped, "--density", "realnvp",
        "--settings", str(output), "-o", "model.daace",
    ]  # fmt: skip
    count = len(found.trials)
    _note(
        f"Mean held-out log p(x, class) {found.score:.3f}, "
        f"the best of {count} trial{'s' * (count != 1)}: {output}. "
        f"To use it, with at most {epochs} epochs as here: {shlex.join(further)}"
    )


@app.command(
    epilog="Example: daace explain model.daace data.csv --row 3 --to benign --penalty 5 "
    "--html why.html --json -",
)
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the row; may have more columns.")
    ],
    row: Annotated[
        int | None, typer.Option(help="Which row: 0, the first below the header, if left out.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Class to reach; may be left out if there are two.")
    ] = None,
    penalty: Annotated[
        float | None, typer.Option(help="How much to avoid implausible ground.")
    ] = None,
    plausibility: Annotated[
        float | None, typer.Option(help="How plausible the end must be, in sd of log p.")
    ] = None,
    min_posterior: Annotated[
        float | None, typer.Option(help="Smallest probability of the class at the end.")
    ] = None,
    fixed: Annotated[
        list[str] | None, typer.Option(help="Feature that must not change; repeatable.")
    ] = None,
    lower: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Least value of a feature; repeatable."),
    ] = None,
    upper: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Greatest value of a feature; repeatable."),
    ] = None,
    only_up: Annotated[
        list[str] | None, typer.Option(help="Feature that must not fall; repeatable.")
    ] = None,
    only_down: Annotated[
        list[str] | None, typer.Option(help="Feature that must not rise; repeatable.")
    ] = None,
    integer: Annotated[
        list[str] | None, typer.Option(help="Feature that is a whole number; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the search, with --all for that of some 100 rows."),
    ] = None,
    alternatives: Annotated[int, typer.Option(help="How many other ways to look for.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None,
    json: Annotated[
        str | None, typer.Option(help="Write JSON to a file; '-' prints it instead of the text.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Explain all rows, to the file of --output.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With --all: .csv, .parquet or .jsonl to write."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="With --all: processes; -1 for all processors.")] = 1,
    backend: Annotated[
        str, typer.Option(help="With --all: who runs the processes: loky, dask or ray.")
    ] = "loky",
    strict: Annotated[
        bool, typer.Option("--strict", help="With --all: refuse the file if a row is invalid.")
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", help="With --all: write one row a change.")
    ] = False,
) -> None:
    """Say what would have to change in one row of a table, or in all, and how to get there.

    With --all, a run that was stopped goes on where it was when it is called again.
    """
    from daace.explain.model_file import load
    from daace.landscape.constraints import Constraints

    asked: dict[str, Any] = {
        "fixed": fixed,
        "lower": _bounds("--lower", lower),
        "upper": _bounds("--upper", upper),
        "only_up": only_up,
        "only_down": only_down,
        "integer": integer,
    }
    wanted = {name: rule for name, rule in asked.items() if rule}
    rules = Constraints(**wanted) if wanted else None
    single: dict[str, object] = {
        "--row": row,
        "--html": html,
        "--json": json,
        "--alternatives": alternatives or None,
    }
    _check_use(every, single, {"--output": output, "--strict": strict, "--long": long})
    if every and output is not None:
        from daace.explain.stream import part_of

        given: dict[str, Any] = {
            "penalty": penalty,
            "plausibility": plausibility,
            "min_posterior": min_posterior,
            "constraints": rules,
        }
        many = replace(load(model), **{k: v for k, v in given.items() if v is not None})
        _check_file("--output", output, model, data)
        try:
            summary = many.explain_file(
                data,
                output,
                target=to,
                n_jobs=jobs,
                backend=backend,  # type: ignore[arg-type]  # checked there
                progress=True,
                time_limit=time_limit,
                strict=strict,
                long=long,
                seed=seed,
            )
        except KeyboardInterrupt:
            part = part_of(output)
            if part.exists():
                _note(f"Stopped. The answers are in '{part}': the same command goes on.")
            raise typer.Exit(130) from None
        typer.echo(str(summary))
        _note(f"Answers: {output}")
        raise typer.Exit(0 if summary.found or not summary.rows else 1)
    if html is not None:
        _check_file("--html", html, model, data)
    if json is not None and json != "-":
        _check_file("--json", json, model, data, html)
    with _busy("Looking for a way"):
        explainer = load(model)
        explanation = explainer.explain(
            _pick_row(data, row or 0, explainer.density),
            target=to,
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=rules,
            seed=seed,
            time_limit=time_limit,
            alternatives=alternatives,
        )
    _deliver(explanation, html, json)
    raise typer.Exit(0 if explanation.found else 1)


@app.command(
    epilog="Example: daace check model.daace held_out.csv --target class --plot check.png",
)
def check(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Rows that the model was not fitted on.")
    ],
    target: Annotated[
        str | None, typer.Option(help="Column that holds the class, if it is called otherwise.")
    ] = None,
    training: Annotated[
        Path | None, typer.Option(help="The training rows: are they told apart from the others?")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot: .png, .svg or .pdf.")] = None,
) -> None:
    """Say how well a model describes rows that it has not seen, and warn if it is weak."""
    from daace.explain.model_file import load

    if plot is not None:
        _check_file("--plot", plot, model, data, training)
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise InvalidInput(f"'--plot' must end in .png, .svg or .pdf. Got '{plot.name}'.")
    explainer = load(model)
    column = explainer.density.target_ if target is None else target
    features = explainer.density.features_
    with _busy("Looking at the rows"):
        held_out = _read_known(data, column, features)
        result = explainer.check(held_out)
    typer.echo(result.numbers)
    if training is not None:
        known = _read_known(training, column, features)
        remembered = explainer.membership(known, held_out)
        typer.echo(f"membership AUC    {remembered:.3f} (0.5: none)")
        if remembered > REMEMBERED:
            _note(
                "The model knows its training rows from others: it describes new rows less well, "
                "and tells who was among them. A flow with more 'noise', or another density, "
                "may not."
            )
    if plot is not None:
        with replacing(plot) as file:
            result.plot().savefig(file, format=plot.suffix.lower()[1:], dpi=150)
        _note(f"Plot: {plot}")


def _check_use(every: bool, single: dict[str, object], many: dict[str, object]) -> None:
    """Refuse options for one row beside --all, and the other way round."""
    if not every:
        lost = [option for option, value in many.items() if value]
        if lost:
            raise InvalidInput(
                f"{quote(lost)} must go with --all: use --json or --html for one row."
            )
        return
    given = [option for option, value in single.items() if value is not None]
    if given:
        raise InvalidInput(f"'--all' must go without {quote(given)}.")
    if many["--output"] is None:
        raise InvalidInput("'--all' must go with --output: a .csv, .parquet or .jsonl file.")


def _read_known(data: Path, target: str, features: Sequence[str]) -> Table:
    """Read the columns of a model, the class included; others are ignored."""
    from daace.data.files import read_frame
    from daace.data.table import Table

    frame = read_frame(data)
    missing = [name for name in (*features, target) if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"'{data}' must have every feature of the model, and the class. "
            f"Missing: {quote(missing)}."
        )
    return Table.from_frame(frame, target=target, features=features, name=data.stem)


def _read_table(
    data: Path, target: str, drop: Sequence[str] | None, keep: Sequence[str] | None
) -> Table:
    """Read a table to learn from, and say which columns are no features."""
    from daace.data.files import read_frame
    from daace.data.left_out import likely_ids
    from daace.data.table import Table

    frame = read_frame(data)
    for option, names in (("--drop", drop), ("--keep", keep)):
        unknown = [name for name in names or [] if name not in frame.columns]
        if unknown:
            raise InvalidInput(f"'{option}' must name columns of '{data}'. Got {quote(unknown)}.")
    frame = frame.drop(columns=drop or [])
    if target not in frame.columns:
        raise InvalidInput(
            f"'--target' must be a column of '{data}': {quote(frame.columns)}. Got '{target}'."
            f"{did_you_mean(target, frame.columns)}"
        )
    nameless = [name for name in frame.columns if str(name).startswith("Unnamed: ")]
    if nameless:
        raise InvalidInput(
            f"'{data}' must have a name for every column. {quote(nameless)} has none and may hold "
            f'row numbers: pass --drop "{nameless[0]}", or save the table without its index.'
        )
    table = Table.from_frame(frame, target=target, name=data.stem, keep=keep or ())
    if set(table.left_out) & set(likely_ids(frame)):
        _note("To model what looks like an id, pass --keep NAME.")
    return table


def _bounds(option: str, given: Sequence[str] | None) -> dict[str, float]:
    """Return the numbers of options like `--upper age=30`, by name."""
    bounds = {}
    for text in given or []:
        name, _, number = text.rpartition("=")  # the last one: a name may have some, too
        try:
            bounds[name] = float(number)
        except ValueError:
            raise InvalidInput(f"'{option}' must be like age=30. Got '{text}'.") from None
    return bounds


def _unfitted(kind: str, settings: Path | None, changes: Sequence[str]) -> ConditionalDensity:
    """Return a density with the settings of a file, if there is one, and those given one by one."""
    from daace.density.tuning.settings import read_settings

    density = density_class(kind)() if settings is None else read_settings(settings)
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise InvalidInput(f"'--set' must be like epochs=100. Got '{change}'.")
        try:
            value = SPOKEN[text] if text in SPOKEN else json_format.loads(text)
        except ValueError:  # a word
            value = text
        try:
            density.set_params(**{name: value})
        except InvalidInput as error:
            raise InvalidInput(f"'--set {change}' is refused: {error}") from None
    return density


def _train(density: RealNVP, table: Table, checkpoint: Path | None) -> RealNVP:
    """Train a flow with a bar of its own; an interrupt keeps the best state. Say how it went."""
    try:
        density.fit(table, progress=True, checkpoint=checkpoint)
    except KeyboardInterrupt:
        _note("Interrupted before the first epoch was over: nothing was written.")
        raise typer.Exit(130) from None
    history = density.history_
    validated = history["validation_loss"].notna().any()
    loss = history["validation_loss" if validated else "train_loss"].min()
    where = "held-out" if validated else "training"
    _note(
        f"Trained for {len(history)} epochs, {ENDED[density.stopped_]}. "
        f"Mean log p(x | class) of the {where} rows: {-loss:.6g}"
    )
    return density


def _on_held_out(check: Check | None) -> str:
    """Say what came out when the model was checked on rows that were held out."""
    from daace.explain.held_out import find_weakness

    if check is None:
        return "Not checked on held-out rows: there are too few of them."
    weak = find_weakness(check, classified=False)
    return weak[0] if weak else f"Checked on {check.rows:,} held-out rows: no warnings."


def _pick_row(data: Path, row: int, density: ConditionalDensity) -> object:
    from daace.data.files import read_frame
    from daace.explain.stream import model_columns

    frame = read_frame(data)
    if not len(frame):
        raise InvalidInput(f"'{data}' must have rows. It has none.")
    if not 0 <= row < len(frame):
        raise InvalidInput(f"'--row' must be between 0 and {len(frame) - 1}. Got {row}.")
    return frame.iloc[[row]][model_columns(data, frame.columns, density)]


def _deliver(explanation: Explanation, html: Path | None, json: str | None) -> None:
    if json == "-":
        typer.echo(explanation.to_json())
    else:
        typer.echo(with_options(explanation.describe(), explanation.path.columns))
    try:
        if json not in (None, "-"):
            write_atomically(json, explanation.to_json() + "\n")
            _note(f"JSON: {json}")
        if html is not None:
            with _busy("Drawing"):
                explanation.to_html(html)
            _note(f"Page: {html}")
    except OSError as error:
        raise InvalidInput(
            f"The result is complete, only this file was not written: {sentence(error)}"
        ) from None


def _check_file(option: str, path: str | Path, *used: Path | None) -> None:
    """Refuse what cannot be written to, or would be lost by it, before the work begins."""
    if str(path) in {"", "-"}:
        raise InvalidInput(f"'{option}' must name a file. Got '{path}'.")
    check_writable(path, *used)


def _note(text: str) -> None:
    typer.echo(text, err=True)


def _fail(sentence: str) -> int:
    """Say what went wrong; return the exit code."""
    _note(f"Error: {sentence}")
    return 2


def _show_warning(message: Warning | str, *_: object) -> None:
    _note(f"Warning: {message}")


@contextmanager
def _busy(what: str) -> Iterator[None]:
    """Turn a spinner on stderr while something takes its time, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


if __name__ == "__main__":
    main()
