"""Which contact does a request address, and where may the person be? Reads numbers in any usual spelling, and addresses."""

from typing import Any

from adapters.http.exchange.access import TokenTarget
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import LeadFilter, Paging
from engine.identity import contact_key
from engine.rules import Rules
from engine.submission.fields import FieldError, is_blank, parse_email
from engine.submission.numbers import ParsedNumber, find_number, read_number
from engine.submission.reading import Reading
from engine.submission.unread_numbers import is_unread, key_of_number, known_countries
from schemas.contact import LIVE_STATUSES
from schemas.records import Company, Offer, Schedule
from schemas.requests import UnreadNumber

NEWEST_LOOKED_AT = 100
"""Newest leads with one e-mail address that are searched for a lead of the token."""


def country_of(rules: Rules, company_id: int, target: TokenTarget | None = None) -> str:
    """Return the country of national numbers: the offer's, else the company's."""
    offer_id = None if target is None else target.offer_id
    if target is not None and target.schedule_id is not None:
        schedule = rules.body(Schedule, "schedule", target.schedule_id)
        offer_id = None if schedule is None else schedule.offer_id
    owner: Offer | Company | None = rules.body(Offer, "offer", offer_id) or rules.body(Company, "company", company_id)
    return "US" if owner is None else owner.country


def read_number_field(
    exchange: Exchange, parameters: Parameters, field: str, *, is_dialled: bool = False
) -> ParsedNumber | None:
    """Read a telephone number from a field; a national number is of the company's country.

    One that is dialled is never abroad without a plus.
    """
    value = exchange.fields.get(field)
    if is_blank(value):
        return None
    country = country_of(exchange.services.source.rules, exchange.company_id)
    is_text = isinstance(value, str | int) and not isinstance(value, bool)
    read = read_number if is_dialled else find_number
    found = read(str(value), country) if is_text else None
    if found is None:
        parameters.refuse(field, "must be a valid telephone number such as +13055550123", code="invalid_number")
    return found


def location_fields(exchange: Exchange, number: ParsedNumber, *, company_id: int | None = None) -> dict[str, Any]:
    """Return country, time zones and states that a number suggests, as fields of a request that may create a lead.

    `company_id` is that of the key, unless it is given.
    """
    owner = exchange.company_id if company_id is None else company_id
    country = number.country or country_of(exchange.services.source.rules, owner)
    place = Reading({}, exchange.now).place(country, number)
    columns = {} if number.country is None else {"country": number.country}
    return {"columns": columns, "zones": place.zones, "zone_source": place.source, "states": place.states}


async def find_opting_out(exchange: Exchange, text: str, target: TokenTarget) -> tuple[str, UnreadNumber | None]:
    """Return the contact key for a number or e-mail address of somebody who opts out, and what of it cannot be read.

    An opt-out is never refused for the form of its number.
    """
    rules = exchange.services.source.rules
    if "@" in text or not is_unread(text, country_of(rules, target.company_id, target)):
        return await find_contact_key(exchange, text, target), None
    countries = (country_of(rules, target.company_id, target), *known_countries(rules, target.company_id, target.offer_id))
    return key_of_number(target.company_id, text, countries)


async def find_contact_key(exchange: Exchange, text: str, target: TokenTarget) -> str:
    """Return the contact key for a number or e-mail address in a path. Raises `ProblemError` for anything else."""
    if "@" in text:
        return await _by_email(exchange, text, target)
    number = find_number(text, country_of(exchange.services.source.rules, target.company_id, target))
    if number is None:
        sentence = "must be a telephone number such as +13055550123 or an e-mail address"
        raise ProblemError("validation_failed", "This is not a telephone number.", {"caller_id": [sentence]})
    return contact_key(target.company_id, number.e164, None) or ""


async def _by_email(exchange: Exchange, text: str, target: TokenTarget) -> str:
    """Return the contact key for an address. A lead with a number has the number's key: the projection finds it."""
    try:
        email = parse_email(text)
    except FieldError as error:
        raise ProblemError("validation_failed", "This is not an e-mail address.", {"caller_id": [str(error)]}) from None
    page = await exchange.services.reads.leads(
        target.company_id, LeadFilter(email=email), Paging(per_page=NEWEST_LOOKED_AT, counted=False)
    )
    schedule_ids = exchange.services.authenticator.schedule_ids(target)
    matching = [
        row
        for row in page.rows
        if row["schedule_id"] in schedule_ids or (target.offer_id is not None and row["offer_id"] == target.offer_id)
    ]
    # The same rule as for the leads of one number: the newest live one, else the newest.
    found = next((row for row in matching if row["status"] in LIVE_STATUSES), next(iter(matching), None))
    return contact_key(target.company_id, None, email) or "" if found is None else str(found["contact_key"])
