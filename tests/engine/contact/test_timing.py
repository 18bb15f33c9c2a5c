"""What does a schedule say about time beside its windows: distance, spreading, pauses, missed hours, unknown places?"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.calendar import local_datetime
from engine.law.opening import same_time_allowed
from engine.preview import preview, read_trial
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, SECOND, Instant
from schemas.schedule import Window
from schemas.wire import to_json
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World, at

WORKDAYS = {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "20:00"}]}
TWO_CALLS = ({"id": "call-1", "kind": "call"}, {"id": "call-2", "kind": "call"})


def two_calls(**fields: Any) -> World:
    """Return a world in which the first of two calls was not answered, at noon."""
    world = World()
    world.schedule(*TWO_CALLS, **fields)
    world.submit()
    world.outcome("no_answer")
    return world


def test_without_a_word_about_it_a_call_follows_a_call_after_the_guard() -> None:
    assert two_calls().lead().next_action_at == NOON + 30 * SECOND


def test_the_aging_of_a_schedule_without_any_is_not_stored_with_each_lead() -> None:
    for aging, reported in ((0.0, b""), (2.0, b'"aging":2.0')):
        world = two_calls(priority_aging=aging)
        assert (b'"aging"' in to_json(world.lead())) is bool(reported)
        assert reported in to_json(world.lead())


@pytest.mark.parametrize(
    ("spacing", "expected"),
    [
        pytest.param({"call": "4h"}, NOON + 4 * HOUR, id="between two calls"),
        pytest.param({"any": "30m"}, NOON + 30 * MINUTE, id="between any two"),
        pytest.param({"call": "10m", "any": "30m"}, NOON + 30 * MINUTE, id="the longer of both"),
        pytest.param({"sms": "4h"}, NOON + 30 * SECOND, id="not the distance of texts"),
    ],
)
def test_a_schedule_keeps_its_distance(spacing: dict[str, str], expected: Instant) -> None:
    world = two_calls(min_spacing=spacing)

    assert world.lead().next_action_at == expected
    assert world.lead().status_wait == "min_spacing"
    world.wait_until(expected)
    assert world.steps() == ["call-1", "call-2"]


def test_a_text_keeps_its_distance_to_a_call_only_where_any_says_so() -> None:
    for spacing, expected in (({"call": "4h"}, None), ({"any": "30m"}, NOON + 30 * MINUTE)):
        world = World()
        world.schedule(
            {"id": "call-1", "kind": "call"}, {"id": "sms-1", "kind": "sms", "template": "Hi"}, min_spacing=spacing
        )
        world.submit()
        world.outcome("no_answer")

        assert world.lead().next_action_at == (expected or NOON)
        assert world.steps() == (["call-1"] if expected else ["call-1", "sms-1"])


@pytest.mark.parametrize(
    ("spacing", "expected"),
    [({"email": "4h"}, NOON + 4 * HOUR), ({"any": "30m"}, NOON + 30 * MINUTE), ({"call": "4h", "sms": "4h"}, NOON)],
    ids=["between two mails", "between any two", "not that of others"],
)
def test_mails_keep_their_distance_as_well(spacing: dict[str, str], expected: Instant) -> None:
    mail = {"kind": "email", "subject": "S", "template": "B"}
    world = World()
    world.schedule({"id": "mail-1", **mail}, {"id": "mail-2", **mail}, min_spacing=spacing)
    world.submit(email="ann@example.com")
    world.outcome("accepted")

    assert world.lead().next_action_at == expected
    world.wait_until(expected)
    assert world.steps() == ["mail-1", "mail-2"]


def test_a_mail_that_reached_nobody_keeps_no_distance() -> None:
    world = World()
    world.schedule({"id": "mail-1", "kind": "email", "subject": "S", "template": "B"}, min_spacing={"email": "4h"})
    world.submit(email="ann@example.com")
    world.outcome("rejected_at_gate")

    assert world.lead().next_action_at == NOON + 30 * SECOND


def test_a_call_keeps_its_distance_to_a_mail_of_another_lead_where_any_says_so() -> None:
    world = World()
    world.schedule({"id": "mail-1", "kind": "email", "subject": "S", "template": "B"})
    world.schedule({"id": "call-1", "kind": "call"}, record_id=2, min_spacing={"any": "30m"})
    world.submit(email="ann@example.com")

    assert world.submit(schedule_id=2).next_action_at == NOON + 30 * MINUTE


def test_distance_is_kept_between_leads_of_one_number() -> None:
    world = World()
    world.schedule({"id": "call-1", "kind": "call"}, min_spacing={"call": "4h"}, duplicate_policy="create")
    world.submit()
    world.outcome("no_answer")
    other = world.submit()

    assert other.next_action_at == NOON + 4 * HOUR


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        pytest.param({"delay": "15m"}, NOON + 15 * MINUTE, id="a written delay is not stretched"),
        pytest.param({}, NOON + 4 * HOUR, id="a default delay is"),
    ],
)
def test_an_explicit_retry_is_not_stretched(retry: dict[str, Any], expected: Instant) -> None:
    world = World()
    world.schedule({"id": "call-1", "kind": "call", "retry": {"busy": retry}}, min_spacing={"call": "4h"})
    world.submit()
    world.outcome("busy")

    assert world.lead().next_action_at == expected


def test_a_promised_call_is_not_stretched() -> None:
    world = two_calls(min_spacing={"any": "8h"})
    world.update(schedule_callback_at=NOON + HOUR)

    world.wait_until(NOON + HOUR)

    assert world.steps() == ["call-1", "(callback)"]


# -- jitter ------------------------------------------------------------------------------------------------------------


def test_the_first_contact_is_not_spread_by_the_schedule() -> None:
    world = World()
    world.schedule(*TWO_CALLS, jitter_seconds=600)
    world.submit()

    assert world.steps() == ["call-1"]


def test_later_contacts_are_spread_and_carried_out_at_the_instant_that_was_shown() -> None:
    world = two_calls(jitter_seconds=600)
    shown = world.lead().next_action_at

    assert shown is not None
    assert NOON + 30 * SECOND <= shown < NOON + 30 * SECOND + 600 * SECOND
    world.wait(1)
    world.update(data={"note": "looked at again"})
    assert world.lead().next_action_at == shown
    world.wait_until(shown - 1)
    assert world.steps() == ["call-1"]
    world.wait_until(shown)
    assert world.steps() == ["call-1", "call-2"]


def test_a_step_that_says_so_spreads_its_first_contact_too_and_every_lead_differently() -> None:
    world = World()
    world.schedule({"id": "call-1", "kind": "call", "jitter_seconds": 3600}, duplicate_policy="create")
    found = {
        world.submit(caller_id=f"+1305555{n:04d}", contact_key=f"1|+1305555{n:04d}").next_action_at or EPOCH
        for n in range(40)
    }

    assert len(found) == 40
    assert NOON <= min(found) < NOON + 15 * MINUTE
    assert NOON + 45 * MINUTE < max(found) < NOON + HOUR


@settings(deadline=None)
@given(st.integers(0, 11 * 60), st.integers(1, 3600))
def test_jitter_stays_within_the_hours(minute: int, seconds: int) -> None:
    world = World(now=at("2026-07-15 09:00") + minute * MINUTE - 1)
    world.schedule({"id": "call-1", "kind": "call", "jitter_seconds": seconds}, windows=WORKDAYS)
    lead = world.submit()
    begins = max(world.now, at("2026-07-15 09:00"))

    assert lead.next_action_at is not None
    assert begins <= lead.next_action_at < min(begins + seconds * SECOND, at("2026-07-15 20:00"))


# -- missed hours ------------------------------------------------------------------------------------------------------

SATURDAY = at("2026-07-18 17:00")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("next_open", at("2026-07-20 09:00"), id="next_open"),
        pytest.param("same_time_next_allowed_day", at("2026-07-20 17:00"), id="same_time"),
    ],
)
def test_e15_saturday_is_missed(policy: str, expected: Instant) -> None:
    world = World(now=SATURDAY)
    world.schedule({"id": "call-1", "kind": "call"}, windows=WORKDAYS, window_miss=policy)

    lead = world.submit()

    assert lead.next_action_at == expected
    assert lead.status_wait == "preferred_window"
    world.wait(18 * 3600)
    world.update(data={"note": "a look on Sunday changes nothing"})
    assert world.lead().next_action_at == expected
    world.wait_until(expected)
    assert world.steps() == ["call-1"]


def test_a_step_that_misses_its_hours_is_passed_over() -> None:
    world = World(now=SATURDAY)
    email = {"id": "mail-1", "kind": "email", "subject": "S", "template": "B"}
    world.schedule({"id": "call-1", "kind": "call", "window_miss": "skip_step"}, email, windows=WORKDAYS)

    world.submit(email="ann@example.com")

    assert world.steps() == ["mail-1"]
    assert next(fact.data["reason"] for fact in world.facts if fact.type == "step.skipped") == "window_missed"


def test_a_time_of_day_that_no_day_allows_gives_way_to_the_opening() -> None:
    world = World(now=at("2026-07-15 20:30"))
    world.schedule({"id": "call-1", "kind": "call"}, windows=WORKDAYS, window_miss="same_time_next_allowed_day")

    assert world.submit().next_action_at == at("2026-07-16 09:00")


def test_a_weekday_that_a_pause_took_for_weeks_is_still_waited_for() -> None:
    """Only Sundays go on until the evening, and the next three are taken by pauses."""
    world = World(now=at("2026-07-18 18:00"))
    windows = [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "12:00"}]
    windows.append({"days": ["sun"], "open": "09:00", "close": "20:00"})
    pauses = [{"from": day, "to": day} for day in ("2026-07-19", "2026-07-26", "2026-08-02")]
    step = {"id": "call-1", "kind": "call"}
    world.schedule(step, windows={"call": windows}, pauses=pauses, window_miss="same_time_next_allowed_day")

    assert world.submit().next_action_at == at("2026-08-09 18:00")


def test_a_time_of_day_that_only_winter_allows_is_not_waited_for() -> None:
    """Of all zones of the country at once, two in the afternoon in New York is inside their hours in winter only."""
    world = World(now=at("2026-05-30 13:30"))
    world.schedule({"id": "call-1", "kind": "call"}, window_miss="same_time_next_allowed_day")

    assert world.submit(zones=()).next_action_at == at("2026-05-30 14:00")


def test_the_same_time_is_found_across_a_law_that_never_allows_it_without_walking_through_the_days() -> None:
    asked: list[Instant] = []

    def rules_at(instant: Instant) -> tuple[tuple[()], None]:
        asked.append(instant)
        return (), None

    assert same_time_allowed(NOON, NEW_YORK, rules_at) is not None
    assert asked == [NOON]


# -- pauses ------------------------------------------------------------------------------------------------------------


def test_a_schedule_rests_on_the_dates_of_its_pauses_in_every_zone_of_the_lead() -> None:
    world = World()
    world.schedule({"id": "call-1", "kind": "call"}, pauses=[{"from": "2026-07-15", "to": "2026-07-17", "name": "Fair"}])

    lead = world.submit(zones=(NEW_YORK, "America/Los_Angeles"))

    assert lead.next_action_at == at("2026-07-18 08:00", "America/Los_Angeles")
    assert lead.reasons == ("schedule_paused", "quiet_hours_federal")


def test_a_promise_outlives_the_pause_of_a_schedule() -> None:
    world = World()
    world.schedule({"id": "call-1", "kind": "call"}, pauses=[{"from": "2026-07-15", "to": "2026-07-17"}])
    world.submit(schedule_callback_at=NOON + HOUR)

    world.wait(3600)

    assert world.steps() == ["(callback)"]


# -- unknown places ----------------------------------------------------------------------------------------------------

EARLY = at("2026-07-15 10:00")


@pytest.mark.parametrize(
    ("policy", "expected", "wait"),
    [
        pytest.param("intersect", at("2026-07-15 14:00"), "quiet_hours_federal", id="intersect"),
        pytest.param("default_zone", EARLY, "awaiting_outcome", id="default_zone"),
        pytest.param("hold", None, "timezone_unknown", id="hold"),
    ],
)
def test_a_number_that_could_be_anywhere(policy: str, expected: Instant | None, wait: str) -> None:
    world = World(now=EARLY)
    world.schedule({"id": "call-1", "kind": "call"}, unknown_zone=policy)

    lead = world.submit(zones=())

    assert (lead.next_action_at, lead.status_wait) == (expected, wait)


def test_a_held_lead_goes_on_as_soon_as_its_place_is_known() -> None:
    world = World(now=EARLY)
    world.schedule({"id": "call-1", "kind": "call"}, unknown_zone="hold")
    world.submit(zones=())
    world.wait(3 * 3600)
    assert world.commands == []

    world.update(zones=(NEW_YORK,), zone_source="stated")

    assert world.steps() == ["call-1"]


# -- purposes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        pytest.param("telemarketing", at("2026-07-16 08:00"), id="Florida closes at eight for sales"),
        pytest.param("informational", at("2026-07-15 20:30"), id="not for information"),
        pytest.param("collections", at("2026-07-15 20:30"), id="nor for collections"),
    ],
)
def test_the_limits_are_those_of_the_purpose(purpose: str, expected: Instant) -> None:
    world = World(now=at("2026-07-15 20:30"))
    world.schedule({"id": "call-1", "kind": "call"}, purpose=purpose)

    assert world.submit(states=("FL",)).next_action_at == expected


def test_a_decision_names_the_purpose_that_chose_its_limits() -> None:
    world = World(now=at("2026-07-15 22:00"))
    world.schedule({"id": "call-1", "kind": "call"}, purpose="informational")
    world.schedule({"id": "call-1", "kind": "call"}, record_id=2)
    world.submit()
    world.submit(schedule_id=2)

    planned = [fact.data.get("purpose") for fact in world.facts if fact.type == "lead.waiting"]
    assert planned == ["informational", None]


def test_a_real_time_schedule_calls_first_before_others() -> None:
    world = World(now=at("2026-07-15 22:00"))
    world.schedule({"id": "call-1", "kind": "call"}, real_time_priority=True)
    world.schedule({"id": "call-1", "kind": "call"}, record_id=2)

    assert world.submit().urgency_class < world.submit(schedule_id=2).urgency_class


# -- laws --------------------------------------------------------------------------------------------------------------

WINDOWS = st.lists(
    st.builds(
        Window,
        days=st.lists(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1, unique=True).map(
            tuple
        ),
        open=st.sampled_from(["08:30", "12:00", "18:00"]),
        close=st.sampled_from(["13:00", "19:00", "20:30"]),
    ),
    min_size=1,
    max_size=3,
)
PLANS = st.fixed_dictionaries(
    {
        "windows": WINDOWS.map(lambda rows: {"call": [msgspec.to_builtins(row) for row in rows]}),
        "min_spacing": st.sampled_from([{}, {"call": "4h"}, {"any": "50m"}]),
        "pauses": st.sampled_from([[], [{"from": "2026-07-17", "to": "2026-07-19"}]]),
        "close_margin_seconds": st.sampled_from([0, 60]),
        "jitter_seconds": st.sampled_from([0, 900]),
    }
)


def second_call(schedule: dict[str, Any], base: Instant) -> Instant | None:
    """Return when the second call of a lead is planned that is asked for at a base."""
    world = World()
    world.schedule({"id": "call-0", "kind": "call"}, record_id=9, duplicate_policy="create")
    world.schedule({"id": "call-1", "kind": "call"}, **schedule)
    world.submit(schedule_id=9)
    world.outcome("no_answer")
    lead = world.submit(next_action_at=base, states=("FL",))
    return lead.next_action_at if lead.flight is None else world.now


@settings(deadline=None)
@given(PLANS, st.integers(1, 6 * 24 * 60), st.integers(0, 3 * 24 * 60))
def test_asking_for_a_later_base_never_gives_an_earlier_action(schedule: dict[str, Any], ahead: int, later: int) -> None:
    first = second_call(schedule, NOON + ahead * MINUTE)
    second = second_call(schedule, NOON + (ahead + later) * MINUTE)

    assert first is None or second is None or first <= second
    assert first is None or first >= NOON + ahead * MINUTE


@settings(deadline=None)
@given(PLANS)
def test_the_preview_is_what_the_engine_does(schedule: dict[str, Any]) -> None:
    given_schedule = {"name": "S", "offer_id": 1, "time_zone": NEW_YORK, "steps": list(TWO_CALLS), **schedule}
    trial = read_trial(
        {
            "schedule": {**given_schedule, "jitter_seconds": 0},  # which share of the spread it is depends on the lead's id
            "lead": {"caller_id": NUMBER, "time_zone": NEW_YORK, "state": "FL"},
            "at": "2026-07-15 12:00:00 -0400",
            "outcomes": {"call": "no_answer"},
        },
        now=NOON,
    )
    world = World()
    world.schedule(*TWO_CALLS, **{**schedule, "jitter_seconds": 0})
    world.submit(states=("FL",))
    done: list[Instant] = []
    while world.now < NOON + 30 * DAY and len(done) < len(TWO_CALLS):
        if len(world.commands) > len(done):
            done.append(world.now)
            world.outcome("no_answer")
        elif (following := world.lead().wake_at) is not None:
            world.wait_until(following)
        else:
            break

    assert [action.at for action in preview(trial).actions] == done
    assert world.head(KEY).lead_ids


ZONES = ("America/New_York", "America/Chicago", "America/Phoenix", "America/Los_Angeles", "Pacific/Honolulu", "Asia/Tokyo")


@settings(deadline=None)
@given(
    PLANS,
    st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True),
    st.sampled_from([(), ("FL",), ("KY", "FL")]),
    st.sampled_from(["next_open", "same_time_next_allowed_day", "skip_step"]),
    st.integers(0, 400 * 24 * 60),
    st.lists(st.sampled_from([0, 3, 40, 400, 2000]), max_size=6),
)
def test_no_call_is_placed_outside_the_legal_hours_of_any_place_where_the_lead_may_be(  # noqa: PLR0917 - what is drawn
    schedule: dict[str, Any], zones: list[str], states: tuple[str, ...], missed: str, start: int, waits: list[int]
) -> None:
    world = World(now=NOON + start * MINUTE)
    steps = [{"id": f"call-{number}", "kind": "call", "retry": {"busy": {"delay": "7m"}}} for number in range(4)]
    world.schedule(*steps, **{**schedule, "window_miss": missed})
    world.submit(zones=tuple(zones), states=states)
    for wait in waits:
        if world.lead().flight is not None:
            world.outcome("busy")
        world.wait(wait * 60)

    opens, closes = (10 if "KY" in states else 8), (20 if states else 21)
    for command in world.commands:
        for zone in zones:
            local = local_datetime(command.decided_at, zone)
            assert opens <= local.hour < closes, (local, command.step_id)
            assert not any(pause["from"] <= str(local.date()) <= pause["to"] for pause in schedule["pauses"])
