"""Why is a lead (not) acted on at an instant, and what will be due? Answered from the projection."""

from functools import partial
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import cut_explanation
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.schema.inputs import whole
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, UUID_SHOWN, nullable, one_of
from adapters.why.lead_history import read_lead_history
from adapters.why.outlook import outlook_of
from engine.why.answer import explain, out_of_range
from engine.why.model import VERDICTS, shown
from engine.why.outlook import HOURS_MAX

HOURS_DEFAULT = 24

FORECAST_DEFAULT = 1_000
FORECAST_MAX = 5_000
"""Most leads of one forecast over HTTP, about a millisecond each; the command takes more."""


async def why(exchange: Exchange) -> Reply:
    """Answer for one lead, deleted or not."""
    services, now = exchange.services, exchange.now
    row = await exchange.reads.lead(exchange.company_id, exchange.path_id("lead"))
    if row is None:
        raise not_found("lead")
    parameters = Parameters(exchange.query)
    at = parameters.instant("at", parameters.zone("time_zone", exchange.time_zone))
    fault = None if at is None else out_of_range(at, now)
    if fault is not None:
        parameters.refuse("at", fault)
    parameters.finish()
    asked = now if at is None else at
    rules = services.source.rules
    is_whole = exchange.reads is services.reads
    history = await read_lead_history(services.reads, rules, row, at=asked, now=now, with_queue=is_whole)
    # In the engine thread: simulating a year of a lead takes some tenths of a second.
    answer = await services.engine.run(exchange.company_id, explain, history, asked, now)
    return reply_with_record(exchange, "why", cut_explanation(exchange, shown(answer, history.known.lead)))


async def forecast(exchange: Exchange) -> Reply:
    """Answer with what will be due in the next hours."""
    parameters = Parameters(exchange.query)
    hours = parameters.whole("hours", least=1, most=HOURS_MAX) or HOURS_DEFAULT
    limit = parameters.whole("limit", least=1, most=FORECAST_MAX) or FORECAST_DEFAULT
    parameters.finish()
    services, company_id = exchange.services, exchange.company_id
    found = await outlook_of(
        services.reads,
        services.source.rules,
        company_id,
        now=exchange.now,
        hours=hours,
        limit=limit,
        run=partial(services.engine.run, company_id),
    )
    return reply_with_record(exchange, "forecast", found)


_REASON = {
    "type": "object",
    "required": ["code", "sentence", "until", "zone", "rule", "source_url"],
    "properties": {
        "code": {"type": "string"},
        "sentence": {"type": "string"},
        "until": MOMENT_SHOWN,
        "zone": nullable("string"),
        "rule": nullable("string", description="the row of the rule pack"),
        "source_url": nullable("string"),
    },
}

_DECISION = nullable(
    "object",
    description="the record that the answer rests on, null where it is only foreseen",
    required=["topic", "partition", "sequence", "offset", "decided_at", "fact", "data"],
    properties={
        "topic": {"type": "string"},
        "partition": {"type": "integer"},
        "sequence": {"type": "integer"},
        "offset": nullable("integer"),
        "decided_at": {"type": "string", "format": "date-time"},
        "fact": {"type": "string"},
        "data": {"type": "object"},
    },
)

_ANSWER: dict[str, Any] = {
    "title": "Why",
    "type": "object",
    "required": ["lead_id", "at", "local_at", "time_zone", "verdict", "sentence", "reasons", "next_action_at", "decision"],
    "properties": {
        "lead_id": ID_SHOWN,
        "uuid": UUID_SHOWN,
        "at": {"type": "string", "format": "date-time"},
        "local_at": {"type": "string"},
        "time_zone": {"type": "string"},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
        "sentence": {"type": "string"},
        "reasons": {"type": "array", "items": _REASON},
        "next_action_at": MOMENT_SHOWN,
        "acts_at": MOMENT_SHOWN,
        "step_id": nullable("string"),
        "kind": nullable("string"),
        "source": nullable("string", description="schedule_step, retry, callback, explicit or call_now"),
        "base_at": MOMENT_SHOWN,
        "status": nullable("string"),
        "decision": _DECISION,
        "assumed": {"type": "array", "items": {"type": "string"}},
        "queue": nullable(
            "object",
            description="of a lead that waits for a line now, to who sees all leads: its place in the queue",
            required=["before", "waiting", "lines", "calls_last_hour", "minutes_left"],
            properties={
                "before": {"type": "integer", "description": "leads that go before it, also those of other schedules"},
                "waiting": {"type": "integer", "description": "leads that wait or ask for a line; at most 100,001"},
                "lines": nullable("integer", description="how many of them may ask at once; 50 is 50 or more"),
                "calls_last_hour": {"type": "integer", "description": "calls of this step that began in the last hour"},
                "minutes_left": nullable("integer", description="until its turn at that pace; null without a call"),
            },
        ),
        "contact": nullable(
            "object",
            description="where nothing is due: the contact that comes next, and whether the rules would allow it then",
            required=["step_id", "kind", "allowed", "reasons"],
            properties={
                "step_id": {"type": "string"},
                "kind": {"type": "string"},
                "allowed": {"type": "boolean"},
                "reasons": {"type": "array", "items": _REASON},
            },
        ),
    },
}

