"""How many leads are due, late and in progress by channel? What a page about this moment asks again and again."""

from collections.abc import Mapping
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.shapes import COUNT_SHOWN, nullable, one_of
from adapters.reads.ports import LeadFilter
from engine.views.channels import CHANNELS, COUNTED_MAX, FIGURES, LATE, count_by_channel
from schemas.instant import MINUTE, to_rfc3339


async def of_channels(exchange: Exchange) -> Reply:
    """Answer with the leads that are due before an instant, late, and in progress, by channel."""
    parameters = Parameters(exchange.query)
    due_before = parameters.instant("due_before", exchange.time_zone)
    parameters.finish()
    due_before = exchange.now if due_before is None else due_before
    found = await exchange.reads.leads_by_step(
        exchange.company_id, LeadFilter(), due_before=due_before, late_after=LATE, limit=COUNTED_MAX
    )
    counts = count_by_channel(exchange.services.source.rules, exchange.company_id, found)
    report = {
        "due_before": to_rfc3339(due_before),
        "channels": [{"channel": name, **figures} for name, figures in counts.channels.items()],
        "totals": counts.totals,
        "at_least": counts.at_least,
    }
    return reply_with_record(exchange, "channel_report", report)


_REPORT: Mapping[str, Any] = {
    "title": "Leads by channel",
    "type": "object",
    "required": ["due_before", "channels", "totals", "at_least"],
    "properties": {
        "due_before": {"type": "string", "format": "date-time"},
        "channels": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["channel"],
                "properties": {"channel": nullable("string", enum=[*CHANNELS, None]), **dict.fromkeys(FIGURES, COUNT_SHOWN)},
            },
        },
        "totals": {"type": "object"},
        "at_least": {
            "type": "array",
            "items": {"type": "string", "enum": list(FIGURES)},
            "description": f"figures that may be more: {COUNTED_MAX:,} leads are counted, those due longest",
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_channels",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/channels",
        summary="Report how many leads are due, late and in progress on each channel",
        handler=of_channels,
        scope="lead:read",
        parameters={
            "due_before": f"due: next action before this; late: {LATE // MINUTE} minutes before; default: now",
            "root": PAGING_PARAMETERS["root"],
        },
        answer=one_of("channel_report", _REPORT),
        problems=("bad_date",),
    ),
)
