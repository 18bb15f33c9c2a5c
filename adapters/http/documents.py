"""Where is the interface described? An OpenAPI 3.1 document of the rows that answer requests, and AsyncAPI of the topics.

Both have a page beside them (`adapters.http.pages`) that needs no script and nothing from the internet.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from adapters.http.examples import EXAMPLES, Example
from adapters.http.exchange import JSON, Exchange, Operation, Reply
from adapters.http.pages import events_page, interface_page
from adapters.http.problems import DOCUMENTATION_PATH, MEDIA_TYPE
from adapters.http.shapes import PARAMETERS, Schema, components
from adapters.http.writes import IDEMPOTENCY_KEY_LENGTH_MAX
from schemas.documents import asyncapi
from schemas.problems import PROBLEMS

BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})

EVENTS_PATH = f"{DOCUMENTATION_PATH}/events"
HTML = "text/html; charset=utf-8"
CSV = "text/csv"

PLACEHOLDER = re.compile(r"\{(\w+)\}")

_DESCRIPTION = """
Paths are relative to this server. A body may be JSON, a form or multipart, and every field of a body may also stand in
the query. Moments in answers are RFC 3339 in UTC; in requests `YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339. Booleans are 1,
true, yes, on, 0, false, no, off. Answers without an envelope: `root=false`. A field that is left blank is left out.
Lists and reports are CSV under their path with `.csv`, or with `Accept: text/csv`.
Every answer has an `X-Request-Id`; limited ones have `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.
""".strip()

_PATH_SENTENCES = {
    "id": "internal id or uuid",
    "lead_token": "of an offer or a schedule",
    "caller_number": "a number as +1…, %2B1… or digits, or an e-mail address",
    "caller_id": "a number as +1…, %2B1… or digits, or an e-mail address",
}

_HEADERS: Mapping[str, Any] = {
    "X-Request-Id": {"description": "the name of this request in our log", "schema": {"type": "string"}},
}
_RATE_HEADERS: Mapping[str, Any] = {
    name: {"description": sentence, "schema": {"type": "integer"}}
    for name, sentence in {
        "RateLimit-Limit": "requests a second of this class",
        "RateLimit-Remaining": "left in this moment",
        "RateLimit-Reset": "seconds until all of them are there again",
    }.items()
}


_REQUEST_HEADERS: tuple[dict[str, Any], ...] = (
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "names this request for 24 h: sent again it is answered as the first time, and done once",
        "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_LENGTH_MAX, "pattern": "^[!-~]+$"},
    },
    {
        "name": "Prefer",
        "in": "header",
        "required": False,
        "description": "respond-async: 202 at once; wait=n: 202 after n seconds, at most 2",
        "schema": {"type": "string", "pattern": "^(respond-async|wait=[0-9])$"},
    },
)

_IF_MATCH: dict[str, Any] = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "the ETag that the lead was shown with: 409 version_conflict where it has changed since",
    "schema": {"type": "string", "pattern": '^"[0-9]{1,9}"$'},
}


async def show(exchange: Exchange) -> Reply:
    """Answer with the page, or with the document where JSON is wanted."""
    if "text/html" in exchange.request.headers.get("accept", ""):
        return Reply(content=_interface_page(), media_type=HTML)
    return Reply(content=_openapi_json())


async def show_document(_exchange: Exchange) -> Reply:
    """Answer with the document."""
    return Reply(content=_openapi_json())


async def show_events(exchange: Exchange) -> Reply:
    """Answer with the page of the topics, or with the document where JSON is wanted."""
    if "text/html" in exchange.request.headers.get("accept", ""):
        return Reply(content=_events_page(), media_type=HTML)
    return Reply(content=_asyncapi())


async def show_events_document(_exchange: Exchange) -> Reply:
    """Answer with the AsyncAPI document."""
    return Reply(content=_asyncapi())


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in documented():
        for suffix in operation.suffixes:
            entry = paths.setdefault(operation.path + suffix, {})
            for method in operation.methods:
                entry[method.lower()] = _operation(operation, method, suffix)
    return {
        "openapi": "3.1.0",
        "info": {"title": "leadclock", "version": "1.0", "description": _DESCRIPTION},
        "tags": [{"name": tag} for tag in dict.fromkeys(tag_of(operation) for operation in documented())],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "keys": {"type": "http", "scheme": "basic", "description": "public key : private key"},
                "auth_token": {"type": "http", "scheme": "bearer", "description": "public key . private key; also `Token`"},
                "auth_token_field": {
                    "type": "apiKey",
                    "in": "query",
                    "name": "auth_token",
                    "description": "public key . private key, for senders that cannot set headers; also a field of the body",
                },
            },
            "schemas": {"Problem": _problem_schema(sorted(PROBLEMS)), **components()},
        },
    }


def documented() -> tuple[Operation, ...]:
    """Return the operations of the interface; probes and figures of the process are no part of it."""
    # Imported late: this module is itself one of the rows.
    from adapters.http.app import OPERATIONS as ALL  # noqa: PLC0415

    return tuple(operation for operation in ALL if operation.path.startswith("/api/v1"))


def tag_of(operation: Operation) -> str:
    """Return what an operation is about: the collection in its path."""
    return operation.path.split("/")[3]


def problem_codes(operation: Operation) -> tuple[str, ...]:
    """Return every code that an operation may answer with, in the order of the catalogue."""
    found = set(_codes(operation))
    return tuple(code for code in PROBLEMS if code in found)


def parameter_schema(operation: Operation, name: str) -> Schema:
    """Return the type of a named field of an operation."""
    properties = (operation.body or {}).get("properties", {})
    return operation.types.get(name) or properties.get(name) or PARAMETERS.get(name) or {}


def _codes(operation: Operation) -> Iterator[str]:
    yield from ("internal_error", *operation.problems)
    if operation.access != "open":
        yield from ("unauthenticated", "forbidden", "reads_unavailable", "events_unavailable")
        yield from ("malformed_body", "validation_failed")
    if operation.rate is not None:
        yield "rate_limited"
    if PLACEHOLDER.search(operation.path) or operation.body is not None or {"id", "lead_id"} & operation.parameters.keys():
        yield from ("not_found", "deleted")
    if "cursor" in operation.parameters:
        yield from ("bad_cursor", "not_found")
    if any(name.endswith(("_from", "_to")) for name in operation.parameters):
        yield "bad_date"
    if BODY_METHODS & set(operation.methods):
        yield from ("malformed_json", "too_large", "unsupported_media_type")
    if not operation.safe:
        yield from ("idempotency_conflict", "decision_failed")


def _operation(operation: Operation, method: str, suffix: str) -> dict[str, Any]:
    name = operation.name + {"": "", ".csv": "_csv", ".json": "_json"}[suffix]
    several = len(operation.methods) > 1
    example = EXAMPLES.get(operation.name, Example())
    takes_body = method in BODY_METHODS and (operation.body is not None or not operation.safe) and bool(_names(operation))
    in_query = () if takes_body else _names(operation)
    described: dict[str, Any] = {
        "operationId": f"{name}_{method.lower()}" if several else name,
        "summary": operation.summary,
        "tags": [tag_of(operation)],
        "parameters": [
            *(_in_path(found, example) for found in PLACEHOLDER.findall(operation.path)),
            *(_in_query(operation, found, example) for found in in_query),
            *(_REQUEST_HEADERS if not operation.safe and method != "HEAD" else ()),
            *([_IF_MATCH] if operation.name == "update_lead" else ()),
        ],
        "responses": {"204": {"description": "Nothing was changed"}} if method == "HEAD" else _responses(operation, suffix),
        "security": _security(operation),
    }
    if takes_body:
        described["requestBody"] = _request_body(operation, example)
    return described


def _security(operation: Operation) -> list[dict[str, Any]]:
    if operation.access == "open":
        return [{}]
    by_token = operation.access == "token"
    as_field: list[dict[str, Any]] = [{"auth_token_field": []}] if by_token or operation.auth_token else []
    return [*([{}] if by_token else []), {"keys": []}, {"auth_token": []}, *as_field]


def _names(operation: Operation) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(operation.body or {}).get("properties", ()), *operation.parameters)))


def _in_path(name: str, example: Example) -> dict[str, Any]:
    # An empty segment is another path.
    schema = {"type": "string", "minLength": 1}
    shown = {"example": example.path[name]} if name in example.path else {}
    sentence = _PATH_SENTENCES.get(name, name)
    return {"name": name, "in": "path", "required": True, "description": sentence, "schema": schema, **shown}


def _in_query(operation: Operation, name: str, example: Example) -> dict[str, Any]:
    given = {**example.body, **example.query}
    shown = {"example": given[name]} if name in given else {}
    return {
        "name": name,
        "in": "query",
        "required": name in operation.required,
        "description": operation.parameters.get(name, ""),
        "schema": parameter_schema(operation, name),
        **shown,
    }


def _request_body(operation: Operation, example: Example) -> dict[str, Any]:
    properties = {name: _described(operation, name) for name in _names(operation)}
    required = [*(operation.body or {}).get("required", ()), *operation.required]
    schema = {"type": "object", "required": required, "properties": properties}
    shown = {"example": dict(example.body)} if example.body else {}
    content = {kind: {"schema": schema, **(shown if kind == BODY_TYPES[0] else {})} for kind in BODY_TYPES}
    # Where nothing has to be there, there may be no body at all; and what is in the query need not be in the body.
    return {"required": False, "content": content}


def _described(operation: Operation, name: str) -> dict[str, Any]:
    sentence = operation.parameters.get(name)
    schema = parameter_schema(operation, name)
    return {**schema, **({"description": sentence} if sentence else {})}


def _responses(operation: Operation, suffix: str) -> dict[str, Any]:
    headers = {**_HEADERS, **(_RATE_HEADERS if operation.rate is not None and operation.access != "open" else {})}
    shown = {"schema": operation.answer or {"type": "object"}}
    content: dict[str, Any] = {CSV: {"schema": {"type": "string"}}} if suffix == ".csv" else {"application/json": shown}
    if not suffix and ".csv" in operation.suffixes:
        content[CSV] = {"schema": {"type": "string"}}
    found: dict[str, Any] = {"200": {"description": "Done", "headers": headers, "content": content}}
    if operation.created:
        found["201"] = {"description": "Created", "headers": headers, "content": content}
    if not operation.safe or operation.created:
        accepted = {"application/json": {"schema": {"$ref": "#/components/schemas/Accepted"}}}
        found["202"] = {
            "description": "Stored; its answer is at Location in a moment",
            "headers": headers,
            "content": accepted,
        }
    if not operation.safe:
        found["204"] = {"description": "Nothing was changed: this was only looked at (prefetch)"}
    by_status: dict[int, list[str]] = {}
    for code in problem_codes(operation):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return found | {str(status): _problem_response(codes) for status, codes in sorted(by_status.items())}


def _problem_response(codes: list[str]) -> dict[str, Any]:
    schema = {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"code": {"enum": codes}}}]}
    sentences = "; ".join(f"`{code}`: {PROBLEMS[code].title}" for code in codes)
    return {"description": sentences, "headers": dict(_HEADERS), "content": {MEDIA_TYPE: {"schema": schema}}}


def _problem_schema(codes: list[str]) -> dict[str, Any]:
    return {
        "title": "A problem (RFC 9457)",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "errors", "request_id", "retryable"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": codes},
            "errors": {
                "description": "every bad field, each with sentences that say how to mend it",
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
            "request_id": {"type": "string"},
            "retryable": {"type": "boolean", "description": "the same request may succeed later without change"},
        },
    }


@cache
def _openapi_json() -> bytes:
    # Over a megabyte: encoded once, for every integrator's tool that looks often.
    return JSON.encode(openapi())


@cache
def _asyncapi() -> dict[str, Any]:
    return asyncapi()


@cache
def _interface_page() -> bytes:
    return interface_page(openapi())


@cache
def _events_page() -> bytes:
    return events_page(_asyncapi())


def _open(name: str, path: str, summary: str, handler: Any) -> Operation:
    return Operation(name=name, methods=("GET",), path=path, summary=summary, handler=handler, access="open", rate=None)


OPERATIONS: tuple[Operation, ...] = (
    _open("documentation", DOCUMENTATION_PATH, "This documentation", show),
    _open("openapi", f"{DOCUMENTATION_PATH}/openapi.json", "The OpenAPI document", show_document),
    _open("events_documentation", EVENTS_PATH, "The topics", show_events),
    _open("asyncapi", f"{DOCUMENTATION_PATH}/asyncapi.json", "The AsyncAPI document of the topics", show_events_document),
)
