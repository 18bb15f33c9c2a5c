"""What does the API accept and answer, as OpenAPI 3.1? The reference, built from the rows in `OPERATIONS`.

It says everything that is accepted, each form of it, with an example: the page shows it, and tests hold the API to it.
Programs get a shorter document with one way for each thing (`adapters.http.document.client_document`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from adapters.http.document.descriptions import describe
from adapters.http.document.examples import EXAMPLES, REQUEST, Example, find_recorded_answer
from adapters.http.document.links import build_links
from adapters.http.document.refusals import (
    PROBLEM,
    build_problem_example,
    build_problem_response,
    problem_codes,
    share_response,
)
from adapters.http.exchange.exchange import BODY_METHODS, PLACEHOLDER, ROOT, Operation
from adapters.http.exchange.headers import (
    ACCEPTED_HEADERS,
    COMMON_HEADERS,
    ETAG,
    HEADERS,
    IF_MATCH,
    NO_STORE,
    PAGING_HEADERS,
    RATE_HEADERS,
    REQUEST_HEADERS,
)
from adapters.http.exchange.parameters import LIST_LENGTH_MAX
from adapters.http.exchange.writes import accepted_reply
from adapters.http.operations import documented_operations
from adapters.http.schema.inputs import IDS, PARAMETERS, TOKEN_NAME, Schema, ref
from adapters.http.schema.shapes import components, view_name
from schemas.problems import PROBLEMS
from schemas.records import RECORD_BODIES

NOT_COLUMNS = frozenset({"private_key", "secret", "signing_secret", "pivots", "total"})
"""Members of a record that are not columns: shown once, or in addition."""

BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
CSV = "text/csv"
EVENT_STREAM = "text/event-stream"

_DESCRIPTION = """
Paths are relative to this server. A body may be JSON, a form or multipart in UTF-8. Every field of a body may also be in
the query, but for passwords and codes; the body wins. In a form, an object is `data[first_name]=Ada` or its JSON as text,
a list is `ids[]=1&ids[]=2`, `ids=1&ids=2` or text with commas; of any other field that is sent several times the last one
counts. A blank field counts as left out. NUL characters and numbers of more than 64 bits are refused. An unknown
parameter is refused with the nearest known name, unless the company's `unknown_parameters` is `ignore`;
any further field of a lead is a token; links to opt out or be removed ignore what mail trackers append.

