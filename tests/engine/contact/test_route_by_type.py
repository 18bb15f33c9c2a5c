"""Does a call go by the route_by_type of its step, else of its offer, and does what it earns count where EPC decides?"""

from decimal import Decimal
from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.records import Buyer, BuyerGroup, Offer
from schemas.requests import CallEarned, CallUpdateRequested, SlotAnswered, SlotRequested
from schemas.wire import from_json
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, NEW_YORK, World

TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
BIDS = {70: Decimal(5), 71: Decimal(30), 72: None, 73: Decimal(900)}


def offered(connect: dict[str, Any] | None = None, **offer: Any) -> World:
    """Return a world of two groups of one tier, and a dearer one of the next."""
    world = World()
    for buyer_id, bid in BIDS.items():
        world.add("buyer", buyer_id, Buyer(name="Bob", number=f"+121255501{buyer_id}", bid_price=bid))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70, 72), weight=1_000))
    world.add("buyer_group", 8, BuyerGroup(name="Roofs", buyer_ids=(71,)))
    world.add("buyer_group", 9, BuyerGroup(name="Walls", buyer_ids=(73,), tier=2))
    fields: dict[str, Any] = {"buyer_group_ids": (7, 8, 9), **offer}
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, **fields), version=2)
    world.schedule({"id": "call", "kind": "call", **({} if connect is None else {"connect": connect})}, TEXT)
    world.wait(1)
    world.submit()
    return world


def emitted(world: World) -> tuple[int | None, int | None]:
    command = world.commands[0]
    assert isinstance(command, PlaceCall)
    return command.buyer_group_id, command.buyer_id


@pytest.mark.parametrize(
    ("connect", "offer", "found"),
    [
        (None, {"route_by_type": "revenue"}, (8, 71)),
        ({"route_by_type": "revenue"}, {}, (8, 71)),
        ({"route_by_type": "revenue", "buyer_ids": [70, 71, 72]}, {}, (None, 71)),
        ({"buyer_group_id": 7}, {"route_by_type": "revenue"}, (7, 70)),
        ({"buyer_group_ids": [7, 8]}, {"route_by_type": "revenue", "buyer_group_ids": ()}, (8, 71)),
        ({"buyer_group_ids": [9, 7]}, {"route_by_type": "revenue"}, (7, 70)),
        ({"buyer_group_ids": [9]}, {"route_by_type": "revenue"}, (9, 73)),
        (None, {"route_by_type": "revenue", "buyer_group_ids": (7, 9)}, (7, 70)),
        (None, {"route_by_type": "revenue", "buyer_group_ids": (), "buyer_ids": (72, 70)}, (None, 70)),
    ],
)
def test_the_highest_bid_of_the_lowest_tier_gets_the_call_without_asking_the_account(
    connect: dict[str, Any] | None, offer: dict[str, Any], found: tuple[int | None, int | None]
) -> None:
    world = offered(connect, **offer)
    assert (emitted(world), to_account(world)) == (found, [])


def test_the_step_goes_before_the_offer() -> None:
    world = offered({"route_by_type": "tier"}, route_by_type="revenue")
    group_id, _ = emitted(world)
    assert group_id == 7  # of a thousand times the weight


def test_the_buyers_of_a_step_are_called_where_none_of_its_groups_takes_calls() -> None:
    connect = {"buyer_group_ids": [7, 8], "buyer_ids": [73]}
    world = offered(connect)
    assert emitted(world)[0] in {7, 8}

    resting = World()
    for buyer_id in (70, 73):
        resting.add("buyer", buyer_id, Buyer(name="Bob", number=f"+121255501{buyer_id}"))
    for group_id in (7, 8):
        resting.add("buyer_group", group_id, BuyerGroup(name="Solar", buyer_ids=(70,), paused=True))
    resting.schedule({"id": "call", "kind": "call", "connect": connect}, TEXT)
    resting.submit()
    assert emitted(resting) == (None, 73)


def asked_by(world: World) -> SlotRequested:
    asked = to_account(world)[0]
    assert isinstance(asked, SlotRequested)
    return asked


def test_by_epc_the_account_chooses_and_learns_what_the_call_earns() -> None:
    world = offered(route_by_type="epc")
    asked = asked_by(world)
    assert asked.route_by_type == "epc"
    answer = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=asked.request_id,
        granted=True,
        buyer_id=71,
        buyer_group_id=8,
    )
    world.ask(answer, stream="accounts/0")
    command = world.commands[0]
    assert isinstance(command, PlaceCall)
    world.outcome("connected_buyer", buyer_id=71)
    world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, call_id=command.call_id, revenue=Decimal("40.0")))
    (sent,) = [from_json(one.body, CallEarned) for one in world.messages if one.type == "call.earned"]
    assert (sent.amounts, sent.routed_by_epc) == (
        {"buyer/71": {"earned_revenue": Decimal("40.0"), "revenue": Decimal("40.0")}},
        True,
    )


def test_of_a_call_that_was_routed_otherwise_nothing_is_sent_without_caps() -> None:
    world = offered(route_by_type="revenue")
    command = world.commands[0]
    assert isinstance(command, PlaceCall)
    world.outcome("connected_buyer", buyer_id=71)
    world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, call_id=command.call_id, revenue=Decimal("40.0")))
    assert [one for one in world.messages if one.type == "call.earned"] == []


def test_a_spacing_needs_a_slot() -> None:
    world = World()
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550170", spacing_seconds=60))
    world.schedule({"id": "call", "kind": "call", "connect": {"buyer_ids": [70]}}, TEXT)
    world.submit()
    assert (world.commands, asked_by(world).buyer_ids, asked_by(world).route_by_type) == ([], (70,), "tier")
