"""Parts of all applications: their page, answers and failures as JSON, the wait for a search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from fastapi import FastAPI, Request
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
from daace.web.guard import PAGE_POLICY
from daace.web.jobs import Busy, Task, Tasks
from daace.web.schema import Failure

#: Seconds between two checks whether a client is still waiting.
LOOK = 0.2


class Unanswerable(DaaceError):
    """A question that follows the schema but cannot be answered; the cause has the reason."""


#: Reasons for which a valid question gets no answer.
UNANSWERABLE = (
    "The search was stopped, or the request follows this schema but cannot be answered: its parts "
    "contradict each other or the model, or the answer that it names is no longer available."
)

#: Responses of every route besides its answer.
FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "The body is not JSON."},
    401: {"model": Failure, "description": "The token is missing."},
    403: {"model": Failure, "description": "The request comes from another site."},
    404: {"model": Failure, "description": "Not found."},
    409: {"model": Failure, "description": UNANSWERABLE},
    413: {"model": Failure, "description": "The body is too large."},
    422: {"model": Failure, "description": "The request does not follow this schema."},
    503: {"model": Failure, "description": "Too many questions are waiting."},
}


def new_application(name: str, jobs: Tasks, *, title: str, version: str, about: str) -> FastAPI:
    """Return an application that sends its page, describes its routes, and answers errors.

    Args:
        name: name of the page.
        jobs: its searches; they end with it.
        title: title of the API.
        version: version of the API.
        about: the API in a sentence or two.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        # Many threads with small matrices: each in one thread, always, so that answers are equal.
        with threadpool_limits(1):
            yield
        jobs.close()

    app = FastAPI(
        title=title,
        version=version,
        description=about,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        responses=FAILURES,
    )
    _add_errors(app)
    _add_page(app, name)
    return app


def _add_page(app: FastAPI, name: str) -> None:
    @app.get("/", include_in_schema=False)
    def whole() -> HTMLResponse:
        return HTMLResponse(page(name))

    @app.get(f"/{name}.js", include_in_schema=False)
    def module() -> Response:
        return Response(joined_module(name), media_type="text/javascript")

    @app.get(f"/{name}.css", include_in_schema=False)
    def style() -> Response:
        return Response(style_sheet(name), media_type="text/css")

    @app.get("/docs", include_in_schema=False)
    def documentation() -> HTMLResponse:
        text = write_documentation(app.openapi())
        return HTMLResponse(text, headers={"content-security-policy": PAGE_POLICY})


@contextmanager
def answering() -> Iterator[None]:
    """Answer a request that follows the schema: errors now concern its meaning.

    Raises:
        Unanswerable: there is no answer.
    """
    try:
        yield
    except (Stopped, Busy):
        raise
    except DaaceError as error:
        raise Unanswerable(str(error)) from error


async def result_of(job: Task, request: Request) -> Any:
    """Return the result of a job; stop it if the client disconnects.

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
    """Answer every error of an application with a message."""

    def invalid(_: Request, error: Exception) -> Response:
        return _failure(422, str(error), **_parts(error))

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
        ended = isinstance(error, Stopped | Unanswerable)
        status = 503 if isinstance(error, Busy) else 409 if ended else 422
        return _failure(status, str(error), **_parts(error.__cause__))

    def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = error.headers
        if error.status_code == 405:  # one path may have several routes
            here = [r for r in app.routes if r.matches(request.scope)[0] is not Match.NONE]
            methods = {method for route in here for method in route.methods}
            headers = {"allow": ", ".join(sorted(methods))}
        return _failure(error.status_code, str(error.detail), headers=headers)

    def internal(_: Request, error: Exception) -> Response:
        return _failure(500, "Internal error; see the server's log.")

    app.add_exception_handler(InvalidInput, invalid)
    app.add_exception_handler(RequestValidationError, unexpected)
    app.add_exception_handler(DaaceError, of_ours)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, internal)


def _parts(error: BaseException | None) -> dict[str, str]:
    """Return the parts of an error's message, if it has parts."""
    if not isinstance(error, InvalidInput):
        return {}
    return {name: getattr(error, name) for name in ("argument", "expected", "got", "remedy")}


def _failure(status: int, message: str, *, headers: Any = None, **parts: str) -> Response:
    told = {name: part for name, part in parts.items() if part}
    return JSONResponse(
        {"error": {"message": message, **told}}, status_code=status, headers=headers
    )


def as_json(value: Any, *, status: int = 200) -> Response:
    """Return a value as the body of a response."""
    return Response(dump_json(value), status_code=status, media_type="application/json")
