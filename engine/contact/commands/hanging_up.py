"""How is a call in progress ended? By a command of the highest urgency; the outcome of the call is reported as usual."""

from collections.abc import Collection

from engine.contact.commands.emission import call_command_header
from engine.contact.facts.person import Person
from engine.identity import command_id
from schemas.commands import HangUp
from schemas.contact import Call, Flight
from schemas.instant import MINUTE

HANG_UP = "(hang up)"
"""The step id of a hang-up command, which belongs to no step."""

HANG_UP_WITHIN = MINUTE
"""After this the command is dropped: the call has ended by then, or is another one."""


def hang_up_all(person: Person) -> None:
    """Emit a hang-up command for every outbound call to this person that has not ended."""
    for lead in person.outlines():
        hang_up(person, lead.flight)


def hang_up(person: Person, flight: Flight | None) -> None:
    """Emit a hang-up command for the call of an open command, if it is one that has not ended."""
    call = None if flight is None or flight.kind != "call" else person.call(flight.call_id)
    if call is not None and call.ended_at is None and call.command_id is not None:
        _hang_up(person, call, call.command_id)


def hang_up_unanswered(person: Person, call: Call) -> None:
    """Emit a hang-up command for an outbound call that the person has not answered; one that is answered goes on."""
    is_open = call.answered_at is None and call.ended_at is None and call.id not in person.hung_up
    if is_open and call.command_id is not None:
        _hang_up(person, call, call.command_id, only_unanswered=True)


def hang_up_ringing(person: Person, lead_ids: Collection[int]) -> None:
    """End the calls for these leads that are not answered, or for all leads of the person where none is named."""
    for lead in person.outlines():
        flight = lead.flight
        is_meant = flight is not None and flight.kind == "call" and (not lead_ids or lead.id in lead_ids)
        call = person.call(flight.call_id) if is_meant and flight is not None else None
        if call is not None:
            hang_up_unanswered(person, call)


def _hang_up(person: Person, call: Call, call_command_id: str, *, only_unanswered: bool = False) -> None:
    person.hung_up.add(call.id)
    person.save_call(call)  # the version rises, so that no two hang-ups of a call share an id
    command = HangUp(
        **call_command_header(person, call, HANG_UP, command_id(call.uuid, 0, call.version + 1, HANG_UP, 1)),
        not_after=person.now + HANG_UP_WITHIN,
        urgency_class=0,
        call_id=call.id,
        call_command_id=call_command_id,
        only_unanswered=only_unanswered,
    )
    person.draft.emit(command)
    person.draft.fact("call.hangup_ordered", lead_id=call.lead_id, call_id=call.id)
