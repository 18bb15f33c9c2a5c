"""Does nobody call on the holidays of a company, whenever they become known, and does everything else go on?"""

from typing import Any

import pytest

from schemas.instant import HOUR
from schemas.records import Holiday
from tests.engine.contact.world import NEW_YORK, NOON, World, at

CALL = {"id": "call-1", "kind": "call"}
FAIR: dict[str, Any] = {"first_date": "2026-07-15", "last_date": "2026-07-17"}
AFTER = at("2026-07-18 08:00")


def closed(world: World, holiday_id: int = 5, version: int = 1, *, deleted: bool = False, **fields: Any) -> None:
    body = Holiday(name="Fair", **{**FAIR, **fields})
    world.add("holiday", holiday_id, body, version=version, deleted=deleted)


def test_no_schedule_calls_on_a_holiday_in_any_zone_of_the_lead() -> None:
    world = World()
    closed(world)
    world.schedule(CALL)

    lead = world.submit(zones=(NEW_YORK, "America/Los_Angeles"))

    assert lead.next_action_at == at("2026-07-18 08:00", "America/Los_Angeles")
    assert lead.reasons == ("company_holiday", "quiet_hours_federal")


def test_a_holiday_of_one_date_is_over_at_midnight() -> None:
    world = World()
    closed(world, last_date=None)
    world.schedule(CALL)

    assert world.submit().next_action_at == at("2026-07-16 08:00")


def test_a_holiday_of_named_schedules_holds_for_these_alone_and_beside_those_of_all() -> None:
    world = World()
    world.schedule(CALL)
    world.schedule(CALL, record_id=2)
    closed(world, 5, schedule_ids=(2,))
    assert world.submit(schedule_id=1).next_action_at == NOON
    assert world.submit(schedule_id=2, create_or_update=False).next_action_at == AFTER

    closed(world, 6, first_date="2026-07-18", last_date=None)
    world.wait(1)
    assert world.submit(schedule_id=2, restart_schedule=True).next_action_at == at("2026-07-19 08:00")


def test_waiting_leads_are_planned_again_when_a_holiday_comes_moves_and_goes() -> None:
    world = World(now=at("2026-07-14 22:00"))
    world.schedule(CALL)
    assert world.submit().next_action_at == at("2026-07-15 08:00")

    closed(world)
    world.wait(1)
    assert world.lead().next_action_at == AFTER
    closed(world, version=2, last_date="2026-07-15")
    world.wait(1)
    assert world.lead().next_action_at == at("2026-07-16 08:00")
    replans = [fact.data["cause"] for fact in world.facts if fact.type == "lead.replanned"]
    assert replans == ["holiday/5@1", "holiday/5@2"]
    closed(world, version=3, last_date="2026-07-15", deleted=True)
    world.wait(1)
    assert world.lead().next_action_at == at("2026-07-15 08:00")
    world.wait_until(at("2026-07-15 08:00"))
    assert world.steps() == ["call-1"]


def test_another_name_for_a_holiday_plans_nobody_again() -> None:
    world = World()
    world.schedule(CALL)
    closed(world)
    world.submit()
    world.wait(1)

    world.add("holiday", 5, Holiday(name="Feast", **FAIR), version=2)
    world.wait(1)

    assert "lead.replanned" not in world.fact_types()


def test_another_company_works_on_it() -> None:
    world = World(company_id=2)
    closed(world)
    world.company_id = 1
    world.schedule(CALL)

    assert world.submit().next_action_at == NOON


def test_a_promised_call_is_made_on_a_holiday() -> None:
    world = World()
    closed(world)
    world.schedule(CALL)
    world.submit(schedule_callback_at=NOON + HOUR)

    world.wait(3600)

    assert world.steps() == ["(callback)"]


@pytest.mark.parametrize("channel", ["sms", "email"])
def test_no_channel_is_used_on_a_holiday(channel: str) -> None:
    world = World()
    closed(world)
    message = {"template": "Hi"} if channel == "sms" else {"template": "Hi", "subject": "Hi"}
    world.schedule({"id": "one", "kind": channel, **message})

    lead = world.submit(email="ada@example.com")

    assert (lead.reasons[0], world.commands) == ("company_holiday", [])
    assert lead.next_action_at is not None
    assert lead.next_action_at >= at("2026-07-18 00:00")
