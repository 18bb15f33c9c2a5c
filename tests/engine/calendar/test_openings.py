"""What does an opening contain, and how do closed dates, margins and the end of the search limit it?"""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.calendar import (
    Constraint,
    Opening,
    UnknownZoneError,
    closes_at,
    constraint,
    first_open,
    is_open,
    local_datetime,
    same_time_next_open_day,
    window_set,
)
from engine.calendar.openings import CLOSE_MARGIN_SECONDS_MAX, SEARCH_HORIZON, _Search
from engine.calendar.timelines import STRETCH, STRETCHES_MAX, WeeklyHours
from engine.law.floor import TELEPHONE_FLOOR
from schemas.instant import DAY, EPOCH, HOUR, Instant, from_datetime, to_datetime
from schemas.schedule import Day, Window

NEW_YORK = "America/New_York"
FAR_APART = [NEW_YORK, "Europe/London", "Australia/Sydney", "America/Santiago", "Africa/Casablanca", "Asia/Tokyo"]
EVERY_DAY: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def rule(
    opens: str, closes: str, *zones: str, days: tuple[Day, ...] = EVERY_DAY, closed: tuple[str, ...] = ()
) -> Constraint:
    windows = window_set((Window(days=days, open=opens, close=closes),))
    dates = frozenset(date.fromisoformat(day) for day in closed)
    return constraint("rule", windows, zones or (NEW_YORK,), closed_dates=dates)


def test_without_a_rule_everything_is_open_and_nothing_closes() -> None:
    free = constraint("rule", None, (NEW_YORK,))
    whole_week = rule("00:00", "24:00")

    for rules in ([], [free], [whole_week]):
        assert first_open(at("2026-07-15T03:00Z"), rules) == Opening(at=at("2026-07-15T03:00Z"))
        assert closes_at(at("2026-07-15T03:00Z"), rules) is None


def test_a_rule_asked_first_is_named_first_and_each_once() -> None:
    floor = constraint("floor", TELEPHONE_FLOOR, (NEW_YORK, "America/Los_Angeles"))
    wish = constraint("wish", window_set((Window(days=("mon",), open="12:00", close="13:00"),)), (NEW_YORK,))
    base = at("2026-07-15T23:00-04:00")

    opening, other_way = first_open(base, [floor, wish]), first_open(base, [wish, floor])
    assert opening is not None
    assert other_way is not None
    assert opening.at == other_way.at == at("2026-07-20T12:00-04:00")
    assert opening.codes == ("floor", "wish")
    assert other_way.codes == ("wish",)
    assert opening.zone == other_way.zone == NEW_YORK


def test_an_overnight_window_belongs_to_the_day_on_which_it_opens() -> None:
    friday = rule("22:00", "02:00", days=("fri",))

    assert is_open(at("2026-07-18T01:59-04:00"), [friday])
    assert not is_open(at("2026-07-17T01:59-04:00"), [friday])
    assert closes_at(at("2026-07-17T22:00-04:00"), [friday]) == at("2026-07-18T02:00-04:00")


def test_windows_that_touch_at_midnight_do_not_close_there() -> None:
    two_rows = window_set(
        (Window(days=("fri",), open="20:00", close="24:00"), Window(days=("sat",), open="00:00", close="04:00"))
    )
    seam = constraint("rule", two_rows, (NEW_YORK,), close_margin_seconds=600)

    assert is_open(at("2026-07-17T23:59-04:00"), [seam])
    assert closes_at(at("2026-07-17T21:00-04:00"), [seam]) == at("2026-07-18T03:50-04:00")


def test_a_closed_date_closes_its_local_day_and_the_window_that_opens_on_it() -> None:
    night = rule("22:00", "02:00", closed=("2026-12-25",))

    assert closes_at(at("2026-12-24T22:00-05:00"), [night]) == at("2026-12-25T00:00-05:00")
    opening = first_open(at("2026-12-25T00:00-05:00"), [night])
    assert opening is not None
    assert opening.at == at("2026-12-26T22:00-05:00")


