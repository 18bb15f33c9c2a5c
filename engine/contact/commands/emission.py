"""Which command does a step emit? Its fields, its attempt, its deadline, and when its outcome times out."""

import re
from typing import Any, TypedDict

import msgspec

from engine.contact.commands.numbers import dialing_number, texting_number
from engine.contact.consent.sent_texts import remember_text
from engine.contact.facts import ledger
from engine.contact.facts.call_record import add_call, new_outbound_call, tier_of
from engine.contact.facts.person import Person
from engine.contact.facts.public_contacts import count_contact
from engine.contact.facts.result import earned
from engine.contact.schedule.cadence import Cadence, duration
from engine.contact.schedule.filters import OF_TOKENS
from engine.contact.schedule.sms_parts import segments
from engine.contact.schedule.templates import (
    Lookup,
    TextTooLongError,
    render,
    render_body,
    render_sms,
    render_speech,
    withheld_from,
)
from engine.contact.timing.contact_hours import CALLBACK_PURPOSE, closing, countries_of, purpose_of
from engine.contact.timing.plan import CALLBACK as PLANNED_BY_CALLBACK
from engine.identity import command_id, identity_number, uuid_of
from engine.limits import SUBJECT_LENGTH_MAX
from engine.submission.numbers import EXTENSION
from schemas.commands import UNSUBSCRIBE_URL, BuyerLeg, Command, PlaceCall, PostWebhook, SendEmail, SendSms
from schemas.contact import Call, Flight, Lead
from schemas.errors import SenderError
from schemas.instant import DAY, HOUR, MINUTE, Instant, Millis, to_rfc3339
from schemas.law import CHANNELS
from schemas.outcomes import OUTCOME_TIMEOUT
from schemas.records import OutgoingWebhook
from schemas.requests import ReachRequested
from schemas.schedule import CallStep, EmailStep, SmsStep, WebhookStep
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import to_json

MAX_LATENESS: dict[str, Millis] = {"call": 4 * HOUR, "sms": 2 * HOUR, "email": DAY}
"""Default `max_lateness`: a contact that is later is skipped or handled by `on_late`."""

DROP_REPORTED_WITHIN = 2 * MINUTE
DROP_REPORTED_SHARE = 5
"""A text or call must go out this long before its outcome times out, or a fifth of that time where it is less. So the
report that a gateway dropped it comes while the lead still waits for it, and the step is planned again."""

CALLBACK = "(callback)"
"""The step id of a callback, which belongs to no step."""

MANUAL = "(manual)"
"""The step id of a call that was requested by hand."""

CALL_NOW = "call_now"
"""The source of a command that was requested by hand, not planned."""

ALLOW_EMPTY = "empty"
FAIL_LEAD = "fail"
"""What a step may do where a token has no value: render it empty, or fail the lead."""

TOKEN_MISSING = "token_missing"  # noqa: S105 - a word, opens nothing
TEXT_TOO_LARGE = "too_large"
"""Why a message cannot be rendered: a required token has no value; the text exceeds its limit."""

WEBHOOK_EVENT = "lead.schedule_step"


EXTENSION_PAUSE = "ww"
"""A second by each provider's half a second a `w`: a switchboard takes keys once it has begun its greeting."""

KEYS = re.compile(r"[0-9]{1,20}", re.ASCII)
"""An extension as libphonenumber takes it, at most; other text in its token is said by a person, and pressed by nobody."""


class BuyerConnection(msgspec.Struct, frozen=True):
    """The buyer to whom an answered call is connected, how long they are rung, and the slot of the call.

    With `agent_id` it is an agent in the place of a buyer. With `legs` several buyers are rung at once: the buyer is the
    first of them. `routed_by_epc`: what they earn decided.

    `callback`: the call was promised.

    `manual`: requested by hand; `forced`: also outside the schedule's preferred hours; `overrides_law`: outside all hours,
    for a recorded reason.
    """

    buyer_id: int | None = None
    buyer_group_id: int | None = None
    number: str | None = None
    timeout_seconds: int | None = None
    slot_id: str | None = None
    dtmf_tones: str | None = None
    callback: bool = False
    manual: bool = False
    forced: bool = False
    overrides_law: bool = False
    legs: tuple[BuyerLeg, ...] = ()
    agent_id: int | None = None
    routed_by_epc: bool = False

    @property
    def origin(self) -> str:
        """Return why the call is made: `callback`, `api` or `schedule`."""
        return "callback" if self.callback else "api" if self.manual else "schedule"


