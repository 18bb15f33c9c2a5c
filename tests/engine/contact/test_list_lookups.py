"""Is nobody contacted before another system has said that they are not on the suppression list that it keeps?"""

from typing import Any

import pytest

from engine.contact.lifecycle.suppressing import LISTS_MAX
from engine.contact.lifecycle.vetoes import LOOKED_UP_FOR
from schemas.commands import PlaceCall, PostWebhook, SendEmail, SendSms
from schemas.records import Buyer, BuyerGroup, Company, Offer, Subscription, TriggerFields
from tests.engine.contact.test_suppression_lists import LIST, entry, put_on, world_of
from tests.engine.contact.test_veto_hooks import add_hook, answer, question
from tests.engine.contact.world import NEW_YORK, World

LOOKUP, HOOK, OTHER_LIST, OTHER_LOOKUP = 30, 31, 8, 32
CONTACTS = PlaceCall | SendSms | SendEmail


def add_lookup(world: World, record_id: int = LOOKUP, list_id: int = LIST, version: int = 1, **fields: Any) -> None:
    given: dict[str, Any] = {"name": "DNC", "url": "https://dnc.example.com/x", "events": ("suppression_lookup",)}
    body = Subscription(**{**given, "suppression_list_id": list_id, **fields})
    world.add("subscription", record_id, body, version=version)


def contacts(world: World) -> list[Any]:
    return [command for command in world.commands if isinstance(command, CONTACTS)]


@pytest.mark.parametrize("holder", ["company", "offer", "schedule"])
def test_a_person_is_called_once_the_list_does_not_have_them(holder: str) -> None:
    world = world_of(holder)
    add_lookup(world)

    lead = world.submit()

    assert (lead.status, lead.status_wait, lead.attempts, contacts(world)) == ("running", "veto_asked", 0, [])
    asked = question(world)
    assert (asked.subscription_id, asked.payload["type"]) == (LOOKUP, "suppression_lookup")
    assert asked.payload["data"]["details"] == {"channel": "call", "step_id": "call-1", "suppression_list_id": LIST}
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)
    assert (world.lead().attempts, world.lead().allowed_by, entry(world)) == (1, (), None)


def test_a_person_whom_the_list_has_is_put_on_it_and_their_leads_end() -> None:
    world = world_of("company")
    first = world.submit(schedule_id=None, offer_id=1)
    add_lookup(world)
    world.submit()
    asked_at = world.now

    answer(world, allows=False)

    assert [world.lead(lead_id).status for lead_id in world.lead_ids()] == ["dnc", "dnc"]
    assert (first.id in world.lead_ids(), contacts(world)) == (True, [])
    found = entry(world)
    assert found is not None
    assert (found.source, found.expires_at) == ("lookup", asked_at + LOOKED_UP_FOR)
    (answered,) = [fact for fact in world.facts if fact.type == "veto.answered"]
    assert (answered.data["answer"], answered.data["suppression_list_id"]) == ("denied", LIST)
    assert world.submit().status == "dnc", "a later lead is not looked up again while the entry lasts"
    assert sum(isinstance(command, PostWebhook) for command in world.commands) == 1


def test_an_entry_of_a_lookup_expires_and_the_person_is_looked_up_again() -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    answer(world, allows=False)

    world.wait_until(world.now + LOOKED_UP_FOR)
    assert entry(world) is None
    world.submit()

    assert question(world).command_id != ""
    assert sum(isinstance(command, PostWebhook) for command in world.commands) == 2
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)


@pytest.mark.parametrize("by_gateway", [True, False])
def test_no_answer_holds_the_lead_and_the_list_is_looked_up_again(by_gateway: bool) -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    first = question(world)

    if by_gateway:
        answer(world, allows=None)
    else:
        world.wait(32)

    assert (world.lead().status, world.lead().status_wait) == ("waiting", "suppression_lookup_failed")
    world.wait(5)
    assert question(world).command_id != first.command_id
    answer(world, allows=True)
    assert isinstance(world.commands[-1], PlaceCall)


def test_on_error_of_the_subscription_opens_nothing() -> None:
    world = world_of("company")
    add_lookup(world, on_error="allow")
    world.submit()

    answer(world, allows=None)

    assert world.lead().status_wait == "suppression_lookup_failed"


