"""What became of a call or text, by all that Twilio has said? Facts are only added: their order does not matter.

| fact | says |
| --- | --- |
| `status.<state>` | when the first leg, or the text, was reported in this state (milliseconds) |
| `answered_by` | human, machine, fax or unknown |
| `dial` | that the buyer's telephone was dialled, or the stream to a voice bot asked for |
| `stream.<state>` | when that stream was started or stopped; why there is none (`error`) |
| `dial.<state>`, `dial.seconds` | how that leg ended, and how long the talk was |
| `whispered` | when a buyer or agent was said the whisper |
| `buyer`, `buyer.answered` | which of several buyers answered, and when |
| `recording` | the id of the recording of the talk |
| `seconds`, `sip`, `error`, `price` | of the first leg, or the text |
"""

from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from adapters.gateway.ports import DeliveryResult
from adapters.providers.charges import read_charge
from adapters.providers.ports import Order
from adapters.providers.twilio.errors import DECLINED, NOT_IN_SERVICE, RECEIPT_ERRORS
from schemas.commands import PlaceCall, SendSms
from schemas.instant import MINUTE, SECOND, Instant, from_datetime

CALL_ENDS = ("completed", "busy", "no-answer", "failed", "canceled")
TEXT_ENDS = ("delivered", "read", "undelivered", "failed", "canceled")

SENT_FOR = 5 * MINUTE
"""A text that its carrier took and gave no receipt for: many give none. The contact waits ten minutes."""

DIAL_MISSING_FOR = 20 * SECOND
"""How long the report about the buyer's leg is waited for once the first leg has ended; then Twilio is asked."""

EARLY = 5 * SECOND
LATE = 2 * MINUTE
"""When a call or text that fits was made, seen from when we asked: clocks differ, and an answer may be slow."""


def call_outcome(order: Order, recordings_url: str, *, now: Instant) -> DeliveryResult | None:
    """Return the outcome of a call, or None while it lasts or a report is missing."""
    facts = order.facts
    end = next((state for state in CALL_ENDS if f"status.{state}" in facts), None)
    if end is None:
        return None
    ended_at = _instant(facts, f"status.{end}")
    is_for_bot = isinstance(order.command, PlaceCall) and order.command.stream is not None
    is_dialled, has_said = "dial" in facts, any(name.startswith("stream." if is_for_bot else "dial.") for name in facts)
    if is_dialled and not has_said and end == "completed" and (ended_at or now) > now - DIAL_MISSING_FOR:
        return None
    outcome, by = _outcome(facts, end)
    answered_at = _instant(facts, "status.in-progress")
    is_connected = outcome == "connected_buyer"
    agent_id = order.command.agent_id if isinstance(order.command, PlaceCall) else None
    is_whispered = isinstance(order.command, PlaceCall) and order.command.whisper is not None
    talk_seconds = _talk_seconds(facts, outcome)
    if is_connected and agent_id is not None:
        outcome, is_connected = "connected_human", False  # an agent of ours talked, no buyer
    return DeliveryResult(
        outcome=outcome,
        provider_ref=order.provider_ref,
        rang=end in {"completed", "busy", "no-answer"} or "status.ringing" in facts,
        answered_by=_answered_by(facts, end),
        ringing_at=_instant(facts, "status.ringing"),
        answered_at=answered_at,
        buyer_answered_at=(_instant(facts, "buyer.answered") or answered_at) if is_connected else None,
        buyer_id=_whole(facts.get("buyer")) or None,
        talk_seconds=talk_seconds,
        agent_id=agent_id,
        hung_up_by=by,  # type: ignore[arg-type]  # of `_outcome`
        hangup_cause=" ".join(part for part in (end, facts.get("sip"), facts.get("error")) if part),
        cost=read_charge(facts.get("price")),
        recording_url=f"{recordings_url}/{facts['recording']}" if "recording" in facts else None,
        detail=f"Twilio: {end}"
        + (f", the buyer's telephone: {_dial_state(facts)}" if is_dialled and not is_for_bot else "")
        + (f", the voice bot: {_stream_state(facts)}" if is_dialled and is_for_bot else "")
        + (", the whisper was said" if "whispered" in facts and is_whispered else "")
        + (", the machine was left a message" if was_left_message(order) else ""),
    )


def was_left_message(order: Order) -> bool:
    """Return whether a machine was left the message of the command."""
    command = order.command
    is_drop = isinstance(command, PlaceCall) and command.machine == "voicemail_drop"
    return is_drop and takes_message(order.facts.get("answered_by", ""))


def takes_message(answered_by: str) -> bool:
    """Return whether a machine has come to the end of its greeting: by a beep, silence or another sound."""
    return answered_by.startswith("machine_end")


def _outcome(facts: Mapping[str, str], end: str) -> tuple[str, str | None]:
    """Return the outcome of a call that has ended, and who ended it where that is known."""
    match end:
        case "busy":
            return "busy", None
        case "no-answer":
            return "no_answer", "us"
        case "canceled":
            return "canceled", "us"
        case "failed":
            sip = int(facts["sip"]) if facts.get("sip", "").isdigit() else 0
            return ("invalid_number" if sip in NOT_IN_SERVICE else "declined" if sip in DECLINED else "congestion"), None
        case _:
            return _completed(facts)


