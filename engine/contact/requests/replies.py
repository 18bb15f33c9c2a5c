"""What does an inbound text do? It opts the person out or in, starts a review, or is a reply that the schedule handles.

Parts of a text are joined before (`text_parts`).
"""

from typing import Literal

from engine.contact.commands.numbers import texting_number
from engine.contact.consent.opt_in import CONSENT_MISSING
from engine.contact.consent.opt_out import Meaning, meaning_of
from engine.contact.consent.sent_texts import remember_text
from engine.contact.facts.clock_skew import skew_mark
from engine.contact.facts.ledger import reserve
from engine.contact.facts.person import Person, bounded_batch, has_no_flight, is_on_schedule
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle import triggers
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.stop import TEXTED as TEXT_SOURCE
from engine.contact.lifecycle.stop import is_opted_out_of, opt_in_by_text, opt_out, stop_reason
from engine.contact.lifecycle.unread_numbers import settle
from engine.contact.lifecycle.walk import advance
from engine.contact.requests.reactions import cancel_pending, is_waiting_for, remember_event
from engine.contact.schedule.cadence import cadence_for, duration
from engine.contact.schedule.sms_parts import segments
from engine.contact.timing.contact_hours import after
from engine.contact.timing.earliest import OPTOUT_REVIEW, REPLY_PAUSE
from engine.identity import command_id
from engine.partition.draft import RefusedError, RepeatedError
from engine.submission.unread_numbers import unread_text
from schemas.commands import SendSms
from schemas.contact import ContactPause, Lead
from schemas.decisions import Answer
from schemas.instant import DAY, MINUTE, Instant
from schemas.records import Company, Number
from schemas.requests import OptOutReviewed, SmsReceived

REPLY_EVENT = "sms.received"
"""The event of a `wait_for` step."""

REVIEWED = "review"
"""The source of an opt-out that somebody found in a text; START does not lift it."""

REVIEW_FOR = DAY
"""How long nothing goes out after a doubtful opt-out: time for a person to read it."""

CONFIRMED_WITHIN = 5 * MINUTE
"""A later confirmation of an opt-out is not sent: consent to it is presumed for five minutes (47 CFR 64.1200(a)(12))."""

ANSWERED_WITHIN = 10 * MINUTE
"""A later answer to HELP is not sent: the person no longer waits for it."""

CONFIRMATION = "(optout-confirmation)"
HELP_ANSWER = "(help-answer)"
"""The step ids of texts that belong to no step."""

BODY_LENGTH_MAX = 1_600
"""Characters of a text that are stored: ten segments, the most that carriers join."""


Stopped = Literal["new", "before"]


def answer_repeat(person: Person, request: SmsReceived) -> bool:
    """Answer a text that came before, and return True; remember the name of any other one."""
    if request.provider_ref is None or _remember(person, request.provider, request.provider_ref):
        return False
    person.draft.answer = answer_to_sender(person, request, None, None, repeated=True)
    return True


def receive(person: Person, request: SmsReceived, *, stopped: Stopped | None = None, missing_parts: int = 0) -> Meaning:
    """Decide a text, answer with its meaning and return that.

    `stopped`: a part of it was an opt-out, which was obeyed when it came.
    """
    lead = person.newest_lead()
    meaning = read_text(person, request) if stopped is None else "opt_out"
    about = {"missing_parts": missing_parts} if missing_parts else {}
    person.draft.fact(
        "sms.received",
        lead_id=None if lead is None else lead.id,
        # PostgreSQL stores no NUL, and no telephone shows one.
        body=request.body.replace("\0", "")[:BODY_LENGTH_MAX],
        meaning=meaning,
        to_number=request.to_number,
        received_at=min(request.received_at, person.now),
        **skew_mark(person.now, request.received_at),
        **about,
    )
    person.draft.answer = answer_to_sender(person, request, lead, meaning, repeated=False)
    match meaning:
        case "opt_out":
            _stop(person, request, lead, stopped)
        case "opt_in":
            _opt_in(person, lead)
        case "help":
            _help(person, request, lead)
        case "unclear":
            _review(person, lead)
        case _:
            _react_to_reply(person)
    return meaning


