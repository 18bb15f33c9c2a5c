"""Fixed data of the pictures: a schedule, a preview of it over a change of the clock, and a forecast."""

from typing import Any

from engine.preview import preview, read_trial, shown
from engine.preview.trial import Trial
from schemas.instant import EPOCH

STEPS: list[dict[str, Any]] = [
    {"id": "call-1", "kind": "call", "retry": {"no_answer": {"delay": "2h", "max": 2}}},
    {"id": "hello", "kind": "sms", "template": "Hi {{first_name}}, this is Acme Solar."},
    {
        "id": "which",
        "kind": "branch",
        "rules": [{"if": ["state:FL|GA", "age:>=65"], "goto": "mail"}, {"if": ["source:web"], "goto": "ab"}],
    },
    {"id": "wait-1", "kind": "wait", "duration": "1d"},
    {"id": "call-2", "kind": "call", "connect": {"buyer_group_id": 7}},
    {"id": "ab", "kind": "split", "paths": [{"goto": "reply", "weight": 3}, {"goto": "mail", "weight": 1}]},
    {
        "id": "reply",
        "kind": "wait_for",
        "event": "sms.received",
        "timeout": "2d",
        "on_match": "call-3",
        "on_timeout": "mail",
    },
    {"id": "call-3", "kind": "call"},
    {"id": "gone", "kind": "exit", "result": "success"},
    {"id": "mail", "kind": "email", "subject": "Your quote is ready", "template": "Hello"},
    {"id": "week", "kind": "wait", "duration": "3d"},
    {"id": "again", "kind": "branch", "rules": [{"if": ["attempts:<6"], "goto": "call-2"}]},
    {"id": "tags", "kind": "tag", "add": ["cold"]},
]

SCHEDULE: dict[str, Any] = {
    "name": "Solar, five days",
    "time_zone": "America/New_York",
    "windows": {
        "call": [
            {"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "19:00"},
            {"days": ["sat"], "open": "10:00", "close": "14:00"},
        ]
    },
    "steps": STEPS,
    "triggers": [
        {"on": "enter", "type": "tokens_match", "filters": ["returning:yes"], "goto": "reply"},
        {"on": "exit", "type": "buyer_converted", "end_result": "success"},
        {"on": "exit", "type": "replied", "goto": "call-3"},
    ],
}

QUESTION: dict[str, Any] = {
    "schedule": SCHEDULE,
    "lead": {"caller_id": "+12125550123"},
    "at": "2026-03-07 18:30:00 -0500",
    "outcomes": {"call": "no_answer"},
    "closed_hours": True,
}
"""Over the night in which New York's clock goes forward."""

FORECAST: dict[str, Any] = {
    "from": "2026-10-31T14:20:00Z",
    "to": "2026-11-02T14:20:00Z",
    "leads": 42,
    "limit": 1_000,
    "left_out": 3_309,
    "hours": [
        {
            "from": f"2026-{day}T{hour}:00:00Z",
            "call": calls,
            "sms": 1,
            "email": 0,
            "webhook": 0,
            "by": [
                {"state": "FL", "kind": "call", "count": calls},
                {"state": None, "kind": "sms", "count": 1},
            ],
        }
        for day, hour, calls in (("10-31", "15", 4), ("10-31", "23", 120), ("11-01", "05", 7), ("11-01", "06", 9))
    ],
    "assumed": ["no outcome"],
}
"""Over the night in which it goes back: 05:00 and 06:00 of UTC are both 01:00 there."""


def read() -> Trial:
    """Return the question as the engine reads it."""
    return read_trial(QUESTION, now=EPOCH)


def answer() -> dict[str, Any]:
    """Return the preview as the API shows it."""
    return shown(preview(read()))
