"""What does the deletion of a recording change? The call refers to it no more; everything else stays."""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.requests import CallUpdateRequested
from tests.engine.contact.world import KEY, World

URL = "https://pbx.example/ari/recordings/stored/lc.1/file"


def recorded() -> tuple[World, int]:
    """A world with one call, which has a recording."""
    world = World()
    world.schedule({"id": "call-1", "kind": "call"})
    world.submit()
    call_id = world.commands[-1].call_id  # type: ignore[attr-defined]
    world.outcome("connected_human", recording_url=URL)
    return world, call_id


def delete(world: World, **fields: Any) -> None:
    world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, **fields))


@pytest.mark.parametrize("is_named", [True, False])
def test_a_call_refers_to_a_deleted_recording_no_more(is_named: bool) -> None:
    world, call_id = recorded()
    before = world.call(call_id)

    delete(world, call_id=call_id if is_named else None, deleted_recording_url=URL)

    after = world.call(call_id)
    assert (before.recording_url, after.recording_url) == (URL, None)
    assert (after.outcome, after.revenue, after.talk_seconds) == (before.outcome, before.revenue, before.talk_seconds)
    (fact,) = [fact for fact in world.facts if fact.type == "call.updated"]
    assert fact.data == {"fields": ["recording_url"]}


def test_to_delete_twice_changes_nothing_more() -> None:
    world, call_id = recorded()
    for _ in range(2):
        delete(world, call_id=call_id, deleted_recording_url=URL)

    assert world.fact_types().count("call.updated") == 1
    with pytest.raises(RefusedError, match="refers to the recording"):
        delete(world, deleted_recording_url=URL)


def test_another_recording_of_the_call_stays() -> None:
    world, call_id = recorded()
    delete(world, call_id=call_id, deleted_recording_url=f"{URL}/other")

    assert world.call(call_id).recording_url == URL
