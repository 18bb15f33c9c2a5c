"""In which zones and states may a person be? Every candidate counts: a contact must be allowed in all of them.

A zone that is stated with a key is trusted alone; otherwise zip code, state and number each add theirs, and a zone that a
stranger states is one candidate more. States are always united: a Florida
area code brings Florida's rules, whatever address the person gives (Fla. Stat. 501.059(8)(d) presumes it).
"""

from msgspec import Struct

from engine.calendar import country_zones
from engine.law.floor import UNKNOWN_US_ZONES
from engine.submission.numbers import ParsedNumber
from engine.submission.zip_places import ZIP_DIGITS, zip_place

_STATE_NAMES = """
AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC District of Columbia
FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine
MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada
NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon
PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia
WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming
AS American Samoa|GU Guam|MP Northern Mariana Islands|PR Puerto Rico|VI Virgin Islands
AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NL Newfoundland and Labrador|NS Nova Scotia
NT Northwest Territories|NU Nunavut|ON Ontario|PE Prince Edward Island|QC Quebec|SK Saskatchewan|YT Yukon
"""

# One zone for every way in which clocks run in the state; a test holds it against the zone of every zip code.
_STATE_ZONES = """
America/New_York: CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC TN VA VT WV ON QC NU
America/Chicago: AL AR FL IA IL IN KS KY LA MI MN MO MS ND NE OK SD TN TX WI MB NU ON
America/Denver: AZ CO ID KS MT ND NE NM OR SD TX UT WY AB BC NT NU
America/Phoenix: AZ BC YT
America/Los_Angeles: CA ID NV OR WA BC
America/Anchorage: AK
America/Adak: AK
Pacific/Honolulu: HI
America/Halifax: NB NS PE NL QC
America/St_Johns: NL
America/Regina: SK
America/Puerto_Rico: PR VI QC
Pacific/Guam: GU MP
Pacific/Pago_Pago: AS
"""

STATES: dict[str, str] = {row[:2]: row[3:] for line in _STATE_NAMES.strip().splitlines() for row in line.split("|")}
"""Code -> name, of the United States with their territories, and of Canada."""

STATE_ZONES: dict[str, tuple[str, ...]] = {
    state: tuple(
        zone for zone, states in (line.split(":") for line in _STATE_ZONES.strip().splitlines()) if state in states.split()
    )
    for state in STATES
}
"""Code -> every zone that is in use there."""

_ZIP_COUNTRIES = frozenset({"US", "AS", "GU", "MP", "PR", "VI"})
_STATE_COUNTRIES = _ZIP_COUNTRIES | {"CA"}

_CODES_BY_NAME = {name.casefold(): code for code, name in STATES.items()}


class Location(Struct, frozen=True):
    """The candidate zones and states of a person. `source`: stated, zip, state, number, or default (none found)."""

    zones: tuple[str, ...] = ()
    source: str = "default"
    states: tuple[str, ...] = ()


def state_code(text: str) -> str | None:
    """Return the code of a state or province given as code or name in any case, or None where it is not known."""
    code = text.strip().upper()
    return code if code in STATES else _CODES_BY_NAME.get(text.strip().casefold())


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
