"""What does the answer of a veto hook do? Allowed, the lead goes on as if it were due now; denied, its step is skipped.

A hook that does not answer allows or denies as its subscription says (`on_error`). Where it denies, the lead is held and the
hook is asked again with backoff: an outage of its system skips no step. A look-up of a suppression list that is not answered
always does that. Where it denies, the person is put on the list.
"""

from typing import Any, Literal

from engine.contact.facts.person import Person
from engine.contact.lifecycle import suppressing
from engine.contact.lifecycle.step_position import skip_step
from engine.contact.lifecycle.walk import advance
from engine.contact.schedule.cadence import cadence_for
from engine.contact.timing.plan import hold
from schemas.contact import LIVE_STATUSES, Flight, Lead
from schemas.instant import DAY
from schemas.records import Subscription

DENIED, UNANSWERED, LOOKUP_FAILED = "veto_denied", "veto_unanswered", "suppression_lookup_failed"

LOOKED_UP = "lookup"
"""Source of an entry that a look-up has made."""

LOOKED_UP_FOR = 31 * DAY
"""How long such an entry counts before the other system is asked again. The national do-not-call registry may be used in a
version of at most 31 days (16 CFR 310.4(b)(3)(iv))."""


def take_answer(
    person: Person, lead: Lead, flight: Flight, *, allows: bool | None, detail: str | None = None, advances: bool = True
) -> None:
    """Take the answer to an open question, None where there was none; the lead `advances`, or the caller leads it on."""
    assert flight.asks is not None  # noqa: S101 - the caller asked for a question
    hook = person.rules.body(Subscription, "subscription", flight.asks)
    answered = "unanswered" if allows is None else "allowed" if allows else "denied"
    about: dict[str, Any] = {"subscription_id": flight.asks, "command_id": flight.command_id, "step_id": flight.step_id}
    about |= {} if flight.asks_list is None else {"suppression_list_id": flight.asks_list}
    about |= {} if detail is None else {"detail": detail}
    person.draft.fact("veto.answered", lead_id=lead.id, **about, answer=answered)
    lead.flight = None
    person.save(lead)
    is_lookup = flight.asks_list is not None
    if flight.asks_list is not None and allows is False:  # it holds for every lead, whatever became of this one
        allows = _put_on_list(person, flight.asks_list)
    if lead.status not in LIVE_STATUSES or not advances:
        return
    lead.status, lead.status_wait = "queue", None
    if flight.enrolment == lead.enrolment and flight.step_id == lead.step:
        is_allowed = (hook is None or hook.on_error == "allow") if allows is None and not is_lookup else allows
        if is_allowed:
            lead.allowed_by = (*lead.allowed_by, flight.asks)
        elif allows is None and not lead.ending and not _has_expired(lead, person):
            hold(person, lead, LOOKUP_FAILED if is_lookup else UNANSWERED)
            return
        elif not is_lookup:
            _skip(person, lead, DENIED if allows is False else UNANSWERED)
        elif allows is None:
            _skip(person, lead, LOOKUP_FAILED)
    advance(person, lead)


def _put_on_list(person: Person, list_id: int) -> Literal[False] | None:
    """Put the person on a list; return None where they are on as many as possible: then the lead is held, as unanswered."""
    if not suppressing.has_room(person, list_id):
        return None
    suppressing.add(person, list_id, source=LOOKED_UP, expires_at=person.now + LOOKED_UP_FOR)
    return False


def _skip(person: Person, lead: Lead, reason: str) -> None:
    cadence = cadence_for(person, lead)
    lead.requested_next_action_at, lead.base_at = None, person.now
    skip_step(person, lead, cadence, cadence.step(lead.step or ""), reason)


def _has_expired(lead: Lead, person: Person) -> bool:
    return lead.expires_at is not None and lead.expires_at <= person.now
