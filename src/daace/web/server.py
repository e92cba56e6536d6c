"""`daace serve`: a model on a port of this machine."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daace.exceptions import InvalidInput, MissingDependency
from daace.explain.loading import load
from daace.web.guard import is_loopback
from daace.web.people import People
from daace.web.service import TIME_LIMIT, Service


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address on which a server listens.

    Args:
        host: name or number of the host; 127.0.0.1 is this machine only.
        port: number of the port; 0 chooses a free one.
        token: token that requests must carry; generated when left out, unless only this machine
            can connect.

    Raises:
        InvalidInput: there is no such port.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise InvalidInput(
                argument="port", expected="be between 0 and 65535", got=str(self.port)
            )
        if not self.token and not is_loopback(self.host):
            object.__setattr__(self, "token", secrets.token_urlsafe(24))

    def url(self, port: int) -> str:
        """Return the address to open, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else host
        return f"http://{host}:{port}/{f'?token={self.token}' if self.token else ''}"


def load_service(
    model: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    classifier: Any = None,
    time_limit: float = TIME_LIMIT,
) -> Service:
    """Return the service of a model file.

    Args:
        model: the model file.
        data: table with rows to choose from; simulated ones when None.
        classifier: judge of the class.
        time_limit: longest search, in seconds.
    """
    explainer = load(model, classifier)
    people = None if data is None else People.of_file(Path(data), explainer.density)
    return Service(
        explainer,
        People.drawn(explainer.density) if people is None else people,
        name=Path(model).stem,
        digest=hashlib.sha256(Path(model).read_bytes()).hexdigest(),
        time_limit=time_limit,
    )


def check_installed() -> None:
    """Raise `MissingDependency` unless the server's packages are installed."""
    try:
        import fastapi
        import uvicorn
    except ImportError:
        raise MissingDependency("'daace serve' needs fastapi: pip install 'daace[web]'.") from None
    del fastapi, uvicorn


def run(app: Any, address: Address, *, ready: Callable[[str], None]) -> None:
    """Serve until stopped.

    Args:
        app: the application, made for the same address.
        address: address to listen on.
        ready: called with the address to open, once the port is open.

    Raises:
        InvalidInput: the address cannot be used.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        limit_concurrency=1000,
    )
    try:
        socket = config.bind_socket()
    except SystemExit:
        raise InvalidInput(
            f"'port' {address.port} of {address.host} cannot be used: another program may have it. "
            "Choose another one.",
            argument="port",
        ) from None
    socket.listen(256)
    ready(address.url(socket.getsockname()[1]))
    uvicorn.Server(config).run(sockets=[socket])
