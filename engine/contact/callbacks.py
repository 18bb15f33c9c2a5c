"""What is a promise to call back? An instant on the lead, under an id of its own, which the call that keeps it names."""

from engine.contact.person import Person
from schemas.contact import Lead
from schemas.instant import Instant


def take_down(person: Person, lead: Lead, at: Instant) -> None:
    """Promise a call; a promise that was made before is replaced by this one."""
    lead.callback_at = at
    lead.scheduled_callback_id = person.draft.next_id()


def schedule(person: Person, lead: Lead, at: Instant) -> None:
    """Promise a call, and say so."""
    take_down(person, lead, at)
    person.draft.fact("callback.scheduled", lead_id=lead.id, at=at)
