"""How is one submitted value read? Text of a form or a value of JSON becomes a typed one, or a sentence that says why not.

Every parser takes the raw value and raises `FieldError`; its text completes "<field> ..." ("must be a whole number").
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address
from math import isfinite
from typing import Any

from engine.calendar.zone_words import UNIVERSAL_TIME, ambiguous_sentence, canonical_zone
from schemas.errors import SenderError
from schemas.instant import Instant, from_datetime
from schemas.money import AMOUNT_DIGITS, AMOUNT_MAX, amount, is_amount
from schemas.wire import to_json

TEXT_LENGTH_MAX = 255
"""Of a column that is text: what an index row and a screen can hold."""

EMAIL_LENGTH_MAX = 254
"""RFC 5321 4.5.3.1.3: a path holds 256 octets, two of them the angle brackets."""

VALUE_BYTES_MAX = 4 * 1024
"""Of one token; nested ones as JSON."""

DEPTH_MAX = 8
"""Levels of lists and mappings inside one token; deeper ones are mistakes or attacks."""

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})

# What PostgreSQL's bigint, MessagePack and JavaScript's exact numbers all hold.
INTEGER_MAX = 2**53 - 1

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})", re.ASCII)
# An unescaped plus sign in a query arrives as a blank: read it as a plus sign.
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(?:([Zz])| ?([+\- ])([0-9]{2}):?([0-9]{2}))",
    re.ASCII,
)
_EMAIL = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])",
    re.ASCII,
)
_MAIL_LINK = "mailto:"
"""Sites send the address as the link of a page (RFC 6068), as they send numbers with `tel:`."""

_LOCAL_LENGTH_MAX = 64


class FieldError(SenderError, ValueError):
    """The value is invalid; the text completes a sentence that begins with the field's name."""


def is_blank(value: Any) -> bool:
    """Return whether a named field was left empty: null, or text without a visible character."""
    return value is None or (isinstance(value, str) and not value.strip())


def parse_boolean(value: Any) -> bool:
    """Return the truth of 1, true, yes, on, 0, false, no, off in any case. Raises `FieldError`."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise FieldError("must be one of 1, true, yes, on, 0, false, no, off")


def parse_integer(value: Any, *, least: int = -INTEGER_MAX, most: int = INTEGER_MAX) -> int:
    """Return a whole number, also from text. Raises `FieldError` outside `least` to `most`."""
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value.strip())  # `int` strips less than `strip`: no control characters
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError("must be a whole number")
    if not least <= value <= most:
        raise FieldError(f"must be from {least} to {most}")
    return value


def parse_id(value: Any) -> int:
    """Return an internal id: a positive whole number below 2**53. Raises `FieldError`."""
    return parse_integer(value, least=1)


def parse_decimal(value: Any, *, least: float = -1e15, most: float = 1e15) -> float:
    """Return a decimal number, also from text. Raises `FieldError` outside `least` to `most`."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not isfinite(value)):
        raise FieldError("must be a decimal number such as 2.5")
    if not least <= value <= most:
        raise FieldError(f"must be from {least:.15g} to {most:.15g}")
    return float(value)


def parse_amount(value: Any, *, least: int = -AMOUNT_MAX, most: int = AMOUNT_MAX) -> Decimal:
    """Return an amount of money, also from text, by the digits that were sent.

    Raises `FieldError` outside `least` to `most`, and for more decimals than amounts have.
    """
    text = value.strip() if isinstance(value, str) else repr(value)  # the digits of a number, as its sender wrote them
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if not (is_number or (isinstance(value, str) and _DECIMAL.fullmatch(text))):
        raise FieldError("must be an amount such as 12.5")
    found = Decimal(text)
    if not least <= found <= most:
        raise FieldError(f"must be from {least} to {most}")
    if not is_amount(found):
        raise FieldError(f"must have at most {AMOUNT_DIGITS} decimals")
    return amount(found)


def parse_moment(value: Any) -> Instant:
    """Return the instant of `2026-03-07 21:30:00 -0500` or RFC 3339. Raises `FieldError`."""
    match = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise FieldError("must be a date and time with its UTC offset, such as 2026-03-07 21:30:00 -0500")
    year, month, day, hour, minute, second, fraction, zulu, sign, offset_hours, offset_minutes = match.groups()
    try:
        zone = UTC if zulu else _offset(sign, int(offset_hours), int(offset_minutes))
        microsecond = int((fraction or "0")[:6].ljust(6, "0"))
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), microsecond, zone)
        return from_datetime(moment.astimezone(UTC))  # what has no year in UTC has none anywhere
    except (ValueError, OverflowError):
        raise FieldError("must be a date and time that exists") from None


