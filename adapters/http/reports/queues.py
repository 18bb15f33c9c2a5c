"""Which leads wait for a line, by step: how many, since when, for how many lines, and how fast do these become free?"""

from collections.abc import Mapping
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.shapes import COUNT_SHOWN, ID_SHOWN, MOMENT_SHOWN, nullable, one_of
from engine.why.model import minutes_until
from schemas.instant import HOUR, from_datetime, to_rfc3339

QUEUES_MAX = 100
"""Steps with leads that wait, those with the most first: a page shows no more."""


async def of_queues(exchange: Exchange) -> Reply:
    """Answer with the leads that wait for a line, by step and by what their queue waits for."""
    Parameters(exchange.query).finish()
    now = exchange.now
    rows = await exchange.services.reads.slot_queues_by_step(
        exchange.company_id, since=now - HOUR, now=now, limit=QUEUES_MAX
    )
    return reply_with_record(exchange, "queue_report", {"queues": [_shown(row) for row in rows]})


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    moments = {name: row[name] and to_rfc3339(from_datetime(row[name])) for name in ("oldest_due_at", "next_action_at")}
    left = minutes_until(row["waiting"], row["calls_last_hour"])
    return {**row, **moments, "minutes_left": left}


_REPORT: Mapping[str, Any] = {
    "title": "Leads that wait for a line",
    "type": "object",
    "required": ["queues"],
    "properties": {
        "queues": {
            "type": "array",
            "description": f"at most {QUEUES_MAX}, those with the most leads first",
            "items": {
                "type": "object",
                "required": ["schedule_id", "step", "status_wait", "waiting", "oldest_due_at", "calls_last_hour"],
                "properties": {
                    "schedule_id": ID_SHOWN,
                    "step": {"type": "string"},
                    "status_wait": {"type": "string", "description": "what they wait for: concurrency_cap is a line"},
                    "waiting": COUNT_SHOWN,
                    "oldest_due_at": MOMENT_SHOWN,
                    "next_action_at": {**MOMENT_SHOWN, "description": "when what has closed the queue ends, where known"},
                    "lines": nullable("integer", description="how many may ask at once; 50 is 50 or more"),
                    "calls_last_hour": {**COUNT_SHOWN, "description": "calls of the step that began in the last hour"},
                    "minutes_left": nullable("integer", description="until all were called, at that pace"),
                },
            },
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_queues",
        methods=("GET",),
        path="/api/v1/leads/queues",
        summary="Count the leads that wait for a line, by step, with the pace at which lines become free",
        handler=of_queues,
        scope="lead:read",
        rate="report",
        parameters={"root": PAGING_PARAMETERS["root"]},
        answer=one_of("queue_report", _REPORT),
    ),
)
