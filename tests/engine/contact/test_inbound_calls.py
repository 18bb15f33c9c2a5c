"""How is an inbound call recorded: its record, its lead, and reports that come out of sequence?"""

from decimal import Decimal
from typing import Any

import pytest

from engine.partition.draft import RefusedError, RepeatedError
from engine.views.call import DURATION_MAX, hold_seconds, ring_seconds, talk_seconds, total_seconds
from schemas.contact import Call
from schemas.instant import DAY, EPOCH, HOUR, SECOND
from schemas.records import Buyer, Number, Offer
from schemas.requests import CallDeleteRequested, CallReceived
from tests.engine.contact.world import KEY, NEW_YORK, NUMBER, World

OURS, OTHERS = "+12125550150", "+12125550199"
REST = {"id": "rest", "kind": "wait", "duration": "1d"}
CALL = {"id": "call", "kind": "call"}


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, CALL)
    made.add("number", 5, Number(number=OURS, offer_id=1))
    made.add("buyer", 6, Buyer(name="Roofs", number="+12125550160"))
    return made


def _rings(world: World, state: Any = "ringing", *, after: int = 0, ref: str = "pbx-1", **fields: Any) -> Call:
    world.now += after * SECOND
    given = {"company_id": 1, "contact_key": KEY, "from_number": NUMBER, "number_called": OURS, "zones": (NEW_YORK,)}
    given |= {"columns": {"country": "US"}, "occurred_at": world.now}
    world.ask(CallReceived(gateway_ref=ref, state=state, **{**given, **fields}))
    assert world.answer is not None
    return world.call(world.answer.record_id)


def test_an_inbound_call_is_reported_from_its_ringing_to_its_end(world: World) -> None:
    world.submit(data={"roof": "flat"})
    call = _rings(world)
    assert (call.direction, call.origin, call.status, call.attempt_number) == ("inbound", "inbound", "ringing", 0)
    assert (call.from_number, call.number_called, call.number_id, call.offer_id) == (NUMBER, OURS, 5, 1)
    assert (call.lead_id, call.token_values) == (world.lead().id, {"roof": "flat"})
    assert _rings(world, "connected", after=5, buyer_id=6).status == "established"
    assert _rings(world, "on-hold", after=10).status == "on-hold"
    assert _rings(world, "resumed", after=7).status == "established"
    call = _rings(world, "ended", after=20, buyer_answered_at=world.now, hung_up_by="buyer", cost=0.04)
    assert (call.status, call.outcome, call.hold_seconds, call.buyer_id) == ("forwarded", "connected_buyer", 7, 6)
    lead = world.lead()
    assert (lead.connected, lead.connected_call_id, lead.inbound_calls_count, lead.attempts) == (True, call.id, 1, 0)
    assert len(world.head().ledger) == 0
    assert len(world.head().call_ids) == 1
    assert (call.dial_tier, lead.dial_tier) == (1, 1)


def test_a_gateway_says_who_and_what_handled_a_call_and_forgets_none_of_it(world: World) -> None:
    _rings(world, ring_pool_id=4, provider_configuration_id=2)
    _rings(world, "connected", after=5, agent_id=9)
    call = _rings(world, "ended", after=20, transcription_status="pending")
    assert (call.ring_pool_id, call.provider_configuration_id, call.agent_id) == (4, 2, 9)
    assert call.transcription_status == "pending"


def test_who_talked_was_answered_although_nobody_said_so(world: World) -> None:
    _rings(world)
    call = _rings(world, "ended", after=30, talk_seconds=20, hung_up_by="caller")
    assert (call.outcome, call.answered_at, call.answered_by) == ("connected_human", world.now - 20_000, "human")
    assert (world.lead().connected, world.lead().connected_call_id) == (True, call.id)
    alone = _rings(world, "ended", ref="pbx-2", talk_seconds=20)
    assert (alone.outcome, alone.answered_at) == ("connected_human", alone.ringing_at)
    assert (talk_seconds(alone), total_seconds(alone)) == (20, 20)


@pytest.mark.parametrize("state", ["ringing", "connected", "ended"])
def test_a_report_about_a_deleted_call_makes_no_call_and_holds_no_lead(world: World, state: str) -> None:
    call = _rings(world, state)
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))
    assert (world.head().call_ids, world.head().inbound_call_id) == ((), None)
    with pytest.raises(RefusedError) as refused:
        _rings(world, "ended", after=10)
    assert (refused.value.code, world.head().call_ids) == ("deleted", ())


def test_a_call_that_nobody_took_rang_in_vain(world: World) -> None:
    _rings(world)
    assert (_rings(world, "ended", after=20).status, world.lead().connected) == ("no-answer", False)
    call = _rings(world, ref="pbx-2")
    assert _rings(world, "ended", ref="pbx-2", hung_up_by="caller").outcome == "caller_hung_up"
    assert call.offer_repeat_caller


