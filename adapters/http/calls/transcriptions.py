"""How is what was said on a call read over HTTP? Somebody asks for it by `manual_transcribe`; then its text is here.

Who may hear the recording may read it; each time that it is read is logged. It is deleted with the recording.
"""

from typing import Any

import structlog

from adapters.errors import StoreError
from adapters.http.calls.calls import live_call
from adapters.http.calls.recordings import SCOPE, find_recording, require_services
from adapters.http.exchange.access import actor_of
from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.schema.shapes import nullable, one_of
from adapters.reads.ports import ReadsUnavailableError, Row
from adapters.recordings.ports import Recording, Transcription
from engine.views.cells import moment
from schemas.instant import to_datetime

FIELD = "manual_transcribe"

UNCONFIGURED = "needs a transcription service, and none is configured: set LEADCLOCK_TRANSCRIBER_URL"

logger = structlog.get_logger(__name__)


async def find_untranscribed(exchange: Exchange, row: Row) -> Recording | None:
    """Return the recording of a call that is to be transcribed; None where that is done or under way.

    Raises `ProblemError`: not_supported, forbidden, validation_failed.
    """
    services = exchange.services.recordings
    if services is None or not services.transcribes:
        raise _refused(UNCONFIGURED, code="not_supported")
    try:
        recording = await find_recording(services, exchange.key, row)
    except ProblemError as error:
        if error.code != "not_found":
            raise
        raise _refused(f"needs a recording that is kept here. {error.detail}") from error
    if recording.state not in {"owed", "stored"}:
        raise _refused("needs a recording that is kept here. It was deleted, or could not be fetched.")
    found = await _find(services, recording)
    return recording if found is None or found.state == "failed" else None


async def ask(exchange: Exchange, recording: Recording) -> None:
    """Store that a recording is to be transcribed. Raises `ReadsUnavailableError`: a repeat of the request asks again."""
    try:
        await require_services(exchange).transcriptions.ask(recording.id)
    except StoreError as error:
        raise ReadsUnavailableError(str(error)) from error


async def show(exchange: Exchange) -> Reply:
    """Answer with what was said on a call."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.query)
    parameters.finish()
    services = require_services(exchange)
    recording = await find_recording(services, exchange.key, row)
    found = await _find(services, recording)
    if found is None:
        raise ProblemError("not_found", f"Ask for a transcription first: update the call with {FIELD}=true.")
    about = {"call_id": row["id"], "company_id": exchange.company_id}
    logger.info("transcription.read", actor=actor_of(exchange.key, exchange.address), **about)
    exchange.headers["Cache-Control"] = "private, no-store"
    shown = {
        "status": found.state,
        "text": found.text if found.state == "completed" else None,
        "reason": found.reason,
        "asked_at": moment(to_datetime(found.asked_at)),
    }
    return reply_with_record(exchange, "transcription", shown)


async def _find(services: RecordingServices, recording: Recording) -> Transcription | None:
    try:
        return await services.transcriptions.find(recording.id)
    except StoreError as error:
        raise ReadsUnavailableError(str(error)) from error


def _refused(sentence: str, *, code: str = "validation_failed") -> ProblemError:
    return ProblemError(code, "Correct the fields listed in errors and resend.", {FIELD: [sentence]})


_TRANSCRIPTION: dict[str, Any] = {
    "type": "object",
    "required": ["status", "text", "reason", "asked_at"],
    "properties": {
        "status": {"type": "string", "enum": ["pending", "completed", "failed"]},
        "text": nullable("string"),
        "reason": {**nullable("string"), "description": "why there is no text, or not yet"},
        "asked_at": {"type": "string", "format": "date-time"},
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="show_transcription",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/{id}/transcription",
        summary="What was said on a call, where a transcription was asked for",
        handler=show,
        scope=SCOPE,
        parameters={"root": "false: the bare record"},
        answer=one_of("transcription", _TRANSCRIPTION),
        problems=("not_supported",),
    ),
)
