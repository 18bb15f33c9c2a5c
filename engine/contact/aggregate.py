"""Which module decides a request or a timer of a contact? The table of requests, and the timers of each entity."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from engine.contact.commands import buyers, slots, waiting_leads
from engine.contact.facts.person import Person
from engine.contact.lifecycle import failed_timers, replan, stop, suppressing, unblocking, unread_numbers
from engine.contact.lifecycle.moving import forward, move_in
from engine.contact.lifecycle.walk import advance, asks_filtered_buyers
from engine.contact.requests import (
    attribution,
    call_changes,
    call_start,
    caller,
    contact_changes,
    contact_relay,
    dispositions,
    inbound,
    inbound_routing,
    outcome,
    public_submission,
    replies,
    text_parts,
    update,
    webhook_fires,
)
from engine.contact.requests.fallback_stop import stop_only
from engine.contact.requests.visibility import refuse_invisible
from engine.contact.schedule.cadence import cadence_for
from engine.contact.timing.holding import CAPS_USED_UP, hold_until_reset
from engine.contact.timing.plan import hold
from engine.partition.aggregate import Adoption, Timer
from engine.partition.draft import Draft, RefusedError
from engine.partition.places import PlaceClaim, gate_key
from schemas.contact import (
    LIVE_STATUSES,
    Call,
    Head,
    IncompleteTexts,
    Lead,
    OpenSlotRequests,
    Relay,
    Replan,
    Suppression,
    UnblockSweep,
    waits_in_queue,
)
from schemas.envelope import Envelope
from schemas.instant import EPOCH, Instant
from schemas.requests import (
    CONTACT_REQUESTS,
    AttributionAnswered,
    CallDeleteRequested,
    CallerActed,
    CallKeysRequested,
    CallProgressed,
    CallReceived,
    CallStartRequested,
    CallUpdateRequested,
    ContactBlockRequested,
    ContactRequest,
    KeptSubmissionDecided,
    LeadDeleteRequested,
    LeadMoved,
    LeadSubmitted,
    LeadUpdateRequested,
    OptOutReviewed,
    OutcomeRecorded,
    ReachAnswered,
    ReachRequested,
    ReachWithdrawn,
    SlotAnswered,
    SmsReceived,
    SuppressionChangeRequested,
    UnsubscribeRequested,
    WebhookFireRequested,
)
from schemas.schedule import CallStep
from schemas.state import asking_key, kind_of
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE, Topic
from schemas.wire import Entity, Message

REQUESTS_WITH_ID = (
    LeadSubmitted,
    LeadUpdateRequested,
    LeadDeleteRequested,
    KeptSubmissionDecided,
    CallerActed,
    CallUpdateRequested,
    CallDeleteRequested,
    CallStartRequested,
    CallKeysRequested,
    CallReceived,
    WebhookFireRequested,
    ContactBlockRequested,
    SuppressionChangeRequested,
    OptOutReviewed,
    UnsubscribeRequested,
)
"""Requests with an id of their sender, which is remembered; the others are deduplicated by stream number."""

STOP_CLASS = 0
"""Ending the leads of a stopped person goes before all other timers."""

REPLAN_CLASS = 1
"""One of a thousand ticks of a cycle: it neither delays due leads nor is starved by them."""

UPKEEP_CLASS = 9
"""Clean-up goes last."""


class ContactAggregate:
    """The rules of one contact: `engine.partition.aggregate.Aggregate`."""

    requests_topic: Topic = CONTACTS_REQUESTS
    decisions_topic: Topic = CONTACTS_DECISIONS
    state_topic: Topic = CONTACTS_STATE
    request_types: Mapping[str, type[Message]] = CONTACT_REQUESTS
    timer_fields: Mapping[str, str | None] = {
        "lead": "wake_at",
        "head": "sweep_at",
        "call": "give_up_at",
        "unblock": "due_at",
        "suppression": "expires_at",
        "incomplete": "due_at",
        "kept": None,
        "stream": None,
        "seen": None,
        "part": None,
        "asking": "opens_at",
    }

    claim_fields: Mapping[str, Sequence[str]] = {"lead": ("flight", "awaits_place")}

    def claim(self, entity: Entity) -> PlaceClaim | None:
        """Return the claim of a lead that has an open command or waits for capacity to open one."""
        if not isinstance(entity, Lead):
            return None
        if entity.flight is not None:
            return PlaceClaim(entity.flight.kind, entity.company_id, holds=True)
        if entity.awaits_place is not None and entity.status in LIVE_STATUSES:
            return PlaceClaim(entity.awaits_place, entity.company_id, holds=False)
        return None

    def key_of(self, request: Message) -> str:
        """Return the contact key."""
        return cast("ContactRequest", request).contact_key

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        """Decide a request. Raises `RefusedError` or `RepeatedError`."""
        person, asked = _load_person(draft, request, envelope)
        refuse_invisible(person, asked)
        _DECIDERS[type(asked)](person, asked)
        unread_numbers.follow(person, asked)
        person.put()

    def stop_at_least(self, draft: Draft, request: Message, envelope: Envelope) -> bool:
        """Decide only the opt-out, block or deletion of a request that could not be decided completely."""
        person, asked = _load_person(draft, request, envelope)
        refuse_invisible(person, asked)
        if not stop_only(person, asked):
            return False
        unread_numbers.follow(person, asked)
        person.put()
        return True

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        """Decide a timer that is due."""
        del due_at
        entity = draft.get(key, kind_of(key))
        match entity:
            case Lead():
                person = Person(draft, entity.company_id, entity.contact_key)
                person.has_turn = True
                _wake_lead(person, entity)
                person.put()
            case Head():
                person = Person(draft, entity.company_id, entity.contact_key)
                stop.sweep(person)
                person.put()
            case Call():
                person = Person(draft, entity.company_id, entity.contact_key)
                outcome.give_up(person, entity)
                person.put()
            case Relay():
                person = Person(draft, entity.company_id, entity.contact_key)
                contact_relay.close_relay(person, entity.command_id)
                person.put()
            case Suppression():
                person = Person(draft, entity.company_id, entity.contact_key)
                suppressing.expire(person, entity)
                person.put()
            case IncompleteTexts():
                person = Person(draft, entity.company_id, entity.contact_key)
                text_parts.read_due(person, entity)
                person.put()
            case OpenSlotRequests():
                waiting_leads.open_for_one(draft, entity)
            case Replan():
                replan.sweep(draft, key, entity)
            case UnblockSweep():
                unblocking.sweep(draft, key, entity)
            case _:
                pass

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        """Let a lead whose timer failed wait, or end as `failure`; the runner retries other timers."""
        entity = draft.get(key, kind_of(key))
        if isinstance(entity, Lead):
            person = Person(draft, entity.company_id, entity.contact_key)
            failed_timers.give_up(person, entity, reason)
            person.put()

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Schedule the replanning of leads that rest on changed rules, and the lifting of blocks, in later ticks."""
        replan.adopt(draft, adoption)
        unblocking.adopt(draft, adoption)

    def timer(self, key: str, entity: Entity) -> Timer | None:
        """Return the timer of an entity, or None."""
        # Called for every change and, at a restore, for every value: one look-up, however many kinds have timers.
        timer_of = _TIMERS.get(type(entity))
        return None if timer_of is None else timer_of(key, entity)


