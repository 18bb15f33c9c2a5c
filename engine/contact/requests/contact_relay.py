"""May another contact's lead reach this number or address? This contact checks, emits, and relays the outcome."""

import msgspec

from engine.calendar import country_zones
from engine.contact.consent.sent_texts import remember_text
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import end_reason, fence, is_opted_out_of
from engine.contact.timing.earliest import INBOUND_PAUSE, OPTOUT_REVIEW, REFUSAL_PAUSE, TEXT_INCOMPLETE
from engine.law.caps import FREQUENCY_CAP_CODE, last_release
from engine.partition.draft import RefusedError
from schemas.commands import PlaceCall, SendEmail, SendSms
from schemas.contact import Relay
from schemas.instant import DAY, EPOCH, Instant
from schemas.requests import CallProgressed, OutcomeRecorded, ReachAnswered, ReachRequested, ReachWithdrawn
from schemas.state import relay_key
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import from_json

RELAY_FOR = 7 * DAY
"""How long an outcome is relayed: as long as commands are retained (schemas/topics.py)."""

RELAYS_MAX = 1_000
"""Open commands for leads of other contacts; most addresses have one or two."""

RELAYS_FULL = "too_many_open"
"""The refusal beyond that: the lead retries."""

BEHIND = "requests_unread"
"""The refusal where an opt-out may still be unread: the lead retries."""

TEMPORARY = frozenset({BEHIND, RELAYS_FULL, "min_spacing", "too_late", INBOUND_PAUSE})
"""Refusals after which the step is retried."""

RelayedCommand = PlaceCall | SendSms | SendEmail


def answer_request(person: Person, request: ReachRequested) -> None:
    """Emit the command of another contact's lead, or answer with the reason against it."""
    command: RelayedCommand = from_json(bytes(request.command), PlaceCall | SendSms | SendEmail)  # type: ignore[arg-type]
    if command.contact_key != person.key or command.company_id != person.company_id:
        raise RefusedError(
            "validation_failed", "the command is not one for this contact", {"command": ["is another contact's"]}
        )
    reason, until = _refusal(person, command, request)
    if reason is None:
        _emit(person, command, request)
        return
    person.draft.fact("reach.refused", lead_id=request.lead_id, command_id=command.command_id, reason=reason)
    answer = ReachAnswered(
        company_id=person.company_id,
        contact_key=request.reply_to,
        lead_id=request.lead_id,
        command_id=command.command_id,
        emitted=False,
        reason=reason,
        until=until,
    )
    person.draft.send(CONTACTS_REQUESTS.name, request.reply_to, answer)


def withdraw(person: Person, request: ReachWithdrawn) -> None:
    """Fence a command that was emitted here for another contact's lead which must not be contacted any more.

    The request always comes first: both leave one outbox, in sequence. So where no command is open, it was refused or is
    over. A command that was carried out before the fence still reports its outcome.
    """
    relay = person.draft.get(relay_key(request.command_id), Relay)
    if relay is None or relay.contact_key != person.key or relay.lead_id != request.lead_id:
        return
    fence(person, request.reason, request.lead_id)
    person.draft.fact("reach.withdrawn", lead_id=request.lead_id, command_id=request.command_id, reason=request.reason)


def relay_outcome(person: Person, request: OutcomeRecorded | CallProgressed) -> bool:
    """Relay the outcome of a command that was emitted for another contact's lead; False where it was not."""
    relay = person.draft.get(relay_key(request.command_id), Relay)
    if relay is None or relay.contact_key != person.key:
        return False
    answer = msgspec.structs.replace(request, contact_key=relay.reply_to)
    if isinstance(answer, OutcomeRecorded):
        answer = msgspec.structs.replace(answer, reached=person.key)
        if answer.final and answer.outcome != "unknown":  # else a known one may follow
            close_relay(person, request.command_id)
    person.draft.send(CONTACTS_REQUESTS.name, relay.reply_to, answer)
    return True


def close_relay(person: Person, command_id: str) -> None:
    """Delete the relay of a command: its outcome was relayed, or timed out."""
    person.draft.remove(relay_key(command_id))
    person.head.relays -= 1
    person.save_head()


def _refusal(person: Person, command: RelayedCommand, request: ReachRequested) -> tuple[str | None, Instant | None]:
    """Return why the command must not be emitted, and until when, if known; None where it may be.

    A cap counts every contact with this number, whichever lead made it.
    """
    reason = _stop_code(person, command, request)
    if reason is not None or request.kind == "email":
        return reason, None
    if person.head.review_until is not None and person.head.review_until > person.now:
        return OPTOUT_REVIEW, person.head.review_until
    if person.head.incomplete_until is not None and person.head.incomplete_until > person.now:
        return TEXT_INCOMPLETE, person.head.incomplete_until
    legal = person.law.limits(request.states, request.countries, request.kind, request.purpose, person.now)
    if legal.refusal is not None and person.head.refused_at is not None:
        zones = [zone for country in request.countries for zone in country_zones(country)] or ["UTC"]
        until, _ = legal.refusal.ends_at(person.head.refused_at, zones)
        if until > person.now:
            return REFUSAL_PAUSE, until
    held = last_release(ledger.attempts_of(person.head), legal.caps, person.now)
    return (None, None) if held is None else (FREQUENCY_CAP_CODE, held.at)


def _stop_code(person: Person, command: RelayedCommand, request: ReachRequested) -> str | None:  # noqa: PLR0911 - reason by reason
    kind = request.kind
    stopped = end_reason(person, request.offer_id, request.schedule_id)
    if stopped is not None:
        return stopped
    if is_opted_out_of(person.head, kind):
        return "opt_out"
    if person.head.disabled_until.get(kind, EPOCH) > person.now:
        return "channel_disabled"
    if person.draft.behind:
        return BEHIND
    if person.head.relays >= RELAYS_MAX:
        return RELAYS_FULL
    if person.head.inbound_until is not None and person.head.inbound_until > person.now:
        return INBOUND_PAUSE
    if command.not_after is not None and command.not_after <= person.now:
        return "too_late"
    until = ledger.guard_ends_at(person.head, kind)
    return "min_spacing" if until is not None and until > person.now else None


def _emit(person: Person, command: RelayedCommand, request: ReachRequested) -> None:
    if request.kind != "email":
        remember_text(person, command)
        ledger.reserve(person, request.kind, command.command_id)
    relay = Relay(
        command_id=command.command_id,
        company_id=person.company_id,
        contact_key=person.key,
        reply_to=request.reply_to,
        lead_id=request.lead_id,
        kind=request.kind,
        emitted_at=person.now,
        expires_at=person.now + RELAY_FOR,
        offer_id=request.offer_id,
    )
    person.head.relays += 1
    person.save_head()
    person.draft.emit(command)
    person.draft.put(relay_key(command.command_id), relay)
    person.draft.fact(
        "command.emitted",
        lead_id=request.lead_id,
        command_id=command.command_id,
        kind=request.kind,
        step_id=command.step_id,
    )
