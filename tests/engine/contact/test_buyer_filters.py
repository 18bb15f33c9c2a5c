"""Does a buyer take calls of those leads alone for which its filters hold, also where a slot must be requested?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.contact import CallbackOwner
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.records import Buyer, BuyerGroup
from schemas.requests import SlotReleased, SlotRequested
from tests.engine.contact.test_callback_owners import call_of, promised
from tests.engine.contact.test_slots import answer, to_account
from tests.engine.contact.world import NOON, World

CALL = {"id": "call", "kind": "call", "connect": {"buyer_group_id": 7}}


def made(*, limit: int | None = None, filters: dict[int, tuple[str, ...]] | None = None) -> World:
    """A group of buyers: 70 takes flat roofs, 71 steep ones, 72 anything, unless other filters are given."""
    world = World()
    wanted = {70: ("roof:flat",), 71: ("roof:steep",), 72: ()} if filters is None else filters
    for buyer_id, texts in wanted.items():
        world.add("buyer", buyer_id, Buyer(name="B", number=f"+121255501{buyer_id}", filters=texts))
    world.add("buyer_group", 7, BuyerGroup(name="Roofs", buyer_ids=tuple(wanted), concurrency_cap_limit=limit))
    world.schedule(CALL)
    return world


def asked(world: World) -> list[SlotRequested]:
    return [message for message in to_account(world) if isinstance(message, SlotRequested)]


@pytest.mark.parametrize(
    ("filters", "data", "takes"),
    [
        (("roof:flat",), {"roof": "Flat"}, True),
        (("roof:flat",), {"roof": "steep"}, False),
        (("roof:flat",), {}, False),
        (("roof:flat|steep", "loan:>=5000"), {"roof": "steep", "loan": 5000}, True),
        (("roof:flat|steep", "loan:>=5000"), {"roof": "steep", "loan": 4999}, False),
        (("roof:!=flat",), {}, True),
        (("state:CA",), {}, False),
        (("state:CA",), {"state": "CA"}, True),
        (("zone:America/New_York",), {}, True),
        (("lifetime_calls:<1",), {}, True),
        (("enrolment_attempts:>=1",), {}, False),
    ],
)
def test_a_buyer_takes_the_leads_for_which_all_its_filters_hold(
    filters: tuple[str, ...], data: dict[str, Any], takes: bool
) -> None:
    world = made(filters={70: filters})
    lead = world.submit(data=data)
    assert [type(command) for command in world.commands] == ([PlaceCall] if takes else [])
    assert lead.status_wait == ("awaiting_outcome" if takes else "no_buyer_available")


def test_calls_are_shared_among_the_buyers_whose_filters_hold() -> None:
    world = made()
    for number in range(6):
        number_called = f"+1305555{2000 + number}"
        world.submit(data={"roof": "steep"}, caller_id=number_called, contact_key=f"1|{number_called}")
    buyers = {command.buyer_id for command in world.commands if isinstance(command, PlaceCall)}
    assert buyers == {71, 72}


def test_a_request_for_a_slot_excludes_the_buyers_whose_filters_do_not_hold() -> None:
    world = made(limit=2)
    world.submit(data={"roof": "steep"})
    (request,) = asked(world)
    assert (request.buyer_group_id, request.excluded_buyer_ids) == (7, (70,))


def test_a_request_without_filters_is_what_it_was() -> None:
    world = made(limit=2, filters={70: (), 71: ()})
    world.submit()
    assert [request.excluded_buyer_ids for request in asked(world)] == [()]


def test_a_slot_of_a_buyer_that_no_longer_takes_the_lead_is_given_back() -> None:
    world = made(limit=2)
    world.submit(data={"roof": "flat"})
    world.add("buyer", 70, Buyer(name="B", number="+12125550170", filters=("roof:tiled",)), version=2)
    answer(world)
    assert world.commands == []
    assert world.lead().status_wait == "no_buyer_available"
    assert [message.request_id for message in to_account(world) if isinstance(message, SlotReleased)] == [
        asked(world)[0].request_id
    ]


def test_a_changed_lead_asks_for_the_buyers_that_take_it_now() -> None:
    world = made(limit=2)
    world.submit(data={"roof": "flat"})
    world.update(data={"roof": "steep"})
    first, second = asked(world)
    assert (first.excluded_buyer_ids, second.excluded_buyer_ids) == ((71,), (70,))
    assert first.request_id != second.request_id
    answer(world, first.request_id)  # it was under way: given back
    assert world.commands == []
    world.update(data={"roof": "tiled"})
    assert asked(world)[-1].excluded_buyer_ids == (70, 71)


def test_a_lead_that_waits_asks_for_the_buyers_of_changed_filters_at_once() -> None:
    world = made(limit=2)
    world.submit(data={"roof": "flat"})
    world.add("buyer", 71, Buyer(name="B", number="+12125550171", filters=("roof:flat|steep",)), version=2)
    world.wait(1)
    assert [request.excluded_buyer_ids for request in asked(world)] == [(71,), ()]


def test_a_callback_of_an_owner_whose_filters_do_not_hold_goes_to_the_next_one() -> None:
    world = promised(CallbackOwner(buyer_id=1, buyer_group_id=7), filters=("roof:flat",))
    world.wait_until(NOON + HOUR + 15 * MINUTE - SECOND)
    assert (world.commands, world.lead().status_wait) == ([], "callback_owner_unavailable")
    world.wait(1)
    assert call_of(world).buyer_id == 2
