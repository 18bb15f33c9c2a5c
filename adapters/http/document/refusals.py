"""Which problems may an operation answer with? Codes follow from its row; each has an example, each status a response."""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.http.document.examples import REQUEST
from adapters.http.exchange.exchange import API_PREFIX, BODY_METHODS, PLACEHOLDER, Operation
from adapters.http.exchange.failures import OUTAGES
from adapters.http.exchange.headers import COMMON_HEADERS, PROBLEM_HEADERS, RATE_HEADERS
from adapters.http.exchange.problems import MEDIA_TYPE, build_problem
from schemas.problems import PROBLEMS


def problem_codes(operation: Operation) -> tuple[str, ...]:
    """Return every code that an operation may answer with, in the order of the catalogue."""
    found = set(_codes(operation))
    return tuple(code for code in PROBLEMS if code in found)


def _codes(operation: Operation) -> Iterator[str]:
    yield from ("internal_error", *operation.problems)
    yield from ("unknown_host",) * operation.path.startswith(API_PREFIX)
    if operation.access != "open":
        yield from ("unauthenticated", "forbidden", "reads_unavailable", "reads_too_slow", "events_unavailable")
    if operation.access != "open" or operation.parameters:
        yield from ("malformed_body", "validation_failed")
    if operation.rate is not None:
        yield "rate_limited"
    if operation.rate == "report":
        yield "reports_busy"
    if PLACEHOLDER.search(operation.path) or operation.body is not None or {"id", "lead_id"} & operation.parameters.keys():
        yield from ("not_found", "deleted")
    if "cursor" in operation.parameters:
        yield from ("bad_cursor", "not_found")
    if any(name.endswith(("_from", "_to")) for name in operation.parameters):
        yield "bad_date"
    if BODY_METHODS & set(operation.methods):
        yield from ("malformed_json", "too_large", "unsupported_media_type")
    if not operation.safe:
        yield from ("idempotency_conflict", *(("decision_failed",) if operation.has_result else ()))


def share_response(refusals: dict[str, Any], status: int, response: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a response, which is described once for all operations that may give it."""
    name = next((known for known, one in refusals.items() if one == response), None)
    if name is None:
        name = f"Refused{status}_{sum(known.startswith(f'Refused{status}') for known in refusals) + 1}"
        refusals[name] = response
    return {"$ref": f"#/components/responses/{name}"}


def build_problem_response(status: int, codes: list[str], limited: bool) -> dict[str, Any]:
    """Return the response of a status: its codes, an example of each, and its headers."""
    schema = {"allOf": [{"$ref": "#/components/schemas/Problem"}, {"properties": {"code": {"enum": codes}}}]}
    sentences = "; ".join(f"`{code}`: {PROBLEMS[code].title}" for code in codes)
    examples = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    rates = RATE_HEADERS if limited and status == PROBLEMS["rate_limited"].status else {}
    return {
        "description": sentences,
        "headers": {**COMMON_HEADERS, **rates, **PROBLEM_HEADERS.get(status, {})},
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }


def build_problem_example(code: str) -> dict[str, Any]:
    """Return an example of a problem."""
    details = _DETAILS.get(code, (f"{PROBLEMS[code].title}.", {}))
    return build_problem(code, details[0], request_id=REQUEST, errors=details[1])


_DETAILS: Mapping[str, tuple[str, dict[str, list[str]]]] = {
    "validation_failed": (
        "Correct the fields listed in errors and resend.",
        {
            "caller_id": ["must be a valid telephone number such as +13055550123"],
            "blocked": ["must be one of 1, true, yes, on, 0, false, no, off"],
        },
    ),
    "bad_date": (
        "Correct the fields listed in errors and resend.",
        {"created_at_from": ["must be a date and time with its UTC offset, such as 2026-03-07 21:30:00 -0500"]},
    ),
    "bad_cursor": ("Correct the fields listed in errors and resend.", {"cursor": ["must be a whole number"]}),
    "not_found": ("There is no lead with this id.", {}),
    "unknown_lead_token": ("No offer or schedule has this lead_token.", {}),
    "rate_limited": ("Try again in 1 s.", {}),
    "idempotency_conflict": ("Use a new Idempotency-Key for another request.", {}),
    **{code: (detail, {}) for code, detail in OUTAGES.items()},
    "invalid_schedule": (
        "Correct steps[1].template and resend; nothing was changed.",
        {"steps[1].template": ["must be given"]},
    ),
    "not_supported": (
        "Correct the fields listed in errors and resend.",
        {"manual_transcribe": ["needs a transcription service, and none is configured: set LEADCLOCK_TRANSCRIBER_URL"]},
    ),
}
"""Code -> detail and errors of its example; a code without a row has only its title."""


PROBLEM: Mapping[str, Any] = {
    "title": "A problem (RFC 9457)",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "errors", "request_id", "retryable"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": sorted(PROBLEMS)},
        "errors": {
            "description": "every bad field, each with sentences that say how to correct it",
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "request_id": {"type": "string"},
        "retryable": {"type": "boolean", "description": "the same request may succeed later without change"},
    },
}
"""The schema of every problem."""
