"""Where is the interface described? An OpenAPI 3.1 document of the rows that answer requests, and AsyncAPI of the topics.

Both have a page beside them (`adapters.http.pages`) that needs no script and nothing from the internet.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from adapters.http.examples import EXAMPLES, REQUEST, Example, recorded
from adapters.http.exchange import JSON, Exchange, Operation, Reply
from adapters.http.inputs import IDS, PARAMETERS, TOKEN_NAME, Schema
from adapters.http.links import links_of
from adapters.http.pages import events_page, interface_page
from adapters.http.parameters import LIST_LENGTH_MAX
from adapters.http.problems import DOCUMENTATION_PATH, MEDIA_TYPE, problem
from adapters.http.shapes import components
from adapters.http.writes import IDEMPOTENCY_KEY_LENGTH_MAX
from schemas.documents import asyncapi
from schemas.problems import PROBLEMS

UNCHOOSABLE = frozenset({"private_key", "secret", "pivots", "total"})
"""Members of a record that are no columns of it: shown once, or beside them."""

BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})

EVENTS_PATH = f"{DOCUMENTATION_PATH}/events"
HTML = "text/html; charset=utf-8"
CSV = "text/csv"

PLACEHOLDER = re.compile(r"\{(\w+)\}")

_DESCRIPTION = """
Paths are relative to this server. A body may be JSON, a form or multipart in UTF-8, and every field of a body may also
stand in the query; the body wins. In a form, an object is `data[first_name]=Ada` or its JSON as text, a list is
`ids[]=1&ids[]=2`, `ids=1&ids=2` or text with commas; of any other field that is given several times the last one counts. A
field that is left blank is left out. NUL characters and numbers of more than 64 bits are refused.

