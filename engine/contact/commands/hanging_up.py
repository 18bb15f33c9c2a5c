"""How is a call that is under way ended from here? By an order past all others; what comes of the call is told as ever."""

from engine.contact.commands.emission import call_command_header
from engine.contact.facts.person import Person
from engine.identity import command_id
from schemas.commands import HangUp
from schemas.contact import Call
from schemas.instant import MINUTE

HANG_UP = "(hang up)"
"""Stands for the step of an order that is no step."""

HANG_UP_WITHIN = MINUTE
"""Later than this the order is left: whoever it was for has hung up, or the call has been taken for another."""


def hang_up_all(person: Person) -> None:
    """Order the end of every call to this person that was placed from here and has not ended."""
    for lead in person.leads():
        flight = lead.flight
        call = None if flight is None or flight.kind != "call" else person.call(flight.call_id)
        if call is not None and call.ended_at is None and call.command_id is not None:
            _hang_up(person, call, call.command_id)


def _hang_up(person: Person, call: Call, call_command_id: str) -> None:
    order = HangUp(
        **call_command_header(person, call, HANG_UP, command_id(call.uuid, 0, call.version, HANG_UP, 1)),
        not_after=person.now + HANG_UP_WITHIN,
        urgency_class=0,
        call_id=call.id,
        call_command_id=call_command_id,
    )
    person.draft.emit(order)
    person.draft.fact("call.hangup_ordered", lead_id=call.lead_id, call_id=call.id)
