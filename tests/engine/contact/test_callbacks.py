"""Is a callback placed at its time, before everything else?"""

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import HOUR
from schemas.records import OutgoingWebhook
from tests.engine.contact.world import NOON, World, at

CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, CALL)
    return made


def test_a_callback_is_placed_at_its_time_and_holds_the_steps_until_then(world: World) -> None:
    lead = world.submit(schedule_callback_at=NOON + 3 * HOUR)
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "callback_pending", NOON + 3 * HOUR)
    world.wait(3 * 3600)
    (command,) = world.commands
    assert (command.decided_at, command.urgency_class) == (NOON + 3 * HOUR, 1)
    call = world.call(world.lead().attempted_call_id)
    assert (call.origin, call.schedule_action_id, world.lead().callback_at) == ("callback", None, None)
    assert call.scheduled_callback_id == lead.scheduled_callback_id is not None
    world.outcome("caller_hung_up")
    world.wait(30)
    assert world.steps() == ["(callback)", "call"]
    assert world.call(world.lead().attempted_call_id).scheduled_callback_id is None


def test_a_callback_that_is_promised_again_is_another_one(world: World) -> None:
    first = world.submit(schedule_callback_at=NOON + 3 * HOUR).scheduled_callback_id
    second = world.update(schedule_callback_at=NOON + 4 * HOUR).scheduled_callback_id
    third = world.submit(schedule_callback_at=NOON + 5 * HOUR).scheduled_callback_id
    assert len({first, second, third, None}) == 4


def test_a_callback_keeps_to_the_law_and_not_to_preferred_hours(world: World) -> None:
    hours = {"days": ["mon", "tue", "wed", "thu", "fri"], "open": "12:00", "close": "13:00"}
    world.schedule(REST, CALL, windows={"call": [hours]}, version=2)
    assert world.submit(schedule_callback_at=at("2026-07-15 18:00")).next_action_at == at("2026-07-15 18:00")
    lead = world.update(schedule_callback_at=at("2026-07-15 22:00"))
    assert (lead.next_action_at, lead.reasons) == (at("2026-07-16 08:00"), ("quiet_hours_federal",))


def test_a_newer_callback_replaces_the_older(world: World) -> None:
    world.submit(schedule_callback_at=NOON + HOUR)
    world.update(schedule_callback_at=NOON + 2 * HOUR)
    world.wait(2 * 3600)
    assert [command.decided_at for command in world.commands] == [NOON + 2 * HOUR]


def test_a_lead_of_an_offer_can_be_promised_a_call(world: World) -> None:
    world.submit(offer_id=1, schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    assert world.steps() == ["(callback)"]
    world.outcome("connected_human")
    assert (world.lead().status, world.lead().wake_at) == ("captured", None)


def test_a_callback_may_go_one_beyond_the_attempt_limit_and_no_further(world: World) -> None:
    world.schedule(CALL, REST, {**CALL, "id": "again"}, max_contact_attempts=2, version=2)
    world.submit(max_contact_attempts=1, schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    world.outcome("caller_hung_up")
    assert world.lead().status == "exceeded_max_calls"


def test_nobody_without_a_number_is_promised_a_call() -> None:
    world = World()
    world.schedule(REST, CALL)
    with pytest.raises(RefusedError) as refused:
        world.submit(contact_key="1|email:a@b.c", caller_id=None, email="a@b.c", schedule_callback_at=NOON + HOUR)
    assert list(refused.value.errors) == ["schedule_callback_at"]


def test_an_opt_out_cancels_a_callback(world: World) -> None:
    world.submit(schedule_callback_at=NOON + HOUR)
    world.act("opt_out")
    world.wait(7200)
    assert world.commands == []
    assert "callback.cancelled" in world.fact_types()


def test_two_callbacks_are_two_commands(world: World) -> None:
    world.submit(schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    world.outcome("no_answer")
    world.update(schedule_callback_at=world.now + HOUR)
    world.wait(3600)
    assert world.steps() == ["(callback)", "(callback)"]
    assert len({command.command_id for command in world.commands}) == 2


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"hours_to_expire": 2}, "expired"), ({"max_contact_attempts": 1}, "exceeded_max_calls"), ({}, "completed_attempted")],
)
def test_a_promise_outlives_the_schedule(fields: dict[str, int], status: str) -> None:
    world = World()
    world.schedule({"id": "first", "kind": "call"}, HOOK, CALL, **fields)
    world.schedule({"id": "first", "kind": "call"}, HOOK, record_id=2)
    world.submit(schedule_id=1 if fields else 2)
    world.update(schedule_callback_at=NOON + 5 * HOUR)
    world.outcome("no_answer")
    world.wait(5 * 3600)
    assert world.steps() == ["first", "(callback)"]
    world.outcome("unknown")
    assert world.lead().status == status


def test_skipping_to_the_end_cancels_a_callback(world: World) -> None:
    world.submit(schedule_callback_at=NOON + HOUR)
    world.act("move_to_end")
    assert (world.lead().status, world.lead().callback_at) == ("completed", None)


@pytest.mark.parametrize("last", [{"id": "rest", "kind": "wait", "duration": "3d"}, {"id": "out", "kind": "exit"}])
def test_a_long_wait_for_something_else_delays_no_promise(last: dict[str, str]) -> None:
    world = World()
    world.schedule({"id": "first", "kind": "wait", "duration": "2d"}, last)
    world.submit(schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    assert world.steps() == ["(callback)"]
    world.outcome("connected_human")
    assert world.lead().next_action_at == NOON + (5 if last["kind"] == "wait" else 2) * 24 * HOUR


def test_what_is_no_contact_goes_on_while_a_call_is_promised() -> None:
    world = World()
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    world.schedule(REST, HOOK, CALL)
    world.submit(schedule_callback_at=NOON + 3 * HOUR)
    world.wait(3600)
    assert world.steps() == ["hook"]
    world.outcome("accepted")
    assert world.lead().status_wait == "callback_pending"
