"""The commands of `daace study`: run, report, export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from daace._files import check_writable
from daace.exceptions import InvalidInput

app = typer.Typer(
    help="Compare algorithms on many problems, as a TOML file says.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog="Example: daace study run studies/quick.toml --out quick --jobs 2")
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The study, in TOML.")],
    out: Annotated[Path, typer.Option(help="Folder of records and cache; made if missing.")],
    jobs: Annotated[int, typer.Option(help="Workers; -1 for one per core.")] = 1,
    backend: Annotated[str, typer.Option(help="Who works: loky, dask or ray.")] = "loky",
    dask_address: Annotated[
        str | None, typer.Option(help="Scheduler of Dask; on this machine if left out.")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="Cluster of Ray; on this machine if left out.")
    ] = None,
    resume: Annotated[
        bool, typer.Option(help="Go on where a run stopped; otherwise its records are set aside.")
    ] = True,
    retry: Annotated[
        bool, typer.Option("--retry", help="Ask again what ended in an error.")
    ] = False,
    table: Annotated[
        list[str] | None, typer.Option(help="Only this table of the study; repeatable.")
    ] = None,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Fewer or more than SPEC says; more only add.")
    ] = None,
) -> None:
    """Ask every question of a study that has no record yet; stop and go on at any time."""
    from daace._workers import Workers
    from daace.study.reading import read_spec
    from daace.study.run import run_study

    study = read_spec(spec)
    if instances is not None:
        study = replace(study, instances=instances)
    choice: Any = backend
    workers = Workers(jobs=jobs, backend=choice, dask_address=dask_address, ray_address=ray_address)
    try:
        done = run_study(
            study,
            out,
            workers=workers,
            resume=resume,
            retry=retry,
            tables=table or [],
            progress=True,
        )
    except KeyboardInterrupt:
        _note(f"Stopped. What was answered is recorded in '{out}': the same command goes on.")
        raise typer.Exit(130) from None
    _note(
        f"{done.answered} of {done.asked} problems are recorded, {done.new} of them by this run; "
        f"{done.failed} failed. Largest memory of a worker: {done.memory_mb:.0f} MB."
    )
    if done.failed:
        _note(f"Why they failed stands in '{out / 'records.jsonl'}'; --retry asks them again.")
    _note(f"Figures and tests: daace study report {out}")


@app.command(epilog="Example: daace study report quick")
def report(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="Folder of a run, or its compact record.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of page and figures; RECORDS/report if left out.")
    ] = None,
) -> None:
    """Draw the figures of a study and write a page with what holds and what does not."""
    from daace.study.report import write_report

    folder = out or (records / "report" if records.is_dir() else Path("report"))
    _note(f"Page: {write_report(records, folder)}")


@app.command(epilog="Example: daace study export quick -o quick.records.gz")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")],
) -> None:
    """Write a compact record, without the paths: all that a report needs, in one small file."""
    from daace.study.results import read_results

    check_writable(output)
    if not folder.is_dir():
        raise InvalidInput(f"'{folder}' must be the folder of a run. There is no such folder.")
    read_results(folder).write_compact(output)
    _note(f"Compact record, {output.stat().st_size / 1000:.0f} kB: {output}")


def _note(text: str) -> None:
    typer.echo(text, err=True)
