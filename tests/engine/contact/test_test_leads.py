"""Is a lead that is a test stored and never contacted, and is a post of a vendor that comes again one?"""

from contextlib import suppress
from typing import Any

import pytest

from engine.partition.draft import RefusedError, RepeatedError
from schemas.contact import Lead
from schemas.instant import HOUR
from schemas.requests import CallStartRequested
from tests.engine.contact.world import KEY, NOON, NUMBER, World

TEXT = {"id": "text", "kind": "sms", "template": "Hi"}


def submitted(world: World, **fields: Any) -> Lead:
    return world.submit(**{"with_key": True, **fields})


@pytest.fixture
def world() -> World:
    found = World()
    found.schedule(TEXT)
    return found


@pytest.mark.parametrize("with_key", [True, False])
def test_a_test_is_stored_and_nobody_is_contacted_for_it(world: World, with_key: bool) -> None:
    lead = submitted(world, is_test=True, with_key=with_key)
    assert (lead.is_test, lead.status, world.commands) == (True, "disabled", [])
    world.wait(86_400)
    assert world.commands == []


@pytest.mark.parametrize(
    "fields",
    [{"schedule_start": True}, {"schedule_callback_at": NOON + HOUR}, {"next_action_at": NOON}, {"opt_out": False}],
)
def test_a_test_stays_one_whatever_is_asked_of_it(world: World, fields: dict[str, Any]) -> None:
    lead = submitted(world, is_test=True)
    with suppress(RefusedError):  # some of it is refused for a lead that has ended
        world.update(lead, **fields)
    world.wait(86_400)
    assert (world.lead(lead.id).status, world.commands) == ("disabled", []), "a test was contacted"


def test_no_call_is_placed_by_hand_for_a_test(world: World) -> None:
    lead = submitted(world, is_test=True)
    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=lead.id, force=True))
    assert (refused.value.code, refused.value.extra["reason"]) == ("suppressed_contact", "is_test")


@pytest.mark.parametrize("more", [{}, {"create_or_update": True}, {"expire_existing": True}, {"delete_existing": True}])
def test_a_test_changes_no_lead_of_the_person_and_takes_the_place_of_none(world: World, more: dict[str, Any]) -> None:
    real = submitted(world)
    test = submitted(world, is_test=True, **more)
    assert (world.lead(real.id).status, test.id != real.id) == ("running", True)
    world.outcome("delivered")
    again = submitted(world, restart_schedule=True)
    assert again.id == real.id


def test_a_test_that_opts_out_does(world: World) -> None:
    submitted(world)
    submitted(world, is_test=True, opt_out=True)
    assert world.head().opted_out_at is not None


def test_a_post_that_comes_again_under_its_id_changes_nothing_for_a_day(world: World) -> None:
    first = submitted(world, vendor_key="traffic_source/7/a", data={"plan": "gold"})
    with pytest.raises(RepeatedError):
        submitted(world, vendor_key="traffic_source/7/a", data={"plan": "tin"})
    assert world.lead(first.id).data == {"plan": "gold"}
    submitted(world, vendor_key="traffic_source/8/a", data={"plan": "tin"})
    assert world.lead(first.id).data == {"plan": "tin"}
    world.wait(86_401)
    submitted(world, vendor_key="traffic_source/7/a", data={"plan": "iron"})


def test_a_stranger_who_guesses_an_id_keeps_no_post_out_and_no_id_keeps_out_a_stop(world: World) -> None:
    submitted(world, vendor_key="schedule/1/a", data={"plan": "forged"}, with_key=False)
    real = submitted(world, vendor_key="schedule/1/a", data={"plan": "gold"}, with_key=False)
    assert real.id
    with pytest.raises(RepeatedError):
        submitted(world, vendor_key="schedule/1/a", data={"plan": "gold"}, with_key=False)
    submitted(world, vendor_key="schedule/1/a", data={"plan": "gold"}, with_key=False, opt_out=True)
    assert world.head().opted_out_at is not None
