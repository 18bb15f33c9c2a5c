"""How is a slot (the right to use a limited resource) requested and released? By message; only the contact ends a slot.

Of each queue the most urgent leads ask, as many as there are lines (`waiting_leads.py`). The others wait, due, and ask as
these end.
"""

from typing import Any, Literal

from msgspec import structs

from engine.contact.commands import waiting_leads
from engine.contact.commands.buyers import BuyerChoice, excluded_buyers, is_answered_by, limited_number
from engine.contact.commands.emission import next_command_id, present_command_id
from engine.contact.facts.person import Person
from engine.contact.timing.holding import CAPS_USED_UP, show_reset
from schemas.contact import LIVE_STATUSES, PROMISED_CLASS, Call, Lead, OpenSlotRequest
from schemas.instant import HOUR, MINUTE, Instant
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.schedule import CallStep
from schemas.state import lead_key
from schemas.topics import ACCOUNTS_REQUESTS

ANSWER_TIMEOUT = 5 * MINUTE
ANSWER_TIMEOUT_MAX = HOUR
"""Without an answer for this long the same request is sent again: the account deduplicates it by its id. A lead that has
been due for longer waits as long as that, up to the second bound: with few lines a request is open for hours."""

WAITS_FOR_SLOT = "concurrency_cap"
NO_BUYER = "no_buyer_available"

SlotUse = Literal["unused", "attempted", "connected", "unknown"]
"""How far a slot was used; `unknown` where the outcome of its call will not be reported: then it counts in full."""


def request_slot(  # noqa: PLR0917 - for which call of which lead
    person: Person,
    lead: Lead,
    step_id: str,
    choice: BuyerChoice,
    request_id: str | None = None,
    reason: str = WAITS_FOR_SLOT,
) -> None:
    """Request a slot, or wait for the turn to request one. The id of the request is that of the command."""
    queue = waiting_leads.queue_of(person, lead, choice)
    if not _open_request(person, lead, queue, choice, is_promised=request_id is not None):
        _wait_for_turn(person, lead, queue)
        return
    lead.slot_id, lead.callback_asks = request_id or next_command_id(lead, step_id), request_id is not None
    lead.status, lead.status_wait = "waiting", reason
    about: dict[str, Any] = {} if reason == WAITS_FOR_SLOT else {"reason": reason}
    person.draft.fact("slot.requested", lead_id=lead.id, request_id=lead.slot_id, step_id=step_id, **about)
    send_request(person, lead, choice)


def send_request(person: Person, lead: Lead, choice: BuyerChoice) -> None:
    """Send the open request, for the first time or because its answer timed out."""
    assert lead.slot_id is not None  # noqa: S101 - set by the caller
    lead.slot_due_at = person.now + min(ANSWER_TIMEOUT_MAX, max(ANSWER_TIMEOUT, person.now - _due_at(person, lead)))
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


def _open_request(person: Person, lead: Lead, queue: str, choice: BuyerChoice, *, is_promised: bool) -> bool:
    """Add the lead to the open requests of its queue; return False where it is closed, or full of more urgent leads."""
    urgency_class = PROMISED_CLASS if is_promised else lead.urgency_class
    own = OpenSlotRequest(urgency_class, lead.lead_priority, _due_at(person, lead), lead.id, lead.aging)
    asking = waiting_leads.load(person.draft, lead.company_id, queue)
    if not is_promised and not asking.room:
        least = next(iter(asking.least_urgent(person.now)), None)
        if least is None or least.rank(person.now) <= own.rank(person.now):
            return False
        _preempt(person, queue, least)
        asking = waiting_leads.load(person.draft, lead.company_id, queue)
    lead.slot_queue = queue
    waiting_leads.add(person, asking, choice, own)
    return True


def _due_at(person: Person, lead: Lead) -> Instant:
    """Return since when a lead is due: it keeps its age through every request."""
    return lead.planned_at or lead.next_action_at or person.now


def _preempt(person: Person, queue: str, asked: OpenSlotRequest) -> None:
    """Withdraw the least urgent request: its lead waits for another turn."""
    known = person.lead(asked.lead_id) or person.draft.get(lead_key(asked.lead_id), Lead)
    if known is None or known.slot_id is None:
        waiting_leads.remove(person.draft, person.company_id, queue, asked.lead_id)
        return
    other = person if known.contact_key == person.key else Person(person.draft, known.company_id, known.contact_key)
    withdraw(other, known)
    _wait_for_turn(other, known, queue)
    if other is not person:
        other.put()


def _wait_for_turn(person: Person, lead: Lead, queue: str) -> None:
    """Let a due lead wait in its queue until a request of it ends, or until the queue opens."""
    asking = waiting_leads.load(person.draft, lead.company_id, queue)
    reason, due_at = asking.closed_reason, _due_at(person, lead)
    if lead.status_wait != (reason or WAITS_FOR_SLOT):
        about: dict[str, Any] = {} if reason is None else {"reason": reason}
        person.draft.fact("slot.awaited", lead_id=lead.id, **about)
    lead.slot_queue = queue
    lead.status, lead.status_wait = "waiting", reason or WAITS_FOR_SLOT
    lead.recheck_at, lead.planned_at = due_at, due_at
    if reason in CAPS_USED_UP:
        show_reset(person, lead, reason, asking.resets_at)
    person.save(lead)


def move_to_queue(person: Person, lead: Lead, choice: BuyerChoice) -> None:
    """Move a lead that waits for a slot to the queue that newer rules name."""
    queue = waiting_leads.queue_of(person, lead, choice)
    if queue != lead.slot_queue and not lead.callback_asks:
        withdraw(person, lead)
        _wait_for_turn(person, lead, queue)


def _close(person: Person, lead: Lead) -> None:
    queue, lead.slot_id, lead.slot_due_at, lead.slot_queue = lead.slot_queue, None, None, None
    person.save(lead)
    waiting_leads.remove(person.draft, person.company_id, queue, lead.id)


def release(
    person: Person, lead_id: int, request_id: str, ended: SlotUse = "unused", *, buyer_id: int | None = None
) -> None:
    """Release a slot, or the request for one; `ended` says how far it was used, `buyer_id` which of several answered."""
    _send_release(person, lead_id, request_id, ended, buyer_id=buyer_id)
    person.draft.fact("slot.released", lead_id=lead_id, request_id=request_id)


def release_for_call(person: Person, call: Call, request_id: str, ended: SlotUse) -> None:
    """Release the slot of an inbound call, or the request for one."""
    _send_release(person, caller_id_of(call), request_id, ended, buyer_id=None)
    person.draft.fact("slot.released", lead_id=call.lead_id, request_id=request_id)


def caller_id_of(call: Call) -> int:
    """Return the id under which a call requests slots: of its lead, else its own; ids of both have one counter."""
    return call.id if call.lead_id is None else call.lead_id


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
        queue = lead.slot_queue
        _close(person, lead)
        if queue is not None and not lead.callback_asks:
            _learn(person, queue, answer)
        return lead
    flown = lead is not None and lead.flight is not None and lead.flight.slot_id == answer.request_id
    if answer.granted and not flown:
        release(person, answer.lead_id, answer.request_id)
    return None


def _learn(person: Person, queue: str, answer: SlotAnswered) -> None:
    """Open the queue of a lead that got a slot; close that of a lead that is refused one."""
    if answer.granted:
        waiting_leads.open_wide(person.draft, person.company_id, queue)
    else:
        waiting_leads.close(person.draft, person.company_id, queue, answer.reason or NO_BUYER, answer.until)


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
