"""May another contact's lead reach this number or address? Its own contact checks, emits, and passes on what came of it."""

import msgspec

from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import fence, is_opted_out_of, stop_reason
from engine.contact.timing.earliest import INBOUND_PAUSE, OPTOUT_REVIEW
from engine.law.caps import FREQUENCY_CAP_CODE, last_release
from engine.partition.draft import RefusedError
from schemas.commands import PlaceCall, SendEmail, SendSms
from schemas.contact import Relay
from schemas.instant import DAY, Instant
from schemas.requests import CallProgressed, OutcomeRecorded, ReachAnswered, ReachRequested, ReachWithdrawn
from schemas.state import relay_key
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import from_json

RELAY_FOR = 7 * DAY
"""How long an outcome is passed on: as long as commands are kept (schemas/topics.py)."""

RELAYS_MAX = 1_000
"""Commands for leads of other contacts that are open at one time; most addresses have one or two."""

RELAYS_FULL = "too_many_open"
"""The answer beyond that: the lead asks again."""

BEHIND = "requests_unread"
"""The answer where an opt-out may still be unread: the lead asks again."""

TEMPORARY = frozenset({BEHIND, RELAYS_FULL, "min_spacing", "too_late", INBOUND_PAUSE})
"""Refusals after which the same step may be tried again."""

RelayedCommand = PlaceCall | SendSms | SendEmail


def answer_request(person: Person, request: ReachRequested) -> None:
    """Emit the command of another contact's lead, or tell it why not."""
    order: RelayedCommand = from_json(bytes(request.command), PlaceCall | SendSms | SendEmail)  # type: ignore[arg-type]
    if order.contact_key != person.key or order.company_id != person.company_id:
        raise RefusedError(
            "validation_failed", "the command is not one for this contact", {"command": ["is another contact's"]}
        )
    reason, until = _refusal(person, order, request)
    if reason is None:
        _emit(person, order, request)
        return
    person.draft.fact("reach.refused", lead_id=request.lead_id, command_id=order.command_id, reason=reason)
    answer = ReachAnswered(
        company_id=person.company_id,
        contact_key=request.reply_to,
        lead_id=request.lead_id,
        command_id=order.command_id,
        emitted=False,
        reason=reason,
        until=until,
    )
    person.draft.send(CONTACTS_REQUESTS.name, request.reply_to, answer)


def withdraw(person: Person, request: ReachWithdrawn) -> None:
    """Fence what was emitted here for another contact's lead that must not be contacted any more.

    The request always comes first: both leave one outbox, in order. So where nothing is on its way, it was refused or is
    over. What was carried out before the fence still tells what came of it.
    """
    relay = person.draft.get(relay_key(request.command_id), Relay)
    if relay is None or relay.contact_key != person.key or relay.lead_id != request.lead_id:
        return
    fence(person, request.reason, request.lead_id)
    person.draft.fact("reach.withdrawn", lead_id=request.lead_id, command_id=request.command_id, reason=request.reason)


def relay_outcome(person: Person, request: OutcomeRecorded | CallProgressed) -> bool:
    """Pass on what came of a command that was emitted for another contact's lead; False where it was none."""
    relay = person.draft.get(relay_key(request.command_id), Relay)
    if relay is None or relay.contact_key != person.key:
        return False
    answer = msgspec.structs.replace(request, contact_key=relay.reply_to)
    if isinstance(answer, OutcomeRecorded):
        answer = msgspec.structs.replace(answer, reached=person.key)
        if answer.final:
            close_relay(person, request.command_id)
    person.draft.send(CONTACTS_REQUESTS.name, relay.reply_to, answer)
    return True


def close_relay(person: Person, command_id: str) -> None:
    """Forget a command that was emitted for another contact's lead: its outcome was passed on, or stays out."""
    person.draft.remove(relay_key(command_id))
    person.head.relays = max(0, person.head.relays - 1)  # it counts those since counting began
    person.save_head()


def _refusal(person: Person, order: RelayedCommand, request: ReachRequested) -> tuple[str | None, Instant | None]:
    """Return why the order must not be emitted, and until when where that is known; None where it may be.

    A cap counts every contact with this number, whichever lead made it (research/domain.md E40).
    """
    reason = _stop_code(person, order, request)
    if reason is not None or request.kind == "email":
        return reason, None
    if person.head.review_until is not None and person.head.review_until > person.now:
        return OPTOUT_REVIEW, person.head.review_until
    caps = person.law.limits(request.states, request.countries, request.kind, request.purpose, person.now).caps
    held = last_release(ledger.attempts_of(person.head), caps, person.now)
    return (None, None) if held is None else (FREQUENCY_CAP_CODE, held.at)


def _stop_code(person: Person, order: RelayedCommand, request: ReachRequested) -> str | None:  # noqa: PLR0911 - reason by reason
    kind = request.kind
    stopped = stop_reason(person.head, request.offer_id)
    if stopped is not None:
        return stopped
    if is_opted_out_of(person.head, kind):
        return "opt_out"
    if person.head.disabled_until.get(kind, 0) > person.now:
        return "channel_disabled"
    if person.draft.behind:
        return BEHIND
    if person.head.relays >= RELAYS_MAX:
        return RELAYS_FULL
    if person.head.inbound_until is not None and person.head.inbound_until > person.now:
        return INBOUND_PAUSE
    if order.not_after is not None and order.not_after <= person.now:
        return "too_late"
    until = ledger.guard_ends_at(person.head, kind)
    return "min_spacing" if until is not None and until > person.now else None


def _emit(person: Person, order: RelayedCommand, request: ReachRequested) -> None:
    if request.kind != "email":
        ledger.reserve(person, request.kind, order.command_id)
    relay = Relay(
        command_id=order.command_id,
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
    person.draft.emit(order)
    person.draft.put(relay_key(order.command_id), relay)
    person.draft.fact(
        "command.emitted",
        lead_id=request.lead_id,
        command_id=order.command_id,
        kind=request.kind,
        step_id=order.step_id,
    )
