"""How is a lead updated or destroyed over HTTP? Read with the parsers of submissions, decided by its contact."""

from asyncio import sleep, timeout
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType

from adapters.http.agents.own_agent import own_agent_id
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import shown_columns
from adapters.http.exchange.people import country_of
from adapters.http.exchange.writes import accepted_reply, read_if_match, remaining_wait_seconds, submit_change
from adapters.http.leads.leads import live_row, shown
from adapters.http.leads.submissions import SUBMISSION_PARAMETERS, render
from adapters.http.schema.inputs import choice
from adapters.http.schema.shapes import LEAD_ANSWER
from adapters.reads.ports import Result, Row
from engine.account.values import GRACE_MINUTES_MAX
from engine.contact.schedule.filters import text_of
from engine.identity import contact_key
from engine.submission.columns import ALIASES, COLUMNS, SHOWN_COLUMNS
from engine.submission.fields import (
    FieldError,
    is_blank,
    parse_boolean,
    parse_decimal,
    parse_email,
    parse_id,
    parse_integer,
    parse_text,
)
from engine.submission.numbers import ParsedNumber, read_number
from engine.submission.reading import AHEAD_MAX, Reading
from schemas.contact import LIVE_STATUSES, CallbackOwner
from schemas.instant import SECOND, Instant
from schemas.records import Company
from schemas.requests import LeadDeleteRequested, LeadUpdateRequested

_OPTIONAL: Mapping[str, Callable[[Any], Any]] = {
    "blocked": parse_boolean,
    "opt_out": parse_boolean,
    "lead_priority": parse_decimal,
    "buyer_converted": parse_boolean,
    "offer_converted": parse_boolean,
}
MOVE = "move_to_another_schedule_id"
CALLBACK = ("schedule_callback_at", "schedule_callback_in_seconds")
"""Fields that say when a call is promised."""

OWNER_PARAMETERS: Mapping[str, str] = {
    "callback_agent_id": "agent who makes the callback; default: who promises it; blank: nobody",
    "callback_buyer_id": "buyer who makes the callback",
    "callback_buyer_group_id": "group that makes it, or takes over from the buyer",
    "callback_grace_minutes": "how long the owner has alone; default: the company's (15); 0: for good",
    "callback_team_grace_minutes": "how long their team has then; default: the company's (15); 0: for good",
}
OWNER = tuple(OWNER_PARAMETERS)
"""Fields that say who makes a promised call."""

_FLAGS = ("schedule_start", "schedule_stop", "resume_on_unblock", "hangup_live")
_NAMED = frozenset(
    {
        *_OPTIONAL, *_FLAGS, *COLUMNS, *ALIASES, *SHOWN_COLUMNS, "caller_id", "email", "contact_field_type",
        "next_action_at", "schedule_callback_at", "schedule_callback_in_seconds", "move_to_another_schedule_id",
        "apply_to", "data", "auth_token", "columns", "root", *OWNER, *SUBMISSION_PARAMETERS,
    }
)  # fmt: skip
_SETTABLE = frozenset({*_OPTIONAL, *_FLAGS, *COLUMNS, *ALIASES, *SUBMISSION_PARAMETERS, *CALLBACK, "next_action_at", "data"})
"""Names that a change takes, or that are refused in one: a warning is about the others."""

_SET_BY: Mapping[str, str] = {
    "callback_at": "schedule_callback_at",
    "requested_next_action_at": "next_action_at",
    "schedule_id": "move_to_another_schedule_id",
}
"""Column that cannot be set -> the field by which it changes."""

_PLACE_COLUMNS = frozenset({"time_zone", "country", "state_province", "zip_postal_code"})
"""Fields from which, with the number, the time zone and state follow."""

ARRIVAL_SECONDS = 0.02
"""Poll interval while a lead moves to the contact of its new number: a message over one topic, some 10 ms."""

