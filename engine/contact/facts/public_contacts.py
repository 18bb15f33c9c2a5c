"""How often does a person hear of leads that anybody may make? Leads without a key have a cap that nothing resets.

A day's first lead without a key follows its schedule as written. All further ones share a few contacts, which the
contact's head counts: deleting, expiring and restarting leads changes nothing about it.
"""

import re
from typing import Any

from engine.contact.facts.person import Person
from engine.rules import Rules
from schemas.contact import Head, Lead
from schemas.instant import DAY, Instant
from schemas.records import PUBLIC_CONTACTS_DEFAULT, PUBLIC_CONTACTS_MAX, Company

_LINK = re.compile(r"[a-z][a-z0-9+.-]*://|\b[a-z0-9-]{2,}\.[a-z]{2,}(?:[/?#:\s]|$|\b)", re.IGNORECASE)
"""A scheme, or a host name: programs make a link of either."""

_NUMBER = re.compile(r"\d(?:[\s().\u2010-\u2015/-]{0,3}\d){7}")
"""Eight digits, with what people write between them: numbers with fewer reach nobody outside their area."""

_NO_NUMBER = re.compile(r"\d{5}-\d{4}|\d{4}-\d\d-\d\d(?:[T ][\d:.,]*(?:Z|[ +-]*[\d:]*))?|\d\d?[/.]\d\d?[/.]\d{4}", re.ASCII)
"""ZIP+4, and dates with or without a time."""


def mark_public(person: Person, lead: Lead) -> None:
    """Note of a new lead that it was made without a key: whether it is capped, and what no message may repeat."""
    head, now = person.head, person.now
    if head.public_lead_at is None or now - head.public_lead_at >= DAY:
        head.public_lead_at = now
        person.save_head()
    else:
        lead.is_capped = True
    withhold(lead, lead.columns, lead.data)


def withhold(lead: Lead, *given: dict[str, Any]) -> None:
    """Withhold from messages the values that came without a key and hold a link or a telephone number."""
    names = [name for values in given for name, value in values.items() if _holds_address(value)]
    lead.withheld = tuple(dict.fromkeys((*lead.withheld, *names)))


def _holds_address(value: Any) -> bool:
    match value:
        case bool() | None:
            return False
        case str() | int() | float():
            text = str(value).strip()
            return _LINK.search(text) is not None or (
                _NUMBER.search(text) is not None and _NO_NUMBER.fullmatch(text) is None
            )
        case dict():
            return any(_holds_address(name) or _holds_address(part) for name, part in value.items())
        case list() | tuple():
            return any(map(_holds_address, value))
        case _:
            return True


def count_contact(person: Person, lead: Lead) -> None:
    """Count a contact of a capped lead."""
    if lead.is_capped:
        recent = [at for at in person.head.public_contacts if person.now - at < DAY]
        person.head.public_contacts = (*recent, person.now)[-PUBLIC_CONTACTS_MAX:]
        person.save_head()


def cap_ends_at(rules: Rules, head: Head, at: Instant) -> Instant | None:
    """Return when a capped lead may contact its person again, if it may not at an instant."""
    company = rules.body(Company, "company", head.company_id)
    most = PUBLIC_CONTACTS_DEFAULT if company is None else company.public_contacts
    recent = [made for made in head.public_contacts if at - made < DAY]
    if len(recent) < most:
        return None
    return (recent[-most] if most else at) + DAY
