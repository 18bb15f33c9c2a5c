"""What does a webhook of Telnyx say? About an order of ours by the state that we gave its leg; else an inbound text or call.

The person's leg and the buyer's are reported by themselves. Each carries a state of ours, which Telnyx signs with the rest.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Struct

from adapters.providers.ports import (
    CARRIER_WORDS,
    Callback,
    CallState,
    ForgedCallbackError,
    InboundCallReport,
    OrderReport,
    Reading,
    TextReport,
)
from adapters.providers.telnyx.signature import is_signed
from schemas.instant import Instant, from_datetime

RETRY_DELAYS_MS = (1_000, 4_000, 10_000, 15_000, 30_000)
"""When Telnyx posts a webhook again that nobody took: five times within a minute is the most that it does. A restart of the
API takes less; a person does not wait longer for a buyer."""

RETRIES: Mapping[str, Mapping[str, Sequence[int]]] = {
    name: {"retries_ms": RETRY_DELAYS_MS}
    for name in (
        *("call.initiated", "call.answered", "call.machine.detection.ended", "call.machine.greeting.ended"),
        *("call.speak.ended", "call.bridged", "call.recording.saved", "call.hangup"),
        *("streaming.started", "streaming.failed", "streaming.stopped"),
    )
}
"""Of each event that moves a call on or says how it ended: a look-up says only that it is over."""

STATES: Mapping[str, CallState] = {"call.initiated": "initiated", "call.answered": "established"}

ASK_AFTER_SECONDS = 25.0
"""When Telnyx is asked about a call whose person has hung up while reports about the buyer's leg are missing."""

ASK_AFTER_SENT_SECONDS = 310.0
"""When a text without a receipt is settled."""

COMMAND_ID = "command_id"

_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
"""Of a recording: it goes into the path of a request."""


UNANSWERED_CAUSES = frozenset({"user_busy", "timeout", "no_answer", "call_rejected", "not_found"})
"""Causes of the end of a buyer's leg that never was connected: another buyer may be dialled."""


class LegState(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="order"):
    """What we have Telnyx say in every webhook about a leg of an order; `lead` is the lead's leg, of a buyer's.

    A webhook about a recording may name no leg: a leg that is recorded has `lead`, too.

    `says` is the fact that holds once the leg was said what it is being said.
    """

    command_id: str
    leg: Literal["lead", "buyer"] = "lead"
    lead: str | None = None
    says: Literal["left", "held", "whispered", "announced"] = "left"

    def encoded(self) -> str:
        """Return it as `client_state`."""
        return base64.b64encode(msgspec.json.encode(self)).decode()


class InboundState(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="inbound"):
    """What we have Telnyx say in every webhook about a leg of a call of a person: whose it is, and what follows.

    `then`: connect `target`, or say `words` and record or end.
    """

    call_ref: str
    person: str
    number: str
    leg: Literal["person", "buyer"] = "person"
    then: Literal["", "connect", "record", "end"] = ""
    target: str | None = None
    buyer_id: int | None = None
    seconds: int | None = None
    tones: str | None = None
    words: str | None = None
    agent_id: int | None = None

    def encoded(self) -> str:
        """Return it as `client_state`."""
        return base64.b64encode(msgspec.json.encode(self)).decode()


class TelnyxEvent(Struct, frozen=True):
    """One webhook."""

    id: str
    name: str
    stamp: str
    payload: Mapping[str, Any]
    state: LegState | InboundState | None


