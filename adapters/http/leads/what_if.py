"""What would other hours or limits of a schedule change for the leads that wait now? Answered from the projection."""

from functools import partial
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.limited_reads import limit_reads
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import require_row
from adapters.http.records.previews import decode_structure
from adapters.http.schema.inputs import record_inputs, whole
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, nullable, one_of
from adapters.why.what_if import SECONDS_MAX, what_if
from engine.why.what_if import AHEAD_HOURS, CHANGED, SHOWN_MAX, WITHIN_HOURS, read_change
from schemas.records import Schedule
from schemas.wire import from_builtins

LIMIT_DEFAULT = 500
LIMIT_MAX = 1_000
"""Most leads of one answer: each is simulated twice, in one or two milliseconds."""

SCHEDULE_SCOPE = "schedule:read"
_SCHEDULE = "schedule"


async def forecast_schedule_change(exchange: Exchange) -> Reply:
    """Answer with what a change would change."""
    parameters = Parameters(exchange.fields)
    parameters.require("schedule_id")
    reference = parameters.reference("schedule_id", _SCHEDULE)
    limit = parameters.whole("limit", least=1, most=LIMIT_MAX) or LIMIT_DEFAULT
    parameters.finish()
    schedule_id, schedule = await _published(exchange, reference or 0)
    given = {name: decode_structure(exchange.fields[name]) for name in CHANGED if name in exchange.fields}
    services, company_id = exchange.services, exchange.company_id
    found = await what_if(
        services.reads,
        services.source.rules,
        company_id,
        schedule_id=schedule_id,
        change=read_change(given, schedule),
        now=exchange.now,
        limit=limit,
        run=partial(services.engine.run, company_id),
        monotonic=services.monotonic,
    )
    return reply_with_record(exchange, "what_if", found)


async def _published(exchange: Exchange, reference: int | str) -> tuple[int, Schedule]:
    """Return the id and body of a schedule that the sender's teams show. Raises `ProblemError` not_found."""
    visible = limit_reads(exchange.services.reads, exchange.key.visibility(SCHEDULE_SCOPE), _SCHEDULE)
    row = require_row(await visible.record(exchange.company_id, _SCHEDULE, reference), _SCHEDULE)
    return row["id"], from_builtins(row["body"], Schedule)


_COUNT = {"type": "integer", "minimum": 0}

_MOVED = {
    "type": "object",
    "required": ["leads", "hours_median", "hours_max", "unmeasured"],
    "properties": {
        "leads": _COUNT,
        "hours_median": nullable("number", description="by how many hours, of the leads with a contact on both sides"),
        "hours_max": nullable("number"),
        "unmeasured": {**_COUNT, "description": "leads with a contact on one side alone, which count no hours"},
    },
}

_WITHIN = ", ".join(str(hours) for hours in WITHIN_HOURS[:-1]) + f" and {WITHIN_HOURS[-1]}"

_ANSWER: dict[str, Any] = {
    "title": "What a change would change",
    "type": "object",
    "required": [
        *("schedule_id", "waiting", "limit", "left_out", "from", "to", "judged", "cut", "due", "earlier", "later", "within"),
        *("expiring", "held", "leads", "assumed"),
    ],
    "properties": {
        "schedule_id": ID_SHOWN,
        "waiting": nullable("integer", description="leads of the schedule that wait; null: more than 10,000"),
        "limit": _COUNT,
        "left_out": nullable(
            "integer",
            description=f"waiting leads beyond the limit, or beyond {SECONDS_MAX:.0f} seconds; null: more than 10,000 wait",
        ),
        "from": {"type": "string", "format": "date-time"},
        "to": {
            "type": "string",
            "format": "date-time",
            "description": f"{AHEAD_HOURS} hours later; a contact after that counts as none",
        },
        "judged": {**_COUNT, "description": "leads whose next contact was found for both sides"},
        "cut": {**_COUNT, "description": "leads whose simulation did not finish; they count nowhere else"},
        "due": {**_COUNT, "description": "leads that may be contacted at once, with and without the change"},
        "earlier": {**_MOVED, "description": "leads whose next contact comes earlier with the change"},
        "later": {**_MOVED, "description": "leads whose next contact comes later with the change, or not at all"},
        "within": {
            "type": "array",
            "description": f"leads whose next contact comes within {_WITHIN} hours, as it is and with the change",
            "items": {
                "type": "object",
                "required": ["hours", "now", "changed"],
                "properties": {"hours": _COUNT, "now": _COUNT, "changed": _COUNT},
            },
        },
        "expiring": {
            "type": "object",
            "description": "leads that expire before their next contact",
            "required": ["now", "changed", "no_longer"],
            "properties": {"now": _COUNT, "changed": _COUNT, "no_longer": _COUNT},
        },
        "held": {
            "type": "array",
            "description": "leads that gain nothing and are not due, by the rule that decides their time with the change",
            "items": {
                "type": "object",
                "required": ["status_wait", "leads"],
                "properties": {
                    "status_wait": {
                        "type": "string",
                        "description": "as of a lead; not_due: no rule holds it, or the status with which it ends",
                    },
                    "leads": _COUNT,
                },
            },
        },
        "leads": {
            "type": "array",
            "description": f"the first {SHOWN_MAX} leads that gain, those that would have no contact first, then by hours",
            "items": {
                "type": "object",
                "required": ["lead_id", "now", "changed"],
                "properties": {"lead_id": ID_SHOWN, "now": MOMENT_SHOWN, "changed": MOMENT_SHOWN},
            },
        },
        "assumed": {"type": "array", "items": {"type": "string"}},
    },
}

_FIELDS = record_inputs("schedule", CHANGED)

_SAID = {
    "windows": "hours of the channels that it names, in place of theirs; an empty list leaves a channel to the law",
    "min_spacing": "in place of that of the schedule; null: none",
    "max_contact_attempts": "in place of that of the schedule; null: none; a lead with one of its own keeps it",
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="forecast_schedule_change",
        methods=("POST",),
        path="/api/v1/leads/forecast/what_if",
        summary="Forecast what other hours or limits of a schedule would change for its leads that wait now",
        handler=forecast_schedule_change,
        scope="lead:read",
        also=SCHEDULE_SCOPE,
        rate="report",
        parameters={"root": PAGING_PARAMETERS["root"]},
        body={
            "type": "object",
            "required": ["schedule_id"],
            "properties": {
                "schedule_id": {"description": "the id or uuid of a schedule"},
                **{name: {**_FIELDS[name], "description": sentence} for name, sentence in _SAID.items()},
                "limit": {
                    **whole(1, LIMIT_MAX),
                    "description": "most leads to judge, those that expire uncontacted or wait without a time first, then "
                    f"the soonest; default: {LIMIT_DEFAULT}",
                },
            },
        },
        answer=one_of("what_if", _ANSWER),
        problems=("not_found",),
    ),
)
