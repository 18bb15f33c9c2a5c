"""Fixed data of a timeline: a lead over the weekend in which New York's clock goes forward."""

from datetime import datetime
from typing import Any

from schemas.instant import Instant, from_datetime, to_rfc3339


def at(text: str) -> Instant:
    """Return an instant of a text with an offset."""
    return from_datetime(datetime.fromisoformat(text))


def event(text: str, name: str, /, **data: Any) -> dict[str, Any]:
    """Return an event as the API shows it."""
    about = {"id": "1-2-3", "topic": "contacts.decisions", "partition": 1, "sequence": 2, "rules": []}
    return {**about, "created_at": to_rfc3339(at(text)), "event": name, "data": data}


PLANNED_AT = int(at("2026-03-07T10:00:00-05:00"))

EVENTS = [
    event("2026-03-06T18:30:00-05:00", "lead.submitted", dedupe_action="created"),
    event("2026-03-06T18:30:00-05:00", "lead.created"),
    event("2026-03-06T18:30:00-05:00", "lead.enrolled"),
    event("2026-03-06T18:30:00-05:00", "command.emitted", kind="call", step_id="call-1", source="schedule_step"),
    event("2026-03-06T18:30:31-05:00", "outcome.recorded", kind="call", outcome="no_answer"),
    event("2026-03-06T18:30:31-05:00", "step.retried", step_id="call-1"),
    event("2026-03-06T18:30:31-05:00", "lead.scheduled", at=PLANNED_AT, step_id="call-1", reasons=["quiet_hours_state"]),
    event("2026-03-07T10:00:00-05:00", "command.emitted", kind="call", step_id="call-1"),
    event("2026-03-07T10:00:40-05:00", "outcome.recorded", kind="call", outcome="busy"),
    event("2026-03-07T12:00:00-05:00", "lead.replanned", cause="law"),
    event("2026-03-07T12:30:00-05:00", "lead.submitted", dedupe_action="updated"),
    event("2026-03-09T09:00:00-04:00", "command.emitted", kind="sms", step_id="hello"),
    event("2026-03-09T09:00:05-04:00", "outcome.recorded", kind="sms", outcome="delivered"),
    event("2026-03-10T11:00:00-04:00", "command.emitted", kind="email", step_id="mail"),
    event("2026-03-10T15:00:00-04:00", "command.emitted", kind="call", step_id="call-2"),
    event("2026-03-10T15:05:00-04:00", "outcome.recorded", kind="call", outcome="connected_buyer"),
    event("2026-03-10T15:05:00-04:00", "lead.converted"),
]

NIGHTS = ((6, 13), (7, 13), (8, 12), (9, 12), (10, 12), (11, 12), (12, 12))
"""Days of March, and the hour of UTC in which 8 o'clock is: an hour earlier from the 8th on."""

CLOSED = [
    *(
        {"channel": "call", "by": "law", "from": f"2026-03-{day:02}T01:00:00Z", "to": f"2026-03-{day:02}T{opens}:00:00Z"}
        for day, opens in NIGHTS
    ),
    {"channel": "call", "by": "schedule", "from": "2026-03-07T05:00:00Z", "to": "2026-03-09T04:00:00Z"},
]

CALLS = [
    {"created_at": "2026-03-06T23:30:00Z", "ring_duration": 31, "talk_duration": 0, "outcome": "no_answer"},
    {"created_at": "2026-03-07T15:00:00Z", "ring_duration": 4, "talk_duration": None, "outcome": "busy"},
    {"created_at": "2026-03-10T19:00:00Z", "ring_duration": 12, "talk_duration": 285, "outcome": "connected_buyer"},
]

FOUND: dict[str, Any] = {
    "id": 7,
    "time_zone": "America/New_York",
    "has_earlier": False,
    "events": EVENTS,
    "closed_hours": CLOSED,
}

LEAD = {"name": "Ada Lovelace", "next_action_at": "2026-03-12T19:06:00Z", "step": "call-3"}
NOW = at("2026-03-11T09:12:00-04:00")
