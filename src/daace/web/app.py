"""The service behind HTTP: a documented JSON API and the page that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from threadpoolctl import threadpool_limits

from daace._json import dump_json
from daace.exceptions import DaaceError, InvalidInput
from daace.planners.watch import Stopped
from daace.web.assets import joined_module, page, style_sheet
from daace.web.documentation import write_documentation
from daace.web.guard import PAGE_POLICY, Application, Guard
from daace.web.jobs import Busy, Task, Tasks
from daace.web.schema import (
    Answered,
    AskMore,
    AskRow,
    Axes,
    Failure,
    Seen,
    Upload,
    row_schema,
)
from daace.web.service import FORMATS, Service
from daace.web.uploads import read_upload

#: How often it is looked whether anybody still waits, in seconds.
LOOK = 0.2

#: A search for several answers may take this many times as long as for one.
SEVERAL = 5

#: Parts of addresses.
JobName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Format = Annotated[str, Path(pattern=f"^({'|'.join(FORMATS)})$")]
Written = Annotated[str, Path(pattern=r"^(csv|jsonl)$")]

#: What every route may say besides its answer.
FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "The body is no JSON."},
    401: {"model": Failure, "description": "The token is missing."},
    403: {"model": Failure, "description": "The request comes from another site."},
    404: {"model": Failure, "description": "There is no such thing."},
    409: {"model": Failure, "description": "The search was stopped."},
    413: {"model": Failure, "description": "The body is too large."},
    422: {"model": Failure, "description": "An argument is not what was expected."},
    503: {"model": Failure, "description": "Too many questions wait already."},
}

ABOUT = (
    "What would have to change, and how to get there. Every answer is that of the Python package; "
    "numbers are in your units."
)


def make_app(service: Service, *, host: str = "127.0.0.1", token: str = "") -> Application:
    """Return the application.

    Args:
        service: answers.
        host: that the server will be bound to.
        token: that requests must bring; none when empty.
    """
    jobs = Tasks()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        # Many threads with small matrices: each in one thread, always, so that answers are equal.
        with threadpool_limits(1):
            yield
        jobs.close()

    app = FastAPI(
        title="DAACE",
        version=str(service.facts["version"]),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        responses=FAILURES,
    )
    _add_errors(app)
    _describe_rows(app, service)
    _add_pages(app)
    _add_facts(app, service)
    _add_questions(app, service, jobs)
    _add_answers(app, service, jobs)
    _add_jobs(app, service, jobs)
    return Guard(app, host=host, token=token)


def _describe_rows(app: FastAPI, service: Service) -> None:
    """Have the schema name the features and classes of this model."""
    plain = app.openapi

    def with_features() -> dict[str, Any]:
        schema: dict[str, Any] = plain()
        for name in ("AskRow", "AskMore"):
            body = schema["components"]["schemas"][name]["properties"]
            body["row"].update(row_schema(service.facts))
            body["target"].update(enum=[*service.facts["classes"], None])
        return schema

    app.openapi = with_features


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    def explorer() -> HTMLResponse:
        return HTMLResponse(page())

    @app.get("/explorer.js", include_in_schema=False)
    def module() -> Response:
        return Response(joined_module(), media_type="text/javascript")

    @app.get("/explorer.css", include_in_schema=False)
    def style() -> Response:
        return Response(style_sheet(), media_type="text/css")

    @app.get("/docs", include_in_schema=False)
    def documentation() -> HTMLResponse:
        text = write_documentation(app.openapi())
        return HTMLResponse(text, headers={"content-security-policy": PAGE_POLICY})


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.get("/api/model", tags=["model"])
    def model() -> Response:
        """Features with their kinds, classes, rules, settings, and the hash of the model."""
        return _json(service.facts)

    @app.get("/api/network", tags=["model"])
    def network() -> Response:
        """Return the Bayesian network behind the model: nodes on a circle, arcs with a sign."""
        return _json(service.network)

    @app.get("/api/rows", tags=["rows"])
    def rows(
        query: Annotated[str, Query(max_length=200, description="Words to find in a row.")] = "",
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> Response:
        """Rows to choose from: those of `--data`, or made-up ones."""
        return _json(service.people.page(query=query, offset=offset, limit=limit))

    @app.get("/api/rows/{number}", tags=["rows"])
    def row(number: Annotated[int, Path(ge=0, le=2**31)]) -> Response:
        """One row."""
        if number >= len(service.people):
            raise HTTPException(404, f"There are {len(service.people)} rows.")
        return _json(service.people.row(number))


def _add_questions(app: FastAPI, service: Service, jobs: Tasks) -> None:
    several = SEVERAL * service.time_limit

    async def ask(
        request: Request, kind: str, body: AskRow | AskMore, *, slow: bool = False
    ) -> Response:
        record = body.model_dump()
        work: Callable[[dict[str, Any]], dict[str, Any]] = getattr(service, kind)
        job = jobs.start(kind, lambda _: work(record), slow=slow, name=body.job, limit=several)
        return _json(await _result(job, request))

    @app.post("/api/explain", tags=["questions"])
    async def explain(body: AskRow, request: Request) -> Response:
        """What would have to change in this row, and how to get there."""
        return await ask(request, "explain", body)

    @app.post("/api/reasons", tags=["questions"])
    async def reasons(body: AskRow, request: Request) -> Response:
        """Which features speak most against the target now."""
        return await ask(request, "reasons", body)

    @app.post("/api/alternatives", tags=["questions"])
    async def alternatives(body: AskMore, request: Request) -> Response:
        """Return other paths to the same goal."""
        return await ask(request, "alternatives", body, slow=True)

    @app.post("/api/tradeoff", tags=["questions"])
    async def tradeoff(body: AskRow, request: Request) -> Response:
        """Answers from the shortest path to the most plausible one."""
        return await ask(request, "tradeoff", body, slow=True)


def _add_answers(app: FastAPI, service: Service, jobs: Tasks) -> None:
    several = SEVERAL * service.time_limit

    async def look(
        request: Request,
        kind: str,
        body: Answered | Axes | Seen,
        *,
        given: dict[str, Any] | None = None,
    ) -> Any:
        record = {**body.model_dump(), **(given or {})}
        work = getattr(service, kind)
        return await _result(jobs.start(kind, lambda _: work(record), limit=several), request)

    @app.post("/api/view", tags=["answers"])
    async def view(body: Seen, request: Request) -> Response:
        """Return an answer again, or one from an exported file."""
        return _json(await look(request, "view", body))

    @app.post("/api/pictures", tags=["answers"])
    async def pictures(body: Answered, request: Request) -> Response:
        """Curves along the path of an answer, and what each change does for the target."""
        return _json(await look(request, "pictures", body))

    @app.post("/api/terrain", tags=["answers"])
    async def terrain(body: Axes, request: Request) -> Response:
        """Return the landscape under two features, and the path on it."""
        return _json(await look(request, "terrain", body))

    @app.post("/api/export/{kind}", tags=["answers"])
    async def export(kind: Format, body: Answered, request: Request) -> Response:
        """Return an answer as a file: json, csv (a row per change), html, or a receipt."""
        made = await look(request, "export", body, given={"format": kind})
        return _file(made.text, made.kind, made.name)


def _add_jobs(app: FastAPI, service: Service, jobs: Tasks) -> None:
    @app.post("/api/batches", tags=["batches"], status_code=202)
    async def upload(body: Upload) -> Response:
        """Explain every row of a table; returns the job, whose result is fetched when it is done.

        `target`, `settings` and `constraints` hold for all rows.
        """
        question, frame = await asyncio.to_thread(read_upload, service, body.model_dump())
        job = jobs.start(
            "batch",
            lambda job: service.batch(question, frame, job.advance),
            slow=True,
            name=body.job,
        )
        job.total = len(frame)
        return _json(job.to_record(), status=202)

    def find(name: str) -> Task:
        job = jobs.find(name)
        if job is None:
            raise HTTPException(404, "There is no such job.")
        return job

    @app.get("/api/jobs/{name}", tags=["batches"])
    def progress(name: JobName) -> Response:
        """How far a search or a batch is."""
        return _json(find(name).to_record())

    @app.delete("/api/jobs/{name}", tags=["batches"])
    def stop(name: JobName) -> Response:
        """Stop a search or a batch."""
        job = find(name)
        job.stop()
        return _json(job.to_record())

    @app.get("/api/jobs/{name}/{kind}", tags=["batches"])
    def result(name: JobName, kind: Written) -> Response:
        """Return the answers of a batch, as CSV or JSON lines."""
        job = find(name)
        if job.kind != "batch" or job.state != "done":
            raise HTTPException(404, f"The job is no finished batch: it is '{job.state}'.")
        media = "text/csv; charset=utf-8" if kind == "csv" else "application/jsonl"
        return _file(job.future.result()[kind], media, f"answers.{kind}")


async def _result(job: Task, request: Request) -> Any:
    """Return what a job makes; stop it if the client has gone.

    Raises:
        Stopped: it was stopped.
    """
    waiting = asyncio.wrap_future(job.future)
    while not waiting.done():
        await asyncio.wait({waiting}, timeout=LOOK)
        if not waiting.done() and await request.is_disconnected():
            job.stop()
    try:
        return waiting.result()
    except (CancelledError, asyncio.CancelledError):
        raise Stopped("The search was stopped.") from None


def _add_errors(app: FastAPI) -> None:
    def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, InvalidInput)
        parts = {name: getattr(error, name) for name in ("argument", "expected", "got", "remedy")}
        return _failure(422, str(error), **parts)

    def unexpected(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "body"
        if first["type"] == "json_invalid":
            return _failure(422, "The body must be JSON.", argument="body")
        return _failure(
            422, f"'{place}' is not what was expected: {first['msg']}.", argument=place,
            expected=str(first["msg"]), got=str(first.get("input"))[:80],
        )  # fmt: skip

    def of_ours(_: Request, error: Exception) -> Response:
        status = 503 if isinstance(error, Busy) else 409 if isinstance(error, Stopped) else 422
        return _failure(status, str(error))

    def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = error.headers
        if error.status_code == 405:  # one path may have several routes
            here = [r for r in app.routes if r.matches(request.scope)[0] is not Match.NONE]
            methods = {method for route in here for method in route.methods}
            headers = {"allow": ", ".join(sorted(methods))}
        return _failure(error.status_code, str(error.detail), headers=headers)

    def internal(_: Request, error: Exception) -> Response:
        return _failure(500, "An internal error; the server's log says more.")

    app.add_exception_handler(InvalidInput, invalid)
    app.add_exception_handler(RequestValidationError, unexpected)
    app.add_exception_handler(DaaceError, of_ours)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, internal)


def _failure(status: int, message: str, *, headers: Any = None, **parts: str) -> Response:
    told = {name: part for name, part in parts.items() if part}
    return JSONResponse(
        {"error": {"message": message, **told}}, status_code=status, headers=headers
    )


def _json(value: Any, *, status: int = 200) -> Response:
    return Response(dump_json(value), status_code=status, media_type="application/json")


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
