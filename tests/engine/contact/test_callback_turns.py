"""Who makes a callback that an agent promised: the agent, then the team, then anybody, in every state of the agent?"""

from collections.abc import Callable

import pytest

from schemas.contact import CallbackOwner
from schemas.instant import DAY, HOUR, MINUTE, SECOND
from schemas.records import Agent, Company, Number, Offer
from schemas.requests import CallUpdateRequested
from tests.engine.contact.call_centre import CallCentre
from tests.engine.contact.test_inbound_routing import OURS, rings
from tests.engine.contact.world import KEY, NEW_YORK, NOON

ONE = NOON + HOUR
"""When the call is promised for."""

AWAY = ("signed_out", "lunch", "on_call", "wrap_up")
GONE = ("disabled", "deleted")


def promised(state: str = "available", *, bob: str = "signed_out", owner: CallbackOwner | None = None) -> CallCentre:
    """Return a call centre in which Ada promised a call for one o'clock, with the graces of the company: 15 minutes each."""
    centre = CallCentre()
    centre.world.submit()
    if owner is None:
        centre.world.update(schedule_callback_at=ONE, promised_by="agent", promised_agent_id=centre.ada)
    else:
        centre.world.update(schedule_callback_at=ONE, callback_owner=owner, promised_by="agent")
    centre.put(centre.ada, state)
    centre.put(centre.bob, bob)
    return centre


@pytest.mark.parametrize(
    ("state", "bob", "who", "minute"),
    [
        ("available", "available", "ada", 0),
        *((away, "available", "bob", 15) for away in AWAY),
        *((away, "signed_out", "cyd", 30) for away in AWAY),
        *((gone, "available", "bob", 0) for gone in GONE),
        *((gone, "signed_out", "cyd", 15) for gone in GONE),
    ],
)
def test_a_callback_goes_to_its_agent_then_to_their_team_then_to_anybody(
    state: str, bob: str, who: str, minute: int
) -> None:
    centre = promised(state, bob=bob)
    centre.wait_until(ONE + 45 * MINUTE)

    assert centre.calls() == [(getattr(centre, who), minute)]


def by_program(centre: CallCentre) -> None:
    centre.world.submit()
    centre.world.update(schedule_callback_at=ONE)


def by_form(centre: CallCentre) -> None:
    centre.world.submit(schedule_callback_at=ONE, with_key=False)


def by_caller(centre: CallCentre) -> None:
    """The person called Ada's offer when nobody was there; the call is promised for a quarter of an hour later."""
    centre.world.submit(offer_id=1)
    offer = Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, agent_ids=(centre.ada,), no_buyer_action="callback")
    centre.world.add("offer", 1, offer, version=2)
    centre.world.add("number", 5, Number(number=OURS, offer_id=1))
    centre.wait_until(ONE - 15 * MINUTE)
    rings(centre.world)
    centre.deliver()
    rings(centre.world, "ended")


@pytest.mark.parametrize("state", ["available", *AWAY, *GONE])
@pytest.mark.parametrize(("promise", "who"), [(by_program, "cyd"), (by_form, "cyd"), (by_caller, "ada")])
def test_what_nobody_of_the_company_promised_belongs_to_no_agent(
    state: str, promise: Callable[[CallCentre], None], who: str
) -> None:
    centre = CallCentre()
    promise(centre)
    assert (centre.record()["promised_by"] == "agent", centre.world.lead().callback_owner) == (False, None)
    centre.put(centre.ada, state)
    centre.put(centre.bob, "available")
    centre.wait_until(ONE + MINUTE)

    is_there = who == "cyd" or state == "available"
    assert centre.calls() == ([(getattr(centre, who), 0)] if is_there else [])


def test_where_no_step_names_agents_anyone_is_a_call_to_no_agent() -> None:
    centre = CallCentre()
    centre.world.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, {"id": "call", "kind": "call"}, version=2)
    centre.world.submit()
    centre.world.update(schedule_callback_at=ONE, promised_by="agent", promised_agent_id=centre.ada)
    centre.wait_until(ONE + HOUR)

    assert centre.calls() == [(None, 30)]


