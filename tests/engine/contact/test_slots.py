"""Is a limited buyer called only with a slot, and is every slot given back?"""

from collections import Counter
from typing import Any

import msgspec
import pytest

from schemas.commands import PlaceCall
from schemas.instant import MINUTE
from schemas.records import Buyer, BuyerGroup
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.schedule import Window
from tests.engine.contact.world import KEY, NEW_YORK, NOON, World, at

CALL = {"id": "call", "kind": "call", "connect": {"buyer_group_id": 7}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("buyer", 70, Buyer(name="Bob", number="+12125550170", timeout_seconds=45, dtmf_tones="w12#"))
    made.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70,), concurrency_cap_limit=2, tier=-3))
    made.schedule(CALL, TEXT)
    return made


def to_account(world: World) -> list[SlotRequested | SlotReleased]:
    kinds = {"slot.requested": SlotRequested, "slot.released": SlotReleased}
    sent = [letter for letter in world.messages if letter.topic == "accounts.requests"]
    assert {letter.key for letter in sent} <= {"1"}
    return [msgspec.json.decode(letter.body, type=kinds[letter.type]) for letter in sent]


def answer(world: World, request_id: str | None = None, *, granted: bool = True) -> None:
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    given = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=request_id or asked.request_id,
        granted=granted,
        buyer_id=70 if granted else None,
        buyer_group_id=7,
    )
    world.ask(given, stream="accounts/0")


def released(world: World) -> list[str]:
    return [message.request_id for message in to_account(world) if isinstance(message, SlotReleased)]


def test_a_call_to_a_limited_group_waits_for_a_slot(world: World) -> None:
    lead = world.submit(lead_priority=3.0)
    assert (world.commands, lead.status, lead.status_wait) == ([], "waiting", "concurrency_cap")
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert (asked.buyer_group_id, asked.priority, asked.urgency_class, asked.due_at) == (7, 3.0, 2, world.now)
    answer(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.buyer_id, command.buyer_number, command.command_id) == (70, "+12125550170", asked.request_id)
    assert (command.buyer_timeout_seconds, command.buyer_dtmf_tones) == (45, "w12#")
    assert (world.call(command.call_id).dial_tier, world.lead().dial_tier) == (-3, -3)


def test_a_slot_is_given_back_with_the_outcome(world: World) -> None:
    world.submit()
    answer(world)
    assert released(world) == []
    world.outcome("connected_buyer")
    assert released(world) == [world.commands[0].command_id]


def test_a_slot_is_given_back_when_no_outcome_comes(world: World) -> None:
    world.submit()
    answer(world)
    world.wait(4 * 3600)
    assert released(world) == [world.commands[0].command_id]


def test_everything_is_checked_again_when_the_slot_comes(world: World) -> None:
    world.submit()
    (asked,) = to_account(world)
    world.now += 10 * 60 * MINUTE  # 22:00
    answer(world)
    assert (world.commands, released(world)) == ([], [asked.request_id])
    assert world.lead().status_wait == "quiet_hours_federal"


def test_an_opt_out_takes_the_request_back_and_a_slot_that_comes_later_is_returned(world: World) -> None:
    world.submit()
    (asked,) = to_account(world)
    world.act("opt_out")
    assert released(world) == [asked.request_id]
    answer(world, asked.request_id)
    assert (world.commands, released(world)) == ([], [asked.request_id] * 2)


def test_an_old_answer_is_not_taken_for_the_present_request(world: World) -> None:
    world.submit()
    old = to_account(world)[0].request_id
    world.update(lead_priority=1.0)
    new = to_account(world)[-1].request_id
    answer(world, old)
    assert (world.commands, released(world)) == ([], [old, old])
    answer(world, new)
    assert [command.command_id for command in world.commands] == [new]
    answer(world, new)
    assert released(world) == [old, old]


def test_a_request_without_an_answer_is_sent_again_as_it_was(world: World) -> None:
    world.submit()
    world.wait(301)
    first, second = to_account(world)
    assert isinstance(second, SlotRequested)
    assert first.request_id == second.request_id


def test_a_refused_slot_is_asked_for_again_later(world: World) -> None:
    world.submit()
    answer(world, granted=False)
    assert world.lead().status_wait == "no_buyer_available"
    world.wait(5)
    first, second = to_account(world)
    assert isinstance(second, SlotRequested)
    assert first.request_id != second.request_id


def test_a_lead_expires_while_it_waits_for_a_slot(world: World) -> None:
    world.submit(hours_to_expire=1)
    world.wait(3600)
    assert world.lead().status == "expired"
    assert len(released(world)) == 1


