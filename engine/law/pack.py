"""What does the law demand of one contact? The rows of a pack that hold for its states, countries, channel and purpose.

Where a person may be in several places all of their rows hold at once: inside the hours of each, outside the holidays of
each, under every cap. The answer is cached.
"""

import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

import msgspec
from msgspec import Struct

import engine.law
from engine.calendar import (
    Constraint,
    WindowSet,
    constraint,
    day_start,
    is_open,
    local_datetime,
    parse_duration,
    window_set,
)
from engine.law.caps import Cap, strictest
from engine.law.faults import RulePackError, pack_faults, raise_faults, shape_faults
from engine.law.public_holidays import dates_of
from engine.submission.states import STATE_ZONES, country_of_law, country_of_state
from schemas.instant import HOUR, Instant, from_datetime, to_datetime
from schemas.law import CHANNELS, EVERYWHERE, PURPOSES, HolidaySet, LawReview, OptOutRow, PackRows, Purpose, RuleRow

QUIET_HOURS_FEDERAL = "quiet_hours_federal"
QUIET_HOURS_STATE = "quiet_hours_state"
HOLIDAY = "holiday"
"""The `status_wait` codes of the law."""

LIMITS_MAX = 8_192
"""Cached per pack: combinations of states, countries, channel and purpose in a year; below 1 KB each."""

YEARS = range(1970, 2200)
"""The years with their own holidays; earlier and later ones have those of the nearest."""

# A date begins first where clocks are 14 hours ahead of UTC, and last where they are 12 behind.
_EARLIEST_CLOCK = 14 * HOUR
_LATEST_CLOCK = 12 * HOUR

_SHIPPED = "pack.toml"
_DIGEST_LETTERS = 16


class LegalHours(Struct, frozen=True, eq=False):
    """What must be open, and the dates on which nothing is, with the code, the rules and the sources that say so.

    `windows` None limits nothing by the hour.
    """

    code: str
    windows: WindowSet | None
    closed_dates: frozenset[date]
    rule_ids: tuple[str, ...]
    sources: tuple[str, ...]

    def constraint_in(self, zone: str) -> Constraint:
        """Return these hours as `engine.calendar` asks them, in one zone."""
        return constraint(self.code, self.windows, (zone,), closed_dates=self.closed_dates)


class RefusalPause(Struct, frozen=True):
    """Nobody is contacted after a refusal before so many whole days of the calendar have passed, by these rules."""

    days: int
    rule_ids: tuple[str, ...]

    def ends_at(self, refused_at: Instant, zones: Iterable[str]) -> tuple[Instant, str]:
        """Return when the pause is over in all of these zones, and the last of them."""
        ends = {name: _day_after(refused_at, self.days, name) for name in zones}
        last = max(ends, key=ends.__getitem__)
        return ends[last], last


class LegalLimits(Struct, frozen=True, eq=False):
    """Everything that holds at once: hours in the order in which they are asked, and the strictest caps.

    Good for instants before `changes_at` (None: no rule begins or ends); closed dates reach beyond the calendar's horizon.
    `consent_rules` are the rules that ask for consent first, `contract_rules` those of them for which a contract in progress
    is no reason. `refusal` is the longest pause after a refusal.
    """

    hours: tuple[LegalHours, ...]
    caps: tuple[Cap, ...]
    changes_at: Instant | None
    consent_rules: tuple[str, ...] = ()
    contract_rules: tuple[str, ...] = ()
    refusal: RefusalPause | None = None

    def constraints(self, zones: tuple[str, ...], *, close_margin_seconds: int = 0) -> tuple[Constraint, ...]:
        """Return the hours as `engine.calendar` asks them, in every one of the zones."""
        return tuple(
            constraint(
                hours.code,
                hours.windows,
                zones,
                closed_dates=hours.closed_dates,
                close_margin_seconds=close_margin_seconds,
            )
            for hours in self.hours
        )

    def rule_of(self, code: str, until: Instant | None = None, zone: str | None = None) -> tuple[str, ...]:
        """Return the ids of the rules behind a code; of several, those that are closed right before an instant in a zone."""
        own = [hours for hours in self.hours if hours.code == code]
        if len(own) > 1 and until is not None and zone is not None:
            before = until - 1
            own = [hours for hours in own if not is_open(before, (hours.constraint_in(zone),))] or own
        return tuple(rule_id for hours in own for rule_id in hours.rule_ids)