class CommandHeader(TypedDict):
    """The fields of every command: whose it is, which attempt, and from when on it may be carried out."""

    command_id: str
    company_id: int
    contact_key: str
    lead_id: int
    lead_uuid: str
    step_id: str
    enrolment: int
    attempt: int
    decided_at: Instant
    not_before: Instant


class StepCommandHeader(CommandHeader):
    """The header of a step's command: it has the place of its lead in the queue of a gateway as well."""

    urgency_class: int
    priority: float
    due_at: Instant | None


class FlightFields(TypedDict):
    """The fields of a `Flight` that follow from its command."""

    command_id: str
    step_id: str
    emitted_at: Instant
    due_at: Instant
    enrolment: int


def next_command_id(lead: Lead, step_id: str) -> str:
    """Count one more attempt at a step and return the id of its command."""
    lead.step_attempts += 1
    return present_command_id(lead, step_id)


def present_command_id(lead: Lead, step_id: str) -> str:
    """Return the command id of the last counted attempt."""
    return command_id(lead.uuid, lead.enrolment, lead.step_entered, step_id, lead.step_attempts)


def place_call(
    person: Person, lead: Lead, cadence: Cadence, step: CallStep, connection: BuyerConnection, *, source: str
) -> None:
    """Emit the command of a call. With a slot, the command has the slot's id. `source` says what planned it."""
    call_id = person.draft.next_id()
    until = person.now + _timeout("call", step.outcome_timeout)
    keys = keys_of_extension(lead)
    command = PlaceCall(
        **_header(person, lead, step.id, _call_command_id(lead, step, connection, call_id), _number_key(lead)),
        not_after=_call_not_after(person, lead, cadence, connection, _latest_send_at(person, until)),
        to=lead.caller_id or "",
        from_number=step.from_number or dialing_number(person, lead),
        call_id=call_id,
        buyer_id=connection.buyer_id,
        buyer_group_id=connection.buyer_group_id,
        buyer_number=connection.number,
        buyer_timeout_seconds=connection.timeout_seconds,
        buyer_dtmf_tones=connection.dtmf_tones,
        ring_timeout_seconds=step.ring_timeout_seconds,
        machine=step.machine if keys is None else "continue",
        buyer_legs=connection.legs,
        agent_id=connection.agent_id,
        voicemail_message=step.voicemail_message if keys is None else None,
        to_dtmf_tones=keys,
        whisper=_whisper(person, lead, step),
        stream=step.connect.stream,
    )
    flight = Flight(
        kind="call",
        counted=True,
        call_id=call_id,
        slot_id=connection.slot_id,
        callback=connection.callback or connection.manual,
        buyer_ids=tuple(leg.buyer_id for leg in connection.legs),
        agent_id=connection.agent_id,
        **_flight_fields(person, lead, command, until),
    )
    lead.outbound_calls_count += 1
    lead.attempted_call_id = call_id
    lead.last_call_at = person.now
    if connection.buyer_id is not None:
        lead.dial_tier = tier_of(person, connection.buyer_group_id, connection.buyer_id)
    _dispatch(person, lead, command, flight, source)
    step_id = None if flight.callback else step.id
    call = new_outbound_call(person, lead, command, origin=connection.origin, step_id=step_id)
    call.routed_by_epc = connection.routed_by_epc
    add_call(person, call)


def keys_of_extension(lead: Lead) -> str | None:
    """Return the keys that reach a person behind a switchboard: a pause, then the extension; None for a direct number."""
    extension = str(lead.data.get(EXTENSION) or "").strip()
    return EXTENSION_PAUSE + extension if KEYS.fullmatch(extension) else None


def _whisper(person: Person, lead: Lead, step: CallStep) -> str | None:
    """Return what a buyer or agent hears before they are connected; a token without a value is left out."""
    if step.connect.whisper is None:
        return None
    text, missing = render_speech(step.connect.whisper, token_lookup(person, lead))
    if missing:
        person.draft.fact("template.token_missing", lead_id=lead.id, step_id=step.id, tokens=list(missing))
    return text or None


