"""How is a call heard over HTTP? Its recording is played, whole or in parts; by a link for a while; until it is deleted.

Who may hear it is decided when it is played: the call must be visible to the teams of the sender, and none may hide
`recording_url`. The same holds of the maker of a link. Each time that one is played is logged; deleting is decided by the
contact, like every change of a call.
"""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import structlog
from msgspec import Struct

from adapters.errors import StoreError
from adapters.http.calls.calls import CALL_ANSWER, live_call, render
from adapters.http.exchange.access import Access, actor_of
from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import is_hidden
from adapters.http.exchange.limited_reads import limit_reads
from adapters.http.exchange.makers import Maker, MakerAccess
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError, require_row
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import whole
from adapters.http.schema.shapes import one_of
from adapters.reads.ports import ReadsUnavailableError, Row
from adapters.recordings.links import PATH, RecordingLink
from adapters.recordings.media_types import SUFFIXES
from adapters.recordings.ports import MissingFileError, Recording, RecordingsUnavailableError
from engine.views.cells import moment
from schemas.instant import SECOND, to_datetime
from schemas.requests import CallUpdateRequested

SCOPE = "call:read"

FIELD = "recording_url"
"""A team that hides this field of calls hides the recording."""

LINK_SECONDS = 900
"""How long a link is good for, unless its maker says otherwise: long enough to open it, not to pass it around."""

LINK_SECONDS_MIN, LINK_SECONDS_MAX = 60, 86_400

PENDING_SECONDS = 15
"""When to ask again for a recording that is still being fetched."""

CONFIRMED = "delete"
"""What must be typed to delete a recording: there is no other copy here."""

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")

_HEADERS = {
    "Cache-Control": "private, no-store",
    "Accept-Ranges": "bytes",
    "Content-Security-Policy": "default-src 'none'; media-src 'self'",
    "Referrer-Policy": "no-referrer",
}

logger = structlog.get_logger(__name__)


class FilePart(Struct, frozen=True):
    """A part of a file."""

    start: int
    length: int


async def play(exchange: Exchange) -> Reply:
    """Answer with the recording of a call."""
    row = await live_call(exchange)
    Parameters(exchange.query).finish()
    return await _play(exchange, exchange.key, row)


async def make_link(exchange: Exchange) -> Reply:
    """Answer with a link to the recording of a call, which needs no key."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.query)
    seconds = parameters.whole("expires_in_seconds", least=LINK_SECONDS_MIN, most=LINK_SECONDS_MAX)
    parameters.finish()
    services, access = require_services(exchange), exchange.key
    await _stored(services, access, row)
    expires_at = exchange.now + (seconds or LINK_SECONDS) * SECOND
    link = RecordingLink(access.company_id, row["id"], expires_at, access.key_id, access.user_email)
    exchange.headers["Cache-Control"] = "no-store"
    shown = {"url": services.links.url(link), "expires_at": moment(to_datetime(expires_at))}
    return reply_with_record(exchange, "recording_link", shown)


async def follow_link(exchange: Exchange) -> Reply:
    """Answer with the recording that a link names, if its maker may still hear it."""
    exchange.headers["Cache-Control"] = "no-store"
    exchange.enforce_address_limit()
    link = require_services(exchange).links.read(exchange.path["token"])
    if link is None:
        raise ProblemError("not_found", "This link names no recording. Copy the whole link.")
    if link.expires_at <= exchange.now:
        raise ProblemError("deleted", "This link has expired. Ask for a new one.")
    makers = MakerAccess(exchange.services.source, exchange.services.authenticator)
    maker = Maker(link.company_id, link.key_id, link.user_email, exchange.address)
    access = makers.of(maker, SCOPE, exchange.now)
    if access is None:
        raise ProblemError("forbidden", "Who made this link may not hear the recording any more.")
    visible = limit_reads(exchange.services.reads, access.visibility(SCOPE), "call")
    row = require_row(await visible.call(link.company_id, link.call_id), "call")
    return await _play(exchange, access, row)


async def delete(exchange: Exchange) -> Reply:
    """Delete the recording of a call, and what refers to it."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.fields)
    if parameters.text("confirm") != CONFIRMED:
        parameters.refuse("confirm", f"must be {CONFIRMED}: no other copy is kept here")
    parameters.finish()
    services = require_services(exchange)
    recording = await find_recording(services, exchange.key, row)
    message = CallUpdateRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        call_id=row["id"],
        deleted_recording_url=recording.recording_url,
    )
    reply = await submit_change(exchange, message, render)
    try:  # not before: where the log is away, nothing is changed
        await services.recordings.begin_delete(recording.company_id, recording.recording_url)
    except StoreError as error:  # nobody reaches the file any more, and retention deletes it
        raise ReadsUnavailableError(str(error)) from error
    return reply


def require_services(exchange: Exchange) -> RecordingServices:
    """Return where recordings are. Raises `ProblemError` not_supported where none are kept."""
    found = exchange.services.recordings
    if found is None:
        raise ProblemError("not_supported", "This deployment keeps no recordings: it has no folder and no bucket for them.")
    return found


