"""Which events does a decision hold, and does a body say what it promises?"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.subscriptions.bodies import (
    BODY_BYTES_MAX,
    CALL_FIELDS,
    CALL_MOMENTS,
    LEAD_FIELDS,
    LEAD_MOMENTS,
    LEAD_SUBMITTED,
    body_of,
    is_wanted,
    show_event,
)
from engine.subscriptions.events import EVENT_NAMES, EVENTS, OF_FACT, Event, StatedFact, events_of
from engine.views.call import CALL_COLUMNS
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.contact import Call, Lead
from schemas.instant import Instant
from schemas.records import Subscription, TriggerFields

NOON = Instant(1_781_697_600_000)
ENGINE = Path("engine")
PAGE = Path("deploy/docs/subscriptions.md")
NAMED_WHILE_RUNNING = {"call.ringing", "call.initiated", "record.created", "record.deleted"}
"""Facts whose names are put together from a state or an operation."""


def lead_of(**more: Any) -> Lead:
    given = {"id": 7, "uuid": "u", "company_id": 1, "contact_key": "1|+13055550123", "created_at": NOON, "updated_at": NOON}
    return Lead(**{**given, "offer_id": 3, "columns": {"traffic_source_id": 9, "full_name": "Ada"}, **more})


def call_of(**more: Any) -> Call:
    given = {"id": 8, "uuid": "c", "company_id": 1, "contact_key": "1|+13055550123", "created_at": NOON, "updated_at": NOON}
    return Call(**{**given, "number_called": "+13055550123", "lead_id": 7, "offer_id": 3, "buyer_id": 5, **more})


def event_of(name: str = "lead_ended", **details: Any) -> Event:
    return Event(name=name, ordinal=0, lead_id=7, call_id=8, details=details)


def test_every_event_has_a_sentence_and_a_fact() -> None:
    assert set(EVENTS) == set(EVENT_NAMES)
    assert {*OF_FACT.values(), "lead_opted_out", "lead_action_corrected"} == set(EVENT_NAMES)


def test_the_page_for_users_lists_every_event_with_its_sentence() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text("utf-8").partition("## Events")[2], re.MULTILINE)

    assert dict(rows) == EVENTS


def test_the_engine_states_every_fact_that_is_an_event() -> None:
    source = "".join(path.read_text() for path in ENGINE.rglob("*.py") if "subscriptions" not in path.parts)

    missing = {fact for fact in OF_FACT if f'"{fact}"' not in source}

    assert missing <= NAMED_WHILE_RUNNING


def test_a_body_uses_the_names_of_the_api() -> None:
    assert {*LEAD_FIELDS, *LEAD_MOMENTS, *LEAD_SUBMITTED} <= set(LEAD_COLUMNS)
    assert {*CALL_FIELDS, *CALL_MOMENTS} <= set(CALL_COLUMNS)


def test_events_come_in_the_order_of_the_facts_and_an_opt_out_is_one_more() -> None:
    facts = [
        StatedFact("contact.opted_out", None, None, {"source": "sms"}),
        StatedFact("slot.released", 7),
        StatedFact("lead.ended", 7, None, {"status": "opt_out"}),
        StatedFact("lead.ended", 8, None, {"status": "completed"}),
    ]

    found = [(event.ordinal, event.name, event.lead_id) for event in events_of(facts)]

    assert found == [
        (0, "contact_opted_out", None),
        (1, "lead_ended", 7),
        (2, "lead_opted_out", 7),
        (3, "lead_ended", 8),
    ]


@pytest.mark.parametrize(
    ("trigger_fields", "expected"),
    [
        ({}, True),
        ({"offer_id": 3}, True),
        ({"offer_id": 4}, False),
        ({"traffic_source_id": 9}, True),
        ({"buyer_id": 5}, True),
        ({"buyer_id": 6}, False),
        ({"offer_id": 3, "buyer_id": 5, "buyer_converted": False}, True),
        ({"offer_id": 3, "buyer_converted": True}, False),
        ({"number_id": 1}, False),
    ],
)
def test_trigger_fields_are_compared_with_the_call_else_with_the_lead(
    trigger_fields: dict[str, Any], *, expected: bool
) -> None:
    wanted = Subscription(name="s", url="https://x", events=("lead_ended",), trigger_fields=TriggerFields(**trigger_fields))
    lead = lead_of(columns={"traffic_source_id": 9})

    shown = show_event(event_of(), "+13055550123", lead, call_of(traffic_source_id=9))

    assert is_wanted(wanted, shown) is expected


def test_an_event_without_lead_or_call_has_no_trigger_field() -> None:
    wanted = Subscription(name="s", url="https://x", events=("contact_opted_out",), trigger_fields=TriggerFields(offer_id=3))

    assert not is_wanted(wanted, show_event(event_of("contact_opted_out"), "+13055550123", None, None))


def test_the_sequence_rises_with_the_version_of_the_lead_and_the_order_of_events() -> None:
    places = [(1, 0), (1, 1), (2, 0), (2, 5), (3, 0)]
    events = [
        (lead_of(version=version), Event(name="lead_changed", ordinal=order, lead_id=7, call_id=None, details={}))
        for version, order in places
    ]

    found = [show_event(event, None, lead, None).sequence for lead, event in events]

    assert found == sorted(set(found), key=lambda number: number or 0)


def test_the_body_of_one_decision_is_always_the_same_bytes_and_has_what_standard_webhooks_ask_for() -> None:
    shown = show_event(event_of(status="completed"), "+13055550123", lead_of(data={"roof": "flat"}), None)

    bodies = {body_of(shown, delivery_id="msg_1", company_id=1, decided_at=NOON) for _ in range(2)}

    [body] = bodies
    message = json.loads(body)
    assert (message["id"], message["type"], message["timestamp"]) == ("msg_1", "lead_ended", "2026-06-17T12:00:00Z")
    data = message["data"]
    assert (data["company_id"], data["contact"], data["lead_id"], data["call"]) == (1, "+13055550123", 7, None)
    assert data["details"] == {"status": "completed"}
    assert (data["lead"]["offer_id"], data["lead"]["full_name"], data["lead"]["data"]) == (3, "Ada", {"roof": "flat"})
    assert data["is_shortened"] is False


def test_a_body_that_is_too_long_is_sent_without_tokens_and_says_so() -> None:
    shown = show_event(event_of(text="x" * BODY_BYTES_MAX), None, lead_of(data={"roof": "flat"}), call_of())

    data = json.loads(body_of(shown, delivery_id="msg_1", company_id=1, decided_at=NOON))["data"]

    assert data["is_shortened"] is True
    assert (data["details"], data["lead"]["data"], data["call"]["token_values"]) == ({}, None, None)
    assert data["lead"]["offer_id"] == 3


def test_tokens_that_are_stored_apart_are_null_not_empty() -> None:
    shown = show_event(event_of(), None, lead_of(data={}, data_parts=2), call_of(token_parts=1))

    assert shown.lead is not None
    assert shown.call is not None
    assert (shown.lead["data"], shown.call["token_values"]) == (None, None)
