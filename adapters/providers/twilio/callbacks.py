"""What does a request of Twilio say? About an order of ours by `command_id`; else an inbound text or call."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from adapters.clock import wall_now
from adapters.providers.ports import (
    CARRIER_WORDS,
    WITHHELD,
    Callback,
    CallState,
    ForgedCallbackError,
    InboundCallReport,
    OrderReport,
    Reading,
    TextReport,
)
from adapters.providers.twilio.calls import SealedCalls
from adapters.providers.twilio.outcomes import CALL_ENDS
from adapters.providers.twilio.signature import HEADER, is_signed
from schemas.instant import SECOND, from_datetime

STREAM_STATES = {"stream-started": "started", "stream-stopped": "stopped", "stream-error": "error"}

STATES: Mapping[str, CallState] = {"initiated": "initiated", "ringing": "ringing", "in-progress": "established"}

ASK_AFTER_SECONDS = 25.0
"""When Twilio is asked about a call that has ended while the report about the buyer's leg is missing."""

ASK_AFTER_SENT_SECONDS = 310.0
"""When a text without a receipt is settled."""

CALLERS = frozenset({"inbound"})

RINGS_SEVERAL = {"rings_several": True}
"""What a report says that asks for a route: `<Dial>` rings several numbers at once."""

TAKERS = ("buyer_id", "agent_id")
"""What a URL of ours names of whom a call of a person was connected to."""


class CallbackReader:
    """Reads what one account reports. `recordings_url` is where its recordings are; `calls` opens tokens of calls."""

    def __init__(self, auth_token: str, recordings_url: str, calls: SealedCalls) -> None:
        self._auth_token = auth_token
        self._recordings_url = recordings_url
        self._calls = calls

    def read(self, callback: Callback) -> Reading | None:
        """Return what a callback says, None for what is of no use. Raises `ForgedCallbackError`."""
        signature = callback.headers.get(HEADER, "")
        if not is_signed(self._auth_token, callback.url, callback.form, signature):
            raise ForgedCallbackError(
                "X-Twilio-Signature is not that of this account, or LEADCLOCK_PUBLIC_URL is another one"
            )
        if "command_id" in callback.query:
            return _order_report(callback)
        if "MessageSid" in callback.form and "Body" in callback.form:
            return _text(callback.form)
        match callback.query.get("event"):
            case "recording":
                return self._recording(callback)
            case "recorded":
                return None  # the answer says what follows
        return _inbound(callback) if "CallSid" in callback.form else None

    def _recording(self, callback: Callback) -> InboundCallReport | None:
        """Return that a message of a person was recorded; by then they have hung up."""
        call, sid = self._calls.open(callback.query.get("call", "")), callback.form.get("RecordingSid", "")
        if call is None or not sid.isalnum() or callback.form.get("RecordingStatus") != "completed":
            return None
        return InboundCallReport(
            call_ref=call.call_ref,
            event_id=f"{call.call_ref}.recorded",
            from_number=call.person,
            to_number=call.number,
            state="ended",
            report={"recording_url": f"{self._recordings_url}/{sid}", "hung_up_by": "caller"},
        )


def _order_report(callback: Callback) -> OrderReport | None:
    form, event = callback.form, callback.query.get("event")
    about: dict[str, Any] = {"command_id": callback.query["command_id"]}
    if event == "message":
        return _receipt(form, about)
    sid = form.get("CallSid", "")
    if not sid:
        return None
    stamp = _stamp(form)
    match event:
        case "buyer":
            return _buyer(callback, about, stamp)
        case "whisper":
            return _whisper(callback, about, stamp)
    report = {"answer": _answer, "dial": _dial, "recording": _talk, "stream": _stream}.get(event or "", _status)
    return report(form, about, sid, stamp)


def _answer(form: Mapping[str, str], about: Mapping[str, Any], sid: str, stamp: str) -> OrderReport:
    facts = {"status.in-progress": stamp, **_named(form, {"AnsweredBy": "answered_by"})}
    if not form.get("AnsweredBy", "").startswith(("machine", "fax")):
        facts["dial"] = "1"
    return OrderReport(**about, event_id=f"{sid}.answer", provider_ref=sid, facts=facts, state="established")


def _dial(form: Mapping[str, str], about: Mapping[str, Any], sid: str, stamp: str) -> OrderReport:
    state = form.get("DialCallStatus", "")
    facts = {"dial": "1", f"dial.{state}": stamp, **_named(form, {"DialCallDuration": "dial.seconds"})}
    return OrderReport(**about, event_id=f"{sid}.dial.{state}", provider_ref=sid, facts=facts)


def _buyer(callback: Callback, about: Mapping[str, Any], stamp: str) -> OrderReport | None:
    """Return which of several buyers has answered; the request is about that buyer's leg."""
    form, named = callback.form, callback.query.get("buyer_id", "")
    parent = form.get("ParentCallSid", "")
    if not named.isdigit() or not parent:
        return None
    return OrderReport(
        command_id=about["command_id"],
        event_id=f"{form.get('CallSid')}.answered",
        provider_ref=parent,
        facts={"dial": "1", "buyer": named, "buyer.answered": stamp},
        state="established",
        buyer_id=int(named),
    )


def _whisper(callback: Callback, about: Mapping[str, Any], stamp: str) -> OrderReport | None:
    """Return that a buyer or agent is said something; the request is about their leg, and its URL names the call."""
    call_sid = callback.query.get("call")
    if not call_sid:
        return None
    facts = {"dial": "1", "whispered": stamp}
    return OrderReport(**about, event_id=f"{callback.form['CallSid']}.whisper", provider_ref=call_sid, facts=facts)