def test_a_closed_date_without_windows_is_over_with_its_local_day_in_every_zone() -> None:
    holiday = constraint(
        "holiday", None, ("America/Santiago", NEW_YORK), closed_dates=frozenset({date(2026, 9, 6), date(2026, 9, 7)})
    )
    opening = first_open(at("2026-09-06T12:00Z"), [holiday])

    assert closes_at(at("2026-09-05T12:00Z"), [holiday]) == at("2026-09-06T04:00Z")
    assert opening is not None
    assert (opening.at, opening.zone, opening.codes) == (at("2026-09-08T04:00Z"), NEW_YORK, ("holiday",))
    assert closes_at(opening.at, [holiday]) is None


def test_a_close_margin_shortens_the_window_at_its_end_only() -> None:
    short = constraint("rule", TELEPHONE_FLOOR, (NEW_YORK,), close_margin_seconds=60)

    assert is_open(at("2026-07-15T08:00-04:00"), [short])
    assert is_open(at("2026-07-15T20:58:59.999-04:00"), [short])
    assert not is_open(at("2026-07-15T20:59-04:00"), [short])
    assert closes_at(at("2026-07-15T12:00-04:00"), [short]) == at("2026-07-15T20:59-04:00")


def test_a_margin_longer_than_the_window_leaves_nothing_of_it() -> None:
    windows = window_set((Window(days=EVERY_DAY, open="09:00", close="09:30"),))

    assert first_open(EPOCH, [constraint("rule", windows, (NEW_YORK,), close_margin_seconds=1_800)]) is None


def test_what_is_closed_already_closes_now() -> None:
    assert closes_at(at("2026-07-15T03:00-04:00"), [rule("08:00", "21:00")]) == at("2026-07-15T03:00-04:00")


def test_a_whole_day_is_open_whole_where_its_midnight_comes_twice() -> None:
    # On the Azores the clock goes from 01:00 back to 00:00 on Sunday 2026-10-25; what opens at 00:00 opens late.
    sunday = rule("00:00", "24:00", "Atlantic/Azores", days=("sun",))
    morning = rule("00:00", "09:00", "Atlantic/Azores", days=("sun",))
    base = at("2026-10-24T12:00Z")

    whole, late = first_open(base, [sunday]), first_open(base, [morning])
    assert whole is not None
    assert late is not None
    assert whole.at == at("2026-10-25T00:00+00:00")
    assert closes_at(whole.at, [sunday]) == whole.at + 25 * HOUR
    assert late.at == at("2026-10-25T00:00-01:00")


def test_a_date_that_a_zone_left_out_has_no_hours() -> None:
    for opens, closes in (("09:00", "17:00"), ("22:00", "02:00")):
        friday = rule(opens, closes, "Pacific/Apia", days=("fri",))
        opening = first_open(at("2011-12-29T12:00-10:00"), [friday])

        assert opening is not None
        assert local_datetime(opening.at, "Pacific/Apia").isoformat() == f"2012-01-06T{opens}:00+14:00"


def test_a_weekly_window_whose_next_days_are_holidays_opens_in_a_later_week() -> None:
    mondays = rule("09:00", "17:00", days=("mon",), closed=("2026-07-20", "2026-07-27", "2026-08-03"))
    opening = first_open(at("2026-07-14T12:00-04:00"), [mondays])

    assert opening is not None
    assert opening.at == at("2026-08-10T09:00-04:00")


