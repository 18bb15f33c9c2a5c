"""What is recorded of a callback? Who promised it, and whether its call was placed on time, late or never.

The record is a fact of the contact's history that later facts of the same callback replace: it stays when the lead has
ended. The lead has the record of its callback, so that it can be changed.
"""

from typing import Any

from msgspec import Struct, structs

from engine.contact.commands.emission import CALLBACK
from engine.contact.facts.person import Person
from schemas.contact import (
    LIVE_STATUSES,
    Call,
    CallbackPromise,
    CallbackPromiser,
    CallbackState,
    Flight,
    Lead,
)
from schemas.instant import MINUTE, SECOND, Instant
from schemas.outcomes import GATE_OUTCOMES
from schemas.requests import OutcomeRecorded

RECORDED = "callback.recorded"

ON_TIME_WITHIN = 5 * MINUTE
"""A call that is placed later after the promised instant is late."""

NOT_CALLED = GATE_OUTCOMES | {"not_placed", "canceled", "congestion"}
"""Outcomes after which the telephone of the person did not ring, or not for long: the promise is not kept."""

ANSWERED = frozenset({"connected_human", "connected_buyer", "caller_hung_up"})


class Promiser(Struct, frozen=True):
    """Who promises a call, and the agent who does."""

    by: CallbackPromiser = "api"
    agent_id: int | None = None


NOBODY_KNOWN = Promiser()


def promiser_of(agent_id: int | None) -> Promiser:
    """Return who promises a call by changing a lead or call: an agent, or a program."""
    return NOBODY_KNOWN if agent_id is None else Promiser("agent", agent_id)


def record_promise(person: Person, lead: Lead, promiser: Promiser) -> None:
    """Record the callback that a lead has now: promised, or promised again; the one before it has been replaced."""
    at, callback_id, owner = lead.callback_promised_at, lead.scheduled_callback_id, lead.callback_owner
    assert at is not None and callback_id is not None  # noqa: S101, PT018 - set by the caller
    known = lead.promise
    if known is not None and known.id == callback_id:
        made = structs.replace(known, promised_at=at, owner=owner, state="pending", revision=known.revision + 1)
    else:
        by, agent_id = promiser.by, promiser.agent_id
        made = CallbackPromise(callback_id, person.now, at, promised_by=by, agent_id=agent_id, owner=owner)
    lead.promise = made
    _record(person, lead, made)


def is_overdue(lead: Lead, now: Instant) -> bool:
    """Return whether the callback of a lead was not made on time, and no call for it was placed."""
    known = lead.promise
    return known is not None and known.state == "pending" and now > known.promised_at + ON_TIME_WITHIN


def replace(person: Person, lead: Lead) -> None:
    """Close the record of the callback that another one replaces, or once the call for it has ended."""
    flight = lead.flight
    if lead.promise is not None and flight is not None and flight.step_id == CALLBACK:
        lead.called_promise = lead.promise
    else:
        close(person, lead, "replaced")


def close(person: Person, lead: Lead, reason: str) -> None:
    """Close the record of a callback for which no call was placed: it is missed where its time is over, else cancelled."""
    if lead.promise is not None:
        lead.promise = _closed(person, lead, lead.promise, reason)


def judge_call(person: Person, lead: Lead, flight: Flight, outcome: str) -> None:
    """Record that the call for a callback was placed, or that it was not after all."""
    if flight.step_id != CALLBACK:
        return
    call = person.call(flight.call_id)
    named = None if call is None else call.scheduled_callback_id
    replaced = lead.called_promise
    if replaced is not None and named in {None, replaced.id}:
        lead.called_promise = _closed(person, lead, _judged(person, lead, replaced, flight, outcome), "replaced")
    elif lead.promise is not None and named in {None, lead.promise.id}:
        lead.promise = _judged(person, lead, lead.promise, flight, outcome)


def settle(person: Person, lead: Lead) -> None:
    """Close the record of a callback whose call has ended and that is not made again."""
    flight = lead.flight
    if lead.callback_at is None and (flight is None or flight.step_id != CALLBACK):
        close(person, lead, "given_up" if lead.status in LIVE_STATUSES else lead.status)


