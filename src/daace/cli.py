"""The command `daace`: the package's words, from a shell.

Results go to stdout, everything else to stderr. Exit code 0: done; 1: no counterfactual was found;
2: wrong use, or an error of ours, in one sentence.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from daace.data.table import quote
from daace.exceptions import DaaceError, InvalidInput
from daace.explain.files import check_writable, write_atomically
from daace.explain.registry import available, density_class

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

#: A typical malignant case of breast_cancer, kept out of the fit of the demo.
DEMO_ROW = 499

#: How messages of the package begin, and how they begin in a shell.
ARGUMENTS = {
    "'frame' must": "The table must",
    "'target' must": "'--to' must",
    "The class must": "'--to' must",
    "'constraints' must": "'--fixed' must",
    "'fixed' must": "'--fixed' must",
    "'penalty' must": "'--penalty' must",
    "'plausibility' must": "'--plausibility' must",
    "'min_posterior' must": "'--min-posterior' must",
    "'time_limit' must": "'--time-limit' must",
}

#: Remedies that are Python, and what to do in a shell.
REMEDIES = {
    ", for example with frame.dropna()": "",
    "drop them, for example with daace.preprocess(table)": "pass --drop with each",
}

app = typer.Typer(
    help="Actionable counterfactual explanations: what would have to change, and how to get there.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            code = app(args=given or ["--help"], prog_name="daace", standalone_mode=False)
        except (DaaceError, OSError) as error:
            code = _fail(_sentence(error))
        except typer.Abort:  # an interrupt, in older versions of typer
            code = 130
        except Exception as error:
            if hasattr(error, "format_message"):  # wrong use, as typer says it
                code = _fail(f"{_one_line(error.format_message()).rstrip('.')}.")
            else:
                what = _one_line(error).rstrip(".")
                code = _fail(f"Internal error: {type(error).__name__}: {what}; please report it.")
        except SystemExit:  # typer's answer to a reader that closed the pipe
            code = 2
    sys.exit(code or 0)


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
    from daace.explain.explainer import fit as learn

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
    epilog="Example: daace fit data.csv --target class --density linear-gaussian -o model.daace",
)
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with a header: CSV, TSV or parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column that holds the class.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    density: Annotated[
        str, typer.Option(help=f"How to learn: one of {quote(available())}.")
    ] = "linear-gaussian",
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None,
    include_rows: Annotated[
        bool, typer.Option("--include-rows", help="Allow a file that holds training rows (kde).")
    ] = False,
) -> None:
    """Learn the density of a table and write it to a model file."""
    from daace.data.catalog import read_frame
    from daace.data.table import Table
    from daace.explain.explainer import fit as learn

    if density not in available():
        raise InvalidInput(f"'--density' must be one of {quote(available())}. Got '{density}'.")
    if density_class(density).holds_rows and not include_rows:
        raise InvalidInput(
            f"A model file of density '{density}' holds the training rows: "
            "pass --include-rows if whoever reads the file may see them."
        )
    _check_file("--output", output)
    frame = read_frame(data)
    unknown = [name for name in drop or [] if name not in frame.columns]
    if unknown:
        raise InvalidInput(f"'--drop' must name columns of '{data}'. Got {quote(unknown)}.")
    frame = frame.drop(columns=drop or [])
    if target not in frame.columns:
        raise InvalidInput(
            f"'--target' must be a column of '{data}': {quote(frame.columns)}. Got '{target}'."
        )
    nameless = [name for name in frame.columns if str(name).startswith("Unnamed: ")]
    if nameless:
        raise InvalidInput(
            f"'{data}' must have a name for every column. {quote(nameless)} has none and may hold "
            f'row numbers: pass --drop "{nameless[0]}", or save the table without its index.'
        )
    table = Table.from_frame(frame, target=target, name=data.stem)
    with _busy(f"Learning the density of {len(table)} rows"):
        explainer = learn(table, density=density)
        explainer.save(output, include_rows=include_rows)
    _note(
        f"Learned {len(table.features)} features and the classes {quote(table.classes.tolist())} "
        f"from {len(table)} rows: {output}"
    )


@app.command(
    epilog="Example: daace explain model.daace data.csv --row 3 --to benign --penalty 5 "
    "--html why.html --json -",
)
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the row; other columns are ignored.")
    ],
    row: Annotated[int, typer.Option(help="Which row: 0 is the first below the header.")] = 0,
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
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the search; none if left out.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None,
    json: Annotated[
        str | None, typer.Option(help="Write JSON to a file; '-' prints it instead of the text.")
    ] = None,
) -> None:
    """Say what would have to change in one row of a table, and how to get there."""
    from daace.explain.explainer import load
    from daace.landscape.constraints import Constraints

    if html is not None:
        _check_file("--html", html)
    if json not in (None, "-"):
        _check_file("--json", json)
    with _busy("Looking for a way"):
        explainer = load(model)
        explanation = explainer.explain(
            _pick_row(data, row, explainer.density.features_),
            target=to,
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=Constraints(fixed=fixed) if fixed else None,
            seed=seed,
            time_limit=time_limit,
        )
    _deliver(explanation, html, json)
    raise typer.Exit(0 if explanation.found else 1)


def _pick_row(data: Path, row: int, features: Sequence[str]) -> object:
    from daace.data.catalog import read_frame

    frame = read_frame(data)
    if not len(frame):
        raise InvalidInput(f"'{data}' must have rows. It has none.")
    if not 0 <= row < len(frame):
        raise InvalidInput(f"'--row' must be between 0 and {len(frame) - 1}. Got {row}.")
    missing = [name for name in features if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"'{data}' must have every feature of the model. Missing: {quote(missing)}."
        )
    return frame.iloc[[row]][list(features)]


def _deliver(explanation: Explanation, html: Path | None, json: str | None) -> None:
    if json == "-":
        typer.echo(explanation.to_json())
    else:
        typer.echo(explanation.describe())
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
            f"The result is complete, only this file was not written: {_sentence(error)}"
        ) from None


def _check_file(option: str, path: str | Path) -> None:
    """Refuse what cannot be written to, before the work begins."""
    if str(path) in {"", "-"}:
        raise InvalidInput(f"'{option}' must name a file. Got '{path}'.")
    check_writable(path)


def _note(text: str) -> None:
    typer.echo(text, err=True)


def _fail(sentence: str) -> int:
    """Say what went wrong; return the exit code."""
    _note(f"Error: {sentence}")
    return 2


def _sentence(error: Exception) -> str:
    """Return what went wrong in one line, in the words of a shell."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"'{error.filename}': {error.strerror}."
    sentence = _one_line(error)
    for python, shell in ARGUMENTS.items():
        if sentence.startswith(python):
            sentence = shell + sentence.removeprefix(python)
    for python, shell in REMEDIES.items():
        sentence = sentence.replace(python, shell)
    return sentence


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


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
