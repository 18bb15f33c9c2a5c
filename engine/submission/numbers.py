"""Which telephone number is it (E.164 normalisation), and where may its owner be?

Validity, zones and formats come from libphonenumber. North American numbers of a cached exchange skip it: all answers here
depend on their first six digits. Digits without a plus are of the country that is named, and never abroad: ten of them are
another country's number as often as one in eighteen. What is a mask (`212-555-XXXX`) or a slip is no number.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

import phonenumbers
from msgspec import Struct, structs
from phonenumbers import NumberParseException, PhoneNumberType, timezone

from engine.calendar.zones import is_zone
from engine.identity import identity_number
from engine.submission.area_codes import AREA_CODE_STATES
from engine.submission.states import PROVINCES, TERRITORIES, zones_of_states

EXTENSION = "extension"
"""The token of a lead that holds the extension behind its number."""

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

_DIGITS_LEAST = 7
"""Of a number: fewer are an extension or a part of one."""

_BETWEEN = re.compile(r"[;,|]|/{2,}| / | or | and ", re.IGNORECASE)
_EXTENSION_WORDS = (
    *("extension", "extensión", "extensao", "extensão", "extn", "ext", "xtn", "xt"),
    *("poste", "durchwahl", "nebenstelle", "apparat", "klappe", "app", "dw", "kl"),
    *("interno", "int", "anexo", "ramal", "toestel", "tst", "anknytning", "ankn"),
    *("wewn", "linka", "добавочный", "доб", "внутр", "вн", "分機", "分机", "内線", "转"),
)
"""What stands between a number and an extension. RFC 3966 (`;ext=`), and the words and their abbreviations in use."""

_EXTENSION = re.compile(
    rf"(?:;ext=([0-9.-]{{1,20}})|[\s,;(]*(?:(?<![^\W\d_])(?:{'|'.join(_EXTENSION_WORDS)})\s*(?:nr|no|n°|nº)?[.:]*"
    r"|(?<=[0-9\s])[xX]\.?|\#|,+|(?<=[0-9])[pw;])\s*([0-9]{1,9})\s*\)?)\s*$",
    re.IGNORECASE,
)
"""The last of a text: by its parameter, a word, `x`, `#`, or the pauses of address books (`,`, `;`, `p`, `w`)."""
_NUMERIC = re.compile(r"[\s+\uff0b]*[\d\s()\[\].\-/\u2010-\u2015\u2212\u00a0\u00ad\u2060\u3000\uff08\uff09\uff0d\uff0e]+")
_VANITY = re.compile(r"\s*(?:\+?1)?[ .-]{0,2}\(?8(?:00|33|44|55|66|77|88)\)?[ .-]{0,2}[A-Za-z]{7}\s*", re.ASCII)
"""Of letters a whole word of seven behind a toll-free code is a number: others are masks, slips and letters for zeros."""

_MEXICAN_TRUNK = re.compile(r"(?:044|045|01|1)([2-9][0-9]{9})")
_ITALIAN = re.compile(r"\+39([1-24-79][0-9]{5,9})")
"""Landlines of Italy begin with a zero, which many leave out behind +39; mobiles begin with 3, services with 8."""

_VIETNAMESE = {
    **{f"16{digit}": f"3{digit}" for digit in range(2, 10)},
    **dict(zip(("120", "121", "122", "126", "128"), ("70", "79", "77", "76", "78"), strict=True)),
    **dict(zip(("123", "124", "125", "127", "129"), ("83", "84", "85", "81", "82"), strict=True)),
    **dict(zip(("186", "188", "199"), ("56", "58", "59"), strict=True)),
}
"""Three digits of a mobile number of Viet Nam until 2018 -> the two in their place."""

_IVORIAN = {**dict.fromkeys("0123", "01"), **dict.fromkeys("456", "05"), **dict.fromkeys("789", "07")}
"""Second digit of a mobile number of Côte d'Ivoire until 2021 -> the prefix of its operator: Moov, MTN, Orange."""


def _add_ivorian_prefix(found: re.Match[str]) -> str:
    """Return a number of Côte d'Ivoire with the prefix of its operator, which digits of the number before 2021 name."""
    number = found[1]
    if number[0] not in "23":
        return f"+225{_IVORIAN[number[1]]}{number}"
    landline = "25" if number[2] == "0" else "21" if number[0] == "2" and number[2] == "8" else "27"
    return f"+225{landline}{number}"