def _lead_timer(key: str, lead: Lead) -> Timer | None:
    due_at = lead.wake_at
    if due_at is None:
        return None
    gate, opens_at = _gate_of(lead) if _waits_at_gate(lead) else ("", EPOCH)
    urgency, priority = lead.urgency_class, lead.lead_priority
    return Timer(due_at, urgency, priority, lead.id, key, lead.aging, gate, opens_at, lead.company_id)


def _head_timer(key: str, head: Head) -> Timer | None:
    due_at = head.sweep_at
    return None if due_at is None else Timer(due_at, STOP_CLASS, 0.0, 0, key, company_id=head.company_id)


def _call_timer(key: str, call: Call) -> Timer | None:
    due_at = call.give_up_at
    return None if due_at is None else Timer(due_at, UPKEEP_CLASS, 0.0, call.id, key, company_id=call.company_id)


def _relay_timer(key: str, relay: Relay) -> Timer:
    return Timer(relay.expires_at, UPKEEP_CLASS, 0.0, relay.lead_id, key, company_id=relay.company_id)


def _replan_timer(key: str, replan_sweep: Replan) -> Timer:
    return Timer(replan_sweep.due_at, REPLAN_CLASS, 0.0, 0, key, company_id=replan_sweep.company_id or 0)


def _suppression_timer(key: str, entry: Suppression) -> Timer | None:
    due_at = entry.expires_at
    return None if due_at is None else Timer(due_at, UPKEEP_CLASS, 0.0, entry.list_id, key, company_id=entry.company_id)


def _incomplete_timer(key: str, entity: IncompleteTexts) -> Timer | None:
    due_at = entity.due_at
    return None if due_at is None else Timer(due_at, STOP_CLASS, 0.0, 0, key, company_id=entity.company_id)


def _queue_timer(key: str, asking: OpenSlotRequests) -> Timer | None:
    due_at = asking.opens_at
    return None if due_at is None else Timer(due_at, STOP_CLASS, 0.0, 0, key, company_id=asking.company_id)


def _unblock_timer(key: str, job: UnblockSweep) -> Timer | None:
    due_at = job.due_at
    return None if due_at is None else Timer(due_at, REPLAN_CLASS, 0.0, job.job_id, key, company_id=job.company_id)


_TIMERS: Mapping[type[Entity], Callable[[str, Any], Timer | None]] = {
    Lead: _lead_timer,
    Head: _head_timer,
    Call: _call_timer,
    Relay: _relay_timer,
    Replan: _replan_timer,
    Suppression: _suppression_timer,
    IncompleteTexts: _incomplete_timer,
    UnblockSweep: _unblock_timer,
    OpenSlotRequests: _queue_timer,
}


def _waits_at_gate(lead: Lead) -> bool:
    """Return whether a due lead waits at a gate."""
    return waits_in_queue(lead) or lead.sweep_key is not None or lead.awaits_place is not None


