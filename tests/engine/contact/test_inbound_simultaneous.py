"""Does an inbound call to a group that is dialled simultaneously ring several buyers, and is it the winner's?"""

from typing import Any

import pytest

from schemas.records import Buyer
from schemas.requests import SlotReleased, SlotRequested
from tests.engine.contact.test_inbound_routing import CAP, action, grant, rings, routed, routes, uses
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import World

TOGETHER: dict[str, Any] = {"dial_buyers_type": "simultaneously"}
SEVERAL: dict[str, Any] = {"rings_several": True}


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
