"""What becomes of a lead on whose timer deciding failed? It waits to be tried again, or ends as `failure`, and says why.

What is too large to be written stays too large: such a lead ends at once, with reason `too_large`. Any other fault is ours,
and a corrected release may go on with the lead: it waits with `status_wait` `decision_failed`, ever longer, and ends after a
day. Its end steps are not walked: they may be what fails.
"""

from msgspec import structs

from engine.contact.commands import slots
from engine.contact.facts.person import Person, wake_at
from engine.contact.lifecycle.ending import end, remove_excess_tokens
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import DAY, HOUR, MINUTE

DECISION_FAILED = "decision_failed"

RETRY_FIRST = MINUTE
RETRY_LATEST = 6 * HOUR
"""A lead is tried again after as long as it has failed, within these bounds: a dozen times a day."""

GIVEN_UP_AFTER = DAY
"""A release that was corrected is running by then; each try leaves a dead letter."""


def give_up(person: Person, lead: Lead, reason: str) -> None:
    """Let a lead wait for its next try, or end it."""
    if reason == DECISION_FAILED and _wait_for_retry(person, lead):
        return
    flight, lead.flight = lead.flight, None
    if flight is not None and flight.slot_id is not None:
        slots.release(person, lead.id, flight.slot_id, "unknown")
    remove_excess_tokens(person, lead, reason)
    person.save(lead)
    if lead.status in LIVE_STATUSES:
        end(person, lead, "failure", reason)


def _wait_for_retry(person: Person, lead: Lead) -> bool:
    """Let the lead wait; False where it has failed for too long, or is due for something that cannot wait."""
    now = person.now
    is_first = lead.status_wait != DECISION_FAILED or lead.held_at is None
    since = now if is_first or lead.held_at is None else lead.held_at
    if now - since >= GIVEN_UP_AFTER or lead.status not in LIVE_STATUSES:
        return False
    again_at = now + min(RETRY_LATEST, max(RETRY_FIRST, now - since))
    if lead.flight is not None:
        lead.flight = structs.replace(lead.flight, due_at=again_at)
    else:
        slots.withdraw(person, lead)
        lead.slot_waits, lead.awaits_place = False, None
        lead.next_action_at = lead.recheck_at = again_at
    lead.status, lead.status_wait, lead.held_at = "waiting", DECISION_FAILED, since
    if (wake_at(lead) or 0) <= now:  # its expiry or a disposition is due, and deciding on that is what failed
        return False
    if is_first:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=DECISION_FAILED)
    person.save(lead)
    return True
