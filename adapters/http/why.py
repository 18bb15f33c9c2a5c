"""Was, or will, a lead be acted on at an instant, and if not, which rule? Answered from the projection; nothing is kept."""

import asyncio
from typing import Any

from adapters.http.answers import PAGING_PARAMETERS, one
from adapters.http.exchange import Exchange, Operation, Reply
from adapters.http.parameters import Parameters
from adapters.http.problems import not_found
from adapters.http.shapes import ID_SHOWN, MOMENT_SHOWN, UUID_SHOWN, nullable, one_of
from adapters.why.case import case_of
from engine.why.answer import AHEAD_MAX, VERDICTS, explain, shown
from schemas.instant import DAY


async def why(exchange: Exchange) -> Reply:
    """Answer for one lead, deleted or not."""
    services, now = exchange.services, exchange.now
    row = await services.reads.lead(exchange.company_id, exchange.path_id("lead"))
    if row is None:
        raise not_found("lead")
    parameters = Parameters(exchange.query)
    at = parameters.instant("at", parameters.zone("time_zone"))
    if at is not None and at > now + AHEAD_MAX:
        parameters.refuse("at", f"must be within {AHEAD_MAX // DAY} days from now")
    parameters.finish()
    asked = now if at is None else at
    case = await case_of(services.reads, services.source.rules, row, at=asked, now=now)
    # Beside the loop: what a lead does in a year takes some tenths of a second to try out.
    answer = await asyncio.to_thread(explain, case, asked, now)
    return one(exchange, "why", shown(answer, case.known.lead))


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
        "source": nullable("string", description="schedule_step, retry, callback or explicit"),
        "base_at": MOMENT_SHOWN,
        "status": nullable("string"),
        "decision": _DECISION,
        "assumed": {"type": "array", "items": {"type": "string"}},
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="why_lead",
        methods=("GET",),
        path="/api/v1/leads/{id}/why",
        summary="Say whether a lead was, or will be, acted on at an instant, and if not, which rule keeps it back",
        handler=why,
        scope="lead:read",
        rate="report",
        parameters={
            "at": "the instant that is asked about, YYYY-MM-DD HH:MM:SS +ZZZZ or RFC 3339; now",
            "time_zone": "zone of an at without an offset; UTC",
            "root": PAGING_PARAMETERS["root"],
        },
        answer=one_of("why", _ANSWER),
        problems=("not_found", "bad_date"),
    ),
)
