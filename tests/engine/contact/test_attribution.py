"""Does a call to a number that was held for a visitor say so, with the lead, and wait for that before it is routed?"""

from typing import Any

import msgspec
import pytest

from engine.tokens import LEAD_BYTES_MAX
from schemas.contact import Attribution, Call, Lead
from schemas.instant import SECOND
from schemas.records import Buyer, Number, Offer, RingPool
from schemas.requests import AttributionAnswered, AttributionRequested, CallDeleteRequested, CallReceived
from tests.engine.contact.world import KEY, NEW_YORK, NUMBER, World

OURS, DEFAULT = "+12125550150", "+12125550151"
POOL = 40
ASKED = Attribution(is_awaited=True)
FILTERED = {"filters": ("plan:gold",)}


def pooled(**buyer: Any) -> World:
    """Return a world whose offer has one buyer, and a ring pool with a number and a default one of that offer."""
    world = World()
    world.add("buyer", 70, Buyer(name="Bob", number="+12125550160", **buyer))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", buyer_ids=(70,)), version=2)
    world.add("number", 5, Number(number=OURS, offer_id=1))
    world.add("number", 6, Number(number=DEFAULT, offer_id=1))
    world.add("ring_pool", POOL, RingPool(name="Web", number_ids=(5,), default_number_id=6))
    world.wait(1)
    return world


def rings(world: World, state: Any = "ringing", *, after: int = 0, **fields: Any) -> Call:
    world.now += after * SECOND
    given = {"company_id": 1, "contact_key": KEY, "from_number": NUMBER, "number_called": OURS, "zones": (NEW_YORK,)}
    given |= {"occurred_at": world.now, "wants_route": True, "gateway_ref": "pbx-1", "state": state}
    world.ask(CallReceived(**{**given, **fields}))
    assert world.answer is not None
    return world.call(world.answer.record_id)


def asked(world: World) -> list[tuple[str, AttributionRequested]]:
    sent = [message for message in world.messages if message.type == "attribution.requested"]
    return [(message.key, msgspec.json.decode(message.body, type=AttributionRequested)) for message in sent]


def held_for(world: World, call: Call, impression: str | None = "impression", **fields: Any) -> Call:
    """Answer for whom the number was held."""
    visitor = {} if impression is None else {"impression_uuid": impression, "visitor_id": "ann"}
    world.ask(
        AttributionAnswered(company_id=1, contact_key=KEY, call_id=call.id, **{**visitor, **fields}), stream="accounts/0"
    )
    return world.call(call.id)


def lead_of(world: World, call: Call) -> Lead:
    return world.lead(call.lead_id)


def facts(world: World, kind: str) -> list[dict[str, Any]]:
    return [fact.data for fact in world.facts if fact.type == kind]


def action(call: Call) -> str | None:
    return None if call.route is None else call.route.action


def test_the_pool_of_the_number_is_asked_for_whom_it_was_held_and_the_route_waits() -> None:
    world = pooled()
    call = rings(world)
    ((key, request),) = asked(world)
    assert key == f"1|ring_pool/{POOL}"
    assert (request.call_id, request.number_id, request.at, request.contact_key) == (call.id, 5, world.now, KEY)
    assert (call.ring_pool_id, call.attribution, action(call)) == (POOL, ASKED, "pending")
    assert action(rings(world, after=1)) == "pending"
    assert len(asked(world)) == 1


def test_the_call_and_its_lead_carry_what_the_impression_says() -> None:
    world = pooled()
    call = held_for(world, rings(world), traffic_source_id=8, tokens={"plan": "gold"})
    assert (call.attribution, call.traffic_source_id) == (Attribution("impression", "ann"), 8)
    assert call.token_values["plan"] == "gold"
    lead = lead_of(world, call)
    assert (lead.impression_uuid, lead.columns["traffic_source_id"], lead.data["plan"]) == ("impression", 8, "gold")
    (fact,) = facts(world, "call.attributed")
    assert (fact["impression_uuid"], fact["ring_pool_id"], fact["traffic_source_id"]) == ("impression", POOL, 8)
    assert (action(call), call.buyer_id) == ("connect", 70)


@pytest.mark.parametrize(("plan", "expected"), [("gold", "connect"), ("silver", "voicemail")])
def test_a_buyer_that_asks_for_a_token_of_the_impression_is_routed_to(plan: str, expected: str) -> None:
    world = pooled(**FILTERED)
    assert action(held_for(world, rings(world), tokens={"plan": plan})) == expected