def fulfil(person: Person, lead: Lead, call: Call) -> None:
    """Record that the person called us, and spoke to somebody, before we called back."""
    known = lead.promise
    if known is not None and known.state == "pending":
        called = structs.replace(known, call_id=call.id, called_at=person.now, is_reached=True)
        lead.promise = _by(person, lead, called, call.agent_id, call.buyer_id)


def reach(person: Person, lead: Lead, request: OutcomeRecorded) -> None:
    """Record that a call of which the lead knew no more reached the person."""
    known = lead.promise
    if known is not None and known.state == "pending":
        at = request.answered_at or request.occurred_at
        called = structs.replace(known, call_id=request.call_id, called_at=at, is_reached=True)
        lead.promise = _by(person, lead, called, request.agent_id, request.buyer_id)


def _judged(person: Person, lead: Lead, known: CallbackPromise, flight: Flight, outcome: str) -> CallbackPromise:
    """Return a record that says whether a call was placed for the callback."""
    is_of_this = known.call_id == flight.call_id
    if outcome in NOT_CALLED:
        if not is_of_this or known.call_id is None:
            return known
        taken_back = structs.replace(known, call_id=None, called_at=None, called_agent_id=None, called_buyer_id=None)
        return _changed(person, lead, structs.replace(taken_back, state="pending"))
    is_reached = known.is_reached or outcome in ANSWERED
    if known.called_at is not None and not is_of_this:  # a further try: when it was kept stays
        return known if is_reached == known.is_reached else _changed(person, lead, _reached(known))
    called = structs.replace(known, call_id=flight.call_id, called_at=flight.emitted_at, is_reached=is_reached)
    call = person.call(flight.call_id)
    return _by(person, lead, called, flight.agent_id, None if call is None else call.buyer_id)


def _reached(known: CallbackPromise) -> CallbackPromise:
    return structs.replace(known, is_reached=True)


def _by(person: Person, lead: Lead, known: CallbackPromise, agent_id: int | None, buyer_id: int | None) -> CallbackPromise:
    """Return a record with whose call it was, and whether that was on time."""
    assert known.called_at is not None  # noqa: S101 - set by the caller
    state: CallbackState = "kept" if known.called_at <= known.promised_at + ON_TIME_WITHIN else "late"
    return _changed(person, lead, structs.replace(known, state=state, called_agent_id=agent_id, called_buyer_id=buyer_id))


def _closed(person: Person, lead: Lead, known: CallbackPromise, reason: str) -> CallbackPromise:
    if known.state != "pending":
        return known
    state: CallbackState = "missed" if person.now > known.promised_at + ON_TIME_WITHIN else "cancelled"
    return _changed(person, lead, structs.replace(known, state=state), reason=reason)


def _changed(person: Person, lead: Lead, known: CallbackPromise, **about: Any) -> CallbackPromise:
    changed = structs.replace(known, revision=known.revision + 1)
    _record(person, lead, changed, **about)
    return changed


def _record(person: Person, lead: Lead, known: CallbackPromise, **about: Any) -> None:
    owner = known.owner
    late = None if known.called_at is None else max(0, known.called_at - known.promised_at) // SECOND
    values: dict[str, Any] = {
        "callback_id": known.id,
        "revision": known.revision,
        "state": known.state,
        "made_at": known.made_at,
        "promised_at": known.promised_at,
        "promised_by": known.promised_by,
        "promised_agent_id": known.agent_id,
        **({} if owner is None else {"owner": structs.asdict(owner)}),
        "called_at": known.called_at,
        "called_agent_id": known.called_agent_id,
        "called_buyer_id": known.called_buyer_id,
        "late_seconds": late,
        "is_reached": known.is_reached,
        "offer_id": lead.offer_id,
        "schedule_id": lead.schedule_id,
        **about,
    }
    given = {name: value for name, value in values.items() if value is not None}
    person.draft.fact(RECORDED, lead_id=lead.id, call_id=known.call_id, **given)
