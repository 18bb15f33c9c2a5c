"""Do a schedule's triggers fire when a lead enters, and when a condition becomes true?"""

from typing import Any

import pytest

from schemas.instant import HOUR, MINUTE
from schemas.records import Buyer, OutgoingWebhook
from tests.engine.contact.world import NOON, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
PAUSE = {"id": "pause", "kind": "wait", "duration": "2h"}
EXIT = {"id": "exit", "kind": "exit"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}


@pytest.fixture
def world() -> World:
    made = World()
    made.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    made.add("buyer", 70, Buyer(name="Bob", number="+12125550170"))
    return made


def trigger(on: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"on": on, "type": kind, **fields}


def test_who_enters_begins_where_the_first_fitting_row_says_with_its_tokens_and_time(world: World) -> None:
    rows = [
        trigger("enter", "tokens_match", filters=["plan:gold"], goto="text", add_tokens={"way": "fast"}, expire_minutes=30),
        trigger("enter", "none", add_tokens={"way": "slow"}),
    ]
    world.schedule(PAUSE, TEXT, triggers=rows, hours_to_expire=9)
    lead = world.submit(data={"plan": "gold"})
    assert (world.steps(), lead.data["way"], lead.expires_at) == (["text"], "fast", NOON + 30 * MINUTE)
    other = world.submit(contact_key="1|+13055550199", caller_id="+13055550199")
    assert (other.step, other.data, other.expires_at) == ("text", {"way": "slow"}, NOON + 9 * HOUR)
    assert other.next_action_at == NOON + 2 * HOUR


def test_who_need_not_enter_leaves_at_once(world: World) -> None:
    world.schedule(CALL, triggers=[trigger("enter", "tokens_match", filters=["sold:true"], end_result="success")])
    assert world.submit(data={"sold": True}).status == "success"
    assert world.steps() == []


def test_a_token_that_comes_ends_the_schedule_or_leads_elsewhere_once(world: World) -> None:
    rows = [trigger("exit", "tokens_match", filters=["quote:!="], goto="text", add_tokens={"hot": 1})]
    world.schedule(PAUSE, CALL, EXIT, TEXT, triggers=rows, end_steps=[HOOK])
    world.submit()
    lead = world.update(data={"quote": 5})
    assert (world.steps(), lead.schedule_trigger_type, lead.data["hot"]) == (["text"], "tokens_match", 1)
    world.outcome("delivered")
    world.outcome("accepted")
    assert (world.steps(), world.lead().status) == (["text", "hook"], "completed_attempted")


def test_a_conversion_leaves_with_the_result_of_its_row_also_where_the_schedule_would_go_on(world: World) -> None:
    world.schedule(
        PAUSE, CALL, triggers=[trigger("exit", "buyer_converted", end_result="success")], on_conversion="continue"
    )
    world.submit()
    lead = world.update(buyer_converted=True)
    assert (lead.status, lead.schedule_trigger_type) == ("success", "buyer_converted")


def test_the_example_of_the_contracts_ends_as_converted(world: World) -> None:
    world.schedule(PAUSE, CALL, triggers=[trigger("exit", "buyer_converted")])
    world.submit()
    assert world.update(buyer_converted=True).status == "completed_converted"


@pytest.mark.parametrize(
    ("kind", "outcome", "taken"),
    [
        ("dial", "no_answer", True),
        ("dial", "not_placed", False),
        ("buyer_connected", "connected_buyer", True),
        ("buyer_connected", "connected_human", False),
    ],
)
def test_what_comes_of_a_call_leads_elsewhere(world: World, kind: str, outcome: str, taken: bool) -> None:
    world.schedule(CALL, PAUSE, EXIT, TEXT, triggers=[trigger("exit", kind, goto="text")])
    world.submit()
    world.outcome(outcome)
    assert world.steps() == (["call", "text"] if taken else ["call"])


def test_the_first_row_that_fits_is_taken(world: World) -> None:
    rows = [trigger("exit", "dial", filters=["attempts:>=2"]), trigger("exit", "buyer_connected", end_result="success")]
    world.schedule({**CALL, "retry": {"no_answer": {"delay": "5m", "max": 3}}}, TEXT, triggers=rows)
    world.submit()
    world.outcome("no_answer")
    world.wait(300)
    world.outcome("no_answer")
    assert (world.steps(), world.lead().status) == (["call", "call"], "completed_attempted")


def test_who_expires_takes_tokens_along_and_a_new_run_begins_without_marks(world: World) -> None:
    world.schedule({**PAUSE, "duration": "1d"}, CALL, triggers=[trigger("exit", "expired", add_tokens={"cold": True})],
        hours_to_expire=1)  # fmt: skip
    world.submit()
    world.wait(3600)
    lead = world.lead()
    assert (lead.status, lead.schedule_trigger_type, lead.data) == ("expired", "expired", {"cold": True})
    again = world.submit(restart_schedule=True)
    assert (again.id, again.schedule_trigger_type, again.fired) == (lead.id, None, ())


def test_an_open_request_for_a_slot_is_taken_back_when_a_trigger_leads_elsewhere(world: World) -> None:
    world.add("buyer", 71, Buyer(name="Ann", number="+12125550171", concurrency_cap_limit=1))
    rows = [trigger("exit", "tokens_match", filters=["stop:1"], goto="text")]
    world.schedule({**CALL, "connect": {"buyer_ids": [71]}}, EXIT, TEXT, triggers=rows)
    assert world.submit().status_wait == "concurrency_cap"
    world.update(data={"stop": 1})
    assert world.steps() == ["text"]
    assert [letter.type for letter in world.messages] == ["slot.requested", "slot.released"]