@pytest.mark.parametrize("zone_name", ["Asia/Tokyo", NEW_YORK, "UTC"])
def test_windows_run_over_the_border_of_what_is_laid_out_at_once(zone_name: str) -> None:
    border = EPOCH + at("2026-07-15T12:00Z") // STRETCH * STRETCH
    hour = local_datetime(border, zone_name).hour
    over_it = rule(f"{(hour - 1) % 24:02}:30", f"{(hour + 1) % 24:02}:30", zone_name)
    day_long = rule("12:00", "11:00", zone_name)

    assert first_open(border, [over_it]) == Opening(at=border)
    for start in (border - HOUR // 2, border - 1, border, border + HOUR):
        assert closes_at(start, [over_it]) == border + 3 * HOUR // 2
        assert closes_at(start, [day_long]) == closes_at(border, [day_long])


def test_days_open_without_a_break_over_the_border_end_where_they_do() -> None:
    border = EPOCH + at("2026-07-15T12:00Z") // STRETCH * STRETCH
    shut = to_datetime(border + 4 * DAY)
    six_days = rule("00:00", "24:00", "UTC", days=tuple(day for day in EVERY_DAY if day != EVERY_DAY[shut.weekday()]))

    for start in (border - DAY, border - 1, border, border + 3 * DAY):
        assert closes_at(start, [six_days]) == border + 4 * DAY


@pytest.mark.parametrize("base", [-(10**14), 253_402_300_799_999, 10**15])
def test_an_instant_outside_every_calendar_has_no_opening_and_does_no_harm(base: Instant) -> None:
    assert first_open(base, [rule("08:00", "21:00")]) is None


def test_bad_arguments_are_refused_when_the_rule_is_made() -> None:
    with pytest.raises(UnknownZoneError):
        constraint("rule", None, ("Mars/Base",))
    with pytest.raises(UnknownZoneError):
        constraint("rule", TELEPHONE_FLOOR, (NEW_YORK, "Mars/Base"))
    with pytest.raises(ValueError, match="at least one zone"):
        constraint("rule", TELEPHONE_FLOOR, ())
    for seconds in (-1, CLOSE_MARGIN_SECONDS_MAX + 1):
        with pytest.raises(ValueError, match="margin"):
            constraint("rule", TELEPHONE_FLOOR, (NEW_YORK,), close_margin_seconds=seconds)


def test_the_same_time_on_a_later_day_is_none_where_it_is_never_allowed() -> None:
    assert same_time_next_open_day(at("2026-07-15T22:00-04:00"), NEW_YORK, [rule("08:00", "21:00")]) is None


def test_what_is_kept_is_bounded_and_never_changes_an_answer() -> None:
    hours = WeeklyHours(TELEPHONE_FLOOR, NEW_YORK, (), 0)
    base = at("2026-07-15T12:00-04:00")
    for number in range(3 * STRETCHES_MAX):
        assert hours.is_open(base + number * STRETCH) == WeeklyHours(TELEPHONE_FLOOR, NEW_YORK, (), 0).is_open(
            base + number * STRETCH
        )

    assert len(hours._stretches) == STRETCHES_MAX
    assert hours.is_open(base)


class Plodding(_Search):
    """The search that looks into every week."""

    def _pass_over_repeating_weeks(self, start: Instant) -> None:
        """Pass over nothing."""


@st.composite
def side_by_side(draw: st.DrawFn) -> tuple[Instant, list[Constraint]]:
    """Draw one-hour windows side by side on the clocks of January, so that only clock changes can make them meet."""
    zones = draw(st.lists(st.sampled_from(FAR_APART), min_size=2, max_size=3, unique=True))
    base = from_datetime(datetime(2026, 1, 1, tzinfo=UTC)) + draw(st.integers(0, 3 * 365 * 24)) * HOUR
    january = at("2026-01-15T00:00Z") + draw(st.integers(0, 23)) * HOUR
    days = draw(st.sampled_from([EVERY_DAY, ("mon",), ("sat", "sun")]))
    ahead = draw(st.frozensets(st.integers(0, 300), max_size=4))
    closed = tuple(to_datetime(base + day * DAY).date().isoformat() for day in ahead)
    constraints = []
    for zone_name in zones:
        opens = local_datetime(january, zone_name).hour + draw(st.integers(-2, 2))
        constraints.append(
            rule(f"{opens % 24:02}:00", f"{(opens + 1) % 24:02}:00", zone_name, days=days, closed=closed),
        )
    return base, constraints


@settings(max_examples=100, deadline=None)
@given(side_by_side())
def test_weeks_that_only_repeat_are_passed_over_without_a_loss(situation: tuple[Instant, list[Constraint]]) -> None:
    base, constraints = situation
    swift, slow = _Search(base, constraints).opening(), Plodding(base, constraints).opening()

    assert (swift and swift.at) == (slow and slow.at)
    assert swift is None or base <= swift.at <= base + SEARCH_HORIZON
