"""Is an address contacted by its own contact alone, whichever lead asks?"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from schemas.contact import Call
from schemas.instant import DAY, EPOCH
from schemas.records import Company
from schemas.requests import CONTACT_REQUESTS, OutcomeRecorded, ReachRequested, ReachWithdrawn, SmsReceived
from schemas.state import relay_key
from tests.engine.contact.world import KEY, NEW_YORK, World

MAIL = {"id": "mail", "kind": "email", "subject": "Hello {{first_name}}", "template": "B"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
ADDRESS = "Ann@Example.com"
ADDRESS_KEY = "1|email:ann@example.com"


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(MAIL, TEXT, {**MAIL, "id": "mail-2"})
    return made


def test_the_contact_of_the_address_emits_the_mail_and_passes_the_outcome_on(world: World) -> None:
    world.submit(email=ADDRESS)
    (command,) = world.commands
    assert command.contact_key == ADDRESS_KEY
    assert world.lead().status == "running"
    world.outcome("accepted")
    assert world.lead().step == "text"
    assert world.state.packed(relay_key(command.command_id)) is None


def test_an_address_that_opted_out_is_not_mailed_and_the_telephone_still_is(world: World) -> None:
    world.schedule(MAIL, record_id=2)
    world.submit(contact_key=ADDRESS_KEY, caller_id=None, email=ADDRESS, schedule_id=2)
    world.act("opt_out", contact_key=ADDRESS_KEY, schedule_id=2)
    before = len(world.commands)
    world.submit(email=ADDRESS)
    assert [command.step_id for command in world.commands[before:]] == ["text"]
    lead = world.lead()
    assert (lead.failed_channels, lead.emails_count, world.head().opted_out_at) == (("email",), 0, None)
    world.outcome("delivered")
    assert world.lead().status == "completed_attempted"


def test_a_hard_bounce_closes_the_address_and_the_schedule_goes_on(world: World) -> None:
    world.submit(email=ADDRESS)
    world.outcome("bounced_hard")  # E37
    assert (world.lead().step, world.lead().failed_channels) == ("text", ("email",))
    assert "email" in world.head(ADDRESS_KEY).disabled_until
    assert world.head(KEY).disabled_until == {}


def test_a_second_report_of_a_bounce_holds_the_address_no_longer(world: World) -> None:
    world.submit(email=ADDRESS)
    command = world.commands[0]
    world.outcome("bounced_hard")
    first = world.head(ADDRESS_KEY).disabled_until["email"]
    world.now += 3 * DAY
    world.outcome("bounced_hard", command)
    assert world.head(ADDRESS_KEY).disabled_until["email"] == first
    world.now = first
    world.outcome("bounced_hard", command)
    assert world.head(ADDRESS_KEY).disabled_until["email"] > first


def test_who_unsubscribes_by_mail_is_not_contacted_by_telephone_either(world: World) -> None:
    world.submit(email=ADDRESS)
    world.outcome("unsubscribed")
    assert world.lead().status == "opt_out"
    assert world.head(ADDRESS_KEY).opted_out_at == world.head(KEY).opted_out_at == world.now


def test_an_address_is_not_mailed_while_its_contact_has_unread_requests(world: World) -> None:
    world.deliver = False
    world.submit(email=ADDRESS)
    (letter,) = world.messages
    world.behind = True
    world.deliver = True
    world.ask(msgspec.json.decode(letter.body, type=ReachRequested), stream="outbox")
    assert world.commands == []
    assert world.lead().step == "mail"
    world.behind = False
    world.wait(30)
    assert world.steps() == ["mail"]


def test_an_address_that_never_answers_is_an_unknown_outcome(world: World) -> None:
    world.deliver = False
    world.submit(email=ADDRESS)
    world.wait(600)
    assert world.steps() == ["text"]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (lambda world: world.act("opt_out"), "opt_out"),
        (lambda world: world.act("remove"), "removed"),
        (lambda world: world.update(blocked=True), "blocked"),
        (lambda world: world.submit(email=ADDRESS, delete_existing=True), "deleted"),
        (lambda world: world.update(caller_id="+13055550199"), "lead_moved"),
    ],
)
def test_a_mail_that_waits_at_the_address_is_fenced_there(world: World, stop: Callable[[World], Any], reason: str) -> None:
    lead = world.submit(email=ADDRESS)
    stop(world)
    fences = {(fence.reason, fence.lead_ids) for fence in world.fences if fence.contact_key == ADDRESS_KEY}
    assert fences == {(reason, (lead.id,))}


def test_an_opt_out_of_a_channel_recalls_what_another_contact_was_asked_to_send(world: World) -> None:
    """Its own fences do not cover a command under the key of an address."""
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_scope="channel"), version=2)
    world.schedule(MAIL, record_id=2)
    world.submit(email=ADDRESS)
    other = world.submit(email="bea@example.com", schedule_id=2)
    assert [command.contact_key for command in world.commands] == [ADDRESS_KEY, "1|email:bea@example.com"]

    world.outcome("unsubscribed", world.commands[0])

    assert "channel/email" in world.head().opt_outs
    fences = {(fence.reason, fence.lead_ids) for fence in world.fences if fence.contact_key == "1|email:bea@example.com"}
    assert fences == {("opt_out", (other.id,))}


def test_a_mail_that_was_still_being_asked_for_when_the_person_opted_out_is_fenced_behind_its_order(world: World) -> None:
    world.deliver = False
    world.submit(email=ADDRESS)
    world.act("opt_out")
    assert [letter.type for letter in world.messages] == ["reach.requested", "reach.withdrawn"]
    happened = []
    for letter in list(world.messages):
        world.ask(msgspec.json.decode(letter.body, type=CONTACT_REQUESTS[letter.type]), stream="outbox")
        happened.append((len(world.commands), any(fence.contact_key == ADDRESS_KEY for fence in world.fences)))
    assert happened == [(1, False), (1, True)]
    world.outcome("rejected_at_gate")
    assert world.lead().status == "opt_out"


def test_nothing_is_fenced_where_the_mail_was_refused_or_is_over(world: World) -> None:
    world.submit(email=ADDRESS)
    (command,) = world.commands
    world.outcome("accepted")
    request = ReachWithdrawn(
        company_id=1, contact_key=ADDRESS_KEY, lead_id=command.lead_id, command_id=command.command_id, reason="removed"
    )
    world.ask(request, stream="outbox")
    assert world.fences == []


def test_what_is_relayed_is_forgotten_after_a_week(world: World) -> None:
    world.submit(email=ADDRESS)
    command = world.commands[0]
    assert world.state.packed(relay_key(command.command_id)) is not None
    world.wait(8 * 86400)
    assert world.state.packed(relay_key(command.command_id)) is None


def test_an_outcome_comes_to_the_contact_that_emitted(world: World) -> None:
    world.submit(email=ADDRESS)
    world.outcome("accepted")
    passed_on = [letter for letter in world.messages if letter.type == "outcome.recorded"]
    (outcome,) = [msgspec.json.decode(letter.body, type=OutcomeRecorded) for letter in passed_on]
    assert (outcome.contact_key, outcome.reached) == (KEY, ADDRESS_KEY)


def test_nobody_is_reached_through_another_contact_while_they_call_or_may_have_opted_out(world: World) -> None:
    world.schedule(TEXT, record_id=2)
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body="Stop by tomorrow?", received_at=world.now))
    lead = world.submit(contact_key=ADDRESS_KEY, email=ADDRESS, schedule_id=2)
    assert (world.steps(), lead.failed_channels, lead.attempts) == ([], (), 0)
    assert lead.next_action_at == world.head().review_until
    world.wait(86400)
    assert world.steps() == ["text"]


def test_who_is_on_the_line_is_not_texted_through_another_contact(world: World) -> None:
    world.schedule(TEXT, record_id=2)
    draft = world._draft()
    person = Person(draft, 1, KEY)
    call = Call(id=7, uuid="c", company_id=1, contact_key=KEY, created_at=EPOCH, updated_at=EPOCH, number_called="+1")
    reactions.start_inbound(person, call)
    person.put()
    world._apply(draft)
    lead = world.submit(contact_key=ADDRESS_KEY, email=ADDRESS, schedule_id=2)
    assert (world.steps(), lead.failed_channels, lead.step) == ([], (), "text")


def test_the_open_commands_for_leads_of_other_contacts_are_counted_and_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.contact.requests.contact_relay.RELAYS_MAX", 1)
    world.submit(email=ADDRESS)
    assert world.head(ADDRESS_KEY).relays == 1
    late = world.submit(email=ADDRESS, contact_key="1|+13055550177", caller_id="+13055550177")
    assert (len(world.commands), world.lead(late.id).step) == (1, "mail")
    world.outcome("accepted", world.commands[0])
    assert world.head(ADDRESS_KEY).relays == 0
    world.wait(60)
    assert [command.lead_id for command in world.commands if command.contact_key == ADDRESS_KEY] == [
        world.lead_ids()[0],
        late.id,
    ]


def test_a_command_whose_outcome_stays_out_is_counted_no_longer_than_it_is_kept(world: World) -> None:
    world.submit(email=ADDRESS)
    world.wait(8 * 86_400)
    assert world.head(ADDRESS_KEY).relays == 0