_OF_OLD_PLANS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\+52(?:52)?(?:1|044|045|01)?([2-9][0-9]{9})"), lambda found: f"+52{found[1]}"),
    (re.compile(r"\+5490([1-9][0-9]{9})"), lambda found: f"+549{found[1]}"),
    (re.compile(r"\+390(3[0-9]{8,9})"), lambda found: f"+39{found[1]}"),
    (re.compile(r"\+3808(0[0-9]{9})"), lambda found: f"+38{found[1]}"),
    (re.compile(r"\+225([02-9][0-9]{7})"), _add_ivorian_prefix),
    (re.compile(r"\+229([2-9][0-9]{7})"), lambda found: f"+22901{found[1]}"),
    (re.compile(r"\+840?(1[0-9]{2})([0-9]{7})"), lambda found: f"+84{_VIETNAMESE.get(found[1], found[1])}{found[2]}"),
    (re.compile(r"\+57(?:0[3579])?([1245678][2-8][0-9]{6})"), lambda found: f"+5760{found[1]}"),
)
"""Form of a plan that is over, or with a trunk digit too many -> what it is now. Tried after the plan of today.

Read on 2026-11-30, by country and the day from which the new form holds:

Mexico, 2019-08-03: https://www.commsupdate.com/articles/2019/07/18/mexico-to-introduce-10-digit-phone-numbers-on-3-august/
Argentina, no zero behind the 9: https://wikisum.wiki/wiki/Argentine_telephone_numbering_plan
Italy, 2001-06-30: https://www.punto-informatico.it/i-cellulari-italiani-perdono-lo-zero/
Ukraine, 2009-10-14: http://www.isic.org.ua/en/whatsnew/news/132
Benin, 2024-11-30: https://fr.allafrica.com/stories/202411300249.html
Colombia, 2021-09-01: https://radionacional.co/actualidad/como-marcar-de-celular-a-fijo-en-colombia
Viet Nam, 2018-09-15: https://sggpnews.org.vn/science_technology/mobile-phone-numbers-conversion-to-affect-60-million-subscribers-nationwide-76279.html
and, for which code of Vietnamobile became which: https://convert-phone-numbers.en.aptoide.com/app
Côte d'Ivoire, 2021-01-31: https://7info.ci/telephonie-le-basculement-de-8-a-10-chiffres-prevu-fin-janvier-2021
Which digit was whose there is in no page of ARTCI that could be read (unverified); two programs agree on it:
https://github.com/aurellemeless/cipnn (src/constants.js) and https://github.com/dykoffi/ccu (fonctions.js).
"""

_ISLANDS = tuple(
    re.compile(meta.leading_digits)
    for meta in map(phonenumbers.PhoneMetadata.metadata_for_region, phonenumbers.COUNTRY_CODE_TO_REGION_CODE[1])
    if meta is not None and meta.leading_digits
)
"""What the numbers of the countries of +1 but the United States and Canada begin with."""

_NEW_AREA_CODE = re.compile(r"(?!37|96|.9|.(?P<same>[0-9])(?P=same)|456|710|976)[2-9][0-9]{2}(?!.11)[2-9][0-9]{6}", re.ASCII)
"""What a new area code may be. Those of two like digits at the end are for services (700, 822: NANPA, easily recognizable
codes), 456 is for calls from abroad, 710 for the government, and 976 is an exchange of paid calls."""

_PAID = re.compile(r"\+1(?:600[0-9]{7}|(?!8(?:00|33|44|55|66|77|88))[0-9]{3}976[0-9]{4})")
"""Paid by the caller: the exchange 976 of an area code (pay-per-call within a state), and 600, Canada's services that are
paid so, satellites among them (CNA, guideline of non-geographic codes)."""