UPDATE_PARAMETERS: Mapping[str, str] = {
    **{name: SUBMISSION_PARAMETERS[name] for name in ("caller_id", "email", "data", "lead_priority")},
    "contact_field_type": f"{SUBMISSION_PARAMETERS['contact_field_type']}; blank empties it",
    **{name: f"{SUBMISSION_PARAMETERS[name]}; not blank" for name in CALLBACK},
    **{name: f"{SUBMISSION_PARAMETERS[name]}; blank empties it" for name in COLUMNS},
    "blocked": "true: no action for this person, nor calls from them",
    "opt_out": "true: this person is not contacted any more; false lifts it and resumes nothing",
    **OWNER_PARAMETERS,
    "next_action_at": "when the next step may start at the earliest; blank removes it",
    "schedule_start": "true: a lead that has ended restarts its schedule; a lead of an offer, its only active one",
    "schedule_stop": "true: leave the schedule",
    "hangup_live": "true, with blocked=true or opt_out=true: a call that is answered is hung up too",
    "resume_on_unblock": "true, with blocked=false or opt_out=false: a lead that this had ended resumes at its step",
    "move_to_another_schedule_id": "schedule to move to; the present one restarts",
    "apply_to": "calls: apply the data to the calls of the lead too; or self",
    "buyer_converted": "true: the lead converted with a buyer; false: it did not",
    "offer_converted": "true: the lead converted for its traffic source; false: it did not",
}

_SUBMITTED_ONLY = SUBMISSION_PARAMETERS.keys() - UPDATE_PARAMETERS.keys() - {"lead_token"}
"""Fields that only a submission may have; the lead's own `lead_token` is accepted and ignored."""


async def update(exchange: Exchange) -> Reply:
    """Change one lead."""
    row = await live_row(exchange)
    reading = Reading(exchange.fields, exchange.now)
    reading.take_data()
    reading.take_columns()
    _empty(reading)
    reading.take_tokens(_NAMED)
    reading.check_traffic_source(exchange.services.source.rules, exchange.company_id)
    message = _update(exchange, reading, row)
    reading.close()
    warnings = (*_unchanged(exchange, row), *_without_effect(exchange, reading, row))
    return await submit_change(exchange, message, partial(_settled, message=message, row=row, warnings=warnings))


def _unchanged(exchange: Exchange, row: Row) -> Iterator[str]:
    """Yield a sentence for each column that cannot be set and was sent with another value than it has.

    A hidden one is never compared: who may not see a value would learn it by guessing.
    """
    sent = [name for name in sorted(SHOWN_COLUMNS - _SETTABLE) if name in exchange.fields]
    has = shown(exchange, row, shown_columns(exchange, sent)) if sent else {}
    for name in sent:
        if name not in has or text_of(exchange.fields[name]) != text_of(has[name]):
            by = f" Send {_SET_BY[name]}." if name in _SET_BY else ""
            yield f"{name} is set by leadclock: it was not changed.{by}"


def _without_effect(exchange: Exchange, reading: Reading, row: Row) -> Iterator[str]:
    """Yield a sentence for each field that a change may have and that changes nothing of this lead, as it was read."""
    if reading.raw.get("apply_to") == "calls" and not reading.data:
        yield "apply_to was sent without tokens: no call was changed."
    is_under_way = row["status"] in LIVE_STATUSES and row["schedule_id"] is not None
    if is_under_way and reading.flag("schedule_start", parse_boolean) and is_blank(reading.raw.get(MOVE)):
        yield f"schedule_start changed nothing: the lead is on its schedule. Send {MOVE} to restart it."
    token = reading.raw.get("lead_token")
    target = exchange.services.source.rules.target(token) if isinstance(token, str) else None
    if token and (target is None or target.id not in {row["schedule_id"], row["offer_id"]}):
        yield f"lead_token is not that of the lead: it was not moved. Send {MOVE} to move it."


async def _settled(
    exchange: Exchange, result: Result, *, message: LeadUpdateRequested, row: Row, warnings: tuple[str, ...]
) -> Reply:
    """Answer with the lead once the contact of its new number or address has it; with 202 if that takes too long."""
    caller_id = row["caller_id"] if message.caller_id is UNSET else message.caller_id
    email = row["email"] if message.email is UNSET else message.email
    if contact_key(row["company_id"], caller_id, email) != row["contact_key"]:
        try:
            async with timeout(remaining_wait_seconds(exchange)):
                while await _is_there(exchange, row):  # noqa: ASYNC110 - the row is another process's to write
                    await sleep(ARRIVAL_SECONDS)
        except TimeoutError:
            return accepted_reply(result.request_id)
    return await render(exchange, result, warnings=warnings)


