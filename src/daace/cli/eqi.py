"""The commands of `daace eqi`: prepare, fit, explain, study, report, serve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daace._files import check_writable, write_atomically
from daace._options import expanded
from daace._progress import Bar
from daace.cli.serve import Listening
from daace.cli.terminal import note
from daace.exceptions import InvalidInput

if TYPE_CHECKING:
    from daace.eqi.data.counties import Counties
    from daace.eqi.policy.advisor import Advisor
    from daace.eqi.policy.recourse import Recourse
    from daace.eqi.policy.request import Ask

app = typer.Typer(
    help="Environmental quality of US counties: what would improve one, and at what price.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Data = Annotated[
    Path | None,
    typer.Option(help="Folder with EPA's three files; $DAACE_DATA/eqi if left out."),
]
Models = Annotated[Path | None, typer.Option(help="Folder of models, from 'daace eqi fit'.")]


@app.command(epilog="Example: daace eqi prepare --data eqi -o counties.csv")
def prepare(
    data: Data = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the prepared table, as CSV.")
    ] = None,
) -> None:
    """Read EPA's files, verify the published indices, and say what was found."""
    from daace.data.files import csv_text
    from daace.eqi.data.files import read_counties
    from daace.eqi.data.overview import prepared_frame, summarise

    if output is not None:
        check_writable(output)
    counties = read_counties(data)
    typer.echo(summarise(counties))
    if output is not None:
        write_atomically(output, csv_text(prepared_frame(counties).reset_index()))
        note(f"Table: {output}")


@app.command(epilog="Example: daace eqi fit --out models --flow")
def fit(
    out: Annotated[Path, typer.Option(help="Folder of the models; made if missing.")],
    data: Data = None,
    flow: Annotated[bool, typer.Option("--flow", help="Also train the RealNVP: minutes.")] = False,
    printed: Annotated[
        bool,
        typer.Option("--printed", help="Train it with the settings that the paper prints."),
    ] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the printed settings.")] = 500,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which the training ends.")
    ] = None,
) -> None:
    """Learn the densities from 90% of the counties, and say how good they are on the others."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.models.folder import fit_models

    counties = read_counties(data)
    summary = fit_models(
        counties, out, flow=flow or printed, printed=printed, epochs=epochs,
        time_limit=time_limit, progress=True,
    )  # fmt: skip
    typer.echo(summary)
    note(f"Models: {out}")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How to plan, in the words of a shell."""

    improve: Annotated[int, typer.Option(help="By how many of the seven categories.")] = 2
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent/--free",
            help="Whether indices must follow from the variables; --free plans as the paper does.",
        ),
    ] = True
    equity: Annotated[
        bool, typer.Option("--equity", help="No domain index may get worse along the path.")
    ] = False
    settable: Annotated[
        bool,
        typer.Option("--settable", help="Fix what a county cannot set: weather, rock, people."),
    ] = False
    fixed: Annotated[
        list[str] | None, typer.Option(help="Variable that must not change; repeatable.")
    ] = None
    penalty: Annotated[float, typer.Option(help="How much to avoid implausible terrain.")] = 5.0
    min_posterior: Annotated[
        float, typer.Option(help="Smallest probability of the category at the end.")
    ] = 0.7
    algorithm: Annotated[
        str, typer.Option(help="BayesACE; or DAACE, FACE, Wachter, which need --models.")
    ] = "BayesACE"

    def ask(self, counties: Counties) -> Ask:
        """Return what is asked; FACE and Wachter always plan freely."""
        from daace.eqi.policy.request import OVER_ROWS, UNSETTABLE, Ask

        given = [name for name in UNSETTABLE if self.settable and name in counties.variables.index]
        return Ask(
            algorithm=self.algorithm,  # type: ignore[arg-type]  # which Ask checks
            penalty=self.penalty,
            improve=self.improve,
            consistent=self.consistent and self.algorithm not in OVER_ROWS,
            equity=self.equity,
            fixed=(*(self.fixed or ()), *given),
        )


