"""What is wrong with a rule pack, and what is the cure? All faults at once, each with its row."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from typing import Any

import msgspec

from engine.calendar import CalendarError, parse_duration, window_errors
from engine.law.caps import CAP_COUNT_MAX, CAP_PERIOD_MAX
from engine.law.public_holidays import has_holidays, is_change_day
from engine.submission.states import STATES
from schemas.errors import SenderError
from schemas.instant import DAY, HOUR
from schemas.law import CHANNELS, EVERYWHERE, PURPOSES, HolidaySet, LawReview, OptOutRow, PackRows, RuleRow

STATE_COUNTRIES = frozenset({"US", "CA"})
"""Countries whose states leads are known to be in (engine/submission/states.py); a rule for another would never hold."""

RULES_MAX = 2_000
"""Some forty rows per state; each new combination of states scans them all."""

REFUSAL_DAYS_MAX = 366
"""A longer pause is an opt-out."""

LAW_YEARS = range(1900, 2200)
"""The years of effective dates: an older rule always holds, a later one is a typing error."""

_COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)

Fault = tuple[str, str]
"""(row and field, what is wrong and the cure)."""


class RulePackError(SenderError, ValueError):
    """The document is no pack of rules; `errors` holds every fault as `row.field` -> sentences with the cure."""

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__("; ".join(f"{place}: {sentence}" for place, found in errors.items() for sentence in found))
        self.errors = errors


def raise_faults(faults: Iterable[Fault]) -> None:
    """Raise `RulePackError` where there is a fault."""
    errors: dict[str, list[str]] = {}
    for place, sentence in faults:
        errors.setdefault(place, []).append(sentence)
    if errors:
        raise RulePackError(errors)


def shape_faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Yield the rows that have a field too many, too few, or of the wrong kind, by their id."""
    for part, kind in (("rules", RuleRow), ("holiday_sets", HolidaySet), ("reviews", LawReview)):
        rows = document.get(part, [])
        if not isinstance(rows, list):
            yield part, f"must be rows; write each under [[{part}]]"
            continue
        for number, row in enumerate(rows, 1):
            yield from _misfit(row, kind, _name_of(row, f"{part} row {number}"))
    rest = {**document, "rules": [], "holiday_sets": [], "reviews": []}
    yield from _misfit(rest, PackRows, "pack")


def pack_faults(pack: PackRows, *, asks_for_holidays: bool = True) -> Iterator[Fault]:
    """Yield what is wrong with rows that have the right shape.

    Asking whether the package of holidays knows a country loads it, which takes longer than a start may.
    """
    if len(pack.rules) > RULES_MAX:
        yield "rules", f"has more than {RULES_MAX} rows; leave out what no longer holds"
    if not pack.version.strip():
        yield "version", "is empty; write the date of the last change, such as 2026.11.21"
    yield from _repeated([row.id for row in pack.rules])
    yield from _repeated([named.id for named in pack.holiday_sets])
    sets = {named.id for named in pack.holiday_sets}
    for named in pack.holiday_sets:
        yield from _set_faults(named, asks_for_holidays=asks_for_holidays)
    for row in pack.rules:
        yield from ((f"{row.id}.{field}", sentence) for field, sentence in _rule_faults(row, sets))
    for review in pack.reviews:
        yield from ((f"reviews {review.state}.{field}", sentence) for field, sentence in _review_faults(review))
    yield from _gaps(pack.rules)
    yield from _opt_out_faults(pack.opt_out)


def _misfit(row: object, kind: type, name: str) -> Iterator[Fault]:
    try:
        msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        yield name, f"{error}; correct the field, or see pack.toml for the fields of a row"


def _name_of(row: object, otherwise: str) -> str:
    name = row.get("id") if isinstance(row, dict) else None
    return name if isinstance(name, str) and name else otherwise


def _repeated(ids: list[str]) -> Iterator[Fault]:
    for name, times in Counter(ids).items():
        if times > 1:
            yield f"{name}.id", f"stands {times} times; give every row an id of its own"
        if not name.strip():
            yield "id", "is empty; give every row an id, such as us-fl"


def _set_faults(named: HolidaySet, *, asks_for_holidays: bool) -> Iterator[Fault]:
    if named.country is None:
        if named.state is not None:
            yield f"{named.id}.country", "is missing beside a state; write the country of the state"
        elif not (named.dates or named.adds):
            yield f"{named.id}.dates", "is empty, and no country is named; list dates or name a country"
    elif named.country in STATE_COUNTRIES:
        yield from ((f"{named.id}.state", sentence) for sentence in _unknown_state(named.state))
    elif asks_for_holidays and not has_holidays(named.country, named.state):
        yield f"{named.id}.country", f"has no known holidays ({named.country} {named.state or ''}); list them as dates"
    if named.in_any_part and (named.country is None or named.state is not None):
        yield f"{named.id}.in_any_part", "is for a country without a state; remove it"
    for change in (*named.adds, *named.removes):
        if not is_change_day(change.on):
            yield f"{named.id}.{change.name}", "must be on a day such as 06-14, tue from 11-02 or easter-2"
        yield from ((f"{named.id}.{change.name}", sentence) for sentence in _unread_source(change.source_url))


def _review_faults(review: LawReview) -> Iterator[Fault]:
    if review.country not in STATE_COUNTRIES or review.state not in STATES:
        yield "state", "must be a state of the US or CA, as two capital letters"
    yield from (("source_url", sentence) for sentence in _unread_source(review.source_url))


def _unread_source(source_url: str) -> Iterator[str]:
    if not source_url.startswith(("https://", "http://")):
        yield "must be the address of the text or page that says so, beginning with https://"


