"""What holds for any windows in any zone, above all around clock changes? Compared with a minute-by-minute oracle."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.calendar import (
    Constraint,
    after_duration,
    closes_at,
    constraint,
    first_open,
    is_open,
    local_datetime,
    next_local_time,
    parse_duration,
    window_set,
    zone_names,
)
from engine.calendar.timelines import STRETCH
from engine.calendar.wall import WEEKDAYS
from engine.calendar.zones import next_offset_change
from engine.law.floor import TELEPHONE_FLOOR
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, Instant, from_datetime, to_datetime
from schemas.schedule import Day, Window
from tests.engine.calendar.oracle import OracleRule, clock_changes, open_everywhere

DAYS_LOOKED_AT = 11
DAYS_BEFORE = 3
ZONES = sorted(zone_names())
EVERY_DAY: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@cache
def changing_zones() -> list[str]:
    """Return the zones whose clocks change in 2026; looked up by the first test that asks, as it takes a second."""
    return [name for name in ZONES if clock_changes(name, 2026, 2026)]


zones = st.deferred(lambda: st.one_of(st.sampled_from(changing_zones()), st.sampled_from(ZONES)))
# Most clock changes happen between 22:00 and 04:00: edges are drawn there as often as over the day.
minutes_of_day = st.one_of(
    st.integers(0, 1439), st.integers(0, 240), st.integers(1320, 1439), st.sampled_from([0, 60, 90, 120])
)


mostly = st.sampled_from([True] * 3 + [False])


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@st.composite
def windows(draw: st.DrawFn) -> Window:
    days = draw(st.one_of(st.just(EVERY_DAY), st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True).map(tuple)))
    opens = draw(minutes_of_day)
    closes = draw(st.one_of(minutes_of_day, st.just(1440)).filter(lambda minutes: minutes != opens))
    return Window(days=days, open=clock(opens), close=clock(closes))


@st.composite
def bases(draw: st.DrawFn, zone_name: str) -> Instant:
    changes = clock_changes(zone_name, 2026, 2028)
    if draw(mostly) and changes:
        change: datetime = draw(st.sampled_from(changes))
        return from_datetime(change) + draw(st.integers(-3 * 1440, 3 * 1440)) * MINUTE
    first = from_datetime(datetime(2026, 1, 1, tzinfo=UTC))
    border = draw(st.integers(first // STRETCH, first // STRETCH + 60)) * STRETCH
    near_a_border = st.integers(border - 2 * DAY, border + DAY)
    return EPOCH + draw(st.one_of(near_a_border, st.integers(first - EPOCH, first - EPOCH + 3 * 365 * DAY)))


@st.composite
def rules(draw: st.DrawFn, zone_name: str, base: Instant) -> OracleRule:
    today = to_datetime(base).date()
    closed = draw(st.frozensets(st.integers(-2, 6).map(lambda days: today + timedelta(days=days)), max_size=3))
    return OracleRule(
        rows=draw(st.one_of(st.none(), st.lists(windows(), min_size=1, max_size=3).map(tuple))),
        zones=(zone_name, *draw(st.lists(zones, max_size=1))),
        closed_dates=closed if draw(st.booleans()) else frozenset(),
        margin_minutes=draw(st.sampled_from([0, 0, 0, 1, 15])),
    )


@st.composite
def situations(draw: st.DrawFn) -> tuple[Instant, list[OracleRule]]:
    zone_name = draw(zones)
    base = draw(bases(zone_name))
    return base, draw(st.lists(rules(zone_name, base), min_size=1, max_size=2))


def compiled(found: list[OracleRule]) -> list[Constraint]:
    return [
        constraint(
            f"rule-{number}",
            None if rule.rows is None else window_set(rule.rows),
            rule.zones,
            closed_dates=rule.closed_dates,
            close_margin_seconds=rule.margin_minutes * 60,
        )
        for number, rule in enumerate(found)
    ]


def midnight_before(base: Instant) -> datetime:
    return to_datetime(base - base % DAY - DAYS_BEFORE * DAY)


@settings(max_examples=150, deadline=None)
@given(situations())
def test_the_first_opening_and_its_end_are_those_of_the_minute_by_minute_oracle(
    situation: tuple[Instant, list[OracleRule]],
) -> None:
    base, found = situation
    start = midnight_before(base)
    # The last day is only looked into: windows that open on it may run on past the oracle's end.
    marks = open_everywhere(found, start, DAYS_LOOKED_AT)[: -2 * 1440]
    first = from_datetime(start)
    opening = first_open(base, compiled(found))

    number = (base - first) // MINUTE
    if marks[number]:
        expected: Instant | None = base
    else:
        expected = next((first + place * MINUTE for place in range(number, len(marks)) if marks[place]), None)
    if expected is None:
        assert opening is None or opening.at >= first + len(marks) * MINUTE
        return
    assert opening is not None
    assert opening.at == expected
    place = (expected - first) // MINUTE
    shut = next((first + later * MINUTE for later in range(place, len(marks)) if not marks[later]), None)
    ends = closes_at(opening.at, compiled(found))
    assert ends == shut or (shut is None and (ends is None or ends >= first + len(marks) * MINUTE))


@settings(max_examples=150, deadline=None)
@given(situations(), st.integers(0, 10 * DAY))
def test_an_opening_is_a_fixed_point_and_a_later_base_never_has_an_earlier_one(
    situation: tuple[Instant, list[OracleRule]], later: int
) -> None:
    base, found = situation
    constraints = compiled(found)
    opening = first_open(base, constraints)
    assume(opening is not None)
    assert opening is not None

    assert opening.at >= base
    assert is_open(opening.at, constraints)
    again = first_open(opening.at, constraints)
    assert again is not None
    assert (again.at, again.moves, again.zone) == (opening.at, (), None)
    next_opening = first_open(base + later, constraints)
    assert next_opening is None or next_opening.at >= opening.at
    assert later > opening.at - base or (next_opening is not None and next_opening.at == opening.at)


@settings(max_examples=150, deadline=None)
@given(situations())
def test_what_moved_an_action_is_named_and_the_last_edge_is_the_opening(situation: tuple[Instant, list[OracleRule]]) -> None:
    base, found = situation
    opening = first_open(base, compiled(found))
    assume(opening is not None)
    assert opening is not None

    assert (opening.at > base) == bool(opening.codes) == (opening.zone is not None)
    assert len(set(opening.codes)) == len(opening.codes)
    if opening.moves:
        assert max(move.until for move in opening.moves) == opening.at
        assert opening.zone in {name for rule in found for name in rule.zones}


def test_no_clock_change_of_any_zone_lets_a_call_through_outside_the_floor() -> None:
    for zone_name in changing_zones():
        rule = [constraint("floor", TELEPHONE_FLOOR, (zone_name,))]
        for change in clock_changes(zone_name, 2026, 2027):
            start = from_datetime(change) - DAY
            for at in map(Instant, range(start, start + 2 * DAY, 15 * MINUTE)):
                assert is_open(at, rule) == (8 <= local_datetime(at, zone_name).hour < 21), (zone_name, at)


def test_every_clock_change_is_found_and_no_two_of_a_zone_lie_within_a_week() -> None:
    # first_open passes over weeks that repeat between two changes, and looks for changes once a day.
    for zone_name in changing_zones():
        expected = [from_datetime(change) for change in clock_changes(zone_name, 2026, 2026)]
        at: Instant | None = from_datetime(datetime(2025, 12, 31, 23, 59, tzinfo=UTC))
        found: list[Instant] = []
        while at is not None and len(found) < len(expected):
            at = next_offset_change(at, zone_name)
            if at is not None:
                found.append(at)
        assert found == expected, zone_name
        assert all(later - earlier > 7 * DAY for earlier, later in pairwise(found)), zone_name


@settings(max_examples=150, deadline=None)
@given(st.data(), zones, st.sampled_from(["0s", "90s", "15m", "2h", "1d", "3d", "1w", "366d"]))
def test_a_wait_never_ends_before_it_began_and_calendar_days_keep_the_wall_clock(
    data: st.DataObject, zone_name: str, text: str
) -> None:
    base = data.draw(bases(zone_name))
    duration = parse_duration(text)
    ends = after_duration(base, duration, zone_name)

    assert base <= ends
    if duration.mode == "elapsed":
        assert ends - base == duration.elapsed
    else:
        began, ended = (local_datetime(at, zone_name).replace(tzinfo=None, fold=0) for at in (base, ends))
        # Where the wished time is skipped, the clock shows what it jumped to: at most two hours on (Antarctica/Troll).
        assert timedelta(0) <= (ended - began) - timedelta(milliseconds=duration.elapsed) <= timedelta(hours=2)


@settings(max_examples=150, deadline=None)
@given(st.data(), zones, minutes_of_day, st.sets(st.sampled_from(WEEKDAYS)))
def test_a_wait_until_a_time_ends_the_first_time_the_clock_shows_it(
    data: st.DataObject, zone_name: str, minutes: int, days: set[str]
) -> None:
    drawn = data.draw(bases(zone_name))
    base = drawn - drawn % MINUTE
    ends = next_local_time(base, clock(minutes), days, zone_name)
    shown = local_datetime(ends, zone_name)

    assert base <= ends <= base + 8 * DAY
    if (shown.hour, shown.minute) == (minutes // 60, minutes % 60):
        assert not days or WEEKDAYS[shown.weekday()] in days
    else:
        assert any(abs(from_datetime(change) - ends) <= 2 * HOUR for change in clock_changes(zone_name, 2025, 2029))
    for at in map(Instant, range(base, min(ends, base + 2 * DAY), MINUTE)):
        reading = local_datetime(at, zone_name)
        wanted = (reading.hour, reading.minute) == (minutes // 60, minutes % 60)
        assert not (wanted and (not days or WEEKDAYS[reading.weekday()] in days)), at


def test_a_leap_day_is_waited_for() -> None:
    base = from_datetime(datetime(2028, 2, 27, 12, tzinfo=UTC))
    ends = next_local_time(base, "10:00", (), "UTC", on_date="2028-02-29")

    assert to_datetime(ends) == datetime(2028, 2, 29, 10, tzinfo=UTC)
    assert to_datetime(after_duration(ends, parse_duration("1d"), "UTC")).date() == date(2028, 3, 1)