NO_LIMITS = LegalLimits((), (), None)
"""The limits of a step that contacts nobody: none."""


class _Rule(Struct, frozen=True, eq=False):
    """A row, ready to be asked; it holds from `begins` on and until before `ends`."""

    row: RuleRow
    windows: WindowSet | None
    cap: Cap | None
    begins: Instant | None
    ends: Instant | None

    def holds(self, at: Instant) -> bool:
        return (self.begins is None or at >= self.begins) and (self.ends is None or at < self.ends)


class CompiledRulePack:
    """A validated pack; `version` is a name for people, `digest` the hash of its content."""

    def __init__(self, rows: PackRows) -> None:
        self.version = rows.version
        self.digest = sha256(msgspec.json.encode(rows, order="sorted")).hexdigest()[:_DIGEST_LETTERS]
        self.opt_out: OptOutRow = rows.opt_out
        self.rules: dict[str, RuleRow] = {row.id: row for row in rows.rules}
        self._reviewed = frozenset(row.country for row in rows.rules if row.windows and row.country != EVERYWHERE)
        self.reviews: tuple[LawReview, ...] = rows.reviews
        self.holiday_sets: tuple[HolidaySet, ...] = rows.holiday_sets
        self._sets: dict[str, HolidaySet] = {named.id: named for named in rows.holiday_sets}
        self._rules = tuple(_compiled(row) for row in rows.rules)
        self._of_sectors = tuple(rule for rule in self._rules if rule.row.sectors)
        years = (from_datetime(datetime(year, 1, 1, tzinfo=UTC)) for year in YEARS)
        self._edges = sorted({*years, *_changes(self._rules)})
        self._kept = lru_cache(maxsize=LIMITS_MAX)(self._find)
        self.holidays_by_schedule: Mapping[int | None, frozenset[date]] = {None: frozenset()}

    def observing(self, holidays: Mapping[int | None, frozenset[date]]) -> "CompiledRulePack":
        """Return the same law beside a company's own holidays: the dates by schedule, and under None those of all others."""
        found = copy(self)
        found.holidays_by_schedule = holidays
        return found

    def is_reviewed(self, country: str) -> bool:
        """Return whether the pack has hours for a country, those of the country whose law holds there."""
        return country_of_law(country) in self._reviewed

    def company_holidays(self, schedule_id: int | None) -> frozenset[date]:
        """Return the company's own holidays on which a schedule contacts nobody."""
        found = self.holidays_by_schedule
        return found[schedule_id] if schedule_id in found else found[None]

    @property
    def stamp(self) -> str:
        """Version and digest, as decisions record them."""
        return f"{self.version}+{self.digest}"

    def limits(
        self,
        states: tuple[str, ...],
        countries: tuple[str, ...],
        channel: str,
        purpose: Purpose,
        at: Instant,
    ) -> LegalLimits:
        """Return what holds at an instant for somebody who may be in any of these places.

        A state's rules hold whatever the countries are, and bring those of its country. A rule holds from the first moment
        of its first date in any zone of its state (a country's: anywhere on earth) until its last date is over in all.
        Raises `ValueError` for an unknown channel or purpose.
        """
        return self._kept(bisect_right(self._edges, at), states, countries, channel, purpose)

    def warm(self, at: Instant) -> None:
        """Load the holidays around an instant now (half a second) rather than when the first lead asks for them."""
        year = to_datetime(at).year
        for named in self._sets.values():
            dates_of(named, range(year - 1, year + 3))

    def _find(
        self, era: int, states: tuple[str, ...], countries: tuple[str, ...], channel: str, purpose: Purpose
    ) -> LegalLimits:
        if channel not in CHANNELS or purpose not in PURPOSES:
            raise ValueError(f"no law is kept for {channel!r} and {purpose!r}; known are {CHANNELS} and {PURPOSES}")
        since = self._edges[era - 1] if era else self._edges[0] - 1
        placed, holding = self._placed(since, states, countries, channel, purpose)
        year = min(max(to_datetime(since).year, YEARS.start), YEARS.stop - 1)
        return LegalLimits(
            hours=_joined([*_federal_first(holding), *self._holidays(holding, year)]),
            caps=strictest(rule.cap for rule in holding if rule.cap is not None),
            changes_at=min((edge for edge in _changes(placed) if edge > since), default=None),
            consent_rules=tuple(rule.row.id for rule in holding if rule.row.requires_consent),
            contract_rules=tuple(
                rule.row.id for rule in holding if rule.row.requires_consent and not rule.row.excepts_contracts
            ),
            refusal=_longest_refusal(rule.row for rule in holding),
        )

    def _placed(
        self, at: Instant, states: tuple[str, ...], countries: tuple[str, ...], channel: str, purpose: Purpose
    ) -> tuple[list[_Rule], list[_Rule]]:
        """Return the rules of the places, whenever they hold, and those of them that hold at an instant."""
        countries = _lawful(states, countries)
        asked = [rule for rule in self._rules if channel in rule.row.channels and purpose in rule.row.purposes]
        placed = [rule for rule in asked if not rule.row.sectors and _is_placed(rule.row, states, countries)]
        return placed, list(_without_giving_way([rule for rule in placed if rule.holds(at)], countries))

    def sector_rows(
        self, at: Instant, states: tuple[str, ...], countries: tuple[str, ...], channel: str, purpose: Purpose
    ) -> tuple[RuleRow, ...]:
        """Return the rows about offers of some sectors that hold at an instant, whatever the sector is."""
        if not self._of_sectors:
            return ()
        countries = _lawful(states, countries)
        found = self.sector_rows_anywhere(at, channel, purpose)
        return tuple(row for row in found if _is_placed(row, states, countries))

    def sector_rows_anywhere(self, at: Instant, channel: str, purpose: Purpose) -> tuple[RuleRow, ...]:
        """As `sector_rows`, in every place."""
        return tuple(
            rule.row
            for rule in self._of_sectors
            if channel in rule.row.channels and purpose in rule.row.purposes and rule.holds(at)
        )

    def rows_at(
        self, at: Instant, states: tuple[str, ...], countries: tuple[str, ...], channel: str, purpose: Purpose
    ) -> list[tuple[RuleRow, Instant | None]]:
        """Return the rows that hold at an instant, each with the instant at which it ends (None: never), as `limits`.

        Those about offers of some sectors come last.
        """
        _, holding = self._placed(at, states, countries, channel, purpose)
        about = self.sector_rows(at, states, countries, channel, purpose)
        return [(rule.row, rule.ends) for rule in (*holding, *(rule for rule in self._of_sectors if rule.row in about))]

    def _holidays(self, rules: Iterable[_Rule], year: int) -> Iterator[LegalHours]:
        """Yield the closed dates, those of the year before (local dates lag) and beyond the calendar's 400 days included."""
        for rule in rules:
            row = rule.row
            if row.holidays:
                days = (dates_of(self._sets[name], range(year - 1, year + 3)) for name in row.holidays)
                yield LegalHours(HOLIDAY, None, frozenset[date]().union(*days), (row.id,), (row.source_url,))


