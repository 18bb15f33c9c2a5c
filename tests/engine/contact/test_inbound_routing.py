"""Which buyer takes an inbound call, under which caps, and what happens where none does?"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from engine.contact.requests.inbound_routing import CALLBACK_AFTER, TRIED_MAX
from engine.identity import withheld_key
from engine.partition.draft import RefusedError
from engine.views.call import caller_number
from schemas.contact import Call
from schemas.instant import HOUR, SECOND, Instant
from schemas.records import Body, Buyer, BuyerGroup, Company, Number, Offer, TrafficSource
from schemas.requests import CallDeleteRequested, CallReceived, SlotAnswered, SlotReleased, SlotRequested
from schemas.schedule import Window
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, NEW_YORK, NUMBER, World, at

OURS = "+12125550150"
CAP = {"concurrency_cap_limit": 1}


def routed(*, buyer: dict[str, Any] | None = None, group: dict[str, Any] | None = None, **offer: Any) -> World:
    """Return a world whose offer 1 has group 7 with buyers 70 and 71, and a number."""
    world = World()
    for number in range(2):
        body = Buyer(name="Bob", number=f"+1212555016{number}", timeout_seconds=20, dtmf_tones="9", **(buyer or {}))
        world.add("buyer", 70 + number, body)
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70, 71), **(group or {})))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", **{"buyer_group_ids": (7,), **offer}), version=2)
    world.add("number", 5, Number(number=OURS, offer_id=1))
    world.wait(1)
    return world


def rings(world: World, state: Any = "ringing", *, after: int = 0, **fields: Any) -> Call:
    world.now += after * SECOND
    given = {"company_id": 1, "contact_key": KEY, "from_number": NUMBER, "number_called": OURS, "zones": (NEW_YORK,)}
    given |= {"occurred_at": world.now, "wants_route": True, "gateway_ref": "pbx-1"}
    world.ask(CallReceived(state=state, **{**given, **fields}))
    assert world.answer is not None
    return world.call(world.answer.record_id)


def rings_withheld(world: World, said: str = "anonymous", ref: str = "pbx-1", **fields: Any) -> Call:
    """Let somebody call who has no number."""
    return rings(world, from_number=said, gateway_ref=ref, contact_key=withheld_key(1, ref), zones=(), **fields)


def grant(world: World, *, granted: bool = True, buyer_id: int | None = 70, **fields: Any) -> Call:
    """Answer the newest request for a slot."""
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    about: dict[str, Any] = {"lead_id": asked.lead_id, "request_id": asked.request_id, "call_id": asked.call_id}
    about |= {"buyer_id": buyer_id, "buyer_group_id": 7} if granted else {}
    world.ask(
        SlotAnswered(company_id=1, contact_key=asked.contact_key, granted=granted, **{**about, **fields}),
        stream="accounts/0",
    )
    return world.call(asked.call_id)


def uses(world: World) -> list[str]:
    """Return how far each released slot was used."""
    return [message.ended for message in to_account(world) if isinstance(message, SlotReleased)]


def routes(world: World) -> list[dict[str, Any]]:
    return [fact.data for fact in world.facts if fact.type == "call.routed"]


def action(call: Call) -> str | None:
    return None if call.route is None else call.route.action


def test_a_call_to_buyers_without_caps_is_routed_by_the_report_that_it_rings() -> None:
    world = routed()
    call = rings(world)
    assert (action(call), call.buyer_group_id, to_account(world)) == ("connect", 7, [])
    assert call.buyer_id in {70, 71}
    (shown,) = routes(world)
    number = f"+1212555016{call.buyer_id - 70}"
    assert (shown["buyer_number"], shown["buyer_timeout_seconds"], shown["buyer_dtmf_tones"]) == (number, 20, "9")


@pytest.mark.parametrize(
    ("fields", "offer"),
    [
        ({"wants_route": False}, {}),
        ({"buyer_id": 71}, {}),
        ({"state": "ended"}, {}),
        ({}, {"buyer_group_ids": ()}),
        ({"number_called": "+12125550199"}, {}),
    ],
)
def test_nobody_routes_a_call_whose_gateway_or_offer_does_not_want_it(fields: dict[str, Any], offer: dict[str, Any]) -> None:
    world = routed(group=CAP, **offer)
    call = rings(world, **fields)
    assert (call.route, to_account(world), routes(world)) == (None, [], [])


def test_a_call_to_buyers_with_caps_takes_a_slot_at_once_and_never_waits() -> None:
    world = routed(group=CAP)
    call = rings(world)
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert (asked.call_id, asked.buyer_group_id, asked.request_id) == (call.id, 7, f"{call.uuid}/1")
    assert (action(call), call.buyer_id) == ("pending", None)
    call = grant(world)
    assert (action(call), call.buyer_id, call.buyer_group_id) == ("connect", 70, 7)


def test_a_repeated_report_keeps_the_route() -> None:
    world = routed(group=CAP)
    rings(world)
    rings(world)
    grant(world)
    assert rings(world, "connected", after=2).buyer_id == 70
    assert (len(to_account(world)), len(routes(world))) == (1, 1)


@pytest.mark.parametrize(
    ("reports", "used", "lead_buyer"),
    [
        ([("connected", {"buyer_id": 70}), ("ended", {"talk_seconds": 9})], "connected", 70),
        ([("connected", {}), ("ended", {"buyer_answered_at": 1, "talk_seconds": 9})], "connected", 70),
        ([("connected", {}), ("ended", {"hung_up_by": "caller"})], "attempted", None),
        ([("ended", {"hung_up_by": "caller"})], "attempted", None),
        ([("connected", {"buyer_id": 71}), ("ended", {"talk_seconds": 9})], "attempted", 71),
    ],
)
def test_the_end_of_a_call_releases_its_slot_as_far_as_it_was_used(
    reports: list[tuple[str, dict[str, Any]]], used: str, lead_buyer: int | None
) -> None:
    world = routed(group=CAP)
    rings(world)
    grant(world)
    for state, fields in reports:
        answered = {"buyer_answered_at": world.now} if "buyer_answered_at" in fields else {}
        call = rings(world, state, after=5, **{**fields, **answered})
    assert (uses(world), world.lead().buyer_id) == ([used], lead_buyer)
    assert (call.outcome == "connected_buyer") == (lead_buyer is not None)
    assert call.route is not None
    assert call.route.slot_id is None
    rings(world, "ended", after=1, recording_url="https://example.com/1")
    assert len(uses(world)) == 1


def test_a_call_whose_end_is_never_reported_has_used_its_slot_in_full() -> None:
    world = routed(group=CAP)
    rings(world)
    grant(world)
    world.wait(5 * HOUR // SECOND)
    assert uses(world) == ["unknown"]


def test_a_deleted_call_and_one_that_ends_before_its_answer_release_what_they_requested() -> None:
    world = routed(group=CAP)
    call = rings(world)
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))
    assert uses(world) == ["unused"]
    world = routed(group=CAP)
    rings(world)
    rings(world, "ended", after=3, hung_up_by="caller")
    assert uses(world) == ["unused"]
    call = grant(world)
    assert (uses(world), action(call), call.buyer_id) == (["unused", "unused"], "pending", None)


def test_a_deleted_call_under_way_has_used_its_slot_in_full() -> None:
    world = routed(group=CAP)
    rings(world)
    call = grant(world)
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))
    assert uses(world) == ["unknown"]


def test_a_buyer_who_does_not_answer_is_left_out_of_the_next_try() -> None:
    world = routed(group=CAP)
    rings(world)
    grant(world)
    call = rings(world, after=20, unanswered_buyer_id=70)
    assert (uses(world), action(call)) == (["attempted"], "pending")
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert (asked.excluded_buyer_ids, asked.request_id) == ((70,), f"{call.uuid}/2")
    call = grant(world, buyer_id=71)
    assert (action(call), call.buyer_id) == ("connect", 71)
    assert rings(world, after=1, unanswered_buyer_id=70).buyer_id == 71, "a late repeat of the first report"
    rings(world, after=20, unanswered_buyer_id=71)
    call = grant(world, granted=False, reason="no_buyer_available")
    assert (action(call), uses(world)) == ("voicemail", ["attempted", "attempted"])


def test_buyers_without_caps_are_tried_one_after_the_other_too() -> None:
    world = routed()
    first = rings(world).buyer_id
    second = rings(world, after=20, unanswered_buyer_id=first).buyer_id
    assert {first, second} == {70, 71}
    assert action(rings(world, after=20, unanswered_buyer_id=second)) == "voicemail"


def test_a_call_is_not_tried_for_ever() -> None:
    world = routed()
    for number in range(TRIED_MAX + 2):
        world.add("buyer", 100 + number, Buyer(name="Bob", number="+12125550170"))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", buyer_ids=tuple(range(100, 102 + TRIED_MAX))), version=3)
    call = rings(world)
    for _ in range(TRIED_MAX):
        assert action(call) == "connect"
        call = rings(world, after=1, unanswered_buyer_id=call.buyer_id)
    assert action(call) == "voicemail"


@pytest.mark.parametrize(
    ("offer", "shown"),
    [
        ({}, ("voicemail", None)),
        ({"no_buyer_action": "message", "no_buyer_message": "We are closed."}, ("message", "We are closed.")),
        ({"no_buyer_action": "hang_up"}, ("hang_up", None)),
    ],
)
def test_where_no_buyer_takes_a_call_the_offer_says_what_happens(
    offer: dict[str, Any], shown: tuple[str, str | None]
) -> None:
    world = routed(group={"paused": True}, **offer)
    call = rings(world)
    (route,) = routes(world)
    assert (action(call), route["reason"]) == (shown[0], "no_buyer_available")
    assert (route["action"], route["message"]) == shown
    assert call.buyer_id is None


def test_caps_that_are_used_up_are_named_with_their_reset() -> None:
    world = routed(group=CAP)
    rings(world)
    resets_at: Instant = world.now + HOUR
    grant(world, granted=False, reason="buyer_cap", until=resets_at)
    (route,) = routes(world)
    assert (route["action"], route["reason"], route["until"]) == ("voicemail", "buyer_cap", resets_at)


WEEKDAYS: Any = ("mon", "tue", "wed", "thu", "fri")
AFTERNOON: dict[str, Any] = {"time_zone": NEW_YORK, "business_hours": (Window(days=WEEKDAYS, open="15:00", close="19:00"),)}
MORNING: dict[str, Any] = {"time_zone": NEW_YORK, "business_hours": (Window(days=WEEKDAYS, open="09:00", close="11:00"),)}
TODAY, TOMORROW = at("2026-07-15 15:00"), at("2026-07-16 09:00")


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        ({"buyer": AFTERNOON}, TODAY),
        ({"group": MORNING}, TOMORROW),
        ({"buyer": MORNING, "group": AFTERNOON}, None),  # never open at once
        ({"buyer": {**MORNING, "paused": True}}, None),
        ({"buyer": {"paused": True, "unpause_at": at("2026-07-15 13:00")}}, at("2026-07-15 13:00")),
        ({"buyer": {**AFTERNOON, "paused": True, "unpause_at": at("2026-07-15 13:00")}}, TODAY),
        ({"buyer": {**AFTERNOON, "filters": ("roof:flat",)}}, None),  # no clock says when the lead has a flat roof
        ({"group": {"paused": True}}, None),
    ],
)
def test_a_call_outside_of_all_hours_says_when_the_first_buyer_opens(fields: dict[str, Any], until: int | None) -> None:
    world = routed(**fields)
    rings(world)
    (route,) = routes(world)
    assert (route["action"], route["reason"], route["until"]) == ("voicemail", "no_buyer_available", until)


def test_a_call_that_no_buyer_of_two_answered_says_when_the_third_opens() -> None:
    world = routed()
    world.add("buyer", 72, Buyer(name="Early", number="+12125550169", **MORNING))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=(70, 71, 72)), version=2)
    call = rings(world)
    for _ in range(2):
        call = rings(world, after=1, unanswered_buyer_id=call.buyer_id)
    assert (action(call), routes(world)[-1]["until"]) == ("voicemail", TOMORROW)


@pytest.mark.parametrize(
    ("reason", "resets_at", "until"),
    [
        ("buyer_cap", at("2026-07-16 00:00"), TOMORROW),
        ("buyer_cap", at("2026-07-16 10:00"), at("2026-07-16 10:00")),
        ("traffic_source_cap", at("2026-07-16 00:00"), TOMORROW),
        ("traffic_source_cap", None, None),  # a limit of 0
        ("concurrency_cap", None, None),  # nobody knows when a call ends
        ("no_buyer_available", None, TOMORROW),
        ("no_buyer_available", TOMORROW, TOMORROW),
    ],
)
def test_a_cap_that_is_reset_outside_of_hours_is_waited_for_until_they_begin(
    reason: str, resets_at: int | None, until: int | None
) -> None:
    world = routed(group={**CAP, **MORNING})
    rings(world)
    grant(world, granted=False, reason=reason, until=resets_at)
    (route,) = routes(world)
    assert (route["reason"], route["until"]) == (reason, until)


def test_a_pause_says_no_end_though_the_cap_of_the_buyer_has_one() -> None:
    world = routed(group=CAP)
    rings(world)
    world.add("company", 1, Company(name="Sunny", paused=True), version=3)
    grant(world, granted=False, reason="buyer_cap", until=TOMORROW)
    (route,) = routes(world)
    assert (route["reason"], route["until"]) == ("company_paused", None)


def test_who_calls_outside_of_hours_is_called_back_when_the_buyers_open() -> None:
    world = routed(buyer=MORNING, no_buyer_action="callback")
    call = rings(world)
    assert (action(call), world.lead().callback_at) == ("callback", TOMORROW)


@pytest.mark.parametrize(("until", "after"), [(None, CALLBACK_AFTER), (HOUR, HOUR), (SECOND, CALLBACK_AFTER)])
def test_who_finds_no_buyer_is_called_back_by_the_offers_buyers(until: int | None, after: int) -> None:
    world = routed(group=CAP, no_buyer_action="callback")
    rings(world)
    rang_at = world.now
    call = grant(world, granted=False, reason="buyer_cap", until=None if until is None else rang_at + until)
    lead = world.lead()
    assert (action(call), lead.callback_at) == ("callback", rang_at + after)
    assert lead.callback_owner is not None
    assert (lead.callback_owner.buyer_group_id, lead.callback_owner.grace_minutes) == (7, 0)
    rings(world, "ended", after=5, hung_up_by="caller")
    assert world.lead().callback_at == rang_at + after


def test_a_lead_that_has_ended_is_sent_to_the_voicemail_instead_of_called_back() -> None:
    world = routed(group={"paused": True}, no_buyer_action="callback")
    world.submit(offer_id=1)
    world.act("opt_out", schedule_id=None, offer_id=1)
    assert action(rings(world)) == "voicemail"


def test_a_blocked_person_is_rejected() -> None:
    world = routed(group=CAP)
    world.submit(offer_id=1, blocked=True)
    call = rings(world)
    assert (action(call), to_account(world)) == ("reject", [])
    rings(world)
    assert [route["reason"] for route in routes(world)] == ["blocked"]


def test_a_buyer_whose_filters_do_not_hold_takes_no_inbound_call() -> None:
    world = routed(buyer={"filters": ("roof:flat",)})
    assert action(rings(world)) == "voicemail"
    world = routed(buyer={"filters": ("roof:flat",)})
    world.submit(offer_id=1, data={"roof": "flat"})
    assert action(rings(world)) == "connect"


def test_the_caps_of_the_traffic_source_hold_for_inbound_calls() -> None:
    world = routed()
    world.add("traffic_source", 9, TrafficSource(name="Ads", concurrency_cap_limit=1))
    world.submit(offer_id=1, columns={"traffic_source_id": 9})
    rings(world)
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert asked.traffic_source_id == 9


def test_a_grant_whose_buyer_has_gone_meanwhile_is_released_and_another_one_is_asked_for() -> None:
    world = routed(group=CAP)
    rings(world)
    call = grant(world, buyer_id=99)
    assert (action(call), uses(world)) == ("pending", ["unused"])
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert asked.excluded_buyer_ids == (99,)
    call = grant(world, granted=False, reason="no_buyer_available")
    assert (action(call), uses(world)) == ("voicemail", ["unused"])


def test_who_is_granted_and_gone_again_and_again_is_not_tried_for_ever() -> None:
    world = routed(group=CAP)
    call = rings(world)
    for number in range(TRIED_MAX):
        assert action(call) == "pending"
        call = grant(world, buyer_id=900 + number)
    assert (action(call), uses(world)) == ("voicemail", ["unused"] * TRIED_MAX)


def test_a_grant_of_a_buyer_whose_filters_hold_no_more_gives_the_call_to_another_one() -> None:
    world = routed(group=CAP)
    rings(world)
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550160", filters=("roof:flat",)), version=2)
    grant(world, buyer_id=70)
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert asked.excluded_buyer_ids == (70,)
    assert grant(world, buyer_id=71).buyer_id == 71


SAID = ("anonymous", "Restricted", "sip:alice@example.com", "+266696687", "")


@pytest.mark.parametrize("said", SAID)
def test_a_caller_without_a_number_is_put_through_to_a_buyer_without_caps(said: str) -> None:
    world = routed()
    call = rings_withheld(world, said)
    assert (action(call), call.buyer_group_id, call.from_number) == ("connect", 7, said)
    assert (call.lead_id, caller_number(call), world.lead_ids()) == (None, None, [])


@pytest.mark.parametrize("said", SAID)
def test_a_caller_without_a_number_takes_a_slot_and_gives_it_back(said: str) -> None:
    world = routed(group=CAP)
    call = rings_withheld(world, said)
    assert action(call) == "pending"
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert asked.lead_id == call.id
    assert action(grant(world)) == "connect"
    rings_withheld(world, said, state="connected", buyer_id=70, after=5)
    rings_withheld(world, said, state="ended", talk_seconds=60, after=60)
    assert uses(world) == ["connected"]


def test_two_calls_without_a_number_are_two_people() -> None:
    world = routed()
    first, second = rings_withheld(world, ref="pbx-1"), rings_withheld(world, ref="pbx-2", after=60)
    assert first.contact_key != second.contact_key
    assert (second.buyer_repeat_caller, second.offer_repeat_caller) == (False, False)


def test_a_slot_for_a_caller_without_a_number_who_has_hung_up_is_given_back() -> None:
    world = routed(group=CAP)
    rings_withheld(world)
    rings_withheld(world, state="ended", after=3)
    grant(world)
    assert uses(world)[-1] == "unused"


def test_a_buyer_who_did_not_answer_a_caller_without_a_number_is_not_rung_again() -> None:
    world = routed()
    first = rings_withheld(world)
    second = rings_withheld(world, unanswered_buyer_id=first.buyer_id, after=20)
    assert {first.buyer_id, second.buyer_id} == {70, 71}


def test_filters_of_buyers_see_nothing_of_a_caller_without_a_number() -> None:
    world = routed(buyer={"filters": ("roof:flat",)})
    assert action(rings_withheld(world)) == "voicemail"


def test_a_caller_without_a_number_is_promised_no_callback() -> None:
    world = routed(buyer={"paused": True}, no_buyer_action="callback")
    assert action(rings_withheld(world)) == "voicemail"


def test_one_who_claims_to_be_without_a_number_is_no_other_contact() -> None:
    world = routed()
    with pytest.raises(RefusedError, match="is not the number of this contact"):
        rings(world, from_number="anonymous", contact_key=withheld_key(1, "another call"))


PAUSED: dict[str, tuple[str, int, Callable[..., Body]]] = {
    "company_paused": ("company", 1, partial(Company, name="Sunny", time_zone=NEW_YORK)),
    "offer_paused": ("offer", 1, partial(Offer, name="Solar", lead_token="offer", buyer_group_ids=(7,))),
    "number_paused": ("number", 5, partial(Number, number=OURS, offer_id=1)),
}


@pytest.mark.parametrize("reason", PAUSED)
@pytest.mark.parametrize("instead", ["voicemail", "message", "hang_up"])
def test_a_pause_keeps_inbound_calls_from_the_buyers(reason: str, instead: Any) -> None:
    record_type, record_id, body = PAUSED[reason]
    world = routed(no_buyer_action=instead)
    more = {"no_buyer_action": instead} if record_type == "offer" else {}
    world.add(record_type, record_id, body(paused=True, **more), version=3)
    assert action(rings(world)) == instead
    assert routes(world)[-1]["reason"] == reason


@pytest.mark.parametrize("reason", PAUSED)
def test_a_pause_that_lets_inbound_calls_go_on_pauses_what_we_begin_alone(reason: str) -> None:
    record_type, record_id, body = PAUSED[reason]
    world = routed()
    world.add(record_type, record_id, body(paused=True, inbound="keep"), version=3)
    assert action(rings(world)) == "connect"


def test_a_paused_schedule_pauses_no_inbound_call() -> None:
    world = routed()
    world.schedule({"id": "call-1", "kind": "call"}, paused=True)
    world.submit()
    assert action(rings(world)) == "connect"


def test_a_pause_meanwhile_sends_a_call_that_nobody_answered_to_no_other_buyer() -> None:
    world = routed()
    first = rings(world)
    world.add("company", 1, Company(name="Sunny", paused=True), version=3)
    assert action(rings(world, unanswered_buyer_id=first.buyer_id, after=20)) == "voicemail"


def test_a_pause_meanwhile_takes_back_the_slot_that_was_granted() -> None:
    world = routed(group=CAP)
    rings(world)
    world.add("company", 1, Company(name="Sunny", paused=True), version=3)
    assert action(grant(world)) == "voicemail"
    assert uses(world) == ["unused"]
