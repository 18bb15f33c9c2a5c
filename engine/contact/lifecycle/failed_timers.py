"""What happens to a lead whose timer failed to be decided? It is retried with backoff, or ends as `failure` with a reason.

A decision that is too large stays too large: such a lead ends at once, with reason `too_large`. Any other fault is ours, and
a corrected release may continue the lead: it waits with `status_wait` `decision_failed` and growing backoff, and ends after
a day. Its end steps do not run: they may be the cause.
"""

from msgspec import structs

from engine.contact.commands import slots
from engine.contact.facts.person import Person, wake_at
from engine.contact.lifecycle.ending import end, remove_excess_tokens
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import DAY, EPOCH, HOUR, MINUTE

DECISION_FAILED = "decision_failed"

RETRY_FIRST = MINUTE
RETRY_LATEST = 6 * HOUR
"""Backoff: as long as the lead has failed, within these bounds; a dozen retries a day."""

GIVEN_UP_AFTER = DAY
"""A corrected release runs by then; each retry leaves a dead letter."""


def give_up(person: Person, lead: Lead, reason: str) -> None:
    """Let a lead wait for its next retry, or end it."""
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
    """Let the lead wait; False where it failed for too long, or its timer cannot be postponed."""
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
        lead.slot_queue = lead.awaits_place = None
        lead.next_action_at = lead.recheck_at = again_at
    lead.status, lead.status_wait, lead.held_at = "waiting", DECISION_FAILED, since
    if (wake_at(lead) or EPOCH) <= now:  # its expiry or a disposition is due, and deciding on that is what failed
        return False
    if is_first:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=DECISION_FAILED)
    person.save(lead)
    return True
