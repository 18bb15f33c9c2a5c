"""What does an event of Asterisk say? About an order of ours by the name of its channel; else about the call of a person.

The gateway that listens to an Asterisk hands each event to the API as a callback, signed by a key that is derived from the
secret of the ARI user (Standard Webhooks), with its turn: events of one call have growing ones.
"""

import hmac
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from adapters.gateway.signing import signature_headers
from adapters.providers.asterisk.legs import NO_RECORD, InboundThing, OrderLeg, read_name
from adapters.providers.ports import Callback, ForgedCallbackError, InboundCallReport, OrderReport, Reading
from schemas.instant import from_datetime

COMMAND_ID = "command_id"

UP = "Up"
"""The state of a channel that was answered, also when it ends."""

FAILED = "failed"
"""The state of a playback that nobody heard."""

GIVEN_UP = 31
"""The Q.850 cause that we give the leg of a buyer whose caller has gone: no other buyer is to be rung."""

INBOUND, LEAD, BUYER, MACHINE, GREETING = "inbound", "lead", "buyer", "machine", "greeting"
"""What the dialplan, or we, give a channel as the first argument of `Stasis`."""


class AriChannel(Struct, frozen=True):
    """A channel, as far as it matters."""

    id: str
    state: str = ""
    caller: Mapping[str, str] = {}
    dialplan: Mapping[str, Any] = {}


class AriNamed(Struct, frozen=True):
    """A bridge, playback or recording."""

    id: str = ""
    name: str = ""
    target_uri: str = ""
    state: str = ""


class AriEvent(Struct, frozen=True, kw_only=True):
    """An event of ARI; fields that do not matter are left out."""

    type: str
    timestamp: str = ""
    channel: AriChannel | None = None
    args: tuple[str, ...] = ()
    cause: int = 0
    tech_cause: int = 0
    soft: bool = False
    bridge: AriNamed | None = None
    playback: AriNamed | None = None
    recording: AriNamed | None = None

    @property
    def about(self) -> str:
        """Return the name of what the event is about."""
        if self.channel is not None:
            return self.channel.id
        return self.playback.id if self.playback is not None else self.recording.name if self.recording is not None else ""

    @property
    def was_played(self) -> bool:
        """Return whether the sound of the event was heard; Asterisk finishes one whose file is missing, too."""
        return self.playback is not None and self.playback.state != FAILED

    @property
    def stamp(self) -> str:
        """Return when it was, in milliseconds; empty where that is unknown."""
        try:
            return str(from_datetime(datetime.fromisoformat(self.timestamp)))
        except ValueError:
            return ""


class Turned(Struct, frozen=True):
    """What is handed to the API: an event and its turn."""

    turn: int
    event: AriEvent


def event_key(secret: str) -> bytes:
    """Return the key that events are signed with."""
    return hmac.digest(secret.encode(), b"asterisk events/v1", "sha256")


def callback_of(event: AriEvent, turn: int, *, key: bytes, url: str) -> Callback:
    """Return an event as a signed request to our callback URL."""
    body = msgspec.json.encode(Turned(turn, event))
    name = read_name(event.about)
    command_id = name.command_id if isinstance(name, OrderLeg) else None
    return Callback(
        url=url if command_id is None else f"{url}?{COMMAND_ID}={command_id}",
        headers={"content-type": "application/json", **signature_headers([key], f"{turn}", body)},
        query={} if command_id is None else {COMMAND_ID: command_id},
        form={},
        body=body,
    )


def read_event(callback: Callback) -> Turned | None:
    """Return the event of a callback, None where it has none."""
    try:
        return msgspec.json.decode(callback.body, type=Turned)
    except msgspec.DecodeError:
        return None


FindMessage = Callable[[str], tuple[InboundThing, str] | None]
"""Returns whose message a recording is, and where its file is."""


def read(callback: Callback, key: bytes, find_message: FindMessage) -> Reading | None:
    """Return what a callback says, None for what is of no use. Raises `ForgedCallbackError`."""
    try:
        Webhook(key).verify(callback.body, dict(callback.headers), json_parse=False)
    except (WebhookVerificationError, ValueError) as error:
        raise ForgedCallbackError("webhook-signature is not of this account's secret, or older than five minutes") from error
    turned = read_event(callback)
    if turned is None:
        return None
    name = read_name(turned.event.about)
    if isinstance(name, OrderLeg):
        if callback.query.get(COMMAND_ID) != name.command_id:
            raise ForgedCallbackError("the URL names another order than the signed body")
        return _order(turned, name)
    if isinstance(name, InboundThing):
        return _inbound_leg(turned.event, name)
    message = find_message(turned.event.about)
    return _inbound(turned.event) if message is None else _message(turned.event, *message)


