"""Is another system asked before a call or text goes out, and does its answer, or none, decide?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall, PostWebhook, SendSms
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.records import Buyer, BuyerGroup, Subscription, TriggerFields
from tests.engine.contact.world import World

HOOK, SECOND_HOOK, GROUP, BUYER = 31, 32, 51, 52


def add_hook(world: World, record_id: int = HOOK, version: int = 1, **fields: Any) -> None:
    given: dict[str, Any] = {"name": "CRM", "url": "https://crm.example.com/x", "events": ("before_call", "before_sms")}
    world.add("subscription", record_id, Subscription(**{**given, **fields}), version=version)


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule({"id": "call", "kind": "call"}, {"id": "text", "kind": "sms", "template": "Hello"})
    return made


def question(world: World) -> PostWebhook:
    """Return the last command, which must be a question."""
    command = world.commands[-1]
    assert isinstance(command, PostWebhook)
    assert command.subscription_id is not None
    return command


def answer(world: World, allows: bool | None) -> None:
    """Let the hook that was asked last answer, or fail."""
    if allows is None:
        world.outcome("failed", question(world), detail="it answered 503")
    else:
        world.outcome("accepted", question(world), allows=allows)


def test_a_call_goes_out_once_its_hook_has_allowed_it(world: World) -> None:
    add_hook(world)
    lead = world.submit(data={"roof": "flat"})
    assert (lead.status, lead.status_wait, lead.attempts, lead.first_action_at) == ("running", "veto_asked", 0, None)
    asked = question(world)
    assert (asked.subscription_id, asked.payload["type"]) == (HOOK, "before_call")
    assert asked.payload["data"]["lead"]["data"] == {"roof": "flat"}
    assert asked.payload["data"]["details"] == {"channel": "call", "step_id": "call"}
    assert asked.not_after == world.now + 32 * SECOND
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)
    assert (world.lead().attempts, world.lead().allowed_by) == (1, ())


def test_a_call_that_is_denied_is_skipped_and_counts_no_attempt(world: World) -> None:
    add_hook(world, events=("before_call",))
    world.submit()
    answer(world, allows=False)
    assert not any(isinstance(command, PlaceCall) for command in world.commands)
    assert isinstance(world.commands[-1], SendSms)
    (skipped,) = [fact for fact in world.facts if fact.type == "step.skipped"]
    assert (skipped.data["step_id"], skipped.data["reason"]) == ("call", "veto_denied")
    (answered,) = [fact for fact in world.facts if fact.type == "veto.answered"]
    assert answered.data["answer"] == "denied"


def test_each_hook_is_asked_in_turn_and_every_one_must_allow(world: World) -> None:
    add_hook(world)
    add_hook(world, SECOND_HOOK)
    world.submit()
    assert question(world).subscription_id == HOOK
    answer(world, allows=True)
    assert question(world).subscription_id == SECOND_HOOK
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)


def test_each_attempt_and_each_step_is_asked_about_again(world: World) -> None:
    world.schedule(
        {"id": "call", "kind": "call", "retry": {"busy": {"delay": "10m", "max": 1}}},
        {"id": "text", "kind": "sms", "template": "Hello"},
        version=2,
    )
    add_hook(world)
    world.submit()
    answer(world, allows=True)
    world.outcome("busy")
    world.wait(10 * 60)
    assert question(world).payload["type"] == "before_call"
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)
    world.outcome("busy")
    assert question(world).payload["type"] == "before_sms"


@pytest.mark.parametrize("by_gateway", [True, False])
def test_a_hook_that_does_not_answer_holds_the_lead_and_is_asked_again(world: World, by_gateway: bool) -> None:
    add_hook(world)
    world.submit()
    if by_gateway:
        answer(world, allows=None)
    else:
        world.wait(32)
    assert (world.lead().status, world.lead().status_wait) == ("waiting", "veto_unanswered")
    assert world.lead().step == "call"
    first = question(world)
    world.wait(5)
    assert question(world).command_id != first.command_id
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)


def test_a_hook_that_is_away_for_hours_is_asked_ever_more_seldom_until_the_lead_expires(world: World) -> None:
    world.schedule({"id": "call", "kind": "call"}, hours_to_expire=3, version=2)
    add_hook(world)
    world.submit()
    asked = 0
    while world.lead().status != "expired":
        asked += 1
        assert asked < 100
        answer(world, allows=None)
        world.wait_until(min(world.lead().wake_at or world.now, world.now + HOUR))
    assert 5 < asked < 50
    assert not any(isinstance(command, PlaceCall) for command in world.commands)


def test_with_on_error_allow_no_answer_allows(world: World) -> None:
    add_hook(world, on_error="allow")
    world.submit()
    answer(world, allows=None)
    assert isinstance(world.commands[-1], PlaceCall)
    (answered,) = [fact for fact in world.facts if fact.type == "veto.answered"]
    assert (answered.data["answer"], answered.data["detail"]) == ("unanswered", "it answered 503")


def test_an_answer_that_comes_after_the_timeout_changes_nothing(world: World) -> None:
    add_hook(world)
    world.submit()
    late = question(world)
    world.wait(32)
    world.outcome("accepted", late, allows=True)
    assert world.lead().status_wait == "veto_unanswered"
    assert world.lead().allowed_by == ()


@pytest.mark.parametrize(
    "fields",
    [{"paused": True}, {"events": ("lead_ended",)}, {"trigger_fields": TriggerFields(offer_id=9)}],
)
def test_a_hook_that_is_paused_or_for_other_leads_is_not_asked(world: World, fields: dict[str, Any]) -> None:
    add_hook(world, **fields)
    world.submit()
    assert isinstance(world.commands[-1], PlaceCall)


def test_an_opt_out_while_the_hook_is_asked_stands_against_its_answer(world: World) -> None:
    add_hook(world)
    world.submit()
    world.act("opt_out")
    answer(world, allows=True)
    assert world.lead().status == "opt_out"
    assert not any(isinstance(command, PlaceCall | SendSms) for command in world.commands)


def test_hours_that_close_while_the_hook_is_asked_are_obeyed(world: World) -> None:
    add_hook(world)
    world.submit()
    world.now = world.now + 12 * HOUR - MINUTE  # near midnight; the gateway reported late
    asked = question(world)
    world.outcome("accepted", asked, allows=True)
    assert not any(isinstance(command, PlaceCall) for command in world.commands)
    assert world.lead().reasons


def test_the_slot_is_requested_after_the_hook_has_allowed(world: World) -> None:
    world.add("buyer", BUYER, Buyer(name="B", number="+12125550141"))
    world.add("buyer_group", GROUP, BuyerGroup(name="G", buyer_ids=(BUYER,), concurrency_cap_limit=1))
    world.schedule({"id": "call", "kind": "call", "connect": {"buyer_group_id": GROUP}}, version=2)
    add_hook(world)
    world.submit()

    def slots_requested() -> int:
        return sum(letter.type == "slot.requested" for letter in world.messages)

    assert slots_requested() == 0
    answer(world, allows=True)
    assert slots_requested() == 1
    assert world.lead().slot_id is not None


def test_a_hook_that_is_deleted_while_it_is_asked_allows(world: World) -> None:
    add_hook(world)
    world.submit()
    body = Subscription(name="CRM", url="https://crm.example.com/x", events=("before_call",))
    world.add("subscription", HOOK, body, version=2, deleted=True)
    answer(world, allows=None)
    assert isinstance(world.commands[-1], PlaceCall)
