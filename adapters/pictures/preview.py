"""How is a preview read into a picture? From the answer of the API or of `leadclock preview --json`, with closed hours."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from adapters.pictures.picture import Picture
from adapters.pictures.week import ClosedSpan, PlannedContact, PlannedWeek, draw_week
from engine.why.reason_texts import describe_wait
from schemas.instant import Instant, from_datetime

FALLBACK_ZONE = "UTC"
"""The clock of a plan without a contact."""


def draw_preview(
    found: Mapping[str, Any], *, title: str, begins_at: Instant, end: str, width: float = 960, name: str = "preview"
) -> Picture:
    """Return the picture of a preview; `end` says in words how it ends."""
    actions = found["actions"]
    closed = found.get("closed_hours", ())
    channel = min((one["channel"] for one in closed), default=None)
    plan = PlannedWeek(
        title=title,
        zone=actions[0]["time_zone"] if actions else FALLBACK_ZONE,
        begins_at=begins_at,
        contacts=[
            PlannedContact(
                _instant(action["at"]),
                action["kind"],
                action["step_id"],
                "; ".join(describe_wait(code) for code in action["reasons"]),
            )
            for action in actions
        ],
        closed=[
            ClosedSpan(_instant(one["from"]), _instant(one["to"]), one["by"]) for one in closed if one["channel"] == channel
        ],
        end=end,
    )
    return draw_week(plan, width=width, name=name)


def _instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))
