"""How many of a schedule's newest leads went on from step to step, are still there, or ended there?"""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from adapters.http.exchange.answers import PAGING_PARAMETERS, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_span
from adapters.http.leads.leads import FILTER_PARAMETERS
from adapters.http.schema.inputs import choice
from adapters.http.schema.shapes import COUNT_SHOWN, one_of
from adapters.reads.ports import LeadFilter
from engine.views.periods import LABELS
from engine.views.step_flow import FACTS_MAX, LEADS_MAX, StepCounts, count_step_flow
from schemas.contact import LeadStatus


async def of_steps(exchange: Exchange) -> Reply:
    """Answer with what became of the newest leads of a schedule at each of its steps."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    created_from, created_to = read_span(parameters, exchange.now, zone_name)
    schedule_id = parameters.id("schedule_id")
    parameters.require("schedule_id")
    if schedule_id is not None and not _has_schedule(exchange, schedule_id):
        parameters.refuse("schedule_id", f"{schedule_id} is no schedule of this company")
    parameters.finish()
    wanted = LeadFilter(schedule_id=schedule_id, created_from=created_from, created_to=created_to)
    # One more is read, which says whether these are all; its facts are not looked at.
    found = await exchange.reads.lead_paths(exchange.company_id, wanted, limit=LEADS_MAX + 1, facts=FACTS_MAX)
    looked_at = found[:LEADS_MAX]
    count = partial(count_step_flow, exchange.services.source.rules, exchange.company_id, schedule_id or 0, looked_at)
    flow = await exchange.services.engine.run(exchange.company_id, count)
    report = {
        "leads_count": len(looked_at),
        "is_complete": len(found) <= LEADS_MAX,
        "at_no_step_count": flow.nowhere,
        "cut_count": flow.cut,
        "reached_steps": [_row(step, counts) for step, counts in flow.steps.items()],
    }
    return reply_with_record(exchange, "step_report", report)


def _has_schedule(exchange: Exchange, schedule_id: int) -> bool:
    """Return whether the company has a schedule, or had it."""
    record = exchange.services.source.rules.record("schedule", schedule_id)
    return record is not None and record.company_id == exchange.company_id


def _row(step: str, counts: StepCounts) -> dict[str, Any]:
    return {
        "step_id": step,
        "reached_count": counts.reached,
        "went_on_count": counts.went_on,
        "next_steps": _most_first("step_id", counts.next),
        "still_there_count": counts.still_there,
        "ended_count": counts.ended,
        "endings": _most_first("status", counts.endings),
    }


def _most_first(name: str, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [{name: key, "leads_count": count} for key, count in rows]


_STEP: Mapping[str, Any] = {"type": "string"}


def _counted(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: schema, "leads_count": COUNT_SHOWN}
    return {"type": "array", "items": {"type": "object", "required": ["leads_count"], "properties": properties}}


_ROWS = (
    f"steps that a lead was at by its newest {FACTS_MAX} facts: in the order of the schedule, then those of earlier versions"
)
_ROW: Mapping[str, Any] = {
    "type": "object",
    "required": ["step_id", "reached_count", "went_on_count", "next_steps"],
    "properties": {
        "step_id": _STEP,
        "reached_count": {
            **COUNT_SHOWN,
            "description": "leads that were there: those that went on, are there or ended there",
        },
        "went_on_count": COUNT_SHOWN,
        "next_steps": _counted("step_id", _STEP),
        "still_there_count": COUNT_SHOWN,
        "ended_count": COUNT_SHOWN,
        "endings": _counted("status", {"type": "string", "enum": list(get_args(LeadStatus))}),
    },
}
_REPORT: Mapping[str, Any] = {
    "title": "Leads from step to step",
    "type": "object",
    "required": ["leads_count", "is_complete", "at_no_step_count", "cut_count", "reached_steps"],
    "properties": {
        "leads_count": {**COUNT_SHOWN, "description": f"leads that were looked at, the newest; at most {LEADS_MAX:,}"},
        "is_complete": {"type": "boolean", "description": "whether these are all that match"},
        "at_no_step_count": {**COUNT_SHOWN, "description": "those of them that were at no step"},
        "cut_count": {
            **COUNT_SHOWN,
            "description": "those of them whose first steps are missing: older facts are not read",
        },
        "reached_steps": {"type": "array", "items": _ROW, "description": _ROWS},
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_steps",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/steps",
        summary="Report how many leads of a schedule went on from step to step",
        handler=of_steps,
        scope="lead:read",
        rate="report",
        parameters={
            "schedule_id": FILTER_PARAMETERS["schedule_id"],
            **{name: PAGING_PARAMETERS[name] for name in ("created_at_from", "created_at_to", "time_zone", "root")},
            "created_at_label": FILTER_PARAMETERS["created_at_label"],
        },
        types={"created_at_label": choice(LABELS)},
        required=("schedule_id",),
        answer=one_of("step_report", _REPORT),
        problems=("bad_date",),
    ),
)
