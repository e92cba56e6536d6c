"""The command `daace`.

Results go to stdout, everything else to stderr. Exit code 0: success; 1: no counterfactual found;
2: invalid use or an internal error, in one sentence; 130: Ctrl-C; 143: SIGTERM.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from daace._signals import TERMINATED, terminable
from daace.cli.check import check
from daace.cli.demo import demo
from daace.cli.eqi import app as eqi_app
from daace.cli.explain import explain
from daace.cli.fit import fit
from daace.cli.reasons import reasons
from daace.cli.serve import serve
from daace.cli.study import app as study_app
from daace.cli.terminal import fail, show_warning
from daace.cli.tune import tune
from daace.cli.wording import one_line, sentence
from daace.exceptions import DaaceError

app = typer.Typer(
    help="Actionable counterfactual explanations: what would have to change, and how to get there.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(epilog="Example: daace demo --html demo.html")(demo)
app.command(
    epilog="Example: daace fit data.csv --target class --density linear-gaussian -o model.daace, "
    "or with --density realnvp --set epochs=100 --set time_limit=600"
)(fit)
app.command(
    epilog="Example: daace explain model.daace data.csv --row 3 --to benign --fixed age "
    "--max-changed 3 --html why.html"
)(explain)
app.command(epilog="Example: daace reasons model.daace data.csv --row 3 --to granted")(reasons)
app.command(epilog="Example: daace check model.daace held_out.csv --target class --plot check.png")(
    check
)
app.command(
    epilog="Example: daace tune data.csv --target class --trials 50 --storage tune.db -o best.json"
)(tune)
app.command(epilog="Example: daace serve model.daace --data rows.csv --port 8765")(serve)
app.add_typer(study_app, name="study")
app.add_typer(eqi_app, name="eqi")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(), terminable() as terminated:
        warnings.showwarning = show_warning  # type: ignore[assignment]
        try:
            code = app(args=given or ["--help"], prog_name="daace", standalone_mode=False)
        except (DaaceError, OSError) as error:
            code = fail(sentence(error))
        except MemoryError:
            code = fail("Not enough memory: use fewer rows or a smaller density.")
        except typer.Abort:  # an interrupt, in older versions of typer
            code = 130
        except Exception as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # a group of commands alone
                typer.echo(str(error))
                code = 0
            elif hasattr(error, "format_message"):  # a usage error of typer
                code = fail(f"{one_line(error.format_message()).rstrip('.')}.")
            else:
                what = one_line(error).rstrip(".")
                code = fail(f"Internal error: {type(error).__name__}: {what}; please report it.")
        except SystemExit:  # raised by typer when the reader has closed the pipe
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
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Actionable counterfactual explanations: what would have to change, and how to get there."""