def test_an_outage_contacts_nobody_until_the_lead_expires() -> None:
    world = world_of("company")
    world.schedule({"id": "call-1", "kind": "call"}, hours_to_expire=3, version=2)
    add_lookup(world)
    world.submit()
    for _ in range(100):
        if world.lead().status == "expired":
            break
        answer(world, allows=None)
        world.wait_until(world.lead().wake_at or world.now)

    assert (world.lead().status, contacts(world)) == ("expired", [])


def test_a_paused_lookup_is_asked_still_so_that_its_gateway_says_that_there_is_no_answer() -> None:
    world = world_of("company")
    add_lookup(world, paused=True)
    world.submit()
    assert question(world).subscription_id == LOOKUP
    answer(world, allows=None)
    assert world.lead().status_wait == "suppression_lookup_failed"


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ({"id": "text", "kind": "sms", "template": "Hello"}, SendSms),
        ({"id": "mail", "kind": "email", "subject": "Hi", "template": "Hello"}, SendEmail),
    ],
)
def test_texts_and_emails_are_looked_up_as_calls_are(step: dict[str, Any], command: type) -> None:
    world = world_of("company")
    world.schedule(step, version=2)
    add_lookup(world)
    world.submit(email="ada@example.com")
    assert contacts(world) == []
    answer(world, allows=True)
    assert isinstance(world.commands[-1], command)


def test_each_attempt_is_looked_up_again() -> None:
    world = world_of("company")
    world.schedule({"id": "call-1", "kind": "call", "retry": {"busy": {"delay": "10m", "max": 1}}}, version=2)
    add_lookup(world)
    world.submit()
    answer(world, allows=True)
    world.outcome("busy")
    world.wait(10 * 60)
    assert question(world).payload["type"] == "suppression_lookup"
    answer(world, allows=False)
    assert world.lead().status == "dnc"


def test_lookups_come_before_veto_hooks_and_each_is_asked() -> None:
    world = world_of("company")
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, suppression_list_ids=(LIST, OTHER_LIST)), version=3)
    add_lookup(world)
    add_lookup(world, OTHER_LOOKUP, OTHER_LIST)
    add_hook(world, HOOK)
    world.submit()
    asked = []
    while not contacts(world):
        asked.append(question(world).subscription_id)
        answer(world, allows=True)
    assert asked == [LOOKUP, OTHER_LOOKUP, HOOK]


@pytest.mark.parametrize(
    "fields", [{"events": ("lead_ended",), "suppression_list_id": None}, {"trigger_fields": TriggerFields(offer_id=9)}]
)
def test_what_asks_for_no_lookup_of_this_lead_is_not_asked(fields: dict[str, Any]) -> None:
    world = world_of("company")
    add_lookup(world, **fields)
    world.submit()
    assert isinstance(world.commands[-1], PlaceCall)


def test_a_list_that_nobody_names_is_not_looked_up() -> None:
    world = world_of()
    add_lookup(world)
    world.submit()
    assert isinstance(world.commands[-1], PlaceCall)


def test_a_list_that_a_buyer_of_the_call_names_is_looked_up_and_leaves_that_buyer_out() -> None:
    world = world_of()
    world.add("buyer", 52, Buyer(name="Listed", number="+12125550101", suppression_list_ids=(LIST,)))
    world.add("buyer", 53, Buyer(name="Free", number="+12125550102", tier=2))
    world.add("buyer_group", 51, BuyerGroup(name="All", buyer_ids=(52, 53)))
    offer = Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, buyer_group_ids=(51,))
    world.add("offer", 1, offer, version=2)
    add_lookup(world)
    world.submit()
    assert question(world).payload["data"]["details"]["suppression_list_id"] == LIST

    answer(world, allows=False)

    call = world.commands[-1]
    assert isinstance(call, PlaceCall)
    assert (call.buyer_id, world.lead().status) == (53, "running")
    assert entry(world) is not None


def test_who_is_on_the_list_already_is_not_looked_up() -> None:
    world = world_of("company")
    add_lookup(world)
    put_on(world)
    assert world.submit().status == "dnc"
    assert world.commands == []


def test_a_list_that_holds_no_more_when_it_answers_ends_nothing() -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK), version=3)

    answer(world, allows=False)

    assert isinstance(world.commands[-1], PlaceCall)
    assert entry(world) is not None


