"""What follows for a person's leads when a call is judged, when the person calls us, or when a lead converts?

Whoever keeps the records of calls writes them first and then tells this page; it decides what the leads do.
"""

from collections.abc import Callable

from engine.contact.facts.person import Person, bounded_batch
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle import triggers
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.enrolment import enrol, schedule_of
from engine.contact.lifecycle.stop import fence, recall
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import dispositions
from engine.contact.schedule.cadence import cadence_for, duration
from engine.contact.timing.contact_hours import after
from engine.contact.timing.earliest import INBOUND_MISSED, INBOUND_PAUSE
from schemas.contact import LIVE_STATUSES, Call, ContactPause, Lead
from schemas.instant import HOUR, MINUTE, Instant
from schemas.records import CallDisposition
from schemas.schedule import OnConversion, WaitForStep

CALLED_US = "call.inbound_received"
"""The event that a step may wait for."""

INBOUND_MAX = 4 * HOUR
"""How long outbound is held for a call of whose end nobody tells: as long as for an outcome (research/domain.md 2.1)."""

MISSED_PAUSE = MINUTE
"""Whoever rang and reached nobody is contacted no sooner (research/domain.md E32): they may be ringing again."""


def apply_disposition(
    person: Person,
    lead: Lead | None,
    call: Call,
    disposition: CallDisposition | None,
    *,
    callback_at: Instant | None = None,
) -> None:
    """A call was given a disposition, another one, or none again (None); the call says so already.

    `lead` is None where the call has none, or it was deleted: then only the person is concerned. `callback_at` is the time
    that was agreed on. A later disposition replaces the earlier one; what that one did (an opt-out, an end) stays done.
    Raises `RefusedError` where the disposition needs a time to call back and there is none; then nothing is changed.
    """
    lead_id = None if lead is None else lead.id
    if disposition is None:
        person.draft.fact("call.dispositioned", lead_id=lead_id, call_id=call.id, disposition=None)
        if lead is not None:
            lead.disposition = None
            lead.connected = lead.connected or lead.connected_call_id == call.id
            person.save(lead)
        return
    dispositions.check_callback_time(lead, disposition, callback_at)
    code = dispositions.code_of(disposition)
    person.draft.fact("call.dispositioned", lead_id=lead_id, call_id=call.id, disposition=code)
    if lead is not None:
        lead.disposition = code
        if lead.connected_call_id == call.id:
            lead.connected = disposition.counts_as_contact
        person.save(lead)
    dispositions.apply_stops(person, lead, disposition)
    if lead is not None and disposition.action_group_id is not None:
        dispositions.run_action_group(person, lead, call, disposition)
    if lead is None or lead.status not in LIVE_STATUSES or lead.ending or lead.schedule_id is None:
        return
    dispositions.promise_callback(person, lead, disposition, callback_at)
    remember_event(lead, dispositions.DISPOSITION_EVENT)
    dispositions.follow_disposition(person, lead, call, disposition)
    advance(person, lead)


def start_inbound(person: Person, call: Call) -> None:
    """The person is calling us: nothing goes out to them until `end_inbound`; what does not ring yet is called off."""
    person.head.inbound_call_id, person.head.inbound_until = call.id, person.now + INBOUND_MAX
    person.save_head()
    person.draft.fact("call.inbound_received", lead_id=call.lead_id, call_id=call.id)
    cancel_pending(person, "inbound_call")
    for lead in bounded_batch([lead for lead in person.live_leads() if _is_waiting_for_call(person, lead)]):
        remember_event(lead, CALLED_US)
        advance(person, lead)


def end_inbound(person: Person, call: Call, *, connected: bool) -> None:
    """The person's call is over; `connected` says whether they spoke to somebody (research/domain.md 3.6, E32)."""
    if person.head.inbound_call_id in {call.id, None}:
        person.head.inbound_call_id = None
        person.head.inbound_until = None if connected else person.now + MISSED_PAUSE
        person.save_head()
    person.draft.fact("call.inbound_ended", lead_id=call.lead_id, call_id=call.id, connected=connected)
    react = _react_to_connected if connected else _react_to_missed
    _for_each_live(person, lambda lead: react(person, lead, call))


