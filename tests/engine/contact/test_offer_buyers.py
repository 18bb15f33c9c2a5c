"""Does a step that names no buyers call for those of the offer, and does a lead wait while their caps are used up?"""

from decimal import Decimal
from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.instant import DAY, HOUR, MINUTE, Instant
from schemas.records import Buyer, BuyerGroup, Offer, TrafficSource
from schemas.requests import CallEarned, CallUpdateRequested, SlotAnswered, SlotReleased, SlotRequested
from schemas.wire import from_json
from tests.engine.contact.test_slots import answer, to_account
from tests.engine.contact.world import KEY, NEW_YORK, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}


def offered(*, group: dict[str, Any] | None = None, **offer: Any) -> World:
    world = World()
    for number in range(4):
        world.add("buyer", 70 + number, Buyer(name="Bob", number=f"+1212555017{number}"))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70, 71), **(group or {})))
    world.add("buyer_group", 8, BuyerGroup(name="Roofs", buyer_ids=(72,), tier=2))
    fields: dict[str, Any] = {"buyer_group_ids": (7, 8), "buyer_ids": (73,), **offer}
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, **fields), version=2)
    world.schedule(CALL, TEXT)
    world.wait(1)  # what is to be gone through because the offer was changed
    return world


def emitted(world: World) -> tuple[int | None, int | None]:
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    return command.buyer_group_id, command.buyer_id


def test_a_step_without_connect_takes_its_buyer_from_the_offer_of_the_lead() -> None:
    world = offered()
    world.submit()
    group_id, buyer_id = emitted(world)
    assert group_id == 7
    assert buyer_id in {70, 71}
    world.outcome("connected_buyer", buyer_id=buyer_id)
    assert world.lead().buyer_id == buyer_id


def test_a_voice_bot_takes_no_buyer_of_the_offer() -> None:
    world = offered(group={"dial_buyers_type": "simultaneously"})
    world.schedule({**CALL, "connect": {"stream": "wss://bot.example.com"}}, record_id=2)
    world.submit(schedule_id=2)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.stream, command.buyer_id, command.buyer_legs) == ("wss://bot.example.com", None, ())


@pytest.mark.parametrize(
    ("group", "offer", "found"),
    [
        ({"paused": True}, {}, (8, 72)),
        ({}, {"buyer_group_ids": (8, 7)}, (7, None)),
        ({}, {"buyer_group_ids": ()}, (None, 73)),
        ({"paused": True}, {"buyer_group_ids": (7,)}, (None, 73)),
        ({}, {"buyer_group_ids": (), "buyer_ids": ()}, (None, None)),
    ],
)
def test_groups_go_before_buyers_and_low_tiers_before_high(
    group: dict[str, Any], offer: dict[str, Any], found: tuple[int | None, int | None]
) -> None:
    world = offered(group=group, **offer)
    world.submit()
    group_id, buyer_id = emitted(world)
    assert (group_id, None if found == (7, None) else buyer_id) == found


def test_the_connect_of_a_step_goes_before_the_buyers_of_the_offer() -> None:
    world = offered()
    world.schedule({**CALL, "connect": {"buyer_ids": [73]}}, record_id=2)
    world.submit(schedule_id=2)
    assert emitted(world) == (None, 73)


def test_a_lead_waits_where_nobody_of_the_offer_takes_calls() -> None:
    world = offered(group={"paused": True}, buyer_group_ids=(7,), buyer_ids=())
    assert (world.submit().status_wait, world.commands) == ("no_buyer_available", [])


def test_a_limited_group_of_the_offer_is_asked_for_with_all_that_the_offer_names() -> None:
    world = offered(group={"concurrency_cap_limit": 1})
    world.submit()
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert (asked.buyer_group_id, asked.buyer_group_ids, asked.buyer_ids) == (None, (7, 8), (73,))


@pytest.mark.parametrize("whose", ["buyer_group", "buyer", "traffic_source"])
def test_a_cap_of_any_kind_needs_a_slot(whose: str) -> None:
    world = offered(buyer_group_ids=(7,), buyer_ids=())
    caps: dict[str, Any] = {"caps": {"connection_daily": 2.0}}
    if whose == "buyer_group":
        world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70, 71), **caps), version=2)
    elif whose == "buyer":
        world.add("buyer", 70, Buyer(name="Bob", number="+12125550170", **caps), version=2)
    world.add("traffic_source", 5, TrafficSource(name="Ads", **(caps if whose == "traffic_source" else {})))
    world.submit(columns={"traffic_source_id": 5})
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert asked.traffic_source_id == (5 if whose == "traffic_source" else None)


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [
        ("connected_buyer", "connected"),
        ("connected_human", "attempted"),
        ("no_answer", "attempted"),
        ("rejected_at_gate", "unused"),
        ("not_placed", "unused"),
        ("unknown", "unknown"),
    ],
)
def test_the_outcome_of_a_call_says_what_of_its_slot_was_used(outcome: str, ended: str) -> None:
    world = offered(group={"caps": {"attempt_daily": 9.0}}, buyer_group_ids=(7,), buyer_ids=())
    world.submit()
    answer(world)
    world.outcome(outcome)
    released = [message for message in to_account(world) if isinstance(message, SlotReleased)]
    assert [message.ended for message in released] == [ended]


