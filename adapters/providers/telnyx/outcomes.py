"""What became of a call or text, by all that Telnyx has said? Facts are only added: their order does not matter.

| fact | says |
| --- | --- |
| `initiated`, `answered`, `ended` | when the lead's leg was (milliseconds) |
| `cause`, `sip`, `source` | why that leg ended, and by whom |
| `machine` | human, machine or not_sure |
| `greeting`, `left` | that the machine takes a message, and when ours was said |
| `held` | when the lead was asked to wait |
| `dialled`, `buyer.answered`, `buyer.ended`, `buyer.cause` | the same of the buyer's leg |
| `buyer.leg`, `whispered` | its id, and when it was said the whisper |
| `bridged` | when the two were connected |
| `announced`, `recording` | when they heard that they are recorded, and the id of the recording |
| `stream.started`, `stream.stopped`, `stream.failed` | when the stream to a voice bot was; why there is none |
| `closed` | when a look-up found the call ended |
| `status.<state>`, `error`, `error.says`, `price` | of a text |
"""

from collections.abc import Mapping
from typing import Any

from adapters.gateway.ports import DeliveryResult
from adapters.providers.charges import read_charge
from adapters.providers.ports import Order
from adapters.providers.telnyx.errors import RECEIPT_ERRORS, STOP_BLOCK, says_stop
from schemas.commands import PlaceCall
from schemas.instant import MINUTE, SECOND, Instant

UNANSWERED: Mapping[str, str] = {
    "user_busy": "busy",
    "timeout": "no_answer",
    "no_answer": "no_answer",
    "call_rejected": "declined",
    "not_found": "invalid_number",
    "originator_cancel": "canceled",
}
"""Cause of the end of a call that was not answered -> outcome; any other is `congestion`."""

NOT_IN_SERVICE = frozenset({"404", "410", "484", "604"})
"""SIP codes that say that there is no such number (RFC 3261, 21.4 to 21.6; RFC 3398, 8.2.6.1)."""

RANG = frozenset({"busy", "no_answer", "declined"})

TEXT_OUTCOMES: Mapping[str, str] = {
    "delivered": "delivered",
    "delivery_failed": "undelivered",
    "sending_failed": "failed",
    "expired": "failed",
    "delivery_unconfirmed": "sent",
}

BUYER_MISSING_FOR = 20 * SECOND
"""How long reports about the buyer's leg are waited for once the lead's has ended."""

SENT_FOR = 5 * MINUTE
"""A text that its carrier took and gave no receipt for: many give none. The contact waits ten minutes."""


def call_outcome(order: Order, recordings_url: str, *, now: Instant) -> DeliveryResult | None:
    """Return the outcome of a call, or None while it lasts or a report is missing."""
    facts = order.facts
    if "ended" not in facts:
        return _closed(order, now)
    is_open = "dialled" in facts and not facts.keys() & {"bridged", "buyer.ended"}
    if _is_for_bot(order):
        is_open = "answered" in facts and not _is_machine(facts) and not any(name.startswith("stream.") for name in facts)
    if is_open and (_instant(facts, "ended") or now) > now - BUYER_MISSING_FOR:
        return None
    outcome, by = _answered(facts) if "answered" in facts else (_unanswered(facts), None)
    is_connected = outcome == "connected_buyer"
    agent_id = order.command.agent_id if isinstance(order.command, PlaceCall) else None
    answered_at = _instant(facts, "answered")
    return DeliveryResult(
        # Where an agent of ours talked, no buyer did.
        outcome="connected_human" if is_connected and agent_id is not None else outcome,
        provider_ref=order.provider_ref,
        rang=answered_at is not None or outcome in RANG,
        answered_by=_answered_by(facts),
        answered_at=answered_at,
        buyer_answered_at=_instant(facts, "bridged") if is_connected and agent_id is None else None,
        talk_seconds=_talk_seconds(facts),
        agent_id=agent_id,
        hung_up_by=by,  # type: ignore[arg-type]  # of `_answered`
        hangup_cause=" ".join(facts[name] for name in ("cause", "sip") if name in facts) or None,
        recording_url=f"{recordings_url}/{facts['recording']}" if "recording" in facts else None,
        detail=f"Telnyx: {facts.get('cause')}"
        + (f", the buyer's telephone: {facts['buyer.cause']}" if "buyer.cause" in facts else "")
        + (", the whisper was said" if "whispered" in facts and _is_whispered(order) else "")
        + (f", no voice bot: {facts['stream.failed']}" if "stream.failed" in facts else "")
        + (", the machine was left a message" if "left" in facts else ""),
    )


