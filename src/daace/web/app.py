"""The service over HTTP: a documented JSON API and the page that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from daace.exceptions import InvalidInput
from daace.web.exact import Exact
from daace.web.guard import Application, Guard
from daace.web.jobs import Task, Tasks
from daace.web.questions import RowQuestion
from daace.web.replies import answering, as_json, new_application, result_of
from daace.web.schema import Answered, AskMore, AskRow, Axes, Body, Seen, Upload
from daace.web.service import FORMATS, Service
from daace.web.uploads import read_upload

#: A search for several answers may take this many times as long as a single one.
SEVERAL = 5

#: Media types of the files of a batch.
WRITTEN = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}

#: Parts of addresses.
JobName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Format = Annotated[str, Path(pattern=f"^({'|'.join(FORMATS)})$")]
Written = Annotated[str, Path(pattern=r"^(csv|jsonl)$")]

ABOUT = (
    "What would have to change, and how to get there. Every answer is that of the Python package; "
    "numbers are in your units."
)


def make_app(service: Service, *, host: str = "127.0.0.1", token: str = "") -> Application:
    """Return the application.

    Args:
        service: the service of the model.
        host: host that the server is bound to.
        token: token that requests must carry; none if empty.
    """
    jobs = Tasks()
    app = new_application(
        "explorer", jobs, title="DAACE", version=str(service.facts["version"]), about=ABOUT
    )
    exact = Exact(service.facts)
    _describe_parts(app, exact)
    _add_facts(app, service)
    _add_questions(app, service, jobs, exact)
    _add_answers(app, service, jobs, exact)
    _add_jobs(app, service, jobs, exact)
    return Guard(app, host=host, token=token)


def _describe_parts(app: FastAPI, exact: Exact) -> None:
    """Describe in the schema the valid questions to this model."""
    plain = app.openapi

    def with_parts() -> dict[str, Any]:
        known = app.openapi_schema is not None
        schema: dict[str, Any] = plain()
        if not known:
            exact.describe(schema["components"]["schemas"])
        return schema

    app.openapi = with_parts


def _read(service: Service, exact: Exact, body: Body) -> dict[str, Any]:
    """Return the content of a body.

    Raises:
        InvalidInput: it does not follow the schema.
    """
    record = body.model_dump()
    try:
        return exact.read(type(body).__name__, record)
    except InvalidInput:
        # The package's message about unknown names is more helpful.
        RowQuestion.read(record).arguments(service.explainer, "explain", limit=None)
        raise


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.get("/api/model", tags=["model"])
    def model() -> Response:
        """Features with their kinds, classes, rules, settings, and the hash of the model."""
        return as_json(service.facts)

    @app.get("/api/network", tags=["model"])
    def network() -> Response:
        """Return the Bayesian network behind the model: nodes on a circle, arcs with a sign."""
        try:
            return as_json(service.network)
        except InvalidInput as error:
            raise HTTPException(404, str(error)) from None

    @app.get("/api/rows", tags=["rows"])
    def rows(
        query: Annotated[str, Query(max_length=200, description="Words to find in a row.")] = "",
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> Response:
        """Rows to choose from: those of `--data`, or simulated ones."""
        return as_json(service.people.page(query=query, offset=offset, limit=limit))

    @app.get("/api/rows/{number}", tags=["rows"])
    def row(number: Annotated[int, Path(ge=0, le=2**31)]) -> Response:
        """One row."""
        if number >= len(service.people):
            raise HTTPException(404, f"There are {len(service.people)} rows.")
        return as_json(service.people.row(number))


def _add_questions(app: FastAPI, service: Service, jobs: Tasks, exact: Exact) -> None:
    several = SEVERAL * service.time_limit

    async def ask(
        request: Request, kind: str, body: AskRow | AskMore, *, slow: bool = False
    ) -> Response:
        record = _read(service, exact, body)
        work: Callable[[dict[str, Any]], dict[str, Any]] = getattr(service, kind)
        with answering():
            job = jobs.start(kind, lambda _: work(record), slow=slow, name=body.job, limit=several)
            return as_json(await result_of(job, request))

    @app.post("/api/explain", tags=["questions"])
    async def explain(body: AskRow, request: Request) -> Response:
        """Return what would have to change in this row, and how to get there."""
        return await ask(request, "explain", body)

    @app.post("/api/reasons", tags=["questions"])
    async def reasons(body: AskRow, request: Request) -> Response:
        """Return the features that now count most against the target."""
        return await ask(request, "reasons", body)

    @app.post("/api/alternatives", tags=["questions"])
    async def alternatives(body: AskMore, request: Request) -> Response:
        """Return other paths to the same goal."""
        return await ask(request, "alternatives", body, slow=True)

    @app.post("/api/tradeoff", tags=["questions"])
    async def tradeoff(body: AskRow, request: Request) -> Response:
        """Return answers from the shortest path to the most plausible one."""
        return await ask(request, "tradeoff", body, slow=True)


def _add_answers(app: FastAPI, service: Service, jobs: Tasks, exact: Exact) -> None:
    several = SEVERAL * service.time_limit

    async def look(
        request: Request,
        kind: str,
        body: Answered | Axes | Seen,
        *,
        given: dict[str, Any] | None = None,
    ) -> Any:
        record = {**_read(service, exact, body), **(given or {})}
        work = getattr(service, kind)
        with answering():
            return await result_of(jobs.start(kind, lambda _: work(record), limit=several), request)

    @app.post("/api/view", tags=["answers"])
    async def view(body: Seen, request: Request) -> Response:
        """Return an earlier answer, or one from an exported file."""
        return as_json(await look(request, "view", body))

    @app.post("/api/pictures", tags=["answers"])
    async def pictures(body: Answered, request: Request) -> Response:
        """Return the curves along the path of an answer, and the effect of each change."""
        return as_json(await look(request, "pictures", body))

    @app.post("/api/terrain", tags=["answers"])
    async def terrain(body: Axes, request: Request) -> Response:
        """Return the landscape under two features, and the path on it."""
        return as_json(await look(request, "terrain", body))

    @app.post("/api/export/{kind}", tags=["answers"], responses=_files(*FORMATS.values()))
    async def export(kind: Format, body: Answered, request: Request) -> Response:
        """Return an answer as a file: json, csv (a row per change), html, or a receipt."""
        made = await look(request, "export", body, given={"format": kind})
        return _file(made.text, made.kind, made.name)


def _add_jobs(app: FastAPI, service: Service, jobs: Tasks, exact: Exact) -> None:
    @app.post("/api/batches", tags=["batches"], status_code=202)
    async def upload(body: Upload) -> Response:
        """Explain every row of a table; return the job. Fetch its result when it is done.

        `target`, `settings` and `constraints` hold for all rows.
        """
        record = _read(service, exact, body)
        with answering():
            question, frame = await asyncio.to_thread(read_upload, service, record)
            job = jobs.start(
                "batch",
                lambda job: service.batch(question, frame, job.advance),
                slow=True,
                name=body.job,
            )
        job.total = len(frame)
        return as_json(job.to_record(), status=202)

    def find(name: str) -> Task:
        job = jobs.find(name)
        if job is None:
            raise HTTPException(404, "There is no such job.")
        return job

    @app.get("/api/jobs/{name}", tags=["batches"])
    def progress(name: JobName) -> Response:
        """Return the progress of a search or a batch."""
        return as_json(find(name).to_record())

    @app.delete("/api/jobs/{name}", tags=["batches"])
    def stop(name: JobName) -> Response:
        """Stop a search or a batch."""
        job = find(name)
        job.stop()
        return as_json(job.to_record())

    @app.get("/api/jobs/{name}/{kind}", tags=["batches"], responses=_files(*WRITTEN.values()))
    def result(name: JobName, kind: Written) -> Response:
        """Return the answers of a batch, as CSV or JSON lines."""
        job = find(name)
        if job.kind != "batch" or job.state != "done":
            raise HTTPException(404, f"The job is not a finished batch: it is '{job.state}'.")
        return _file(job.future.result()[kind], WRITTEN[kind], f"answers.{kind}")


def _files(*media: str) -> dict[int | str, dict[str, Any]]:
    """Describe a response that is a file of one of some media types."""
    content = {
        kind: {"schema": {"type": "object" if kind == "application/json" else "string"}}
        for kind in sorted({kind.split(";")[0] for kind in media})
    }
    return {200: {"description": "The file.", "content": content}}


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
