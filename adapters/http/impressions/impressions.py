"""How are impressions posted and listed? A post is answered when the log has it; the list shows it a moment later."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from msgspec import structs

from adapters.http.exchange.access import PUBLISHABLE, no_page_key
from adapters.http.exchange.answers import (
    CURSOR_PER_PAGE_MAX,
    PAGING_PARAMETERS,
    PER_PAGE_DEFAULT,
    PER_PAGE_MAX,
    read_columns,
    reply_with_list,
    wants_bare,
)
from adapters.http.exchange.exchange import ROOT, Exchange, Operation, Reply
from adapters.http.exchange.failures import RETRY_AFTER_SECONDS
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.ports import EventsUnavailableError, TooManyAppendsError
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.writes import claim_key
from adapters.http.impressions.number_holds import ask_for_number
from adapters.http.schema.inputs import COUNTRY, ID, TOKENS, Schema, ref, text, whole
from adapters.http.schema.shapes import many_of, nullable, one_of
from adapters.reads.ports import ImpressionFilter, Paging
from engine.submission.fields import INTEGER_MAX, TEXT_LENGTH_MAX, FieldError
from engine.submission.impressions import (
    BATCH_MAX,
    CLICK_ID_LENGTH_MAX,
    DEVICE_LENGTH_MAX,
    PARSERS,
    PLACE_LENGTH_MAX,
    TOKENS_BYTES_MAX,
    TOKENS_MAX,
    URL_LENGTH_MAX,
    USER_AGENT_LENGTH_MAX,
    VISITOR_LENGTH_MAX,
    Faults,
    ImpressionReading,
    batch_of,
)
from engine.views.impression import IMPRESSION_COLUMNS, impression_view
from schemas.impressions import Impression
from schemas.instant import to_rfc3339

CREATED = 201

BATCH_BYTES_MAX = 1024 * 1024
"""Of a body: 500 impressions of two kilobytes."""

PERHAPS_STORED = (
    "The log did not acknowledge all of them. Resend the same, with their uuids or the same Idempotency-Key: those that are "
    "stored already stay one row each."
)

PAGE_PATH = "/api/v1/impressions/from_page"

SEEN_BY_SERVER = ("ip", "user_agent")
TAKEN = "is taken from the request of the browser; leave it out"

SLICE = 25
"""Impressions that are read at once, in about a millisecond; then the event loop serves other requests."""

logger = structlog.get_logger(__name__)

_ADDRESS = "begins with https:// or http://"
FIELDS: Mapping[str, str] = {
    "visitor_id": "your id of the visitor; needed",
    "uuid": "your UUID of this impression: a repeat with it changes nothing",
    "session_id": "your id of the visit",
    "offer_id": "the offer that was advertised, by internal id",
    "traffic_source_id": "the traffic source that sent the visitor, by internal id",
    "page_url": f"the page that was seen; {_ADDRESS}",
    "referrer": "the page that led there",
    "landing_url": "the first page of the visit",
    "utm_source": "as in the link of the campaign",
    "utm_medium": "as in the link of the campaign",
    "utm_campaign": "as in the link of the campaign",
    "utm_term": "as in the link of the campaign",
    "utm_content": "as in the link of the campaign",
    "gclid": "Google click id",
    "fbclid": "Facebook click id",
    "sub_id": "sub id of the traffic source",
    "ip": "address of the visitor; only its network is stored, a /24 or for IPv6 a /48",
    "user_agent": f"of the browser; {USER_AGENT_LENGTH_MAX} characters are stored",
    "device": "kind of device, such as mobile",
    "country": "the visitor's country, as two letters",
    "state": "the visitor's state or province",
    "city": "the visitor's city",
    "tokens": f"object of up to {TOKENS_MAX} further values, {TOKENS_BYTES_MAX} bytes in all",
    "ring_pool_id": "the ring pool whose number the page shows, by internal id; the answer has the number. Not in a batch",
}
"""Field of an impression -> what it means."""

_URL: Schema = {
    "type": "string",
    "maxLength": URL_LENGTH_MAX,
    "pattern": "^https?://[a-z0-9]{1,30}([.][a-z0-9]{1,30})*(/[!-~]*)?$",
}
_TYPES: Mapping[str, Schema] = {
    "visitor_id": text(VISITOR_LENGTH_MAX, least=1),
    "uuid": {"type": "string", "format": "uuid"},
    "session_id": text(VISITOR_LENGTH_MAX),
    **dict.fromkeys(("offer_id", "traffic_source_id", "ring_pool_id"), ID),
    **dict.fromkeys(("page_url", "referrer", "landing_url"), _URL),
    **dict.fromkeys(
        ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "sub_id"), text(TEXT_LENGTH_MAX)
    ),
    **dict.fromkeys(("gclid", "fbclid"), text(CLICK_ID_LENGTH_MAX)),
    "ip": ref("AddressInput"),
    "user_agent": {"type": "string"},
    "device": text(DEVICE_LENGTH_MAX),
    "country": COUNTRY,
    **dict.fromkeys(("state", "city"), text(PLACE_LENGTH_MAX)),
    "tokens": {**TOKENS, "maxProperties": TOKENS_MAX},
}
_ONE: Schema = {
    "type": "object",
    "required": ["visitor_id"],
    "properties": {
        name: {**_TYPES[name], "description": sentence} for name, sentence in FIELDS.items() if name != "ring_pool_id"
    },
    "additionalProperties": False,
}
_ONE_OF_PAGE: Schema = {
    **_ONE,
    "properties": {name: schema for name, schema in _ONE["properties"].items() if name not in SEEN_BY_SERVER},
}
_STORED: Schema = {
    "type": "object",
    "required": ["uuid"],
    "properties": {
        "uuid": {"type": "string", "format": "uuid"},
        "number_id": nullable("integer"),
        "number_shown": nullable("string"),
        "held_until": {"type": ["string", "null"], "format": "date-time"},
    },
    "additionalProperties": False,
}
"""The three fields of the number are there where the impression asked for one."""


async def record_from_page(exchange: Exchange) -> Reply:
    """Store impressions that a browser posts, with the public half of a key that has the origin of its page."""
    origin = exchange.request.headers.get("origin", "").lower()
    public = exchange.fields.get(PUBLISHABLE, "")
    access = await exchange.services.authenticator.authenticate_page(
        public if isinstance(public, str) else "", origin, address=exchange.address, now=exchange.now
    )
    if exchange.host_company_id not in {None, access.company_id}:
        raise no_page_key()
    exchange.access = access
    exchange.headers.update(allow_origin(origin))  # from here on the page may read what is wrong
    exchange.limit_pages(access.company_id)
    return await record(exchange)


def allow_origin(origin: str) -> dict[str, str]:
    """Return the headers by which a page of an origin may read an answer."""
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


def _seen_by_server(exchange: Exchange) -> dict[str, str]:
    """Return the fields that a browser does not know or can invent, as its request shows them."""
    seen = {"ip": exchange.address, "user_agent": exchange.request.headers.get("user-agent", "")}
    found = {}
    for name, value in seen.items():
        with suppress(FieldError):  # no address of a network, as on a socket of the machine
            found[name] = PARSERS[name](value)
    return found


def _check_page_fields(raw: Mapping[str, Any] | Sequence[Any]) -> None:
    """Refuse fields that are taken from the request of the browser. Raises `ProblemError`."""
    several = enumerate(()) if isinstance(raw, Mapping) else enumerate(raw)
    named = [("", raw), *((f"impressions[{index}].", one) for index, one in several)]
    faults = {
        f"{prefix}{name}": [TAKEN]
        for prefix, one in named
        if isinstance(one, Mapping)
        for name in SEEN_BY_SERVER
        if name in one
    }
    if faults:
        raise _refused(faults)


async def record(exchange: Exchange) -> Reply:
    """Store impressions: all of them, or none if one is bad."""
    is_bare = wants_bare(exchange)  # refuse a bad `root` before anything is stored
    known = exchange.operation.parameters
    is_from_page = PUBLISHABLE in known
    fields = {
        name: value
        for name, value in exchange.fields.items()
        # An unknown one of the query is ignored here.
        if name not in {ROOT, PUBLISHABLE} and (name in known or name not in exchange.query)
    }
    try:
        batch = batch_of(fields)
    except FieldError as error:
        raise _refused({"impressions": [str(error)]}) from None
    if batch is not None:
        take = exchange.limit_pages if is_from_page else exchange.limit
        take(exchange.company_id, len(batch) - 1)  # the request itself has taken one
    raw = fields if batch is None else batch
    if is_from_page:
        _check_page_fields(raw)
    impressions = await _read(exchange, raw, exchange.request_id)
    claim = await claim_key(exchange, exchange.company_id)
    if claim is not None and claim.request_id != exchange.request_id:
        impressions = await _read(exchange, raw, claim.request_id)  # a repeat: with the uuids that it had
    if is_from_page:
        seen = _seen_by_server(exchange)
        impressions = [structs.replace(impression, **seen) for impression in impressions]
    if impressions[0].ring_pool_id is not None:  # such a one is posted alone
        impressions = [
            await ask_for_number(exchange, impressions[0], exchange.request_id if claim is None else claim.request_id)
        ]
    try:
        await exchange.services.impressions.append(impressions)
    except TooManyAppendsError as error:
        raise ProblemError("rate_limited", f"{error}. Send fewer at once.", headers={"Retry-After": "1"}) from error
    except EventsUnavailableError as error:
        logger.warning("log.write_failed", request_id=exchange.request_id, error=str(error))
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        raise ProblemError("events_unavailable", PERHAPS_STORED, headers=headers) from error
    stored = [_stored(impression) for impression in impressions]
    if is_bare:
        return Reply(status=CREATED, content=stored)
    return Reply(
        status=CREATED, content={"status": CREATED, "errors": {}, "impressions": stored, "metadata": {"root": "impressions"}}
    )


def _stored(impression: Impression) -> dict[str, Any]:
    if impression.ring_pool_id is None:
        return {"uuid": impression.uuid}
    shown = impression_view(structs.asdict(impression), ("uuid", "number_id", "number_shown"))
    held_until = impression.held_until
    return {**shown, "held_until": None if held_until is None else to_rfc3339(held_until)}


async def _read(exchange: Exchange, raw: Mapping[str, Any] | Sequence[Any], request_id: str) -> list[Impression]:
    """Return the impressions of a request. Raises `ProblemError` with the faults of all of them."""
    rules, company_id = exchange.services.source.rules, exchange.company_id
    reading = ImpressionReading(rules, company_id, request_id, exchange.now, ignores_unknown=exchange.ignores_unknown)
    if isinstance(raw, Mapping):
        found = [reading.read(raw, 0)]
    else:
        found = []
        for index, one in enumerate(raw):
            found.append(reading.read(one, index, f"impressions[{index}]."))
            if index % SLICE == SLICE - 1:
                await asyncio.sleep(0)
    if reading.faults:
        raise _refused(reading.faults)
    return [impression for impression in found if impression is not None]


def _refused(faults: Faults) -> ProblemError:
    return ProblemError("validation_failed", "Correct the fields listed in errors and resend; nothing was stored.", faults)


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of impressions."""
    parameters = Parameters(exchange.query)
    paging = _read_paging(parameters)
    columns = read_columns(parameters, IMPRESSION_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = ImpressionFilter(
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "impressions",
        parameters,
        paging=paging,
        columns=columns or IMPRESSION_COLUMNS,
        read=partial(exchange.services.reads.impressions, exchange.company_id, wanted),
        view=lambda row: impression_view(row, columns),
    )


def _read_paging(parameters: Parameters) -> Paging:
    """Read the paging of the list: by page if one is named and no cursor, else by cursor, from the newest."""
    cursor = parameters.whole("cursor", least=-1, most=INTEGER_MAX, code="bad_cursor")
    page = parameters.whole("page", least=1, most=INTEGER_MAX)
    by_page = cursor is None and page is not None
    per_page = parameters.whole("per_page", least=1, most=PER_PAGE_MAX if by_page else CURSOR_PER_PAGE_MAX)
    if by_page:
        return Paging(page=page or 1, per_page=per_page or PER_PAGE_DEFAULT)
    return Paging(cursor=-1 if cursor is None else cursor, per_page=per_page or PER_PAGE_DEFAULT)


_LISTED = ("page", "columns", "root", "created_at_from", "created_at_to", "time_zone")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="record_impressions",
        methods=("POST",),
        path="/api/v1/impressions",
        summary="Record an impression, or a batch of them",
        handler=record,
        scope="impression:create",
        rate="impression",
        safe=False,
        body_bytes_max=BATCH_BYTES_MAX,
        extra="checked_by_handler",
        parameters={**FIELDS, "impressions": f"up to {BATCH_MAX} impressions, in place of the fields of one; as JSON"},
        types={
            **_TYPES,
            "impressions": {"type": "array", "items": _ONE, "minItems": 1, "maxItems": BATCH_MAX},
        },
        answer=one_of("impressions", {"type": "array", "items": _STORED}),
        created=True,
        has_result=False,
    ),
    Operation(
        name="record_impressions_of_page",
        methods=("POST",),
        path=PAGE_PATH,
        summary="Record impressions from a page itself",
        handler=record_from_page,
        access="open",
        rate="impression",
        safe=False,
        body_bytes_max=BATCH_BYTES_MAX,
        extra="checked_by_handler",
        parameters={
            PUBLISHABLE: "the public half of a key with the origin of the page; for JSON in the address",
            **{name: sentence for name, sentence in FIELDS.items() if name not in SEEN_BY_SERVER},
            "impressions": f"up to {BATCH_MAX} impressions, in place of the fields of one; as JSON",
        },
        types={
            PUBLISHABLE: {"type": "string", "maxLength": 100},
            **{name: schema for name, schema in _TYPES.items() if name not in SEEN_BY_SERVER},
            "impressions": {"type": "array", "items": _ONE_OF_PAGE, "minItems": 1, "maxItems": BATCH_MAX},
        },
        required=(PUBLISHABLE,),
        answer=one_of("impressions", {"type": "array", "items": _STORED}),
        created=True,
        has_result=False,
        problems=("reads_unavailable", "events_unavailable"),
    ),
    Operation(
        name="list_impressions",
        methods=("GET",),
        path="/api/v1/impressions",
        summary="List impressions",
        handler=index,
        scope="impression:read",
        parameters={
            "cursor": "-1, the default, to begin; then metadata.next_cursor of the answer before, until that is 0",
            "per_page": "rows of a page: 25; with page at most 100, else at most 1000",
            **{name: PAGING_PARAMETERS[name] for name in _LISTED},
        },
        types={"per_page": whole(1, CURSOR_PER_PAGE_MAX)},
        answer=many_of("impressions", "Impression"),
        suffixes=("", ".csv", ".json"),
    ),
)