def _call_not_after(person: Person, lead: Lead, cadence: Cadence, connection: BuyerConnection, until: Instant) -> Instant:
    """Return the deadline of a call: the end of its hours; with `overrides_law`, the lead's expiry alone."""
    if connection.overrides_law:
        return until if lead.expires_at is None else min(until, lead.expires_at)
    return _not_after(person, lead, cadence, "call", until, preferred=not (connection.callback or connection.forced))


def call_back(person: Person, lead: Lead, cadence: Cadence, connection: BuyerConnection) -> None:
    """Emit the command of a promised call."""
    lead.callbacks += 1
    place_call(person, lead, cadence, CallStep(id=CALLBACK), connection, source=PLANNED_BY_CALLBACK)


class RenderingError(SenderError):
    """A message cannot be rendered for this lead; `reason` is `TOKEN_MISSING` or `TEXT_TOO_LARGE`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RenderedMessage(msgspec.Struct, frozen=True):
    """The text of one message; an SMS has no subject."""

    body: str
    subject: str = ""


def render_message(person: Person, lead: Lead, step: SmsStep | EmailStep) -> RenderedMessage:
    """Render the message of a step for a lead. Raises `RenderingError`."""
    lookup = token_lookup(person, lead)
    subject, not_in_subject = "", tuple[str, ...]()
    try:
        if isinstance(step, SmsStep):
            body, missing = render_sms(step.template, lookup, lead.withheld)
        else:
            subject, not_in_subject = render(step.subject, lookup, length_max=SUBJECT_LENGTH_MAX, withheld=lead.withheld)
            body, missing = render_body(
                step.template, _with_unsubscribe_url(lookup), is_recorded=True, withheld=lead.withheld
            )
    except TextTooLongError as error:
        raise RenderingError(TEXT_TOO_LARGE) from error
    if (missing or not_in_subject) and step.missing_token != ALLOW_EMPTY:
        raise RenderingError(TOKEN_MISSING)
    if lead.withheld:
        _report_withheld(person, lead, step)
    for tokens in (not_in_subject, missing):
        if tokens:
            person.draft.fact("template.token_missing", lead_id=lead.id, step_id=step.id, tokens=list(tokens))
    return RenderedMessage(body, subject)


def _report_withheld(person: Person, lead: Lead, step: SmsStep | EmailStep) -> None:
    """State which values a message goes without, because they came without a key and hold a link or a telephone number."""
    templates = (step.template,) if isinstance(step, SmsStep) else (step.subject, step.template)
    tokens = [name for template in templates for name in withheld_from(template, lead.withheld)]
    if tokens:
        person.draft.fact("template.value_withheld", lead_id=lead.id, step_id=step.id, tokens=list(dict.fromkeys(tokens)))


def _with_unsubscribe_url(lookup: Lookup) -> Lookup:
    """Return the lookup for the text of an e-mail: the link is the gateway's to make, unless the sender submitted one."""

    def value_of(token: str) -> Any:
        value = lookup(token)
        return UNSUBSCRIBE_URL if value is None and token == "unsubscribe_url" else value  # noqa: S105 - of a template

    return value_of


def send_sms(person: Person, lead: Lead, cadence: Cadence, step: SmsStep, message: RenderedMessage, *, source: str) -> None:
    """Emit the command of a text."""
    until = person.now + _timeout("sms", step.outcome_timeout)
    command = SendSms(
        **_header(person, lead, step.id, next_command_id(lead, step.id), _number_key(lead)),
        not_after=_not_after(person, lead, cadence, "sms", _latest_send_at(person, until)),
        to=lead.caller_id or "",
        from_number=step.from_number or texting_number(person, lead),
        body=message.body,
        segments=segments(message.body),
    )
    lead.sms_count += 1
    flight = Flight(kind="sms", counted=True, **_flight_fields(person, lead, command, until))
    _dispatch(person, lead, command, flight, source)


