"""How do a person's leads react to a disposition, an inbound call, or a conversion?

The callers write the records of calls first; this module decides what the leads do.
"""

from collections.abc import Callable

from engine.contact.facts.person import Outline, Person, bounded_batch, is_on_schedule
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle import promises, triggers
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
"""The event of a `wait_for` step."""

INBOUND_MAX = 4 * HOUR
"""How long outbound is held for an inbound call whose end is not reported: as long as an outcome is awaited."""

MISSED_PAUSE = MINUTE
"""The pause after a missed inbound call: the person may be calling again."""


def apply_disposition(
    person: Person,
    lead: Lead | None,
    call: Call,
    disposition: CallDisposition | None,
    *,
    callback_at: Instant | None = None,
) -> None:
    """Apply a disposition, a changed one, or its removal (None) after it was written to the call.

    `lead` is None where the call has none, or it was deleted: then only the contact changes. `callback_at` is the agreed
    time. A later disposition replaces the earlier one; the effects of that (an opt-out, an end) stay.
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
    dispositions.promise_callback(person, lead, call, disposition, callback_at)
    remember_event(lead, dispositions.DISPOSITION_EVENT)
    dispositions.follow_disposition(person, lead, call, disposition)
    advance(person, lead)


def start_inbound(person: Person, call: Call) -> None:
    """Hold all outbound contact while the person is calling us, until `end_inbound`; cancel what does not ring yet."""
    person.head.inbound_call_id, person.head.inbound_until = call.id, person.now + INBOUND_MAX
    person.save_head()
    person.draft.fact("call.inbound_received", lead_id=call.lead_id, call_id=call.id)
    cancel_pending(person, "inbound_call")
    for lead in bounded_batch([lead for lead in person.live_leads(is_on_schedule) if _is_waiting_for_call(person, lead)]):
        remember_event(lead, CALLED_US)
        advance(person, lead)


def end_inbound(person: Person, call: Call, *, connected: bool) -> None:
    """End the hold of an inbound call; `connected` tells whether somebody took it. The leads react."""
    if person.head.inbound_call_id in {call.id, None}:
        person.head.inbound_call_id = None
        person.head.inbound_until = None if connected else person.now + MISSED_PAUSE
        person.save_head()
    person.draft.fact("call.inbound_ended", lead_id=call.lead_id, call_id=call.id, connected=connected)
    react = _react_to_connected if connected else _react_to_missed
    _for_each_live(person, lambda lead: react(person, lead, call))


def apply_conversion(person: Person, lead: Lead, types: tuple[str, ...]) -> None:
    """Apply a conversion to a lead whose flags are set: by its trigger of one of these types, else by `on_conversion`."""
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
    """Fence open commands that have reached no one yet; their steps are planned again."""
    pending = person.live_outlines(lambda outline: _is_on_its_way(person, outline))
    if pending:
        fence(person, reason, *(outline.id for outline in pending))
    for lead in person.whole(pending):
        recall(person, lead, reason)


def remember_event(lead: Lead, event: str) -> None:
    """Remember an event for `wait_for` steps, until the next action of the lead."""
    if event not in lead.heard:
        lead.heard = (*lead.heard, event)


def is_waiting_for(person: Person, lead: Lead, event: str) -> bool:
    """Return whether the lead is at a step that waits for the event: that step decides what follows."""
    step = None if lead.step is None else cadence_for(person, lead).step(lead.step)
    return isinstance(step, WaitForStep) and step.event == event


def _for_each_live(person: Person, react: Callable[[Lead], None]) -> None:
    """Let the person's leads on schedules react, as many as one decision may change."""
    for lead in bounded_batch(person.live_leads(is_on_schedule)):
        person.save(lead)
        if not lead.ending:
            react(lead)
        advance(person, lead)


def _is_on_its_way(person: Person, lead: Outline) -> bool:
    """Return whether the lead has an open contact command that has not rung or been answered."""
    flight = lead.flight
    if flight is None or flight.kind == "webhook":
        return False
    call = person.call(flight.call_id)
    return call is None or (call.ringing_at is None and call.answered_at is None)


def _is_waiting_for_call(person: Person, lead: Lead) -> bool:
    return not lead.ending and is_waiting_for(person, lead, CALLED_US)


def _react_to_connected(person: Person, lead: Lead, call: Call) -> None:
    """React to a connected inbound call: it fulfils a callback, and the schedule decides the rest."""
    if lead.callback_at is not None:
        lead.callback_at = None
        person.draft.fact("callback.fulfilled", lead_id=lead.id, call_id=call.id)
        promises.fulfil(person, lead, call)
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
    """React to a missed inbound call: a lead that is due within the pause acts at its end, with urgency."""
    del call
    until = person.now + MISSED_PAUSE
    is_due = lead.next_action_at is not None and lead.next_action_at <= until
    if is_due and (lead.pause is None or lead.pause.until <= until):
        lead.pause = ContactPause(until=until, code=INBOUND_MISSED)


def _move(person: Person, lead: Lead, schedule_id: int) -> None:
    """Move the lead to the other schedule; if that was deleted, end it."""
    found = schedule_of(person, schedule_id)
    if found is None:
        begin_end(person, lead, COMPLETED)
    else:
        enrol(person, lead, found[0])
