"""Whose number is it that cannot be read? An opt-out is taken by each spelling that is known, else as it was sent.

What dials somebody must be sure; what spares somebody need not be. So letters beside a number are left out, an O between
digits is a zero, and national numbers are read in every country that the company dials. A number that stays unread is the
name of a contact of its own, until somebody says whose it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from engine.identity import contact_key
from engine.rules import Rules
from engine.submission.numbers import NUMBER_LENGTH_MAX, ParsedNumber, find_number, holds_two, parts_of, read_number
from schemas.records import Company, Offer
from schemas.requests import UnreadNumber

RAW_PREFIX = "raw:"
"""Behind the company of a contact's key: what follows is no number, but what was sent for one."""

SPELLINGS_MAX = 10
"""Numbers that a text may mean. More come from a list that somebody put into one field."""

SENDER_DIGITS_MIN = 3
"""Of a short number that texts are sent from (E.164, Annex A; CTIA has five or six)."""

_MASKED = re.compile(r"[xX*?_\u2022]{2,}|[0-9][*?_]|[*?_][0-9]")
"""Signs in the place of digits: which ones were meant, nothing says."""

_GROUP = re.compile(r"[0-9A-Za-z|]+", re.ASCII)
_SLIPS = re.compile(r"[oO]{1,4}|(?=.*[0-9])[0-9oOlI|]+", re.ASCII)
_DIGIT_OF = str.maketrans("oOlI|", "00111")
"""A group of digits with letters that look like some: O, l and I."""

_OTHER = re.compile(r"[^0-9+().\-/ ]+")
"""What is no part of a number: words, and signs beside them."""


def raw_key(company_id: int, text: str) -> str:
    """Return the key of a contact that is known by a text alone."""
    plain = " ".join("".join(filter(str.isprintable, text)).split()).casefold()[:NUMBER_LENGTH_MAX]
    return f"{company_id}|{RAW_PREFIX}{plain}"


def unread_text(key: str) -> str | None:
    """Return what was sent for the number of a contact, None where it is a number or an address."""
    address = key.partition("|")[2]
    return address.removeprefix(RAW_PREFIX) if address.startswith(RAW_PREFIX) else None


def is_attempt(text: str) -> bool:
    """Return whether somebody meant to send a number: three digits are the fewest of a sender of texts."""
    return sum(map(str.isdigit, text)) >= SENDER_DIGITS_MIN


def known_countries(rules: Rules, company_id: int, offer_id: int | None = None) -> tuple[str, ...]:
    """Return the countries in which a company knows people, the likeliest first."""
    offer, company = rules.body(Offer, "offer", offer_id), rules.body(Company, "company", company_id)
    found = [country for one in (offer, company) if one is not None for country in (one.country, *one.dial_countries)]
    return tuple(dict.fromkeys(found)) or ("US",)


def is_unread(text: str, country: str) -> bool:
    """Return whether a text names no number, or two."""
    return holds_two(text) or find_number(text, country) is None


def spellings_of(text: str, countries: Iterable[str]) -> tuple[str, ...]:
    """Return every number that a text may mean, in E.164; none where signs stand in the place of digits."""
    found = dict.fromkeys(_spellings(text[: 2 * NUMBER_LENGTH_MAX], tuple(countries)))
    return tuple(found)[:SPELLINGS_MAX]


def _spellings(text: str, countries: tuple[str, ...]) -> Iterator[str]:
    for part in parts_of(text):
        found = _readings(part, countries, find_number)
        if not found and not _MASKED.search(part):
            digits = _OTHER.sub(" ", _GROUP.sub(_without_slips, part))
            found = _readings(digits, countries, read_number)
        yield from found


def _without_slips(group: re.Match[str]) -> str:
    return group[0].translate(_DIGIT_OF) if _SLIPS.fullmatch(group[0]) else group[0]


def _readings(text: str, countries: tuple[str, ...], read: Callable[[str, str], ParsedNumber | None]) -> list[str]:
    """Return what a text is in the likeliest country, else in any other: elsewhere the same digits are somebody else's."""
    found = [number.e164 if (number := read(text, country)) is not None else None for country in countries]
    known = [e164 for e164 in found if e164 is not None]
    return known[:1] if found and found[0] is not None else known


def unread_number(company_id: int, text: str, countries: Iterable[str], *, email: str | None = None) -> UnreadNumber:
    """Return what is known of a number that cannot be read: the text, and the contacts that it may mean."""
    keys = [contact_key(company_id, e164, None) for e164 in spellings_of(text, countries)]
    keys += [contact_key(company_id, None, email)]
    return UnreadNumber(text[:NUMBER_LENGTH_MAX], tuple(dict.fromkeys(key for key in keys if key is not None)))


def key_of_number(company_id: int, text: str, countries: Sequence[str]) -> tuple[str, UnreadNumber | None]:
    """Return the contact key of a number in any form, and what of it cannot be read as one number."""
    if not is_unread(text, countries[0]):
        number = find_number(text, countries[0])
        return contact_key(company_id, None if number is None else number.e164, None) or "", None
    unread = unread_number(company_id, text, countries)
    return (unread.keys[0], None) if len(unread.keys) == 1 else (raw_key(company_id, text), unread)
