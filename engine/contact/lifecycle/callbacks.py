"""How is a callback scheduled, placed and retried? It is an instant on the lead, with an id that its call names.

It may have an owner, an agent, a buyer or a group, with some minutes before others make the call (`callback_turns.py`).
Where the call step of the lead, or its offer, connects to agents, one of these is the others, and is reserved before the
telephone rings. A callback that reached no one is retried twice; one that a gate dropped is emitted again.
"""

from typing import Any

from msgspec import UNSET, UnsetType, structs

from engine.contact.commands import backpressure, buyers, slots
from engine.contact.commands.buyers import ANY_BUYER, BuyerChoice
from engine.contact.commands.emission import CALLBACK, BuyerConnection, call_back
from engine.contact.facts.person import RECHECK_AFTER, Person
from engine.contact.lifecycle import promises
from engine.contact.lifecycle.callback_turns import Turn, owner_of_agent, turn_at
from engine.contact.lifecycle.promises import NOBODY_KNOWN, Promiser
from engine.contact.lifecycle.stop import is_closed
from engine.contact.schedule.cadence import CONTACTS, Cadence
from engine.contact.timing.earliest import base_of
from engine.contact.timing.holding import hold_callback, hold_callback_while_paused
from engine.contact.timing.plan import hold, plan_callback, schedule_recheck
from engine.identity import command_id
from schemas.contact import CallbackOwner, Flight, Lead
from schemas.instant import DAY, HOUR, SECOND, Instant
from schemas.outcomes import GATE_OUTCOMES, HELD, Outcome
from schemas.requests import OutcomeRecorded, SlotAnswered
from schemas.schedule import CallStep, Step

OWNER_UNAVAILABLE = "callback_owner_unavailable"

RETRIES_MAX = 2
RETRIED_WITHIN = 2 * DAY
"""How often a callback is retried, and until how long after its promised time."""

WAITED_MAX = 7 * DAY
LAST_CHANCE = HOUR
"""So long a callback waits for somebody who may make it, and for the last time so long without a break; then it is given
up, and its record says that it was missed."""

DROP_BACKOFF = 30 * SECOND
DROP_BACKOFF_MAX = HOUR
"""Backoff after a gate dropped a callback: a quarter of the time that it has been due, within these bounds."""


def set_callback(  # noqa: PLR0917 - who promised what to whom
    person: Person,
    lead: Lead,
    at: Instant,
    owner: CallbackOwner | UnsetType | None = UNSET,
    callback_id: int | None = None,
    promiser: Promiser = NOBODY_KNOWN,
) -> None:
    """Set the callback of a lead; it replaces an earlier one, unless it is that one, by its id.

    Without an owner (UNSET) the agent who promises it makes it. One that is missed already stays so: what is promised
    instead is another callback.
    """
    if owner is UNSET:
        agent_id = promiser.agent_id
        owner = None if agent_id is None else owner_of_agent(person.rules, person.company_id, agent_id)
    if callback_id is None or promises.is_overdue(lead, person.now):
        promises.replace(person, lead)
        callback_id = person.draft.next_id()
    lead.callback_at = lead.callback_promised_at = at
    lead.scheduled_callback_id = callback_id
    lead.callback_owner, lead.callback_due_at, lead.callback_tries = owner, None, 0
    promises.record_promise(person, lead, promiser)


def schedule_callback(  # noqa: PLR0917 - as `set_callback`
    person: Person,
    lead: Lead,
    at: Instant,
    owner: CallbackOwner | UnsetType | None = UNSET,
    callback_id: int | None = None,
    promiser: Promiser = NOBODY_KNOWN,
) -> None:
    """Set the callback of a lead, and record the fact."""
    set_callback(person, lead, at, owner, callback_id, promiser)
    owned = lead.callback_owner
    about: dict[str, Any] = {} if owned is None else {"owner": structs.asdict(owned)}
    person.draft.fact("callback.scheduled", lead_id=lead.id, at=at, **about)


def cancel_callback(person: Person, lead: Lead) -> None:
    """Cancel the callback of a lead by request, if it has one."""
    if lead.callback_at is None:
        return
    lead.callback_at = lead.callback_owner = None
    person.draft.fact("callback.cancelled", lead_id=lead.id, reason="requested")
    promises.close(person, lead, "requested")
    person.save(lead)


def is_callback_first(person: Person, lead: Lead, step: Step) -> bool:
    """Return whether the callback goes before the step: before every contact, and before what is due later."""
    if lead.callback_at is None or lead.ending:
        return False
    return isinstance(step, CONTACTS) or base_of(person, lead) > max(lead.callback_at, person.now)