def read_text(person: Person, request: SmsReceived) -> Meaning:
    """Return what a text means: what the carrier took it for goes before its words."""
    return request.carrier_meaning or meaning_of(request.body, person.head.sent_texts)


def answer_to_sender(
    person: Person, request: SmsReceived, lead: Lead | None, meaning: str | None, *, repeated: bool
) -> Answer:
    """Return the answer to the sender of the report; a repeat, and a part while others are missing, has no meaning."""
    known_as = person.draft.rules.contact_id(request.contact_key)
    extra = {"contact_id": known_as, "meaning": meaning, "repeated": repeated}
    return Answer(status=200, record_type="text", record_id=None if lead is None else lead.id, extra=extra)


def _remember(person: Person, provider: str | None, provider_ref: str) -> bool:
    try:
        person.refuse_repeated_id(f"sms/{provider or ''}", provider_ref)
    except RepeatedError:
        return False
    return True


def _stop(person: Person, request: SmsReceived, lead: Lead | None, stopped: Stopped | None) -> None:
    is_new = opt_out(person, TEXT_SOURCE, offer_id=offer_of(person, request, lead), channel="sms") or stopped == "new"
    if person.head.review_until is not None:
        person.head.review_until = None
        person.draft.fact("contact.optout_reviewed", opted_out=True)
    company = person.rules.body(Company, "company", person.company_id)
    text = None if company is None else company.optout_confirmation
    if person.ends_leads_later:
        return
    # While requests are unread no command is emitted; a confirmation is optional.
    is_allowed = not person.draft.behind and not _waits_for_parts(person)
    if is_new and text and lead is not None and lead.caller_id and is_allowed:
        _confirm(person, lead, text, request.to_number)


def _waits_for_parts(person: Person) -> bool:
    """Return whether nothing is sent because parts of a text of the person are missing."""
    until = person.head.incomplete_until
    return until is not None and until > person.now


def offer_of(person: Person, request: SmsReceived, lead: Lead | None) -> int | None:
    """Return the offer of a text: of the number that it was sent to, else of the lead."""
    number = None if request.to_number is None else person.rules.number(person.company_id, request.to_number)
    own = None if number is None else person.rules.body(Number, "number", number.id)
    if own is not None and own.offer_id is not None:
        return own.offer_id
    return None if lead is None else lead.offer_id


def _confirm(person: Person, lead: Lead, text: str, from_number: str | None) -> None:
    """Emit the one text that the law allows after an opt-out; no lead awaits its outcome."""
    command = _text_back(person, lead, text, from_number, CONFIRMATION, until=person.now + CONFIRMED_WITHIN)
    reserve(person, "sms", command.command_id)
    _emit(person, lead, command)


def _help(person: Person, request: SmsReceived, lead: Lead | None) -> None:
    """Answer HELP once a day, at any hour and to everybody, as carriers demand. It is no contact: no cap counts it.

    Where the carrier says that the text was HELP, it has answered it. Nobody can be answered of whom there is no lead.
    """
    helped_at = person.head.helped_at
    if request.carrier_meaning is not None or lead is None or not lead.caller_id:
        return
    if person.ends_leads_later or (helped_at is not None and person.now < helped_at + DAY) or _waits_for_parts(person):
        return
    from_number = request.to_number or texting_number(person, lead)
    text = _help_text(person, from_number)
    command = _text_back(person, lead, text, from_number, HELP_ANSWER, until=person.now + ANSWERED_WITHIN)
    person.head.helped_at = person.now
    remember_text(person, command)
    person.save_head()
    _emit(person, lead, command)


def _emit(person: Person, lead: Lead, command: SendSms) -> None:
    """Emit a text that belongs to no step of the schedule, and record it."""
    step_id = command.step_id
    person.draft.emit(command)
    person.draft.fact("command.emitted", lead_id=lead.id, command_id=command.command_id, kind="sms", step_id=step_id)


