"""What can be asked of a contact, and what falls due for it? Every request and every timer finds its room here."""

from collections.abc import Mapping
from typing import assert_never, cast

from engine.contact import (
    call_changes,
    call_start,
    caller,
    dispositions,
    inbound,
    outcome,
    reach,
    replan,
    replies,
    slots,
    stop,
    submission,
    update,
)
from engine.contact.moving import forward, take_in
from engine.contact.person import Person
from engine.contact.plan import hold
from engine.contact.walk import cadence_for, go_on
from engine.partition.aggregate import Adoption, Timer
from engine.partition.draft import Draft, RefusedError
from schemas.contact import Head, Lead, Relay, Replan
from schemas.envelope import Envelope
from schemas.instant import Instant
from schemas.requests import (
    CONTACT_REQUESTS,
    CallDeleteRequested,
    CallerActed,
    CallKeysRequested,
    CallProgressed,
    CallReceived,
    CallStartRequested,
    CallUpdateRequested,
    ContactRequest,
    LeadDeleteRequested,
    LeadMoved,
    LeadSubmitted,
    LeadUpdateRequested,
    OutcomeRecorded,
    ReachAnswered,
    ReachRequested,
    ReachWithdrawn,
    SlotAnswered,
    SmsReceived,
)
from schemas.schedule import CallStep
from schemas.state import kind_of
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE, Topic
from schemas.wire import Entity, Message

Request = (
    LeadSubmitted
    | LeadUpdateRequested
    | LeadDeleteRequested
    | CallerActed
    | CallProgressed
    | OutcomeRecorded
    | CallUpdateRequested
    | CallDeleteRequested
    | CallStartRequested
    | CallKeysRequested
    | CallReceived
    | SmsReceived
    | ReachRequested
    | ReachAnswered
    | ReachWithdrawn
    | SlotAnswered
    | LeadMoved
)

CALLS_BY_HAND = CallUpdateRequested | CallDeleteRequested | CallStartRequested | CallKeysRequested | CallReceived

STOP_CLASS = 0
"""Ending the leads of a stopped person goes before everything else that is due."""

REPLAN_CLASS = 1
"""One of a thousand ticks of a cycle, so that it takes nothing from the leads that are due, and is not starved by them."""

UPKEEP_CLASS = 9
"""Forgetting goes last."""


