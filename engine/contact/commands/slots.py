"""How is a slot (the right to use a limited resource) requested and released? By message; only the contact ends a slot.

A company has at most `OPEN_MAX` open requests from one partition, the most urgent ones: a more urgent lead pre-empts the
least urgent, whose request is withdrawn. The others wait, due, and are requested as these end.
"""

from typing import Any, Literal

from msgspec import structs

from engine.contact.commands.buyers import BuyerChoice, excluded_buyers, is_answered_by, limited_number
from engine.contact.commands.emission import next_command_id, present_command_id
from engine.contact.facts.person import Person
from schemas.contact import LIVE_STATUSES, Call, Lead, OpenSlotRequest, OpenSlotRequests
from schemas.instant import MINUTE, Instant
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.schedule import CallStep
from schemas.state import asking_key, lead_key
from schemas.topics import ACCOUNTS_REQUESTS

ANSWER_TIMEOUT = 5 * MINUTE
"""Without an answer for this long the same request is sent again: the account deduplicates it by its id."""

WAITS_FOR_SLOT = "concurrency_cap"

SlotUse = Literal["unused", "attempted", "connected", "unknown"]
"""How far a slot was used; `unknown` where the outcome of its call will not be reported: then it counts in full."""

PROMISED_CLASS = -1
"""The class of a callback. Its request has one id for good, so it is never pre-empted: an answer to the first request would
pass for one to the second."""


def request_slot(person: Person, lead: Lead, step_id: str, choice: BuyerChoice, request_id: str | None = None) -> None:
    """Request a slot, or wait for the turn to request one. The id of the request is that of the command."""
    if not _open_request(person, lead, is_promised=request_id is not None):
        _wait_for_turn(person, lead)
        return
    lead.slot_id, lead.callback_asks = request_id or next_command_id(lead, step_id), request_id is not None
    lead.status, lead.status_wait = "waiting", WAITS_FOR_SLOT
    person.draft.fact("slot.requested", lead_id=lead.id, request_id=lead.slot_id, step_id=step_id)
    send_request(person, lead, choice)


def send_request(person: Person, lead: Lead, choice: BuyerChoice) -> None:
    """Send the open request, for the first time or because its answer timed out."""
    assert lead.slot_id is not None  # noqa: S101 - set by the caller
    lead.slot_due_at = person.now + ANSWER_TIMEOUT
    request = SlotRequested(
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        request_id=lead.slot_id,
        **_choice_fields(choice),
        excluded_buyer_ids=excluded_buyers(person, lead, choice),
        urgency_class=lead.urgency_class,
        priority=lead.lead_priority,
        due_at=_due_at(person, lead),
        aging=_aging(person, lead),
        is_promised=lead.callback_asks and choice.number_id is not None,
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, str(lead.company_id), request)
    person.save(lead)


def request_for_call(
    person: Person, lead: Lead, call: Call, choice: BuyerChoice, request_id: str, *, rings_several: bool
) -> None:
    """Request a slot for an inbound call: before every lead that waits, and answered at once."""
    request = SlotRequested(
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        request_id=request_id,
        **_choice_fields(choice),
        excluded_buyer_ids=excluded_buyers(person, lead, choice),
        urgency_class=PROMISED_CLASS,
        priority=lead.lead_priority,
        due_at=person.now,
        call_id=call.id,
        rings_several=rings_several,
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, str(lead.company_id), request)


def count_placed(person: Person, lead: Lead, agent_id: int | None = None) -> None:
    """Count a call that was just placed without asking: for its number, if that has a cap, and the agent who placed it.

    Its slot has the id of the command, and is released as any other.
    """
    flight, call = lead.flight, person.call(lead.attempted_call_id)
    number_id = None if call is None else limited_number(person, call.number_id)
    if flight is None or (number_id is None and agent_id is None):
        return
    lead.flight = structs.replace(flight, slot_id=flight.command_id)
    person.save(lead)
    message = SlotRequested(
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        request_id=flight.command_id,
        number_id=number_id,
        agent_ids=() if agent_id is None else (agent_id,),
        is_placed=True,
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, str(lead.company_id), message)


def _choice_fields(choice: BuyerChoice) -> dict[str, Any]:
    """Return the fields of a request for the choice of buyers: a single group has its own field."""
    fields: dict[str, Any] = {"traffic_source_id": choice.traffic_source_id, "route_by_type": choice.route_by_type}
    fields["number_id"] = choice.number_id
    if choice.is_for_agents:
        agents = {"agent_ids": choice.agent_ids, "call_center_ids": choice.call_center_ids}
        return {**agents, "excluded_agent_ids": choice.tried_agent_ids, **fields}
    if len(choice.buyer_group_ids) == 1 and not choice.buyer_ids:
        return {"buyer_group_id": choice.buyer_group_ids[0], **fields}
    return {"buyer_group_ids": choice.buyer_group_ids, "buyer_ids": choice.buyer_ids, **fields}


def _aging(person: Person, lead: Lead) -> float:
    if lead.schedule_id is None or lead.schedule_version is None:
        return 0.0
    schedule = person.rules.schedule(lead.schedule_id, lead.schedule_version)
    return 0.0 if schedule is None else schedule.priority_aging


def withdraw(person: Person, lead: Lead) -> None:
    """Withdraw an open request; a late answer to it finds another id, or none."""
    if lead.slot_id is not None:
        release(person, lead.id, lead.slot_id)
        _close(person, lead)