def _order(turned: Turned, leg: OrderLeg) -> OrderReport | None:
    event = turned.event
    facts = _lead_facts(event) if leg.buyer is None else _buyer_facts(event, leg.buyer, turned.turn)
    if not facts:
        return None
    buyer_talks = f"b{leg.buyer}.bridged" in facts
    return OrderReport(
        command_id=leg.command_id,
        event_id=f"{event.about}.{event.type}.{turned.turn}",
        provider_ref=OrderLeg(leg.command_id).name,
        facts=facts,
        state="established" if buyer_talks or "answered" in facts else "ringing" if "ringing" in facts else None,
        buyer_id=leg.buyer if buyer_talks and leg.buyer != NO_RECORD else None,
    )


def _lead_facts(event: AriEvent) -> dict[str, str]:
    state = "" if event.channel is None else event.channel.state
    match event.type, event.args:
        case "ChannelStateChange", _ if state == "Ringing":
            return {"ringing": event.stamp}
        case "StasisStart", (word, *said):
            if word == GREETING:
                return {"greeted": event.stamp}
            return {"answered": event.stamp} if word == LEAD else {"machine": said[0]} if word == MACHINE and said else {}
        case "ChannelHangupRequest", _:
            return {"by.us" if event.soft else "by.lead": event.stamp}
        case "ChannelDestroyed", _:
            sip = {"sip": str(event.tech_cause)} if event.tech_cause else {}
            return {"ended": event.stamp, "cause": str(event.cause), **sip}
    played = "announced" if event.was_played else "not_announced"
    sounds = {"PlaybackFinished": {played: event.stamp}, "RecordingStarted": {"recording": event.about}}
    return sounds.get(event.type, {})


def _buyer_facts(event: AriEvent, buyer: int, turn: int) -> dict[str, str]:
    match event.type:
        case "StasisStart":
            return {f"b{buyer}.answered": event.stamp, f"b{buyer}.turn": str(turn)}
        case "PlaybackFinished":
            return {f"b{buyer}.{'whispered' if event.was_played else 'not_whispered'}": event.stamp}
        case "ChannelEnteredBridge":
            return {f"b{buyer}.bridged": event.stamp}
        case "ChannelHangupRequest" if not event.soft:
            return {f"b{buyer}.by": event.stamp}
        case "ChannelDestroyed":
            return {f"b{buyer}.ended": event.stamp, f"b{buyer}.cause": str(event.cause)}
    return {}


def _inbound(event: AriEvent) -> InboundCallReport | None:
    """Return what an event says about the call of a person: it rings, or has ended."""
    channel = event.channel
    if channel is None:
        return None
    about: dict[str, Any] = {
        "call_ref": channel.id,
        "from_number": channel.caller.get("number", ""),
        "to_number": str(channel.dialplan.get("exten", "")),
    }
    if event.type == "StasisStart" and event.args[:1] == (INBOUND,):
        return InboundCallReport(**about, event_id=f"{channel.id}.ringing", state="ringing", asks=True, asks_again=False)
    if ends_person(event):
        by_caller = event.type == "ChannelHangupRequest"
        report = {"hangup_cause": str(event.cause), "hung_up_by": "caller"} if by_caller else {}
        return InboundCallReport(**about, event_id=f"{channel.id}.ended", state="ended", report=report)
    return None


def ends_person(event: AriEvent) -> bool:
    """Return whether an event ends the call of a person: it hangs up, or its channel leaves us. We hear no more of it."""
    return event.type == "StasisEnd" or (event.type == "ChannelHangupRequest" and not event.soft)


def _message(event: AriEvent, thing: InboundThing, recording_url: str) -> InboundCallReport | None:
    """Return that the message of a person was recorded: their call is over, or is about to be ended."""
    if event.type != "RecordingFinished":
        return None
    return InboundCallReport(
        call_ref=thing.call_ref,
        event_id=f"{thing.call_ref}.recorded",
        from_number=thing.person,
        to_number=thing.number,
        state="ended",
        report={"recording_url": recording_url, "hung_up_by": "caller"},
    )


def _inbound_leg(event: AriEvent, leg: InboundThing) -> InboundCallReport | None:
    """Return what an event says about the leg of a buyer or agent, where that matters to the call of the person."""
    taker = leg.taker
    if taker is None or event.channel is None:
        return None
    about: dict[str, Any] = {"call_ref": leg.call_ref, "from_number": leg.person, "to_number": leg.number}
    if event.type == "StasisStart":
        at = {"buyer_answered_at": int(event.stamp)} if event.stamp and "agent_id" not in taker else {}
        report = {**taker, **at}
        return InboundCallReport(**about, event_id=f"{leg.call_ref}.connected", state="connected", report=report)
    if event.type == "ChannelDestroyed" and event.channel.state != UP and event.cause != GIVEN_UP:
        return InboundCallReport(
            **about,
            event_id=f"{leg.call_ref}.unanswered.{leg.what[1:]}",
            state="ringing",
            asks=True,
            asks_again=False,
            report={f"unanswered_{name}": record_id for name, record_id in taker.items()},
        )
    return None
