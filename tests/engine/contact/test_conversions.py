"""Is each conversion of a lead or call recorded once, changed with the call, and taken back with its date?"""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook
from schemas.contact import Call
from schemas.decisions import Fact
from schemas.records import Buyer, OutgoingWebhook
from schemas.requests import (
    CallDeleteRequested,
    CallUpdateRequested,
    ContactRequest,
    LeadUpdateRequested,
    WebhookFireRequested,
)
from tests.engine.contact.world import KEY, World

WEBHOOK, BUYER, OTHER_BUYER = 9, 41, 42


@pytest.fixture
def world() -> World:
    return made_world()


def made_world() -> World:
    made = World()
    made.add("outgoing_webhook", WEBHOOK, OutgoingWebhook(name="CRM", url="https://crm.example.com/x"))
    for buyer_id in (BUYER, OTHER_BUYER):
        made.add("buyer", buyer_id, Buyer(name="B", number="+12125550141"))
    made.schedule({"id": "call", "kind": "call"}, {"id": "again", "kind": "call"}, on_conversion="continue")
    return made


def call_of(world: World) -> int:
    """Submit a lead and return its call, which is under way."""
    lead = world.submit()
    assert lead.flight is not None
    return lead.flight.call_id or 0


def change(world: World, call_id: int | None, **fields: Any) -> list[Fact]:
    """Change a call and return what was recorded of conversions."""
    return recorded(world, CallUpdateRequested(company_id=1, contact_key=KEY, call_id=call_id, **fields))


def change_lead(world: World, **fields: Any) -> list[Fact]:
    """Change the lead and return what was recorded of conversions."""
    return recorded(world, LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id, **fields))


def recorded(world: World, request: ContactRequest) -> list[Fact]:
    """Decide a request and return what was recorded of conversions."""
    count = len(world.facts)
    world.ask(request)
    return [fact for fact in world.facts[count:] if fact.type.startswith("conversion.")]


def test_a_call_that_converts_for_both_sides_has_a_conversion_of_each(world: World) -> None:
    call_id = call_of(world)
    facts = change(world, call_id, buyer_converted=True, offer_converted=True, revenue=25.5, payout=8.0, buyer_id=BUYER)
    buyer, offer = facts
    lead = world.lead()
    assert [(fact.type, fact.lead_id, fact.call_id) for fact in facts] == [("conversion.recorded", lead.id, call_id)] * 2
    assert (buyer.data["side"], buyer.data["amount"], buyer.data["buyer_id"]) == ("buyer", 25.5, BUYER)
    assert (offer.data["side"], offer.data["amount"], offer.data["source"]) == ("offer", 8.0, "call_update")
    assert buyer.data["converted_at"] == world.now
    assert (lead.buyer_conversion_id, lead.offer_conversion_id) == (buyer.data["conversion_id"], offer.data["conversion_id"])
    assert buyer.data["conversion_id"] != offer.data["conversion_id"]


def test_calls_that_are_changed_by_their_number_say_so(world: World) -> None:
    call_of(world)
    (fact,) = change(world, None, offer_id=1, buyer_converted=True)
    assert fact.data["source"] == "caller_update"


def test_a_conversion_that_is_repeated_is_the_same_one(world: World) -> None:
    call_id = call_of(world)
    change(world, call_id, buyer_converted=True)
    before = world.lead().buyer_conversion_id
    assert change(world, call_id, buyer_converted=True) == []
    assert change_lead(world, buyer_converted=True) == []
    assert world.lead().buyer_conversion_id == before


def test_money_and_buyer_that_come_later_change_the_record(world: World) -> None:
    call_id = call_of(world)
    (first,) = change(world, call_id, buyer_converted=True, revenue=10, buyer_id=BUYER)
    (later,) = change(world, call_id, add_revenue=5, buyer_id=OTHER_BUYER)
    assert (later.type, later.data["conversion_id"]) == ("conversion.changed", first.data["conversion_id"])
    assert (later.data["revision"], later.data["amount"], later.data["buyer_id"]) == (2, 15.0, OTHER_BUYER)
    assert later.data["converted_at"] == first.data["converted_at"]
    assert change(world, call_id, payout=3) == []  # the payout is of the other side


