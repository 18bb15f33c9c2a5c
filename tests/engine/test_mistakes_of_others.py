"""Which mistakes about time, caps and schedules did others make, and do we make them? One test for each that is known.

The sources are those of the research into other systems (its section 4); the docstring of a test says what they did.
"""

from typing import Any

import pytest

from engine.calendar import local_datetime, next_local_time
from engine.preview import preview, read_trial
from engine.submission.numbers import read_number
from schemas.commands import PlaceCall, SendSms
from schemas.instant import HOUR, MINUTE, Instant
from schemas.schedule import Day
from tests.engine.contact.world import NEW_YORK, NOON, NUMBER, World, at

LOS_ANGELES, TOKYO, PHOENIX, DENVER = "America/Los_Angeles", "Asia/Tokyo", "America/Phoenix", "America/Denver"
WORKDAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri")
CALL = {"id": "call-1", "kind": "call"}
TEXT = {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"}
ALL_WEEK = [*WORKDAYS, "sat", "sun"]


def calls(number_of: int) -> list[dict[str, Any]]:
    return [{**CALL, "id": f"call-{number}"} for number in range(1, number_of + 1)]


def exhausted(world: World, *, states: tuple[str, ...] = ("FL",), **fields: Any) -> World:
    """Let three calls of a Florida lead go unanswered, an hour apart from nine o'clock on."""
    world.schedule(*calls(6), **fields)
    world.submit(states=states)
    for _ in range(3):
        world.outcome("no_answer")
        world.wait(3600)
    return world


# -- 4.1 nothing is dialling and nobody can say why --------------------------------------------------------------------


def test_a_lead_is_not_locked_by_a_gateway_that_died() -> None:
    """VICIdial: leads left in status QUEUE by a crash are locked out until somebody finds them."""
    world = World()
    world.schedule(CALL, {**CALL, "id": "call-2"})
    world.submit()

    world.wait(5 * 3600)

    assert world.steps() == ["call-1", "call-2"]


def test_a_failed_send_does_not_stall_the_journey() -> None:
    """Parcelvoy: a failed send stalled the journey silently."""
    world = World()
    world.schedule(TEXT, {**TEXT, "id": "text-2"})
    world.submit()

    world.outcome("failed")

    assert world.steps() == ["text-1", "text-2"]


def test_a_lead_that_waits_says_for_what() -> None:
    """Dialers publish triage tables for contacts that are stuck in a working state."""
    world = exhausted(World(now=at("2026-07-15 09:00")))

    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.reasons) == ("waiting", "frequency_cap", ("frequency_cap",))


# -- 4.2 time zones and clock changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "time", "days", "zone", "expected"),
    [
        pytest.param(at("2026-03-07 21:30"), "09:00", (), NEW_YORK, at("2026-03-08 09:00"), id="nine is nine, not ten"),
        pytest.param(at("2026-10-31 21:30"), "08:00", (), NEW_YORK, at("2026-11-01 08:00"), id="and not seven in autumn"),
        pytest.param(at("2026-07-17 20:00", TOKYO), "08:00", WORKDAYS, TOKYO, at("2026-07-20 08:00", TOKYO), id="Tokyo"),
        pytest.param(
            at("2026-07-17 19:00", LOS_ANGELES), "18:00", WORKDAYS, LOS_ANGELES, at("2026-07-20 18:00", LOS_ANGELES), id="LA"
        ),
    ],
)
def test_a_local_time_is_that_of_its_own_day(
    base: Instant, time: str, days: tuple[Day, ...], zone: str, expected: Instant
) -> None:
    """Dittofeed: takes the offset of now for the target, and tests the weekday on the UTC date."""
    assert next_local_time(base, time, days, zone) == expected


def test_an_hour_and_weekdays_together_keep_the_hour() -> None:
    """Mautic: the wrong local hour where an hour and weekdays are restricted together, fixed after years."""
    found = next_local_time(at("2026-07-17 15:00"), "14:00", ("mon", "wed"), NEW_YORK)

    assert local_datetime(found, NEW_YORK).strftime("%a %H:%M") == "Mon 14:00"


def test_the_preview_shows_the_time_of_the_engine() -> None:
    """Mautic: the interface shows another time than the engine keeps."""
    windows = {"call": [{"days": list(WORKDAYS), "open": "09:30", "close": "17:00"}]}
    trial = {
        "schedule": {"name": "S", "steps": [CALL], "windows": windows},
        "lead": {"caller_id": NUMBER, "time_zone": NEW_YORK},
        "at": "2026-03-07 21:30:00 -0500",
    }
    world = World(now=at("2026-03-07 21:30"))
    world.schedule(CALL, windows=windows)

    (action,) = preview(read_trial(trial, now=NOON)).actions

    assert action.at == world.submit().next_action_at == at("2026-03-09 09:30")