def _closed(order: Order, now: Instant) -> DeliveryResult | None:
    """Return that nobody knows how a call ended that a look-up found ended, once its report does not come."""
    closed_at = _instant(order.facts, "closed")
    if closed_at is None or closed_at > now - BUYER_MISSING_FOR:
        return None
    return DeliveryResult(
        outcome="unknown", provider_ref=order.provider_ref, detail="Telnyx says that the call is over, and not how it ended"
    )


def _unanswered(facts: Mapping[str, str]) -> str:
    if facts.get("sip") in NOT_IN_SERVICE:
        return "invalid_number"
    return UNANSWERED.get(facts.get("cause", ""), "congestion")


def _answered(facts: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the outcome of a call that was answered, and who ended it where that is known."""
    we_ended = facts.get("source") == "caller"  # of the lead's leg, we are the caller
    if "bridged" in facts:
        return "connected_buyer", None
    if "stream.started" in facts:
        return "connected_human", None
    if _is_machine(facts):
        return "voicemail", "us"
    # Who hangs up while the buyer's telephone rings ends that leg, too.
    if we_ended or ("buyer.ended" in facts and facts.get("source") != "callee"):
        return "abandoned_by_us", "us"
    return "caller_hung_up", "caller"


def _is_machine(facts: Mapping[str, str]) -> bool:
    return facts.get("machine", "").startswith(("machine", "fax"))


def _answered_by(facts: Mapping[str, str]) -> Any:
    if "answered" not in facts:
        return None
    return "machine" if _is_machine(facts) else "human" if facts.get("machine") == "human" else "unknown"


def _is_whispered(order: Order) -> bool:
    return isinstance(order.command, PlaceCall) and order.command.whisper is not None


def _is_for_bot(order: Order) -> bool:
    return isinstance(order.command, PlaceCall) and order.command.stream is not None


def _talk_seconds(facts: Mapping[str, str]) -> int:
    """Return how long the two were connected, or the voice bot was: until the first of the legs or the stream ended."""
    ends = [end for name in ("ended", "buyer.ended", "stream.stopped") if (end := _instant(facts, name)) is not None]
    began_at = _instant(facts, "bridged") or _instant(facts, "stream.started")
    return 0 if began_at is None or not ends else max(0, min(ends) - began_at) // SECOND


def text_outcome(order: Order, *, now: Instant) -> DeliveryResult | None:
    """Return the outcome of a text, or None while a receipt is waited for."""
    facts = order.facts
    end = next((state for state in TEXT_OUTCOMES if f"status.{state}" in facts), None)
    sent_at = _instant(facts, "status.sent")
    if end is None and (sent_at is None or sent_at > now - SENT_FOR):
        return None
    outcome = "sent" if end is None else TEXT_OUTCOMES[end]
    error = int(facts["error"]) if facts.get("error", "").isdigit() else 0
    meaning = RECEIPT_ERRORS.get(error) if outcome in {"undelivered", "failed"} else None
    if error == STOP_BLOCK and not says_stop({"title": facts.get("error.says")}):
        meaning = None
    says = f" {error}, {meaning.says}" if meaning is not None else f" {error}" if error else ""
    return DeliveryResult(
        outcome=outcome if meaning is None else meaning.outcome,
        provider_ref=order.provider_ref,
        rang=False,
        cost=read_charge(facts.get("price")),
        detail=f"Telnyx: {end or 'sent'}{says}",
    )


def _instant(facts: Mapping[str, str], name: str) -> Instant | None:
    text = facts.get(name, "")
    return Instant(int(text)) if text.isdigit() else None
