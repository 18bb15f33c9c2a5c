"""Where is the interface described? An OpenAPI 3.1 document and a page, both made of the rows that answer requests.

The page needs no script and nothing from the internet; the problem catalogue on it is what `type` of a problem leads to.
"""

import re
from functools import cache
from html import escape
from typing import Any

import msgspec

from adapters.http.exchange import Exchange, Operation, Reply
from adapters.http.problems import DOCUMENTATION_PATH, MEDIA_TYPE
from schemas.problems import PROBLEMS
from schemas.records import RECORD_BODIES

BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "code{font:14px ui-monospace,monospace}summary{cursor:pointer;padding:.25rem 0}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}b{display:inline-block;min-width:5rem}"
)


async def show(exchange: Exchange) -> Reply:
    """Answer with the page, or with the document where JSON is wanted."""
    if "text/html" in exchange.request.headers.get("accept", ""):
        return Reply(content=_page(), media_type="text/html; charset=utf-8")
    return Reply(content=openapi())


async def show_document(_exchange: Exchange) -> Reply:
    """Answer with the document."""
    return Reply(content=openapi())


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in _operations():
        for suffix in operation.suffixes:
            entry = paths.setdefault(operation.path + suffix, {})
            for method in operation.methods:
                entry[method.lower()] = _operation(operation, method, suffix)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "leadclock",
            "version": "1.0",
            "description": "Moments are RFC 3339 in UTC in answers; `YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339 in requests.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "keys": {"type": "http", "scheme": "basic", "description": "public key : private key"},
                "auth_token": {"type": "http", "scheme": "bearer", "description": "public key . private key"},
            },
            "schemas": {"Problem": _problem_schema(), **_record_schemas()},
            "responses": {
                "Problem": {
                    "description": "A problem (RFC 9457)",
                    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
        },
    }


def _operations() -> tuple[Operation, ...]:
    # Imported late: this module is itself one of the rows.
    from adapters.http.app import OPERATIONS as ALL  # noqa: PLC0415

    return tuple(operation for operation in ALL if operation.path.startswith("/api/v1"))


def _operation(operation: Operation, method: str, suffix: str) -> dict[str, Any]:
    name = operation.name + {"": "", ".csv": "_csv", ".json": "_json"}[suffix]
    several = len(operation.methods) > 1
    described: dict[str, Any] = {
        "operationId": f"{name}_{method.lower()}" if several else name,
        "summary": operation.summary,
        "parameters": [
            {"name": found, "in": "path", "required": True, "schema": {"type": "string"}}
            for found in _PLACEHOLDER.findall(operation.path)
        ],
        "responses": {
            **({} if operation.safe else {"201": _success("Created"), "202": _success("Stored, not decided yet")}),
            "200": _success("Done"),
            "4XX": {"$ref": "#/components/responses/Problem"},
            "5XX": {"$ref": "#/components/responses/Problem"},
        },
        "security": {
            "key": [{"keys": []}, {"auth_token": []}],
            "token": [{}, {"keys": []}, {"auth_token": []}],
            "open": [{}],
        }[operation.access],
    }
    if method == "HEAD":
        described["responses"] = {"204": {"description": "Nothing was changed"}}
    if method in {"POST", "PUT", "PATCH"} and (operation.body is not None or not operation.safe):
        named = {key: {"description": text} for key, text in operation.parameters.items()}
        body = operation.body or {"type": "object"}
        schema = {**body, "properties": {**body.get("properties", {}), **named}}
        described["requestBody"] = {"content": {kind: {"schema": schema} for kind in BODY_TYPES}}
    else:
        described["parameters"] += [
            {"name": key, "in": "query", "description": text, "schema": {"type": "string"}}
            for key, text in operation.parameters.items()
        ]
    return described


def _success(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": {"type": "object"}}}}


def _record_schemas() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(RECORD_BODIES.values(), ref_template="#/components/schemas/{name}")
    return dict(components)


def _problem_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "errors", "request_id", "retryable"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": sorted(PROBLEMS)},
            "errors": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "request_id": {"type": "string"},
            "retryable": {"type": "boolean"},
        },
    }


@cache
def _page() -> bytes:
    operations = "".join(_row(operation) for operation in _operations())
    problems = "".join(
        f"<tr id='{code}'><td><code>{code}</code></td><td>{row.status}</td><td>{escape(row.title)}</td></tr>"
        for code, row in PROBLEMS.items()
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>leadclock API 1.0</title>"
        f"<style>{_STYLE}</style><h1>leadclock API 1.0</h1>"
        f"<p>The same as <a href='{DOCUMENTATION_PATH}/openapi.json'>OpenAPI 3.1</a>.</p>{operations}"
        f"<h2>Problems</h2><table><tr><th>code</th><th>status</th><th>meaning</th></tr>{problems}</table></html>"
    ).encode()


def _row(operation: Operation) -> str:
    named = sorted({**dict.fromkeys((operation.body or {}).get("properties", ()), ""), **operation.parameters}.items())
    parameters = "".join(f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>" for name, text in named)
    return (
        f"<details><summary><b>{' '.join(operation.methods)}</b> <code>{escape(operation.path)}</code> "
        f"{escape(operation.summary)}</summary><table>{parameters}</table></details>"
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="documentation",
        methods=("GET",),
        path=DOCUMENTATION_PATH,
        summary="This documentation",
        handler=show,
        access="open",
        rate=None,
    ),
    Operation(
        name="openapi",
        methods=("GET",),
        path=f"{DOCUMENTATION_PATH}/openapi.json",
        summary="The OpenAPI document",
        handler=show_document,
        access="open",
        rate=None,
    ),
)
