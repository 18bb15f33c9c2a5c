"""How do we hear of Asterisk's events? By a WebSocket that stays open; one gateway at a time listens to an account.

Asterisk keeps no events for who is not there. So each time that it is listened to again, calls of ours that had nobody to
move them on are looked for: an answered lead without a buyer's leg would wait in silence, and is hung up on.
"""

import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog
import websockets

from adapters.gateway.ports import NotPlacedError
from adapters.providers.asterisk.ari import Ari
from adapters.providers.asterisk.events import UP, AriEvent, callback_of
from adapters.providers.asterisk.legs import MESSAGE, InboundThing, OrderLeg, read_name
from adapters.providers.asterisk.settings import AsteriskSettings
from adapters.providers.ports import ProviderAccount, ProviderFailedError, StreamedEvent

OPEN_SECONDS = 10.0
"""For the greeting of the WebSocket."""

PING_SECONDS = 10.0
"""Between pings; a connection that answers none for so long again is given up. So a silent network is noticed in 20 s."""

TURNS_A_MILLISECOND = 1_000

EVENT_BYTES_MAX = 262_144
"""Of one event: a bridge of some channels has a few kilobytes."""

DEFAULT_PORTS = {"ws": 80, "wss": 443}

OF_CHANNELS = frozenset({"StasisStart", "ChannelHangupRequest", "ChannelDestroyed", "ChannelEnteredBridge"})
OF_SOUNDS = frozenset({"PlaybackFinished", "RecordingStarted", "RecordingFinished"})

logger = structlog.get_logger(__name__)


class Listener:
    """Listens to one Asterisk."""

    def __init__(self, account: ProviderAccount, ari: Ari, settings: AsteriskSettings, key: bytes) -> None:
        self._account = account
        self._ari = ari
        self._settings = settings
        self._key = key
        self._turn = 0

    async def events(self) -> AsyncGenerator[StreamedEvent, None]:
        """Yield events until Asterisk closes the connection. Raises `NotPlacedError` or `ProviderFailedError`."""
        url = self._account.callback_url
        if url is None:
            raise NotPlacedError("LEADCLOCK_PUBLIC_URL is not set")
        try:
            async with await self._connect() as connection:
                await self._end_silent_calls()
                async for message in connection:
                    event = _event(message)
                    if event is not None and event.type == "ApplicationReplaced":
                        return  # another one listens to the same app, and hears all
                    if event is not None and matters(event):
                        yield StreamedEvent(key=key_of(event), callback=self._callback(event, url))
        except (websockets.WebSocketException, OSError) as error:
            raise ProviderFailedError(f"listening to Asterisk: {type(error).__name__}: {error}") from error

    def _callback(self, event: AriEvent, url: str) -> Any:
        """Return an event as a callback, with a turn that is behind those of every earlier listener."""
        self._turn = max(self._turn + 1, TURNS_A_MILLISECOND * int(self._account.now()))
        return callback_of(event, self._turn, key=self._key, url=url)

    async def _connect(self) -> Any:
        """Open the WebSocket to an address that was checked."""
        url = self._settings.events_url()
        parts = urlsplit(url)
        sockets = self._account.sockets
        if sockets is None or parts.hostname is None:
            raise NotPlacedError("Asterisk cannot be connected to")
        tls: ssl.SSLContext | None = sockets.tls if parts.scheme == "wss" else None
        socket = await sockets.connect(parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme])
        try:
            return await websockets.connect(
                url,
                sock=socket,
                ssl=tls,
                server_hostname=parts.hostname if tls is not None else None,
                additional_headers={"Authorization": self._ari.authorization},
                proxy=None,
                open_timeout=OPEN_SECONDS,
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                max_size=EVENT_BYTES_MAX,
            )
        except BaseException:
            socket.close()
            raise

    async def _end_silent_calls(self) -> None:
        """Hang up on answered leads that no buyer's leg belongs to."""
        channels = await self._ari.read("channels") or []
        for name in silent_leads(channels, self._settings.app):
            logger.warning("call.silent", channel=name)
            await self._ari.act("DELETE", "channels", name)


def silent_leads(channels: Sequence[Mapping[str, Any]], app: str) -> list[str]:
    """Return the leads of an app that were answered and have no buyer's leg; one that a machine is listened for has time."""
    legs = {str(channel.get("id")): read_name(str(channel.get("id"))) for channel in channels}
    in_talks = {leg.command_id for leg in legs.values() if isinstance(leg, OrderLeg) and leg.buyer is not None}
    return [
        name
        for channel in channels
        if isinstance(leg := legs[name := str(channel.get("id"))], OrderLeg)
        and leg.buyer is None
        and leg.command_id not in in_talks
        and channel.get("state") == UP
        and str(channel.get("dialplan", {}).get("app_data")).split(",")[0] == app
    ]


def matters(event: AriEvent) -> bool:
    """Return whether an event says something that a call of ours waits for."""
    if event.type == "ChannelStateChange":
        return event.channel is not None and event.channel.state == "Ringing" and _leg_of_lead(event)
    if event.type in OF_SOUNDS:
        return read_name(event.about) is not None or event.about.startswith(MESSAGE)
    if event.type == "StasisEnd":
        return read_name(event.about) is None
    return event.type in OF_CHANNELS and event.channel is not None


def _leg_of_lead(event: AriEvent) -> bool:
    leg = read_name(event.about)
    return isinstance(leg, OrderLeg) and leg.buyer is None


def key_of(event: AriEvent) -> str:
    """Return what a call is known by: its events are handed over one after the other."""
    match read_name(event.about):
        case OrderLeg(command_id=command_id):
            return command_id
        case InboundThing(call_ref=call_ref):
            return call_ref
    return event.about


def _event(message: str | bytes) -> AriEvent | None:
    try:
        return msgspec.json.decode(message, type=AriEvent)
    except msgspec.DecodeError:
        return None