async def find_recording(services: RecordingServices, access: Access, row: Row) -> Recording:
    """Return the recording of a call. Raises `ProblemError`: forbidden, not_found."""
    if is_hidden(access, "call", FIELD):
        raise ProblemError("forbidden", f"The teams of {access.user_email} hide {FIELD} of calls, and so the recording.")
    if row[FIELD] is None:
        raise ProblemError("not_found", "This call has no recording.")
    try:
        found = await services.recordings.find(access.company_id, row[FIELD])
    except StoreError as error:
        raise ReadsUnavailableError(str(error)) from error
    if found is None:
        raise ProblemError("not_found", f"The recording is not kept here, but where {FIELD} says.")
    return found


async def _stored(services: RecordingServices, access: Access, row: Row) -> Recording:
    """Return a recording whose file is here. Raises `ProblemError`: also recording_pending, deleted."""
    found = await find_recording(services, access, row)
    match found.state:
        case "stored":
            return found
        case "owed":
            headers = {"Retry-After": str(PENDING_SECONDS)}
            raise ProblemError("recording_pending", "The recording is still at the vendor.", headers=headers)
        case "failed":
            raise ProblemError("not_found", f"The recording could not be fetched from the vendor: {found.reason}.")
    raise ProblemError("deleted", "This recording was deleted.")


async def _play(exchange: Exchange, access: Access, row: Row) -> Reply:
    """Answer with the file of a recording, or the part that the sender asks for."""
    services = require_services(exchange)
    recording = await _stored(services, access, row)
    ranged = read_range(exchange.request.headers.get("range", ""), recording.size)
    part = ranged or FilePart(0, recording.size)
    about = {"call_id": row["id"], "company_id": access.company_id, "start": part.start}
    logger.info("recording.played", actor=actor_of(access, exchange.address), **about)
    headers = {
        **_HEADERS,
        "Content-Length": str(part.length),
        "Content-Disposition": f'inline; filename="call-{row["id"]}.{SUFFIXES.get(recording.media_type, "bin")}"',
    }
    if ranged is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.start + part.length - 1}/{recording.size}"
    stream = _nothing() if exchange.request.method == "HEAD" else await _begin(services, recording, part)
    return Reply(status=200 if ranged is None else 206, stream=stream, headers=headers, media_type=recording.media_type)


async def _begin(services: RecordingServices, recording: Recording, part: FilePart) -> AsyncIterator[bytes]:
    """Return the bytes of a part, of which the first are read: until then a refusal can be answered."""
    parts = services.files.read(recording.name, part.start, part.length)
    try:
        first = await anext(parts, b"")
    except MissingFileError as error:
        raise ProblemError("not_found", "The file of this recording is not in the store of this process.") from error
    except RecordingsUnavailableError as error:
        raise ReadsUnavailableError(str(error)) from error

    async def rest() -> AsyncIterator[bytes]:
        async with aclosing(parts):  # type: ignore[type-var]
            yield first
            async for one in parts:
                yield one

    return rest()


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def read_range(text: str, size: int) -> FilePart | None:
    """Return the one part that a header asks for (RFC 9110, 14.2); None for the whole, also where it cannot be read.

    Raises `ProblemError` range_not_satisfiable for a part behind the end.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        start, end = max(0, size - int(match[2])), size - 1
    else:
        start, end = int(match[1]), min(size - 1, int(match[2]) if match[2] else size - 1)
        if match[2] and int(match[2]) < start:
            return None
    if start > end:
        headers = {"Content-Range": f"bytes */{size}"}
        raise ProblemError("range_not_satisfiable", f"The file has {size} bytes.", headers=headers)
    return FilePart(start, end - start + 1)


_LINK: dict[str, Any] = {
    "type": "object",
    "required": ["url", "expires_at"],
    "properties": {
        "url": {"type": "string", "description": "a path where LEADCLOCK_PUBLIC_URL is not set"},
        "expires_at": {"type": "string", "format": "date-time"},
    },
}
_REFUSALS = ("not_supported", "recording_pending")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="play_recording",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/{id}/recording",
        summary="The recording of a call as a file; Range gives a part",
        handler=play,
        scope=SCOPE,
        file="audio/*",
        problems=(*_REFUSALS, "range_not_satisfiable"),
    ),
    Operation(
        name="delete_recording",
        leads="visible",
        methods=("DELETE",),
        path="/api/v1/calls/{id}/recording",
        summary="Delete the recording of a call; the call stays",
        handler=delete,
        scope="call:delete",
        rate="write",
        safe=False,
        parameters={"confirm": f"{CONFIRMED}: it cannot be undone"},
        types={"confirm": {"type": "string", "enum": [CONFIRMED]}},
        required=("confirm",),
        answer=CALL_ANSWER,
        problems=("not_supported",),
    ),
    Operation(
        name="show_recording_link",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/{id}/recording_link",
        summary="A link to the recording of a call, which needs no key and expires",
        handler=make_link,
        scope=SCOPE,
        parameters={
            "expires_in_seconds": f"how long it is good for, {LINK_SECONDS} if not given",
            "root": "false: the bare record",
        },
        types={"expires_in_seconds": whole(LINK_SECONDS_MIN, LINK_SECONDS_MAX)},
        answer=one_of("recording_link", _LINK),
        problems=_REFUSALS,
    ),
    Operation(
        name="follow_recording_link",
        methods=("GET",),
        path=f"{PATH}/{{token}}",
        summary="The recording that a link names",
        handler=follow_link,
        access="open",
        rate="unknown_key",
        extra="ignored",
        problems=("not_found", "deleted", "forbidden", "range_not_satisfiable", *_REFUSALS),
    ),
)
