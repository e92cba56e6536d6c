"""`daace serve`: the explorer and its API, on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daace._options import expanded
from daace.cli.explain import import_object
from daace.cli.terminal import busy, note

if TYPE_CHECKING:
    from daace.web.server import Address


@dataclass
class Listening:
    """Where a server listens."""

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; any but this machine's own needs a token.",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = 8765
    token: Annotated[
        str,
        typer.Option(
            metavar="SECRET", help="Token that requests must carry; random if needed and not given."
        ),
    ] = ""

    def address(self) -> Address:
        """Return the address; it generates the token that it needs."""
        from daace.web.server import Address

        return Address(host=self.host, port=self.port, token=self.token)


@expanded
def serve(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from 'daace fit'.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Table with rows to choose from; samples of the model if left out."),
    ] = None,
    classifier: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:OBJECT", help="Classifier that decides, as in 'daace explain'."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Time limit of a search, in seconds.")
    ] = 60.0,
    *,
    listening: Listening,
) -> None:
    """Serve a page to explore a model, and an API, on this machine."""
    from daace.web.server import check_installed, load_service, run

    check_installed()
    from daace.web.app import make_app

    address = listening.address()
    judge = None if classifier is None else import_object(classifier)
    with busy("Loading the model"):
        service = load_service(model, data=data, classifier=judge, time_limit=time_limit)

    def ready(url: str) -> None:
        typer.echo(f"The explorer is at {url}")
        note("Its API is described at /docs. Ctrl-C stops it.")

    run(make_app(service, host=address.host, token=address.token), address, ready=ready)
