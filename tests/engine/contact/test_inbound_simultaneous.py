"""Does an inbound call to a group that is dialled simultaneously ring several buyers, and is it the winner's?"""

from typing import Any

import pytest

from engine.contact.requests.inbound_routing import TRIED_MAX
from schemas.commands import BUYER_LEGS_MAX
from schemas.contact import Call
from schemas.instant import HOUR, SECOND
from schemas.records import Buyer, BuyerGroup
from schemas.requests import CallDeleteRequested, CallUpdateRequested, SlotReleased, SlotRequested
from tests.engine.contact.test_inbound_routing import CAP, action, grant, rings, routed, routes, uses
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, World

TOGETHER: dict[str, Any] = {"dial_buyers_type": "simultaneously"}
SEVERAL: dict[str, Any] = {"rings_several": True}


def ringing(**group: Any) -> World:
    """Return a world in which a call rings buyers 70 and 71, by one slot."""
    world = routed(group={**TOGETHER, **CAP, **group})
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    return world


def asked_last(world: World) -> SlotRequested:
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    return asked


def kept(world: World) -> list[tuple[int | None, bool]]:
    """Return of each release which buyer it names, and whether the slot goes on."""
    found = [message for message in to_account(world) if isinstance(message, SlotReleased)]
    return [(message.buyer_id, message.goes_on) for message in found]


@pytest.mark.parametrize("group", [TOGETHER, {**TOGETHER, **CAP}], ids=["without caps", "by a slot"])
def test_a_gateway_that_can_gets_a_leg_for_each_buyer(group: dict[str, Any]) -> None:
    world = routed(group=group)
    call = rings(world, **SEVERAL)
    if "concurrency_cap_limit" in group:
        (asked,) = to_account(world)
        assert isinstance(asked, SlotRequested)
        assert asked.rings_several
        call = grant(world, buyer_id=None, buyer_ids=(70, 71))

    assert (action(call), call.buyer_id, call.buyer_group_id) == ("connect", None, 7)
    (shown,) = routes(world)
    legs = [
        {"buyer_id": one, "number": f"+121255501{one - 10}", "timeout_seconds": 20, "dtmf_tones": "9"} for one in (70, 71)
    ]
    assert (shown["buyer_legs"], shown["buyer_id"], shown["buyer_number"]) == (legs, None, None)


def test_a_gateway_that_cannot_gets_one_buyer_at_a_time() -> None:
    world = routed(group={**TOGETHER, **CAP})
    rings(world)
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert not asked.rings_several
    assert grant(world).buyer_id == 70
    uncapped = routed(group=TOGETHER)
    assert rings(uncapped).buyer_id in {70, 71}
    assert "buyer_legs" not in routes(uncapped)[0]


def test_the_call_is_the_winners_and_the_losers_are_free_again() -> None:
    world = routed(group={**TOGETHER, **CAP})
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))

    call = rings(world, "connected", after=3, buyer_id=71)
    assert (call.buyer_id, call.buyer_group_id, call.buyer_answered_at) == (71, 7, world.now)
    assert kept(world) == [(71, True)]
    rings(world, "connected", after=1, buyer_id=71)
    assert kept(world) == [(71, True)], "a repeat changes nothing"

    call = rings(world, "ended", after=30, talk_seconds=30)
    assert (call.outcome, kept(world)[1:], uses(world)[1:]) == ("connected_buyer", [(None, False)], ["connected"])
    assert world.lead(call.lead_id).buyer_id == 71


def test_an_end_alone_names_the_winner_too() -> None:
    world = routed(group={**TOGETHER, **CAP})
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    call = rings(world, "ended", after=30, talk_seconds=30, buyer_id=70, buyer_answered_at=world.now)
    assert (call.buyer_id, kept(world), uses(world)) == (70, [(70, True), (None, False)], ["attempted", "connected"])


def test_where_none_answers_all_were_tried_and_the_next_tier_rings() -> None:
    world = routed(group={**TOGETHER, **CAP}, no_buyer_action="message")
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))

    call = rings(world, after=20, unanswered_buyer_id=71, **SEVERAL)

    assert uses(world) == ["attempted"]
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert (asked.excluded_buyer_ids, asked.request_id) == ((70, 71), f"{call.uuid}/3")
    assert action(grant(world, granted=False)) == "message"


