"""What may a subscription ask for? Known events, and values of fields that name records of its company."""

from typing import Any

import pytest

from schemas.records import Subscription, TriggerFields
from tests.engine.account.conftest import TOKEN, AccountWorld

FIELDS: dict[str, Any] = {"name": "CRM", "url": "https://crm.example.com/x", "events": ["lead_ended"]}


@pytest.mark.parametrize(
    ("fields", "bad", "says"),
    [
        ({"events": []}, "events", "must be a list of events"),
        ({"events": "lead_ended"}, "events", "must be a list of events"),
        ({"events": ["lead_endet"]}, "events", "lead_ended"),
        ({"events": [7]}, "events", "names '7'"),
        ({"trigger_fields": ["offer_id"]}, "trigger_fields", "must be an object"),
        ({"trigger_fields": {"state": "FL"}}, "trigger_fields", "names 'state'"),
        ({"trigger_fields": {"offer_id": "x"}}, "trigger_fields", "offer_id must be"),
        ({"trigger_fields": {"buyer_converted": 7}}, "trigger_fields", "buyer_converted must be"),
        ({"url": "ftp://x"}, "url", "must be an address"),
        ({"events": ["before_calls"]}, "events", "before_call"),
        ({"events": ["before_call"], "on_error": "maybe"}, "on_error", "must be one of"),
        ({"events": ["before_call"], "timeout_seconds": 0}, "timeout_seconds", "1"),
        ({"events": ["before_sms"], "timeout_seconds": 11}, "timeout_seconds", "10"),
        ({"on_error": "allow"}, "on_error", "goes with before_call or before_sms"),
        ({"timeout_seconds": 3}, "timeout_seconds", "goes with before_call or before_sms"),
    ],
)
def test_a_bad_field_is_refused_by_name(account: AccountWorld, fields: dict[str, Any], bad: str, says: str) -> None:
    answer = account.change("create", "subscription", **{**FIELDS, **fields})

    assert answer.code == "validation_failed"
    assert list(answer.errors) == [bad]
    assert says in answer.errors[bad][0]


def test_events_must_be_given(account: AccountWorld) -> None:
    answer = account.change("create", "subscription", name="CRM", url="https://crm.example.com/x")

    assert answer.errors == {"events": ["must be given"]}


def test_trigger_fields_name_records_of_the_company_which_cannot_be_deleted_meanwhile(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Two")
    theirs = account.create("offer", company_id=2, name="Theirs", lead_token=f"{TOKEN}theirs")
    ours = account.create("offer", name="Ours", lead_token=f"{TOKEN}ours")
    for unknown in (theirs, 999):
        answer = account.change("create", "subscription", **FIELDS, trigger_fields={"offer_id": unknown})
        assert answer.errors == {"trigger_fields.offer_id": [f"{unknown} is no offer of this company"]}

    made = account.create("subscription", **FIELDS, trigger_fields={"offer_id": str(ours)})

    body = account.body("subscription", made)
    assert isinstance(body, Subscription)
    assert body.trigger_fields == TriggerFields(offer_id=ours)
    assert account.change("delete", "offer", ours).code == "record_in_use"
    account.update("subscription", made, trigger_fields={})
    assert account.change("delete", "offer", ours).status == 200


def test_a_hook_denies_and_has_two_seconds_unless_it_says_otherwise(account: AccountWorld) -> None:
    made = account.create("subscription", **{**FIELDS, "events": ["before_call", "lead_ended"]})
    other = account.create("subscription", **{**FIELDS, "events": ["before_sms"]}, on_error="allow", timeout_seconds="5")

    bodies = [account.body("subscription", one) for one in (made, other)]
    assert [(body.on_error, body.timeout_seconds) for body in bodies if isinstance(body, Subscription)] == [
        ("deny", 2),
        ("allow", 5),
    ]
