"""Is a telephone contacted at all where it is? Not one that is never dialled, nor one in a country that is not.

Asked at every plan, so also before a due step is carried out: lists of countries may have changed since the lead came.
"""

from functools import lru_cache

from engine.contact.consent.opt_in import CONSENT_MISSING, is_consented
from engine.contact.facts.person import Person
from engine.contact.timing.contact_hours import TELEPHONE, countries_of, limits
from engine.submission.dialling import listed_countries, why_stored_undialled
from schemas.contact import Lead
from schemas.law import Purpose
from schemas.records import Company, Offer

UNREVIEWED_COUNTRY = "unreviewed_country"
"""The `status_wait` of telemarketing to a country whose law the pack does not hold, where the company holds that."""

NUMBERS_MAX = 65_536
"""Numbers in the cache with the lists that were asked, at some 200 bytes."""

_why_undialled = lru_cache(maxsize=NUMBERS_MAX)(why_stored_undialled)


def why_not_contacted(person: Person, lead: Lead, channel: str, purpose: Purpose) -> str | None:
    """Return the code for which a lead is not contacted on a channel, None where it may be."""
    if channel not in TELEPHONE or lead.caller_id is None:
        return None
    company = person.rules.body(Company, "company", lead.company_id)
    offer = person.rules.body(Offer, "offer", lead.offer_id)
    code = _why_undialled(lead.caller_id, listed_countries(offer, company))
    if code is None and limits(person.law, lead, channel, person.now, purpose).consent_rules and not is_consented(lead):
        return CONSENT_MISSING
    if code is None and purpose == "telemarketing" and company is not None and company.unreviewed_countries == "hold":
        known = person.law.reviewed_countries
        return UNREVIEWED_COUNTRY if any(country not in known for country in countries_of(lead)) else None
    return code
