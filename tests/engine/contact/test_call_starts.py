"""Is a person called at once on request, unless a guard forbids it?"""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.calendar.zones import local_datetime
from engine.partition.draft import RefusedError
from schemas.commands import PlaceCall
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.records import Agent, Company, Number, Offer
from schemas.requests import CallReceived, CallStartRequested, SlotReleased, SlotRequested
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World, at

REST = {"id": "rest", "kind": "wait", "duration": "1d"}
CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
MORNINGS = {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "11:00"}]}
OURS = "+12125550150"


@pytest.fixture
def world() -> World:
    made = World()
    made.add("number", 150, Number(number=OURS))
    made.schedule(REST, CALL)
    return made


def _start(world: World, **fields: Any) -> PlaceCall:
    given = {"company_id": 1, "contact_key": KEY, "caller_id": NUMBER, "from_number": OURS, "zones": (NEW_YORK,)}
    world.ask(CallStartRequested(**{**given, **fields}))
    command = world.commands[-1]
    assert isinstance(command, PlaceCall)
    return command


def _refusal(world: World, **fields: Any) -> RefusedError:
    before = len(world.commands), world.lead_ids()
    with pytest.raises(RefusedError) as refused:
        _start(world, **fields)
    assert (len(world.commands), world.lead_ids()) == before
    return refused.value


@pytest.mark.parametrize(
    ("caller", "says"),
    [("+12125550199", "is no number of this company"), ("+12125550151", "is paused"), ("+12125550152", "places no calls")],
)
def test_nobody_is_called_from_a_number_that_is_not_the_companys_or_places_no_calls(
    world: World, caller: str, says: str
) -> None:
    world.add("number", 151, Number(number="+12125550151", paused=True))
    world.add("number", 152, Number(number="+12125550152", voice=False))
    lead = world.submit()

    refused = _refusal(world, lead_id=lead.id, from_number=caller)

    assert refused.code == "validation_failed"
    assert says in refused.errors["from"][0]
    assert _start(world, lead_id=lead.id, from_number=None).from_number == OURS


def test_a_lead_is_called_now_and_its_schedule_goes_on_afterwards(world: World) -> None:
    lead = world.submit()
    command = _start(world, lead_id=lead.id)
    assert (command.to, command.from_number, command.urgency_class, command.lead_id) == (NUMBER, OURS, 0, lead.id)
    assert world.answer is not None
    assert (world.answer.status, world.answer.record_id) == (201, command.call_id)
    call = world.call(command.call_id)
    assert (call.origin, call.status, call.schedule_action_id, call.attempt_number) == ("api", "initiated", None, 1)
    assert (world.lead().status, world.lead().attempts, len(world.head().ledger)) == ("running", 1, 1)
    world.outcome("connected_human")
    assert (world.lead().status, world.lead().step, world.lead().connected) == ("scheduled", "call", True)
    world.wait(25 * 3600)
    assert world.steps() == ["(manual)", "call"]


def test_every_call_by_hand_counts_to_the_limit_of_the_lead(world: World) -> None:
    world.schedule(REST, CALL, max_contact_attempts=1, version=2)
    world.submit()
    _start(world)
    world.outcome("no_answer")
    world.wait(25 * 3600)
    assert world.steps() == ["(manual)"]
    assert world.lead().status == "exceeded_max_calls"


@pytest.mark.parametrize(("zone", "is_taken"), [(NEW_YORK, True), ("Asia/Tokyo", False)])
def test_a_number_of_no_country_is_called_by_the_clock_of_the_offer(world: World, zone: str, is_taken: bool) -> None:
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=zone), version=2)
    anywhere: dict[str, Any] = {"contact_key": "1|+80012345678", "caller_id": "+80012345678", "zones": ()}
    lead = world.submit(offer_id=1, **anywhere)
    assert (lead.status, lead.schedule_id) == ("captured", None)
    if is_taken:
        assert _start(world, lead_id=lead.id, **anywhere).to == "+80012345678"
    else:
        assert _refusal(world, lead_id=lead.id, **anywhere).code == "quiet_hours"


def test_without_a_lead_one_is_made_where_the_request_says(world: World) -> None:
    _start(world, schedule_id=1)
    on_schedule = world.lead()
    assert (on_schedule.schedule_id, on_schedule.offer_id, on_schedule.status) == (1, 1, "running")
    world.outcome("no_answer")
    assert (world.lead().status, world.lead().step) == ("scheduled", "call")


@pytest.mark.parametrize(
    ("fields", "schedule_id", "offer_id"),
    [
        ({"offer_id": 1}, None, 1),
        ({"schedule_id": 1, "enrols": False}, None, 1),
        ({}, None, None),
        ({"from_number": "+12125550151"}, None, 1),
    ],
)
def test_a_lead_that_is_made_without_a_schedule_only_waits_for_calls(
    world: World, fields: dict[str, Any], schedule_id: int | None, offer_id: int | None
) -> None:
    world.add("number", 4, Number(number="+12125550151", offer_id=1))
    _start(world, **fields)
    world.outcome("no_answer")
    lead = world.lead()
    assert (lead.schedule_id, lead.offer_id, lead.status) == (schedule_id, offer_id, "captured")
    assert [fact.data["source"] for fact in world.facts if fact.type == "lead.created"] == ["call_start"]