def test_a_conversion_that_is_taken_back_says_when_and_the_next_one_is_another(world: World) -> None:
    call_id = call_of(world)
    (first,) = change(world, call_id, buyer_converted=True, revenue=10)
    (back,) = change(world, call_id, buyer_converted=False, revenue=0)
    assert (back.type, back.data["conversion_id"]) == ("conversion.taken_back", first.data["conversion_id"])
    assert (back.data["taken_back_at"], back.data["amount"]) == (world.now, 10)
    assert (world.lead().buyer_converted, world.lead().buyer_conversion_id) == (False, None)
    (again,) = change(world, call_id, buyer_converted=True)
    assert again.type == "conversion.recorded"
    assert again.data["conversion_id"] != first.data["conversion_id"]


def test_a_lead_that_converts_without_a_call_has_a_conversion_of_its_own(world: World) -> None:
    call_of(world)
    (made,) = change_lead(world, offer_converted=True, columns={"traffic_source_id": 7})
    assert (made.call_id, made.data["source"], made.data["amount"]) == (None, "lead_update", None)
    assert made.data["traffic_source_id"] == 7
    assert world.lead().offer_conversion_id == made.data["conversion_id"]
    (back,) = change_lead(world, offer_converted=False)
    assert (back.type, world.lead().offer_conversion_id) == ("conversion.taken_back", None)


def test_an_update_of_the_lead_takes_no_conversion_of_its_call_back(world: World) -> None:
    call_id = call_of(world)
    change(world, call_id, buyer_converted=True)
    assert change_lead(world, buyer_converted=False) == []
    assert world.lead().buyer_conversion_id is None
    (back,) = change(world, call_id, buyer_converted=False)
    assert back.type == "conversion.taken_back"


def test_a_lead_names_its_other_conversion_when_one_is_taken_back(world: World) -> None:
    first = call_of(world)
    world.outcome("no_answer")
    world.wait(60)
    second = world.lead().flight
    assert second is not None
    (one,) = change(world, first, buyer_converted=True)
    (two,) = change(world, second.call_id, buyer_converted=True)
    assert world.lead().buyer_conversion_id == two.data["conversion_id"]
    change(world, second.call_id, buyer_converted=False)
    assert (world.lead().buyer_converted, world.lead().buyer_conversion_id) == (True, one.data["conversion_id"])


def test_the_conversion_of_a_lead_goes_with_it_to_another_number(world: World) -> None:
    call_of(world)
    (made,) = change_lead(world, buyer_converted=True)
    world.update(caller_id="+13055550199")
    moved = "1|+13055550199"
    request = LeadUpdateRequested(company_id=1, contact_key=moved, lead_id=world.lead().id, buyer_converted=False)
    (back,) = recorded(world, request)
    assert (back.type, back.data["conversion_id"]) == ("conversion.taken_back", made.data["conversion_id"])
    assert back.data["revision"] == 2


def test_the_call_of_a_lead_that_moved_away_names_its_conversion_there(world: World) -> None:
    call_id = call_of(world)
    world.update(caller_id="+13055550199")
    (made,) = change(world, call_id, buyer_converted=True)
    assert world.lead().buyer_conversion_id == made.data["conversion_id"]


def fire(world: World, **about: Any) -> PostWebhook:
    world.ask(WebhookFireRequested(company_id=1, contact_key=KEY, outgoing_webhook_id=WEBHOOK, **about))
    command = world.commands[-1]
    assert isinstance(command, PostWebhook)
    return command


def test_a_webhook_that_is_fired_for_a_conversion_describes_it(world: World) -> None:
    call_id = call_of(world)
    (made,) = change(world, call_id, buyer_converted=True, revenue=10, buyer_id=BUYER)
    command = fire(world, call_id=call_id, buyer_conversion_id=made.data["conversion_id"])
    sent = command.payload["data"]["buyer_conversion"]
    assert {name: sent[name] for name in ("id", "uuid", "side", "source", "amount", "buyer_id")} == {
        **{name: made.data[name] for name in ("uuid", "side", "source", "amount", "buyer_id")},
        "id": made.data["conversion_id"],
    }
    (fact,) = [fact for fact in world.facts if fact.type == "webhook.fired_by_hand"]
    assert fact.data["buyer_conversion_id"] == made.data["conversion_id"]
    assert "offer_conversion_id" not in fact.data


@pytest.mark.parametrize("other", [77, None])
def test_a_webhook_is_not_fired_for_a_conversion_that_does_not_hold(world: World, other: int | None) -> None:
    call_id = call_of(world)
    (made,) = change(world, call_id, buyer_converted=True)
    if other is None:
        change(world, call_id, buyer_converted=False)
    count = len(world.commands)
    with pytest.raises(RefusedError) as caught:
        fire(world, call_id=call_id, buyer_conversion_id=other or made.data["conversion_id"])
    assert list(caught.value.errors) == ["buyer_conversion_id"]
    assert len(world.commands) == count


