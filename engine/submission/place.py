"""In which zones and states may a person be? Every candidate counts: a contact must be allowed in all of them.

A zone that is stated with a key is trusted alone; otherwise zip code, state and number each add theirs, and a zone that a
stranger states is one candidate more. States are always united: a Florida
area code brings Florida's rules, whatever address the person gives (Fla. Stat. 501.059(8)(d) presumes it).
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from msgspec import Struct

import engine.submission
from engine.calendar import country_zones
from engine.law.floor import UNKNOWN_US_ZONES
from engine.submission.numbers import ParsedNumber, read_number
from engine.submission.states import ANY_STATE, STATE_ZONES, state_code
from engine.submission.zip_places import ZIP_DIGITS, zip_place

_ZIP_COUNTRIES = frozenset({"US", "AS", "GU", "MP", "PR", "VI"})
_STATE_COUNTRIES = _ZIP_COUNTRIES | {"CA"}


_FOUND_AGAIN = frozenset({"zip", "state", "number", "default"})
"""Sources of which the tables here decide; a stated zone stays as it was sent."""

_TABLES = ("area_codes.py", "states.py", "zip_places.bin")


class Location(Struct, frozen=True):
    """The candidate zones and states of a person. `source`: stated, zip, state, number, or default (none found)."""

    zones: tuple[str, ...] = ()
    source: str = "default"
    states: tuple[str, ...] = ()


def locate(
    *,
    country: str,
    stated_zone: str | None,
    zip_code: str | None,
    state: str | None,
    number: ParsedNumber | None,
    trusts_stated: bool = True,
) -> Location:
    """Return the candidates of what is known; `source` is the first of stated, zip, state, number that gave a zone."""
    zip_zone, zip_state = _zip(zip_code) if zip_code and country in _ZIP_COUNTRIES else (None, None)
    code = state_code(state) if state and country in _STATE_COUNTRIES else None
    states = tuple(dict.fromkeys(found for found in (code, zip_state, *(number.states if number else ())) if found))
    if not states and number is not None and number.is_unplaced:
        states = ANY_STATE  # the area code is new, and may be in any of them: the strictest of all
    if stated_zone is not None and trusts_stated:
        return Location((stated_zone,), "stated", states)
    found = (
        ("zip", (zip_zone,) if zip_zone else ()),
        ("state", STATE_ZONES[code] if code else ()),
        ("number", number.zones if number else ()),
    )
    zones = tuple(dict.fromkeys(zone for _, some in found for zone in some))
    if stated_zone is not None:
        # Alone it would decide the hours: beside it stand all zones that the number may be in.
        others = zones or (() if number is None else _zones_of_country(number.country or country))
        zones = tuple(dict.fromkeys((*others, stated_zone)))
    return Location(zones, next((source for source, some in found if some), "default"), states)


def _zones_of_country(country: str) -> tuple[str, ...]:
    return UNKNOWN_US_ZONES if country == "US" else country_zones(country)


def _zip(text: str) -> tuple[str | None, str | None]:
    # Sent as a number, 02108 has lost its zero.
    return zip_place(text[:ZIP_DIGITS].zfill(ZIP_DIGITS))


def located_again(columns: Mapping[str, Any], caller_id: str | None, known: Location) -> Location:
    """Return the candidates of a stored person by the tables of this release.

    A zone that was trusted alone stays, and so does what is known of a person of whom no country is.
    """
    number = read_number(caller_id, "US") if caller_id else None
    country = columns.get("country") or (number.country if number else None)
    if known.source not in _FOUND_AGAIN or country is None:
        return known
    found = locate(
        country=country,
        stated_zone=columns.get("time_zone"),
        zip_code=columns.get("zip_postal_code"),
        state=columns.get("state_province"),
        number=number,
        trusts_stated=False,
    )
    states = tuple(dict.fromkeys((*found.states, *known.states)))
    return Location(found.zones or known.zones, found.source if found.zones else known.source, states)


@cache
def places_version() -> str:
    """Return the digest of the tables that say where a person may be; a plan rests on them."""
    folder = files(engine.submission)
    return sha256(b"".join(folder.joinpath(name).read_bytes() for name in _TABLES)).hexdigest()[:16]
