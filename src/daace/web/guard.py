"""Checks of every request: its token, origin and size."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from daace._json import dump_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Largest body of a request, in bytes.
MOST_BYTES = 16 * 2**20

#: Cookie that holds the token, once the page was opened with it.
COOKIE = "daace_token"

#: No external content, no inline script or style, no embedding in frames.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

#: The style of a receipt is inline.
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class TooLarge(Exception):
    """The body of a request exceeds the limit."""


def is_loopback(host: str) -> bool:
    """Whether a host is reachable from this machine only.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, eq=False)
class Guard:
    """Lets requests through to an application.

    Args:
        app: the application.
        host: host that the server is bound to. On loopback, requests must name it, which a page of
            another site whose name resolves to this machine (DNS rebinding) does not.
        token: token that requests must carry; none if empty.
    """

    app: Application
    host: str = "127.0.0.1"
    token: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refuse(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
        elif (place := self._enter(scope)) is not None:
            cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            extra = [(b"location", place), (b"set-cookie", cookie.encode())]
            await _answer(send, 303, "Welcome.", extra)
        else:
            await self._pass(scope, receive, send, headers)

    def _refuse(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        """Return status and reason if a request is refused."""
        host = headers.get(b"host", "")
        if is_loopback(self.host) and not is_loopback(_name(host)):
            return 403, "The Host of the request is not this server."
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "The request comes from the page of another site."
        if headers.get(b"sec-fetch-site") == "cross-site" and scope["method"] != "GET":
            return 403, "The request comes from the page of another site."
        length = headers.get(b"content-length", "0")
        if not length.isdecimal():
            return 400, "The Content-Length is not a number."
        if int(length) > MOST_BYTES:
            return 413, _too_large()
        if self.token and not self._known(headers) and self._enter(scope) is None:
            return 401, "This server needs its token: open it with ?token=... at the end."
        return None

    def _known(self, headers: dict[bytes, str]) -> bool:
        kind, _, given = headers.get(b"authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get(b"cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _enter(self, scope: Scope) -> bytes | None:
        """Return the address to redirect to if the page is opened with the token in its address."""
        if not self.token or scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return b"/" if self._is_token(given[0]) else None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, str]
    ) -> None:
        read, begun, too_large = 0, False, False

        async def limited() -> Message:
            nonlocal read, too_large
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BYTES:
                too_large = True
                raise TooLarge
            return message

        async def guarded(message: Message) -> None:
            nonlocal begun
            if too_large and not begun:
                return  # the application handles it
            if message["type"] == "http.response.start":
                begun = True
                known = {name.lower() for name, _ in message["headers"]}
                more = {**HEADERS, b"content-security-policy": POLICY.encode()}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in more.items() if name not in known),
                ]
            await send(message)

        with suppress(TooLarge):
            await self.app(scope, limited, guarded)
        if too_large and not begun:
            await _answer(send, 413, _too_large())


def _too_large() -> str:
    return f"The request must be smaller than {MOST_BYTES // 2**20} MB."


def _name(host: str) -> str:
    """Return a Host without its port."""
    if host.startswith("["):
        return host.partition("]")[0].strip("[]")
    return host.partition(":")[0]


async def _answer(
    send: Send, status: int, sentence: str, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = dump_json({"error": {"message": sentence}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", POLICY.encode()),
        *HEADERS.items(),
        *(more or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
