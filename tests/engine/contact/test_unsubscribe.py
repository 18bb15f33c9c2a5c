"""What does an unsubscribe link end? All e-mails to the address at least, at once, and as much more as the company says."""

import pytest

from schemas.commands import SendEmail
from schemas.records import Company
from schemas.requests import UnsubscribeRequested
from tests.engine.contact.world import KEY, NEW_YORK, World

MAIL = {"id": "mail", "kind": "email", "subject": "Hello", "template": "B"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
ADDRESS = "Ann@Example.com"
ADDRESS_KEY = "1|email:ann@example.com"


def made(scope: str = "company") -> World:
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_scope=scope), version=2)  # type: ignore[arg-type]
    world.schedule(MAIL, TEXT, {**MAIL, "id": "mail-2"})
    return world


def unsubscribe(world: World, key: str = ADDRESS_KEY) -> None:
    world.ask(UnsubscribeRequested(company_id=1, contact_key=key, channel="email"))


def sources(world: World) -> list[str]:
    return [fact.data["source"] for fact in world.facts if fact.type == "contact.opted_out"]


def test_where_an_opt_out_reaches_everything_the_lead_ends() -> None:
    world = made()
    world.submit(email=ADDRESS)
    unsubscribe(world, KEY)

    assert world.lead().status == "opt_out"
    assert sources(world) == ["unsubscribe_link"]


@pytest.mark.parametrize("scope", ["channel", "offer"])
def test_elsewhere_all_e_mails_end_and_calls_and_texts_go_on(scope: str) -> None:
    world = made(scope)
    world.submit(email=ADDRESS)
    unsubscribe(world)
    unsubscribe(world, KEY)
    world.outcome("rejected_at_gate")
    world.wait(3600)

    assert [type(command) for command in world.commands].count(SendEmail) == 1
    assert world.steps() == ["mail", "text"]
    assert set(world.head(ADDRESS_KEY).opt_outs) == set(world.head(KEY).opt_outs) == {"channel/email"}


def test_an_e_mail_that_waits_at_the_address_is_fenced_on_its_channel_alone() -> None:
    """It is for a lead of a number, whose id the contact of the address keeps no list of."""
    world = made("channel")
    world.submit(email=ADDRESS)
    unsubscribe(world)

    assert [(fence.contact_key, fence.reason, fence.lead_ids) for fence in world.fences] == [(ADDRESS_KEY, "opt_out", ())]


def test_a_later_lead_with_the_address_gets_no_e_mail() -> None:
    world = made("channel")
    unsubscribe(world)
    world.submit(email=ADDRESS)

    assert world.steps() == ["text"]
    assert world.lead().failed_channels == ("email",)


def test_a_link_that_is_used_again_changes_nothing() -> None:
    world = made("channel")
    world.submit(contact_key=ADDRESS_KEY, caller_id=None, email=ADDRESS)
    unsubscribe(world)
    opt_outs, facts = world.head(ADDRESS_KEY).opt_outs, len(world.facts)
    world.wait(60)
    unsubscribe(world)

    assert world.head(ADDRESS_KEY).opt_outs == opt_outs
    assert len(world.facts) == facts
    assert sources(world) == ["unsubscribe_link"]