def _talk(form: Mapping[str, str], about: Mapping[str, Any], sid: str, _stamp: str) -> OrderReport | None:
    """Return that a talk was recorded; Twilio says so some time after its end."""
    recording = form.get("RecordingSid", "")
    if not (recording.isascii() and recording.isalnum()) or form.get("RecordingStatus") != "completed":
        return None
    return OrderReport(**about, event_id=f"{sid}.{recording}", provider_ref=sid, facts={"recording": recording})


def _stream(form: Mapping[str, str], about: Mapping[str, Any], sid: str, stamp: str) -> OrderReport | None:
    state = STREAM_STATES.get(form.get("StreamEvent", ""))
    if state is None:
        return None
    facts = {"dial": "1", f"stream.{state}": form.get("StreamError") or stamp if state == "error" else stamp}
    return OrderReport(**about, event_id=f"{sid}.stream.{state}", provider_ref=sid, facts=facts)


def _status(form: Mapping[str, str], about: Mapping[str, Any], sid: str, stamp: str) -> OrderReport:
    state = form.get("CallStatus", "")
    named = {"CallDuration": "seconds", "SipResponseCode": "sip", "ErrorCode": "error", "AnsweredBy": "answered_by"}
    return OrderReport(
        command_id=about["command_id"],
        event_id=f"{sid}.{state}",
        provider_ref=sid,
        facts={f"status.{state}": stamp, **_named(form, named)},
        state=STATES.get(state),
        check_after_seconds=ASK_AFTER_SECONDS if state == "completed" else None,
    )


def _receipt(form: Mapping[str, str], about: Mapping[str, Any]) -> OrderReport | None:
    sid, state = form.get("MessageSid", ""), form.get("MessageStatus", "")
    if not sid or not state:
        return None
    return OrderReport(
        command_id=about["command_id"],
        event_id=f"{sid}.{state}",
        provider_ref=sid,
        facts={f"status.{state}": _stamp(form), **_named(form, {"ErrorCode": "error"})},
        check_after_seconds=ASK_AFTER_SENT_SECONDS if state == "sent" else None,
    )


def _text(form: Mapping[str, str]) -> TextReport:
    return TextReport(
        event_id=form["MessageSid"],
        from_number=form.get("From", ""),
        to_number=form.get("To", ""),
        body=form["Body"],
        carrier_meaning=CARRIER_WORDS.get(form.get("OptOutType", "").upper()),
    )


def _inbound(callback: Callback) -> InboundCallReport | None:
    """Return what a request about a call of a person says; those about legs that we dialled carry its reference."""
    form, query = callback.form, callback.query
    event, status = query.get("event"), form.get("CallStatus", "")
    call_ref = query.get("call_ref") or form["CallSid"]
    caller = WITHHELD if "withheld" in query else form.get("From", "")  # the leg of who takes it comes from our number
    about: dict[str, Any] = {"call_ref": call_ref, "from_number": caller, "to_number": form.get("To", "")}
    taker = {name: int(query[name]) for name in TAKERS if query.get(name, "").isdigit()}
    match event:
        case "route":
            asked = int(query["asked"]) if query.get("asked", "").isdigit() else 1
            return InboundCallReport(**about, **_rings(call_ref), asked_before=asked)
        case "connected":
            # The request is about the leg of who takes the call: its numbers are those of that leg.
            report = taker if "agent_id" in taker else {**taker, "buyer_answered_at": int(_stamp(form))}
            return InboundCallReport(**about, event_id=f"{call_ref}.connected", state="connected", report=report)
        case "routed":
            return _after_taker(form, about, taker)
        case _ if form.get("Direction") not in CALLERS:
            return None
        case _ if status in CALL_ENDS:
            return InboundCallReport(**about, event_id=f"{call_ref}.ended", state="ended", report=_end(status))
        case _:
            return InboundCallReport(**about, **_rings(call_ref))


def _rings(call_ref: str) -> dict[str, Any]:
    return {"event_id": f"{call_ref}.ringing", "state": "ringing", "asks": True, "report": RINGS_SEVERAL}


def _after_taker(form: Mapping[str, str], about: dict[str, Any], taker: Mapping[str, int]) -> InboundCallReport:
    """Return what the end of the leg of a buyer or agent says: the call ends, or asks for another one."""
    state = form.get("DialCallStatus", "")
    if state == "completed":
        duration = form.get("DialCallDuration", "")
        seconds = int(duration) if duration.isdigit() else 0
        # Somebody had the call, also where the report of that was lost; of several buyers nobody says which.
        taken_by = taker if "agent_id" in taker else {"buyer_answered_at": int(_stamp(form)) - seconds * SECOND}
        report = {"talk_seconds": seconds, "hangup_cause": "completed", **(taken_by if taker else {})}
        return InboundCallReport(**about, event_id=f"{about['call_ref']}.ended", state="ended", report=report)
    if state == "canceled" or not taker:
        return InboundCallReport(**about, event_id=f"{about['call_ref']}.ended", state="ended", report=_end(state))
    return InboundCallReport(
        **about,
        event_id=f"{about['call_ref']}.unanswered.{next(iter(taker.values()))}",
        state="ringing",
        asks=True,
        report={**{f"unanswered_{name}": record_id for name, record_id in taker.items()}, **RINGS_SEVERAL},
    )


def _end(status: str) -> dict[str, Any]:
    return {"hangup_cause": status, "hung_up_by": "caller"}


def _named(form: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {fact: form[name] for name, fact in names.items() if form.get(name)}


def _stamp(form: Mapping[str, str]) -> str:
    """Return when something happened, in milliseconds: as Twilio says, else now."""
    try:
        return str(from_datetime(parsedate_to_datetime(form["Timestamp"])))
    except (KeyError, ValueError):
        return str(wall_now())