def test_a_caller_who_hangs_up_while_they_ring_is_nobodys() -> None:
    world = routed(group={**TOGETHER, **CAP})
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    call = rings(world, "ended", after=5, hung_up_by="caller")
    assert (call.buyer_id, call.outcome, uses(world), kept(world)) == (
        None,
        "caller_hung_up",
        ["attempted"],
        [(None, False)],
    )


def test_a_buyer_who_was_not_rung_frees_nobody() -> None:
    world = routed(group={**TOGETHER, **CAP})
    world.add("buyer", 72, Buyer(name="Stranger", number="+12125550172"))
    rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    call = rings(world, "connected", after=3, buyer_id=72)
    assert (call.buyer_id, call.buyer_group_id, kept(world)) == (72, None, [])


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        ("connected", {"buyer_id": 70}),
        ("on-hold", {"buyer_id": 70}),
        ("ringing", {"buyer_id": 70, "buyer_answered_at": 1}),
        ("ringing", {"unanswered_buyer_id": 70}),
        ("ended", {"buyer_id": 70, "talk_seconds": 9}),
    ],
)
def test_whatever_is_reported_of_a_loser_the_first_that_answered_has_the_call(state: str, fields: dict[str, Any]) -> None:
    world = ringing()
    answered_at = rings(world, "connected", after=3, buyer_id=71).buyer_answered_at

    call = rings(world, state, after=1, **fields)
    assert (call.buyer_id, call.buyer_group_id, call.buyer_answered_at) == (71, 7, answered_at)
    assert (kept(world)[0], len(routes(world))) == ((71, True), 1)

    call = rings(world, "ended", after=9, talk_seconds=9)
    assert (call.outcome, world.lead().buyer_id) == ("connected_buyer", 71)
    assert (kept(world), uses(world)) == ([(71, True), (None, False)], ["attempted", "connected"])


def test_a_report_of_a_loser_that_comes_after_the_end_changes_nothing() -> None:
    world = ringing()
    answered_at = rings(world, "connected", after=3, buyer_id=71).buyer_answered_at
    assert answered_at is not None
    rings(world, "ended", after=9, talk_seconds=9)
    call = rings(world, "connected", buyer_id=70, occurred_at=answered_at + SECOND, buyer_answered_at=answered_at + SECOND)
    assert (call.buyer_id, call.buyer_answered_at, len(kept(world))) == (71, answered_at, 2)


@pytest.mark.parametrize(
    ("reports", "used"),
    [
        ([("connected", {}), ("ended", {"talk_seconds": 9})], "attempted"),
        ([("ended", {"talk_seconds": 9, "buyer_answered_at": 1})], "unknown"),
        ([("connected", {"buyer_answered_at": 1}), ("ended", {"talk_seconds": 9})], "unknown"),
        ([("connected", {"buyer_id": 72, "buyer_answered_at": 1}), ("ended", {"talk_seconds": 9})], "attempted"),
    ],
    ids=["nobody is said to have answered", "by the end alone", "while it lasts", "somebody else answered"],
)
def test_where_one_answered_and_nobody_says_which_all_count_in_full(
    reports: list[tuple[str, dict[str, Any]]], used: str
) -> None:
    world = ringing()
    world.add("buyer", 72, Buyer(name="Stranger", number="+12125550172"))
    for state, fields in reports:
        answered = {"buyer_answered_at": world.now} if "buyer_answered_at" in fields else {}
        rings(world, state, after=5, **{**fields, **answered})
    assert (uses(world), kept(world)) == ([used], [(None, False)])


def delete(world: World, call: Call) -> None:
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))


