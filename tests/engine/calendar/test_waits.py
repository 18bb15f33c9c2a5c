"""When does a wait end, and which durations and times can be written?"""

from datetime import datetime

import pytest

from engine.calendar import CalendarError, Duration, after_duration, next_local_time, parse_duration
from engine.calendar.waits import Mode
from schemas.instant import EPOCH, Instant, from_datetime, to_rfc3339
from schemas.schedule import Day, Until

NEW_YORK = "America/New_York"
WORKDAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri")


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("text", "milliseconds", "mode"),
    [
        ("0s", 0, "elapsed"),
        ("90s", 90_000, "elapsed"),
        ("15m", 900_000, "elapsed"),
        ("2h", 7_200_000, "elapsed"),
        ("1d", 86_400_000, "calendar"),
        ("1w", 604_800_000, "calendar"),
        ("366d", 366 * 86_400_000, "calendar"),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, milliseconds: int, mode: str) -> None:
    assert parse_duration(text) == Duration(amount=int(text[:-1]), unit=text[-1])  # type: ignore[arg-type]
    assert (parse_duration(text).elapsed, parse_duration(text).mode) == (milliseconds, mode)


@pytest.mark.parametrize(
    "text", ["", "1", "d", "-1d", "+1d", "1.5h", "1h30m", "1 d", "1D", "1y", "٣d", "999999999s", "1d\n"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(CalendarError, match="such as 90s"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["367d", "53w", "99999999h"])
def test_a_wait_of_more_than_a_year_is_refused(text: str) -> None:
    with pytest.raises(CalendarError, match="366d"):
        parse_duration(text)


WAITS: dict[str, tuple[str, str, Mode | None, str]] = {
    "hours elapse over the spring change": ("2026-03-07T22:00-05:00", "12h", None, "2026-03-08T15:00:00Z"),
    "hours that keep the wall clock": ("2026-03-07T22:00-05:00", "12h", "calendar", "2026-03-08T14:00:00Z"),
    "a week keeps the wall clock": ("2026-03-07T10:00-05:00", "1w", None, "2026-03-14T14:00:00Z"),
    "a day into the gap": ("2026-03-07T02:30-05:00", "1d", None, "2026-03-08T07:30:00Z"),
    "a day into the overlap": ("2026-10-31T01:30-04:00", "1d", None, "2026-11-01T05:30:00Z"),
    "a day out of the overlap's second hour": ("2026-11-01T01:30-05:00", "1d", None, "2026-11-02T06:30:00Z"),
    "nothing, in the overlap's second hour": ("2026-11-01T01:30-05:00", "0s", "calendar", "2026-11-01T06:30:00Z"),
    "minutes inside the overlap's second hour": ("2026-11-01T01:30-05:00", "15m", "calendar", "2026-11-01T06:45:00Z"),
    "over the end of a month": ("2026-01-31T10:00-05:00", "1d", None, "2026-02-01T15:00:00Z"),
    "onto a leap day": ("2028-02-28T10:00-05:00", "1d", None, "2028-02-29T15:00:00Z"),
    "a year from a leap day": ("2028-02-29T10:00-05:00", "366d", None, "2029-03-01T15:00:00Z"),
    "milliseconds are kept": ("2026-03-07T10:00:00.123-05:00", "1d", None, "2026-03-08T14:00:00.123Z"),
}


@pytest.mark.parametrize(("base", "duration", "mode", "expected"), WAITS.values(), ids=WAITS)
def test_a_wait_ends_when_its_duration_is_over(base: str, duration: str, mode: Mode | None, expected: str) -> None:
    assert to_rfc3339(after_duration(at(base), parse_duration(duration), NEW_YORK, mode)) == expected


UNTIL = {
    "later today": ("2026-07-15T09:00-04:00", Until(time="10:00"), "2026-07-15T14:00:00Z"),
    "this very moment": ("2026-07-15T10:00-04:00", Until(time="10:00"), "2026-07-15T14:00:00Z"),
    "a moment too late": ("2026-07-15T10:00:00.001-04:00", Until(time="10:00"), "2026-07-16T14:00:00Z"),
    "too late, but now will do": (
        "2026-07-15T17:00-04:00",
        Until(time="10:00", if_passed="now"),
        "2026-07-15T21:00:00Z",
    ),
    "too early, so now waits": ("2026-07-15T09:00-04:00", Until(time="10:00", if_passed="now"), "2026-07-15T14:00:00Z"),
    "over the weekend": ("2026-07-17T17:00-04:00", Until(time="10:00", days=WORKDAYS), "2026-07-20T14:00:00Z"),
    "now never means a day that is not allowed": (
        "2026-07-18T17:00-04:00",
        Until(time="10:00", days=WORKDAYS, if_passed="now"),
        "2026-07-20T14:00:00Z",
    ),
    "the same weekday a week on": (
        "2026-07-15T17:00-04:00",
        Until(time="10:00", days=("wed",)),
        "2026-07-22T14:00:00Z",
    ),
    "a date to come": ("2026-07-15T17:00-04:00", Until(time="10:00", date="2026-07-31"), "2026-07-31T14:00:00Z"),
    "a date that is no workday": (
        "2026-07-15T17:00-04:00",
        Until(time="10:00", days=WORKDAYS, date="2026-08-01"),
        "2026-08-03T14:00:00Z",
    ),
    "a date that has passed, next day": (
        "2026-07-15T17:00-04:00",
        Until(time="10:00", date="2026-07-14"),
        "2026-07-16T14:00:00Z",
    ),
    "a date that has passed, now": (
        "2026-07-15T17:00-04:00",
        Until(time="10:00", date="2026-07-14", if_passed="now"),
        "2026-07-15T21:00:00Z",
    ),
    "a skipped time": ("2026-03-07T17:00-05:00", Until(time="02:30"), "2026-03-08T07:30:00Z"),
    "a doubled time": ("2026-10-31T17:00-04:00", Until(time="01:30"), "2026-11-01T05:30:00Z"),
    "a doubled time, between the two": ("2026-11-01T01:45-04:00", Until(time="01:30"), "2026-11-01T06:30:00Z"),
}


@pytest.mark.parametrize(("base", "until", "expected"), UNTIL.values(), ids=UNTIL)
def test_a_wait_until_a_time_never_takes_one_that_has_passed(base: str, until: Until, expected: str) -> None:
    ends = next_local_time(at(base), until.time, until.days, NEW_YORK, if_passed=until.if_passed, on_date=until.date)

    assert to_rfc3339(ends) == expected


@pytest.mark.parametrize(
    ("time", "days", "on_date"),
    [
        ("24:00", (), None),
        ("9:00", (), None),
        ("10:00", ("monday",), None),
        ("10:00", (), "2026-02-29"),
        ("10:00", (), "20260228"),
        ("10:00", (), "2026-W01-1"),
        ("10:00", (), "9999-12-31"),
    ],
)
def test_times_days_and_dates_that_are_none_are_refused(time: str, days: tuple[str, ...], on_date: str | None) -> None:
    with pytest.raises(CalendarError, match="must be"):
        next_local_time(EPOCH, time, days, NEW_YORK, on_date=on_date)
