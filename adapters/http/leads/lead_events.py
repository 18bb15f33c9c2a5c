"""What was decided of a lead, and in which hours may it not be contacted? Its facts in order, each with its decision."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import sees_whole_leads
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.schema.inputs import whole
from adapters.http.schema.shapes import ID_SHOWN, UUID_SHOWN, one_of
from adapters.why.lead_history import lead_of
from engine.calendar import day_start, local_datetime
from engine.contact.schedule.cadence import cadence_of, home_zone
from engine.contact.timing.closed_hours import SPAN_MAX, closed_hours
from engine.contact.timing.contact_hours import TELEPHONE
from engine.law.company import law_of
from engine.rules import Rules
from engine.views.cells import moment
from schemas.contact import Lead
from schemas.instant import DAY, Instant, from_datetime, to_rfc3339
from schemas.records import Schedule

EVENTS_MAX = 1_000
"""Events of one answer, as many as one `why` reads."""

DAYS_AROUND = 2
"""Closed hours are shown from the first event, of two months at most, until so many days after the last or the next."""

Row = Mapping[str, Any]


async def events(exchange: Exchange) -> Reply:
    """Answer with what was decided of a lead, deleted or not, oldest first; the newest where there is more."""
    row = await exchange.reads.lead(exchange.company_id, exchange.path_id("lead"))
    if row is None:
        raise not_found("lead")
    parameters = Parameters(exchange.query)
    limit = parameters.whole("limit", least=1, most=EVENTS_MAX) or EVENTS_MAX
    parameters.finish()
    services, now = exchange.services, exchange.now
    facts = await services.reads.facts_of(exchange.company_id, row["id"], before=now + DAY, limit=limit + 1)
    rules, lead = services.source.rules, lead_of(row)
    instants = [from_datetime(fact["at"]) for fact in facts[:limit]]
    is_whole = sees_whole_leads(exchange)
    zone, closed = await services.engine.run(exchange.company_id, partial(_hours, rules, lead, instants, now))
    sources = {rule.id: rule.source_url for rule in law_of(rules, exchange.company_id).rules.values()}
    found = {
        "id": row["id"],
        "uuid": str(row["uuid"]),
        "created_at": moment(row["created_at"]),
        "time_zone": zone if is_whole else exchange.time_zone,
        "has_earlier": len(facts) > limit,
        "events": [_event(fact, sources, is_whole=is_whole) for fact in reversed(facts[:limit])],
        "closed_hours": closed if is_whole else [],
    }
    return reply_with_record(exchange, "lead", found)


def _event(fact: Row, sources: Mapping[str, str], *, is_whole: bool) -> dict[str, Any]:
    """Return a fact as an event; without what it recorded for who does not see whole leads: it may be any value of one."""
    data: Mapping[str, Any] = (fact["data"] or {}) if is_whole else {}
    rules = dict.fromkeys(rule for moved in data.get("constraints", ()) for rule in moved.get("rules", ()))
    return {
        "id": f"{fact['partition']}-{fact['sequence']}-{fact['ordinal']}",
        "created_at": moment(fact["at"]),
        "event": fact["type"],
        "topic": fact["topic"],
        "partition": fact["partition"],
        "sequence": fact["sequence"],
        "digest": fact["digest"].hex(),
        "rules": [{"rule": rule, "source_url": sources.get(rule)} for rule in rules],
        "data": data,
    }


def _hours(rules: Rules, lead: Lead, instants: Sequence[Instant], now: Instant) -> tuple[str, list[dict[str, Any]]]:
    """Return the clock of a lead, and when calls and texts are closed around its events."""
    schedule = rules.schedule(lead.schedule_id or 0, lead.schedule_version or 0) or Schedule(name="", lead_token="")
    cadence, law = cadence_of(schedule), law_of(rules, lead.company_id)
    zone = home_zone(lead, cadence)
    last = max([now, *instants, *([lead.next_action_at] if lead.next_action_at is not None else [])])
    first = max(min([now, *instants]), last - (SPAN_MAX - 2 * DAYS_AROUND * DAY))
    begins, ends = (day_start(local_datetime(at, zone).date(), zone) for at in (first, last + DAYS_AROUND * DAY))
    return zone, [
        {"channel": channel, "from": to_rfc3339(one.begins_at), "to": to_rfc3339(one.ends_at), "by": one.by}
        for channel in sorted(TELEPHONE)
        for one in closed_hours(law, lead, cadence, channel, begins_at=begins, ends_at=ends)
    ]


_EVENT = {
    "type": "object",
    "required": ["id", "created_at", "event", "topic", "partition", "sequence", "digest", "rules", "data"],
    "properties": {
        "id": {"type": "string"},
        "created_at": {"type": "string", "format": "date-time"},
        "event": {"type": "string", "description": "what was decided, in the past tense"},
        "topic": {"type": "string"},
        "partition": {"type": "integer"},
        "sequence": {"type": "integer", "description": "number of the decision in its partition, chained by hash"},
        "digest": {
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
            "description": "hash (BLAKE2b, 16 bytes) of the decision's record, which the next decision repeats as `prev`",
        },
        "rules": {
            "type": "array",
            "description": "rows of the rule pack that moved the plan",
            "items": {
                "type": "object",
                "required": ["rule", "source_url"],
                "properties": {"rule": {"type": "string"}, "source_url": {"type": ["string", "null"]}},
            },
        },
        "data": {"type": "object", "description": "as it is recorded: instants are milliseconds since 1970"},
    },
}

_CLOSED = {
    "type": "object",
    "required": ["channel", "from", "to", "by"],
    "properties": {
        "channel": {"type": "string", "enum": sorted(TELEPHONE)},
        "from": {"type": "string", "format": "date-time"},
        "to": {"type": "string", "format": "date-time"},
        "by": {"type": "string", "enum": ["law", "schedule"]},
    },
}

_EVENTS: Mapping[str, Any] = {
    "title": "Events of a lead",
    "type": "object",
    "required": ["id", "uuid", "created_at", "time_zone", "has_earlier", "events", "closed_hours"],
    "properties": {
        "id": ID_SHOWN,
        "uuid": UUID_SHOWN,
        "created_at": {"type": "string", "format": "date-time"},
        "time_zone": {"type": "string", "description": "whose clock its waits are read on"},
        "has_earlier": {"type": "boolean", "description": "whether there are more events, before these"},
        "events": {"type": "array", "items": _EVENT},
        "closed_hours": {
            "type": "array",
            "description": "by the schedule version and the rules of now: around the events, of two months at most",
            "items": _CLOSED,
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_lead_events",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/{id}/events",
        summary="List what was decided of a lead, oldest first, with the hours in which it may not be contacted",
        handler=events,
        scope="lead:read",
        parameters={
            "limit": f"newest events to show, 1 to {EVENTS_MAX}; default: {EVENTS_MAX}",
            "root": PAGING_PARAMETERS["root"],
        },
        types={"limit": whole(1, EVENTS_MAX)},
        answer=one_of("lead", _EVENTS),
    ),
)