def test_the_data_of_a_lead_that_waits_for_the_call_is_picked_up_and_the_lead_has_had_its_call(world: World) -> None:
    waiting = world.submit(offer_id=1, data={"age": 40})
    call = _rings(world)
    assert (call.lead_id, call.token_values) == (waiting.id, {"age": 40})
    assert "lead.picked_up" in world.fact_types()
    _rings(world, "connected")
    _rings(world, "ended", talk_seconds=30)
    assert world.lead(waiting.id).status == "completed_connected"
    again = _rings(world, ref="pbx-2")
    assert (again.lead_id, again.token_values) == (waiting.id, {"age": 40})


def test_a_captured_lead_whose_call_nobody_took_goes_on_waiting(world: World) -> None:
    waiting = world.submit(offer_id=1)
    _rings(world)
    _rings(world, "ended")
    assert world.lead(waiting.id).status == "captured"


def test_the_captured_lead_of_the_number_called_goes_before_any_other(world: World) -> None:
    world.add("offer", 2, Offer(name="Roofs", lead_token="roofs"))
    captured = world.submit(offer_id=1)
    world.submit()
    world.submit(offer_id=2)
    assert _rings(world).lead_id == captured.id


def test_a_stranger_who_calls_a_number_of_an_offer_becomes_a_lead_of_it(world: World) -> None:
    call = _rings(world)
    lead = world.lead()
    assert (call.lead_id, lead.status, lead.offer_id, lead.caller_id) == (lead.id, "captured", 1, NUMBER)
    assert (lead.zones, lead.columns) == ((NEW_YORK,), {"country": "US"})


def test_a_stranger_who_calls_another_number_leaves_a_call_without_a_lead(world: World) -> None:
    call = _rings(world, number_called=OTHERS)
    assert (call.lead_id, call.offer_id, call.number_id) == (None, None, None)
    assert _rings(world, "connected", number_called=OTHERS).status == "established"
    assert _rings(world, "ended", number_called=OTHERS).outcome == "connected_human"
    assert world.lead_ids() == []


def test_a_blocked_person_cannot_call_us(world: World) -> None:
    world.submit(blocked=True)
    call = _rings(world)
    assert (call.status, call.sub_status, call.ended_at) == ("blocked", "contact_blocked", world.now)
    assert _rings(world, "connected").status == "blocked"
    assert world.head().inbound_call_id is None


def test_a_person_who_opted_out_may_call_us(world: World) -> None:
    world.submit()
    world.act("opt_out")
    _rings(world)
    assert _rings(world, "connected").status == "established"
    _rings(world, "ended")
    assert world.lead().status == "opt_out"


def test_reports_out_of_order_and_again_change_nothing_that_is_over(world: World) -> None:
    ended = _rings(world, "ended")
    late = _rings(world, "connected", after=5)
    assert (late.id, late.status, late.ended_at) == (ended.id, ended.status, ended.ended_at)
    request = CallReceived(
        company_id=1, contact_key=KEY, gateway_ref="pbx-9", state="ringing", from_number=NUMBER, number_called=OURS,
        occurred_at=world.now,
    )  # fmt: skip
    world.ask(request, id="pbx-9/ringing")
    with pytest.raises(RepeatedError):
        world.ask(request, id="pbx-9/ringing")


def test_what_is_known_only_after_the_end_is_taken_in_then(world: World) -> None:
    _rings(world, "connected")
    ended = _rings(world, "ended", after=20, talk_seconds=20, transcription_status="pending")
    later: dict[str, Any] = {
        "recording_url": "https://pbx.test/1.mp3",
        "transcription_status": "completed",
        "cost": Decimal("0.12"),
    }
    for _ in range(2):
        call = _rings(world, "ended", after=60, talk_seconds=99, **later)
        assert {name: getattr(call, name) for name in later} == later
        assert (call.ended_at, call.talk_seconds, call.outcome) == (ended.ended_at, 20, "connected_human")
    assert _rings(world, "connected", cost=9.0).cost == Decimal("0.12")
    assert _rings(world, "ended", transcription_status="pending").transcription_status == "completed"
    (reported,) = [fact for fact in world.facts if fact.type == "call.updated"]
    assert (reported.call_id, reported.data) == (call.id, {"fields": list(later)})


def test_a_report_from_the_future_is_of_now(world: World) -> None:
    assert _rings(world, occurred_at=world.now + 3600 * SECOND).ringing_at == world.now
    _rings(world, "connected", occurred_at=world.now + 300 * SECOND)
    (marked,) = [fact for fact in world.facts if fact.data.get("clock_skew")]
    assert (marked.type, marked.data["state"]) == ("call.reported", "ringing")