Numbers may be text. Dates and times in answers are RFC 3339 in UTC; in requests `YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339.
Where lists and reports take dates without an offset, these are of `time_zone`, or of the company's own zone. Booleans are 1,
true, yes, on, 0, false, no, off. An `{id}` is the internal id or the uuid.

Answers have an envelope (`status`, `errors`, the record under its name, `metadata`); `root=false` gives the bare
record, and a list's paging in headers. Lists and reports are CSV under their path with `.csv`, or with `Accept:
text/csv`; `columns` selects columns, in that order. CSV is an export; `leadclock
leads import` takes one. Beyond 10,000 rows use `cursor`: -1 to begin, then `metadata.next_cursor`, until that is 0.

Every change is stored in a log before it is answered. If the result is not there in 2 s, or you send
`Prefer: respond-async`, the answer is `202` with a `Location`. With an `Idempotency-Key`, a repeat of the same request
within 24 h gets the same answer and is done once.

Every answer has an `X-Request-Id`, which is also in our log; rate-limited ones have `RateLimit-Limit`, `RateLimit-Remaining`
and `RateLimit-Reset`. Errors are `application/problem+json` with a stable `code`; `429` and `503` say in `Retry-After`
when to retry.
""".strip()

INFO: Mapping[str, Any] = {
    "title": "leadclock",
    "version": "1.0",
    "description": _DESCRIPTION,
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}

SCHEMES: Mapping[str, Any] = {
    "keys": {"type": "http", "scheme": "basic", "description": "public key : private key"},
    "auth_token": {"type": "http", "scheme": "bearer", "description": "public key . private key; also `Token`"},
    "session": {"type": "http", "scheme": "bearer", "description": "the token of `POST /sessions`, good wherever a key is"},
    "auth_token_field": {
        "type": "apiKey",
        "in": "query",
        "name": "auth_token",
        "description": "public key . private key, for senders that cannot set headers; also a field of the body",
    },
}

_PERSON = "a telephone number as +1…, %2B1… or digits, or an e-mail address"
PATH_SENTENCES = {
    "id": "internal id or uuid",
    "lead_token": "lead token of an offer or a schedule",
    "caller_number": _PERSON,
    "delivery_id": "internal id of the delivery",
}
PATH_SENTENCES_OF = {
    "caller_opt_out": _PERSON,
    "caller_remove": _PERSON,
    "caller_move_to_end_of_schedule": _PERSON,
    "update_calls_by_caller_id": _PERSON,
    "show_request": "id of the request, as in the Location of its 202",
}
"""Type of `{id}` where it is not the id of a record."""


@cache
def openapi() -> dict[str, Any]:
    """Return the reference."""
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, Any] = {}
    for operation in documented_operations():
        for suffix in operation.suffixes:
            entry = paths.setdefault(operation.path + suffix, {})
            for method in operation.methods:
                entry[method.lower()] = _operation(operation, method, suffix, refusals)
    return {
        "openapi": "3.1.0",
        "info": INFO,
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(tag_of(operation) for operation in documented_operations())],
        "paths": paths,
        "components": {
            "securitySchemes": SCHEMES,
            "schemas": {
                "Problem": PROBLEM,
                **kept_components(),
                **{
                    input_name(operation): input_schema(operation)
                    for operation in documented_operations()
                    if takes_body(operation)
                },
            },
            "headers": dict(HEADERS),
            "responses": refusals,
            "examples": {
                code: {"summary": row.title, "value": build_problem_example(code)} for code, row in PROBLEMS.items()
            },
        },
    }


def tag_of(operation: Operation) -> str:
    """Return the tag of an operation: the collection in its path."""
    return operation.path.split("/")[3]


def parameter_schema(operation: Operation, name: str) -> Schema:
    """Return the type of a named field of an operation."""
    properties = (operation.body or {}).get("properties", {})
    return operation.types.get(name) or properties.get(name) or PARAMETERS.get(name) or {}


def _operation(operation: Operation, method: str, suffix: str, refusals: dict[str, Any]) -> dict[str, Any]:
    name = operation.name + {"": "", ".csv": "_csv", ".json": "_json"}[suffix]
    several = len(operation.methods) > 1
    example = EXAMPLES.get(operation.name, Example())
    has_body = method in BODY_METHODS and takes_body(operation)
    declared = () if has_body else names_of(operation)
    in_query = dict.fromkeys((*declared, ROOT) if operation.has_root else declared)
    described: dict[str, Any] = {
        "operationId": f"{name}_{method.lower()}" if several else name,
        "summary": operation.summary,
        "description": describe(operation),
        "tags": [tag_of(operation)],
        "parameters": [
            *(_in_path(operation, found, example) for found in PLACEHOLDER.findall(operation.path)),
            *(_in_query(operation, found, example) for found in in_query),
            *(_request_headers(operation) if method != "HEAD" else ()),
            *([IF_MATCH] if not operation.safe and "version_conflict" in operation.problems else ()),
        ],
        "responses": _LOOKED_AT if method == "HEAD" else _responses(operation, method, suffix, refusals),
        "security": security_of(operation),
    }
    if has_body:
        described["requestBody"] = _request_body(operation, example)
    return described


def _request_headers(operation: Operation) -> tuple[dict[str, Any], ...]:
    """Return the headers that a request may have; only one that waits for its result may prefer not to."""
    if operation.safe:
        return ()
    return REQUEST_HEADERS if operation.has_result else tuple(one for one in REQUEST_HEADERS if one["name"] != "Prefer")


def security_of(operation: Operation) -> list[dict[str, Any]]:
    """Return which keys an operation takes."""
    if operation.access == "open":
        return [{}]
    if operation.access == "session":
        return [{"session": []}]
    by_token = operation.access == "token"
    as_field: list[dict[str, Any]] = [{"auth_token_field": []}] if by_token or operation.auth_token else []
    return [*([{}] if by_token else []), {"keys": []}, {"auth_token": []}, *as_field]


def takes_body(operation: Operation) -> bool:
    """Return whether the fields of an operation are sent in a body."""
    takes = BODY_METHODS & set(operation.methods) and (operation.body is not None or not operation.safe)
    return bool(takes and names_of(operation))


def names_of(operation: Operation) -> tuple[str, ...]:
    """Return the names of the fields of an operation."""
    return tuple(dict.fromkeys((*(operation.body or {}).get("properties", ()), *operation.parameters)))


def _in_path(operation: Operation, name: str, example: Example) -> dict[str, Any]:
    # An empty segment is another path.
    schema = {"type": "string", "minLength": 1}
    shown = {"example": example.path[name]} if name in example.path else {}
    sentence = PATH_SENTENCES_OF.get(operation.name) or PATH_SENTENCES[name]
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
        "description": operation.parameters.get(name, "false: the bare record" if name == ROOT else ""),
        "schema": schema,
        **listed,
        **shown,
    }


_WITH_COMMAS: Mapping[str, Any] = {"style": "form", "explode": False}


def _columns(operation: Operation) -> dict[str, Any]:
    """Return the columns that an operation can show: the members of its record."""
    properties = record_schema(operation.answer or {}).get("properties", {})
    return {"enum": [name for name in properties if name not in NOT_COLUMNS]} if properties else {}


def record_schema(answer: Schema) -> Schema:
    """Return the schema of one record of an answer, bare or in a list."""
    bare = answer["anyOf"][1] if "anyOf" in answer else answer
    bare = bare.get("items", bare)
    reference = bare.get("$ref", "").rpartition("/")[2]
    found: Schema = kept_components()[reference] if reference else bare
    return found


def input_name(operation: Operation) -> str:
    """Return the schema name of the input of an operation."""
    return "".join(word.capitalize() for word in operation.name.split("_")) + "Fields"


def input_schema(operation: Operation) -> dict[str, Any]:
    """Return the schema of the body of an operation."""
    properties = {name: _described(operation, name) for name in names_of(operation)}
    required = [*(operation.body or {}).get("required", ()), *operation.required]
    schema = {"type": "object", "required": required, "properties": properties}
    if operation.extra == "ignored":
        return schema
    # An unnamed field is a token of the lead; in other operations it is an error.
    return {**schema, **({"propertyNames": TOKEN_NAME} if operation.extra == "tokens" else {"additionalProperties": False})}


def _request_body(operation: Operation, example: Example) -> dict[str, Any]:
    name = input_name(operation)
    schema = ref(name)
    shown = {"example": dict(example.body)} if example.body else {}
    content = {kind: {"schema": schema, **(shown if kind == BODY_TYPES[0] else {})} for kind in BODY_TYPES}
    # Without a required field the body may be left out.
    return {"required": bool(input_schema(operation)["required"]), "content": content}


def _described(operation: Operation, name: str) -> dict[str, Any]:
    sentence = operation.parameters.get(name)
    schema = parameter_schema(operation, name)
    return {**schema, **({"description": sentence} if sentence else {})}


_LOOKED_AT: Mapping[str, Any] = {"204": {"description": "Nothing was changed (HEAD, prefetch)", "headers": COMMON_HEADERS}}


def _responses(operation: Operation, method: str, suffix: str, refusals: dict[str, Any]) -> dict[str, Any]:
    limited = operation.rate is not None and operation.access != "open"
    headers = {**COMMON_HEADERS, **(RATE_HEADERS if limited else {})}
    content = _content(operation, method, suffix)
    done = {"headers": {**headers, **_more_headers(operation)}, "content": content, **_links(operation, suffix)}
    found: dict[str, Any] = {"200": {"description": "Done", **done}}
    if operation.file:
        found["206"] = {"description": "The part that Range asked for", **done}
    if operation.created:
        found["201"] = {"description": "Created", **done}
    if operation.has_result and (not operation.safe or operation.created):
        found["202"] = {
            "description": "Stored; read the answer at Location",
            "headers": headers | ACCEPTED_HEADERS,
            "content": {"application/json": {"schema": ref("Accepted"), "example": accepted_reply(REQUEST).content}},
            "links": {"show_request": {"operationId": "show_request", "parameters": {"id": "$response.body#/request/id"}}},
        }
    found |= {} if operation.safe else _LOOKED_AT
    by_status: dict[int, list[str]] = {}
    for code in problem_codes(operation):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        found[str(status)] = share_response(refusals, status, build_problem_response(status, codes, limited))
    return found


def _content(operation: Operation, method: str, suffix: str) -> dict[str, Any]:
    recorded = find_recorded_answer(operation.name, method)
    as_file: dict[str, Any] = {"schema": {"type": "string"}, **({"example": recorded.csv} if recorded.csv else {})}
    if suffix == ".csv":
        return {CSV: as_file}
    if operation.file:
        return {operation.file: {"schema": {"type": "string", "format": "binary"}}}
    schema = operation.answer or {"type": "object"}
    shown = {"application/json": {"schema": schema, **({"example": recorded.body} if recorded.body is not None else {})}}
    if operation.streams:
        shown |= {EVENT_STREAM: {"schema": {"type": "string", "description": "server-sent events"}}}
    return {**shown, CSV: as_file} if not suffix and ".csv" in operation.suffixes else shown


def _tells_secret(operation: Operation, shown: Schema) -> bool:
    return "secret" in shown.get("properties", {}) and not operation.name.startswith("build_")


def _more_headers(operation: Operation) -> Mapping[str, Any]:
    if ".csv" in operation.suffixes:
        return PAGING_HEADERS
    shown = record_schema(operation.answer or {})
    return {
        **(ETAG if has_etag(operation) else {}),
        **(NO_STORE if (operation.created and operation.body is not None) or _tells_secret(operation, shown) else {}),
    }


def has_etag(operation: Operation) -> bool:
    """Return whether an answer has the version of its record in a header."""
    shown = record_schema(operation.answer or {})
    is_kept = any(shown is kept_components()[name] for name in ("Lead", *map(view_name, RECORD_BODIES)))
    return is_kept and not operation.name.startswith("list_")


def _links(operation: Operation, suffix: str) -> dict[str, Any]:
    found = {} if suffix == ".csv" else build_links(operation, documented_operations())
    return {"links": found} if found else {}


@cache
def kept_components() -> dict[str, Any]:
    """Return every named schema of the reference."""
    return components()
