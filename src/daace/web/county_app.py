"""The counties over HTTP: their map, and plans for one of them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Request
from fastapi.responses import Response
from pydantic import BeforeValidator, Field, Strict, StrictBool, StrictInt

from daace.eqi.policy.request import ALGORITHMS
from daace.web.county_service import CountyService
from daace.web.guard import Application, Guard
from daace.web.jobs import Tasks
from daace.web.replies import answering, as_json, new_application, result_of
from daace.web.schema import Body, whole
from daace.web.service import TIME_LIMIT

ABOUT = (
    "What would improve the environmental quality of a US county, and at what price. Indices have "
    "the sense that high is good."
)


class AskCounty(Body):
    """A question about one county."""

    fips: Annotated[
        StrictInt,
        Field(ge=0, le=99999, description="FIPS code of the county."),
        BeforeValidator(whole),
    ]
    improve: Annotated[
        StrictInt,
        Field(ge=1, le=6, description="Number of categories to improve by."),
        BeforeValidator(whole),
    ] = 2
    consistent: Annotated[
        StrictBool, Field(description="Whether indices must follow from the variables.")
    ] = True
    equity: Annotated[
        StrictBool, Field(description="Whether no domain may get worse along the path.")
    ] = False
    settable: Annotated[
        StrictBool, Field(description="Fix what a county cannot set: weather, rock, people.")
    ] = False
    penalty: Annotated[
        float,
        Strict(),
        Field(ge=0, le=50, description="How strongly to avoid implausible terrain."),
    ] = 5.0
    algorithm: Annotated[
        Literal[tuple(ALGORITHMS)],  # type: ignore[valid-type]
        Field(description="BayesACE; with a flow also DAACE, FACE, Wachter."),
    ] = "BayesACE"


def make_county_app(
    service: CountyService, *, host: str = "127.0.0.1", token: str = ""
) -> Application:
    """Return the application.

    Args:
        service: the service of the counties.
        host: host that the server is bound to.
        token: token that requests must carry; none if empty.
    """
    jobs = Tasks()
    version = str(service.facts["version"])
    app = new_application("counties", jobs, title="DAACE: counties", version=version, about=ABOUT)

    @app.get("/api/counties", tags=["counties"])
    def counties() -> Response:
        """Return all counties with their category, the map, and the results of recorded plans."""
        return as_json(service.facts)

    @app.post("/api/plan", tags=["counties"])
    async def plan(body: AskCounty, request: Request) -> Response:
        """Return what would have to change in this county, in words and units."""
        record = body.model_dump()
        with answering():
            job = jobs.start("plan", lambda _: service.plan(record), limit=TIME_LIMIT)
            return as_json(await result_of(job, request))

    return Guard(app, host=host, token=token)