@pytest.mark.parametrize(
    ("minute", "who", "said"), [(3, "ada", "kept"), (14, "ada", "late"), (20, "ada", "late"), (29, "ada", "late")]
)
@pytest.mark.parametrize("state", AWAY)
def test_an_agent_who_is_available_again_within_the_graces_makes_the_callback(
    state: str, minute: int, who: str, said: str
) -> None:
    centre = promised(state)
    centre.wait_until(ONE + minute * MINUTE)
    assert centre.calls() == []

    centre.come_back(centre.ada)
    centre.world.outcome("connected_human")

    assert centre.calls() == [(getattr(centre, who), minute)]
    record = centre.record()
    assert (record["state"], record["called_agent_id"], record["late_seconds"]) == (said, centre.ada, minute * 60)
    assert (record["promised_agent_id"], record["is_reached"]) == (centre.ada, True)


def test_an_agent_of_no_team_is_followed_by_anybody() -> None:
    centre = promised("signed_out", bob="available")
    centre.world.add("agent", centre.ada, Agent(name="Ada"), version=2)
    centre.wait_until(ONE + HOUR)

    assert centre.calls() == [(centre.cyd, 15)]


def test_a_team_that_was_deleted_has_no_turn() -> None:
    centre = promised("signed_out", bob="available")
    centre.world.add("call_center", centre.center, Agent(name="Tampa"), version=2, deleted=True)
    centre.wait_until(ONE + HOUR)

    assert centre.calls() == [(centre.cyd, 15)]


@pytest.mark.parametrize(
    ("alone", "team", "bob", "who", "minute"),
    [
        (5, 10, "available", "bob", 5),
        (5, 10, "signed_out", "cyd", 15),
        (40, None, "available", "bob", 40),
        (5, 0, "available", "bob", 5),
    ],
)
def test_the_graces_of_a_callback_are_its_own(alone: int, team: int | None, bob: str, who: str, minute: int) -> None:
    owner = CallbackOwner(agent_id=CallCentre().ada, grace_minutes=alone, team_grace_minutes=team)
    centre = promised("signed_out", bob=bob, owner=owner)
    centre.wait_until(ONE + 2 * HOUR)

    assert centre.calls() == [(getattr(centre, who), minute)]


@pytest.mark.parametrize(
    ("alone", "team", "state"),
    [(0, None, "signed_out"), (5, 0, "signed_out"), (0, None, "deleted")],
    ids=["the agent alone", "the team after the agent", "the team of an agent who is gone"],
)
def test_with_no_grace_nobody_else_takes_over(alone: int, team: int | None, state: str) -> None:
    owner = CallbackOwner(agent_id=CallCentre().ada, grace_minutes=alone, team_grace_minutes=team)
    centre = promised(state, owner=owner)
    centre.wait_until(ONE + 5 * HOUR)

    assert centre.calls() == []


def test_the_company_states_the_graces_of_its_agents() -> None:
    centre = CallCentre()
    company = Company(name="Sunny", time_zone=NEW_YORK, callback_grace_minutes=2, callback_team_grace_minutes=60)
    centre.world.add("company", 1, company, version=2)
    centre.world.submit()
    centre.world.update(schedule_callback_at=ONE, promised_by="agent", promised_agent_id=centre.ada)

    assert centre.world.lead().callback_owner == CallbackOwner(agent_id=centre.ada, grace_minutes=2, team_grace_minutes=60)


def test_a_lead_that_waits_for_the_owner_says_so_and_when_others_take_over() -> None:
    centre = promised("signed_out")
    for minute, turn_ends in ((0, 15), (14, 15), (15, 30), (29, 30)):
        centre.wait_until(ONE + minute * MINUTE + SECOND)
        lead = centre.world.lead()
        said = (lead.status, lead.status_wait, lead.next_action_at)
        assert said == ("waiting", "callback_owner_unavailable", ONE + turn_ends * MINUTE)