def _gate_of(lead: Lead) -> tuple[str, Instant]:
    """Return the gate of a due lead, and when its timer fires anyway: at its expiry."""
    if lead.awaits_place is not None:
        gate = gate_key(lead.awaits_place, lead.company_id)
    else:
        waits = waits_in_queue(lead)
        gate = asking_key(lead.company_id, lead.slot_queue or "") if waits else lead.sweep_key or ""
    return gate, EPOCH if lead.ending else lead.expires_at or EPOCH


def _load_person(draft: Draft, request: Message, envelope: Envelope) -> tuple[Person, ContactRequest]:
    """Load the contact of a request, and remember the request's id. Raises `RefusedError` or `RepeatedError`."""
    asked = cast("ContactRequest", request)
    if not asked.contact_key.startswith(f"{asked.company_id}|"):
        problem = "must begin with the company's id"
        raise RefusedError("validation_failed", f"contact_key {problem}", {"contact_key": [problem]})
    person = Person(draft, asked.company_id, asked.contact_key)
    if isinstance(asked, REQUESTS_WITH_ID):
        person.refuse_repeated(envelope)
    return person, asked


def _take_relay_answer(person: Person, request: ReachAnswered) -> None:
    if person.lead(request.lead_id) is not None or not forward(person, request, request.lead_id):
        outcome.take_refusal(person, request)


def _take_moved_lead(person: Person, request: LeadMoved) -> None:
    advance(person, move_in(person, request))


def _take_slot_answer(person: Person, answer: SlotAnswered) -> None:
    """Use a granted slot after checking everything again; release it if it was not used."""
    if answer.call_id is not None:
        inbound_routing.take_answer(person, answer)
        return
    lead = slots.accept_answer(person, answer)
    if lead is None:
        return
    about: dict[str, Any] = {} if answer.until is None else {"until": answer.until}
    person.draft.fact("slot.answered", lead_id=lead.id, request_id=answer.request_id, granted=answer.granted, **about)
    if not answer.granted:
        _hold_without_slot(person, lead, answer.reason or slots.NO_BUYER, answer.until)
        return
    advance(person, lead, grant=answer)
    if not slots.is_used(lead, answer.request_id):
        slots.release(person, lead.id, answer.request_id)


def _hold_without_slot(person: Person, lead: Lead, reason: str, until: Instant | None) -> None:
    """Hold a lead that gets no slot: until its cap resets, or with backoff."""
    if reason in CAPS_USED_UP:
        hold_until_reset(person, lead, reason, until)
    else:
        hold(person, lead, reason)


def _wake_lead(person: Person, lead: Lead) -> None:
    """Advance a lead whose timer fired: its outcome or slot timed out, or its action or expiry is due."""
    now = person.now
    if lead.flight is not None:
        if lead.flight.due_at <= now:
            outcome.time_out(person, lead, lead.flight)
        return
    if slots.is_overdue(lead, now) and lead.slot_id is not None and not _has_expired(lead, now):
        if lead.callback_asks or asks_filtered_buyers(person, lead):  # another owner or buyer may be next by now
            slots.withdraw(person, lead)
            advance(person, lead)
            return
        step = cadence_for(person, lead).step(lead.step or "")
        if isinstance(step, CallStep):
            slots.send_request(person, lead, buyers.choice_for(person, lead, step))
            return
    if lead.disposition_due_at is not None and lead.disposition_due_at <= now and not _has_expired(lead, now):
        dispositions.time_out(person, lead)
    advance(person, lead)


def _has_expired(lead: Lead, now: Instant) -> bool:
    return not lead.ending and lead.expires_at is not None and lead.expires_at <= now


_DECIDERS: Mapping[type[Message], Callable[[Person, Any], None]] = {
    LeadSubmitted: public_submission.submit,
    KeptSubmissionDecided: public_submission.decide_kept,
    LeadUpdateRequested: update.update,
    LeadDeleteRequested: update.delete_lead,
    CallerActed: caller.act,
    CallProgressed: outcome.progress,
    OutcomeRecorded: outcome.record,
    SmsReceived: text_parts.receive,
    CallUpdateRequested: call_changes.update,
    CallDeleteRequested: call_changes.delete,
    CallStartRequested: call_start.start,
    CallKeysRequested: call_changes.press_keys,
    CallReceived: inbound.receive,
    AttributionAnswered: attribution.take_answer,
    WebhookFireRequested: webhook_fires.fire,
    ContactBlockRequested: contact_changes.change_block,
    SuppressionChangeRequested: contact_changes.change_suppression,
    OptOutReviewed: replies.decide_review,
    UnsubscribeRequested: contact_changes.unsubscribe,
    ReachRequested: contact_relay.answer_request,
    ReachAnswered: _take_relay_answer,
    ReachWithdrawn: contact_relay.withdraw,
    SlotAnswered: _take_slot_answer,
    LeadMoved: _take_moved_lead,
}
assert _DECIDERS.keys() == set(CONTACT_REQUESTS.values())  # noqa: S101 - at import: every request has its decider
