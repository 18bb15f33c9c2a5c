"""Which events does a call have? The facts of its history, each as one of a few event types, oldest first."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from engine.views.cells import cell, moment

Row = Mapping[str, Any]

TYPES: dict[str, str] = {
    **dict.fromkeys(
        (
            *("call.initiated", "call.ringing", "call.established", "call.on-hold", "call.resumed", "call.held"),
            *(
                "call.answered",
                "call.buyer_answered",
                "call.ended",
                "call.refused",
                "call.inbound_received",
                "call.inbound_ended",
            ),
        ),
        "Leg",
    ),
    **dict.fromkeys(("outcome.recorded", "call.reported"), "ProviderLog"),
    **dict.fromkeys(
        (
            *("call.updated", "call.dispositioned", "call.keys_pressed", "call.deleted", "lead.picked_up"),
            "law.overridden",
        ),
        "AuditLog",
    ),
}
"""Fact type -> event type; any other fact about the call is a `ScheduleDecision`."""

RESERVED = frozenset({"type", "id", "created_at", "event"})


def call_events(call: Row, facts: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the events of a call from its facts in any order. A recording is an event at the end of the call."""
    ordered = sorted(facts, key=lambda fact: (fact["at"], fact["partition"], fact["sequence"], fact["ordinal"]))
    found = [(fact["at"], _event(fact)) for fact in ordered]
    if call["recording_url"] is not None:
        told_at = max((fact["at"] for fact in ordered if _tells_recording(fact)), default=call["updated_at"])
        found.append((told_at, _recording(call, told_at)))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def _tells_recording(fact: Row) -> bool:
    """Return whether the fact may have brought the recording: the end of the call, or a later report."""
    return fact["type"] == "call.ended" or "recording_url" in (fact["data"] or {}).get("fields", ())


def _recording(call: Row, told_at: datetime) -> dict[str, Any]:
    return {
        "type": "CallRecording",
        "id": f"{call['id']}-recording",
        "created_at": moment(told_at),
        "event": "call.recorded",
        "recording_url": call["recording_url"],
    }


def _event(fact: Row) -> dict[str, Any]:
    data: Mapping[str, Any] = fact["data"] or {}
    return {
        "type": _type(fact["type"], data),
        "id": f"{fact['partition']}-{fact['sequence']}-{fact['ordinal']}",
        "created_at": moment(fact["at"]),
        "event": fact["type"],
        **{name: cell(value) for name, value in data.items() if name not in RESERVED},
    }


def _type(fact_type: str, data: Mapping[str, Any]) -> str:
    if fact_type in {"command.emitted", "outcome.recorded"} and data.get("kind") == "webhook":
        return "WebhookLog"
    return TYPES.get(fact_type, "ScheduleDecision")
