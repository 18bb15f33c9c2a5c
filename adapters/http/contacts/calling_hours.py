"""When does the law allow a call or text in each state today? The company's law, computed as every contact is planned."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, cast

from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.inputs import choice
from adapters.http.schema.shapes import one_of
from engine.calendar import day_start, local_datetime
from engine.law.company import law_of
from engine.law.pack import YEARS, CompiledRulePack
from engine.law.state_hours import MAPPED, StateHours, state_hours
from schemas.instant import Instant, to_datetime, to_rfc3339
from schemas.law import PURPOSES, Purpose

CHANNELS = ("call", "sms")
"""Channels that have legal hours."""

ROOT = "calling_hours"


async def show(exchange: Exchange) -> Reply:
    """Answer with the open hours of every state on one day."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    at = parameters.instant("at", zone_name) or exchange.now
    channel = parameters.choice("channel", CHANNELS) or CHANNELS[0]
    purpose = cast("Purpose", parameters.choice("purpose", PURPOSES) or PURPOSES[0])
    if to_datetime(at).year not in YEARS:
        parameters.refuse("at", f"must be of the years {YEARS.start} to {YEARS.stop - 1}", code="bad_date")
    parameters.finish()
    begins_at, ends_at = _day(at, zone_name)
    law = law_of(exchange.services.source.rules, exchange.company_id)
    # In the engine thread: the public holidays of a year take a second to load, which would delay other requests.
    make = partial(_states, law, channel, purpose, begins_at=begins_at, ends_at=ends_at)
    states = await exchange.services.engine.run(exchange.company_id, make)
    shown = {
        "channel": channel,
        "purpose": purpose,
        "time_zone": zone_name,
        "at": to_rfc3339(at),
        "from": to_rfc3339(begins_at),
        "to": to_rfc3339(ends_at),
        "states": [_shown(hours, at) for hours in states],
    }
    return reply_with_record(exchange, ROOT, shown)


def _day(at: Instant, zone_name: str) -> tuple[Instant, Instant]:
    """Return when the day of an instant begins and ends in a zone; it has 23 or 25 hours where clocks change."""
    day = local_datetime(at, zone_name).date()
    return day_start(day, zone_name), day_start(day + timedelta(days=1), zone_name)


def _states(
    law: CompiledRulePack, channel: str, purpose: Purpose, *, begins_at: Instant, ends_at: Instant
) -> list[StateHours]:
    return [state_hours(law, state, channel, purpose, begins_at=begins_at, ends_at=ends_at) for state in MAPPED]


def _shown(hours: StateHours, at: Instant) -> Mapping[str, Any]:
    return {
        "state": hours.state,
        "name": hours.name,
        "time_zones": list(hours.time_zones),
        "open": [{"from": to_rfc3339(begins), "to": to_rfc3339(ends)} for begins, ends in hours.open_spans],
        "is_open": hours.is_open(at),
        "rules": list(hours.rule_ids),
        "sources": list(hours.sources),
        "rules_until": None if hours.changes_at is None else to_rfc3339(hours.changes_at),
    }


_MOMENT = {"type": "string", "format": "date-time"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_SPAN = {"type": "object", "required": ["from", "to"], "properties": {"from": _MOMENT, "to": _MOMENT}}
_STATE_FIELDS: Mapping[str, Any] = {
    "state": {"type": "string"},
    "name": {"type": "string"},
    "time_zones": _TEXTS,
    "open": {"type": "array", "items": _SPAN},
    "is_open": {"type": "boolean", "description": "at the instant `at`"},
    "rules": {**_TEXTS, "description": "ids of the rows of law that hold there on that day"},
    "sources": _TEXTS,
    "rules_until": {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "when other rows hold there; null: no change is known",
    },
}
_FIELDS: Mapping[str, Any] = {
    "channel": {"type": "string", "enum": list(CHANNELS)},
    "purpose": {"type": "string", "enum": list(PURPOSES)},
    "time_zone": {"type": "string"},
    "at": _MOMENT,
    "from": _MOMENT,
    "to": _MOMENT,
    "states": {
        "type": "array",
        "items": {"type": "object", "required": list(_STATE_FIELDS), "properties": _STATE_FIELDS},
    },
}
_ANSWER = {"title": "Calling hours of a day", "type": "object", "required": list(_FIELDS), "properties": _FIELDS}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="show_calling_hours",
        leads="none",
        methods=("GET",),
        path="/api/v1/calling_hours",
        summary="Show when the law allows calls or texts in each state of the United States on a day",
        handler=show,
        scope="rule_pack:read",
        rate="report",
        parameters={
            "channel": "call or sms; default: call",
            "purpose": f"of the contacts, which chooses the rules; default: {PURPOSES[0]}",
            "at": "an instant of the day that is shown; default: now",
            "time_zone": "whose day is shown; default: the time zone of the user or company",
            "root": "false: the bare record",
        },
        types={"channel": choice(CHANNELS), "purpose": choice(PURPOSES)},
        answer=one_of(ROOT, _ANSWER),
        problems=("bad_date",),
    ),
)
