"""What is a promise to call back? An instant on the lead, under an id of its own, which the call that keeps it names.

It may have an owner: a buyer, or a group, who has some minutes before others make the call. A call that reached nobody is
made again, twice; one that no gate let through is ordered again.
"""

from typing import Any

from msgspec import structs

from engine.contact.commands import backpressure, buyers, slots
from engine.contact.commands.buyers import ANY_BUYER, BuyerChoice
from engine.contact.commands.emission import CALLBACK, Connection, call_back
from engine.contact.facts.person import RECHECK_AFTER, Person
from engine.contact.lifecycle.stop import is_closed
from engine.contact.schedule.cadence import CONTACTS, Cadence
from engine.contact.timing.earliest import base_of
from engine.contact.timing.holding import hold_callback
from engine.contact.timing.plan import hold, plan_callback, schedule_recheck
from engine.identity import command_id
from schemas.contact import CallbackOwner, Flight, Lead
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant
from schemas.outcomes import GATE_OUTCOMES, Outcome
from schemas.requests import SlotAnswered
from schemas.schedule import Step

OWNER_UNAVAILABLE = "callback_owner_unavailable"

RETRIES_MAX = 2
RETRIED_WITHIN = 2 * DAY
"""How often, and how long after it was promised, a call back is tried again (research/domain.md 3.7)."""

DROP_BACKOFF = 30 * SECOND
DROP_BACKOFF_MAX = HOUR
"""After a gate dropped it, a call back is ordered again a quarter of the time later that it has been due, within these."""


def set_callback(person: Person, lead: Lead, at: Instant, owner: CallbackOwner | None = None) -> None:
    """Promise a call; a promise that was made before is replaced by this one."""
    lead.callback_at = lead.callback_promised_at = at
    lead.scheduled_callback_id = person.draft.next_id()
    lead.callback_owner, lead.callback_due_at, lead.callback_tries = owner, None, 0


def schedule_callback(person: Person, lead: Lead, at: Instant, owner: CallbackOwner | None = None) -> None:
    """Promise a call, and say so."""
    set_callback(person, lead, at, owner)
    about: dict[str, Any] = {} if owner is None else {"owner": structs.asdict(owner)}
    person.draft.fact("callback.scheduled", lead_id=lead.id, at=at, **about)


def is_callback_first(person: Person, lead: Lead, step: Step) -> bool:
    """Tell whether a promised call goes before the step: before every contact, and before what is due only later."""
    if lead.callback_at is None or lead.ending:
        return False
    return isinstance(step, CONTACTS) or base_of(person, lead) > max(lead.callback_at, person.now)


def wait_for_callback(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> bool:
    """Hold the steps that would contact a person to whom a call was promised, until that call; place it when it is due."""
    if not lead.caller_id or is_closed(person, lead, "call") or _has_no_callback_left(lead, cadence):
        lead.callback_at = None
        person.draft.fact("callback.cancelled", lead_id=lead.id, reason="not_callable")
        return True
    if not plan_callback(person, lead, cadence):
        return False
    if person.draft.behind:
        schedule_recheck(person, lead, RECHECK_AFTER)
    elif not hold_callback(person, lead):
        place_callback(person, lead, cadence, grant)
    return False


def _has_no_callback_left(lead: Lead, cadence: Cadence) -> bool:
    """A callback may go one beyond the limit, never two (research/domain.md 3.7)."""
    most = lead.attempts_max if lead.attempts_max is not None else cadence.schedule.max_contact_attempts
    return most is not None and lead.attempts > most


def place_callback(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> None:
    """Order the call, which is due: for its owner, and for others once the owner's minutes are over."""
    if not backpressure.has_place(person, lead, "call", grant):
        backpressure.wait_for_place(person, lead, "call")
        return
    if lead.callback_owner is None:
        _emit(person, lead, cadence, Connection(callback=True))
        return
    lead.callback_due_at = lead.callback_due_at or person.now
    turn, until = _choice_at(lead.callback_owner, lead.callback_due_at, person.now)
    named = turn if turn.is_anyone else buyers.with_traffic_source(person, lead, turn)
    if grant is None and buyers.is_limited(person, named):
        _request_slot(person, lead, named, until)
        return
    connection = buyers.connection(person, lead, named, grant)
    if connection is None:
        hold(person, lead, OWNER_UNAVAILABLE)
        if until is not None and lead.recheck_at is not None:
            lead.recheck_at = min(lead.recheck_at, until)
        return
    _emit(person, lead, cadence, structs.replace(connection, callback=True))


def retry_callback(  # noqa: PLR0917 - what came of which call
    person: Person, lead: Lead, flight: Flight, outcome: str, row: Outcome, occurred_at: Instant
) -> bool:
    """Promise anew what was not kept: nobody was reached, or no gate let the order through."""
    promised_at = lead.callback_promised_at
    if flight.step_id != CALLBACK or promised_at is None or lead.callback_at is not None or not lead.caller_id:
        return False
    at: Instant | None = None
    if outcome in GATE_OUTCOMES:
        at = person.now + min(DROP_BACKOFF_MAX, max(DROP_BACKOFF, (person.now - promised_at) // 4))
    elif _reached_nobody(outcome, row) and lead.callback_tries < RETRIES_MAX:
        lead.callback_tries += 1
        at = occurred_at + row.retry_delay
    if at is None or at > promised_at + RETRIED_WITHIN:
        return False
    lead.callback_at, lead.callback_due_at = at, None
    person.draft.fact("callback.retried", lead_id=lead.id, at=at, outcome=outcome)
    return True


def _reached_nobody(outcome: str, row: Outcome) -> bool:
    """Tell whether it is certain that the person was not spoken to, and may be called again."""
    return not (row.good or row.opts_out or row.disables_channel) and outcome not in {"unknown", "caller_hung_up"}


def _emit(person: Person, lead: Lead, cadence: Cadence, connection: Connection) -> None:
    call_back(person, lead, cadence, connection)
    lead.callback_at = None


def _choice_at(owner: CallbackOwner, due_at: Instant, now: Instant) -> tuple[BuyerChoice, Instant | None]:
    """Return who makes the call now, and until when (None: for good)."""
    turns = [BuyerChoice(buyer_ids=(owner.buyer_id,))] if owner.buyer_id is not None else []
    turns += [BuyerChoice(buyer_group_ids=(owner.buyer_group_id,))] if owner.buyer_group_id is not None else []
    if not turns or owner.grace_minutes == 0:
        return (turns or [ANY_BUYER])[0], None
    turns.append(ANY_BUYER)
    place_of = min(len(turns) - 1, (now - due_at) // (owner.grace_minutes * MINUTE))
    is_last = place_of == len(turns) - 1
    return turns[place_of], None if is_last else due_at + (place_of + 1) * owner.grace_minutes * MINUTE


def _request_slot(person: Person, lead: Lead, named: BuyerChoice, until: Instant | None) -> None:
    """Ask for the owner's line, until the next one's turn. The version makes each request another one."""
    name = f"{CALLBACK}/{lead.version}"
    request_id = command_id(lead.uuid, lead.enrolment, -(lead.callbacks + 1), name, 1)
    slots.request_slot(person, lead, CALLBACK, named, request_id)
    if until is not None and lead.slot_due_at is not None:
        lead.slot_due_at = min(lead.slot_due_at, until)
