"""Is the forecast for many leads the sum of the forecasts for each?"""

from engine.why.outlook import Outlook
from schemas.contact import Attempt
from schemas.instant import HOUR, Instant, to_rfc3339
from schemas.wire import to_pack
from tests.engine.contact.world import NOON, at
from tests.engine.why.explained_world import ExplainedWorld
from tests.engine.why.test_answer import CALL, OFFICE, TEXT, asked, wait

NUMBERS = [f"+1212555{number:04d}" for number in range(100, 104)]


def crowd(world: ExplainedWorld, **fields: object) -> list[int]:
    """Four people with a lead each; their ids."""
    return [world.submit(caller_id=number, contact_key=f"1|{number}", states=("NY",), **fields).id for number in NUMBERS]


def seen(world: ExplainedWorld, ids: list[int], hours: int = 24, now: Instant | None = None) -> Outlook:
    outlook = Outlook(now or world.now, hours)
    for lead_id in ids:
        outlook.add(world.case(world.lead(lead_id)).known)
    return outlook


def test_what_is_due_is_counted_by_hour_state_and_channel() -> None:
    world = asked(wait("90m"), TEXT, {**wait("3h"), "id": "again"}, CALL)
    shown = seen(world, crowd(world)).shown()

    hours = [(hour["from"], hour["sms"], hour["call"], hour["by"]) for hour in shown["hours"]]
    assert hours == [
        (to_rfc3339(NOON + HOUR), 4, 0, [{"state": "NY", "kind": "sms", "count": 4}]),
        (to_rfc3339(NOON + 4 * HOUR), 0, 4, [{"state": "NY", "kind": "call", "count": 4}]),
    ]
    assert (shown["leads"], shown["cut"], shown["expiring"]["count"]) == (4, 0, 0)
    assert len(shown["assumed"]) == 2


def test_an_email_that_another_contact_emits_is_counted_once() -> None:
    world = asked(wait("90m"), {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "Hello"})
    (hour,) = seen(world, crowd(world, email="ada@example.com")).shown()["hours"]
    assert (hour["email"], hour["by"]) == (4, [{"state": "NY", "kind": "email", "count": 4}])


def test_what_lies_beyond_the_hours_is_not_counted() -> None:
    world = asked(wait("90m"), TEXT)
    assert seen(world, crowd(world), hours=1).shown()["hours"] == []


def test_a_lead_that_expires_before_it_may_be_called_is_named_with_the_hour_that_it_misses() -> None:
    world = asked(CALL, now="2026-07-15 22:00", hours_to_expire=5)
    ids = crowd(world)
    shown = seen(world, ids).shown()["expiring"]

    assert shown["count"] == 4
    assert [one["lead_id"] for one in shown["leads"]] == ids
    assert shown["leads"][0]["expires_at"] == to_rfc3339(at("2026-07-16 03:00"))
    assert shown["leads"][0]["allowed_at"] == to_rfc3339(at("2026-07-16 08:00"))
    assert shown["leads"][0]["reasons"] == ["quiet_hours_federal"]


def test_a_lead_that_may_never_be_called_is_named_without_an_hour() -> None:
    world = asked(CALL, now="2026-07-15 12:00", hours_to_expire=5, unknown_zone="hold")
    lead = world.submit(zones=())

    (row,) = seen(world, [lead.id]).shown()["expiring"]["leads"]
    assert (row["allowed_at"], row["reasons"]) == (None, ["timezone_unknown"])


def test_a_later_step_that_comes_too_late_is_foreseen_with_its_hour() -> None:
    world = asked(TEXT, wait("3h"), CALL, now="2026-07-15 18:00", hours_to_expire=8, windows=OFFICE)
    shown = seen(world, crowd(world)).shown()

    assert shown["expiring"]["count"] == 4
    assert shown["expiring"]["leads"][0]["allowed_at"] == to_rfc3339(at("2026-07-16 09:00"))


def test_delays_by_caps_are_counted_by_rule() -> None:
    world = asked(wait("1h"), CALL)
    lead = world.submit(states=("FL",))
    head = world.head()
    head.ledger = tuple(Attempt(world.now - number * HOUR, "call", f"c-{number}") for number in range(3))
    world.state.set(f"head/{head.contact_key}", to_pack(head))
    world.state.commit()

    assert seen(world, [lead.id]).shown()["caps"] == [{"rule": "us-fl", "leads": 1}]


def test_leads_that_stay_held_are_counted_by_what_holds_them() -> None:
    world = asked(TEXT, paused=True)
    assert seen(world, crowd(world)).shown()["held"] == [{"status_wait": "schedule_paused", "leads": 4}]
