"""What follows where somebody has read a doubtful text? An opt-out as any other, or contact that goes on at once."""

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import DAY
from schemas.requests import OptOutReviewed, SmsReceived
from tests.engine.contact.world import KEY, World


def doubted() -> World:
    world = World()
    world.schedule({"id": "rest", "kind": "wait", "duration": "1h"}, {"id": "call-1", "kind": "call"})
    world.submit()
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body="Stop by tomorrow?", received_at=world.now))
    assert world.head().review_until == world.now + DAY
    return world


def decide(world: World, *, opt_out: bool) -> None:
    world.ask(OptOutReviewed(company_id=1, contact_key=KEY, opt_out=opt_out))


def test_an_opt_out_ends_the_leads_and_start_does_not_lift_it() -> None:
    world = doubted()
    decide(world, opt_out=True)
    assert (world.lead().status, world.head().review_until) == ("opt_out", None)
    reviewed = [fact.data for fact in world.facts if fact.type == "contact.optout_reviewed"]
    assert reviewed == [{"opted_out": True}]
    assert [fact.data["source"] for fact in world.facts if fact.type == "contact.opted_out"] == ["review"]
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body="START", received_at=world.now))
    assert world.head().opted_out_at is not None


def test_no_opt_out_lets_contact_go_on_at_once() -> None:
    world = doubted()
    world.wait(2 * 3600)
    assert world.steps() == []
    decide(world, opt_out=False)
    world.wait(1)
    assert world.steps() == ["call-1"]
    assert [fact.data for fact in world.facts if fact.type == "contact.optout_reviewed"] == [{"opted_out": False}]


def test_a_review_is_decided_after_its_day_too() -> None:
    world = doubted()
    world.wait(2 * 24 * 3600)
    decide(world, opt_out=True)
    assert world.head().opted_out_at is not None


def test_what_does_not_wait_cannot_be_decided() -> None:
    world = doubted()
    decide(world, opt_out=False)
    for is_opt_out in (True, False):
        with pytest.raises(RefusedError) as refused:
            decide(world, opt_out=is_opt_out)
        assert refused.value.code == "not_found"