def send_email(
    person: Person, lead: Lead, cadence: Cadence, step: EmailStep, message: RenderedMessage, *, source: str
) -> None:
    """Emit the command of an e-mail; ask the contact of the address to emit it where the lead is keyed by a number."""
    until = person.now + _timeout("email", step.outcome_timeout)
    address_key = email_key(lead.company_id, lead.email or "")
    command = SendEmail(
        **_header(person, lead, step.id, next_command_id(lead, step.id), address_key),
        # Mail may go out long after the lead went on.
        not_after=_not_after(person, lead, cadence, "email", person.now + _max_lateness(step)),
        to=lead.email or "",
        from_address=step.from_address,
        subject=message.subject,
        body=message.body,
    )
    lead.emails_count += 1
    lead.last_email_at = person.now
    _dispatch(person, lead, command, Flight(kind="email", **_flight_fields(person, lead, command, until)), source)


def post_webhook(person: Person, lead: Lead, step: WebhookStep, *, source: str) -> None:
    """Emit the command of a webhook and await its outcome."""
    until = person.now + _timeout("webhook", step.outcome_timeout)
    command = step_webhook(person, lead, step)
    _dispatch(person, lead, command, Flight(kind="webhook", **_flight_fields(person, lead, command, until)), source)


def step_webhook(person: Person, lead: Lead, step: WebhookStep) -> PostWebhook:
    """Return the command of a webhook step."""
    record = person.rules.record("outgoing_webhook", step.outgoing_webhook_id)
    return PostWebhook(
        **_header(person, lead, step.id, next_command_id(lead, step.id), person.key),
        outgoing_webhook_id=step.outgoing_webhook_id,
        webhook_version=record.version if record else 0,
        payload={"type": WEBHOOK_EVENT, "timestamp": to_rfc3339(person.now), "data": _payload(lead, step.id)},
    )


def call_webhook(person: Person, call: Call, webhook_id: int, identity: str, *, step_id: str, event: str) -> PostWebhook:
    """Return the command of a webhook about a call, outside any step."""
    record = person.rules.record("outgoing_webhook", webhook_id)
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    about: dict[str, Any] = {} if lead is None else _payload(lead, step_id)
    return PostWebhook(
        **call_command_header(person, call, step_id, identity),
        urgency_class=5,
        outgoing_webhook_id=webhook_id,
        webhook_version=record.version if record else 0,
        call_id=call.id,
        payload={"type": event, "timestamp": to_rfc3339(person.now), "data": {**about, "call": _call_payload(call)}},
    )


def lead_webhook(person: Person, lead: Lead, webhook_id: int, identity: str, *, step_id: str, event: str) -> PostWebhook:
    """Return the command of a webhook about a lead, outside any step: it may go out at once."""
    record = person.rules.record("outgoing_webhook", webhook_id)
    return PostWebhook(
        command_id=identity,
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        lead_uuid=lead.uuid,
        step_id=step_id,
        enrolment=lead.enrolment,
        attempt=1,
        urgency_class=5,
        decided_at=person.now,
        not_before=person.now,
        outgoing_webhook_id=webhook_id,
        webhook_version=record.version if record else 0,
        payload={"type": event, "timestamp": to_rfc3339(person.now), "data": _payload(lead, step_id)},
    )


def call_command_header(person: Person, call: Call, step_id: str, identity: str) -> CommandHeader:
    """Return the header of a command about a call that belongs to no step: it may go out at once."""
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    return {
        "command_id": identity,
        "company_id": call.company_id,
        "contact_key": call.contact_key,
        "lead_id": call.lead_id or 0,
        "lead_uuid": "" if lead is None else lead.uuid,
        "step_id": step_id,
        "enrolment": 0,
        "attempt": 1,
        "decided_at": person.now,
        "not_before": person.now,
    }


def _call_payload(call: Call) -> dict[str, Any]:
    moments = ("created_at", "initiated_at", "ringing_at", "answered_at", "buyer_answered_at", "ended_at")
    names = (
        *("id", "uuid", "direction", "origin", "status", "sub_status", "outcome", "number_called", "from_number"),
        *("lead_id", "offer_id", "schedule_id", "traffic_source_id", "buyer_id", "buyer_group_id", "revenue", "payout"),
        *("cost", "buyer_converted", "offer_converted", "call_disposition_id", "agent_call_disposition_notes"),
        *("token_values", "talk_seconds", "hold_seconds", "recording_url"),
    )
    found = {name: getattr(call, name) for name in names}
    instants = {name: getattr(call, name) for name in moments}
    return {**found, **{name: None if moment is None else to_rfc3339(moment) for name, moment in instants.items()}}


