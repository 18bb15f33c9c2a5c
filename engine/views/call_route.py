"""Where is an inbound call routed? As its newest decision about that says, from the facts of the call."""

from collections.abc import Iterable, Mapping
from typing import Any

from engine.views.cells import moment
from schemas.instant import to_datetime

Row = Mapping[str, Any]

REQUESTED = "call.route_requested"
ROUTED = "call.routed"

FIELDS = (
    *("buyer_id", "buyer_group_id", "buyer_number", "buyer_timeout_seconds", "buyer_dtmf_tones", "agent_id"),
    *("reason", "message"),
)


def route_of(facts: Iterable[Row]) -> dict[str, Any] | None:
    """Return the route of a call from its facts, newest first; None where it has none."""
    newest = next((fact for fact in facts if fact["type"] in {REQUESTED, ROUTED}), None)
    if newest is None:
        return None
    data: Mapping[str, Any] = newest["data"] or {}
    action = "pending" if newest["type"] == REQUESTED else data["action"]
    until = data.get("until")
    instant = None if until is None else moment(to_datetime(until))
    legs = data.get("buyer_legs") or []
    return {"action": action, **{name: data.get(name) for name in FIELDS}, "buyer_legs": legs, "until": instant}
