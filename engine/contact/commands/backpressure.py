"""May a lead emit a command now, or are too many open? Then it waits, due, until an outcome frees capacity."""

from engine.contact.facts.person import Person
from schemas.contact import Lead
from schemas.requests import SlotAnswered

WAITS_FOR_PLACE = "commands_open"


def has_place(person: Person, lead: Lead, channel: str, grant: SlotAnswered | None) -> bool:
    """Return whether one more command may be open. Out of turn, leads that already wait go first.

    A call with a granted slot counts as in turn: else its slot would have to be requested again.
    """
    is_in_turn = person.has_turn or grant is not None
    return person.draft.has_place(channel, lead.company_id, is_in_turn=is_in_turn)


def wait_for_place(person: Person, lead: Lead, channel: str) -> None:
    """Let a due lead wait at the gate until capacity is free and it is its turn."""
    if lead.status_wait != WAITS_FOR_PLACE:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=WAITS_FOR_PLACE)
    lead.awaits_place = channel
    lead.status, lead.status_wait = "waiting", WAITS_FOR_PLACE
    lead.recheck_at = min(person.now, lead.planned_at or lead.next_action_at or person.now)
    person.save(lead)