async def _is_there(exchange: Exchange, row: Row) -> bool:
    """Return whether the projection still shows a lead with the contact that it leaves."""
    shown = await exchange.services.reads.shown_lead(row["company_id"], row["id"])
    return shown is not None and shown["deleted_at"] is None and shown["contact_key"] == row["contact_key"]


async def delete(exchange: Exchange) -> Reply:
    """Destroy one lead."""
    row = await live_row(exchange)
    message = LeadDeleteRequested(company_id=exchange.company_id, contact_key=row["contact_key"], lead_id=row["id"])
    return await submit_change(exchange, message, render)


def _update(exchange: Exchange, reading: Reading, row: Row) -> LeadUpdateRequested:
    fields = exchange.fields
    country = (
        reading.columns.get("country") or row["country"] or country_of(exchange.services.source.rules, exchange.company_id)
    )
    found: dict[str, Any] = {
        name: value for name, parse in _OPTIONAL.items() if (value := reading.optional(name, parse)) is not None
    }
    found |= {name: True for name in _FLAGS if reading.flag(name, parse_boolean)}
    _check_parameters(exchange, reading, row)
    _check_agreement(reading, found)
    found |= _moments(reading)
    found["callback_owner"] = read_owner(exchange, reading)
    if "schedule_callback_at" in found:
        found |= promiser(exchange)
    field_type = reading.optional("contact_field_type", parse_text)
    if field_type is not None:
        reading.columns["contact_field_type"] = field_type
    found |= {"apply_to": reading.optional("apply_to", _apply_to)}
    number = reading.number(country)
    if "caller_id" in fields:
        found["caller_id"] = None if number is None else number.e164
    if "email" in fields:
        found["email"] = reading.optional("email", parse_email)
    _check_reachable(reading, row, found)
    return LeadUpdateRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        lead_id=row["id"],
        if_versions=read_if_match(exchange),
        columns=reading.columns,
        data=reading.data,
        move_to_another_schedule_id=_schedule(exchange, reading),
        **found,
        **_place(reading, row, number, country),
    )


def _empty(reading: Reading) -> None:
    """Empty the columns that were sent blank: unlike in a submission, a blank field of an update is a value."""
    for field in (*COLUMNS, *ALIASES, "contact_field_type"):
        name = ALIASES.get(field, field)
        if field in reading.raw and is_blank(reading.raw[field]) and name not in reading.columns:
            reading.columns[name] = None


def _check_parameters(exchange: Exchange, reading: Reading, row: Row) -> None:
    """Add a fault for each field that only a submission may have, and for a callback without a time.

    A column of the lead may be sent back as it was read.
    """
    sent = sorted(_SUBMITTED_ONLY & reading.raw.keys())
    columns = shown_columns(exchange, [name for name in sent if name in SHOWN_COLUMNS])
    has = shown(exchange, row, columns) if columns else {}
    for name in sent:
        if name in has and text_of(reading.raw[name]) == text_of(has[name]):
            continue
        reading.fault(name, "goes with the submission of a lead (POST /api/v1/leads), not with its change")
    for name in CALLBACK:
        if name in reading.raw and is_blank(reading.raw[name]):
            reading.fault(name, "must not be blank; leave it out where no call is to be promised")


def _check_agreement(reading: Reading, found: Mapping[str, Any]) -> None:
    """Add a fault for a field that starts a schedule or plans an action beside one that ends the lead."""
    ending = next((name for name in ("schedule_stop", "opt_out", "blocked") if found.get(name)), None)
    if ending is None:
        return
    for beginning in ("schedule_start", "move_to_another_schedule_id", "next_action_at", *CALLBACK):
        if found.get(beginning) or (beginning not in _FLAGS and not is_blank(reading.raw.get(beginning))):
            reading.fault(beginning, f"cannot be sent together with {ending}")


def _moments(reading: Reading) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "next_action_at" in reading.raw:
        found["next_action_at"] = reading.moment_ahead("next_action_at")
    callback = read_callback_at(reading)
    if callback is not None:
        found["schedule_callback_at"] = callback
    return found


