"""May a lead's command be ordered now, or are as many open as may be? Then it waits, due, for an outcome to free a place."""

from engine.contact.facts.person import Person
from schemas.contact import Lead
from schemas.requests import SlotAnswered

WAITS_FOR_PLACE = "commands_open"


def has_place(person: Person, lead: Lead, channel: str, grant: SlotAnswered | None) -> bool:
    """Tell whether one more command may be open. Who is not woken in its turn lets those go first who wait for theirs.

    A call whose line was granted is not sent back for that: its line would have to be asked for again.
    """
    is_in_turn = person.has_turn or grant is not None
    return person.draft.has_place(channel, lead.company_id, is_in_turn=is_in_turn)


def wait_for_place(person: Person, lead: Lead, channel: str) -> None:
    """Let a lead wait, due as it is, until a place is free and it is its turn."""
    if lead.status_wait != WAITS_FOR_PLACE:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=WAITS_FOR_PLACE)
    lead.awaits_place = channel
    lead.status, lead.status_wait = "waiting", WAITS_FOR_PLACE
    lead.recheck_at = min(person.now, lead.planned_at or lead.next_action_at or person.now)
    person.save(lead)