def _completed(facts: Mapping[str, str]) -> tuple[str, str | None]:
    state = _dial_state(facts)
    if state == "completed":
        return "connected_buyer", None
    if "stream.started" in facts:
        return "connected_human", None
    if facts.get("answered_by", "").startswith(("machine", "fax")):
        return "voicemail", "us"
    if state in {"busy", "no-answer", "failed"} or "stream.error" in facts:
        return "abandoned_by_us", "us"
    # Dialled, and the person hung up before the buyer answered; or hung up before we said what to do.
    return "caller_hung_up", "caller"


def _dial_state(facts: Mapping[str, str]) -> str | None:
    return next((state for state in CALL_ENDS if f"dial.{state}" in facts), None)


def _stream_state(facts: Mapping[str, str]) -> str:
    if "stream.error" in facts:
        return f"error, {facts['stream.error']}"
    return "completed" if "stream.started" in facts else "none"


def _talk_seconds(facts: Mapping[str, str], outcome: str) -> int:
    started_at = _instant(facts, "stream.started")
    if started_at is not None:
        ends = [end for name in ("stream.stopped", "status.completed") if (end := _instant(facts, name)) is not None]
        return max(0, min(ends, default=started_at) - started_at) // SECOND
    if outcome == "connected_buyer":
        return _whole(facts.get("dial.seconds"))
    return _whole(facts.get("seconds")) if outcome == "voicemail" else 0


def _answered_by(facts: Mapping[str, str], end: str) -> Any:
    if end != "completed":
        return None
    said = facts.get("answered_by", "unknown")
    return "human" if said == "human" else "machine" if said.startswith(("machine", "fax")) else "unknown"


def text_outcome(order: Order, *, now: Instant) -> DeliveryResult | None:
    """Return the outcome of a text, or None while a receipt is waited for."""
    facts = order.facts
    end = next((state for state in TEXT_ENDS if f"status.{state}" in facts), None)
    sent_at = _instant(facts, "status.sent")
    if end is None:
        if sent_at is None or sent_at > now - SENT_FOR:
            return None
        end = "sent"
    outcome = {"read": "delivered", "canceled": "failed"}.get(end, end)
    error = facts.get("error", "")
    meaning = RECEIPT_ERRORS.get(int(error)) if error.isdigit() and outcome in {"undelivered", "failed"} else None
    if meaning is not None:
        outcome = meaning.outcome
    detail = f"Twilio: {end}" + (f" {error}" if error else "") + (f", {meaning.says}" if meaning else "")
    return DeliveryResult(
        outcome=outcome, provider_ref=order.provider_ref, rang=False, cost=read_charge(facts.get("price")), detail=detail
    )


def facts_of_call(
    call: Mapping[str, Any], children: Sequence[Mapping[str, Any]], buyers: Mapping[str, int]
) -> dict[str, str]:
    """Return a call of the API as facts; `children` are the legs that were dialled from it, to these numbers of buyers."""
    facts = _facts_of(call, "end_time")
    if call.get("answered_by"):
        facts["answered_by"] = str(call["answered_by"])
    if call.get("duration") is not None:
        facts["seconds"] = str(call["duration"])
    for child in children:
        state = str(child.get("status"))
        facts["dial"] = "1"
        if state in CALL_ENDS:
            facts[f"dial.{state}"] = _stamp(child.get("end_time"))
            if state == "completed":
                facts["dial.seconds"] = str(child.get("duration") or 0)
                if (buyer_id := buyers.get(str(child.get("to")))) is not None:
                    facts["buyer"] = str(buyer_id)
    return facts


def facts_of_text(text: Mapping[str, Any]) -> dict[str, str]:
    """Return a text of the API as facts."""
    facts = _facts_of(text, "date_updated")
    if text.get("error_code"):
        facts["error"] = str(text["error_code"])
    return facts


def _facts_of(found: Mapping[str, Any], moment: str) -> dict[str, str]:
    facts = {f"status.{found.get('status')}": _stamp(found.get(moment) or found.get("date_created"))}
    if found.get("price") is not None:
        facts["price"] = str(found["price"])
    return facts


def find_match(candidates: Sequence[Mapping[str, Any]], order: Order) -> Mapping[str, Any] | None:
    """Return the one call or text that an order must have become; None where none fits, or several do."""
    fitting = [one for one in candidates if _fits(one, order)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(found: Mapping[str, Any], order: Order) -> bool:
    command = order.command
    made_at = _moment(found.get("date_created"))
    if str(found.get("sid")) in order.known_refs or made_at is None:
        return False
    if not order.asked_at - EARLY <= made_at <= order.asked_at + LATE or found.get("to") != getattr(command, "to", None):
        return False
    if isinstance(command, SendSms):
        return str(found.get("direction")).startswith("outbound") and found.get("body") == command.body
    return isinstance(command, PlaceCall) and found.get("direction") == "outbound-api"


def _stamp(value: Any) -> str:
    """Return an instant of the API as a fact: milliseconds, empty where it is unknown."""
    found = _moment(value)
    return "" if found is None else str(found)


def _moment(value: Any) -> Instant | None:
    if not isinstance(value, str):
        return None
    try:
        found = parsedate_to_datetime(value)
    except ValueError:
        return None
    return from_datetime(found if found.tzinfo is not None else found.replace(tzinfo=UTC))


def _instant(facts: Mapping[str, str], name: str) -> Instant | None:
    text = facts.get(name, "")
    return Instant(int(text)) if text.isdigit() else None


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0