def _help_text(person: Person, from_number: str | None) -> str:
    company = person.rules.body(Company, "company", person.company_id)
    if company is not None and company.help_answer:
        return company.help_answer
    name = "" if company is None else f"{company.name}: "
    called = "" if from_number is None else f" Call or text {from_number} to reach us."
    return f"{name}we contact you about your request.{called} Reply STOP to end."


def _text_back(person: Person, lead: Lead, text: str, from_number: str | None, step_id: str, *, until: Instant) -> SendSms:
    return SendSms(
        command_id=command_id(lead.uuid, lead.enrolment, person.head.version, step_id, 1),
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        lead_uuid=lead.uuid,
        step_id=step_id,
        enrolment=lead.enrolment,
        attempt=1,
        decided_at=person.now,
        not_before=person.now,
        not_after=until,
        urgency_class=lead.urgency_class,
        priority=lead.lead_priority,
        to=lead.caller_id or "",
        from_number=from_number or texting_number(person, lead),
        body=text,
        segments=segments(text),
    )


def _opt_in(person: Person, lead: Lead | None) -> None:
    """Lift an opt-out of texts that a text made, and advance leads that waited for consent.

    Leads that the opt-out ended do not start again: that takes a new submission.
    """
    person.draft.fact("contact.optin_word", lead_id=None if lead is None else lead.id)
    opt_in_by_text(person)
    if stop_reason(person.head) is not None or is_opted_out_of(person.head, "sms"):
        return
    person.head.opted_in_at = person.now
    person.save_head()
    for waiting in bounded_batch(person.live_leads(lambda other: other.status_wait == CONSENT_MISSING)):
        advance(person, waiting)


def _review(person: Person, lead: Lead | None) -> None:
    """Hold all contact for a day: a person must read whether this was an opt-out."""
    if stop_reason(person.head) is not None:
        return
    person.head.review_until = person.now + REVIEW_FOR
    person.save_head()
    person.draft.fact("contact.optout_review", lead_id=None if lead is None else lead.id, until=person.head.review_until)
    cancel_pending(person, OPTOUT_REVIEW)
    for other in bounded_batch(person.live_leads(has_no_flight)):
        advance(person, other)


def decide_review(person: Person, request: OptOutReviewed) -> None:
    """Opt the person out, or let the schedule go on, as somebody who read the text says; answer with the contact.

    A review may be decided after its day is over, too. Raises `RefusedError` where nothing waits for one.
    """
    if person.head.review_until is None:
        raise RefusedError("not_found", "No text of this contact waits for a review.")
    lead = person.newest_lead()
    person.head.unread_number = person.head.review_until = None
    person.save_head()
    if unread_text(person.key) is not None and request.opt_out:
        settle(person, request.keys)
    person.draft.fact("contact.optout_reviewed", lead_id=None if lead is None else lead.id, opted_out=request.opt_out)
    person.draft.answer = Answer(status=200, record_type="contact", record_id=person.draft.rules.contact_id(person.key))
    if request.opt_out:
        opt_out(person, REVIEWED, offer_id=None if lead is None else lead.offer_id, channel="sms")
        return
    for other in bounded_batch(person.live_leads(has_no_flight)):
        advance(person, other)


def _react_to_reply(person: Person) -> None:
    for lead in bounded_batch(person.live_leads(is_on_schedule)):
        person.save(lead)
        if not lead.ending:
            _apply_reply(person, lead)
        advance(person, lead)


def _apply_reply(person: Person, lead: Lead) -> None:
    """Apply a reply to a lead: by a trigger, a `wait_for` step, else `on_reply`."""
    remember_event(lead, REPLY_EVENT)
    cadence = cadence_for(person, lead)
    if triggers.fire_on_exit(person, lead, cadence, ("replied",)) or is_waiting_for(person, lead, REPLY_EVENT):
        return
    reaction = cadence.schedule.on_reply
    match reaction.action:
        case "exit":
            begin_end(person, lead, COMPLETED)
        case "pause":
            until = after(person.now, duration(reaction.duration), lead, cadence)
            lead.pause = ContactPause(until=until, code=REPLY_PAUSE)
        case _:
            pass
