"""The API as one page, made from its OpenAPI schema: without scripts or external requests."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from daace.explain.pages.page import PAGE, STYLE, table


def write_documentation(schema: Mapping[str, Any]) -> str:
    """Return the page.

    Args:
        schema: schema of the API, in OpenAPI's form.
    """
    info = schema["info"]
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{escape(info['description'])}</p>",
        '<p>For programs: <a href="/openapi.json">openapi.json</a>. An error has the body '
        '<code>{"error": {"message", "argument", "expected", "got", "remedy"}}</code>.'
        "</p>",
    ]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            parts.append(f"<h2>{escape(method.upper())} {escape(path)}</h2>")
            parts.append(f"<p>{escape(route.get('description', route['summary']))}</p>")
            rows = [*_parameters(route), *_body(route, schema)]
            if rows:
                parts.append(f'<div class="settings">{table(["name", "what it is"], rows)}</div>')
    return PAGE.format(title="DAACE: API", style=STYLE, body="\n".join(parts))


def _parameters(route: Mapping[str, Any]) -> list[list[str]]:
    return [
        [entry["name"], entry.get("description", entry["in"])]
        for entry in route.get("parameters", [])
    ]


def _body(route: Mapping[str, Any], schema: Mapping[str, Any]) -> list[list[str]]:
    content = route.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return []
    name = content["schema"]["$ref"].rpartition("/")[2]
    model = schema["components"]["schemas"][name]
    needed = model.get("required", [])
    return [
        [field, f"{entry.get('description', '')}{' Required.' * (field in needed)}".strip()]
        for field, entry in model["properties"].items()
    ]
