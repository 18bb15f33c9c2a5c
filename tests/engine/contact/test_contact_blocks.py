"""What does a request to block a contact do? It stops a person with or without leads; lifting it resumes nothing."""

import pytest

from engine.partition.draft import RefusedError
from schemas.commands import HangUp
from schemas.requests import ContactBlockRequested
from tests.engine.contact.world import KEY, World

STEP = {"id": "call-1", "kind": "call"}


def requested(blocked: bool, **fields: bool) -> ContactBlockRequested:
    return ContactBlockRequested(company_id=1, contact_key=KEY, blocked=blocked, **fields)


def test_a_block_ends_live_leads_and_lifting_it_resumes_nothing() -> None:
    world = World()
    world.schedule(STEP)
    world.submit(schedule_id=1)
    world.ask(requested(blocked=True))
    assert (world.lead().status, world.head().blocked_at) == ("blocked", world.now)
    assert [fact.data["source"] for fact in world.facts if fact.type == "contact.blocked"] == ["contact_block"]
    world.ask(requested(blocked=True))
    assert len([fact for fact in world.facts if fact.type == "contact.blocked"]) == 1
    world.ask(requested(blocked=False))
    assert (world.lead().status, world.lead().blocked, world.head().blocked_at) == ("blocked", False, None)
    world.ask(requested(blocked=False))
    assert len([fact for fact in world.facts if fact.type == "contact.unblocked"]) == 1


def test_somebody_without_leads_is_blocked_and_a_later_lead_is_never_contacted() -> None:
    world = World()
    world.schedule(STEP)
    world.ask(requested(blocked=True))
    world.submit(schedule_id=1)
    assert world.lead().status == "blocked"
    assert world.commands == []


def test_nobody_is_unblocked_of_whom_nothing_was_decided() -> None:
    world = World()
    with pytest.raises(RefusedError) as refused:
        world.ask(requested(blocked=False))
    assert refused.value.code == "not_found"


def test_a_block_may_end_the_call_in_progress() -> None:
    world = World()
    world.schedule(STEP)
    world.submit(schedule_id=1)
    world.wait(1)
    assert world.steps() == ["call-1"]
    world.ask(requested(blocked=True, hangup_live=True))
    assert any(isinstance(command, HangUp) for command in world.commands)


def test_a_call_that_is_ended_again_gets_a_command_of_its_own() -> None:
    world = World()
    world.schedule(STEP)
    world.submit(schedule_id=1)
    world.wait(1)
    for _ in range(2):
        world.ask(requested(blocked=True, hangup_live=True))
    ids = [command.command_id for command in world.commands if isinstance(command, HangUp)]
    assert (len(ids), len(set(ids))) == (2, 2)
