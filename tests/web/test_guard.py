from __future__ import annotations

import asyncio

import pytest

from daace.web.guard import COOKIE, Guard


async def _app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"in"})


def get(guard: Guard, path: str = "/api/model", query: str = "", method: str = "GET", **headers):
    """Return status and headers of a request."""
    given = {"host": "127.0.0.1:8765", **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8765", "[::1]:8765", "127.0.0.1:1"])
def test_this_machine_is_let_in(host):
    assert get(Guard(_app), host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "10.0.0.1:8765"])
def test_other_names_of_this_machine_are_refused(host):
    assert get(Guard(_app), host=host)[0] == 403


def test_pages_of_other_sites_are_refused():
    guard = Guard(_app)
    assert get(guard, origin="http://127.0.0.1:8765", method="POST")[0] == 200
    assert get(guard, origin="http://evil.example", method="POST")[0] == 403
    assert get(guard, origin="http://127.0.0.1:9999", method="POST")[0] == 403
    assert get(guard, origin="null", method="POST")[0] == 403
    assert get(guard, sec_fetch_site="cross-site", method="POST")[0] == 403
    assert get(guard, sec_fetch_site="cross-site")[0] == 200


def test_a_token_is_asked_for():
    guard = Guard(_app, host="0.0.0.0", token="abc")
    assert get(guard)[0] == 401
    assert get(guard, authorization="Bearer abd")[0] == 401
    assert get(guard, authorization="Bearer abc")[0] == 200
    assert get(guard, cookie=f"{COOKIE}=abc")[0] == 200
    assert get(guard, cookie=f"{COOKIE}=x")[0] == 401
    assert get(guard, query="token=abc")[0] == 401
    assert get(guard, host="any.name", authorization="Bearer abc")[0] == 200


def test_the_address_with_the_token_sets_a_cookie_and_hides_it():
    guard = Guard(_app, host="0.0.0.0", token="abc")
    status, headers = get(guard, path="/", query="token=abc")
    assert status == 303
    assert headers[b"location"] == b"/"
    assert b"HttpOnly; SameSite=Strict" in headers[b"set-cookie"]
    assert get(guard, path="/", query="token=abd")[0] == 401


def test_every_answer_has_the_policy():
    for status, headers in (get(Guard(_app)), get(Guard(_app), host="evil.example")):
        assert status in (200, 403)
        assert headers[b"content-security-policy"].startswith(b"default-src 'none'")
        assert headers[b"cache-control"] == b"no-store"