def read_callback_at(reading: Reading) -> Instant | None:
    """Return when a call is promised, or None where no time is given."""
    return reading.callback(partial(parse_integer, least=0, most=AHEAD_MAX // SECOND))


def promiser(exchange: Exchange) -> dict[str, Any]:
    """Return who promises a call by a request: the agent of the key's person, else a program."""
    agent_id = own_agent_id(exchange)
    return {} if agent_id is None else {"promised_by": "agent", "promised_agent_id": agent_id}


def read_owner(exchange: Exchange, reading: Reading) -> CallbackOwner | UnsetType | None:
    """Return who makes the callback: UNSET where nothing is said, None where nobody owns it."""
    ids = {name: reading.optional(name, parse_id) for name in OWNER[:3]}
    minutes = partial(parse_integer, least=0, most=GRACE_MINUTES_MAX)
    graces = {name: reading.optional(name, minutes) for name in OWNER[3:]}
    agent_id, buyer_id, group_id = ids.values()
    if agent_id is not None and (buyer_id is not None or group_id is not None):
        reading.fault("callback_agent_id", "must be left out where a buyer or a group makes the callback")
    if agent_id is None and buyer_id is None and group_id is None:
        for name in (name for name, given in graces.items() if given is not None):
            reading.fault(name, "goes with callback_agent_id, callback_buyer_id or callback_buyer_group_id")
        return None if any(name in reading.raw for name in OWNER[:3]) else UNSET
    company = exchange.services.source.rules.body(Company, "company", exchange.company_id) or Company(name="")
    alone, team = graces.values()
    return CallbackOwner(
        buyer_id,
        group_id,
        company.callback_grace_minutes if alone is None else alone,
        agent_id,
        company.callback_team_grace_minutes if team is None else team,
    )


def _check_reachable(reading: Reading, row: Row, found: Mapping[str, Any]) -> None:
    caller_id = found.get("caller_id", row["caller_id"])
    email = found.get("email", row["email"])
    if caller_id is None:
        reading.refuse_callback()
    if "caller_id" not in reading.errors and contact_key(row["company_id"], caller_id, email) is None:
        field, other = ("caller_id", "email") if row["caller_id"] else ("email", "caller_id")
        reading.fault(field, f"cannot be emptied where the lead has no {other}")


def _schedule(exchange: Exchange, reading: Reading) -> int | None:
    schedule_id = reading.optional("move_to_another_schedule_id", parse_id)
    if schedule_id is None:
        return None
    if not exchange.services.source.rules.owns(exchange.company_id, "schedule", schedule_id):
        reading.fault("move_to_another_schedule_id", f"names no schedule: {schedule_id}")
    return schedule_id


def _place(reading: Reading, row: Row, number: ParsedNumber | None, country: str) -> dict[str, Any]:
    """Return new zones and states if a field from which they follow has changed."""
    if "caller_id" not in reading.raw and not (_PLACE_COLUMNS & reading.columns.keys()):
        return {}
    stated = {name: row[name] for name in _PLACE_COLUMNS if row[name] is not None}
    known = Reading({}, reading.received_at)
    known.columns = {**stated, **reading.columns}
    if "caller_id" not in reading.raw and row["caller_id"]:
        number = read_number(row["caller_id"], country)
    place = known.place(country, number)
    return {"zones": place.zones, "zone_source": place.source, "states": place.states}


def _apply_to(value: Any) -> str:
    if value not in {"calls", "self"}:
        raise FieldError("must be calls or self")
    return str(value)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="update_lead",
        leads="visible",
        methods=("PUT", "PATCH"),
        path="/api/v1/leads/{id}",
        summary="Update a lead",
        handler=update,
        scope="lead:update",
        auth_token=True,
        rate="write",
        safe=False,
        extra="tokens",
        parameters=UPDATE_PARAMETERS,
        types={"apply_to": choice(["calls", "self"])},
        answer=LEAD_ANSWER,
        problems=("lead_not_live", "suppressed_contact", "version_conflict"),
    ),
    Operation(
        name="delete_lead",
        leads="visible",
        methods=("DELETE",),
        path="/api/v1/leads/{id}/id",
        summary="Destroy a lead; the ledger of its number stays",
        handler=delete,
        scope="lead:delete",
        auth_token=True,
        rate="write",
        safe=False,
        answer=LEAD_ANSWER,
    ),
)