_NO_EXCHANGE = re.compile(r"\+1(?!8(?:00|33|44|55|66|77|88))[0-9]{3}[2-9]11[0-9]{4}")
"""No exchange of an area code is like 911 (NANPA, central office codes), whatever the metadata says."""

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
    or of no country, as satellites are. `is_unplaced`: of an area code that is newer than the metadata, so in any state.
    """

    e164: str
    country: str | None
    zones: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    is_ordinary: bool = True
    is_costly: bool = False
    extension: str | None = None
    is_unplaced: bool = False


class _Exchange(Struct, frozen=True):
    country: str | None
    zones: tuple[str, ...]
    states: tuple[str, ...]
    is_paid: bool = False


def dialled_countries(country: str) -> frozenset[str]:
    """Return the countries that an offer of a country dials unless it says otherwise: its own, in +1 all of +1."""
    return _NANP_REGIONS if country in _NANP_REGIONS else frozenset({country})


def read_number(text: str, country: str) -> ParsedNumber | None:
    """Return the number that was written, national numbers being of `country`; None where it is no valid number.

    A leading blank is a plus sign that was not escaped; `00`, and in North America `011`, stand for one.
    """
    if len(text) > NUMBER_LENGTH_MAX:
        return None
    match = _NANP.fullmatch(text) if country in _NANP_REGIONS or text.startswith("+1") else None
    # The rest of the line decides validity nowhere in the two countries whose area codes are listed.
    if match is not None and match[1] in AREA_CODE_STATES:
        found = _exchange(match[1], match[2])
        if found is None:
            return None
        e164 = "+1" + match[1] + match[2] + match[3]
        return ParsedNumber(e164, found.country, found.zones, found.states, not found.is_paid, found.is_paid)
    return _read_any(text, country)


def find_number(text: str, country: str) -> ParsedNumber | None:
    """Return the number of somebody who is looked up or opts out: as `read_number`, and of digits with a country code too.

    It dials nobody, so what may be meant is enough.
    """
    found = read_number(text, country)
    if found is None and text.strip().isdigit() and len(text) <= NUMBER_LENGTH_MAX:
        return _described("+" + text.strip(), None)
    return found


def holds_two(text: str) -> bool:
    """Return whether a text holds two numbers: which one is meant, nothing says."""
    return _BETWEEN.search(text) is not None and len(parts_of(text)) > 1


def parts_of(text: str) -> list[str]:
    """Return the parts of a text that may be a number each; the text itself where it holds no two."""
    parts = [part for part in _BETWEEN.split(text) if sum(map(str.isdigit, part)) >= _DIGITS_LEAST]
    return parts if len(parts) > 1 else [text]


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
    return None if number is None else _Exchange(number.country, number.zones, number.states, number.is_costly)


@lru_cache(maxsize=NUMBERS_MAX)
def _read_any(text: str, country: str) -> ParsedNumber | None:
    whole, extension = _without_extension(text)
    if whole is None:
        return None
    if whole.startswith(" ") and whole[1:2].isdigit():
        found = _described("+" + whole[1:], None)
        if found is not None:
            return _extended(found, extension)
    for spelling, region in _spellings(whole.strip(), country):
        found = _described(spelling, region)
        if found is not None:
            return _extended(found, extension)
    return None


def _without_extension(text: str) -> tuple[str | None, str | None]:
    """Return a text without its extension, and that; None where a letter or sign in it is no part of a number."""
    plain = text.removeprefix("tel:")
    extension = _EXTENSION.search(plain)
    if extension is not None:
        plain = plain[: extension.start()]
    if _VANITY.fullmatch(plain) is None and not _NUMERIC.fullmatch(plain):
        return None, None
    if extension is None:
        return plain, None
    return plain, "".join(filter(str.isdigit, extension[1] or extension[2]))


def _extended(found: ParsedNumber, extension: str | None) -> ParsedNumber:
    return found if extension is None else structs.replace(found, extension=extension)


def _spellings(text: str, country: str) -> Iterator[tuple[str, str | None]]:
    """Yield what a text may mean, the likeliest first: as it is written, then by a way that many write in one country."""
    yield text, country
    digits = "".join(filter(str.isdigit, text))
    if text.startswith("+"):
        digits = "+" + digits
    elif text.startswith("00"):
        digits = "+" + digits[2:]
        yield digits, None
    elif text.startswith("011") and country in _NANP_REGIONS:
        digits = "+" + digits[3:]
    else:
        calling_code = phonenumbers.country_code_for_region(country)
        trunk = _MEXICAN_TRUNK.fullmatch(digits) if country == "MX" else None
        digits = f"+{calling_code}{digits if trunk is None else trunk[1]}"
        if trunk is not None:
            yield digits, None
    yield from ((spelling, None) for spelling in _of_plans(digits))


def _of_plans(e164: str) -> Iterator[str]:
    """Yield the number that a plan has now for a form that it has abolished, or that a person leaves a digit out of."""
    current = identity_number(e164)
    if current != e164 and not e164.startswith("+549"):
        yield current
    for form, present in _OF_OLD_PLANS:
        old = form.fullmatch(e164)
        if old is not None:
            yield present(old)
    landline = _ITALIAN.fullmatch(e164)
    if landline is not None:
        yield f"+390{landline[1]}"


def _described(text: str, country: str | None) -> ParsedNumber | None:
    try:
        number = phonenumbers.parse(text, country)
    except NumberParseException:
        return None
    region = phonenumbers.region_code_for_number(number)
    if region is None or not phonenumbers.is_valid_number_for_region(number, region):
        return _of_new_area_code(number)
    e164 = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    known = region if region in REGIONS else None
    kind = phonenumbers.number_type(number)
    if _NO_EXCHANGE.fullmatch(e164):
        return None
    is_paid = _PAID.fullmatch(e164) is not None
    is_ordinary = known is not None and kind in _ORDINARY and not is_paid
    is_costly = is_paid or kind in _COSTLY or (known is None and kind != PhoneNumberType.TOLL_FREE)
    if kind in _PLACELESS:
        return ParsedNumber(e164, known, is_ordinary=is_ordinary, is_costly=is_costly)
    states = _states(e164, region)
    return ParsedNumber(e164, known, _zones(number, states), states, is_ordinary, is_costly)


@cache
def _is_known(area_code: str) -> bool:
    """Return whether the metadata knows numbers of an area code: then one that it calls invalid is."""
    if any(found.match(area_code) for found in _ISLANDS):
        return True
    tried = (phonenumbers.parse(f"+1{area_code}{exchange}0123") for exchange in range(200, 1_000, 10))
    return any(map(phonenumbers.is_valid_number, tried))


def _of_new_area_code(number: phonenumbers.PhoneNumber) -> ParsedNumber | None:
    """Return a well-formed North American number whose area code the metadata does not know: new ones come each month.

    It may be anywhere in the United States. N9X, 37X, 96X and N11 are kept for other uses (ATIS-0300055).
    """
    digits = str(number.national_number)
    if number.country_code != 1 or _NEW_AREA_CODE.fullmatch(digits) is None or _is_known(digits[:3]):
        return None
    return ParsedNumber(f"+1{digits}", "US", is_unplaced=True)


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