def has_webhook(person: Person, step: WebhookStep) -> bool:
    """Return whether the webhook of a step exists, is the company's own, and is not paused."""
    record = person.rules.record("outgoing_webhook", step.outgoing_webhook_id)
    body = person.rules.body(OutgoingWebhook, "outgoing_webhook", step.outgoing_webhook_id)
    return record is not None and body is not None and record.company_id == person.company_id and not body.paused


def email_key(company_id: int, address: str) -> str:
    """Return the contact key of an e-mail address."""
    return f"{company_id}|email:{address.lower()}"


def _number_key(lead: Lead) -> str:
    return f"{lead.company_id}|{identity_number(lead.caller_id or '')}"


def _call_command_id(lead: Lead, step: CallStep, connection: BuyerConnection, call_id: int) -> str:
    if connection.manual:
        return command_id(uuid_of("call", call_id), lead.enrolment, 0, step.id, 1)
    if connection.callback:
        # Negative: steps count from one, so no step's command can have this id.
        return command_id(lead.uuid, lead.enrolment, -lead.callbacks, step.id, 1)
    return connection.slot_id or next_command_id(lead, step.id)


def _dispatch(person: Person, lead: Lead, command: Command, flight: Flight, source: str) -> None:
    """Emit a command from the contact that it reaches, and let the lead wait for its outcome."""
    now = person.now
    about = _command_fact(command, flight, source)
    if flight.counted:
        lead.attempts += 1
    if flight.kind in CHANNELS and source != CALL_NOW:
        count_contact(person, lead)
    if command.contact_key == person.key:
        if flight.counted:
            remember_text(person, command)
            ledger.reserve(person, flight.kind, command.command_id)
        person.draft.emit(command)
        person.draft.fact("command.emitted", lead_id=lead.id, call_id=flight.call_id, **about)
    else:
        flight = msgspec.structs.replace(flight, reached_by=command.contact_key)
        person.draft.send(CONTACTS_REQUESTS.name, command.contact_key, _relay_request(person, lead, command, flight))
        person.draft.fact("reach.requested", lead_id=lead.id, call_id=flight.call_id, **about)
    lead.flight = flight
    person.draft.take_place(flight.kind)
    lead.status, lead.status_wait = "running", "awaiting_outcome"
    lead.first_action_at = lead.first_action_at or now
    lead.last_action_at = now
    lead.recheck_at = lead.held_at = None
    lead.allowed_by = ()
    if not flight.callback:  # a callback or manual call is no step of the schedule
        lead.requested_next_action_at = None
    if lead.heard and flight.kind != "webhook":
        lead.heard = ()
    if lead.pause is not None and lead.pause.until <= now:
        lead.pause = None
    person.save(lead)


def _command_fact(command: Command, flight: Flight, source: str) -> dict[str, Any]:
    """Return the fields of the fact that a command was emitted whose outcome the lead awaits."""
    about: dict[str, Any] = {"command_id": command.command_id, "kind": flight.kind, "step_id": command.step_id}
    if isinstance(command, SendSms):
        about["segments"] = command.segments
    if flight.buyer_ids:
        about["buyer_ids"] = list(flight.buyer_ids)
    about["source"] = source
    return about


def _relay_request(person: Person, lead: Lead, command: Command, flight: Flight) -> ReachRequested:
    return ReachRequested(
        company_id=command.company_id,
        contact_key=command.contact_key,
        lead_id=command.lead_id,
        reply_to=person.key,
        kind=flight.kind,  # type: ignore[arg-type]  # webhooks reach nobody's address
        command=msgspec.Raw(to_json(command)),
        states=lead.states,
        countries=countries_of(lead),
        purpose=CALLBACK_PURPOSE if flight.callback else purpose_of(person.rules, lead),
        offer_id=lead.offer_id,
        schedule_id=lead.schedule_id if person.rules.has_any(person.company_id, "suppression_list") else None,
    )


