"""The commands of `daace study`: run, report, export, restore."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from daace._files import check_writable
from daace._options import expanded
from daace.cli.terminal import note
from daace.exceptions import InvalidInput

if TYPE_CHECKING:
    from daace._workers import Workers
    from daace.study.run import RunSummary

app = typer.Typer(
    help="Compare algorithms on many problems, as described in a TOML file.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class WorkerOptions:
    """The workers that run the problems of a study."""

    jobs: Annotated[int, typer.Option(help="Number of workers; -1 for one per core.")] = 1
    backend: Annotated[
        str, typer.Option(metavar="loky|dask|ray", help="Backend of the workers.")
    ] = "loky"
    dask_address: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Dask scheduler, such as tcp://host:8786; default: this machine."
        ),
    ] = None
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Ray cluster, such as ray://host:10001; default: this machine."
        ),
    ] = None

    def workers(self) -> Workers:
        """Return the workers, after checking their options."""
        from daace._workers import Workers

        return Workers(
            jobs=self.jobs,
            backend=cast(Any, self.backend),
            dask_address=self.dask_address,
            ray_address=self.ray_address,
        )


@app.command(epilog="Example: daace study run studies/quick.toml --out quick --jobs 2")
@expanded
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The study, a TOML file.")],
    out: Annotated[Path, typer.Option(help="Folder of records and cache; created if missing.")],
    options: WorkerOptions,
    resume: Annotated[
        bool,
        typer.Option(help="Resume an interrupted run; --no-resume moves its records aside."),
    ] = True,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run the problems that ended in an error again.")
    ] = False,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run only this table of the study; repeatable."),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(min=1, help="Instances per table, instead of the number in SPEC."),
    ] = None,
) -> None:
    """Run a study, or resume an interrupted one."""
    from daace.study.paper import PAPER
    from daace.study.run import run_study
    from daace.study.spec_reader import read_spec

    study = read_spec(spec)
    if instances is not None:
        study = replace(study, instances=instances)
    try:
        done = run_study(
            study,
            out,
            workers=options.workers(),
            resume=resume,
            retry=retry,
            tables=table or [],
            client=PAPER,
            progress=True,
        )
    except KeyboardInterrupt:
        note(f"Stopped. Finished problems are recorded in '{out}'; the same command resumes.")
        raise typer.Exit(130) from None
    _conclude(done, out)


@app.command(epilog="Example: daace study report quick --out page")
def report(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="Folder of a run, or a compact record.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of page and figures; default: RECORDS/report, or ./report for a "
            "compact record."
        ),
    ] = None,
) -> None:
    """Write a page with the figures and the results of all tests."""
    from daace.study.paper import PAPER
    from daace.study.report import write_report

    folder = out or (records / "report" if records.is_dir() else Path("report"))
    note(f"Page: {write_report(records, folder, client=PAPER)}")


@app.command(epilog="Example: daace study export quick -o quick.records.gz")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Compact record to write, such as run.gz.")
    ],
) -> None:
    """Write a compact record of a run: one file for 'report'.

    It contains everything but the paths and the cache, so 'restore' can resume the run from it.
    """
    from daace.study.paper import PAPER
    from daace.study.results import read_results

    check_writable(output)
    if not folder.is_dir():
        raise InvalidInput(f"'{folder}' must be the folder of a run. It does not exist.")
    read_results(folder, reference=PAPER.reference).write_compact(output)
    note(f"Compact record, {output.stat().st_size / 1000:.0f} kB: {output}")


@app.command(epilog="Example: daace study restore quick.records.gz --out quick")
def restore(
    records: Annotated[Path, typer.Argument(metavar="RECORDS", help="A compact record.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; created if missing.")],
) -> None:
    """Copy a compact record into a folder, for 'run' to resume."""
    from daace.study.results import restore as put_back

    added = put_back(records, out)
    note(f"{added} records added to '{out}'. 'daace study run' runs the rest of the study.")


def _conclude(done: RunSummary, out: Path) -> None:
    """Report what a run did, and the next command."""
    note(
        f"{done.answered} of {done.asked} problems are recorded, {done.new} of them by this run; "
        f"{done.failed} failed. Peak memory of a worker: {done.memory_mb:.0f} MB."
    )
    if done.failed:
        note(f"The errors are in '{out / 'records.jsonl'}'; --retry repeats these problems.")
    note(f"Figures and tests: daace study report {out}")
