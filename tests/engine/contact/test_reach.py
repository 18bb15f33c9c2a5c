"""Is an address contacted by its own contact alone, whichever lead asks?"""

import msgspec
import pytest

from schemas.requests import OutcomeRecorded, ReachRequested
from schemas.state import relay_key
from tests.engine.contact.world import KEY, World

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


def test_who_unsubscribes_by_mail_is_not_contacted_by_telephone_either(world: World) -> None:
    world.submit(email=ADDRESS)
    world.outcome("unsubscribed")
    assert world.lead().status == "opt_out"
    assert world.head(ADDRESS_KEY).opted_out_at == world.head(KEY).opted_out_at == world.now


def test_an_address_is_not_mailed_while_its_contact_has_unread_requests(world: World) -> None:
    world.deliver = False
    world.submit(email=ADDRESS)
    (letter,) = world.letters
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


def test_what_is_relayed_is_forgotten_after_a_week(world: World) -> None:
    world.submit(email=ADDRESS)
    command = world.commands[0]
    assert world.state.packed(relay_key(command.command_id)) is not None
    world.wait(8 * 86400)
    assert world.state.packed(relay_key(command.command_id)) is None


def test_an_outcome_comes_to_the_contact_that_emitted(world: World) -> None:
    world.submit(email=ADDRESS)
    world.outcome("accepted")
    passed_on = [letter for letter in world.letters if letter.type == "outcome.recorded"]
    (outcome,) = [msgspec.json.decode(letter.body, type=OutcomeRecorded) for letter in passed_on]
    assert (outcome.contact_key, outcome.reached) == (KEY, ADDRESS_KEY)