def test_a_call_from_before_there_were_records_can_be_changed() -> None:
    call = msgspec.json.decode(
        b'{"id":1,"uuid":"u","company_id":1,"contact_key":"k","created_at":0,"updated_at":0,"number_called":"+1",'
        b'"buyer_converted":true}',
        type=Call,
    )
    assert (call.buyer_converted, call.buyer_conversion) == (True, None)


def delete(world: World, call_id: int) -> list[Fact]:
    return recorded(world, CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call_id))


def test_the_conversions_and_money_of_a_deleted_call_are_taken_back(world: World) -> None:
    call_id = call_of(world)
    change(world, call_id, buyer_converted=True, offer_converted=True, revenue=14.0, payout=2.0, buyer_id=BUYER)

    facts = delete(world, call_id)

    assert [(fact.type, fact.data["side"], fact.data["amount"]) for fact in facts] == [
        ("conversion.taken_back", "buyer", 14.0),
        ("conversion.taken_back", "offer", 2.0),
    ]
    lead = world.lead()
    assert (lead.buyer_converted, lead.offer_converted, lead.revenue, lead.payout) == (
        False,
        False,
        Decimal("0.0"),
        Decimal("0.0"),
    )
    assert (lead.buyer_conversion_id, lead.offer_conversion_id) == (None, None)


def test_a_deleted_call_without_money_or_conversion_takes_nothing_back(world: World) -> None:
    call_id = call_of(world)

    assert delete(world, call_id) == []
    assert not any(fact.type == "call.updated" for fact in world.facts)


@pytest.mark.parametrize("ends", ["taken_back", "deleted"])
def test_a_later_call_is_no_duplicate_once_the_earlier_conversion_is_gone(world: World, ends: str) -> None:
    first = call_of(world)
    world.outcome("no_answer")
    world.wait(60)
    flight = world.lead().flight
    assert flight is not None
    second = flight.call_id
    change(world, first, buyer_converted=True, revenue=5.0, buyer_id=BUYER)
    assert second != first
    change(world, second, buyer_converted=True, revenue=5.0, buyer_id=BUYER)
    assert world.call(second).buyer_conversion_duplicated_call

    change(world, first, buyer_converted=False) if ends == "taken_back" else delete(world, first)

    later = world.call(second)
    assert not later.buyer_conversion_duplicated_call, "a call stays a duplicate of a conversion that is gone"
    assert later.buyer_repeat_caller == (ends == "taken_back")
    assert later.buyer_converted


@pytest.mark.parametrize(
    ("changes", "revenue"),
    [
        (({"revenue": -5.0},), -5.0),
        (({"revenue": 5.0}, {"add_revenue": -7.5}), -2.5),
        (({"add_revenue": -7.5}, {"revenue": 1.0}), 1.0),
        (({"add_revenue": 0.1}, {"add_revenue": 0.1}, {"add_revenue": 0.1}), 0.3),
        (({"revenue": 999_999_999.9999}, {"add_revenue": 0.0001}), 1_000_000_000.0),
        (({"revenue": 1e9}, {"add_revenue": -2e9}), -1e9),
    ],
)
def test_money_that_is_set_and_money_that_is_added_obey_one_rule(
    world: World, changes: tuple[dict[str, float], ...], revenue: float
) -> None:
    call_id = call_of(world)
    for one in changes:
        change(world, call_id, **one)

    assert {world.call(call_id).revenue, world.lead().revenue} == {Decimal(repr(revenue))}


@pytest.mark.parametrize("fields", [{"add_revenue": 1.0}, {"add_payout": -2e9}, {"revenue": 1e9, "add_revenue": 1.0}])
def test_money_beyond_its_bounds_is_refused_however_it_came(world: World, fields: dict[str, float]) -> None:
    call_id = call_of(world)
    change(world, call_id, revenue=1e9, payout=0.5)

    with pytest.raises(RefusedError) as refused:
        change(world, call_id, **fields)

    assert refused.value.code == "validation_failed"
    assert (world.call(call_id).revenue, world.lead().payout) == (Decimal(10**9), Decimal("0.5"))


@given(st.lists(st.decimals(-1000, 1000, places=4), max_size=20))
def test_what_is_added_to_a_call_is_what_it_its_lead_and_its_buyer_have(amounts: list[Decimal]) -> None:
    world = made_world()
    call_id = call_of(world)
    for one in amounts:
        world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, call_id=call_id, add_revenue=one))
    total = sum(amounts, Decimal(0))
    assert (world.call(call_id).revenue, world.lead().revenue) == (total, total)
