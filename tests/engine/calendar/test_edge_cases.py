"""The edge cases E1 to E15 of `tests/engine/rules.md`, by name, each with instants computed by hand."""

from datetime import date, datetime

import pytest

from engine.calendar import (
    Constraint,
    after_duration,
    closes_at,
    constraint,
    day_start,
    first_open,
    is_open,
    parse_duration,
    resolve_local,
    same_time_next_open_day,
    window_set,
)
from engine.calendar.waits import Mode
from engine.calendar.zones import close_edge, open_edge
from engine.law.floor import TELEPHONE_FLOOR, UNKNOWN_US_HOURS, UNKNOWN_US_ZONES
from engine.law.pack import QUIET_HOURS_FEDERAL
from schemas.instant import HOUR, Instant, from_datetime, to_rfc3339
from schemas.schedule import Day, Window

NEW_YORK = "America/New_York"
EVERY_DAY: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAYS = EVERY_DAY[:5]


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def wall(text: str) -> int:
    hours, minutes = text.split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000


def hours(code: str, days: tuple[Day, ...], opens: str, closes: str, *zones: str) -> Constraint:
    return constraint(code, window_set((Window(days=days, open=opens, close=closes),)), zones)


def floor(*zones: str) -> Constraint:
    return constraint(QUIET_HOURS_FEDERAL, TELEPHONE_FLOOR, zones)


FIRST_OPEN = {
    "E1 the spring change lies between": ("2026-03-07T21:30-05:00", [floor(NEW_YORK)], "2026-03-08T12:00:00Z"),
    "E2 the autumn change lies between": ("2026-10-31T21:30-04:00", [floor(NEW_YORK)], "2026-11-01T13:00:00Z"),
    "E3 a callback at a skipped time": ("2026-03-08T07:30Z", [floor(NEW_YORK)], "2026-03-08T12:00:00Z"),
    "E4 a callback at a doubled time": ("2026-11-01T05:30Z", [floor(NEW_YORK)], "2026-11-01T13:00:00Z"),
    "E7 Arizona has no summer time": ("2026-07-15T05:00-07:00", [floor("America/Phoenix")], "2026-07-15T15:00:00Z"),
    "E7 the Navajo Nation has": ("2026-07-15T05:00-07:00", [floor("America/Denver")], "2026-07-15T14:00:00Z"),
    "E8 nothing known of a US lead, in summer": (
        "2026-07-15T06:00-04:00",
        [constraint("timezone_unknown", UNKNOWN_US_HOURS, UNKNOWN_US_ZONES)],
        "2026-07-15T18:00:00Z",
    ),
    "E8 at 19:59 Eastern it is allowed": (
        "2026-07-15T19:59-04:00",
        [constraint("timezone_unknown", UNKNOWN_US_HOURS, UNKNOWN_US_ZONES)],
        "2026-07-15T23:59:00Z",
    ),
    "E8 at 20:00 Eastern it is tomorrow": (
        "2026-07-15T20:00-04:00",
        [constraint("timezone_unknown", UNKNOWN_US_HOURS, UNKNOWN_US_ZONES)],
        "2026-07-16T18:00:00Z",
    ),
    "E8 nothing known of a US lead, in winter": (
        "2026-01-15T06:00-05:00",
        [constraint("timezone_unknown", UNKNOWN_US_HOURS, UNKNOWN_US_ZONES)],
        "2026-01-15T18:00:00Z",
    ),
    "E9 Mountain by zip, Eastern by phone": (
        "2026-07-15T06:00-04:00",
        [floor("America/Denver", NEW_YORK)],
        "2026-07-15T14:00:00Z",
    ),
    "E9 at 20:59 Eastern it is allowed": (
        "2026-07-15T20:59-04:00",
        [floor("America/Denver", NEW_YORK)],
        "2026-07-16T00:59:00Z",
    ),
    "E9 at 21:00 Eastern it is tomorrow": (
        "2026-07-15T21:00-04:00",
        [floor("America/Denver", NEW_YORK)],
        "2026-07-16T14:00:00Z",
    ),
    "E11 a lead that expires at 03:00 sees 08:00 as its next opening": (
        "2026-07-15T01:00-04:00",
        [floor(NEW_YORK)],
        "2026-07-15T12:00:00Z",
    ),
    "E12 a cap's exact release inside Florida's hours is taken as it is": (
        "2026-07-16T09:00-04:00",
        [hours("quiet_hours_state", EVERY_DAY, "08:00", "20:00", NEW_YORK)],
        "2026-07-16T13:00:00Z",
    ),
    "E13 Alabama on a Saturday evening waits for Monday": (
        "2026-07-18T20:30-05:00",
        [floor("America/Chicago"), hours("quiet_hours_state", EVERY_DAY[:6], "08:00", "20:00", "America/Chicago")],
        "2026-07-20T13:00:00Z",
    ),
    "E14 weekdays are those of Tokyo's date": (
        "2026-07-17T20:00+09:00",
        [hours("preferred_window", WEEKDAYS, "08:00", "20:00", "Asia/Tokyo")],
        "2026-07-19T23:00:00Z",
    ),
    "E15 weekdays only, next opening": (
        "2026-07-18T17:00-04:00",
        [hours("preferred_window", WEEKDAYS, "08:00", "20:00", NEW_YORK)],
        "2026-07-20T12:00:00Z",
    ),
}


