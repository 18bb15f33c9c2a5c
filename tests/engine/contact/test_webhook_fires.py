"""Does firing a webhook by hand order one delivery about a lead or a call, and leave the lead where it stands?"""

from typing import Any

import msgspec
import pytest

from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook
from schemas.decisions import Answer
from schemas.instant import HOUR
from schemas.records import OutgoingWebhook
from schemas.requests import WebhookFireRequested
from tests.engine.contact.world import KEY, World

WEBHOOK = 9


@pytest.fixture
def world() -> World:
    made = World()
    made.add("outgoing_webhook", WEBHOOK, OutgoingWebhook(name="CRM", url="https://crm.example.com/x"))
    made.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, {"id": "call", "kind": "call"})
    return made


def fire(world: World, *, webhook_id: int = WEBHOOK, **about: Any) -> Answer:
    world.ask(WebhookFireRequested(company_id=1, contact_key=KEY, outgoing_webhook_id=webhook_id, **about))
    assert world.answer is not None
    return world.answer


def test_a_firing_for_a_lead_orders_one_delivery_and_moves_nothing(world: World) -> None:
    lead = world.submit(data={"roof": "flat"})
    before = msgspec.structs.asdict(lead)
    answer = fire(world, lead_id=lead.id)
    (command,) = world.commands
    assert isinstance(command, PostWebhook)
    assert (command.outgoing_webhook_id, command.lead_id, command.call_id) == (WEBHOOK, lead.id, None)
    assert command.fire_id == answer.record_id
    assert command.payload["type"] == "lead.fired"
    assert command.payload["data"]["lead"]["id"] == lead.id
    assert msgspec.structs.asdict(world.lead()) == before
    assert (answer.status, answer.record_type) == (201, "webhook_manual_fire")


def test_a_firing_leaves_out_what_the_teams_of_its_sender_hide(world: World) -> None:
    world.schedule({"id": "call", "kind": "call"}, record_id=2)
    lead = world.submit(schedule_id=2, data={"roof": "flat"})
    call_id = lead.flight.call_id if lead.flight else 0
    hidden = {"lead": ("caller_id", "data"), "call": ("number_called", "token_values")}
    fire(world, call_id=call_id, hidden=hidden)
    command = world.commands[-1]
    assert isinstance(command, PostWebhook)
    for model, names in hidden.items():
        assert command.payload["data"][model].keys().isdisjoint(names)
        assert command.payload["data"][model]["id"]
    fire(world, call_id=call_id)
    whole = world.commands[-1]
    assert isinstance(whole, PostWebhook)
    assert whole.payload["data"]["lead"]["caller_id"] == lead.caller_id


def test_each_firing_is_a_delivery_of_its_own(world: World) -> None:
    lead = world.submit()
    answers = [fire(world, lead_id=lead.id) for _ in range(3)]
    assert len({command.command_id for command in world.commands}) == 3
    assert len({answer.record_id for answer in answers}) == 3


def test_its_outcome_is_recorded_and_is_never_late(world: World) -> None:
    lead = world.submit()
    step = lead.step
    answer = fire(world, lead_id=lead.id)
    world.outcome("failed", fire_id=answer.record_id)
    (recorded,) = [fact for fact in world.facts if fact.type == "outcome.recorded"]
    assert (recorded.data["outcome"], "late" in recorded.data) == ("failed", False)
    assert world.lead().step == step


def test_a_firing_for_a_call_names_the_call_and_its_lead(world: World) -> None:
    world.schedule({"id": "call", "kind": "call"}, record_id=2)
    lead = world.submit(schedule_id=2)
    call_id = lead.flight.call_id if lead.flight else 0
    fire(world, call_id=call_id)
    command = world.commands[-1]
    assert isinstance(command, PostWebhook)
    assert (command.call_id, command.lead_id, command.payload["type"]) == (call_id, lead.id, "call.fired")
    (fact,) = [fact for fact in world.facts if fact.type == "webhook.fired_by_hand"]
    assert (fact.lead_id, fact.call_id) == (lead.id, call_id)


def test_moments_of_the_sender_stand_in_the_fact_alone(world: World) -> None:
    lead = world.submit()
    long_ago = world.now - 1_000 * HOUR
    fire(world, lead_id=lead.id, created_at=long_ago)
    (fact,) = [fact for fact in world.facts if fact.type == "webhook.fired_by_hand"]
    assert (fact.data["created_at"], "updated_at" in fact.data) == (long_ago, False)
    assert world.commands[-1].decided_at == world.now


@pytest.mark.parametrize(
    ("about", "paused", "code", "field"),
    [
        ({"lead_id": 77}, False, "not_found", None),
        ({"call_id": 77}, False, "not_found", None),
        ({"webhook_id": 8}, False, "validation_failed", "outgoing_webhook_id"),
        ({}, True, "validation_failed", "outgoing_webhook_id"),
    ],
)
def test_what_is_not_there_is_refused(
    world: World, about: dict[str, Any], paused: bool, code: str, field: str | None
) -> None:
    lead = world.submit()
    if paused:
        body = OutgoingWebhook(name="CRM", url="https://crm.example.com/x", paused=True)
        world.add("outgoing_webhook", WEBHOOK, body, version=2)
    with pytest.raises(RefusedError) as caught:
        fire(world, **({"lead_id": lead.id} | about))
    assert (caught.value.code, list(caught.value.errors)) == (code, [] if field is None else [field])
    assert world.commands == []