@cache
def default_pack() -> CompiledRulePack:
    """Return the pack that is shipped."""
    return CompiledRulePack(shipped_rows())


@cache
def shipped_rows() -> PackRows:
    """Return the shipped rows, validated, but for what needs the package of holidays: a test asks that."""
    return read_rows(files(engine.law).joinpath(_SHIPPED).read_bytes(), asks_for_holidays=False)


def read_rows(data: bytes, *, asks_for_holidays: bool = True) -> PackRows:
    """Read the rows of a pack (TOML, UTF-8). Raises `RulePackError` that names every wrong row and the cure."""
    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulePackError({"pack": [f"is no TOML in UTF-8 ({error}); correct it there"]}) from error
    raise_faults(shape_faults(document))
    rows = msgspec.convert(document, PackRows)
    raise_faults(pack_faults(rows, asks_for_holidays=asks_for_holidays))
    return rows


def _compiled(row: RuleRow) -> _Rule:
    return _Rule(
        row=row,
        windows=window_set(row.windows) if row.windows else None,
        cap=_cap(row),
        begins=None if row.effective_from is None else min(_starts(row.effective_from, row.state)),
        ends=None if row.effective_to is None else max(_starts(row.effective_to + timedelta(days=1), row.state)),
    )


def _starts(day: date, state: str | None) -> list[Instant]:
    """Return when a date begins in the zones of a state, or the first and the last time that it does on earth."""
    if state is not None:
        return [day_start(day, zone_name) for zone_name in STATE_ZONES[state]]
    midnight = from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return [midnight - _EARLIEST_CLOCK, midnight + _LATEST_CLOCK]


