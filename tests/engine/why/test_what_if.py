"""Does a change of a schedule move the leads that it holds back, and no others?"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec import Struct

from engine.contact.facts.person import wake_at
from engine.partition.draft import RefusedError
from engine.why.what_if import Course, WhatIf, course_of, read_change
from schemas.contact import Attempt
from schemas.instant import HOUR, Instant, Millis, to_rfc3339
from schemas.records import Schedule
from schemas.wire import to_pack
from tests.engine.contact.world import at
from tests.engine.why.explained_world import ExplainedWorld
from tests.engine.why.test_answer import CALL, OFFICE, TEXT, asked, wait

WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAY_LONG = {"windows": {"call": [{"days": WEEK, "open": "08:00", "close": "21:00"}]}}
MORNING = {"windows": {"call": [{"days": WEEK, "open": "08:00", "close": "12:00"}]}}


def called(world: ExplainedWorld, before: int) -> None:
    """The person was called so many times, an hour apart, the last one an hour ago."""
    head = world.head()
    head.ledger = tuple(Attempt(world.now - number * HOUR, "call", f"c-{number}") for number in range(before, 0, -1))
    world.state.set(f"head/{head.contact_key}", to_pack(head))
    world.state.commit()


def nothing(_: ExplainedWorld) -> None:
    pass


def one_call(world: ExplainedWorld) -> None:
    called(world, 1)


def three_calls(world: ExplainedWorld) -> None:
    called(world, 3)


class Case(Struct, frozen=True, kw_only=True):
    """A lead on a schedule at a time of New York, a change, and how it goes on: its contact and what it waits for, twice."""

    steps: tuple[dict[str, Any], ...] = (CALL,)
    now: str = "2026-07-15 20:30"
    schedule: Mapping[str, Any] = {}
    state: str = "NY"
    made: Callable[[ExplainedWorld], None] = nothing
    change: Mapping[str, Any]
    before: tuple[str | None, str | None]
    after: tuple[str | None, str | None]
    expires: tuple[bool, bool] = (False, False)


UNTIL_REPLY = {"id": "reply", "kind": "wait_for", "event": "sms.received", "timeout": "2h"}

CASES = {
    "hours of the schedule hold the lead, and wider ones do not": Case(
        schedule={"windows": OFFICE},
        change=DAY_LONG,
        before=("2026-07-16 09:00", "preferred_window"),
        after=("2026-07-15 20:30", None),
    ),
    "the law of a state holds it still": Case(
        schedule={"windows": OFFICE},
        state="FL",
        change=DAY_LONG,
        before=("2026-07-16 09:00", "preferred_window"),
        after=("2026-07-16 08:00", "quiet_hours_state"),
    ),
    "by the law alone no hours of the schedule help": Case(
        state="FL",
        change=DAY_LONG,
        before=("2026-07-16 08:00", "quiet_hours_state"),
        after=("2026-07-16 08:00", "quiet_hours_state"),
    ),
    "narrower hours come later": Case(
        steps=(wait("2h"), CALL),
        now="2026-07-15 11:00",
        change=MORNING,
        before=("2026-07-15 13:00", "not_due"),
        after=("2026-07-16 08:00", "preferred_window"),
    ),
    "a channel without hours is left to the law": Case(
        schedule={"windows": OFFICE},
        change={"windows": {"call": []}},
        before=("2026-07-16 09:00", "preferred_window"),
        after=("2026-07-15 20:30", None),
    ),
    "hours of another channel change nothing": Case(
        schedule={"windows": OFFICE},
        change={"windows": {"sms": DAY_LONG["windows"]["call"]}},
        before=("2026-07-16 09:00", "preferred_window"),
        after=("2026-07-16 09:00", "preferred_window"),
    ),
    "it would expire before its hours open, and does not with wider ones": Case(
        schedule={"windows": OFFICE, "hours_to_expire": 4},
        change=DAY_LONG,
        before=(None, "preferred_window"),
        after=("2026-07-15 20:30", None),
        expires=(True, False),
    ),
    "it expires in the quiet hours of its state with any hours of the schedule": Case(
        schedule={"windows": OFFICE, "hours_to_expire": 4},
        state="FL",
        change=DAY_LONG,
        before=(None, "preferred_window"),
        after=(None, "quiet_hours_state"),
        expires=(True, True),
    ),
    "a wait of the schedule is no matter of hours": Case(
        steps=(wait("3h"), TEXT),
        now="2026-07-15 12:00",
        change=DAY_LONG,
        before=("2026-07-15 15:00", "not_due"),
        after=("2026-07-15 15:00", "not_due"),
    ),
    "at its last attempt a higher limit gives it the next contact": Case(
        steps=(UNTIL_REPLY, CALL),
        now="2026-07-15 12:00",
        schedule={"max_contact_attempts": 1},
        made=lambda world: spent(world, 1),
        change={"max_contact_attempts": 2},
        before=(None, "exceeded_max_calls"),
        after=("2026-07-15 14:00", "awaiting_event"),
    ),
    "a limit that is taken away gives it the next contact as well": Case(
        steps=(UNTIL_REPLY, CALL),
        now="2026-07-15 12:00",
        schedule={"max_contact_attempts": 1},
        made=lambda world: spent(world, 1),
        change={"max_contact_attempts": None},
        before=(None, "exceeded_max_calls"),
        after=("2026-07-15 14:00", "awaiting_event"),
    ),
    "a lead with a limit of its own keeps it": Case(
        steps=(UNTIL_REPLY, CALL),
        now="2026-07-15 12:00",
        made=lambda world: spent(world, 1, own=1),
        change={"max_contact_attempts": 9},
        before=(None, "exceeded_max_calls"),
        after=(None, "exceeded_max_calls"),
    ),
    "a shorter distance between calls comes earlier": Case(
        steps=(wait("10m"), CALL),
        now="2026-07-15 12:00",
        schedule={"min_spacing": {"call": "4h"}},
        made=one_call,
        change={"min_spacing": {"call": "2h"}},
        before=("2026-07-15 15:00", "min_spacing"),
        after=("2026-07-15 13:00", "min_spacing"),
    ),
    "no distance between calls lifts the cap of the law": Case(
        steps=(wait("10m"), CALL),
        now="2026-07-15 12:00",
        schedule={"min_spacing": {"call": "1h"}},
        state="FL",
        made=three_calls,
        change={"min_spacing": {}},
        before=("2026-07-16 09:00", "frequency_cap"),
        after=("2026-07-16 09:00", "frequency_cap"),
    ),
    "a pause of the schedule holds whatever the hours are": Case(
        schedule={"windows": OFFICE, "paused": True},
        change=DAY_LONG,
        before=(None, "schedule_paused"),
        after=(None, "schedule_paused"),
    ),
    "the cap of a buyer that is used up holds it, and no hours do": Case(
        now="2026-07-15 12:00",
        steps=(wait("10m"), CALL),
        schedule={"windows": OFFICE},
        made=lambda world: held(world, "buyer_cap", 3 * HOUR),
        change=DAY_LONG,
        before=("2026-07-15 15:00", "buyer_cap"),
        after=("2026-07-15 15:00", "buyer_cap"),
    ),
}


def held(world: ExplainedWorld, reason: str, after: Millis) -> None:
    """The lead was due, and the account refuses it a slot until later."""
    lead = world.lead()
    lead.status, lead.status_wait, lead.held_at, lead.base_at = "waiting", reason, world.now, world.now
    lead.next_action_at = lead.recheck_at = world.now + after
    lead.wake_at = wake_at(lead)
    world.state.set(f"lead/{lead.id}", to_pack(lead))
    world.state.commit()


def spent(world: ExplainedWorld, attempts: int, own: int | None = None) -> None:
    """The lead has used up attempts of its run, and may have a limit of its own."""
    lead = world.lead()
    lead.attempts, lead.attempts_max = attempts, own
    world.state.set(f"lead/{lead.id}", to_pack(lead))
    world.state.commit()


def published(world: ExplainedWorld) -> Schedule:
    schedule = world.rules.schedule(1, 1)
    assert schedule is not None
    return schedule


def of(course: Course) -> tuple[Instant | None, str | None]:
    return course.contact_at, course.waits_for


def expected(said: tuple[str | None, str | None]) -> tuple[Instant | None, str | None]:
    return None if said[0] is None else at(said[0]), said[1]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_change_moves_what_it_holds_back(case: Case) -> None:
    world = asked(*case.steps, now=case.now, **case.schedule)
    lead = world.submit(states=(case.state,))
    case.made(world)
    known = world.case(world.lead(lead.id)).known
    change = read_change(case.change, published(world))
    changed = world.rules.with_schedule(1, change.apply_to)
    until = world.now + 168 * HOUR

    before = course_of(known, world.now, until)
    after = course_of(type(known)(lead=known.lead, head=known.head, rules=changed), world.now, until)

    assert (of(before), of(after)) == (expected(case.before), expected(case.after))
    assert (before.expires, after.expires) == case.expires


def judged(world: ExplainedWorld, change: Mapping[str, Any], ids: list[int]) -> dict[str, Any]:
    change_read = read_change(change, published(world))
    sums = WhatIf(world.now, world.rules.with_schedule(1, change_read.apply_to))
    for lead_id in ids:
        sums.add(world.case(world.lead(lead_id)).known)
    return sums.shown()


def test_the_sums_count_who_gains_by_how_much_and_what_holds_the_others() -> None:
    world = asked(CALL, now="2026-07-15 20:30", windows=OFFICE, hours_to_expire=30)
    states = ("NY", "NY", "FL", "NY")
    numbers = [f"+1212555{number:04d}" for number in range(100, 104)]
    ids = [
        world.submit(caller_id=number, contact_key=f"1|{number}", states=(state,)).id
        for number, state in zip(numbers, states, strict=True)
    ]
    found = judged(world, {"windows": {"call": [{"days": WEEK, "open": "09:00", "close": "20:45"}]}}, ids)

    assert (found["judged"], found["cut"], found["due"]) == (4, 0, 0)
    assert found["earlier"] == {"leads": 3, "hours_median": 12.5, "hours_max": 12.5, "unmeasured": 0}
    assert found["later"] == {"leads": 0, "hours_median": None, "hours_max": None, "unmeasured": 0}
    assert found["within"] == [
        {"hours": 1, "now": 0, "changed": 3},
        {"hours": 24, "now": 4, "changed": 4},
        {"hours": 168, "now": 4, "changed": 4},
    ]
    assert found["held"] == [{"status_wait": "preferred_window", "leads": 1}]
    opens = to_rfc3339(at("2026-07-16 09:00"))
    assert found["leads"] == [
        {"lead_id": lead_id, "now": opens, "changed": to_rfc3339(world.now)} for lead_id in (ids[0], ids[1], ids[3])
    ]
    assert "caps of buyers" in found["assumed"][-1]


def test_a_lead_that_no_longer_expires_gains_a_contact_and_no_hours() -> None:
    world = asked(CALL, now="2026-07-15 20:30", windows=OFFICE, hours_to_expire=4)
    found = judged(world, DAY_LONG, [world.submit(states=("NY",)).id])

    assert found["expiring"] == {"now": 1, "changed": 0, "no_longer": 1}
    assert found["earlier"] == {"leads": 1, "hours_median": None, "hours_max": None, "unmeasured": 1}


def test_without_an_effect_nothing_moves() -> None:
    world = asked(CALL, now="2026-07-15 20:30", windows=OFFICE)
    found = judged(world, {"windows": OFFICE}, [world.submit(states=("NY",)).id])
    assert (found["earlier"]["leads"], found["later"]["leads"], found["leads"]) == (0, 0, [])
    assert found["held"] == [{"status_wait": "preferred_window", "leads": 1}]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, "windows"),
        ({"windows": None}, "windows"),
        ({"windows": [1]}, "windows"),
        ({"windows": {"fax": []}}, "windows.fax"),
        ({"windows": {"call": [{"days": ["mon"], "open": "9", "close": "10:00"}]}}, "windows.call[0].open"),
        ({"windows": {"call": [{"days": ["mon"], "open": "22:00", "close": "23:00"}]}}, "windows.call"),
        ({"windows": {"call": [{"days": ["mon"], "open": "09:00", "close": "09:05"}]}}, "windows.call"),
        ({"min_spacing": {"fax": "1h"}}, "min_spacing"),
        ({"max_contact_attempts": 0}, "max_contact_attempts"),
    ],
)
def test_a_bad_change_is_refused_by_its_field(change: Mapping[str, Any], field: str) -> None:
    schedule = Schedule(name="Five days", lead_token="schedule-1", close_margin_seconds=600)
    with pytest.raises(RefusedError) as refused:
        read_change(change, schedule)
    assert (refused.value.code, list(refused.value.errors)) == ("validation_failed", [field])