def test_a_buyer_with_a_limit_of_its_own_needs_a_slot_too(world: World) -> None:
    world.add("buyer", 71, Buyer(name="Eve", number="sip:eve@example.com", concurrency_cap_limit=1))
    world.schedule({**CALL, "connect": {"buyer_ids": [71]}}, record_id=2)
    world.submit(schedule_id=2)
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert asked.buyer_ids == (71,)


def test_a_buyer_without_a_limit_is_connected_at_once(world: World) -> None:
    world.schedule({**CALL, "connect": {"buyer_ids": [70]}}, record_id=2)
    world.submit(schedule_id=2)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.buyer_id, command.buyer_number, to_account(world)) == (70, "+12125550170", [])
    assert command.buyer_timeout_seconds == 45


@pytest.mark.parametrize(
    ("weights", "calls"),
    [((3, 1, 0), {70: 30, 71: 10}), ((0, 0, 0), {70: 10, 71: 10, 72: 10}), ((1, 1, 2), {70: 10, 71: 10, 72: 20})],
)
def test_buyers_without_a_limit_share_the_calls_of_their_tier_by_weight(
    world: World, weights: tuple[int, ...], calls: dict[int, int]
) -> None:
    for buyer_id, weight in enumerate(weights, 70):
        world.add("buyer", buyer_id, Buyer(name="Bob", number=f"+121255501{buyer_id}", weight=weight), version=2)
    world.add("buyer", 73, Buyer(name="Late", number="+12125550173", tier=2, weight=9))
    world.schedule({**CALL, "connect": {"buyer_ids": [73, 70, 71, 72]}}, record_id=2)
    for number in range(sum(calls.values())):
        caller_id = f"+1305555{number:04}"
        world.submit(schedule_id=2, contact_key=f"1|{caller_id}", caller_id=caller_id)
    found = Counter(command.buyer_id for command in world.commands if isinstance(command, PlaceCall))
    assert found.keys() == calls.keys()
    assert all(abs(found[buyer_id] - count) <= 2 for buyer_id, count in calls.items()), found


def test_nobody_is_called_where_no_buyer_takes_calls(world: World) -> None:
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550170", paused=True), version=2)
    world.schedule({**CALL, "connect": {"buyer_ids": [70]}}, record_id=2)
    assert world.submit(schedule_id=2).status_wait == "no_buyer_available"
    assert world.commands == []


@pytest.mark.parametrize("closed", ["buyer", "group"])
def test_nobody_is_called_before_the_buyer_and_its_group_open(world: World, closed: str) -> None:
    later = ({"days": ["mon", "tue", "wed", "thu", "fri"], "open": "13:00", "close": "17:00"},)
    hours: dict[str, Any] = {"time_zone": NEW_YORK, "business_hours": msgspec.convert(later, tuple[Window, ...])}
    bob = Buyer(name="Bob", number="+12125550170", **(hours if closed == "buyer" else {}))
    world.add("buyer", 70, bob, version=2)
    group = BuyerGroup(name="Solar", buyer_ids=(70,), **(hours if closed == "group" else {}))
    world.add("buyer_group", 7, group, version=2)
    lead = world.submit()
    assert (lead.status_wait, lead.wake_at) == ("no_buyer_available", at("2026-07-15 13:00"))
    world.wait_until(at("2026-07-15 12:59"))
    assert world.commands == []
    world.wait_until(at("2026-07-15 13:00"))
    assert [command.step_id for command in world.commands] == ["call"]


def test_a_lead_that_is_refused_again_and_again_asks_ever_less_often(world: World) -> None:
    world.submit()
    asked = 0
    while world.now < NOON + 4 * 60 * MINUTE:
        if world.lead().slot_id is not None:
            answer(world, granted=False)
            asked += 1
        world.wait(5)
    assert 10 < asked < 80


def test_a_change_that_the_plan_does_not_rest_on_keeps_the_place_in_the_queue(world: World) -> None:
    world.submit()
    world.update(data={"note": "likes solar"})
    world.submit(data={"note": "likes solar a lot"})
    assert len(to_account(world)) == 1


def test_an_end_step_goes_on_asking_for_its_slot_after_the_lead_would_have_expired(world: World) -> None:
    world.schedule(end_steps=[CALL], hours_to_expire=1, record_id=2)
    world.submit(schedule_id=2)
    world.wait(3600)
    asked = len(to_account(world))
    world.wait(2 * 3600)
    assert len(to_account(world)) > asked
    answer(world)
    assert world.steps() == ["call"]