_COUNT = {"type": "integer", "minimum": 0}
_FORECAST: dict[str, Any] = {
    "title": "What will be due",
    "type": "object",
    "required": ["from", "to", "leads", "hours", "expiring", "caps", "held", "limit", "left_out", "cut", "assumed"],
    "properties": {
        "from": {"type": "string", "format": "date-time"},
        "to": {"type": "string", "format": "date-time"},
        "leads": {**_COUNT, "description": "leads that were simulated"},
        "hours": {
            "type": "array",
            "description": "hours of UTC in which something is due",
            "items": {
                "type": "object",
                "required": ["from", "call", "sms", "email", "webhook", "by"],
                "properties": {
                    "from": {"type": "string", "format": "date-time"},
                    **dict.fromkeys(("call", "sms", "email", "webhook"), _COUNT),
                    "by": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["state", "kind", "count"],
                            "properties": {"state": nullable("string"), "kind": {"type": "string"}, "count": _COUNT},
                        },
                    },
                },
            },
        },
        "expiring": {
            "type": "object",
            "description": "leads that expire before they may be contacted; the first hundred are named",
            "required": ["count", "leads"],
            "properties": {
                "count": _COUNT,
                "leads": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["lead_id", "expires_at", "allowed_at", "reasons"],
                        "properties": {
                            "lead_id": ID_SHOWN,
                            "expires_at": {"type": "string", "format": "date-time"},
                            "allowed_at": MOMENT_SHOWN,
                            "reasons": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                },
            },
        },
        "caps": {
            "type": "array",
            "description": "how many leads the cap of a rule holds back",
            "items": {
                "type": "object",
                "required": ["rule", "leads"],
                "properties": {"rule": {"type": "string"}, "leads": _COUNT},
            },
        },
        "held": {
            "type": "array",
            "description": "how many leads are held in the end, and why",
            "items": {
                "type": "object",
                "required": ["status_wait", "leads"],
                "properties": {"status_wait": {"type": "string"}, "leads": _COUNT},
            },
        },
        "limit": _COUNT,
        "left_out": nullable("integer", description="due leads beyond the limit; null: more than 10,000"),
        "cut": {
            **_COUNT,
            "description": "leads whose simulation did not finish",
        },
        "assumed": {"type": "array", "items": {"type": "string"}},
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="why_lead",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/{id}/why",
        summary="Explain whether a lead was, or will be, acted on at an instant, and if not, which rule holds it back",
        handler=why,
        scope="lead:read",
        rate="report",
        parameters={
            "at": "the instant in question, YYYY-MM-DD HH:MM:SS +ZZZZ or RFC 3339; default: now",
            "time_zone": "zone of an at without an offset; default: that of the company",
            "root": PAGING_PARAMETERS["root"],
        },
        answer=one_of("why", _ANSWER),
        problems=("not_found", "bad_date"),
    ),
    Operation(
        name="forecast_leads",
        methods=("GET",),
        path="/api/v1/leads/forecast",
        summary="Forecast per hour what will be due, which leads will expire unreached, and where caps hold leads back",
        handler=forecast,
        scope="lead:read",
        rate="report",
        parameters={
            "hours": f"hours to look ahead, 1 to {HOURS_MAX}; default: {HOURS_DEFAULT}",
            "limit": f"most leads to simulate, soonest first, 1 to {FORECAST_MAX}; default: {FORECAST_DEFAULT}",
            "root": PAGING_PARAMETERS["root"],
        },
        types={"hours": whole(1, HOURS_MAX), "limit": whole(1, FORECAST_MAX)},
        answer=one_of("forecast", _FORECAST),
    ),
)