MINUTES_AN_HOUR = 60


def _offset(sign: str, hours: int, minutes: int) -> timezone:
    if minutes >= MINUTES_AN_HOUR:
        raise ValueError("an hour has 60 minutes")
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if sign == "-" else span)


def parse_text(value: Any, *, most: int = TEXT_LENGTH_MAX) -> str:
    """Return text without blanks around it; numbers are taken as text, 7.0 as 7. Raises `FieldError`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FieldError("must be text")
    if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER_MAX:
        value = int(value)  # a spreadsheet sends zip codes and numbers to call as floats
    text = sound_text(str(value)).strip()
    if len(text) > most:
        raise FieldError(f"must have at most {most} characters")
    return text


def sound_text(text: str) -> str:
    """Return the text itself. Raises `FieldError` where no database can store it (NUL) or no log (half a surrogate pair)."""
    if "\x00" in text:
        raise FieldError("must not contain NUL characters")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FieldError("must be valid Unicode text") from None
    return text


def parse_email(value: Any) -> str:
    """Return an e-mail address. Raises `FieldError`."""
    text = parse_text(value, most=EMAIL_LENGTH_MAX)
    if text[: len(_MAIL_LINK)].lower() == _MAIL_LINK:
        text = text[len(_MAIL_LINK) :]
    # Mail programs read what stands in =?...?= (RFC 2047): the mail would go to another address than the stored one.
    if _EMAIL.fullmatch(text) is None or text.index("@") > _LOCAL_LENGTH_MAX or "=?" in text:
        raise FieldError("must be an e-mail address such as ada@example.com (other alphabets as xn--...)")
    return text


def parse_zone(value: Any) -> str:
    """Return the IANA name of a zone, given that, its Rails or its Windows name. Raises `FieldError`."""
    text = parse_text(value)
    zone = canonical_zone(text)
    if zone is None:
        raise FieldError(
            ambiguous_sentence(text)
            or "must be a time zone such as America/New_York; GET /api/v1/collections/time_zone lists them"
        )
    return zone


def parse_person_zone(value: Any) -> str:
    """Return the IANA name of the zone of a person, which universal time is not. Raises `FieldError`."""
    zone = parse_zone(value)
    if zone in UNIVERSAL_TIME:
        raise FieldError(ambiguous_sentence(zone) or "must be the time zone of a place")
    return zone


def parse_address(value: Any) -> str:
    """Return an IPv4 or IPv6 address in its shortest form. Raises `FieldError`."""
    try:
        return str(ip_address(parse_text(value)))
    except ValueError:
        raise FieldError("must be an IP address such as 192.0.2.1") from None


def check_token(value: Any) -> Any:
    """Return a token's value, any JSON. Raises `FieldError` where it is too large, too deep or not JSON."""
    if isinstance(value, str):
        if len(value) > VALUE_BYTES_MAX or len(value.encode(errors="replace")) > VALUE_BYTES_MAX:
            raise FieldError(_TOO_LARGE)
        return sound_text(value)
    if value is None or isinstance(value, bool):
        return value
    if _size(value, 0) > VALUE_BYTES_MAX:
        raise FieldError(_TOO_LARGE)
    return value


_TOO_LARGE = f"must have at most {VALUE_BYTES_MAX} bytes"


def _size(value: Any, depth: int) -> int:
    """Return how many bytes the stored JSON of a value has, up to one per list and object; check it on the way."""
    if depth > DEPTH_MAX:
        raise FieldError(f"must not be nested more than {DEPTH_MAX} levels deep")
    if isinstance(value, str):
        return len(to_json(sound_text(value)))
    if value is None or isinstance(value, bool | int | float):
        return _number_size(value)
    if isinstance(value, Mapping):
        return 2 + sum(_size(_key(name), depth + 1) + _size(part, depth + 1) + 2 for name, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return 2 + sum(_size(part, depth + 1) + 1 for part in value)
    raise FieldError("must be text, a number, true, false, null, a list or an object")


def _number_size(value: float | None) -> int:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise FieldError("must not contain whole numbers of more than 64 bits; send them as text")
    if isinstance(value, float) and not isfinite(value):
        raise FieldError("must not contain NaN or Infinity")
    return len(to_json(value))


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise FieldError("must have text as the names of its fields")
    return name