def test_hours_are_those_of_the_lead_and_not_of_the_server() -> None:
    """Spoke: texting hours enforced in UTC; Chatwoot: campaigns fire at any hour."""
    world = World(now=at("2026-07-15 22:30"))
    world.schedule(TEXT)

    assert world.submit(zones=(LOS_ANGELES,)).flight is not None
    assert world.submit(contact_key="1|+12125550123", caller_id="+12125550123").next_action_at == at("2026-07-16 08:00")


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        pytest.param(PHOENIX, at("2026-07-15 08:00", PHOENIX), id="Arizona keeps its clock"),
        pytest.param(DENVER, at("2026-07-15 08:00", DENVER), id="the Navajo Nation does not"),
    ],
)
def test_arizona_is_two_places(zone: str, expected: Instant) -> None:
    """Spoke and VICIdial: split states, Arizona and Indiana are dialled by one offset for all."""
    world = World(now=at("2026-07-15 05:00", PHOENIX))
    world.schedule(CALL)

    assert world.submit(zones=(zone,)).next_action_at == expected


def test_no_offset_is_stored_that_a_clock_change_would_make_wrong() -> None:
    """VICIdial: a numeric offset stands with each lead and must be computed again, by cron, after the clocks change."""
    world = World(now=at("2026-03-06 12:00"))
    world.schedule({"id": "wait", "kind": "wait", "duration": "3d"}, CALL)
    lead = world.submit()

    world.wait(3 * 24 * 3600)

    assert lead.zones == (NEW_YORK,)
    assert world.commands[0].decided_at == at("2026-03-09 12:00")


def test_a_number_that_could_be_anywhere_is_no_place() -> None:
    """libphonenumber: an unassigned or toll-free number is given one zone, or all of them."""
    number = read_number("+18005550123", "US")

    assert number is not None
    assert number.zones == ()


def test_a_message_outside_its_hours_is_kept_for_them() -> None:
    """Novu: the first version of its schedules dropped what fell outside of them."""
    world = World(now=at("2026-07-15 23:00"))
    world.schedule(TEXT)
    world.submit()

    world.wait_until(at("2026-07-16 08:00"))

    assert world.steps() == ["text-1"]


def test_a_state_that_is_not_known_does_not_make_a_lead_undiallable() -> None:
    """Convoso: a lead without a state is never dialled, and nothing reports it."""
    world = World()
    world.schedule(CALL)

    lead = world.submit(zones=(), states=())

    assert lead.next_action_at == at("2026-07-15 14:00")
    assert lead.reasons == ("quiet_hours_federal",)


# -- 4.3 callbacks lost, or made at the wrong time ---------------------------------------------------------------------


def test_a_callback_that_falls_into_the_night_is_kept_for_the_morning() -> None:
    """VICIdial: a due callback outside the hours was made live, deleted from the hopper, and never came back."""
    world = World()
    world.schedule({"id": "wait", "kind": "wait", "duration": "5d"}, CALL)
    world.submit(schedule_callback_at=at("2026-07-15 23:30"))

    world.wait_until(at("2026-07-16 08:00"))

    assert world.steps() == ["(callback)"]
    assert world.commands[0].decided_at == at("2026-07-16 08:00")


def test_a_callback_counts_and_keeps_to_the_caps() -> None:
    """VICIdial: callbacks bypass the limit of calls."""
    world = exhausted(World(now=at("2026-07-15 09:00")))
    world.update(schedule_callback_at=at("2026-07-15 15:00"))

    world.wait_until(at("2026-07-16 08:59"))

    assert "(callback)" not in world.steps()
    world.wait_until(at("2026-07-16 09:00"))
    assert world.steps()[-1] == "(callback)"


def test_who_must_not_be_called_has_no_callback_left() -> None:
    """Genesys: marking a contact uncallable leaves its scheduled callbacks in place."""
    world = World()
    world.schedule(CALL)
    world.submit(schedule_callback_at=NOON + 2 * HOUR)
    world.act("opt_out")

    world.wait(5 * 3600)

    assert world.commands == []
    assert world.lead().callback_at is None


# -- 4.4 duplicates and double sends -----------------------------------------------------------------------------------


def test_the_same_lead_sent_again_goes_through_its_journey_once() -> None:
    """Parcelvoy: "my users get on the same journey 4 times"; Mautic: re-entry gives two schedules at once, and stalls."""
    world = World()
    world.schedule({"id": "wait", "kind": "wait", "duration": "10m"}, CALL)
    for _ in range(4):
        world.submit()

    world.wait(3600)

    assert world.lead_ids() == [world.lead().id]
    assert world.steps() == ["call-1"]


def test_two_callbacks_to_one_number_are_one_call_at_a_time() -> None:
    """FreePBX: a callback dials several times; Mautic: overlapping crons send twice."""
    world = World()
    world.schedule({"id": "wait", "kind": "wait", "duration": "5d"}, CALL, duplicate_policy="create")
    world.submit(schedule_callback_at=NOON + HOUR)
    world.submit(schedule_callback_at=NOON + HOUR)

    world.wait_until(NOON + HOUR + 5 * MINUTE)

    assert world.steps() == ["(callback)"]


# -- 4.5 caps that are per campaign, per day, or approximate -----------------------------------------------------------