@app.command(epilog='Example: daace eqi explain "Los Angeles" --improve 2')
@expanded
def explain(
    county: Annotated[
        str, typer.Argument(metavar="COUNTY", help="Name, 'name, state', or FIPS code.")
    ],
    plan: PlanOptions,
    most: Annotated[int, typer.Option(min=1, help="Changes to name.")] = 8,
    models: Models = None,
    data: Data = None,
    json: Annotated[
        str | None, typer.Option(help="Write JSON to a file; '-' prints it instead of the text.")
    ] = None,
) -> None:
    """Say what would have to change in a county, in words and units."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.policy.advisor import read_advisor

    if json not in (None, "-"):
        check_writable(str(json))
    with Bar("Looking for a path", 3) as bar:
        counties = read_counties(data)
        ask, fips = plan.ask(counties), counties.find(county)
        bar.advance("the density")
        advisor = read_advisor(counties, models, min_posterior=plan.min_posterior)
        bar.advance("the plan")
        recourse = advisor.advise([fips], ask)[0]
    _tell(advisor, recourse, most=most, json=json)
    raise typer.Exit(0 if recourse.found else 1)


def _tell(advisor: Advisor, recourse: Recourse, *, most: int, json: str | None) -> None:
    """Print a plan as text or JSON, and write the JSON where a file is named."""
    from daace.eqi.report.words import describe, to_json

    if json == "-":
        typer.echo(to_json(advisor, recourse))
        return
    typer.echo(describe(advisor, recourse, most=most))
    if json is not None:
        write_atomically(json, to_json(advisor, recourse) + "\n")
        note(f"JSON: {json}")


@app.command(epilog="Example: daace eqi study --models models --out run")
def study(
    models: Annotated[Path, typer.Option(help="Folder of models, from 'daace eqi fit --flow'.")],
    out: Annotated[Path, typer.Option(help="Folder of the records; made if missing.")],
    counties: Annotated[
        int, typer.Option(min=0, help="Held-out counties, beside the paper's three.")
    ] = 150,
    few: Annotated[
        int, typer.Option(min=0, help="How many of them DAACE plans for too, ten seconds each.")
    ] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Run the paper's study: one threshold for all algorithms, and BayesACE also by "
            "NSGA-II with this many seeds, minutes a county and penalty.",
        ),
    ] = 0,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Also plan for all counties, by BayesACE, for the maps."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    data: Data = None,
) -> None:
    """Plan for many counties by every algorithm; stop and resume at any time."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.policy.advisor import read_advisor
    from daace.eqi.policy.study import run_atlas, run_study, sample_counties

    with Bar("Reading counties and models", None):
        table = read_counties(data)
        advisor = read_advisor(table, models)
    try:
        chosen = sample_counties(table, counties)
        done = run_study(
            advisor, out, fips=chosen, seeds=seeds, few=few, n_jobs=jobs, progress=True
        )
        if everywhere:
            run_atlas(advisor, out, n_jobs=jobs, progress=True)
    except KeyboardInterrupt:
        note(f"Stopped. What was planned is recorded in '{out}': the same command resumes it.")
        raise typer.Exit(130) from None
    note(f"{done.recorded} of {done.asked} plans are recorded, {done.new} of them by this run.")
    note(f"Page: daace eqi report {out} --models {models}")


@app.command(epilog="Example: daace eqi report run --models models --out report")
def report(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="Folder of a run, or its compact record.")
    ],
    models: Annotated[
        Path | None,
        typer.Option(
            help="Folder of models, from 'daace eqi fit'; if left out, the network is learned "
            "again, in seconds, and the performance of the densities is the recorded one."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of page and figures; RECORDS/report if left out.")
    ] = None,
    data: Data = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="County outlines, TopoJSON; $DAACE_DATA/map/... if left out and there."
        ),
    ] = None,
) -> None:
    """Draw maps and figures, check the paper's findings, and write one page."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.report.page import write_report

    if out is None and not records.is_dir():
        raise InvalidInput("'--out' must be given where RECORDS is a compact record.")
    folder = out or records / "report"
    with Bar("Drawing maps and figures", None):
        page = write_report(read_counties(data), records, models, folder, outlines=map_file)
    note(f"Page: {page}")


@app.command(epilog="Example: daace eqi serve --models models --records run")
@expanded
def serve(
    data: Data = None,
    models: Models = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Plans on record, of 'daace eqi study --everywhere', for two more maps."),
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="County outlines, TopoJSON; $DAACE_DATA/map/... if left out and there."
        ),
    ] = None,
    *,
    listening: Listening,
) -> None:
    """Open a map on this machine: choose a county, and read what would improve it."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.data.outlines import find_outlines, read_outlines
    from daace.eqi.policy.advisor import read_advisor
    from daace.eqi.report.results import read_results
    from daace.web.server import check_installed, run

    check_installed()
    from daace.web.county_app import make_county_app
    from daace.web.county_service import CountyService

    address = listening.address()
    outlines = find_outlines(map_file)
    if outlines is None:
        raise InvalidInput(
            "'--map' must name a TopoJSON file with county outlines, such as "
            "counties-albers-10m.json of npm's us-atlas."
        )
    with Bar("Reading counties and models", None):
        counties = read_counties(data)
        advisor = read_advisor(counties, models)
        results = None if records is None else read_results(counties, records)
        service = CountyService(advisor, read_outlines(outlines), results)
        app = make_county_app(service, host=address.host, token=address.token)

    def ready(url: str) -> None:
        typer.echo(f"The map is at {url}")
        note("Its API is described at /docs. Ctrl-C stops it.")

    run(app, address, ready=ready)