def _rule_faults(row: RuleRow, sets: set[str]) -> Iterator[Fault]:
    yield from _scope_faults(row)
    yield from _source_faults(row)
    limits = (row.windows, row.cap, row.holidays, row.opt_out_years, row.requires_consent, row.bars, row.refusal_days)
    if not (any(limits) or row.override):
        others = "cap, holidays, opt_out_years, requires_consent, bars and refusal_days"
        yield "windows", f"is empty, as are {others}; fill one, or remove the row"
    yield from _sector_faults(row)
    if row.refusal_days is not None and not 1 <= row.refusal_days <= REFUSAL_DAYS_MAX:
        yield "refusal_days", f"must be from 1 to {REFUSAL_DAYS_MAX}; leave it out where nothing is said"
    if row.excepts_contracts and not (row.requires_consent or row.bars):
        yield "excepts_contracts", "is for rows that ask for consent or bar contact; remove it"
    if row.windows:
        yield from ((f"windows.{place}", found[0]) for place, found in window_errors(row.windows).items())
    for name in row.holidays:
        if name not in sets:
            yield "holidays", f"names {name!r}, which is no holiday set; add it under [[holiday_sets]] or correct the name"
    if row.opt_out_years is not None and row.opt_out_years < 1:
        yield "opt_out_years", "must be at least 1; leave it out where nothing is said"
    yield from _cap_faults(row)


def _sector_faults(row: RuleRow) -> Iterator[Fault]:
    """Yield what is wrong with a row about some sectors: it is read where consent is, not where hours and caps are."""
    if row.bars and not row.sectors:
        yield "bars", "is for rows with sectors; name them, or close every hour with holidays or windows"
    if row.sectors and (row.windows or row.cap or row.holidays or row.refusal_days or row.gives_way):
        yield "sectors", "are for rows that bar contact or ask for consent; put hours, caps and pauses into another row"


def _scope_faults(row: RuleRow) -> Iterator[Fault]:
    if row.country != EVERYWHERE and not _COUNTRY.fullmatch(row.country):
        yield "country", 'must be two capital letters such as US, or "*" for everywhere'
    if row.state is not None:
        if row.country not in STATE_COUNTRIES:
            yield "state", "can be named in the US and in CA only; leave it out, and the rule holds in the whole country"
        else:
            yield from (("state", sentence) for sentence in _unknown_state(row.state))
    if row.gives_way and (row.country != EVERYWHERE or not row.windows):
        yield "gives_way", 'is for rows with country "*" and windows; remove it'
    for field, values in (("purposes", row.purposes), ("channels", row.channels)):
        if not values:
            yield field, f"is empty; name at least one of {', '.join(PURPOSES if field == 'purposes' else CHANNELS)}"
    if row.effective_from and row.effective_to and row.effective_to < row.effective_from:
        yield "effective_to", f"lies before effective_from; write {row.effective_from} or later, or leave it out"
    for field, day in (("effective_from", row.effective_from), ("effective_to", row.effective_to)):
        if day is not None and day.year not in LAW_YEARS:
            yield field, "must lie between 1900 and 2199; leave it out where the rule always holds"


def _unknown_state(state: str | None) -> Iterator[str]:
    if state is not None and state not in STATES:
        yield f"{state!r} is no state; write its two capital letters, such as FL"


def _source_faults(row: RuleRow) -> Iterator[Fault]:
    yield from (("source_url", sentence) for sentence in _unread_source(row.source_url))
    if row.reviewed_at < date(2000, 1, 1):
        yield "reviewed_at", "must be the date on which somebody last read the source"


def _cap_faults(row: RuleRow) -> Iterator[Fault]:
    cap = row.cap
    if cap is None:
        return
    if not 1 <= cap.count <= CAP_COUNT_MAX:
        yield "cap.count", f"must be from 1 to {CAP_COUNT_MAX}"
    if not cap.counts:
        yield "cap.counts", "is empty; name call, sms or both"
    if "email" in row.channels:
        yield "cap", "cannot limit e-mail: only calls and texts are counted; put e-mail into a row of its own, without a cap"
    try:
        period = parse_duration(cap.period)
    except CalendarError:
        yield "cap.period", "must be a whole number of hours, minutes or seconds, such as 24h"
        return
    if period.mode == "calendar":
        yield "cap.period", f"must elapse: a day on the calendar has 23 to 25 hours; write {period.elapsed // HOUR}h"
    elif not 0 < period.elapsed <= CAP_PERIOD_MAX:
        yield "cap.period", f"must be from 1s to {CAP_PERIOD_MAX // HOUR}h; the ledger keeps {CAP_PERIOD_MAX // DAY} days"


def _opt_out_faults(row: OptOutRow) -> Iterator[Fault]:
    if not row.words or any(word != word.strip().casefold() or not word for word in row.words):
        yield "opt_out.words", "must be at least one word, in small letters and without spaces around it"
    try:
        parse_duration(row.confirmation_within)
    except CalendarError as error:
        yield "opt_out.confirmation_within", str(error)


def _gaps(rules: Sequence[RuleRow]) -> Iterator[Fault]:
    """A country without rows of its own must not be without hours."""
    kept = set(
        chain.from_iterable(
            ((purpose, channel) for purpose in row.purposes for channel in row.channels)
            for row in rules
            if row.gives_way and row.effective_from is None and row.effective_to is None
        )
    )
    for purpose in PURPOSES:
        for channel in ("call", "sms"):
            if (purpose, channel) not in kept:
                cure = 'add them to a row with country "*" and gives_way = true, without effective dates'
                yield "rules", f"leave {channel} for {purpose} without hours in countries that have no row; {cure}"