def test_a_further_try_begins_with_the_owner_again() -> None:
    centre = promised("available", bob="available")
    centre.wait_until(ONE)
    centre.world.outcome("no_answer")
    centre.deliver()
    centre.put(centre.ada, "lunch")
    retried_at = centre.world.lead().callback_at
    assert retried_at is not None
    centre.wait_until(retried_at + 20 * MINUTE)

    minute = (retried_at - ONE) // MINUTE
    assert centre.calls() == [(centre.ada, 0), (centre.bob, minute + 15)]


@pytest.mark.parametrize(
    ("acting", "of_call", "owner", "promised_by"),
    [
        (None, None, None, "api"),
        ("ada", None, "ada", "agent"),
        (None, "bob", "bob", "agent"),
        ("ada", "bob", "ada", "agent"),
    ],
    ids=["a program", "an agent", "a program, on the call of an agent", "an agent, on the call of another one"],
)
def test_a_callback_that_a_call_brings_belongs_to_the_agent_who_promised_it(
    acting: str | None, of_call: str | None, owner: str | None, promised_by: str
) -> None:
    centre = CallCentre()
    world = centre.world
    world.schedule({"id": "call", "kind": "call"}, version=2)
    world.submit()
    call = world.call(world.lead().attempted_call_id)
    if of_call is not None:
        world.outcome("connected_human", agent_id=getattr(centre, of_call))
    agent_id = None if acting is None else getattr(centre, acting)
    world.ask(
        CallUpdateRequested(company_id=1, contact_key=KEY, call_id=call.id, callback_at=ONE, promised_agent_id=agent_id)
    )

    expected = None if owner is None else getattr(centre, owner)
    found = world.lead().callback_owner
    assert (None if found is None else found.agent_id) == expected
    record = centre.record()
    assert (record["promised_by"], record.get("promised_agent_id")) == (promised_by, expected)


def test_a_callback_that_an_agent_promises_for_anyone_has_no_owner() -> None:
    centre = CallCentre()
    centre.world.submit()
    centre.world.update(schedule_callback_at=ONE, callback_owner=None, promised_by="agent", promised_agent_id=centre.ada)

    assert centre.world.lead().callback_owner is None
    assert centre.record()["promised_agent_id"] == centre.ada


EVENING, MORNING = NOON + 8 * HOUR + 55 * MINUTE, NOON + 20 * HOUR
"""Calls end at nine, five minutes after the promised instant, and begin at eight."""


def test_the_minutes_of_the_owner_begin_again_when_the_law_allows_calls_again() -> None:
    centre = CallCentre()
    centre.world.submit()
    centre.world.update(schedule_callback_at=EVENING, promised_by="agent", promised_agent_id=centre.ada)
    centre.wait_until(MORNING + 14 * MINUTE)
    assert centre.calls() == []
    assert centre.world.lead().next_action_at == MORNING + 15 * MINUTE

    centre.sign_in(centre.ada)

    assert [agent_id for agent_id, _ in centre.calls()] == [centre.ada]


def test_the_minutes_of_the_owner_begin_again_after_a_pause_however_long_it_was() -> None:
    centre = promised("signed_out")
    centre.wait_until(ONE + 5 * MINUTE)
    paused = Company(name="Sunny", time_zone=NEW_YORK, paused=True)
    centre.world.add("company", 1, paused, version=2)
    later = ONE + 9 * DAY
    centre.wait_until(later)
    assert centre.record()["state"] == "pending"

    centre.world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK), version=3)
    centre.wait_until(later + 14 * MINUTE)
    assert centre.calls() == []
    centre.sign_in(centre.ada)

    assert [agent_id for agent_id, _ in centre.calls()] == [centre.ada]