def apply_conversion(person: Person, lead: Lead, types: tuple[str, ...]) -> None:
    """The lead converted (its flags say so): its trigger of one of these types, else `on_conversion`, leads it on."""
    if lead.status not in LIVE_STATUSES or lead.ending:
        return
    person.save(lead)
    cadence = cadence_for(person, lead)
    if triggers.fire_on_exit(person, lead, cadence, types):
        return
    reaction = cadence.schedule.on_conversion
    if isinstance(reaction, OnConversion):
        _move(person, lead, reaction.schedule_id)
    elif reaction == "exit":
        begin_end(person, lead, COMPLETED)


def cancel_pending(person: Person, reason: str) -> None:
    """Tell the gates not to carry out what was ordered and has reached nobody yet; it is planned again when it may be."""
    silenced = [lead for lead in person.live_leads() if _is_on_its_way(person, lead)]
    if silenced:
        fence(person, reason, *(lead.id for lead in silenced))
    for lead in silenced:
        recall(person, lead, reason)


def remember_event(lead: Lead, event: str) -> None:
    """Remember an event that a step may wait for, until the next action of the lead."""
    if event not in lead.heard:
        lead.heard = (*lead.heard, event)


def is_waiting_for(person: Person, lead: Lead, event: str) -> bool:
    """Tell whether the lead stands before a step that waits for the event: what to do about it is said there."""
    step = None if lead.step is None else cadence_for(person, lead).step(lead.step)
    return isinstance(step, WaitForStep) and step.event == event


def _for_each_live(person: Person, react: Callable[[Lead], None]) -> None:
    """Let every lead of the person that is on a schedule react, as many as one decision may change."""
    for lead in bounded_batch([lead for lead in person.live_leads() if lead.schedule_id is not None]):
        person.save(lead)
        if not lead.ending:
            react(lead)
        advance(person, lead)


def _is_on_its_way(person: Person, lead: Lead) -> bool:
    """Tell whether a contact was ordered for the lead that no telephone has told of yet."""
    flight = lead.flight
    if flight is None or flight.kind == "webhook":
        return False
    call = person.call(flight.call_id)
    return call is None or (call.ringing_at is None and call.answered_at is None)


def _is_waiting_for_call(person: Person, lead: Lead) -> bool:
    return lead.schedule_id is not None and not lead.ending and is_waiting_for(person, lead, CALLED_US)


def _react_to_connected(person: Person, lead: Lead, call: Call) -> None:
    """The person was connected: a promise is kept by that, and the lead does what its schedule says."""
    if lead.callback_at is not None:
        lead.callback_at = None
        person.draft.fact("callback.fulfilled", lead_id=lead.id, call_id=call.id)
    if call.lead_id == lead.id:
        lead.connected, lead.connected_call_id = True, call.id
    cadence = cadence_for(person, lead)
    if triggers.fire_on_exit(person, lead, cadence, ("inbound_connected",)) or is_waiting_for(person, lead, CALLED_US):
        return
    reaction = cadence.schedule.on_inbound_connected
    match reaction.action:
        case "exit":
            begin_end(person, lead, COMPLETED)
        case "move":
            _move(person, lead, reaction.schedule_id or 0)
        case _:
            until = after(person.now, duration(reaction.delay), lead, cadence)
            lead.pause = ContactPause(until=until, code=INBOUND_PAUSE)


def _react_to_missed(person: Person, lead: Lead, call: Call) -> None:
    """Nobody took the call: what is due, or is within the minute, is done then and first of all."""
    del call
    until = person.now + MISSED_PAUSE
    is_due = lead.next_action_at is not None and lead.next_action_at <= until
    if is_due and (lead.pause is None or lead.pause.until <= until):
        lead.pause = ContactPause(until=until, code=INBOUND_MISSED)


def _move(person: Person, lead: Lead, schedule_id: int) -> None:
    """Begin the other schedule; where it is gone, leave this one."""
    found = schedule_of(person, schedule_id)
    if found is None:
        begin_end(person, lead, COMPLETED)
    else:
        enrol(person, lead, found[0])