class ContactAggregate:
    """The rules of one contact: `engine.partition.aggregate.Aggregate`."""

    requests_topic: Topic = CONTACTS_REQUESTS
    decisions_topic: Topic = CONTACTS_DECISIONS
    state_topic: Topic = CONTACTS_STATE
    request_types: Mapping[str, type[Message]] = CONTACT_REQUESTS
    timer_fields: Mapping[str, str | None] = {"lead": "wake_at", "head": "sweep_at", "call": None, "stream": None}

    def key_of(self, request: Message) -> str:
        """Return the contact key."""
        return cast("ContactRequest", request).contact_key

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        """Decide a request. Raises `RefusedError` or `RepeatedError`."""
        asked = cast("Request", request)
        if not asked.contact_key.startswith(f"{asked.company_id}|"):
            problem = "must begin with the company's id"
            raise RefusedError("validation_failed", f"contact_key {problem}", {"contact_key": [problem]})
        person = Person(draft, asked.company_id, asked.contact_key)
        if isinstance(asked, CALLS_BY_HAND | LeadSubmitted | LeadUpdateRequested | LeadDeleteRequested | CallerActed):
            person.see(envelope)
        _decide(person, asked)
        person.put()

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        """Decide a timer that is due."""
        del due_at
        entity = draft.get(key, kind_of(key))
        match entity:
            case Lead():
                person = Person(draft, entity.company_id, entity.contact_key)
                _wake_lead(person, entity)
                person.put()
            case Head():
                person = Person(draft, entity.company_id, entity.contact_key)
                stop.sweep(person)
                person.put()
            case Relay():
                draft.remove(key)
            case Replan():
                replan.sweep(draft, key, entity)
            case _:
                pass

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Have planned anew, by later ticks, what rests on rules that have changed."""
        replan.adopt(draft, adoption)

    def timer(self, key: str, entity: Entity) -> Timer | None:
        """Return when the entity is to be woken."""
        # Asked for every change and, at a restore, for every value: plain tests cost a quarter of class patterns.
        if isinstance(entity, Lead):
            due_at = entity.wake_at
            return None if due_at is None else Timer(due_at, entity.urgency_class, entity.lead_priority, entity.id, key)
        if isinstance(entity, Head):
            return None if entity.sweep_at is None else Timer(entity.sweep_at, STOP_CLASS, 0.0, 0, key)
        if isinstance(entity, Relay):
            return Timer(entity.expires_at, UPKEEP_CLASS, 0.0, entity.lead_id, key)
        if isinstance(entity, Replan):
            return Timer(entity.due_at, REPLAN_CLASS, 0.0, 0, key)
        return None


def _decide(person: Person, request: Request) -> None:  # noqa: C901, PLR0912 - one line per request
    match request:
        case LeadSubmitted():
            submission.submit(person, request)
        case LeadUpdateRequested():
            update.update(person, request)
        case LeadDeleteRequested():
            update.destroy(person, request)
        case CallerActed():
            caller.act(person, request)
        case CallProgressed():
            outcome.progress(person, request)
        case OutcomeRecorded():
            outcome.record(person, request)
        case SmsReceived():
            replies.receive(person, request)
        case CallUpdateRequested():
            call_changes.update(person, request)
        case CallDeleteRequested():
            call_changes.delete(person, request)
        case CallStartRequested():
            call_start.start(person, request)
        case CallKeysRequested():
            call_changes.press_keys(person, request)
        case CallReceived():
            inbound.receive(person, request)
        case ReachRequested():
            reach.answer_request(person, request)
        case ReachAnswered():
            _take_reach_answer(person, request)
        case ReachWithdrawn():
            reach.withdraw(person, request)
        case SlotAnswered():
            _take_slot(person, request)
        case LeadMoved():
            go_on(person, take_in(person, request))
        case _:
            assert_never(request)


def _take_reach_answer(person: Person, request: ReachAnswered) -> None:
    if person.lead(request.lead_id) is not None or not forward(person, request, request.lead_id):
        outcome.take_refusal(person, request)


def _take_slot(person: Person, answer: SlotAnswered) -> None:
    """Use a slot that was granted, after everything was checked again; what is not used is given back."""
    lead = slots.take(person, answer)
    if lead is None:
        return
    person.draft.fact("slot.answered", lead_id=lead.id, request_id=answer.request_id, granted=answer.granted)
    if not answer.granted:
        hold(person, lead, answer.reason or "no_buyer_available")
        return
    person.grant = answer
    go_on(person, lead)
    person.grant = None
    if not slots.is_used(lead, answer.request_id):
        slots.release(person, lead.id, answer.request_id)


def _wake_lead(person: Person, lead: Lead) -> None:
    """Go on with a lead whose time has come: its outcome or its slot stayed out, or its action or expiry is due."""
    now = person.now
    if lead.flight is not None:
        if lead.flight.due_at <= now:
            outcome.time_out(person, lead, lead.flight)
        return
    if slots.overdue(lead, now) and lead.slot_id is not None and not _has_expired(lead, now):
        step = cadence_for(person, lead).step(lead.step or "")
        if isinstance(step, CallStep):
            slots.ask_again(person, lead, step)
            return
    if lead.disposition_due_at is not None and lead.disposition_due_at <= now and not _has_expired(lead, now):
        dispositions.time_out(person, lead)
    go_on(person, lead)


def _has_expired(lead: Lead, now: Instant) -> bool:
    return not lead.ending and lead.expires_at is not None and lead.expires_at <= now
