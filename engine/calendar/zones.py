"""What does the clock on the wall show in a zone, and at which instant does it show a given time?

The rules are those of the pinned tzdata package, never of the machine: the same decision on every host, and
`TZDATA_VERSION` goes into what is recorded. Offsets are always those in force at the instant asked about.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]  # a package of data with two constants

from engine.calendar.wall import CalendarError, WallTime
from schemas.instant import DAY, EPOCH, MINUTE, SECOND, Instant, from_datetime, to_datetime

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""The release of the IANA database that every answer here rests on, as `2026f`."""

OFFSET_YEARS_MAX = 4_096
"""Cached years of clock changes per zone: all zones for the years that live schedules see, at some 300 bytes."""

WHOLE_HOURS_UNTIL = 68 * 366 * DAY
"""Until when offsets are looked at: the end of 2037, where the tables of the database end and yearly rules go on."""

# Read off a wall clock, so without a zone.
_EPOCH_ON_THE_WALL = datetime.combine(date(1970, 1, 1), time.min)
_EPOCH_ORDINAL = _EPOCH_ON_THE_WALL.toordinal()
_MILLISECOND = timedelta(milliseconds=1)
_HOUR = timedelta(hours=1)
# "Factory" is what an unconfigured machine shows, not a place.
_NOT_A_PLACE = {"Factory"}


class UnknownZoneError(CalendarError):
    """No zone of this name is in the pinned IANA database; `name` is what was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no time zone; write an IANA name such as America/New_York")
        self.name = name


@cache
def zone_names() -> frozenset[str]:
    """Return every IANA name that `zone` takes, older aliases included."""
    listed = files(tzdata).joinpath("zones").read_text("ascii").split()
    return frozenset(listed) - _NOT_A_PLACE


@cache
def _zones_by_country() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in files(tzdata).joinpath("zoneinfo", "zone.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            country, _, name = line.split("\t")[:3]
            found[country] = (*found.get(country, ()), name)
    return found


def country_zones(country: str) -> tuple[str, ...]:
    """Return every zone in use in a country of two capital letters; none where the country is not known."""
    return _zones_by_country().get(country, ())


@cache
def all_country_zones() -> tuple[str, ...]:
    """Return every zone in which people live, by name."""
    return tuple(sorted({name for names in _zones_by_country().values() for name in names}))


def is_zone(name: str) -> bool:
    """Return whether this is an IANA name, in its exact spelling."""
    return name in zone_names()


# Bounded by the names of the database: an unknown one raises and is not cached.
@cache
def zone(name: str) -> ZoneInfo:
    """Return the zone of an IANA name. Raises `UnknownZoneError`."""
    if not is_zone(name):
        raise UnknownZoneError(name)
    with files(tzdata).joinpath("zoneinfo", *name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)


def local_datetime(instant: Instant, zone_name: str) -> datetime:
    """Return what calendar and clock show in the zone, with the offset in force at that instant."""
    return to_datetime(instant).astimezone(zone(zone_name))


def resolve_local(reading: datetime, zone_name: str) -> Instant:
    """Return the instant at which a clock in the zone shows a naive date and time, as RFC 5545 3.3.5 has it.

    A time that the clock skips is counted with the offset before the gap (02:30 becomes 03:30); of a time that it
    shows twice the first is meant, unless the reading's own `fold` says the second.
    """
    return EPOCH + (reading - _EPOCH_ON_THE_WALL - _offset(reading, zone(zone_name))) // _MILLISECOND


def open_edge(day: date, wall_time: WallTime, zone_name: str) -> Instant:
    """Return the LAST instant at which the wall clock of that day reaches the time: hours open late where in doubt."""
    first, last = _readings(day, wall_time, zone(zone_name))
    return last if first <= last else _change_between(last, first, zone(zone_name))


def close_edge(day: date, wall_time: WallTime, zone_name: str) -> Instant:
    """Return the FIRST instant at which the wall clock of that day reaches the time: hours close early where in doubt."""
    first, last = _readings(day, wall_time, zone(zone_name))
    return first if first <= last else _change_between(last, first, zone(zone_name))


def day_start(day: date, zone_name: str) -> Instant:
    """Return the first instant of a local day: its midnight, or the first instant after it where the clock skips that."""
    return close_edge(day, 0, zone_name)


@cache
def has_whole_hours(zone_name: str) -> bool:
    """Return whether every offset that the zone had since 1970 is in whole hours, by a look at each week until 2038.

    Raises `UnknownZoneError`.
    """
    info = zone(zone_name)
    weeks = range(0, WHOLE_HOURS_UNTIL, 7 * DAY)
    return not any(_offset_at(Instant(week), info) % _HOUR for week in weeks)


def next_offset_change(instant: Instant, zone_name: str) -> Instant | None:
    """Return the first instant after this one at which the offset changes, or None where none does for two years."""
    year = to_datetime(instant).year
    for looked_at in range(year, year + 3):
        for change in _offset_changes(zone_name, looked_at):
            if change > instant:
                return change
    return None


def _readings(day: date, wall_time: WallTime, info: ZoneInfo) -> tuple[Instant, Instant]:
    """Return the instants of a wall time before and after a change of the clock: equal on almost every day.

    In an overlap the second is later; in a gap it is earlier (PEP 495), and the clock shows neither.
    """
    once, again = _clock_faces(wall_time)
    first, last = _offset(datetime.combine(day, once), info), _offset(datetime.combine(day, again), info)
    as_if_utc = EPOCH + (day.toordinal() - _EPOCH_ORDINAL) * DAY + wall_time
    at = as_if_utc - first // _MILLISECOND
    return at, at if first == last else as_if_utc - last // _MILLISECOND


@cache
def _clock_faces(wall_time: WallTime) -> tuple[time, time]:
    """Return the time as the standard library has it, with `fold` 0 and 1; there are 1,440 of them, in whole minutes."""
    minutes = wall_time // MINUTE
    once = time(minutes // 60, minutes % 60)
    return once, once.replace(fold=1)


def _offset(reading: datetime, info: ZoneInfo) -> timedelta:
    offset = info.utcoffset(reading)
    # None is for zones that cannot say; those of the database always can.
    assert offset is not None  # noqa: S101
    return offset


def _offset_at(instant: Instant, info: ZoneInfo) -> timedelta:
    return _offset(to_datetime(instant).astimezone(info), info)


def _change_between(before: Instant, after: Instant, info: ZoneInfo) -> Instant:
    """Return the instant between two, `before` exclusive, from which on the later one's offset is in force."""
    # Clocks change at whole seconds; a gap of a day needs 17 halvings.
    low, high = before // SECOND, -(-after // SECOND)
    offset = _offset_at(after, info)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(EPOCH + middle * SECOND, info) == offset:
            high = middle
        else:
            low = middle
    return EPOCH + high * SECOND


@lru_cache(maxsize=OFFSET_YEARS_MAX)
def _offset_changes(zone_name: str, year: int) -> tuple[Instant, ...]:
    """Return the instants of one UTC year at which the offset changes, found by looking once a day."""
    info = zone(zone_name)
    start = from_datetime(datetime(year, 1, 1, tzinfo=UTC))
    end = from_datetime(datetime(year + 1, 1, 1, tzinfo=UTC))
    return tuple(
        _change_between(day, day + DAY, info)
        for day in map(Instant, range(start, end, DAY))
        if _offset_at(day, info) != _offset_at(day + DAY, info)
    )
