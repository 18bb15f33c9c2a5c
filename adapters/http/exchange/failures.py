"""What becomes of an error? The sender gets a problem; outages and our own faults are logged too."""

from collections.abc import Mapping

import structlog
from litestar.exceptions import ClientException, HTTPException

from adapters.http.exchange.access import unauthenticated
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.ports import EventsUnavailableError, UnconfirmedError
from adapters.http.exchange.problems import CODES_BY_STATUS, MEDIA_TYPE, ProblemError, build_problem
from adapters.reads.ports import ReadsTooSlowError, ReadsUnavailableError
from engine.limits import RECORD_BYTES_MAX
from engine.partition.draft import RefusedError
from engine.partition.ports import LogError, RecordRefusedError
from schemas.problems import PROBLEMS

RETRY_AFTER_SECONDS = 2
"""Sent with a 503: about as long as a change of a partition's owner or a restart of the database takes."""

SERVER_ERROR = 500

OUTAGES: Mapping[str, str] = {
    "events_unavailable": "Nothing was stored. Resend the request, with the same Idempotency-Key if it had one.",
    "reads_unavailable": "Try again in a moment. If this was a change, it may not be stored: resend it, with the same "
    "Idempotency-Key if it had one.",
    "reads_too_slow": "Request fewer days, another filter or another sorting, or try again when the load is lower.",
}
"""Code of an outage -> what the client can do."""

UNCONFIRMED = (
    "The request may be stored. Resend it, with the same Idempotency-Key if it had one; without one, a repeat is a further "
    "request."
)
"""What the client can do where the log did not acknowledge what it was sent: a paused broker writes it when it goes on."""

TOO_LARGE = f"The record of this request would exceed {RECORD_BYTES_MAX} bytes. Shorten its fields."

logger = structlog.get_logger(__name__)


def problem_from_exception(error: Exception, request_id: str) -> Reply:
    """Return the answer to a request that ended in an error; log outages and our own faults."""
    refusal = _refusal(error)
    if refusal is not None:
        return _problem(refusal, request_id)
    match error:
        case EventsUnavailableError() | LogError():
            logger.warning("log.write_failed", request_id=request_id, error=str(error))
            detail = UNCONFIRMED if isinstance(error, UnconfirmedError) else OUTAGES["events_unavailable"]
            return _outage("events_unavailable", detail, request_id)
        case ReadsUnavailableError():
            code = "reads_too_slow" if isinstance(error, ReadsTooSlowError) else "reads_unavailable"
            logger.warning("read.failed", code=code, request_id=request_id, error=str(error))
            return _outage(code, OUTAGES[code], request_id)
        case _:
            logger.error("request.failed", request_id=request_id, exc_info=error)
            return _problem(
                ProblemError("internal_error", "Report the request_id to the operator, who finds it in the log."), request_id
            )


def _refusal(error: Exception) -> ProblemError | None:
    """Return the refusal of a fault of the sender, or None for any other error."""
    match error:
        case ProblemError():
            return error
        case RefusedError(code="unauthenticated"):
            return unauthenticated(error.detail)
        case RefusedError():
            return ProblemError(error.code, error.detail, error.errors)
        case RecordRefusedError():
            return ProblemError("too_large", TOO_LARGE)
        case _:
            return None


def problem_from_framework(error: HTTPException, request_id: str) -> Reply:
    """Return the answer to a request that the framework itself refused, as a problem with our codes."""
    code = CODES_BY_STATUS.get(error.status_code)
    if code is None or (isinstance(error, ClientException) and error.status_code >= SERVER_ERROR):
        return problem_from_exception(error, request_id)
    detail = {
        "not_found": "No operation has this path.",
        "method_not_allowed": "This path does not take this method; see the Allow header.",
    }.get(code, error.detail or PROBLEMS[code].title)
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return _problem(ProblemError(code, detail, headers=headers), request_id)


def _outage(code: str, detail: str, request_id: str) -> Reply:
    return _problem(ProblemError(code, detail, headers={"Retry-After": str(RETRY_AFTER_SECONDS)}), request_id)


def _problem(error: ProblemError, request_id: str) -> Reply:
    content = build_problem(error.code, error.detail, request_id=request_id, errors=error.errors)
    return Reply(status=content["status"], content={**error.extra, **content}, headers=error.headers, media_type=MEDIA_TYPE)