def read_event(callback: Callback) -> TelnyxEvent | None:
    """Return the event of a webhook, None where it has none."""
    try:
        data = msgspec.json.decode(callback.body)["data"]
        payload, name, event_id = data["payload"], data["event_type"], data["id"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None
    if not isinstance(payload, dict) or not isinstance(name, str) or not isinstance(event_id, str):
        return None
    return TelnyxEvent(event_id, name, _stamp(data.get("occurred_at")), payload, _leg_state(payload.get("client_state")))


def read(callback: Callback, key: Ed25519PublicKey, *, now: Instant, recordings_url: str) -> Reading | None:
    """Return what a webhook says, None for what is of no use. Raises `ForgedCallbackError`."""
    if not is_signed(key, callback.headers, callback.body, now=now):
        raise ForgedCallbackError("telnyx-signature-ed25519 is not of this account's key, or older than five minutes")
    event = read_event(callback)
    if event is None:
        return None
    reading: Reading | None
    if event.name.startswith("message."):
        reading = _text(event)
    else:
        reading = (
            _leg(event, event.state)
            if isinstance(event.state, LegState)
            else _message(event, event.state, recordings_url) or _inbound(event, event.state)
        )
    named = callback.query.get(COMMAND_ID)
    if isinstance(reading, OrderReport) and named not in {None, reading.command_id}:
        raise ForgedCallbackError("the URL names another order than the signed body")
    return reading


def _leg(event: TelnyxEvent, state: LegState) -> OrderReport | None:
    reference = event.payload.get("call_control_id") or state.lead
    if not isinstance(reference, str):
        return None
    facts = _lead_facts(event, state) if state.leg == "lead" else _buyer_facts(event, reference)
    if not facts or (state.leg == "buyer" and state.lead is None):
        return None
    has_ended = state.leg == "lead" and event.name == "call.hangup"
    return OrderReport(
        command_id=state.command_id,
        event_id=event.id,
        provider_ref=reference if state.leg == "lead" else state.lead or "",
        facts=facts,
        state=STATES.get(event.name) if state.leg == "lead" else None,
        check_after_seconds=ASK_AFTER_SECONDS if has_ended else None,
    )


def _lead_facts(event: TelnyxEvent, state: LegState) -> dict[str, str]:
    stamp, payload = event.stamp, event.payload
    if event.name == "call.hangup":
        named = {"cause": "hangup_cause", "sip": "sip_hangup_cause", "source": "hangup_source"}
        return {"ended": stamp, **{fact: str(payload[name]) for fact, name in named.items() if payload.get(name)}}
    if event.name == "call.recording.saved":
        recording_id = recording_of(event)
        return {} if recording_id is None else {"recording": recording_id}
    facts: Mapping[str, dict[str, str]] = {
        "call.initiated": {"initiated": stamp},
        "call.answered": {"answered": stamp},
        "call.bridged": {"bridged": stamp},
        "call.machine.detection.ended": {"machine": str(payload.get("result"))},
        "call.machine.greeting.ended": {"greeting": str(payload.get("result"))},
        "call.speak.ended": {state.says: stamp},
        "streaming.started": {"stream.started": stamp},
        "streaming.failed": {"stream.failed": str(payload.get("failure_reason") or "no reason given")},
        "streaming.stopped": {"stream.stopped": stamp},
    }
    return facts.get(event.name, {})


def _buyer_facts(event: TelnyxEvent, reference: str) -> dict[str, str]:
    match event.name:
        case "call.initiated":
            return {"dialled": event.stamp, "buyer.leg": reference}
        case "call.speak.ended":
            return {"whispered": event.stamp}
        case "call.answered":
            return {"buyer.answered": event.stamp}
        case "call.bridged":
            return {"bridged": event.stamp}
        case "call.hangup":
            return {"buyer.ended": event.stamp, "buyer.cause": str(event.payload.get("hangup_cause"))}
    return {}


def recording_of(event: TelnyxEvent) -> str | None:
    """Return the id of the recording that a webhook is about."""
    found = event.payload.get("recording_id")
    return found if isinstance(found, str) and _ID.fullmatch(found) else None


def _message(event: TelnyxEvent, state: InboundState | None, recordings_url: str) -> InboundCallReport | None:
    """Return that a message of a person was recorded: their call is over, or is about to be ended."""
    recording_id = recording_of(event)
    is_of_person = state is not None and state.leg == "person" and event.name == "call.recording.saved"
    if not is_of_person or state is None or recording_id is None:
        return None
    return InboundCallReport(
        call_ref=state.call_ref,
        event_id=f"{state.call_ref}.recorded",
        from_number=state.person,
        to_number=state.number,
        state="ended",
        report={"recording_url": f"{recordings_url}/{recording_id}", "hung_up_by": "caller"},
    )


def _inbound(event: TelnyxEvent, state: InboundState | None) -> InboundCallReport | None:
    """Return what a webhook says about a call of a person; one that has no state yet rings, or was given up."""
    payload = event.payload
    reference = payload.get("call_control_id") if state is None else state.call_ref
    if not isinstance(reference, str):
        return None
    person = str(payload.get("from")) if state is None else state.person
    number = str(payload.get("to")) if state is None else state.number
    about: dict[str, Any] = {"call_ref": reference, "from_number": person, "to_number": number}
    if state is None and event.name == "call.initiated" and payload.get("direction") == "incoming":
        return InboundCallReport(**about, event_id=f"{reference}.ringing", state="ringing", asks=True, asks_again=False)
    if event.name == "call.hangup" and (state is None or state.leg == "person"):
        by = {"hung_up_by": "caller"} if payload.get("hangup_source") == "caller" else {}
        report = {"hangup_cause": str(payload.get("hangup_cause")), **by}
        return InboundCallReport(**about, event_id=f"{reference}.ended", state="ended", report=report)
    return None if state is None or state.leg != "buyer" else _inbound_buyer(event, state, about)


def _inbound_buyer(event: TelnyxEvent, state: InboundState, about: Mapping[str, Any]) -> InboundCallReport | None:
    named = {"buyer_id": state.buyer_id, "agent_id": state.agent_id}
    taker = {name: record_id for name, record_id in named.items() if record_id is not None}
    if event.name == "call.bridged":
        at = {"buyer_answered_at": int(event.stamp)} if event.stamp and state.agent_id is None else {}
        report = {**taker, **at}
        return InboundCallReport(**about, event_id=f"{state.call_ref}.connected", state="connected", report=report)
    if event.name != "call.hangup" or event.payload.get("hangup_cause") not in UNANSWERED_CAUSES:
        return None
    return InboundCallReport(
        **about,
        event_id=f"{state.call_ref}.unanswered.{state.buyer_id or state.agent_id}",
        state="ringing",
        asks=True,
        asks_again=False,
        report={f"unanswered_{name}": record_id for name, record_id in taker.items()},
    )


def _text(event: TelnyxEvent) -> OrderReport | TextReport | None:
    payload = event.payload
    reference = payload.get("id")
    if not isinstance(reference, str):
        return None
    if event.name == "message.received":
        from_number, to_number = _number(payload.get("from")), _number(payload.get("to"))
        return TextReport(
            event_id=reference,
            from_number=from_number,
            to_number=to_number,
            body=str(payload.get("text") or ""),
            carrier_meaning=CARRIER_WORDS.get(str(payload.get("autoresponse_type")).upper()),
        )
    command_id = parse_qs(urlsplit(str(payload.get("webhook_url") or "")).query).get(COMMAND_ID, [""])[0]
    if event.name not in {"message.sent", "message.finalized"} or not command_id:
        return None
    facts = facts_of_text(payload, event.stamp)
    return OrderReport(
        command_id=command_id,
        event_id=event.id,
        provider_ref=reference,
        facts=facts,
        check_after_seconds=ASK_AFTER_SENT_SECONDS if "status.sent" in facts else None,
    )


def facts_of_text(payload: Mapping[str, Any], stamp: str) -> dict[str, str]:
    """Return a text as facts: how far it is, why it failed, what it cost."""
    facts = {f"status.{_first(payload.get('to')).get('status')}": stamp}
    error = _first(payload.get("errors"))
    if error:
        facts["error"] = str(error.get("code"))
        facts["error.says"] = f"{error.get('title')} {error.get('detail') or ''}".strip()
    cost = payload.get("cost")
    if isinstance(cost, dict) and cost.get("amount") is not None:
        facts["price"] = str(cost["amount"])
    return facts


def _number(value: Any) -> str:
    found = _first(value) if isinstance(value, list) else value
    return str(found.get("phone_number") or "") if isinstance(found, dict) else ""


def _first(value: Any) -> Mapping[str, Any]:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}


def _leg_state(value: Any) -> LegState | InboundState | None:
    try:
        return msgspec.json.decode(base64.b64decode(value, validate=True), type=LegState | InboundState)
    except (TypeError, ValueError, binascii.Error, msgspec.DecodeError):
        return None


def _stamp(value: Any) -> str:
    """Return an instant in milliseconds, empty where it is unknown."""
    try:
        return str(from_datetime(datetime.fromisoformat(value)))
    except (TypeError, ValueError):
        return ""
