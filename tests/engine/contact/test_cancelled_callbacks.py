"""What does it mean to cancel a promised call? It is not made, the steps go on, and a promise that has changed stays."""

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import HOUR
from tests.engine.contact.world import NOON, World

PLAN = ({"id": "call-1", "kind": "call"},)


def promised(**fields: object) -> World:
    world = World()
    world.schedule(*PLAN)
    world.submit(schedule_callback_at=NOON + HOUR, **fields)
    return world


def test_a_cancelled_callback_is_not_made_and_the_steps_go_on() -> None:
    world = promised()
    assert world.lead().status_wait == "callback_pending"

    world.update(schedule_callback_at=None)

    lead = world.lead()
    assert (lead.callback_at, lead.callback_owner, world.steps()) == (None, None, ["call-1"])
    (fact,) = [fact for fact in world.facts if fact.type == "callback.cancelled"]
    assert fact.data == {"reason": "requested"}
    world.wait(2 * 3600)
    assert "(callback)" not in world.steps()


def test_to_cancel_twice_changes_nothing() -> None:
    world = promised()
    world.update(schedule_callback_at=None)
    world.update(schedule_callback_at=None)

    assert world.fact_types().count("callback.cancelled") == 1


def test_a_promise_that_was_replaced_is_neither_moved_nor_cancelled() -> None:
    world = promised()
    first = world.lead().scheduled_callback_id
    world.update(schedule_callback_at=NOON + 2 * HOUR)
    second = world.lead().scheduled_callback_id

    for at in (None, NOON + 3 * HOUR):
        with pytest.raises(RefusedError) as refused:
            world.update(schedule_callback_at=at, scheduled_callback_id=first)
        assert refused.value.code == "not_found"
    assert (world.lead().callback_at, world.lead().scheduled_callback_id) == (NOON + 2 * HOUR, second)
    world.update(schedule_callback_at=NOON + 4 * HOUR, scheduled_callback_id=second)
    assert (world.lead().callback_at, world.lead().scheduled_callback_id) == (NOON + 4 * HOUR, second)
    world.update(schedule_callback_at=None, scheduled_callback_id=second)
    assert world.lead().callback_at is None
