"""What have contacts come to on each channel, in a span of time? What a page about the last hour asks again and again."""

from collections.abc import Mapping
from typing import Any

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.shapes import COUNT_SHOWN, one_of
from adapters.reads.ports import LeadFilter
from engine.views.channels import CHANNELS, COUNTED_MAX
from engine.views.outcomes import JUDGEMENTS, ChannelOutcomes, count_outcomes
from schemas.instant import HOUR, to_rfc3339


async def of_outcomes(exchange: Exchange) -> Reply:
    """Answer with the commands whose outcome was recorded in a span, by channel: done, failed, neither, and by outcome."""
    parameters = Parameters(exchange.query)
    since = parameters.instant("recorded_at_from", exchange.time_zone)
    until = parameters.instant("recorded_at_to", exchange.time_zone)
    parameters.finish()
    since = exchange.now - HOUR if since is None else since
    until = exchange.now if until is None else until
    found = await exchange.reads.outcomes_by_channel(
        exchange.company_id, LeadFilter(), recorded_from=since, recorded_to=until, limit=COUNTED_MAX
    )
    counts = count_outcomes(found, COUNTED_MAX)
    report = {
        "recorded_at_from": to_rfc3339(since),
        "recorded_at_to": to_rfc3339(until),
        "channels": [_shown(name, channel) for name, channel in counts.channels.items()],
        "at_least": counts.at_least,
    }
    return reply_with_record(exchange, "outcome_report", report)


def _shown(name: str, counts: ChannelOutcomes) -> dict[str, Any]:
    return {
        "channel": name,
        **{f"{judgement}_count": counts.judged[judgement] for judgement in JUDGEMENTS},
        "sent_count": counts.sent,
        "by_outcome": [{"outcome": outcome, "count": count} for outcome, count in counts.outcomes.items()],
    }


_MEANINGS: Mapping[str, str] = {
    "done_count": "the contact was made, or the provider took it and has reported no failure",
    "failed_count": "nobody was reached",
    "open_count": "neither: called off, dropped by a gateway, or never reported",
    "sent_count": "those that left for their receiver, whatever came of them: they count as attempts",
}
_BY_OUTCOME: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["outcome", "count"],
        "properties": {"outcome": {"type": "string"}, "count": COUNT_SHOWN},
    },
    "description": "commands by outcome, the most first",
}
_REPORT: Mapping[str, Any] = {
    "title": "Outcomes by channel",
    "type": "object",
    "required": ["recorded_at_from", "recorded_at_to", "channels", "at_least"],
    "properties": {
        "recorded_at_from": {"type": "string", "format": "date-time"},
        "recorded_at_to": {"type": "string", "format": "date-time"},
        "channels": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["channel"],
                "properties": {
                    "channel": {"type": "string", "enum": list(CHANNELS)},
                    **{name: {**COUNT_SHOWN, "description": meaning} for name, meaning in _MEANINGS.items()},
                    "by_outcome": _BY_OUTCOME,
                },
            },
        },
        "at_least": {
            "type": "array",
            "items": {"type": "string", "enum": list(CHANNELS)},
            "description": f"channels whose counts may be more: the newest {COUNTED_MAX:,} outcomes of each are counted",
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_outcomes",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/outcomes",
        summary="Report what contacts came to on each channel",
        handler=of_outcomes,
        scope="lead:read",
        parameters={
            "recorded_at_from": "outcomes recorded at or after; default: one hour before now",
            "recorded_at_to": "outcomes recorded before; default: now",
            "root": PAGING_PARAMETERS["root"],
        },
        answer=one_of("outcome_report", _REPORT),
        problems=("bad_date",),
    ),
)
