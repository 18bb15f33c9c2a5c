"""Is a telephone contacted at all where it is? Not one that is never dialled, nor one in a country that is not.

Nor where the law asks for a consent that the lead does not state, or bars the sector of its offer.

Asked at every plan, so also before a due step is carried out: lists of countries may have changed since the lead came.
"""

from functools import lru_cache

from engine.contact.consent.opt_in import CONSENT_MISSING, is_consented, is_customer
from engine.contact.facts.person import Person
from engine.contact.timing.contact_hours import TELEPHONE, countries_of, limits
from engine.submission.dialling import listed_countries, why_stored_undialled
from schemas.contact import Lead
from schemas.law import CHANNELS, Purpose, Sector
from schemas.records import Company, Offer

SECTOR_BARRED = "sector_barred"
"""The `status_wait` where a law lets nobody be contacted about what the offer sells."""

UNREVIEWED_COUNTRY = "unreviewed_country"
"""The `status_wait` of telemarketing to a country whose law the pack does not hold, where the company holds that."""

NUMBERS_MAX = 65_536
"""Numbers in the cache with the lists that were asked, at some 200 bytes."""

_why_undialled = lru_cache(maxsize=NUMBERS_MAX)(why_stored_undialled)


def why_not_contacted(person: Person, lead: Lead, channel: str, purpose: Purpose) -> str | None:
    """Return the code for which a lead is not contacted on a channel, None where it may be."""
    if channel not in CHANNELS:
        return None
    offer = person.rules.body(Offer, "offer", lead.offer_id)
    sector = None if offer is None else offer.sector
    if channel not in TELEPHONE:
        return _why_unlawful(person, lead, channel, purpose, sector)
    if lead.caller_id is None:
        return None
    company = person.rules.body(Company, "company", lead.company_id)
    code = _why_undialled(lead.caller_id, listed_countries(offer, company))
    code = code or _why_unlawful(person, lead, channel, purpose, sector)
    if code is None and purpose == "telemarketing" and company is not None and company.unreviewed_countries == "hold":
        return None if all(map(person.law.is_reviewed, countries_of(lead))) else UNREVIEWED_COUNTRY
    return code


def _why_unlawful(person: Person, lead: Lead, channel: str, purpose: Purpose, sector: Sector | None) -> str | None:
    """Return the code for which the law lets nobody contact a lead, whatever the hour."""
    legal = limits(person.law, lead, channel, person.now, purpose)
    if legal.consent_rules and not is_consented(lead) and (legal.contract_rules or not is_customer(lead)):
        return CONSENT_MISSING
    if sector is None:
        return None
    rows = person.law.sector_rows(person.now, lead.states, countries_of(lead), channel, purpose)
    for row in rows:
        if sector not in row.sectors or (row.excepts_contracts and is_customer(lead)):
            continue
        if row.bars:
            return SECTOR_BARRED
        if row.requires_consent and not is_consented(lead):
            return CONSENT_MISSING
    return None