@pytest.mark.parametrize(("base", "constraints", "expected"), FIRST_OPEN.values(), ids=FIRST_OPEN)
def test_the_first_opening_is_the_one_computed_by_hand(base: str, constraints: list[Constraint], expected: str) -> None:
    opening = first_open(at(base), constraints)

    assert opening is not None
    assert to_rfc3339(opening.at) == expected


@pytest.mark.parametrize(
    ("reading", "expected"),
    [("2026-03-08T02:30", "2026-03-08T07:30:00Z"), ("2026-11-01T01:30", "2026-11-01T05:30:00Z")],
    ids=["E3 a skipped time keeps the offset before the gap", "E4 a doubled time means its first occurrence"],
)
def test_a_local_time_without_an_offset_is_read_as_rfc_5545_has_it(reading: str, expected: str) -> None:
    assert to_rfc3339(resolve_local(datetime.fromisoformat(reading), NEW_YORK)) == expected


def test_e3_and_e4_are_deferred_for_the_federal_quiet_hours() -> None:
    opening = first_open(resolve_local(datetime.fromisoformat("2026-03-08T02:30"), NEW_YORK), [floor(NEW_YORK)])

    assert opening is not None
    assert opening.codes == ("quiet_hours_federal",)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, "2026-03-08T14:00:00Z"), ("calendar", "2026-03-08T14:00:00Z"), ("elapsed", "2026-03-08T15:00:00Z")],
)
def test_e5_a_day_keeps_the_wall_clock_unless_it_is_to_elapse(mode: Mode | None, expected: str) -> None:
    ends = after_duration(at("2026-03-07T10:00-05:00"), parse_duration("1d"), NEW_YORK, mode)

    assert to_rfc3339(ends) == expected


def test_e6_a_day_whose_midnight_is_skipped_starts_an_hour_later() -> None:
    assert to_rfc3339(day_start(date(2026, 9, 6), "America/Santiago")) == "2026-09-06T04:00:00Z"


EDGES = {
    "E6b an opening in the gap": (open_edge, date(2026, 3, 8), "02:30", NEW_YORK, "2026-03-08T07:00:00Z"),
    "E6b a close in the gap": (close_edge, date(2026, 3, 8), "02:30", NEW_YORK, "2026-03-08T07:00:00Z"),
    "E6c an opening in the overlap is late": (open_edge, date(2026, 11, 1), "01:30", NEW_YORK, "2026-11-01T06:30:00Z"),
    "E6c a close in the overlap is early": (close_edge, date(2026, 11, 1), "01:30", NEW_YORK, "2026-11-01T05:30:00Z"),
    "E6c the overlap's first minute, opening": (open_edge, date(2026, 11, 1), "01:00", NEW_YORK, "2026-11-01T06:00:00Z"),
    "E6c the overlap's first minute, close": (close_edge, date(2026, 11, 1), "01:00", NEW_YORK, "2026-11-01T05:00:00Z"),
    "E6c behind the overlap, opening": (open_edge, date(2026, 11, 1), "02:00", NEW_YORK, "2026-11-01T07:00:00Z"),
    "E6c behind the overlap, close": (close_edge, date(2026, 11, 1), "02:00", NEW_YORK, "2026-11-01T07:00:00Z"),
    "E6d a shift of half an hour": (
        open_edge,
        date(2026, 10, 4),
        "02:15",
        "Australia/Lord_Howe",
        "2026-10-03T15:30:00Z",
    ),
}


