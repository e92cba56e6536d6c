from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from daace import Explainer, fit, load_table
from daace.web.app import make_app
from daace.web.guard import Application
from daace.web.people import People
from daace.web.service import Service


@pytest.fixture(scope="session")
def loans():
    """Simulated loan applications: numbers, whole numbers, ordered features and categories."""
    columns = [
        "age", "education", "income", "savings", "housing", "purpose", "amount", "months",
    ]  # fmt: skip
    return load_table("loans").take(range(500)).select(columns)


@pytest.fixture(scope="session")
def lender(loans) -> Explainer:
    return fit(loans, density="linear-gaussian", judge="density")


@pytest.fixture
def service(lender, loans) -> Service:
    return Service(lender, People(loans.to_frame(), lender.density), name="loans")


@pytest.fixture
def refused(service) -> dict:
    """The row of somebody whom the model refuses."""
    for number in range(len(service.people)):
        row = service.people.row(number)["row"]
        if (
            service.explainer.density.predict_proba(service.explainer.density.to_model(row))[0, 1]
            > 0.6
        ):
            return row
    raise AssertionError("nobody is refused")


class Served:
    """An application behind HTTP, in a thread."""

    def __init__(self, app: Application) -> None:
        self.app = app
        config = uvicorn.Config(app, port=0, log_level="critical", access_log=False)
        self._socket = config.bind_socket()
        self._socket.listen(256)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        self.client = httpx.Client(base_url=self.url, timeout=120, trust_env=False)

    def stop(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._socket.close()


@pytest.fixture
def serve() -> Iterator:
    """Return a function that serves a service, or any application."""
    servers = []

    def start(what: Service | Application, **options) -> Served:
        app = make_app(what, **options) if isinstance(what, Service) else what
        servers.append(Served(app))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def api(serve, service) -> httpx.Client:
    return serve(service).client


@pytest.fixture(scope="session")
def static() -> Path:
    import daace.web.assets

    return daace.web.assets.STATIC
