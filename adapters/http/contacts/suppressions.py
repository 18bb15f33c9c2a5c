"""How do people come onto suppression lists over HTTP, and off them? In batches; each entry is a request to its contact."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from adapters.http.contacts.contacts import keys_of_number
from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
    wants_bare,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, parse_local_moment
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.writes import claim_key, remaining_wait_seconds
from adapters.http.records.records import KINDS_BY_TYPE, live_row
from adapters.http.schema.inputs import EMAIL, LOCAL_MOMENT, TEXT, Schema
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import ReadsUnavailableError, Result, SuppressionFilter
from engine.account.did_you_mean import did_you_mean
from engine.identity import contact_key
from engine.submission.fields import FieldError, is_blank, parse_email, parse_text
from engine.submission.unread_numbers import is_attempt, key_of_number, known_countries
from engine.views.contact import SUPPRESSION_COLUMNS, suppression_view
from schemas.instant import Instant
from schemas.requests import SuppressionChangeRequested, UnreadNumber
from schemas.topics import CONTACTS_REQUESTS

LIST = KINDS_BY_TYPE["suppression_list"]

ENTRIES_MAX = 500
"""Entries of one request, as of impressions: each is a request of its own to its contact."""

ENTRIES_BYTES_MAX = 512 * 1024
"""Of a body: 500 entries of a kilobyte."""

FAULTS_MAX = 50
"""Bad entries that one answer names."""

ADDED = ("caller_id", "email", "source", "expires_at")
_REMOVED = ("caller_id", "email")


class SuppressionEntry(Struct, frozen=True):
    """Who is to be put on a list or taken off it, and on which terms."""

    contact_key: str
    source: str | None = None
    expires_at: Instant | None = None
    unread: UnreadNumber | None = None


async def index(exchange: Exchange) -> Reply:
    """Answer with who is on a list."""
    row = await live_row(exchange, LIST)
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, _COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = SuppressionFilter(
        keys=keys_of_number(exchange, parameters),
        source=parameters.text("source"),
        expires_from=parameters.instant("expires_at_from", zone_name),
        expires_to=parameters.instant("expires_at_to", zone_name),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "suppression_entries",
        parameters,
        paging=paging,
        columns=columns or _COLUMNS,
        read=partial(exchange.services.reads.suppressions, exchange.company_id, row["id"], wanted),
        view=lambda found: suppression_view(found, columns),
    )


async def change(exchange: Exchange, *, listed: bool) -> Reply:
    """Put a batch of people on a list, or take them off it."""
    wants_bare(exchange)  # refuse a bad `root` before anything is stored
    row = await live_row(exchange, LIST)
    entries = _read_entries(exchange, ADDED if listed else _REMOVED)
    exchange.limit(exchange.company_id, len(entries) - 1)  # the request itself has taken one
    claim = await claim_key(exchange, exchange.company_id)
    batch_id = exchange.request_id if claim is None else claim.request_id  # a repeat asks under the same ids
    messages = [request_to_list(exchange, row["id"], entry, listed=listed) for entry in entries]
    ids = [f"{batch_id}/{number}" for number in range(len(messages))]
    await submit_all(exchange, ids, messages)
    return reply_with_record(exchange, "suppression_batch", count_results(await wait_for(exchange, ids)))


def request_to_list(
    exchange: Exchange, list_id: int, entry: SuppressionEntry, *, listed: bool
) -> SuppressionChangeRequested:
    """Return the request that puts somebody on a list or takes them off it."""
    return SuppressionChangeRequested(
        company_id=exchange.company_id,
        contact_key=entry.contact_key,
        list_id=list_id,
        listed=listed,
        source=entry.source,
        expires_at=entry.expires_at,
        unread=entry.unread,
    )


async def submit_all(exchange: Exchange, ids: Sequence[str], messages: Sequence[SuppressionChangeRequested]) -> None:
    """Append every request; raise the first error once all have been tried: a repeat of the batch is safe."""
    requests = exchange.services.requests
    tried = await asyncio.gather(
        *(
            requests.submit(
                CONTACTS_REQUESTS.name,
                message.contact_key,
                message,
                request_id=request_id,
                company_id=message.company_id,
                actor=exchange.actor,
            )
            for request_id, message in zip(ids, messages, strict=True)
        ),
        return_exceptions=True,
    )
    for outcome in tried:
        if isinstance(outcome, BaseException):
            raise outcome


async def wait_for(exchange: Exchange, ids: Sequence[str]) -> list[Result | None]:
    """Return what was decided on each request; None where the time of the answer is over before."""
    return await asyncio.gather(*(_result(exchange, request_id) for request_id in ids))


async def _result(exchange: Exchange, request_id: str) -> Result | None:
    try:
        return await exchange.services.requests.wait(request_id, max(0.0, remaining_wait_seconds(exchange)))
    except ReadsUnavailableError:
        return None  # it is stored: a problem here would make the client send it twice


def count_results(results: Sequence[Result | None]) -> dict[str, int]:
    """Return how many requests were accepted, and what was decided on them."""
    codes = Counter(
        "decided" if result.answer is None or result.answer.code is None else result.answer.code
        for result in results
        if result is not None
    )
    return {
        "accepted_count": len(results),
        "decided_count": codes.pop("decided", 0),
        "not_found_count": codes.pop("not_found", 0),
        "refused_count": codes.total(),
    }


def _read_entries(exchange: Exchange, known: Sequence[str]) -> list[SuppressionEntry]:
    """Return the entries of a request, each contact once. Raises `ProblemError` with the faults of all of them."""
    raw = exchange.fields.get("entries")
    if isinstance(raw, str):  # of a form
        with suppress(msgspec.DecodeError, RecursionError):
            raw = msgspec.json.decode(raw)
    if not isinstance(raw, list) or not 1 <= len(raw) <= ENTRIES_MAX:
        sentence = f"must be a list of 1 to {ENTRIES_MAX} entries, each an object with a caller_id or an email"
        raise ProblemError("validation_failed", "Send the entries as JSON.", {"entries": [sentence]})
    faults: dict[str, list[str]] = {}
    found: dict[str, SuppressionEntry] = {}
    for number, one in enumerate(raw):
        entry = read_entry(exchange, one, known, f"entries[{number}]", faults)
        if entry is not None:
            found[entry.contact_key] = entry
    if faults:
        shown = dict(list(faults.items())[:FAULTS_MAX])
        raise ProblemError("validation_failed", "Correct the entries listed in errors and resend; none was stored.", shown)
    return list(found.values())


def read_entry(
    exchange: Exchange, one: Any, known: Sequence[str], place: str, faults: dict[str, list[str]]
) -> SuppressionEntry | None:
    """Return an entry, or None; what is wrong with its fields is added to the faults, under its place."""
    if not isinstance(one, Mapping):
        faults[place] = ["must be an object with a caller_id or an email"]
        return None
    unknown = [str(name) for name in one if name not in known]
    if unknown:
        faults[f"{place}.{unknown[0][:100]}"] = [f"is no field of an entry{did_you_mean(unknown[0], known)}"]
    parameters = Parameters(one)
    text = parameters.read("caller_id", _number_text)
    email = parameters.read("email", parse_email)
    if is_blank(one.get("caller_id")) == is_blank(one.get("email")):
        parameters.refuse("caller_id", "must be given, or an email in its place, not both: each is a contact of its own")
    source = parameters.text("source")
    expires_at = parameters.read("expires_at", partial(parse_local_moment, zone_name=exchange.time_zone))
    if expires_at is not None and expires_at <= exchange.now:
        parameters.refuse("expires_at", "must be after now")
    faults.update({f"{place}.{name}": sentences for name, sentences in parameters.errors.items()})
    if text is not None:
        countries = known_countries(exchange.services.source.rules, exchange.company_id)
        key, unread = key_of_number(exchange.company_id, text, countries)
        return SuppressionEntry(key, source, expires_at, unread)
    address = contact_key(exchange.company_id, None, email)
    return None if address is None else SuppressionEntry(address, source, expires_at)


def _number_text(value: Any) -> str:
    """Return what was sent as a number: who is not to be contacted is listed in any form that has digits."""
    text = parse_text(value)
    if not is_attempt(text):
        raise FieldError("must be a valid telephone number such as +13055550123")
    return text


_COLUMNS = tuple(column.name for column in SUPPRESSION_COLUMNS)
_PATH = f"{LIST.path}/{{id}}/entries"
_SHARED = ("page", "per_page", "cursor", "columns", "root", "time_zone")
_BARE = {"root": "false: the bare counts"}
_TYPES: Mapping[str, Schema] = {"caller_id": TEXT, "email": EMAIL, "source": TEXT, "expires_at": LOCAL_MOMENT}


def _entries(known: Sequence[str]) -> Schema:
    one = {"type": "object", "properties": {name: _TYPES[name] for name in known}, "additionalProperties": False}
    return {"type": "array", "minItems": 1, "maxItems": ENTRIES_MAX, "items": one}


def _change(name: str, path: str, summary: str, *, listed: bool) -> Operation:
    return Operation(
        name=f"{name}_suppression_entries",
        methods=("POST",),
        path=path,
        summary=summary,
        handler=partial(change, listed=listed),
        scope=f"suppression_list:{name}",
        rate="submission",
        safe=False,
        records="visible",
        body_bytes_max=ENTRIES_BYTES_MAX,
        parameters={"entries": f"up to {ENTRIES_MAX} entries, each with a caller_id or an email", **_BARE},
        types={"entries": _entries(ADDED if listed else _REMOVED)},
        required=("entries",),
        answer=one_of("suppression_batch", "SuppressionBatch"),
        has_result=False,
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_suppression_entries",
        methods=("GET",),
        path=_PATH,
        summary="List who is on a suppression list",
        handler=index,
        scope="suppression_list:read",
        records="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in _SHARED},
            "number": "entry of this telephone number",
            "source": "entries of this source",
            "expires_at_from": "entries that expire at or after",
            "expires_at_to": "entries that expire before",
        },
        types={"source": TEXT, "expires_at_from": LOCAL_MOMENT, "expires_at_to": LOCAL_MOMENT},
        answer=many_of("suppression_entries", "SuppressionEntry"),
        suffixes=("", ".csv", ".json"),
    ),
    _change("add", _PATH, "Put people on a suppression list", listed=True),
    _change("remove", f"{_PATH}/remove", "Take people off a suppression list", listed=False),
)
