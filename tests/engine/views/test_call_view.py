"""Is a call shown with every column, and its course told in the order of time?"""

from datetime import UTC, datetime
from typing import Any

import pytest

from engine.views.call import CALL_COLUMNS, call_view
from engine.views.call_events import call_events

NOON = datetime(2026, 7, 15, 16, 0, tzinfo=UTC)


def _row(**fields: Any) -> dict[str, Any]:
    names = set(CALL_COLUMNS) - {"legacy_id", "type", "routes_show_path", "routes_edit_path", "external_record_id"}
    row: dict[str, Any] = dict.fromkeys(names)
    return {**row, "id": 7, "created_at": NOON, "updated_at": NOON, "token_values": {}, **fields}


def _fact(kind: str, second: int, ordinal: int = 0, /, **data: Any) -> dict[str, Any]:
    at = NOON.replace(second=second)
    return {"at": at, "partition": 0, "sequence": second + 1, "ordinal": ordinal, "type": kind, "data": data}


def test_all_columns_are_shown_in_order_and_none_is_missing() -> None:
    shown = call_view(_row(token_values={"external_record_id": "crm-1"}))
    assert tuple(shown) == CALL_COLUMNS
    assert (shown["type"], shown["routes_show_path"]) == ("Call", "/api/v1/calls/7")
    assert (shown["external_record_id"], shown["created_at"]) == ("crm-1", "2026-07-15T16:00:00Z")


def test_columns_give_exactly_those_in_that_order() -> None:
    assert call_view(_row(), ("type", "id")) == {"type": "Call", "id": 7}


@pytest.mark.parametrize(
    ("kind", "data", "type_of"),
    [
        ("call.ringing", {}, "Leg"),
        ("call.inbound_received", {}, "Leg"),
        ("outcome.recorded", {"outcome": "busy"}, "ProviderLog"),
        ("call.updated", {"fields": ["revenue"]}, "AuditLog"),
        ("call.keys_pressed", {"digits": "1"}, "AuditLog"),
        ("command.emitted", {"kind": "webhook"}, "WebhookLog"),
        ("outcome.recorded", {"kind": "webhook", "outcome": "accepted"}, "WebhookLog"),
        ("command.emitted", {"kind": "call"}, "ScheduleDecision"),
        ("slot.released", {}, "ScheduleDecision"),
    ],
)
def test_each_fact_is_one_of_a_few_types(kind: str, data: dict[str, Any], type_of: str) -> None:
    (event,) = call_events(_row(recording_url=None), [_fact(kind, 0, **data)])
    assert (event["type"], event["event"], event["id"]) == (type_of, kind, "0-1-0")
    assert data.items() <= event.items()


def test_events_are_told_oldest_first_and_a_recording_when_the_call_ended() -> None:
    facts = [_fact("call.updated", 9), _fact("call.ended", 5, 1), _fact("outcome.recorded", 5), _fact("call.ringing", 1)]
    told = call_events(_row(recording_url="https://pbx.example.com/1.wav"), facts)
    assert [event["event"] for event in told] == [
        *("call.ringing", "outcome.recorded", "call.ended", "call.recorded", "call.updated")
    ]
    assert told[3]["created_at"] == told[2]["created_at"]


def test_what_a_fact_says_never_hides_what_an_event_is() -> None:
    (event,) = call_events(_row(recording_url=None), [_fact("call.updated", 0, type="x", id="y", created_at="z", event="w")])
    assert (event["type"], event["event"]) == ("AuditLog", "call.updated")
