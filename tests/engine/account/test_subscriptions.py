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
        ({"timeout_seconds": 3}, "timeout_seconds", "goes with before_call or before_sms or suppression_lookup"),
        ({"events": ["suppression_lookup"]}, "suppression_list_id", "must be given"),
        (
            {"events": ["suppression_lookup"], "suppression_list_id": 9},
            "suppression_list_id",
            "9 is no suppression list",
        ),
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


def test_a_subscription_looks_up_a_list_which_cannot_be_deleted_meanwhile(account: AccountWorld) -> None:
    listed = account.create("suppression_list", name="Registry")
    asks: dict[str, Any] = {**FIELDS, "events": ["suppression_lookup"], "suppression_list_id": listed}
    for more, bad in (
        ({"on_error": "allow"}, "on_error"),
        ({"events": ["suppression_lookup", "before_call"]}, "events"),
        ({"events": ["before_call"]}, "suppression_list_id"),
    ):
        answer = account.change("create", "subscription", **{**asks, **more})
        assert (answer.code, list(answer.errors)) == ("validation_failed", [bad]), more

    made = account.create("subscription", **asks, timeout_seconds=5)

    assert account.change("delete", "suppression_list", record_id=listed).code == "record_in_use"
    without: dict[str, Any] = {"events": ["lead_ended"]}
    assert list(account.change("update", "subscription", record_id=made, **without).errors) == ["suppression_list_id"]
    changed = account.change(
        "update", "subscription", record_id=made, **without, suppression_list_id=None, timeout_seconds=2
    )
    assert changed.code is None, changed.errors
    assert account.change("delete", "suppression_list", record_id=listed).code is None
