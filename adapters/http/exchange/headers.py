"""Which headers may a request and its answer have? Each is described once; the OpenAPI document refers to it by name."""

from collections.abc import Mapping
from typing import Any

from adapters.http.exchange.writes import IDEMPOTENCY_KEY_LENGTH_MAX


def _header(sentence: str, kind: str = "string", *, always: bool = False) -> dict[str, Any]:
    return {"description": sentence, "schema": {"type": kind}, **({"required": True} if always else {})}


WARNING = "Leadclock-Warning"

HEADERS: Mapping[str, Any] = {
    "X-Request-Id": _header("the id of this request in our log", always=True),
    "X-Content-Type-Options": _header("nosniff: the content is of the type that Content-Type names", always=True),
    "Leadclock-Sandbox": _header("channels that the sandbox serves, such as call, sms: they reach no real person"),
    WARNING: _header(
        "what is wrong with how the request was sent, though it was taken: a key in the address, ignored parameters"
    ),
    "RateLimit-Limit": _header("requests per second of this class of operations", "integer"),
    "RateLimit-Remaining": _header("requests that are left now", "integer"),
    "RateLimit-Reset": _header("seconds until the whole burst is available again", "integer"),
    "X-Per-Page": _header("rows per page; with root=false, and for pages as CSV", "integer"),
    "X-Total-Count": _header("rows of the list, exact to 10,000", "integer"),
    "X-Next-Cursor": _header("with cursor: the cursor to send next; 0 at the end", "integer"),
    "Link": _header('<path of the next page>; rel="next", if there is a next page'),
    "Location": _header("where the answer will be, for 24 h: /api/v1/requests/{id}", always=True),
    "Retry-After": _header("seconds to wait before the next try", "integer"),
    "Preference-Applied": _header("respond-async, if the request preferred it"),
    "ETag": _header("version of the record, for If-Match"),
    "Cache-Control": _header("no-store, if the answer holds or may hold a secret"),
    "WWW-Authenticate": _header("how to authenticate", always=True),
    "Connection": _header("close: the rest of the body was not read"),
}
"""Every header that an answer may have."""


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


COMMON_HEADERS = _headers("X-Request-Id", "X-Content-Type-Options", "Leadclock-Sandbox", WARNING)
RATE_HEADERS = _headers("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
PAGING_HEADERS = _headers("X-Per-Page", "X-Total-Count", "X-Next-Cursor", "Link")
ACCEPTED_HEADERS = _headers("Location", "Retry-After", "Preference-Applied")
ETAG = _headers("ETag")
NO_STORE = _headers("Cache-Control")
PROBLEM_HEADERS: Mapping[int, Mapping[str, Any]] = {
    401: _headers("WWW-Authenticate"),
    413: _headers("Connection"),
    429: _headers("Retry-After"),
    503: _headers("Retry-After"),
}


REQUEST_HEADERS: tuple[dict[str, Any], ...] = (
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "your name for this request, such as order-4711; a repeat within 24 h changes nothing, same answer",
        "schema": {"type": "string", "maxLength": IDEMPOTENCY_KEY_LENGTH_MAX, "pattern": "^[ -~]*$"},
    },
    {
        "name": "Prefer",
        "in": "header",
        "required": False,
        "description": "respond-async: 202 at once; wait=n: 202 after n seconds, at most 2",
        # RFC 7240: a server ignores preferences that it does not know, so any text is valid.
        "schema": {"type": "string", "examples": ["respond-async", "wait=1"]},
    },
)

IF_MATCH: dict[str, Any] = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "the ETag of the record as you read it; 409 version_conflict if it has changed since",
    "schema": {"type": "string", "pattern": '^"[0-9]{1,9}"$'},
}