@pytest.mark.parametrize("fields", [{"schedule_id": 1}, {"schedule_id": 1, "enrols": False}, {"offer_id": 1}, {}])
def test_a_live_lead_that_is_there_is_used(world: World, fields: dict[str, Any]) -> None:
    lead = world.submit()
    assert _start(world, **fields).lead_id == lead.id
    assert world.lead_ids() == [lead.id]


def test_a_lead_that_has_ended_is_called_and_stays_as_it_ended(world: World) -> None:
    lead = world.submit(hours_to_expire=1)
    world.wait(2 * 3600)
    assert world.lead().status == "expired"
    command = _start(world, lead_id=lead.id)
    assert command.not_after is not None
    assert command.not_after > world.now
    assert world.lead().status == "expired"
    world.outcome("connected_human")
    assert (world.lead().status, world.lead().flight, world.lead().connected) == ("expired", None, True)


def test_a_call_by_hand_takes_back_the_slot_that_its_lead_was_waiting_for(world: World) -> None:
    lead = world.submit()
    _start(world, lead_id=lead.id)
    assert world.lead().slot_id is None


# -- guards, in their order --------------------------------------------------------------------------------------------


def test_a_paused_schedule_calls_nobody(world: World) -> None:
    lead = world.submit()
    world.schedule(REST, CALL, paused=True, version=2)
    for fields in ({"lead_id": lead.id}, {"schedule_id": 1, "contact_key": "1|+13055550124"}):
        assert _refusal(world, **fields).code == "schedule_inactive"


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"schedule_id": 9}, "validation_failed", "schedule_id"),
        ({"offer_id": 9}, "validation_failed", "offer_id"),
        ({"lead_id": 4711}, "not_found", None),
    ],
)
def test_what_is_not_there_is_not_called_for(world: World, fields: dict[str, Any], code: str, field: str | None) -> None:
    refused = _refusal(world, **fields)
    assert (refused.code, list(refused.errors)) == (code, [field] if field else [])


@pytest.mark.parametrize("fields", [{"opt_out": True}, {"blocked": True}])
def test_a_person_who_must_not_be_contacted_is_not_called_by_hand_either(world: World, fields: dict[str, Any]) -> None:
    lead = world.submit()
    world.update(**fields)
    assert _refusal(world, lead_id=lead.id, force=True).code == "suppressed_contact"
    assert _refusal(world, schedule_id=1).code == "suppressed_contact"


@pytest.mark.parametrize(
    ("number", "company", "data", "refusal"),
    [
        ("+19005550123", {}, {}, "invalid_number"),
        ("+442071838750", {}, {}, ""),
        ("+442071838750", {"dial_countries": ("US",)}, {}, "invalid_number"),
        ("+3545551234", {"unreviewed_countries": "hold"}, {}, "suppressed_contact unreviewed_country"),
        ("+3545551234", {"unreviewed_countries": "floor"}, {}, ""),
        ("+4930123456", {}, {}, "suppressed_contact consent_missing"),
        ("+4930123456", {}, {"consent": [{"text": "Call me."}]}, ""),
    ],
)
def test_whom_the_plans_do_not_dial_nobody_calls_by_hand_either(
    world: World, number: str, company: dict[str, Any], data: dict[str, Any], refusal: str
) -> None:
    lead = world.submit(caller_id=number, data=data, zones=("Europe/Berlin",))
    world.add("company", 1, Company(name="Solar", **company), version=2)
    asked = {"lead_id": lead.id, "caller_id": number}

    if not refusal:
        assert _start(world, **asked).to == number
        return
    refused = _refusal(world, **asked)

    assert " ".join((refused.code, *refused.extra.values())) == refusal
    if refused.code == "suppressed_contact":
        assert _start(world, **asked, override_reason="She asked.", override_key_id=1).to == number


def test_a_number_out_of_service_is_not_called_until_it_may_work_again(world: World) -> None:
    world.submit()
    _start(world)
    world.outcome("invalid_number")
    world.wait(60)
    refused = _refusal(world)
    assert (refused.code, list(refused.errors)) == ("invalid_number", ["to"])
    world.update(opt_out=True)
    assert _refusal(world).code == "invalid_number"  # the number comes before the person


@pytest.mark.parametrize("force", [False, True])
def test_nobody_is_called_outside_the_hours_of_the_law_even_by_force(world: World, force: bool) -> None:
    world.submit()
    world.now = at("2026-07-15 21:30")
    refused = _refusal(world, force=force)
    assert (refused.code, refused.extra) == ("quiet_hours", {"next_allowed_at": "2026-07-16T12:00:00Z"})
    assert _refusal(world, contact_key="1|+13055550124", caller_id="+13055550124").code == "quiet_hours"


