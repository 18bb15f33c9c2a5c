"""Which numbers may be dialled? Those of a type that a person has, in a country that the offer or the company dials.

Premium, shared-cost, personal and satellite numbers are dialled for nobody: a call costs its caller, or the person, up to
several dollars a minute. Inbound calls, texts and opt-outs are taken from any number.
"""

from engine.submission.numbers import ParsedNumber, read_number
from engine.submission.states import TERRITORIES
from schemas.records import Company, Offer

NUMBER_NOT_DIALLED = "number_not_dialled"
COUNTRY_NOT_DIALLED = "country_not_dialled"
"""The `status_wait` of a stored lead whose number is not dialled, by its type or its country."""


def listed_countries(offer: Offer | None, company: Company | None) -> tuple[str, ...]:
    """Return the countries that are dialled: the offer's list, else the company's; empty: every one."""
    if offer is not None and offer.dial_countries:
        return offer.dial_countries
    return () if company is None else company.dial_countries


def is_listed(country: str | None, listed: tuple[str, ...]) -> bool:
    """Return whether a country is dialled; the territories of the United States are where they are."""
    return not listed or country in listed or (country in TERRITORIES and "US" in listed)


def why_undialled(number: ParsedNumber, listed: tuple[str, ...]) -> str | None:
    """Return the code for which a number is not dialled, None where it is."""
    if number.is_costly:
        return NUMBER_NOT_DIALLED
    is_either = number.is_unplaced and "CA" in listed  # a new area code is of the United States or Canada
    return None if is_either or is_listed(number.country, listed) else COUNTRY_NOT_DIALLED


def why_stored_undialled(e164: str, listed: tuple[str, ...]) -> str | None:
    """As `why_undialled`, of a stored number; one that newer metadata does not know any more is dialled as it was."""
    number = read_number(e164, "US")
    return None if number is None else why_undialled(number, listed)


def undialled_sentence(code: str, number: ParsedNumber, listed: tuple[str, ...]) -> str:
    """Return what is wrong with a number that is not dialled, and the cure."""
    if code == NUMBER_NOT_DIALLED:
        return "is of a premium, shared-cost, personal or satellite service, which is never dialled"
    return (
        f"is a number of {number.country}, which is not dialled ({', '.join(listed[:10])}); add {number.country} to "
        "dial_countries of the offer or company and resend"
    )