@pytest.mark.parametrize(
    ("fields", "field"), [({"from_number": "+13055550124"}, "from_number"), ({"buyer_id": 99}, "buyer_id")]
)
def test_a_report_that_cannot_be_is_refused(world: World, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(RefusedError) as refused:
        _rings(world, **fields)
    assert list(refused.value.errors) == [field]


def test_an_inbound_call_holds_what_goes_out_until_it_is_over(world: World) -> None:
    world.schedule(CALL, version=2)
    _rings(world, number_called=OTHERS)
    world.submit()
    assert world.commands == []
    _rings(world, "ended", number_called=OTHERS)
    world.wait(120)
    assert world.steps() == ["call"]


def test_what_was_before_the_end_is_recorded_when_it_is_reported_after_it(world: World) -> None:
    waiting = world.submit(offer_id=1)
    began_at = world.now
    ended = _rings(world, "ended", after=30, hung_up_by="caller")
    assert (ended.outcome, world.lead(waiting.id).status) == ("caller_hung_up", "captured")
    _rings(world, occurred_at=began_at, provider="carrier", provider_ref="CA1")
    call = _rings(
        world, "connected", occurred_at=began_at + 10 * SECOND, buyer_id=6, buyer_answered_at=began_at + 12 * SECOND
    )
    assert (call.initiated_at, call.ringing_at, call.answered_at) == (began_at, began_at, began_at + 10 * SECOND)
    assert (call.ended_at, call.outcome, call.hangup_cause) == (ended.ended_at, "connected_buyer", "connected_buyer")
    assert (call.status, call.buyer_id, call.provider_ref) == ("forwarded", 6, "CA1")
    assert (ring_seconds(call), talk_seconds(call), total_seconds(call)) == (10, 20, 30)
    lead = world.lead(waiting.id)
    assert (lead.status, lead.connected_call_id, lead.inbound_calls_count) == ("completed_connected", call.id, 1)
    facts = len(world.facts)
    again = _rings(world, "connected", occurred_at=began_at + 10 * SECOND)
    assert (again.version, len(world.facts)) == (call.version, facts)


def test_reports_that_overtake_each_other_agree_on_when_the_call_came_in(world: World) -> None:
    began_at = world.now
    _rings(world, "connected", after=10)
    assert _rings(world, occurred_at=began_at).initiated_at == began_at
    held = _rings(world, "on-hold", ref="pbx-2", after=5)
    late = _rings(world, "connected", ref="pbx-2", occurred_at=held.created_at - SECOND)
    assert (late.status, late.answered_at, late.held_at) == ("on-hold", held.created_at - SECOND, held.held_at)


def test_a_gateway_names_its_provider_in_any_report(world: World) -> None:
    _rings(world)
    _rings(world, "connected", provider="carrier")
    call = _rings(world, "ended", provider_ref="CA1")
    assert (call.provider, call.provider_ref) == ("carrier", "CA1")


def test_a_late_report_of_a_blocked_call_connects_nobody(world: World) -> None:
    world.submit(blocked=True)
    began_at = world.now
    _rings(world, after=5)
    late = _rings(world, "connected", occurred_at=began_at)
    assert (late.status, late.outcome, late.answered_at) == ("blocked", "declined", None)


def test_no_clock_of_a_gateway_makes_a_call_last_for_years(world: World) -> None:
    _rings(world, "connected", occurred_at=-60_000 * DAY)
    _rings(world, "on-hold", occurred_at=-60_000 * DAY)
    call = _rings(world, "ended", buyer_answered_at=world.now + DAY)
    durations = ring_seconds(call), hold_seconds(call), talk_seconds(call), total_seconds(call)
    assert all(0 <= seconds <= DURATION_MAX for seconds in durations)
    assert call.buyer_answered_at == world.now
    alone = _rings(world, "ended", ref="pbx-2", occurred_at=-719_162 * DAY, talk_seconds=86_400)  # the first of January of 1
    assert (alone.ended_at, alone.initiated_at) == (EPOCH, EPOCH - DAY)


@pytest.mark.parametrize("state", ["ringing", "connected", "on-hold"])
def test_a_call_of_whose_end_nobody_tells_is_over_after_four_hours(world: World, state: str) -> None:
    waiting = world.submit(offer_id=1)
    call = _rings(world, state)
    world.wait(4 * 3600 - 1)
    assert world.call(call.id).ended_at is None
    world.wait(1)
    lost = world.call(call.id)
    assert (lost.ended_at, lost.outcome, lost.sub_status) == (call.created_at + 4 * HOUR, "unknown", "timed_out")
    assert (talk_seconds(lost), world.head().inbound_call_id, lost.give_up_at) == (0, None, None)
    assert world.lead(waiting.id).status == "captured"
    _rings(world, "connected", after=5)
    assert world.call(call.id).version == lost.version
    found = _rings(world, "ended", occurred_at=call.created_at + 60 * SECOND, talk_seconds=50, cost=0.02)
    assert (found.outcome, found.sub_status, talk_seconds(found), found.cost) == (
        "connected_human",
        None,
        50,
        Decimal("0.02"),
    )
    assert (found.ended_at, world.lead(waiting.id).connected) == (call.created_at + 60 * SECOND, True)


def test_a_call_that_is_still_reported_is_not_given_up(world: World) -> None:
    call = _rings(world, "connected")
    world.wait(3 * 3600)
    _rings(world, "on-hold")
    world.wait(3 * 3600)
    assert world.call(call.id).ended_at is None
    ended = _rings(world, "ended", talk_seconds=20_000)
    world.wait(24 * 3600)
    assert world.call(call.id) == ended


@pytest.mark.parametrize("named_by", ["connected", "on-hold", "ended"])
def test_a_lead_has_the_buyer_that_is_named_after_its_call_was_connected(world: World, named_by: str) -> None:
    world.submit()
    _rings(world)
    _rings(world, "connected", after=5)
    _rings(world, named_by, after=1, buyer_id=6)
    if named_by != "ended":
        _rings(world, "ended", after=20)
    assert (world.lead().buyer_id, world.lead().dial_tier) == (6, 1)


def test_a_lead_has_the_buyer_that_is_named_only_after_the_end_of_its_call(world: World) -> None:
    world.submit()
    _rings(world, "connected")
    began = world.now
    _rings(world, "ended", after=20)
    _rings(world, "connected", occurred_at=began, buyer_id=6)
    assert world.lead().buyer_id == 6


def test_a_buyer_whom_nobody_was_connected_to_does_not_have_the_lead(world: World) -> None:
    world.submit()
    _rings(world, buyer_id=6)
    call = _rings(world, "ended", after=20)
    assert (call.buyer_id, world.lead().buyer_id) == (6, None)


def test_a_call_after_the_removal_of_a_lead_of_the_offer_is_not_about_it_and_does_not_take_its_data(world: World) -> None:
    removed = world.submit(offer_id=1, data={"age": 40})
    world.act("remove", schedule_id=None, offer_id=1)
    assert world.lead(removed.id).status == "removed"
    call = _rings(world)
    assert (call.lead_id, call.token_values, call.offer_id) == (world.lead_ids()[-1], {}, 1)
    assert call.lead_id != removed.id
    assert (world.lead(removed.id).inbound_calls_count, world.lead(removed.id).status) == (0, "removed")
    assert _rings(world, ref="pbx-2", number_called=OTHERS).lead_id == call.lead_id


def test_a_call_to_a_number_of_no_offer_is_about_no_lead_that_was_removed(world: World) -> None:
    world.submit(offer_id=1, data={"age": 40})
    world.act("remove", schedule_id=None, offer_id=1)
    call = _rings(world, number_called=OTHERS)
    assert (call.lead_id, call.token_values) == (None, {})


BUENOS_AIRES = "+5491123456789"
"""A mobile of Buenos Aires as it calls and is called from abroad; the person's form has no 9."""


def test_a_person_whose_number_has_two_forms_is_one_contact_in_every_request() -> None:
    made, key = World(), "1|+541123456789"
    made.schedule(CALL, {"id": "rest", "kind": "wait", "duration": "1d"}, {"id": "again", "kind": "call"})
    who = {"caller_id": BUENOS_AIRES, "contact_key": key, "zones": ("America/Argentina/Buenos_Aires",)}
    made.submit(**who)

    assert [(command.contact_key, getattr(command, "to", None)) for command in made.commands] == [(key, BUENOS_AIRES)]
    assert len(made.head(key).ledger) == 1  # its caps are counted where its stops are
    call = _rings(made, from_number=BUENOS_AIRES, contact_key=key, columns={"country": "AR"})
    assert call.contact_key == key
    _rings(made, "ended", after=5, from_number=BUENOS_AIRES, contact_key=key, columns={"country": "AR"})
    made.update(caller_id="+541123456789")
    assert made.lead().contact_key == key


def test_a_lead_that_is_moved_to_a_number_of_two_forms_comes_to_the_person() -> None:
    made, key = World(), "1|+541123456789"
    made.schedule(REST, CALL)
    lead = made.submit()

    made.update(lead, caller_id=BUENOS_AIRES)

    assert made.lead(lead.id).contact_key == key