@pytest.mark.parametrize(("edge", "day", "time", "zone_name", "expected"), EDGES.values(), ids=EDGES)
def test_windows_open_late_and_close_early_where_the_clock_changes(
    edge: type[object], day: date, time: str, zone_name: str, expected: str
) -> None:
    assert to_rfc3339(edge(day, wall(time), zone_name)) == expected  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("order", [("America/Denver", NEW_YORK), (NEW_YORK, "America/Denver")])
def test_e9_the_zone_that_decides_is_named_whatever_the_order(order: tuple[str, ...]) -> None:
    opening = first_open(at("2026-07-15T06:00-04:00"), [floor(*order)])

    assert opening is not None
    assert opening.zone == "America/Denver"
    assert opening.codes == ("quiet_hours_federal",)


def test_e9_the_first_zone_to_close_ends_it() -> None:
    ends = closes_at(at("2026-07-15T14:00Z"), [floor("America/Denver", NEW_YORK)])

    assert ends == at("2026-07-15T21:00-04:00")


def test_e10_windows_that_never_intersect_have_no_opening() -> None:
    never = [
        hours("preferred_window", EVERY_DAY, "09:00", "12:00", NEW_YORK),
        hours("preferred_window", EVERY_DAY, "09:00", "12:00", "Asia/Tokyo"),
    ]

    assert first_open(at("2026-07-15T06:00-04:00"), never) is None


def test_e13_both_rules_that_moved_it_are_named_in_order() -> None:
    rules = [floor("America/Chicago"), hours("quiet_hours_state", EVERY_DAY[:6], "08:00", "20:00", "America/Chicago")]
    opening = first_open(at("2026-07-18T21:30-05:00"), rules)

    assert opening is not None
    assert opening.codes == ("quiet_hours_federal", "quiet_hours_state")


def test_e15_the_same_time_on_the_next_allowed_day() -> None:
    rule = hours("preferred_window", WEEKDAYS, "08:00", "20:00", NEW_YORK)
    opening = same_time_next_open_day(at("2026-07-18T17:00-04:00"), NEW_YORK, [rule])

    assert opening is not None
    assert opening.at == at("2026-07-20T17:00-04:00")
    assert opening.codes == ("preferred_window",)


@pytest.mark.parametrize(
    ("time", "allowed"),
    [("07:59:59.999", False), ("08:00", True), ("20:59:59.999", True), ("21:00", False)],
)
def test_a_window_holds_its_open_edge_and_not_its_close_edge(time: str, allowed: bool) -> None:
    assert is_open(at(f"2026-07-15T{time}-04:00"), [floor(NEW_YORK)]) is allowed


def test_a_window_that_opens_once_a_year_is_found() -> None:
    all_but_one = frozenset(
        date.fromordinal(day) for day in range(date(2026, 3, 2).toordinal(), date(2027, 3, 1).toordinal())
    )
    once = constraint("holiday", TELEPHONE_FLOOR, (NEW_YORK,), closed_dates=all_but_one)
    opening = first_open(at("2026-03-01T22:00-05:00"), [once])

    assert opening is not None
    assert opening.at == at("2027-03-01T08:00-05:00")


def test_windows_that_meet_only_for_the_weeks_between_two_clock_changes_are_found() -> None:
    # New York is four hours behind London instead of five only for some weeks of March and one of autumn.
    meets_in_march = [
        hours("preferred_window", EVERY_DAY, "08:00", "09:00", NEW_YORK),
        hours("preferred_window", EVERY_DAY, "12:00", "13:00", "Europe/London"),
    ]
    opening = first_open(at("2026-04-15T00:00Z"), meets_in_march)

    assert opening is not None
    assert to_rfc3339(opening.at) == "2026-10-25T12:00:00Z"
    late = first_open(opening.at + 8 * 24 * HOUR, meets_in_march)
    assert late is not None
    assert to_rfc3339(late.at) == "2027-03-14T12:00:00Z"