def wait_for_callback(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> bool:
    """Hold contact steps until the callback, and place it when it is due; return whether to look at the lead again."""
    if not lead.caller_id or is_closed(person, lead, "call") or _has_no_callback_left(lead, cadence):
        _give_up(person, lead, "not_callable")
        return True
    if not plan_callback(person, lead, cadence) or hold_callback_while_paused(person, lead):
        lead.callback_due_at = None  # the owner's minutes begin again when it can be made again
        return False
    if person.draft.behind:
        schedule_recheck(person, lead, RECHECK_AFTER)
    elif not hold_callback(person, lead):
        if _has_waited_too_long(lead, person.now):
            _give_up(person, lead, "nobody_came")
            return True
        place_callback(person, lead, cadence, grant)
    return False


def _has_waited_too_long(lead: Lead, now: Instant) -> bool:
    at, due_at = lead.callback_at, lead.callback_due_at
    return at is not None and due_at is not None and now >= max(at + WAITED_MAX, due_at + LAST_CHANCE)


def _give_up(person: Person, lead: Lead, reason: str) -> None:
    lead.callback_at = None
    person.draft.fact("callback.cancelled", lead_id=lead.id, reason=reason)
    promises.close(person, lead, reason)


def _has_no_callback_left(lead: Lead, cadence: Cadence) -> bool:
    """Return whether callbacks are used up too: a callback may exceed the limit of attempts by one, never by two."""
    most = lead.attempts_max if lead.attempts_max is not None else cadence.schedule.max_contact_attempts
    return most is not None and lead.attempts > most


def place_callback(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> None:
    """Place the due callback: for its owner, and for others once the owner's minutes are over."""
    if not backpressure.has_place(person, lead, "call", grant):
        backpressure.wait_for_place(person, lead, "call")
        return
    agents = _agents_of(person, lead, cadence)
    if lead.callback_owner is None and not agents.is_for_agents:
        _emit(person, lead, cadence, BuyerConnection(callback=True))
        slots.count_placed(person, lead)
        return
    lead.callback_due_at = lead.callback_due_at or person.now
    turn = turn_at(person.rules, lead, lead.callback_due_at, person.now, agents)
    choice = turn.choice if turn.choice.is_anyone else buyers.with_traffic_source(person, lead, turn.choice)
    if buyers.is_limited(person, lead, choice):
        choice = buyers.with_number(person, lead, choice)
    if grant is None and buyers.is_limited(person, lead, choice):
        _request_slot(person, lead, choice, turn)
        return
    connection = buyers.connection(person, lead, choice, grant)
    if connection is None:
        hold(person, lead, OWNER_UNAVAILABLE)
        if turn.until is not None and lead.recheck_at is not None:
            lead.recheck_at = min(lead.recheck_at, turn.until)
        _show_turn(lead, turn)
        return
    _emit(person, lead, cadence, structs.replace(connection, callback=True))
    if grant is None:
        slots.count_placed(person, lead)


def retry_callback(  # noqa: PLR0917 - what came of which call
    person: Person, lead: Lead, flight: Flight, outcome: str, row: Outcome, occurred_at: Instant
) -> bool:
    """Schedule the callback again where it reached no one, or a gate dropped its command."""
    promised_at = lead.callback_promised_at
    if flight.step_id != CALLBACK or promised_at is None or lead.callback_at is not None or not lead.caller_id:
        return False
    at: Instant | None = None
    if outcome == HELD and person.rules.contact_hold(lead.company_id, "call") is not None:
        lead.callback_at, lead.callback_due_at = person.now, None  # it waits for the release, however long that takes
        return True
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


def leave_call(person: Person, lead: Lead) -> None:
    """Promise the callback again whose call rings at a number that the lead leaves; one that is answered has been made."""
    flight, promised_at = lead.flight, lead.callback_promised_at
    if flight is None or flight.step_id != CALLBACK or promised_at is None:
        return
    call = person.call(flight.call_id)
    if call is not None and call.answered_at is not None:
        promises.judge_call(person, lead, flight, "unknown")
    elif lead.callback_at is None:
        lead.callback_at, lead.callback_due_at = max(promised_at, person.now), None


def take_left_outcome(person: Person, lead: Lead, request: OutcomeRecorded) -> None:
    """Make no further call where the call to the number before was answered after all, before it could be ended."""
    left = command_id(lead.uuid, lead.enrolment, -lead.callbacks, CALLBACK, 1)
    if lead.callback_at is None or lead.left_command_id != left or request.outcome not in promises.ANSWERED:
        return
    lead.callback_at = None
    promises.reach(person, lead, request)


def _reached_nobody(outcome: str, row: Outcome) -> bool:
    """Return whether it is certain that no one spoke to the person, and another call is allowed."""
    return not (row.good or row.opts_out or row.disables_channel) and outcome not in {"unknown", "caller_hung_up"}


def _emit(person: Person, lead: Lead, cadence: Cadence, connection: BuyerConnection) -> None:
    call_back(person, lead, cadence, connection)
    lead.callback_at = None


def _agents_of(person: Person, lead: Lead, cadence: Cadence) -> BuyerChoice:
    """Return the agents of the call step that comes next, or of the first one where none does; any buyer without agents.

    A step that names nobody, and a lead without a call step, have the agents of the offer.
    """
    calls = [step for step in cadence.contacts_from(lead.step) if isinstance(step, CallStep)]
    calls += [step for step in cadence.steps if isinstance(step, CallStep)]
    choice, offer = buyers.choice_of_step(calls[0].connect) if calls else ANY_BUYER, buyers.offer_of_lead(person, lead)
    is_for_bot = bool(calls) and calls[0].connect.stream is not None
    if choice.is_anyone and offer is not None and not is_for_bot:
        choice = buyers.choice_of_offer(offer)
    return choice if choice.is_for_agents else ANY_BUYER


def _request_slot(person: Person, lead: Lead, choice: BuyerChoice, turn: Turn) -> None:
    """Request a slot of whose turn it is, until the next one's. The version gives each request its own id."""
    name = f"{CALLBACK}/{lead.version}"
    request_id = command_id(lead.uuid, lead.enrolment, -(lead.callbacks + 1), name, 1)
    reason = OWNER_UNAVAILABLE if turn.is_of_owner else slots.WAITS_FOR_SLOT
    slots.request_slot(person, lead, CALLBACK, choice, request_id, reason)
    if turn.until is not None and lead.slot_due_at is not None:
        lead.slot_due_at = min(lead.slot_due_at, turn.until)
    _show_turn(lead, turn)


def _show_turn(lead: Lead, turn: Turn) -> None:
    """Show when the next turn begins as the next action of a lead that waits for the owner of its callback."""
    if turn.until is not None:
        lead.next_action_at = turn.until
