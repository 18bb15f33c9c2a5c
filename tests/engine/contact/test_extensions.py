"""Is the extension of a person pressed once the switchboard answers, and does it go with the number that it belongs to?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall
from tests.engine.contact.world import World

CALL = {"id": "call", "kind": "call"}


def call_to(data: dict[str, Any], **step: Any) -> PlaceCall:
    world = World()
    world.schedule({**CALL, **step})
    world.submit(data=data)
    command = world.commands[-1]
    assert isinstance(command, PlaceCall)
    return command


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        ({}, None),
        ({"extension": "123"}, "ww123"),
        ({"extension": " 123 "}, "ww123"),
        ({"extension": 123}, "ww123"),
        ({"extension": "0"}, "ww0"),
        ({"extension": ""}, None),
        ({"extension": None}, None),
        ({"extension": "ask for Ada"}, None),
        ({"extension": "12*34"}, None),
        ({"extension": "1" * 21}, None),
    ],
)
def test_an_extension_is_pressed_after_a_pause(data: dict[str, Any], keys: str | None) -> None:
    assert call_to(data).to_dtmf_tones == keys


@pytest.mark.parametrize("machine", ["hangup", "continue"])
def test_a_switchboard_is_no_answering_machine(machine: str) -> None:
    assert call_to({"extension": "123"}, machine=machine).machine == "continue"
    assert call_to({}, machine=machine).machine == machine


def test_a_switchboard_is_left_no_message() -> None:
    step = {"machine": "voicemail_drop", "voicemail_message": "Call us."}

    behind, direct = call_to({"extension": "123"}, **step), call_to({}, **step)

    assert (behind.machine, behind.voicemail_message) == ("continue", None)
    assert (direct.machine, direct.voicemail_message) == ("voicemail_drop", "Call us.")


@pytest.mark.parametrize(
    ("change", "extension"),
    [
        ({"caller_id": "+13055550199"}, None),
        ({"caller_id": "+13055550199", "data": {"extension": "9"}}, "9"),
        ({"caller_id": "+13055550123"}, "123"),
        ({"data": {"roof": "flat"}}, "123"),
        ({"data": {"extension": "7"}}, "7"),
    ],
)
def test_another_number_has_not_the_extension_of_the_former(change: dict[str, Any], extension: str | None) -> None:
    world = World()
    world.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, CALL)
    lead = world.submit(data={"extension": "123"})

    world.update(lead, **change)

    assert world.lead(lead.id).data.get("extension") == extension
