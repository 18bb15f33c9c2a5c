"""What would a schedule do to a lead? The engine runs on a virtual clock; nothing is stored."""

from functools import partial
from typing import Any

import msgspec

from adapters.http.exchange.answers import reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import read_id
from adapters.http.exchange.problems import ProblemError, require_row
from adapters.http.records.record_fields import settable
from adapters.http.schema.inputs import MOMENT, record_inputs, whole
from adapters.http.schema.shapes import MOMENT_SHOWN, nullable, one_of
from engine.preview import US_COMPANY, preview, read_trial, shown
from engine.preview.trial import FIELDS, LIMIT_MAX
from schemas.records import ActionGroup, Company, Schedule
from schemas.wire import from_builtins

_OURS = frozenset({"auth_token", "root"})
_SCHEDULE_ID = "schedule_id"
_STRUCTURES = frozenset({"schedule", "lead", "outcomes", "history"})
"""In a form, as JSON."""


async def preview_schedule(exchange: Exchange) -> Reply:
    """Answer with everything that the schedule would do."""
    fields = {
        name: decode_structure(value) if name in _STRUCTURES else value
        for name, value in exchange.fields.items()
        # An unknown query parameter gets here only if the company's `unknown_parameters` is `ignore`.
        if name in FIELDS or (name not in exchange.query and name not in _OURS)
    }
    schedule_id = exchange.fields.get(_SCHEDULE_ID)
    fields.pop(_SCHEDULE_ID, None)
    published = None if schedule_id is None else await _published(exchange, schedule_id)
    trial = read_trial(fields, now=exchange.now, published=published, group_of=partial(_group, exchange))
    # In the engine thread: a thousand actions take some tenths of a second, which would delay other requests.
    rules = exchange.services.source.rules
    company = rules.body(Company, "company", exchange.company_id) or US_COMPANY
    packs, _ = rules.own_law(exchange.company_id)
    make = partial(preview, company=company, rule_packs=packs)
    forecast = await exchange.services.engine.run(exchange.company_id, make, trial)
    return reply_with_record(exchange, "preview", shown(forecast))


async def _published(exchange: Exchange, schedule_id: Any) -> tuple[int, Schedule]:
    """Return the id of a schedule of the company, and its published version. Raises `ProblemError`."""
    found = read_id(str(schedule_id))
    if found is None:
        sentence = "must be the id or uuid of a schedule, or left out where schedule is given"
        raise ProblemError("validation_failed", "Correct schedule_id and resend.", {_SCHEDULE_ID: [sentence]})
    row = await exchange.reads.record(exchange.company_id, "schedule", found)
    row = require_row(row, "schedule")
    return row["id"], from_builtins(row["body"], Schedule)


def _group(exchange: Exchange, group_id: int) -> ActionGroup | None:
    rules = exchange.services.source.rules
    is_own = rules.owns(exchange.company_id, "action_group", group_id)
    return rules.body(ActionGroup, "action_group", group_id) if is_own else None


def decode_structure(value: Any) -> Any:
    """Return a structure that a form sent as JSON; anything else as it is, for its reader to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


_BODY = {
    "type": "object",
    "required": ["lead"],
    "properties": {
        "schedule": {
            "description": "as it would be published",
            "type": "object",
            "properties": record_inputs("schedule", settable("schedule")),
            "additionalProperties": False,
        },
        "schedule_id": {"description": "instead of schedule: the id or uuid of one that is published"},
        "lead": {"type": "object", "description": "as it is submitted; its lead_token is not needed"},
        "at": {**MOMENT, "description": "when it is submitted, YYYY-MM-DD HH:MM:SS +ZZZZ or RFC 3339; default: now"},
        "outcomes": {
            "type": "object",
            "description": "outcome of a step, by its id or else its kind; default: the good one",
            "additionalProperties": {"type": "string"},
        },
        "history": {
            "type": "array",
            "description": "earlier calls and texts to this number",
            "items": {
                "type": "object",
                "required": ["kind", "at"],
                "properties": {
                    "kind": {"enum": ["call", "sms"]},
                    "at": MOMENT,
                    "outcome": {"type": "string"},
                },
            },
        },
        "limit": {**whole(1, LIMIT_MAX), "description": "actions to show; default: 20"},
        "closed_hours": {
            "type": "boolean",
            "description": "also show when calls and texts are closed by law and by the schedule; default: false",
        },
    },
}

_ANSWER = {
    "title": "A preview",
    "type": "object",
    "required": ["actions", "end_status", "ended_at", "status_wait"],
    "properties": {
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["step_id", "kind", "at", "local_at", "time_zone", "attempt", "reasons", "rule"],
                "properties": {
                    "step_id": nullable("string"),
                    "kind": {"type": "string"},
                    "at": {"type": "string", "format": "date-time"},
                    "local_at": {"type": "string"},
                    "time_zone": nullable("string"),
                    "attempt": nullable("integer"),
                    "reasons": {"type": "array", "items": {"type": "string"}},
                    "rule": nullable("string", description="the row of the law that moved it last, such as us-or"),
                },
            },
        },
        "end_status": nullable("string"),
        "ended_at": MOMENT_SHOWN,
        "status_wait": nullable("string"),
        "warnings": {
            "type": "array",
            "description": "what a submission of this lead would be warned of; left out where there is nothing",
            "items": {"type": "string"},
        },
        "closed_hours": {
            "type": "array",
            "description": "where it is asked for: spans around the plan, of two months at most",
            "items": {
                "type": "object",
                "required": ["channel", "from", "to", "by"],
                "properties": {
                    "channel": {"type": "string", "enum": ["call", "sms"]},
                    "from": {"type": "string", "format": "date-time"},
                    "to": {"type": "string", "format": "date-time"},
                    "by": {"type": "string", "enum": ["law", "schedule"]},
                },
            },
        },
    },
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="preview_schedule",
        leads="none",
        records="visible",
        methods=("POST",),
        path="/api/v1/schedules/preview",
        summary="Preview a schedule: what it would do to a lead, when, and why then",
        handler=preview_schedule,
        scope="schedule:read",
        rate="report",
        safe=True,
        extra="checked_by_handler",
        body=_BODY,
        answer=one_of("preview", _ANSWER),
        problems=("invalid_schedule", "schedule_inactive", "unknown_lead_token"),
    ),
)