def _day_after(at: Instant, days: int, zone_name: str) -> Instant:
    """Return when the day begins that follows so many whole days after the day of an instant."""
    return day_start(local_datetime(at, zone_name).date() + timedelta(days=days + 1), zone_name)


def _longest_refusal(rows: Iterable[RuleRow]) -> RefusalPause | None:
    found = {row.id: row.refusal_days for row in rows if row.refusal_days is not None}
    if not found:
        return None
    days = max(found.values())
    return RefusalPause(days, tuple(row_id for row_id, own in found.items() if own == days))


def _cap(row: RuleRow) -> Cap | None:
    if row.cap is None:
        return None
    period = parse_duration(row.cap.period).elapsed
    return Cap(row.cap.count, period, frozenset(row.cap.counts), (row.id,), (row.source_url,))


def _changes(rules: Iterable[_Rule]) -> set[Instant]:
    return {edge for rule in rules for edge in (rule.begins, rule.ends) if edge is not None}


def _is_placed(row: RuleRow, states: tuple[str, ...], countries: tuple[str, ...]) -> bool:
    if row.state is not None:
        return row.state in states
    return row.country == EVERYWHERE or row.country in countries


def _lawful(states: tuple[str, ...], countries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the countries whose law holds in these places."""
    return tuple(dict.fromkeys((*map(country_of_law, countries), *map(country_of_state, states))))


def _without_giving_way(rules: list[_Rule], countries: tuple[str, ...]) -> Iterator[_Rule]:
    """Leave out the rows that give way where every candidate country has hours of its own."""
    own = {rule.row.country for rule in rules if rule.row.state is None and rule.windows is not None}
    is_held = bool(countries) and own.issuperset(countries)
    return (rule for rule in rules if not (rule.row.gives_way and is_held))


def _federal_first(rules: Iterable[_Rule]) -> list[LegalHours]:
    """Return the hours, a country's before its states': the code of the wider rule comes first."""
    found = [
        LegalHours(
            QUIET_HOURS_FEDERAL if rule.row.state is None else QUIET_HOURS_STATE,
            rule.windows,
            frozenset(),
            (rule.row.id,),
            (rule.row.source_url,),
        )
        for rule in rules
        if rule.windows is not None
    ]
    return sorted(found, key=lambda hours: hours.code == QUIET_HOURS_STATE)


def _joined(found: Iterable[LegalHours]) -> tuple[LegalHours, ...]:
    """Return each demand once, with all rules that make it; closed dates are united."""
    same: dict[tuple[str, WindowSet | None], LegalHours] = {}
    for hours in found:
        known = same.get((hours.code, hours.windows))
        same[hours.code, hours.windows] = hours if known is None else _united(known, hours)
    return tuple(same.values())


def _united(first: LegalHours, second: LegalHours) -> LegalHours:
    return LegalHours(
        first.code,
        first.windows,
        first.closed_dates | second.closed_dates,
        (*first.rule_ids, *second.rule_ids),
        tuple(dict.fromkeys((*first.sources, *second.sources))),
    )
