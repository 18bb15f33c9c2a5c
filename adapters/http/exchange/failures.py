"""What becomes of an error? The sender gets a problem; outages and our own faults are logged too."""

from collections.abc import Mapping

import structlog
from litestar.exceptions import ClientException, HTTPException

from adapters.http.exchange.access import unauthenticated
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.ports import EventsUnavailableError
from adapters.http.exchange.problems import CODES_BY_STATUS, MEDIA_TYPE, ProblemError, build_problem
from adapters.reads.ports import ReadsTooSlowError, ReadsUnavailableError
from engine.limits import RECORD_BYTES_MAX
from engine.partition.draft import RefusedError
from engine.partition.ports import LogError, RecordRefusedError
from schemas.problems import PROBLEMS

RETRY_AFTER_SECONDS = 2
"""Said with 503: as long as a change of owner or a restart of the database takes."""

SERVER_ERROR = 500

OUTAGES: Mapping[str, str] = {
    "events_unavailable": "Nothing was stored; send it again, with the same Idempotency-Key if it had one.",
    "reads_unavailable": "Try again in a moment; what was submitted is kept.",
    "reads_too_slow": "Ask for fewer days, another filter or another order, or try again when less is going on.",
}
"""Code of an outage -> what its sender can do."""

TOO_LARGE = f"This request would be a larger record than is stored, at most {RECORD_BYTES_MAX} bytes. Shorten its fields."

logger = structlog.get_logger(__name__)


def problem_from_exception(error: Exception, request_id: str) -> Reply:
    """Return the answer to a request that ended in an error; outages and faults of ours are logged."""
    refusal = _refusal(error)
    if refusal is not None:
        return _problem(refusal, request_id)
    match error:
        case EventsUnavailableError() | LogError():
            logger.warning("log.write_failed", request_id=request_id, error=str(error))
            return _outage("events_unavailable", request_id)
        case ReadsUnavailableError():
            code = "reads_too_slow" if isinstance(error, ReadsTooSlowError) else "reads_unavailable"
            logger.warning("read.failed", code=code, request_id=request_id, error=str(error))
            return _outage(code, request_id)
        case _:
            logger.error("request.failed", request_id=request_id, exc_info=error)
            return _problem(ProblemError("internal_error", "Tell us the request_id; it is in our log."), request_id)


def _refusal(error: Exception) -> ProblemError | None:
    """Return what the sender did wrong, or None where the fault is not the sender's."""
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
    """Return the answer to a request that the framework itself refused: in our form, with our words."""
    code = CODES_BY_STATUS.get(error.status_code)
    if code is None or (isinstance(error, ClientException) and error.status_code >= SERVER_ERROR):
        return problem_from_exception(error, request_id)
    detail = {
        "not_found": "There is nothing under this path.",
        "method_not_allowed": "This path takes other methods; see the Allow header.",
    }.get(code, error.detail or PROBLEMS[code].title)
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return _problem(ProblemError(code, detail, headers=headers), request_id)


def _outage(code: str, request_id: str) -> Reply:
    return _problem(ProblemError(code, OUTAGES[code], headers={"Retry-After": str(RETRY_AFTER_SECONDS)}), request_id)


def _problem(error: ProblemError, request_id: str) -> Reply:
    content = build_problem(error.code, error.detail, request_id=request_id, errors=error.errors)
    return Reply(status=content["status"], content={**error.extra, **content}, headers=error.headers, media_type=MEDIA_TYPE)