def test_the_hours_that_a_schedule_prefers_give_way_to_force(world: World) -> None:
    world.schedule(REST, CALL, windows=MORNINGS, version=2)
    world.submit()
    refused = _refusal(world)
    assert (refused.code, refused.extra) == ("outside_hours", {"next_allowed_at": "2026-07-16T13:00:00Z"})
    command = _start(world, force=True)
    assert command.not_after is not None
    assert command.not_after > NOON + HOUR


def test_a_cap_of_the_law_holds_for_calls_by_hand_and_says_until_when(world: World) -> None:
    world.submit(states=("FL",))
    for _ in range(3):
        _start(world)
        world.outcome("no_answer")
        world.wait(600)
    refused = _refusal(world, force=True)
    assert refused.code == "frequency_cap"
    assert refused.extra["next_allowed_at"] == "2026-07-16T16:00:00Z"


def test_a_number_is_dialled_again_after_thirty_seconds_at_the_soonest(world: World) -> None:
    world.submit()
    _start(world)
    world.outcome("no_answer")
    world.now += 29 * SECOND
    refused = _refusal(world)
    assert (refused.code, refused.extra) == ("number_recently_dialed", {"retry_after_seconds": 1})
    world.now += SECOND
    _start(world)


def test_nobody_is_called_twice_at_once(world: World) -> None:
    world.submit()
    _start(world)
    world.now += MINUTE
    assert _refusal(world).code == "call_in_progress"
    assert _refusal(world, offer_id=1).code == "call_in_progress"


def test_nobody_is_called_who_is_calling_us(world: World) -> None:
    world.submit()
    about: dict[str, Any] = {
        "company_id": 1,
        "contact_key": KEY,
        "from_number": NUMBER,
        "number_called": OURS,
        "occurred_at": world.now,
    }
    world.ask(CallReceived(gateway_ref="a", state="ringing", **about))
    assert _refusal(world).code == "call_in_progress"
    world.ask(CallReceived(gateway_ref="a", state="ended", **about))
    _start(world)


def test_a_lead_whose_text_is_on_its_way_is_called_when_that_is_over(world: World) -> None:
    world.schedule(TEXT, REST, version=2)
    world.submit()
    assert _refusal(world).code == "call_in_progress"
    world.outcome("delivered")
    _start(world)


def test_nobody_is_called_while_an_opt_out_may_be_unread(world: World) -> None:
    world.submit()
    world.behind = True
    refused = _refusal(world)
    assert (refused.code, refused.extra) == ("requests_unread", {"retry_after_seconds": 1})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["call", "force", "end", "out", "wait"]),
            st.sampled_from([0, 7, 29, 31, 600, 5 * 3600, 11 * 3600]),
        ),
        max_size=40,
    )
)
def test_no_law_is_broken_by_any_caller_at_any_time(asked: list[tuple[str, int]]) -> None:
    world = World()
    world.schedule(REST, CALL, windows=MORNINGS)
    world.submit()
    out_at = None
    for action, seconds in asked:
        world.wait(seconds)
        if action in {"call", "force"}:
            with suppress(RefusedError):
                _start(world, force=action == "force")
        elif action == "end" and world.lead().flight is not None:
            world.outcome("no_answer")
        elif action == "out" and out_at is None:
            world.act("opt_out")
            out_at = world.now
    calls = [command for command in world.commands if isinstance(command, PlaceCall)]
    for command in calls:
        local = local_datetime(command.decided_at, NEW_YORK)
        assert 8 <= local.hour < 21
        assert out_at is None or command.decided_at <= out_at
    assert all(later.decided_at - earlier.decided_at >= 30 * SECOND for earlier, later in pairwise(calls))
    assert len(world.head().ledger) == len(calls)


def test_the_agent_who_calls_gets_the_call_and_is_reserved_for_it(world: World) -> None:
    world.add("agent", 70, Agent(name="Ada", number="sip:ada@example.com"))
    command = _start(world, agent_id=70)
    assert (command.agent_id, command.buyer_number) == (70, "sip:ada@example.com")
    assert world.call(command.call_id).agent_id == 70
    (counted,) = to_account(world)
    assert isinstance(counted, SlotRequested)
    assert (counted.is_placed, counted.agent_ids, counted.number_id) == (True, (70,), None)
    world.outcome("connected_human")
    released = to_account(world)[-1]
    assert isinstance(released, SlotReleased)
    assert (released.request_id, released.ended) == (counted.request_id, "connected") == (command.command_id, "connected")


def test_an_agent_whom_the_company_does_not_have_calls_nobody(world: World) -> None:
    assert list(_refusal(world, agent_id=99).errors) == ["collaborator_id"]


def test_a_call_of_nobody_reserves_nobody(world: World) -> None:
    _start(world)
    assert to_account(world) == []
