"""How is a refusal answered over HTTP? As problem+json (RFC 9457) with a stable code, for every kind of error.

`errors` lists every bad field at once, each with sentences that say how to correct it. `retryable` says whether the same
request may succeed later. `type` links to the catalogue in the documentation on this server.
"""

from collections.abc import Mapping
from typing import Any

from adapters.reads.ports import Row
from schemas.errors import SenderError
from schemas.problems import PROBLEMS

DOCUMENTATION_PATH = "/api/docs/1.0"
MEDIA_TYPE = "application/problem+json"

CODES_BY_STATUS: dict[int, str] = {
    400: "malformed_body",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}
"""Status of an error that the framework itself raised -> its code; any other one is our fault (`internal_error`)."""

DECIDED = frozenset(code for code, row in PROBLEMS.items() if row.status in {403, 404, 409, 410, 413, 422})
"""Codes that a decision may refuse with; so may a later `GET /requests/{id}`."""


class ProblemError(SenderError):
    """Ends a request with a problem; `code` is one of `schemas.problems`, `extra` has further members of the body."""

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Mapping[str, list[str]] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = dict(errors or {})
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})


def build_problem(
    code: str, detail: str, *, request_id: str, errors: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """Return the body of a problem. A code that the catalogue does not hold is our fault: `internal_error`."""
    row = PROBLEMS.get(code)
    if row is None:
        code, row = "internal_error", PROBLEMS["internal_error"]
    return {
        "type": f"{DOCUMENTATION_PATH}#{code}",
        "title": row.title,
        "status": row.status,
        "detail": detail,
        "code": code,
        "errors": dict(errors or {}),
        "request_id": request_id,
        "retryable": row.retryable,
    }


def require_row(row: Row | None, what: str) -> Row:
    """Return the row if it exists. Raises `ProblemError` not_found or deleted."""
    if row is None:
        raise not_found(what)
    if row["deleted_at"] is not None:
        raise ProblemError("deleted", f"This {what} was deleted.")
    return row


def not_found(what: str) -> ProblemError:
    """Return the refusal of an unknown id; the id of another company's record gets the same text."""
    return ProblemError("not_found", f"There is no {what} with this id.")