def test_an_answer_that_comes_after_its_time_puts_nobody_on_the_list() -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    late = question(world)
    world.wait(33)
    world.outcome("accepted", late, allows=False)
    assert entry(world) is None
    assert world.lead().status_wait == "suppression_lookup_failed"


@pytest.mark.parametrize(
    ("allows", "status"), [(True, "completed_attempted"), (None, "completed_attempted"), (False, "dnc")]
)
def test_a_call_among_end_steps_is_skipped_where_its_look_up_has_no_answer(allows: bool | None, status: str) -> None:
    world = world_of("company")
    text = {"id": "text", "kind": "sms", "template": "Hello"}
    world.schedule(text, version=2, end_steps=[{"id": "last", "kind": "sms", "template": "Bye"}])
    add_lookup(world)
    world.submit()
    answer(world, allows=True)
    world.outcome("delivered")
    world.wait(1)
    assert question(world).step_id == "last"

    answer(world, allows=allows)
    if allows:
        assert contacts(world)[-1].body == "Bye"
        world.outcome("delivered")

    assert len(contacts(world)) == (2 if allows else 1)
    assert world.lead().status == status
    assert (entry(world) is not None) == (allows is False)


def test_an_answer_for_a_lead_that_has_ended_puts_the_person_on_the_list_for_the_others() -> None:
    world = world_of("company")
    add_lookup(world)
    asked = world.submit()
    world.update(asked, schedule_stop=True)
    other = world.submit(schedule_id=None, offer_id=1)

    world.outcome("accepted", question(world), allows=False)

    assert entry(world) is not None
    assert (world.lead(other.id).status, contacts(world)) == ("dnc", [])


def test_an_answer_for_an_earlier_run_of_the_schedule_lets_nobody_through() -> None:
    world = world_of("company")
    add_lookup(world)
    lead = world.submit()
    first = question(world)
    world.update(lead, move_to_another_schedule_id=1)

    world.outcome("accepted", first, allows=True)

    assert contacts(world) == []
    world.wait(60)
    assert question(world).command_id != first.command_id


@pytest.mark.parametrize("allows", [None, True])
def test_a_look_up_that_is_deleted_while_it_is_asked_holds_nobody_back_for_long(allows: bool | None) -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    asked = question(world)
    body = Subscription(
        name="DNC", url="https://dnc.example.com/x", events=("suppression_lookup",), suppression_list_id=LIST
    )
    world.add("subscription", LOOKUP, body, version=2, deleted=True)
    if allows is None:
        world.outcome("failed", asked)
        assert contacts(world) == []
        world.wait(5)
    else:
        world.outcome("accepted", asked, allows=allows)
    assert isinstance(world.commands[-1], PlaceCall)


def test_an_answer_that_is_reported_twice_is_taken_once() -> None:
    world = world_of("company")
    add_lookup(world)
    world.submit()
    asked = question(world)
    world.outcome("accepted", asked, allows=True)
    world.outcome("accepted", asked, allows=False)
    assert (entry(world), len(contacts(world)), world.lead().status) == (None, 1, "running")


@pytest.mark.parametrize(("lists", "status"), [(LISTS_MAX - 1, "dnc"), (LISTS_MAX, "waiting")])
def test_who_is_on_as_many_lists_as_possible_is_held_and_not_contacted(lists: int, status: str) -> None:
    world = world_of("company")
    for number in range(lists):
        put_on(world, 1000 + number)
    add_lookup(world)
    world.submit()

    answer(world, allows=False)

    assert (world.lead().status, contacts(world)) == (status, [])
    if status == "waiting":
        assert world.lead().status_wait == "suppression_lookup_failed"
        world.wait(5)
        assert question(world).subscription_id == LOOKUP


def test_a_text_and_its_call_of_one_lead_are_each_looked_up() -> None:
    world = world_of("company")
    world.schedule({"id": "text", "kind": "sms", "template": "Hello"}, {"id": "call-1", "kind": "call"}, version=2)
    add_lookup(world)
    world.submit()
    answer(world, allows=True)
    world.outcome("delivered")
    world.wait(1)
    assert question(world).payload["data"]["details"]["channel"] == "call"
    assert len(contacts(world)) == 1
