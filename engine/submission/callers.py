"""Who calls? A person by their number; nobody knows where the carrier says a word, an address or nothing instead."""

import re

from engine.identity import contact_key, withheld_key
from engine.submission.numbers import ParsedNumber, find_number

SAID_LENGTH_MAX = 200
"""Of what a carrier says instead of a number; a SIP address may have more (RFC 3261 has no bound)."""

WITHHELD_DIGITS = frozenset({"266696687", "7378742833", "2562533", "8656696", "86282452253"})
"""ANONYMOUS, RESTRICTED, BLOCKED, UNKNOWN and UNAVAILABLE on the keys of a telephone. Twilio sends them for a number
("Why am I getting calls from these strange numbers?"); the second would be of Austin, Texas."""

_URI = re.compile(r"<?(?:sips?|tel):(\+?[0-9.() -]+)(?:[;@>].*)?", re.IGNORECASE)
"""RFC 3966, and the telephone number of a SIP address (RFC 3261, 19.1.6)."""


def said_by_carrier(text: str | None) -> str:
    """Return what a carrier said of a caller, as one line."""
    return " ".join((text or "").split())[:SAID_LENGTH_MAX]


def caller_of(said: str, country: str) -> ParsedNumber | None:
    """Return the number of a caller; None where it is withheld, or there is none. A national one is of the country."""
    in_uri = _URI.fullmatch(said)
    number = said if in_uri is None else in_uri[1]
    return None if number.lstrip("+") in WITHHELD_DIGITS else find_number(number, country)


def caller_key(company_id: int, caller: ParsedNumber | None, call_ref: str) -> str:
    """Return the contact key of a call; without a number each call is of somebody of its own."""
    found = None if caller is None else contact_key(company_id, caller.e164, None)
    return found or withheld_key(company_id, call_ref)