def test_a_call_to_a_number_that_nobody_holds_is_routed_and_not_attributed() -> None:
    world = pooled()
    call = held_for(world, rings(world), None)
    assert (call.attribution, action(call), call.traffic_source_id) == (Attribution(), "connect", None)
    assert lead_of(world, call).impression_uuid is None
    assert facts(world, "call.attributed") == []


def test_the_default_number_of_a_pool_is_asked_about_nobody() -> None:
    world = pooled()
    call = rings(world, number_called=DEFAULT)
    assert (call.ring_pool_id, call.attribution, asked(world), action(call)) == (POOL, Attribution(), [], "connect")


def test_what_the_lead_says_itself_stays() -> None:
    world = pooled()
    world.submit(offer_id=1, columns={"traffic_source_id": 3}, data={"plan": "silver"})
    call = held_for(world, rings(world), traffic_source_id=8, tokens={"plan": "gold", "page": "a"})
    lead = lead_of(world, call)
    assert (call.traffic_source_id, lead.columns["traffic_source_id"]) == (3, 3)
    assert lead.data == {"plan": "silver", "page": "a"}
    assert (call.token_values["plan"], call.token_values["page"]) == ("silver", "a")


def test_tokens_that_do_not_fit_are_left_out_and_the_call_is_attributed() -> None:
    world = pooled()
    world.submit(offer_id=1, data={f"token {place}": "x" * 1_000 for place in range(LEAD_BYTES_MAX // 1_020)})
    call = held_for(world, rings(world), tokens={"more": "y" * 4_000})
    lead = lead_of(world, call)
    assert (lead.impression_uuid, "more" in lead.data, call.token_values["more"]) == ("impression", False, "y" * 4_000)


def test_a_call_that_ended_before_the_answer_is_attributed_and_not_routed() -> None:
    world = pooled()
    rings(world)
    ended = rings(world, "ended", after=2, hung_up_by="caller")
    call = held_for(world, ended)
    assert (call.outcome, call.attribution, action(call)) == ("caller_hung_up", Attribution("impression", "ann"), "pending")
    assert facts(world, "call.routed") == []


def test_a_repeated_answer_and_one_about_a_deleted_call_change_nothing() -> None:
    world = pooled()
    call = held_for(world, rings(world))
    assert held_for(world, call, "another").attribution == Attribution("impression", "ann")
    gone = rings(world, gateway_ref="pbx-2")
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=gone.id))
    world.ask(AttributionAnswered(company_id=1, contact_key=KEY, call_id=gone.id, impression_uuid="x"), stream="accounts/0")
    assert len(facts(world, "call.attributed")) == 1


def test_a_call_whose_offer_lost_its_buyers_meanwhile_goes_where_the_offer_says() -> None:
    world = pooled()
    call = rings(world)
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", no_buyer_action="hang_up"), version=3)
    world.wait(1)
    assert action(held_for(world, call)) == "hang_up"


def test_a_gateway_that_routes_its_calls_itself_waits_for_nothing() -> None:
    world = pooled()
    call = rings(world, wants_route=False)
    assert (call.attribution, call.route) == (ASKED, None)
    assert held_for(world, call).route is None


def test_a_call_to_a_number_of_no_pool_names_the_pool_of_its_gateway() -> None:
    world = pooled()
    world.add("number", 7, Number(number="+12125550152", offer_id=1))
    world.wait(1)
    call = rings(world, number_called="+12125550152", ring_pool_id=99)
    assert (call.ring_pool_id, call.attribution, asked(world)) == (99, None, [])
    assert rings(world, gateway_ref="pbx-3", ring_pool_id=99).ring_pool_id == POOL


def test_the_pool_of_a_number_is_the_one_that_has_it_now() -> None:
    world = pooled()
    rules = world.rules
    world.add("ring_pool", POOL, RingPool(name="Web", number_ids=(6,)), version=2)
    world.wait(1)
    assert [rules.ring_pool_of(1, number_id) is None for number_id in (5, 6)] == [True, False]
    assert rules.ring_pool_of(2, 6) is None
    world.add("ring_pool", 41, RingPool(name="Shop", number_ids=(5,)))
    world.wait(1)
    found = rules.ring_pool_of(1, 5)
    assert found is not None
    assert found[0] == 41
    call = rings(world)
    assert (call.ring_pool_id, len(asked(world))) == (41, 1)
