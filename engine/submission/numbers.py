"""Which telephone number is it (E.164 normalisation), and where may its owner be?

Validity, zones and formats come from libphonenumber. North American numbers of a cached exchange skip it: all answers here
depend on their first six digits.
"""

import re
from functools import lru_cache

import phonenumbers
from msgspec import Struct
from phonenumbers import NumberParseException, PhoneNumberType, timezone

from engine.calendar.zones import is_zone
from engine.submission.area_codes import AREA_CODE_STATES
from engine.submission.states import PROVINCES, TERRITORIES, zones_of_states

NUMBER_LENGTH_MAX = 64
"""E.164 has 15 digits; the rest is room for brackets, blanks and an extension."""

EXCHANGES_MAX = 65_536
"""Exchanges (area code and the three digits behind it) in the cache, at some 200 bytes; there are about 160,000."""

NUMBERS_MAX = 16_384
"""Other spellings and countries in the cache, at some 400 bytes."""

ZONES_MAX = 6
"""A number with more possible zones tells nothing: toll-free numbers have 42."""

REGIONS: frozenset[str] = frozenset(phonenumbers.SUPPORTED_REGIONS)
"""The countries whose numbers are known, as two capital letters."""

_NANP_REGIONS = frozenset(phonenumbers.COUNTRY_CODE_TO_REGION_CODE[1])
_NANP = re.compile(r"\s*(?:\+?1)?[ .-]{0,2}\(?([2-9][0-9]{2})\)?[ .-]{0,2}([2-9][0-9]{2})[ .-]?([0-9]{4})\s*", re.ASCII)
_PLACELESS = frozenset(
    {
        PhoneNumberType.TOLL_FREE,
        PhoneNumberType.PREMIUM_RATE,
        PhoneNumberType.SHARED_COST,
        PhoneNumberType.VOIP,
        PhoneNumberType.PERSONAL_NUMBER,
        PhoneNumberType.PAGER,
        PhoneNumberType.UAN,
        PhoneNumberType.VOICEMAIL,
    }
)


_COSTLY = frozenset({PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST, PhoneNumberType.PERSONAL_NUMBER})
"""Dialled for nobody, with a key or without."""

_ORDINARY = frozenset(
    {
        PhoneNumberType.FIXED_LINE,
        PhoneNumberType.MOBILE,
        PhoneNumberType.FIXED_LINE_OR_MOBILE,
        PhoneNumberType.VOIP,
    }
)
"""What a person has at home or in the pocket. Premium, shared-cost, satellite, international and personal numbers cost the
caller, or the person, up to several dollars a minute."""


class ParsedNumber(Struct, frozen=True):
    """A valid number: E.164, its country, and the zones and states it may be in (empty where it does not say).

    `is_ordinary`: of a type that a person has; a number of no country never is. `is_costly`: premium, shared-cost, personal,
    or of no country, as satellites are.
    """

    e164: str
    country: str | None
    zones: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    is_ordinary: bool = True
    is_costly: bool = False


class _Exchange(Struct, frozen=True):
    country: str | None
    zones: tuple[str, ...]
    states: tuple[str, ...]


def dialled_countries(country: str) -> frozenset[str]:
    """Return the countries that an offer of a country dials unless it says otherwise: its own, in +1 all of +1."""
    return _NANP_REGIONS if country in _NANP_REGIONS else frozenset({country})


def read_number(text: str, country: str) -> ParsedNumber | None:
    """Return the number that was written, national numbers being of `country`; None where it is no valid number.

    A leading blank is a plus sign that was not escaped; digits that are no number of the country may carry a country code.
    """
    if len(text) > NUMBER_LENGTH_MAX:
        return None
    match = _NANP.fullmatch(text) if country in _NANP_REGIONS or text.startswith("+1") else None
    # The rest of the line decides validity nowhere in the two countries whose area codes are listed.
    if match is not None and match[1] in AREA_CODE_STATES:
        found = _exchange(match[1], match[2])
        if found is None:
            return None
        return ParsedNumber("+1" + match[1] + match[2] + match[3], found.country, found.zones, found.states)
    return _read_any(text, country)


def country_of_number(e164: str) -> str | None:
    """Return the country of a number as two capital letters, None where it is not valid or of no one country."""
    found: _Exchange | ParsedNumber | None
    if e164.startswith("+1") and e164[2:5] in AREA_CODE_STATES:
        found = _exchange(e164[2:5], e164[5:8])
    else:
        found = _read_any(e164, "US")
    return None if found is None else found.country


@lru_cache(maxsize=EXCHANGES_MAX)
def _exchange(area_code: str, exchange: str) -> _Exchange | None:
    number = _read_any(f"+1{area_code}{exchange}0100", "US")
    return None if number is None else _Exchange(number.country, number.zones, number.states)


@lru_cache(maxsize=NUMBERS_MAX)
def _read_any(text: str, country: str) -> ParsedNumber | None:
    if text.startswith(" ") and text[1:2].isdigit():
        found = _described("+" + text[1:], None)
        if found is not None:
            return found
    found = _described(text, country)
    if found is None and text.strip().isdigit():
        return _described("+" + text.strip(), None)
    return found


def _described(text: str, country: str | None) -> ParsedNumber | None:
    try:
        number = phonenumbers.parse(text, country)
    except NumberParseException:
        return None
    region = phonenumbers.region_code_for_number(number)
    if region is None or not phonenumbers.is_valid_number_for_region(number, region):
        return None
    e164 = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    known = region if region in REGIONS else None
    kind = phonenumbers.number_type(number)
    is_ordinary = known is not None and kind in _ORDINARY
    is_costly = kind in _COSTLY or (known is None and kind != PhoneNumberType.TOLL_FREE)
    if kind in _PLACELESS:
        return ParsedNumber(e164, known, is_ordinary=is_ordinary, is_costly=is_costly)
    states = _states(e164, region)
    return ParsedNumber(e164, known, _zones(number, states), states, is_ordinary, is_costly)


def _zones(number: phonenumbers.PhoneNumber, states: tuple[str, ...]) -> tuple[str, ...]:
    # Of a mobile number whose digits name no place, every zone of its country.
    zones = tuple(zone for zone in timezone.time_zones_for_number(number) if is_zone(zone))
    if PROVINCES.intersection(states):
        # The metadata lends places the clock of a bigger one, which may change its clocks by another law.
        own = zones_of_states(states)
        return zones if len(states) == 1 and zones and set(zones).issubset(own) else own
    return zones if len(zones) <= ZONES_MAX else ()


def _states(e164: str, region: str) -> tuple[str, ...]:
    if region in TERRITORIES:
        return (region,)
    return AREA_CODE_STATES.get(e164[2:5], ()) if e164.startswith("+1") else ()