def test_a_call_of_whose_end_nobody_tells_used_all_of_its_slot() -> None:
    world = offered(group={"caps": {"attempt_daily": 9.0}}, buyer_group_ids=(7,), buyer_ids=())
    world.submit()
    answer(world)
    world.wait(4 * 3600)
    (released,) = [message for message in to_account(world) if isinstance(message, SlotReleased)]
    assert released.ended == "unknown"


def refuse(world: World, until: Instant | None, reason: str = "buyer_cap") -> None:
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    refusal = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=asked.request_id,
        granted=False,
        reason=reason,
        until=until,
    )
    world.ask(refusal, stream="accounts/0")


@pytest.fixture
def capped() -> World:
    return offered(group={"caps": {"attempt_hourly": 1.0}, "time_zone": NEW_YORK}, buyer_group_ids=(7,), buyer_ids=())


def test_a_lead_that_finds_every_buyer_used_up_waits_for_the_reset_and_asks_no_sooner(capped: World) -> None:
    capped.submit()
    refuse(capped, at("2026-07-15 13:00"))
    lead = capped.lead()
    assert (lead.status, lead.status_wait, lead.reasons) == ("waiting", "buyer_cap", ("buyer_cap",))
    assert lead.next_action_at == lead.wake_at == at("2026-07-15 13:00")
    assert len(to_account(capped)) == 1
    capped.wait(3600)
    first, second = to_account(capped)
    assert isinstance(first, SlotRequested)
    assert isinstance(second, SlotRequested)
    assert (second.request_id != first.request_id, second.due_at) == (True, first.due_at)


def test_a_reset_outside_the_hours_of_the_law_is_waited_for_until_they_begin(capped: World) -> None:
    capped.submit()
    refuse(capped, at("2026-07-16 00:00"))
    lead = capped.lead()
    assert (lead.next_action_at, lead.reasons) == (at("2026-07-16 08:00"), ("buyer_cap", "quiet_hours_federal"))


def test_a_lead_that_expires_before_the_reset_has_no_next_action_and_expires(capped: World) -> None:
    capped.submit(hours_to_expire=1)
    refuse(capped, at("2026-07-15 15:00"))
    assert capped.lead().next_action_at is None
    capped.wait(3600)
    assert capped.lead().status == "expired"


@pytest.mark.parametrize("until", [at("2026-07-15 15:00"), None])
def test_a_change_of_the_record_wakes_the_leads_that_its_caps_hold(capped: World, until: Instant | None) -> None:
    capped.submit()
    refuse(capped, until)
    body = BuyerGroup(name="Solar", buyer_ids=(70, 71), caps={"attempt_hourly": Decimal("9.0")}, time_zone=NEW_YORK)
    capped.add("buyer_group", 7, body, version=2)
    capped.wait(1)
    assert len([message for message in to_account(capped) if isinstance(message, SlotRequested)]) == 2


def test_a_lead_whose_cap_no_clock_resets_looks_again_some_hours_later(capped: World) -> None:
    capped.submit()
    refuse(capped, None)
    assert capped.lead().wake_at == capped.now + 6 * HOUR
    capped.wait(30 * MINUTE // 1000)
    assert len(to_account(capped)) == 1


def earnings(world: World) -> list[CallEarned]:
    sent = [letter for letter in world.messages if letter.type == "call.earned"]
    return [from_json(letter.body, CallEarned) for letter in sent]


def test_the_revenue_of_a_call_is_reported_to_capped_resources_alone(capped: World) -> None:
    capped.submit()
    answer(capped)
    capped.outcome("connected_buyer", buyer_id=70)
    call_id = capped.lead().attempted_call_id
    capped.now += DAY  # what a call earns counts on the day of the call, however late it is reported
    request: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "call_id": call_id}
    capped.ask(CallUpdateRequested(**request, revenue=Decimal("40.0"), payout=Decimal("15.0"), buyer_converted=True))
    capped.ask(CallUpdateRequested(**request, revenue=Decimal("40.0")))
    capped.ask(CallUpdateRequested(**request, add_revenue=Decimal("-10.0"), buyer_converted=False))
    assert [(found.at, found.amounts) for found in earnings(capped)] == [
        (
            capped.call(call_id).created_at,
            {"buyer_group/7": {"buyer_conversion": 1, "earned_revenue": Decimal("25.0"), "revenue": Decimal("40.0")}},
        ),
        (
            capped.call(call_id).created_at,
            {"buyer_group/7": {"buyer_conversion": -1, "earned_revenue": Decimal("-10.0"), "revenue": Decimal("-10.0")}},
        ),
    ]
