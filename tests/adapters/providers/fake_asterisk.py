"""An Asterisk's REST interface on a port of this machine: it refuses what Asterisk 22 refuses, and sends the same events.

Statuses, words and the order of events are those that Asterisk 22.10 gave to the same requests.
"""

import asyncio
import base64
import json
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

USER, PASSWORD = "leadclock", "a-long-password"
APP = "leadclock"
KNOWN_ENDPOINTS = ("@carrier", "PJSIP/carrier/", "Local/")
ORIGIN = "2026-11-25T13:00:00.000+0000"


class AriRefusal(Exception):  # noqa: N818 - what the interface answers
    def __init__(self, status: int, message: str, *, field: str = "message") -> None:
        super().__init__(message)
        self.status, self.field = status, field


class FakeAsterisk:
    """The interface, and the telephones behind it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.channels: dict[str, dict[str, Any]] = {}
        self.bridges: dict[str, list[str]] = {}
        self.rows: dict[str, str] = {}
        """What the dialplan has written down, by key."""
        self.recordings: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        """What is in the spool, by name."""
        self.tones: list[tuple[str, str]] = []
        self.requests: list[tuple[str, str]] = []
        self.originated: list[dict[str, Any]] = []
        self.startup_time = ORIGIN
        self.loses = 0
        """So many orders are carried out and their answers lost: the connection is reset."""
        self.fails = 0
        """So many requests are answered 503, and nothing is done."""
        self.has_dialplan = True
        self.cannot_record = False
        """Whether there is no room, or no folder, for recordings."""
        self.listeners = 0
        self.url = ""
        self._outboxes: list[asyncio.Queue[bytes | None]] = []
        self._server: asyncio.Server | None = None
        self._plays: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.drop_listeners()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await self._serve_request(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve_request(self, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = raw.decode()
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path, query = unquote(urlsplit(target).path), dict(parse_qsl(urlsplit(target).query))
        if path == "/ari/events" and headers.get("upgrade", "").lower() == "websocket" and _is_user(headers):
            await self._stream(raw, query, reader, writer)
            return
        self.requests.append((method, target))
        answer: tuple[int, Any] | None
        try:
            answer = self._answer(method, path, {**query, **(json.loads(body) if body else {})}, headers)
        except AriRefusal as refused:
            answer = refused.status, {refused.field: str(refused)}
        if answer is None:
            writer.transport.abort()  # a reset: the client cannot know what was done
            return
        said = answer[1]
        content = said if isinstance(said, bytes) else b"" if said is None else json.dumps(said).encode()
        writer.write(
            f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content
        )
        await writer.drain()

    async def _stream(
        self, head: bytes, query: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send events to a listener until either side ends; a new one replaces it."""
        assert query["app"] == APP
        protocol, outbox = ServerProtocol(), asyncio.Queue[bytes | None]()
        protocol.receive_data(head)
        request = protocol.events_received()[0]
        assert isinstance(request, Request)
        protocol.send_response(protocol.accept(request))
        writer.write(b"".join(protocol.data_to_send()))
        self._send({"type": "ApplicationReplaced"})
        self._outboxes = [outbox]
        self.listeners += 1
        reading = asyncio.create_task(_pump(reader, protocol, outbox))
        while (message := await outbox.get()) is not None:
            if message:
                protocol.send_text(message)
            writer.write(b"".join(protocol.data_to_send()))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        if outbox in self._outboxes:
            self._outboxes.remove(outbox)

    @property
    def is_listened_to(self) -> bool:
        """Whether anybody listens now."""
        return bool(self._outboxes)

    def drop_listeners(self) -> None:
        """Close the connection of the listener."""
        for outbox in self._outboxes:
            outbox.put_nowait(None)
        self._outboxes = []

    def _send(self, event: Mapping[str, Any]) -> None:
        whole = {"application": APP, "timestamp": now(), "asterisk_id": "02:fc", **event}
        for outbox in self._outboxes:
            outbox.put_nowait(json.dumps(whole).encode())

    def _answer(self, method: str, path: str, fields: dict[str, Any], headers: Mapping[str, str]) -> tuple[int, Any] | None:
        if self.fails:
            self.fails -= 1
            return 503, {"error": "busy"}
        if not _is_user(headers):
            raise AriRefusal(401, "Authentication required")
        parts = path.removeprefix("/ari/").split("/")
        if method == "GET" and parts[:2] == ["recordings", "stored"] and parts[3:] == ["file"]:
            if parts[2] not in self.files:
                raise AriRefusal(404, "Recording not found")
            return 200, self.files[parts[2]]
        key = f"{method} {parts[0]}" + (f" {'/'.join(parts[2:])}" if len(parts) > 2 else "")
        if parts[0] == "asterisk":
            system, status = {"version": "22.10.1"}, {"startup_time": self.startup_time}
            return 200, {"system": system} if fields.get("only") == "system" else {"status": status}
        handlers: dict[str, Callable[[str, dict[str, Any]], tuple[int, Any] | None]] = {
            "POST channels": self._originate,
            "GET channels": self._read_channel,
            "DELETE channels": self._delete_channel,
            "GET channels variable": self._variable,
            "POST channels variable": self._set_variable,
            "POST channels answer": self._answer_channel,
            "POST channels continue": self._continue,
            "POST channels dtmf": self._dtmf,
            "POST channels ring": self._in_stasis,
            "DELETE channels ring": self._in_stasis,
            "POST channels record": self._record_channel,
            "GET playbacks": self._read_playback,
            "POST bridges": self._make_bridge,
            "DELETE bridges": self._delete_bridge,
            "POST bridges addChannel": self._add_channels,
            "POST bridges record": self._record_bridge,
        }
        name = parts[1] if len(parts) > 1 else ""
        if len(parts) == 4 and parts[2] == "play":
            return self._play(f"{parts[0].rstrip('s')}:{name}", parts[3], fields)
        return handlers[key](name, fields)

    def _originate(self, name: str, fields: dict[str, Any]) -> tuple[int, Any] | None:
        endpoint = fields.get("endpoint", "")
        if "/" not in endpoint:
            raise AriRefusal(400, "Invalid endpoint specified")
        if name in self.channels:
            raise AriRefusal(409, "Channel with given unique ID already exists")
        if "originator" in fields and fields["originator"] not in self.channels:
            raise AriRefusal(400, "Provided originator channel was not found")
        if not any(known in endpoint for known in KNOWN_ENDPOINTS):
            raise AriRefusal(500, "Allocation failed", field="error")
        self.channels[name] = made = _channel(name, fields.get("callerId", ""))
        made["fields"] = fields
        if endpoint.startswith("Local/find@"):
            if self.has_dialplan:
                self.channels[fields["otherChannelId"]] = _channel(fields["otherChannelId"], "")
                row = self.rows.get(fields["variables"]["__LEADCLOCK_FIND"], "")
                self.channels[fields["otherChannelId"]]["found"] = f"row {row}"
        else:
            self.originated.append({"id": name, **fields})
        if self.loses:
            self.loses -= 1
            return None
        return 200, _shown(made)

    def _read_channel(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if not name:
            return 200, [_shown(channel) for channel in self.channels.values()]
        return 200, _shown(self._channel(name))

    def _delete_channel(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._channel(name)
        self.ends(name, int(fields.get("reason_code", 16)), soft=True)
        for other in [other for other in self.channels if other.startswith(f"{name}.") and "lcf" in other]:
            del self.channels[other]
        return 204, None

    def _variable(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        variable, channel = fields["variable"], self._channel(name)
        if variable == "LEADCLOCK_FOUND":
            return 200, {"value": channel.get("found", "")}
        if variable not in channel.setdefault("variables", {}):
            raise AriRefusal(404, "Provided variable was not found")
        return 200, {"value": channel["variables"][variable]}

    def _set_variable(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._in_stasis(name, fields)
        self._channel(name).setdefault("variables", {})[fields["variable"]] = fields["value"]
        return 204, None

    def _answer_channel(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._in_stasis(name, fields)
        self.channels[name]["state"] = "Up"
        return 204, None

    def _continue(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._in_stasis(name, fields)
        assert (fields["context"], fields["extension"]) in {("leadclock", "machine"), ("leadclock", "greeting")}
        self.channels[name]["extension"] = fields["extension"]
        self.channels[name]["stasis"] = False
        return 204, None

    def _dtmf(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._in_stasis(name, fields)
        if not fields.get("dtmf"):
            raise AriRefusal(400, "DTMF is required")
        self.tones.append((name, fields["dtmf"]))
        return 204, None

    def _in_stasis(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        if not self._channel(name)["stasis"]:
            raise AriRefusal(409, "Channel not in Stasis application")
        return 204, None

    def _make_bridge(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if name in self.bridges:
            raise AriRefusal(409, f"Bridge with id '{name}' already exists")
        self.bridges[name] = []
        return 200, {"id": name}

    def _delete_bridge(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        self._bridge(name)
        del self.bridges[name]
        return 204, None

    def _add_channels(self, name: str, fields: dict[str, Any]) -> tuple[int, None]:
        bridge = self._bridge(name)
        names = fields["channel"].split(",")
        if any(channel not in self.channels for channel in names):
            raise AriRefusal(400, "Channel not found")
        for channel in names:
            self._in_stasis(channel, fields)
            bridge[:] = [other for other in bridge if other != channel] + [channel]
            if name not in self.channels:  # else Asterisk takes the application for subscribed, and reports nothing
                about = {"bridge": {"id": name}, "channel": _shown(self.channels[channel])}
                self._send({"type": "ChannelEnteredBridge", **about})
        return 204, None

    def _play(self, target: str, playback: str, fields: dict[str, Any]) -> tuple[int, Any]:
        kind, name = target.split(":", 1)
        if kind == "bridge":
            self._bridge(name)
        else:
            self._in_stasis(name, fields)
        assert playback not in self._plays, "it would be heard twice"
        self._plays[playback] = target
        return 201, {"id": playback, "media_uri": fields["media"], "target_uri": target, "state": "queued"}

    def _read_playback(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if name not in self._plays:
            raise AriRefusal(404, "Playback not found")
        return 200, {"id": name, "target_uri": self._plays[name], "state": "playing"}

    def _record_bridge(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        self._bridge(name)
        if self.cannot_record:
            raise AriRefusal(500, "Internal Server Error")
        return self._record(f"bridge:{name}", fields)

    def _record_channel(self, name: str, fields: dict[str, Any]) -> tuple[int, Any]:
        self._in_stasis(name, fields)
        return self._record(f"channel:{name}", fields)

    def _record(self, target: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if fields["name"] in self.recordings and fields["ifExists"] == "fail":
            raise AriRefusal(409, "Recording already exists")
        if fields["format"] not in {"wav", "gsm", "ulaw"}:
            raise AriRefusal(422, "specified format is unknown on this system")
        if self.recordings.get(fields["name"]) and fields["name"] not in self.files:
            raise AriRefusal(409, "Recording is in progress")
        self.recordings[fields["name"]] = target
        recording = {"name": fields["name"], "format": fields["format"], "state": "recording", "target_uri": target}
        self._send({"type": "RecordingStarted", "recording": recording})
        return 201, recording

    def _channel(self, name: str) -> dict[str, Any]:
        if name not in self.channels:
            raise AriRefusal(404, "Channel not found")
        return self.channels[name]

    def _bridge(self, name: str) -> list[str]:
        if name not in self.bridges:
            raise AriRefusal(404, "Bridge not found")
        return self.bridges[name]

    def rings(self, name: str) -> None:
        """A telephone rings."""
        self.channels[name]["state"] = "Ringing"
        self._send({"type": "ChannelStateChange", "channel": _shown(self.channels[name])})

    def answers(self, name: str) -> None:
        """A telephone is answered: its channel enters the application."""
        channel = self.channels[name]
        channel["state"] = "Up"
        self._send({"type": "ChannelStateChange", "channel": _shown(channel)})
        self.enters(name, *channel["fields"]["appArgs"].split(","))

    def enters(self, name: str, *args: str) -> None:
        """A channel enters the application, of its own or by the dialplan."""
        self.channels[name]["stasis"] = True
        self.channels[name]["dialplan"]["app_data"] = ",".join((APP, *args))
        self._send({"type": "StasisStart", "args": list(args), "channel": _shown(self.channels[name])})

    def calls_in(self, name: str, person: str, number: str) -> None:
        """A person calls a number; the dialplan hands the call to the application."""
        self.channels[name] = _channel(name, person, state="Ring", exten=number)
        self.enters(name, "inbound")

    def played(self, playback: str, state: str = "done") -> None:
        """A sound has been played to its end; or `failed`, where its file is missing."""
        about = {"id": playback, "target_uri": self._plays.pop(playback), "state": state}
        self._send({"type": "PlaybackFinished", "playback": about})

    def recorded(self, name: str, content: bytes) -> None:
        """A recording ends: its file is complete."""
        self.files[name] = content
        about = {"name": name, "format": "wav", "state": "done", "target_uri": self.recordings[name], "duration": 7}
        self._send({"type": "RecordingFinished", "recording": about})

    def ends(self, name: str, cause: int = 16, *, sip: int = 0, soft: bool = False) -> None:
        """A channel ends; the dialplan writes it down before it is gone."""
        channel = self.channels[name]
        shown = _shown(channel)
        requested = {"type": "ChannelHangupRequest", "cause": cause, "channel": shown}
        self._send({**requested, "soft": True} if soft else requested)
        handler = channel.get("fields", {}).get("variables", {}).get("CHANNEL(hangup_handler_push)")
        if handler is not None and self.has_dialplan:
            self.rows[handler.partition("(")[2].rstrip(")")] = (
                f"{channel['state']} {cause} {int(datetime.now(UTC).timestamp())}"
            )
        del self.channels[name]
        for bridge in self.bridges.values():
            bridge[:] = [other for other in bridge if other != name]
        if channel["stasis"]:
            self._send({"type": "StasisEnd", "channel": shown})
        if "fields" not in channel:
            return  # the application is subscribed to channels that it has made
        about = {"cause": cause, "cause_txt": "X", **({"tech_cause": sip} if sip else {})}
        self._send({"type": "ChannelDestroyed", **about, "channel": shown})

    def times_out(self, name: str) -> None:
        """Nobody answers in time: Asterisk ends the channel without a request to."""
        shown = _shown(self.channels.pop(name))
        self._send({"type": "ChannelDestroyed", "cause": 19, "cause_txt": "User alerting, no answer", "channel": shown})

    def crashes(self) -> None:
        """Asterisk ends and starts again: no channel ends in order."""
        self.channels, self.bridges = {}, {}
        self.startup_time = now()
        self.drop_listeners()


async def _pump(reader: asyncio.StreamReader, protocol: ServerProtocol, outbox: asyncio.Queue[bytes | None]) -> None:
    """Answer pings, until the listener closes."""
    while data := await reader.read(4096):
        protocol.receive_data(data)
        for event in protocol.events_received():
            if isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                outbox.put_nowait(None)
        outbox.put_nowait(b"")
    outbox.put_nowait(None)


def _is_user(headers: Mapping[str, str]) -> bool:
    return headers.get("authorization") == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def _channel(name: str, caller: str, *, state: str = "Down", exten: str = "s") -> dict[str, Any]:
    dialplan = {"context": "from-carrier", "exten": exten, "priority": 1, "app_name": "Stasis", "app_data": ""}
    return {"id": name, "state": state, "caller": {"name": "", "number": caller}, "dialplan": dialplan, "stasis": False}


def _shown(channel: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: channel[name] for name in ("id", "state", "caller")}
    return {**shown, "name": f"PJSIP/carrier-{channel['id']}", "language": "en", "dialplan": dict(channel["dialplan"])}


def now() -> str:
    """The time as Asterisk writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "+0000")
