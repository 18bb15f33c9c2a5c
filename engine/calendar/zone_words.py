"""Which place does a word for a time zone name? An IANA, Rails or Windows name does; an abbreviation may name several.

`EST`, `MST` and `Etc/GMT+5` are fixed offsets in the database, and a person means a place, whose clock changes: taken as
they are they would be an hour off for half of the year, silently. They are refused, with the places that they may mean.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

from tzlocal.windows_tz import win_tz

from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.zones import TZDATA_VERSION, all_country_zones, zone, zone_names

WINDOWS_NAMES: dict[str, str] = {name: iana for name, iana in win_tz.items() if not iana.startswith("Etc/")}
"""Windows name -> IANA name, as CLDR has them (`windowsZones`); those of a place."""

_PLACES = {
    "EST5EDT": "America/New_York",
    "CST6CDT": "America/Chicago",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
    "AKST9AKDT": "America/Anchorage",
    "HST": "Pacific/Honolulu",
    "HST10": "Pacific/Honolulu",
}
"""Abbreviations of which one place is meant: those with both their clocks, and that of Hawaii, which has one."""

_ABBREVIATIONS = """
EST EDT ET           : America/New_York America/Panama America/Cancun America/Jamaica
CST CDT CT           : America/Chicago America/Regina America/Mexico_City America/Costa_Rica Asia/Shanghai
MST                  : America/Denver America/Phoenix
MDT MT               : America/Denver
PST PDT PT           : America/Los_Angeles America/Tijuana Asia/Manila
AKST AKDT            : America/Anchorage
HDT                  : America/Adak
AST ADT              : America/Halifax America/Puerto_Rico
NST NDT              : America/St_Johns
SST                  : Pacific/Pago_Pago
CHST                 : Pacific/Guam
GMT GREENWICH        : Europe/London Africa/Abidjan
BST                  : Europe/London Asia/Dhaka
IST                  : Asia/Kolkata Europe/Dublin Asia/Jerusalem
AEST AEDT            : Australia/Sydney Australia/Brisbane
ACST ACDT            : Australia/Adelaide Australia/Darwin
AWST                 : Australia/Perth
NZST NZDT            : Pacific/Auckland
JST                  : Asia/Tokyo
SGT                  : Asia/Singapore
SAST                 : Africa/Johannesburg
BRT                  : America/Sao_Paulo
"""

UNIVERSAL_TIME = frozenset({"UTC", "UCT", "Universal", "Zulu", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"})
"""Names of universal time: a good clock for a report, and that of no person."""

_CANDIDATES: dict[str, tuple[str, ...]] = {
    word: tuple(places.split())
    for words, places in (line.split(":") for line in _ABBREVIATIONS.strip().splitlines())
    for word in words.split()
}
_OFFSET = re.compile(r"(etc/)?(?:gmt|utc|ut)?\s*([+-])?\s*([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE | re.ASCII)
NAMES_MAX = 1_024
"""Names in the cache: more than the database has."""

_HOURS_MAX = 14
"""Of an offset: no place is further from Greenwich."""

_NAMED_MAX = 6
"""Places that a refusal names: more is no help."""


@lru_cache(maxsize=NAMES_MAX)
def is_ambiguous(name: str) -> bool:
    """Return whether a name of the database is a fixed offset or abbreviation that names no one place."""
    word = name.strip()
    return word in zone_names() and word.upper() not in _PLACES and bool(candidate_zones(word))


def canonical_zone(name: str) -> str | None:
    """Return the IANA name of a place given by an IANA, Rails or Windows name in any case, or None where none is meant.

    Universal time is a zone here; `engine.submission` refuses it of a person.
    """
    found = _names_by_fold().get(name.strip().casefold())
    return None if found is None or (is_ambiguous(found) and found not in UNIVERSAL_TIME) else found


@cache
def place_names() -> tuple[str, ...]:
    """Return every IANA name that is taken as a place or as universal time."""
    return tuple(name for name in sorted(zone_names()) if name in UNIVERSAL_TIME or not is_ambiguous(name))


def candidate_zones(word: str) -> tuple[str, ...]:
    """Return the zones of the places that an abbreviation or an offset may mean; none where it is neither."""
    text = word.strip()
    if text in UNIVERSAL_TIME:
        return _zones_at(0)
    abbreviation = text.upper().removeprefix("ETC/")
    if abbreviation in _CANDIDATES:
        return _CANDIDATES[abbreviation]
    found = _OFFSET.fullmatch(text)
    if found is None or not (found[1] or found[2] or text[:2].lower() in {"gm", "ut"}):
        return ()
    if int(found[3]) > _HOURS_MAX:
        return ()
    minutes = int(found[3]) * 60 + int(found[4] or 0)
    # The signs of `Etc/GMT+5` are those of POSIX: west of Greenwich is plus.
    is_west = (found[2] == "-") is not bool(found[1])
    return _zones_at(-minutes if is_west else minutes)


def zones_of_people(zones: tuple[str, ...]) -> tuple[str, ...]:
    """Return the zones in which a person may be whose stored zones may be fixed offsets: every candidate of those."""
    if not any(map(is_ambiguous, zones)):
        return zones
    places = (candidate_zones(name) if is_ambiguous(name) else (name,) for name in zones)
    return tuple(dict.fromkeys(place for some in places for place in some))


def ambiguous_sentence(word: str) -> str | None:
    """Return why a word is no time zone of a person, with the places that it may mean; None where it is no such word."""
    places = candidate_zones(word)
    if not places:
        return None
    named, rest = places[:_NAMED_MAX], len(places) - _NAMED_MAX
    listed = ", ".join(named) + (f" or one of {rest} more" if rest > 0 else "")
    if rest <= 0 and len(named) > 1:
        listed = f"{', '.join(named[:-1])} or {named[-1]}"
    return f"is no place, and its clock may be an hour off: {word.strip()[:20]} may mean {listed}; send one of them"


@cache
def _names_by_fold() -> dict[str, str]:
    # What the database has is what it says there, but for `EST5EDT`: the same clock, under the name of its place.
    named = {**WINDOWS_NAMES, **RAILS_NAMES, **{name: name for name in sorted(zone_names())}, **_PLACES}
    return {name.casefold(): iana for name, iana in named.items()}


@cache
def _zones_at(minutes: int) -> tuple[str, ...]:
    """Return the inhabited zones that keep an offset at some time of the year, those of known names first."""
    noon = datetime(int(TZDATA_VERSION[:4]), 1, 1, 12, tzinfo=UTC)
    weeks = [noon + timedelta(weeks=week) for week in range(0, 53, 2)]
    offset = timedelta(minutes=minutes)
    found = [name for name in all_country_zones() if any(_offset(name, week) == offset for week in weeks)]
    return tuple(_known_first(found))


def _offset(name: str, at: datetime) -> timedelta | None:
    return at.astimezone(zone(name)).utcoffset()


def _known_first(names: Iterable[str]) -> list[str]:
    known = {place: rank for rank, place in enumerate(dict.fromkeys(RAILS_NAMES.values()))}
    return sorted(names, key=lambda name: (name not in known, not name.startswith("America/"), name))