def let_time_out(world: World, _: Call) -> None:
    world.wait(5 * HOUR // SECOND)


@pytest.mark.parametrize("lose", [delete, let_time_out])
@pytest.mark.parametrize(("winner", "released"), [(None, [(None, False)]), (71, [(71, True), (None, False)])])
def test_a_call_whose_end_nobody_reports_counts_in_full_for_those_who_may_have_it(
    lose: Any, winner: int | None, released: list[tuple[int | None, bool]]
) -> None:
    world = ringing()
    call = rings(world, after=1, **({} if winner is None else {"state": "connected", "buyer_id": winner}))
    lose(world, call)
    assert (kept(world), uses(world)[-1]) == (released, "unknown")


def test_a_caller_who_hangs_up_before_the_answer_reserves_nobody() -> None:
    world = routed(group={**TOGETHER, **CAP})
    rings(world, **SEVERAL)
    rings(world, "ended", after=1, hung_up_by="caller")
    call = grant(world, buyer_id=None, buyer_ids=(70, 71))
    assert (call.buyer_id, action(call), routes(world)) == (None, "pending", [])
    assert (uses(world), kept(world)) == (["unused", "unused"], [(None, False)] * 2)


def test_an_answer_that_is_repeated_after_a_crash_changes_nothing() -> None:
    world = ringing()
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    rings(world, "connected", after=3, buyer_id=70)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    assert (len(routes(world)), kept(world)) == (1, [(70, True)])


def test_a_buyer_that_was_written_by_hand_is_the_winner_once_the_gateway_says_so() -> None:
    world = routed(group={**TOGETHER, **CAP})
    call = rings(world, **SEVERAL)
    grant(world, buyer_id=None, buyer_ids=(70, 71))
    world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, call_id=call.id, buyer_id=71))
    assert kept(world) == []
    rings(world, "connected", after=3, buyer_id=71)
    rings(world, "ended", after=9, talk_seconds=9)
    assert (kept(world), uses(world)[-1]) == ([(71, True), (None, False)], "connected")


def test_a_lead_has_the_tier_of_its_call_once_a_buyer_has_that() -> None:
    world = ringing(tier=3)
    rings(world, "connected", after=1)
    assert (world.lead().buyer_id, world.lead().dial_tier) == (None, None)
    rings(world, "connected", after=3, buyer_id=71)
    assert (world.lead().buyer_id, world.lead().dial_tier) == (71, 3)


@pytest.mark.parametrize("weights", [(0, 1), (1, 0)])
def test_a_gateway_that_cannot_ring_several_gets_the_buyer_that_weights_choose(weights: tuple[int, int]) -> None:
    world = routed(group=TOGETHER)
    for number, weight in enumerate(weights):
        world.add("buyer", 70 + number, Buyer(name="Bob", number=f"+1212555016{number}", weight=weight), version=2)
    assert rings(world).buyer_id == 70 + weights.index(1)


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        ({"buyer_id": None, "buyer_ids": (70, 99)}, (99,)),
        ({"buyer_id": None, "buyer_ids": (98, 99)}, (98, 99)),
        ({"buyer_id": 99}, (99,)),
    ],
)
def test_where_a_granted_buyer_is_gone_the_others_are_asked_for(answer: dict[str, Any], gone: tuple[int, ...]) -> None:
    world = routed(group={**TOGETHER, **CAP})
    call = rings(world, **SEVERAL)
    grant(world, **answer)
    asked = asked_last(world)
    assert (asked.excluded_buyer_ids, asked.rings_several) == (gone, True)
    assert (asked.request_id, uses(world)) == (f"{call.uuid}/{len(gone) + 1}", ["unused"])
    call = grant(world, buyer_id=70)
    assert (action(call), call.buyer_id, len(routes(world))) == ("connect", 70, 1)


def test_no_more_are_rung_once_as_many_as_one_call_may_try_have_not_answered() -> None:
    world = routed(group=TOGETHER)
    many = tuple(range(100, 100 + TRIED_MAX + 5))
    for buyer_id in many:
        world.add("buyer", buyer_id, Buyer(name="Bob", number="+12125550170"))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=many, **TOGETHER), version=2)
    rung: list[int] = []
    call = rings(world, **SEVERAL)
    while action(call) == "connect":
        legs = [leg["buyer_id"] for leg in routes(world)[-1]["buyer_legs"]]
        assert len(legs) == BUYER_LEGS_MAX
        rung += legs
        call = rings(world, after=20, unanswered_buyer_id=legs[-1], **SEVERAL)
    assert (action(call), len(rung), len(set(rung))) == ("voicemail", TRIED_MAX, TRIED_MAX)