def test_a_cap_does_not_start_over_at_midnight() -> None:
    """VICIdial and Genesys: limits count from midnight of the server, or never."""
    world = World(now=at("2026-07-15 17:00"))
    exhausted(world)

    assert world.lead().next_action_at == at("2026-07-16 17:00")


def test_a_cap_lets_go_exactly_when_the_law_does() -> None:
    """TrackDrive: moves whatever meets a cap to the same time of the next day; E12."""
    world = World(now=at("2026-07-15 09:00"))
    one, two, three, four = calls(4)
    noon = {"id": "noon", "kind": "wait", "until": {"time": "12:00"}}
    world.schedule(one, noon, two, {**noon, "id": "three", "until": {"time": "15:00"}}, three, four)
    world.submit(states=("FL",))
    for hour in (9, 12, 15):
        world.wait_until(at(f"2026-07-15 {hour:02}:00"))
        world.outcome("no_answer")

    assert [local_datetime(command.decided_at, NEW_YORK).hour for command in world.commands] == [9, 12, 15]
    assert world.lead().next_action_at == at("2026-07-16 09:00")


def test_a_cap_delays_and_does_not_drop() -> None:
    """Amazon Connect: who meets a limit is skipped or dropped."""
    world = exhausted(World(now=at("2026-07-15 09:00")))

    world.wait_until(at("2026-07-16 09:00"))

    assert world.steps() == ["call-1", "call-2", "call-3", "call-4"]


def test_a_cap_counts_calls_and_texts_of_every_schedule_of_the_number() -> None:
    """Convoso: its tracker "does not evaluate attempts across channels or at the consumer level"; VICIdial: per campaign."""
    world = World(now=at("2026-07-15 09:00"))
    world.schedule(CALL, TEXT, record_id=1)
    world.schedule({**CALL, "id": "other-1"}, {**CALL, "id": "other-2"}, record_id=2)
    world.submit(states=("FL",))
    world.outcome("no_answer")
    world.outcome("delivered")
    world.submit(schedule_id=2, states=("FL",))
    world.wait(60)
    world.outcome("no_answer")
    world.wait(60)

    assert world.steps() == ["call-1", "text-1", "other-1"]
    assert world.lead().status_wait == "frequency_cap"


@pytest.mark.parametrize("again", [{"restart_schedule": True}, {"delete_existing": True}, {"schedule_id": 2}])
def test_no_way_of_recycling_a_lead_gets_past_a_cap(again: dict[str, Any]) -> None:
    """VICIdial: leads may exceed the limit when recycling or alternate dialling queues them again."""
    world = World(now=at("2026-07-15 09:00"))
    world.schedule(*calls(3), record_id=2)
    exhausted(world)
    before = len(world.commands)

    lead = world.submit(states=("FL",), **again)
    world.wait(600)

    assert len(world.commands) == before
    assert world.lead(lead.id).next_action_at == at("2026-07-16 09:00")


# -- 4.6 weak flow language --------------------------------------------------------------------------------------------


def test_a_schedule_branches() -> None:
    """TrackDrive: "no generic branch action"."""
    world = World()
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["state:CA"], "goto": "text-1"}], "else": "call-1"}
    world.schedule(where, CALL, {"id": "done", "kind": "exit"}, TEXT)

    world.submit(data={"state": "CA"})

    assert world.steps() == ["text-1"]


def test_waiting_for_an_event_may_come_first() -> None:
    """Dittofeed: a journey that an event begins cannot wait for another."""
    world = World()
    wait_for = {"id": "w", "kind": "wait_for", "event": "tokens_match", "filters": ["plan:gold"], "timeout": "2h"}
    world.schedule(wait_for, CALL, triggers=[{"on": "enter", "type": "none", "add_tokens": {"way": 1}}])
    world.submit()

    world.update(data={"plan": "gold"})

    assert world.steps() == ["call-1"]


# -- 4.7 stale messages after a pause ----------------------------------------------------------------------------------


def test_a_text_that_a_pause_made_stale_is_not_sent_the_next_morning() -> None:
    """Spoke: auto-send resumes the next morning with yesterday's text."""
    world = World(now=at("2026-07-15 14:00"))
    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, TEXT, CALL)
    world.submit()
    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, TEXT, CALL, paused=True, version=2)
    world.wait_until(at("2026-07-16 09:00"))

    world.schedule({"id": "wait", "kind": "wait", "duration": "1h"}, TEXT, CALL, version=3)
    world.wait(1)

    assert world.steps() == ["call-1"]
    skipped = next(fact for fact in world.facts if fact.type == "step.skipped")
    assert (skipped.data["step_id"], skipped.data["reason"]) == ("text-1", "too_late")


def test_an_order_says_until_when_it_is_meant() -> None:
    """Chatwoot and Spoke: what waits in a queue goes out whenever the queue moves."""
    world = World(now=at("2026-07-15 20:58"))
    world.schedule(CALL)
    world.submit(states=())
    (command,) = world.commands

    assert isinstance(command, PlaceCall | SendSms)
    assert command.not_after is not None
    assert command.not_after <= at("2026-07-15 21:00")