def _open_request(person: Person, lead: Lead, *, is_promised: bool) -> bool:
    """Add the lead to the open requests; return False where all are taken by more urgent leads."""
    now, key = person.now, asking_key(lead.company_id)
    asking = person.draft.get(key, OpenSlotRequests) or OpenSlotRequests(company_id=lead.company_id)
    urgency_class = PROMISED_CLASS if is_promised else lead.urgency_class
    own = OpenSlotRequest(urgency_class, lead.lead_priority, _due_at(person, lead), lead.id, lead.aging)
    if not asking.room:
        least = asking.least_urgent(now)[0]
        if least.urgency_class == PROMISED_CLASS or least.rank(now) <= own.rank(now):
            return False
        _preempt(person, least)
        asking = person.draft.get(key, OpenSlotRequests) or OpenSlotRequests(company_id=lead.company_id)
    asking.open = (*asking.open, own)
    person.draft.put(key, asking)
    return True


def _due_at(person: Person, lead: Lead) -> Instant:
    """Return since when a lead is due: it keeps its age through every request."""
    return lead.planned_at or lead.next_action_at or person.now


def _preempt(person: Person, asked: OpenSlotRequest) -> None:
    """Withdraw the least urgent request: its lead waits for another turn."""
    known = person.lead(asked.lead_id) or person.draft.get(lead_key(asked.lead_id), Lead)
    if known is None or known.slot_id is None:
        _remove(person, asked.lead_id)
        return
    other = person if known.contact_key == person.key else Person(person.draft, known.company_id, known.contact_key)
    withdraw(other, known)
    _wait_for_turn(other, known)
    if other is not person:
        other.put()


def _wait_for_turn(person: Person, lead: Lead) -> None:
    """Let a due lead wait until a request of its company ends."""
    if lead.status_wait != WAITS_FOR_SLOT:
        person.draft.fact("slot.awaited", lead_id=lead.id)
    lead.slot_waits = True
    lead.status, lead.status_wait = "waiting", WAITS_FOR_SLOT
    lead.recheck_at = _due_at(person, lead)
    person.save(lead)


def _close(person: Person, lead: Lead) -> None:
    lead.slot_id = lead.slot_due_at = None
    person.save(lead)
    _remove(person, lead.id)


def _remove(person: Person, lead_id: int) -> None:
    key = asking_key(person.company_id)
    asking = person.draft.get(key, OpenSlotRequests)
    if asking is None:
        return
    asking.open = tuple(asked for asked in asking.open if asked.lead_id != lead_id)
    if asking.open:
        person.draft.put(key, asking)
    else:
        person.draft.remove(key)


def release(
    person: Person, lead_id: int, request_id: str, ended: SlotUse = "unused", *, buyer_id: int | None = None
) -> None:
    """Release a slot, or the request for one; `ended` says how far it was used, `buyer_id` which of several answered."""
    _send_release(person, lead_id, request_id, ended, buyer_id=buyer_id)
    person.draft.fact("slot.released", lead_id=lead_id, request_id=request_id)


def correct(person: Person, lead_id: int, request_id: str, ended: SlotUse, *, buyer_id: int | None = None) -> None:
    """Say how far a slot was used that was released as `unknown`."""
    _send_release(person, lead_id, request_id, ended, buyer_id=buyer_id)
    person.draft.fact("slot.corrected", lead_id=lead_id, request_id=request_id, ended=ended)


def keep_answered(person: Person, lead_id: int, request_id: str, buyer_id: int) -> None:
    """Release the slots of the buyers that were rung beside the one that answered."""
    _send_release(person, lead_id, request_id, "attempted", buyer_id=buyer_id, goes_on=True)


def _send_release(
    person: Person, lead_id: int, request_id: str, ended: SlotUse, *, buyer_id: int | None, goes_on: bool = False
) -> None:
    message = SlotReleased(
        company_id=person.company_id,
        contact_key=person.key,
        lead_id=lead_id,
        request_id=request_id,
        ended=ended,
        buyer_id=buyer_id,
        goes_on=goes_on,
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, str(person.company_id), message)


def accept_answer(person: Person, answer: SlotAnswered) -> Lead | None:
    """Close the request of an answer and return its lead; None for an outdated answer, whose slot is released."""
    lead = person.lead(answer.lead_id)
    if lead is not None and lead.slot_id == answer.request_id and lead.status in LIVE_STATUSES:
        _close(person, lead)
        return lead
    flown = lead is not None and lead.flight is not None and lead.flight.slot_id == answer.request_id
    if answer.granted and not flown:
        release(person, answer.lead_id, answer.request_id)
    return None


def grant_for(lead: Lead, step: CallStep, choice: BuyerChoice, grant: SlotAnswered | None) -> SlotAnswered | None:
    """Return the slot that was just granted, if this very attempt requested it, and for what it asks for now."""
    if grant is None or grant.request_id != present_command_id(lead, step.id):
        return None
    return grant if is_answered_by(choice, grant) else None


def is_used(lead: Lead, request_id: str) -> bool:
    """Return whether a call of the lead took the slot."""
    return lead.flight is not None and lead.flight.slot_id == request_id


def is_overdue(lead: Lead, now: Instant) -> bool:
    """Return whether the answer to the request timed out."""
    return lead.slot_due_at is not None and lead.slot_due_at <= now
