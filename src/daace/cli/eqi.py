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
    help="Environmental quality of US counties: what would improve a county, and at what cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Data = Annotated[
    Path | None,
    typer.Option(help="Folder with EPA's three files; default: $DAACE_DATA/eqi."),
]
Models = Annotated[Path | None, typer.Option(help="Folder of models, from 'daace eqi fit'.")]
MapFile = Annotated[
    Path | None,
    typer.Option(
        "--map", help="TopoJSON file of county outlines; default: the file in $DAACE_DATA/map."
    ),
]


@app.command(epilog="Example: daace eqi prepare --data eqi -o counties.csv")
def prepare(
    data: Data = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file of the prepared table to write.")
    ] = None,
) -> None:
    """Read and verify EPA's files, and print a summary."""
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
    out: Annotated[Path, typer.Option(help="Folder of the models; created if missing.")],
    data: Data = None,
    flow: Annotated[
        bool, typer.Option("--flow", help="Also train the RealNVP, which takes minutes.")
    ] = False,
    printed: Annotated[
        bool,
        typer.Option("--printed", help="Train the RealNVP with the settings printed in the paper."),
    ] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs with --printed.")] = 500,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which training of the RealNVP ends.")
    ] = None,
) -> None:
    """Fit the densities to 90% of the counties and evaluate them on the rest."""
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
    """The options of a plan."""

    improve: Annotated[int, typer.Option(help="Number of categories, of seven, to improve by.")] = 2
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent/--free",
            help="Compute the indices from the variables, or plan them freely as the paper does.",
        ),
    ] = True
    equity: Annotated[
        bool, typer.Option("--equity", help="Let no domain index decrease along the path.")
    ] = False
    settable: Annotated[
        bool,
        typer.Option(
            "--settable", help="Keep what a county cannot set, such as weather, rock and people."
        ),
    ] = False
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIABLE",
            help="Variable that must not change, such as CommuteTime; repeatable.",
        ),
    ] = None
    penalty: Annotated[float, typer.Option(help="How strongly to avoid implausible regions.")] = 5.0
    min_posterior: Annotated[
        float, typer.Option(help="Minimum probability of the category at the end.")
    ] = 0.7
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="BayesACE; or DAACE, FACE or Wachter, which need --models."
        ),
    ] = "BayesACE"

    def ask(self, counties: Counties) -> Ask:
        """Return the request; FACE and Wachter always plan freely."""
        from daace.eqi.policy.request import OVER_ROWS, UNSETTABLE, Ask

        unset = [name for name in UNSETTABLE if self.settable and name in counties.variables.index]
        return Ask(
            algorithm=self.algorithm,  # type: ignore[arg-type]  # which Ask checks
            penalty=self.penalty,
            improve=self.improve,
            consistent=self.consistent and self.algorithm not in OVER_ROWS,
            equity=self.equity,
            fixed=(*(self.fixed or ()), *unset),
        )


@app.command(epilog='Example: daace eqi explain "Los Angeles" --improve 2')
@expanded
def explain(
    county: Annotated[
        str, typer.Argument(metavar="COUNTY", help="Name, 'name, state', or FIPS code.")
    ],
    plan: PlanOptions,
    most: Annotated[int, typer.Option(min=1, help="Maximum number of changes to list.")] = 8,
    models: Models = None,
    data: Data = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write JSON to a file; '-' prints it instead of the text."
        ),
    ] = None,
) -> None:
    """Show what would have to change in a county, in words and units."""
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
    _deliver(advisor, recourse, most=most, json=json)
    raise typer.Exit(0 if recourse.found else 1)


def _deliver(advisor: Advisor, recourse: Recourse, *, most: int, json: str | None) -> None:
    """Print a plan as text or JSON, and write the JSON file that is requested."""
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
    out: Annotated[Path, typer.Option(help="Folder of the records; created if missing.")],
    counties: Annotated[
        int, typer.Option(min=0, help="Number of held-out counties, besides the paper's three.")
    ] = 150,
    few: Annotated[
        int,
        typer.Option(min=0, help="Number of counties that DAACE also plans for, ten seconds each."),
    ] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of seeds of the paper's study: one threshold for all algorithms, and "
            "BayesACE also by NSGA-II, minutes per county, penalty and seed; 0 for our study.",
        ),
    ] = 0,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Also plan for all counties by BayesACE, for the maps."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    data: Data = None,
) -> None:
    """Plan for many counties by every algorithm, or resume an interrupted run."""
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
        note(f"Stopped. Finished plans are recorded in '{out}'; the same command resumes.")
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
            help="Folder of models, from 'daace eqi fit'; default: the network is fitted again, "
            "in seconds, and the performance of the densities is taken from RECORDS."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of page and figures; default: RECORDS/report.")
    ] = None,
    data: Data = None,
    map_file: MapFile = None,
) -> None:
    """Write a page with maps, figures and the paper's findings."""
    from daace.eqi.data.files import read_counties
    from daace.eqi.report.page import write_report

    if out is None and not records.is_dir():
        raise InvalidInput("'--out' must be given if RECORDS is a compact record.")
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
        typer.Option(help="Records of 'daace eqi study --everywhere', for two more maps."),
    ] = None,
    map_file: MapFile = None,
    *,
    listening: Listening,
) -> None:
    """Serve a map of the counties, and what would improve each, on this machine."""
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
