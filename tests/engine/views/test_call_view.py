"""Is a call shown with every column, and its events in the order of time?"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from engine.views.call import (
    CALL_COLUMNS,
    call_country,
    call_profit,
    call_view,
    caller_number,
    has_no_buyer,
    ring_seconds,
    talk_seconds,
    total_seconds,
)
from engine.views.call_events import call_events
from schemas.contact import Call

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
        ("law.overridden", {"reason": "asked in writing"}, "AuditLog"),
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


def test_events_are_listed_oldest_first_and_a_recording_when_the_call_ended() -> None:
    facts = [_fact("call.updated", 9), _fact("call.ended", 5, 1), _fact("outcome.recorded", 5), _fact("call.ringing", 1)]
    events = call_events(_row(recording_url="https://pbx.example.com/1.wav"), facts)
    assert [event["event"] for event in events] == [
        *("call.ringing", "outcome.recorded", "call.ended", "call.recorded", "call.updated")
    ]
    assert events[3]["created_at"] == events[2]["created_at"]


def test_a_recording_that_was_ready_after_the_end_is_listed_then() -> None:
    facts = [_fact("call.ended", 5), _fact("call.updated", 9, fields=["recording_url"]), _fact("call.updated", 12)]
    events = call_events(_row(recording_url="https://pbx.example.com/1.wav"), facts)
    assert [event["event"] for event in events] == ["call.ended", "call.updated", "call.recorded", "call.updated"]


def test_a_recording_of_a_call_without_an_end_is_listed_when_the_call_changed_last() -> None:
    row = _row(recording_url="https://pbx.example.com/1.wav", updated_at=NOON.replace(second=30))
    events = call_events(row, [_fact("call.ringing", 1)])
    assert [(event["event"], event["created_at"]) for event in events] == [
        ("call.ringing", "2026-07-15T16:00:01Z"),
        ("call.recorded", "2026-07-15T16:00:30Z"),
    ]


def test_what_a_fact_says_never_hides_what_an_event_is() -> None:
    (event,) = call_events(_row(recording_url=None), [_fact("call.updated", 0, type="x", id="y", created_at="z", event="w")])
    assert (event["type"], event["event"]) == ("AuditLog", "call.updated")


THEIRS, OURS = "+13055550123", "+12125550150"


def _call(**fields: Any) -> Call:
    ordinary: dict[str, Any] = {"number_called": THEIRS, "from_number": OURS, "created_at": 1_000, "updated_at": 1_000}
    return Call(**{"id": 7, "uuid": "u", "company_id": 1, "contact_key": f"1|{THEIRS}", **ordinary, **fields})


COURSE: dict[str, Any] = {"created_at": 1_000, "initiated_at": 2_000, "ringing_at": 3_000}
"""Of a call that was ordered, taken by the provider, and rang."""


@pytest.mark.parametrize(
    ("fields", "ring", "talk", "total"),
    [
        ({}, 0, 0, 0),
        ({"ringing_at": 3_000}, 0, 0, 0),
        ({**COURSE, "ended_at": 9_999}, 6, 0, 8),
        ({**COURSE, "answered_at": 5_999}, 2, 0, 0),
        ({**COURSE, "answered_at": 6_000, "ended_at": 66_999}, 3, 60, 65),
        ({**COURSE, "answered_at": 6_000, "ended_at": 66_999, "hold_seconds": 20}, 3, 40, 65),
        ({**COURSE, "answered_at": 6_000, "ended_at": 66_999, "hold_seconds": 90}, 3, 0, 65),
        ({**COURSE, "answered_at": 6_000, "ended_at": 66_999, "talk_seconds": 55}, 3, 55, 65),
        ({**COURSE, "answered_at": 2_000, "ended_at": 500}, 0, 0, 0),
    ],
)
def test_durations_are_whole_seconds_of_the_course_of_a_call(
    fields: dict[str, Any], ring: int, talk: int, total: int
) -> None:
    call = _call(**fields)
    assert (ring_seconds(call), talk_seconds(call), total_seconds(call)) == (ring, talk, total)


def test_the_person_is_the_party_that_is_not_us() -> None:
    assert caller_number(_call()) == THEIRS
    assert caller_number(_call(direction="inbound", from_number=THEIRS, number_called=OURS)) == THEIRS


@pytest.mark.parametrize(
    ("fields", "no_buyer"),
    [
        ({}, True),
        ({"outcome": "connected_human"}, True),
        ({"outcome": "connected_buyer"}, False),
        ({"buyer_answered_at": 5}, False),
    ],
)
def test_a_call_has_a_buyer_once_one_answered(fields: dict[str, Any], no_buyer: bool) -> None:
    assert has_no_buyer(_call(**fields)) == no_buyer


@pytest.mark.parametrize(
    ("revenue", "payout", "cost", "left"),
    [("0.3", "0.1", "0", "0.2"), ("10", "4.5", "0.0123", "5.4877"), ("0", "1", "0.5", "-1.5")],
)
def test_a_profit_is_what_is_left_to_a_ten_thousandth(revenue: str, payout: str, cost: str, left: str) -> None:
    call = _call(revenue=Decimal(revenue), payout=Decimal(payout), cost=Decimal(cost))
    assert call_profit(call) == Decimal(left)


def test_a_call_is_in_the_country_that_the_lead_named_else_in_that_of_the_number() -> None:
    assert call_country(_call(country="DE")) == "DE"
    assert call_country(_call()) == "US"
    assert call_country(_call(number_called="+442079460958")) == "GB"