Numbers may be text. Moments in answers are RFC 3339 in UTC; in requests `YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339. Booleans
are 1, true, yes, on, 0, false, no, off. An `{id}` is the internal id or the uuid.

Answers stand in an envelope (`status`, `errors`, the record under its name, `metadata`); `root=false` gives the bare
record, and a list's paging in headers. Lists and reports are CSV under their path with `.csv`, or with `Accept:
text/csv`; `columns` chooses what is told, in that order. Beyond 10,000 rows use `cursor`: -1 to begin, then
`metadata.next_cursor`, until that is 0.

Whatever changes something is stored on a log before it is answered. An answer that is not there in 2 s, or that nobody
wants to wait for (`Prefer: respond-async`), is `202` with a `Location`. With an `Idempotency-Key` the same request, sent
again within 24 h, gets the same answer and is done once.

Every answer has an `X-Request-Id`, which finds it in our log; limited ones have `RateLimit-Limit`, `RateLimit-Remaining`
and `RateLimit-Reset`. Errors are `application/problem+json` with a stable `code`; `429` and `503` say with `Retry-After`
when to come back.
""".strip()

_PATH_SENTENCES = {
    "id": "internal id or uuid",
    "lead_token": "of an offer or a schedule",
    "caller_number": "a number as +1…, %2B1… or digits, or an e-mail address",
    "caller_id": "a number as +1…, %2B1… or digits, or an e-mail address",
}


def _header(sentence: str, kind: str = "string", *, always: bool = False) -> dict[str, Any]:
    return {"description": sentence, "schema": {"type": kind}, **({"required": True} if always else {})}


HEADERS: Mapping[str, Any] = {
    "X-Request-Id": _header("the name of this request in our log", always=True),
    "RateLimit-Limit": _header("requests a second of this class", "integer"),
    "RateLimit-Remaining": _header("left in this moment", "integer"),
    "RateLimit-Reset": _header("seconds until all of them are there again", "integer"),
    "X-Per-Page": _header("rows of a page; with root=false and in pages as CSV", "integer"),
    "X-Total-Count": _header("rows of the list, exact to 10,000", "integer"),
    "X-Next-Cursor": _header("with cursor: send it next; 0 at the end", "integer"),
    "Link": _header('<path of the next page>; rel="next", where there is one'),
    "Location": _header("where the answer will be, for 24 h: /api/v1/requests/{id}", always=True),
    "Retry-After": _header("seconds after which to ask again", "integer"),
    "Preference-Applied": _header("respond-async, where that was asked for"),
    "ETag": _header("version of the lead, for If-Match"),
    "Cache-Control": _header("no-store, where the answer holds, or may hold, a secret"),
    "WWW-Authenticate": _header("how to say who asks", always=True),
    "Connection": _header("close: the rest of the body was not read"),
}
"""Every header that an answer may have, told once."""


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HEADERS = _headers("X-Request-Id")
_RATE_HEADERS = _headers("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
_PAGING_HEADERS = _headers("X-Per-Page", "X-Total-Count", "X-Next-Cursor", "Link")
_LATER_HEADERS = _headers("Location", "Retry-After", "Preference-Applied")
_ETAG = _headers("ETag")
_NO_STORE = _headers("Cache-Control")
_PROBLEM_HEADERS: Mapping[int, Mapping[str, Any]] = {
    401: _headers("WWW-Authenticate"),
    413: _headers("Connection"),
    429: _headers("Retry-After"),
    503: _headers("Retry-After"),
}


_REQUEST_HEADERS: tuple[dict[str, Any], ...] = (
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "names this request for 24 h, such as order-4711: sent again it is done once, and answered as before",
        "schema": {"type": "string", "maxLength": IDEMPOTENCY_KEY_LENGTH_MAX, "pattern": "^[ -~]*$"},
    },
    {
        "name": "Prefer",
        "in": "header",
        "required": False,
        "description": "respond-async: 202 at once; wait=n: 202 after n seconds, at most 2",
        # A preference that is not understood is passed over (RFC 7240), so that any text is one.
        "schema": {"type": "string", "examples": ["respond-async", "wait=1"]},
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
    refusals: dict[str, Any] = {}
    for operation in documented():
        for suffix in operation.suffixes:
            entry = paths.setdefault(operation.path + suffix, {})
            for method in operation.methods:
                entry[method.lower()] = _operation(operation, method, suffix, refusals)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "leadclock",
            "version": "1.0",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
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
            "schemas": {
                "Problem": _problem_schema(sorted(PROBLEMS)),
                **_components(),
                **{input_name(operation): _input_schema(operation) for operation in documented() if _takes_body(operation)},
            },
            "headers": dict(HEADERS),
            "responses": refusals,
            "examples": {code: {"summary": row.title, "value": _problem_example(code)} for code, row in PROBLEMS.items()},
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
        yield from ("unauthenticated", "forbidden", "reads_unavailable", "reads_too_slow", "events_unavailable")
    if operation.access != "open" or operation.parameters:
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


def _operation(operation: Operation, method: str, suffix: str, refusals: dict[str, Any]) -> dict[str, Any]:
    name = operation.name + {"": "", ".csv": "_csv", ".json": "_json"}[suffix]
    several = len(operation.methods) > 1
    example = EXAMPLES.get(operation.name, Example())
    takes_body = method in BODY_METHODS and _takes_body(operation)
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
        "responses": _LOOKED_AT if method == "HEAD" else _responses(operation, method, suffix, refusals),
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


def _takes_body(operation: Operation) -> bool:
    takes = BODY_METHODS & set(operation.methods) and (operation.body is not None or not operation.safe)
    return bool(takes and _names(operation))


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
    schema = parameter_schema(operation, name)
    listed: Mapping[str, Any] = {}
    if name == "columns":
        schema, listed = {"type": "array", "items": {"type": "string", **_columns(operation)}}, _WITH_COMMAS
    elif schema == IDS:
        schema, listed = {"type": "array", "items": PARAMETERS["id"], "maxItems": LIST_LENGTH_MAX}, _WITH_COMMAS
    if listed and shown:
        shown = {"example": str(given[name]).split(",")}
    return {
        "name": name,
        "in": "query",
        "required": name in operation.required,
        "description": operation.parameters.get(name, ""),
        "schema": schema,
        **listed,
        **shown,
    }


_WITH_COMMAS: Mapping[str, Any] = {"style": "form", "explode": False}


def _columns(operation: Operation) -> dict[str, Any]:
    """Return which columns an operation can show: the members of its record."""
    properties = record_schema(operation.answer or {}).get("properties", {})
    return {"enum": [name for name in properties if name not in UNCHOOSABLE]} if properties else {}


def record_schema(answer: Schema) -> Schema:
    """Return the schema of one record of an answer, bare or of a list, wherever it is kept."""
    bare = answer["anyOf"][1] if "anyOf" in answer else answer
    bare = bare.get("items", bare)
    if "anyOf" in bare:  # of a lead: the one that a key is shown
        bare = bare["anyOf"][0]
    reference = bare.get("$ref", "").rpartition("/")[2]
    found: Schema = _components()[reference] if reference else bare
    return found


def input_name(operation: Operation) -> str:
    """Return what the fields of an operation are called in the document."""
    return "".join(word.capitalize() for word in operation.name.split("_")) + "Fields"


def _input_schema(operation: Operation) -> dict[str, Any]:
    properties = {name: _described(operation, name) for name in _names(operation)}
    required = [*(operation.body or {}).get("required", ()), *operation.required]
    schema = {"type": "object", "required": required, "properties": properties}
    # Of a record, an unknown field is a mistake; of a lead it is a token, elsewhere nobody's business.
    if operation.body is not None:
        return {**schema, "additionalProperties": False}
    return {**schema, "propertyNames": TOKEN_NAME} if "data" in properties else schema


def _request_body(operation: Operation, example: Example) -> dict[str, Any]:
    name = input_name(operation)
    schema = {"$ref": f"#/components/schemas/{name}"}
    shown = {"example": dict(example.body)} if example.body else {}
    content = {kind: {"schema": schema, **(shown if kind == BODY_TYPES[0] else {})} for kind in BODY_TYPES}
    # Where nothing has to be there, there may be no body at all.
    return {"required": bool(_input_schema(operation)["required"]), "content": content}


def _described(operation: Operation, name: str) -> dict[str, Any]:
    sentence = operation.parameters.get(name)
    schema = parameter_schema(operation, name)
    return {**schema, **({"description": sentence} if sentence else {})}


_LOOKED_AT: Mapping[str, Any] = {
    "204": {"description": "Nothing was changed: this was only looked at (HEAD, prefetch)", "headers": _HEADERS}
}


def _responses(operation: Operation, method: str, suffix: str, refusals: dict[str, Any]) -> dict[str, Any]:
    limited = operation.rate is not None and operation.access != "open"
    headers = {**_HEADERS, **(_RATE_HEADERS if limited else {})}
    content = _content(operation, method, suffix)
    done = {"headers": {**headers, **_more_headers(operation)}, "content": content, **_links(operation, suffix)}
    found: dict[str, Any] = {"200": {"description": "Done", **done}}
    if operation.created:
        found["201"] = {"description": "Created", **done}
    if not operation.safe or operation.created:
        found["202"] = {
            "description": "Stored; its answer is at Location in a moment",
            "headers": headers | _LATER_HEADERS,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Accepted"}, "example": _accepted()}},
            "links": {"show_request": {"operationId": "show_request", "parameters": {"id": "$response.body#/request/id"}}},
        }
    found |= {} if operation.safe else _LOOKED_AT
    by_status: dict[int, list[str]] = {}
    for code in problem_codes(operation):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        found[str(status)] = _shared(refusals, status, _problem_response(status, codes, limited))
    return found


def _shared(refusals: dict[str, Any], status: int, response: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a refusal that is told once, whichever operations may give it."""
    name = next((known for known, one in refusals.items() if one == response), None)
    if name is None:
        name = f"Refused{status}_{sum(known.startswith(f'Refused{status}') for known in refusals) + 1}"
        refusals[name] = response
    return {"$ref": f"#/components/responses/{name}"}


def _content(operation: Operation, method: str, suffix: str) -> dict[str, Any]:
    told = recorded(operation.name, method)
    as_file: dict[str, Any] = {"schema": {"type": "string"}, **({"example": told.csv} if told.csv else {})}
    if suffix == ".csv":
        return {CSV: as_file}
    schema = operation.answer or {"type": "object"}
    shown = {"application/json": {"schema": schema, **({"example": told.body} if told.body is not None else {})}}
    return {**shown, CSV: as_file} if not suffix and ".csv" in operation.suffixes else shown


def _more_headers(operation: Operation) -> Mapping[str, Any]:
    if ".csv" in operation.suffixes:
        return _PAGING_HEADERS
    if record_schema(operation.answer or {}) is _components()["Lead"] and not operation.name.startswith("list_"):
        return _ETAG
    return _NO_STORE if operation.created and operation.body is not None else {}


def _links(operation: Operation, suffix: str) -> dict[str, Any]:
    found = {} if suffix == ".csv" else links_of(operation, documented())
    return {"links": found} if found else {}


def _problem_response(status: int, codes: list[str], limited: bool) -> dict[str, Any]:
    schema = {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"code": {"enum": codes}}}]}
    sentences = "; ".join(f"`{code}`: {PROBLEMS[code].title}" for code in codes)
    examples = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    rates = _RATE_HEADERS if limited and status == PROBLEMS["rate_limited"].status else {}
    return {
        "description": sentences,
        "headers": {**_HEADERS, **rates, **_PROBLEM_HEADERS.get(status, {})},
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }


def _problem_example(code: str) -> dict[str, Any]:
    details = _DETAILS.get(code, (f"{PROBLEMS[code].title}.", {}))
    return problem(code, details[0], request_id=REQUEST, errors=details[1])


_DETAILS: Mapping[str, tuple[str, dict[str, list[str]]]] = {
    "validation_failed": (
        "Mend the fields named in errors.",
        {
            "caller_id": ["must be a valid telephone number such as +13055550123"],
            "blocked": ["must be one of 1, true, yes, on, 0, false, no, off"],
        },
    ),
    "bad_date": (
        "Mend the fields named in errors.",
        {"created_at_from": ["must be a date and time with its UTC offset, such as 2026-03-07 21:30:00 -0500"]},
    ),
    "bad_cursor": ("Mend the fields named in errors.", {"cursor": ["must be a whole number"]}),
    "not_found": ("There is no lead with this id.", {}),
    "unknown_lead_token": ("No offer or schedule has this lead_token.", {}),
    "rate_limited": ("Try again in 1 s.", {}),
    "idempotency_conflict": ("Use a new Idempotency-Key for another request.", {}),
    "events_unavailable": ("Nothing was stored; send it again, with the same Idempotency-Key if it had one.", {}),
    "reads_unavailable": ("Try again in a moment; what was submitted is kept.", {}),
    "reads_too_slow": ("Ask for fewer days, another filter or another order, or try again when less is going on.", {}),
    "invalid_schedule": (
        "Mend steps[1].template and send it again; nothing was changed.",
        {"steps[1].template": ["must be given"]},
    ),
    "not_supported": (
        "Mend the fields named in errors.",
        {"manual_transcribe": ["needs a transcriber, and none is configured"]},
    ),
}
"""What the running system says; codes without a row are told with their title alone."""


def _accepted() -> dict[str, Any]:
    place = {"id": REQUEST, "path": f"/api/v1/requests/{REQUEST}"}
    return {"status": 202, "errors": {}, "request": place, "metadata": {"root": "request"}}


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
def _components() -> dict[str, Any]:
    return components()


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