def _header(person: Person, lead: Lead, step_id: str, identity: str, contact_key: str) -> StepCommandHeader:
    due_at = lead.planned_at or lead.next_action_at
    return {
        "command_id": identity,
        "company_id": lead.company_id,
        "contact_key": contact_key,
        "lead_id": lead.id,
        "lead_uuid": lead.uuid,
        "step_id": step_id,
        "enrolment": lead.enrolment,
        "attempt": max(1, lead.step_attempts),
        "decided_at": person.now,
        "not_before": person.now,
        "urgency_class": lead.urgency_class,
        "priority": lead.lead_priority,
        "due_at": due_at if due_at is not None and due_at < person.now else None,
    }


def _flight_fields(person: Person, lead: Lead, command: Command, until: Instant) -> FlightFields:
    return {
        "command_id": command.command_id,
        "step_id": command.step_id,
        "emitted_at": person.now,
        "due_at": until,
        "enrolment": lead.enrolment,
    }


def _timeout(kind: str, text: str | None) -> Millis:
    return OUTCOME_TIMEOUT[kind] if text is None else duration(text).elapsed


def _latest_send_at(person: Person, until: Instant) -> Instant:
    """Return until when a command may go out whose outcome times out at `until`."""
    return until - min(DROP_REPORTED_WITHIN, (until - person.now) // DROP_REPORTED_SHARE)


def _max_lateness(step: EmailStep) -> Millis:
    return MAX_LATENESS["email"] if step.max_lateness is None else duration(step.max_lateness).elapsed


def _not_after(
    person: Person, lead: Lead, cadence: Cadence, kind: str, until: Instant, *, preferred: bool = True
) -> Instant:
    """Return the deadline of a command: the end of its hours, its lead's expiry, or `until`, whichever is first.

    For a telephone, `until` comes before the timeout of the outcome: it must not ring after the lead went on.
    """
    close = closing(person.law, lead, cadence, kind, person.now, preferred=preferred)
    expiry = None if lead.ending else lead.expires_at
    return min(moment for moment in (close, expiry, until) if moment is not None)


SYSTEM_TOKENS = frozenset(
    {
        *("sms_number", "caller_id", "email", "id", "uuid", "offer_id", "schedule_id"),
        *("created_at", "first_action_at", "last_action_at", "last_call_at", "expires_at"),
    }
)
"""Tokens of a template that leadclock fills."""


def token_lookup(person: Person, lead: Lead) -> Lookup:
    """Return the lookup of tokens for a lead: its data, its columns, then system tokens.

    What only leadclock knows goes before a token that the sender submitted under its name; `token.x` is the sender's.
    """

    def value_of(token: str) -> Any:
        if token.startswith(OF_TOKENS):
            return lead.data.get(token.removeprefix(OF_TOKENS))
        if token == "svc_number":  # noqa: S105 - of a template
            return dialing_number(person, lead)
        if token in SYSTEM_TOKENS:
            return _system_token(person, lead, token)
        for values in (lead.data, lead.columns):
            if values.get(token) is not None:
                return values[token]
        return None

    return value_of


def _system_token(person: Person, lead: Lead, token: str) -> Any:
    match token:
        case "sms_number":
            return texting_number(person, lead)
        case "caller_id" | "email" | "id" | "uuid" | "offer_id" | "schedule_id":
            return getattr(lead, token)
        case "created_at" | "first_action_at" | "last_action_at" | "last_call_at" | "expires_at":
            moment = getattr(lead, token)
            return None if moment is None else to_rfc3339(moment)
        case _:
            return None


def _payload(lead: Lead, step_id: str) -> dict[str, Any]:
    return {
        "step_id": step_id,
        "enrolment": lead.enrolment,
        "lead": {
            "id": lead.id,
            "uuid": lead.uuid,
            "status": earned(lead, lead.end_status or lead.status),
            "offer_id": lead.offer_id,
            "schedule_id": lead.schedule_id,
            "caller_id": lead.caller_id,
            "email": lead.email,
            "created_at": to_rfc3339(lead.created_at),
            "outbound_calls_count": lead.outbound_calls_count,
            "sms_count": lead.sms_count,
            "emails_count": lead.emails_count,
            "opt_out": lead.opt_out,
            "blocked": lead.blocked,
            "buyer_converted": lead.buyer_converted,
            "offer_converted": lead.offer_converted,
            **lead.columns,
            "data": lead.data,
        },
    }
