"""What does a transcription change? The status on the call whose recording it is of; the text itself is in no decision."""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.requests import CallUpdateRequested
from tests.engine.contact.test_deleted_recordings import URL, delete, recorded
from tests.engine.contact.world import KEY, World


def report(world: World, status: Any, recording_url: str = URL, **fields: Any) -> None:
    asked = {"transcribed_recording_url": recording_url, "transcription_status": status}
    world.ask(CallUpdateRequested(company_id=1, contact_key=KEY, **asked, **fields))


@pytest.mark.parametrize("is_named", [True, False])
def test_a_call_says_how_far_its_transcription_is(is_named: bool) -> None:
    world, call_id = recorded()
    named: dict[str, Any] = {"call_id": call_id} if is_named else {}

    for status in ("pending", "failed", "pending", "completed"):
        report(world, status, **named)
        assert world.call(call_id).transcription_status == status

    report(world, "completed", **named)
    changes = [fact.data for fact in world.facts if fact.type == "call.updated"]
    assert changes == [{"fields": ["transcription_status"]}] * 4


def test_the_transcription_of_another_recording_changes_nothing() -> None:
    world, call_id = recorded()
    report(world, "completed", f"{URL}/other", call_id=call_id)

    assert world.call(call_id).transcription_status is None
    with pytest.raises(RefusedError, match="refers to the recording"):
        report(world, "completed", f"{URL}/other")


def test_a_transcription_goes_with_its_recording() -> None:
    world, call_id = recorded()
    report(world, "completed", call_id=call_id)

    delete(world, call_id=call_id, deleted_recording_url=URL)
    report(world, "completed", call_id=call_id)

    call = world.call(call_id)
    assert (call.recording_url, call.transcription_status) == (None, "none")
    (deleted,) = [fact.data for fact in world.facts if fact.type == "call.updated"][1:]
    assert deleted == {"fields": ["recording_url", "transcription_status"]}
