"""A carrier with Telnyx's API on a port of this machine: it refuses what Telnyx would refuse, and signs what it reports.

Parameters, their limits and the forms of answers and webhooks are those of Telnyx's published OpenAPI, as its package for
Python has them (`CallDialParams`, `ActionTransferParams`, `MessageSendParams`); codes are those of its list of errors. It
remembers each `command_id`, and ignores a command of a name that it has carried out.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

API_KEY = "KEY0123456789"
CONNECTION = "1684641123236054244"

PRIVATE_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = base64.b64encode(PRIVATE_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
SIP = re.compile(r"sips?:\S+@\S+")
DIGITS = re.compile(r"[0-9A-DwW*#]+")

CALL_PARAMETERS = {
    *("connection_id", "to", "from", "from_display_name", "timeout_secs", "time_limit_secs", "command_id", "client_state"),
    *("webhook_url", "webhook_url_method", "answering_machine_detection", "link_to", "bridge_on_answer", "record"),
    "webhook_retries_policies",
}
TRANSFER_PARAMETERS = {
    *("to", "from", "timeout_secs", "time_limit_secs", "command_id", "client_state", "target_leg_client_state"),
    *("webhook_url", "webhook_url_method", "answering_machine_detection", "park_after_unbridge", "record"),
    "webhook_retries_policies",
}
ACTIONS: Mapping[str, set[str]] = {
    "transfer": TRANSFER_PARAMETERS,
    "hangup": {"client_state", "command_id"},
    "bridge": {
        "call_control_id",
        "client_state",
        "command_id",
        "park_after_unbridge",
        "prevent_double_bridge",
        "play_ringtone",
    },
    "answer": {"client_state", "command_id", "webhook_url"},
    "reject": {"cause", "client_state", "command_id"},
    "speak": {"payload", "voice", "language", "target_legs", "client_state", "command_id"},
    "record_start": {"format", "channels", "max_length", "play_beep", "client_state", "command_id"},
    "streaming_start": {
        *(
            "stream_url",
            "stream_track",
            "stream_codec",
            "stream_auth_token",
            "custom_parameters",
            "client_state",
            "command_id",
        ),
        *("stream_bidirectional_mode", "stream_bidirectional_codec", "stream_bidirectional_target_legs"),
    },
    "send_dtmf": {"digits", "duration_millis", "client_state", "command_id"},
}
MESSAGE_PARAMETERS = {"to", "from", "messaging_profile_id", "text", "subject", "media_urls", "webhook_url", "type"}
DETECTIONS = {"premium", "detect", "detect_beep", "detect_words", "greeting_end", "disabled"}
SPEECH_MAX, RECORDING_SECONDS_MAX = 3_000, 14_400
TIMEOUT_MIN, TIMEOUT_MAX = 5, 600
URL_LENGTH_MAX = 2_000
RETRIES_MAX, RETRIES_MS_MAX = 5, 60_000

Post = Callable[[str, bytes, Mapping[str, str]], Awaitable[Any]]


class TelnyxRefusal(Exception):  # noqa: N818 - what the API answers
    def __init__(self, status: int, code: int, title: str, pointer: str | None = None) -> None:
        super().__init__(title)
        self.status, self.code, self.pointer = status, code, pointer


class FakeTelnyx:
    """The API, and the telephones behind it. `post` sends a webhook to us."""

    def __init__(self, post: Post | None = None) -> None:
        self.post = post
        self.legs: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.recordings: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.actions: list[tuple[str, str, dict[str, Any]]] = []
        """Leg, action and parameters of each command that was carried out."""
        self.refusals: dict[str, TelnyxRefusal] = {}
        """Number -> the answer to an order."""
        self.loses = 0
        """So many orders are carried out and their answers lost: the connection is reset."""
        self.fails = 0
        """So many requests are answered 503, and nothing is done."""
        self.before_answer: Callable[[dict[str, Any]], Awaitable[None]] | None = None
        self._done: set[tuple[str, str]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append((method, target))
        file = self._file(target, headers)
        answer: tuple[int, dict[str, Any]] | None
        try:
            answer = (200, {}) if file is not None else await self._answer(method, target, headers, body)
        except TelnyxRefusal as refused:
            error = {"code": str(refused.code), "title": str(refused), "detail": f"{refused}."}
            source = {} if refused.pointer is None else {"source": {"pointer": refused.pointer}}
            answer = refused.status, {"errors": [{**error, **source}]}
        if answer is None:
            writer.transport.abort()  # a reset: the client cannot know what was done
            return
        content = json.dumps(answer[1]).encode() if file is None else file
        head = f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()
        writer.close()

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, Any]] | None:
        if self.fails:
            self.fails -= 1
            return 503, {"errors": [{"code": "10007", "title": "Unexpected error"}]}
        if headers.get("authorization") != f"Bearer {API_KEY}":
            raise TelnyxRefusal(401, 10009, "Authentication failed")
        path = unquote(urlsplit(target).path)
        if method == "GET":
            return self._look_up(path)
        assert headers["content-type"] == "application/json"
        fields = json.loads(body)
        if path in {"/v2/calls", "/v2/messages"}:
            made = self._call(fields) if path == "/v2/calls" else self._message(fields)
            if self.before_answer is not None:
                await self.before_answer(made)
            if self.loses:
                self.loses -= 1
                return None
            return 200, {"data": made}
        leg, _, action = path.removeprefix("/v2/calls/").partition("/actions/")
        return 200, self._act(leg, action, fields)

    def _file(self, target: str, headers: Mapping[str, str]) -> bytes | None:
        """The file at a signed address of S3, which refuses any other way to sign in."""
        name = urlsplit(target).path.removeprefix("/files/").removesuffix(".wav")
        return self.recordings.get(name) if "X-Amz-Signature" in target and "authorization" not in headers else None

    def _look_up(self, path: str) -> tuple[int, dict[str, Any]]:
        if path == "/v2/balance":
            return 200, {"data": {"record_type": "balance", "balance": "300.00", "currency": "USD"}}
        collection, _, name = path.removeprefix("/v2/").partition("/")
        if collection == "recordings" and name in self.recordings:
            url = f"{self.url}/files/{name}.wav?X-Amz-Expires=600&X-Amz-Signature={uuid4().hex}"
            return 200, {"data": {"id": name, "record_type": "recording", "download_urls": {"wav": url}}}
        known = self.legs if collection == "calls" else self.messages
        if name not in known:
            raise TelnyxRefusal(404, 10005, "Resource not found")
        return 200, {"data": known[name]}

    def _call(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        _check_names(fields, CALL_PARAMETERS)
        if fields.get("connection_id") != CONNECTION:
            raise TelnyxRefusal(422, 10015, "Invalid value for connection_id", "/connection_id")
        self._check_dial(fields)
        if "link_to" in fields and fields["link_to"] not in self.legs:
            raise TelnyxRefusal(422, 10015, "Invalid value", "/link_to")
        if fields.get("answering_machine_detection", "disabled") not in DETECTIONS:
            raise TelnyxRefusal(422, 10015, "Invalid value", "/answering_machine_detection")
        self._refuse(fields["to"])
        for leg in self.legs.values():
            if leg["command_id"] == fields.get("command_id"):
                return leg  # ignored
        return self._leg(fields, fields.get("client_state"))

    def _message(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        _check_names(fields, MESSAGE_PARAMETERS)
        if E164.fullmatch(fields.get("to", "")) is None:
            raise TelnyxRefusal(422, 40310, "Invalid 'to' address", "/to")
        if "messaging_profile_id" not in fields and E164.fullmatch(fields.get("from", "")) is None:
            raise TelnyxRefusal(422, 40305, "Invalid 'from' address", "/from")
        if not fields.get("text"):
            raise TelnyxRefusal(422, 40316, "No content provided for message", "/text")
        _check_url(fields)
        self._refuse(fields["to"])
        made = {
            "id": str(uuid4()), "record_type": "message", "direction": "outbound", "text": fields["text"], "errors": [],
            "from": {"phone_number": fields.get("from")}, "to": [{"phone_number": fields["to"], "status": "queued"}],
            "webhook_url": fields.get("webhook_url"), "cost": None,
        }  # fmt: skip
        self.messages[made["id"]] = made
        return made

    def _act(self, leg: str, action: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        if leg not in self.legs or action not in ACTIONS:
            raise TelnyxRefusal(404, 10005, "Resource not found")
        _check_names(fields, ACTIONS[action])
        if self.legs[leg]["end_time"]:
            raise TelnyxRefusal(422, 90018, "Call has already ended")
        name = fields.get("command_id", str(uuid4()))
        if (leg, name) in self._done:
            return {"data": {"result": "ok"}}  # ignored
        self._check_action(action, fields)
        self.legs[leg]["client_state"] = fields.get("client_state", self.legs[leg]["client_state"])
        if action == "transfer":
            self._check_dial({"from": self.legs[leg]["to"], **fields})
            self._refuse(fields["to"])
            self._leg({**fields, "command_id": None}, fields.get("target_leg_client_state"))
        self._done.add((leg, name))
        self.actions.append((leg, action, dict(fields)))
        return {"data": {"result": "ok"}}

    def _check_action(self, action: str, fields: Mapping[str, Any]) -> None:
        match action:
            case "send_dtmf" if DIGITS.fullmatch(fields.get("digits", "")) is None:
                raise TelnyxRefusal(422, 10015, "Invalid value", "/digits")
            case "reject" if fields.get("cause") not in {"CALL_REJECTED", "USER_BUSY"}:
                raise TelnyxRefusal(422, 10015, "Invalid value", "/cause")
            case "bridge" if self.legs.get(fields["call_control_id"], {"end_time": "never lived"})["end_time"]:
                raise TelnyxRefusal(422, 90015, "Invalid Call Control ID", "/call_control_id")
            case "speak":
                _check_speech(fields)
            case "streaming_start":
                _check_streaming(fields)
            case "record_start":
                _check_recording(fields)

    def _check_dial(self, fields: Mapping[str, Any]) -> None:
        target = fields.get("to", "")
        if E164.fullmatch(target) is None and SIP.fullmatch(target) is None:
            raise TelnyxRefusal(422, 10016, "Phone number must be in +E.164 format", "/to")
        if E164.fullmatch(fields.get("from", "")) is None:
            raise TelnyxRefusal(422, 10016, "Phone number must be in +E.164 format", "/from")
        if not TIMEOUT_MIN <= fields.get("timeout_secs", 30) <= TIMEOUT_MAX:
            raise TelnyxRefusal(422, 10015, "Invalid value", "/timeout_secs")
        for name in ("client_state", "target_leg_client_state"):
            base64.b64decode(fields.get(name, ""), validate=True)
        _check_url(fields)
        for policy in fields.get("webhook_retries_policies", {}).values():
            delays = policy["retries_ms"]
            if len(delays) > RETRIES_MAX or sum(delays) > RETRIES_MS_MAX or not all(type(one) is int for one in delays):
                raise TelnyxRefusal(422, 10015, "Invalid value", "/webhook_retries_policies")

    def _refuse(self, number: str) -> None:
        if number in self.refusals:
            raise self.refusals[number]

    def _leg(self, fields: Mapping[str, Any], state: str | None) -> dict[str, Any]:
        made = {
            "call_control_id": f"v3:{uuid4().hex}_x-y", "call_leg_id": str(uuid4()), "call_session_id": str(uuid4()),
            "is_alive": False, "record_type": "call", "end_time": None, "to": fields["to"], "from": fields.get("from"),
            "client_state": state, "command_id": fields.get("command_id"), "webhook_url": fields.get("webhook_url"),
            "retries": fields.get("webhook_retries_policies", {}),
        }  # fmt: skip
        self.legs[made["call_control_id"]] = made
        return made

    def rings(self, person: str, number: str, webhook_url: str) -> dict[str, Any]:
        """A person calls a number of the account."""
        return self._leg({"to": number, "from": person, "webhook_url": webhook_url}, None)

    def leg_to(self, number: str) -> dict[str, Any]:
        """The newest leg to a number."""
        return [leg for leg in self.legs.values() if leg["to"] == number][-1]

    async def report(self, url: str, event: Mapping[str, Any], **signing: Any) -> Any:
        """Send a webhook."""
        assert self.post is not None
        content = json.dumps(event).encode()
        return await self.post(url, content, {"Content-Type": "application/json", **signed(content, **signing)})

    async def event(self, leg: Mapping[str, Any], name: str, **more: Any) -> Any:
        """Report what happened to a leg."""
        known = self.legs[leg["call_control_id"]]
        known["is_alive"] = name != "call.hangup"
        known["end_time"] = _now() if name == "call.hangup" else None
        return await self.report(leg["webhook_url"], call_event(leg, name, **more))

    async def recorded(self, leg: Mapping[str, Any], content: bytes) -> Any:
        """Report that a recording is complete."""
        return await self.report(leg["webhook_url"], self.saved(leg, content))

    def saved(self, leg: Mapping[str, Any], content: bytes) -> dict[str, Any]:
        """A webhook about a complete recording; the address in it is good for ten minutes. It need not name the leg."""
        name = str(uuid4())
        self.recordings[name] = content
        urls = {"mp3": f"{self.url}/files/{name}.mp3?X-Amz-Expires=600"}
        about = {"recording_id": name, "recording_urls": urls, "public_recording_urls": {}, "channels": "single"}
        event = call_event(leg, "call.recording.saved", **about)
        del event["data"]["payload"]["call_control_id"]
        return event

    async def receipt(self, message_id: str, status: str, *, name: str = "message.finalized", **more: Any) -> Any:
        """Report what became of a text."""
        text = self.messages[message_id]
        text |= {"to": [{**text["to"][0], "status": status}], **more}
        return await self.report(text["webhook_url"], event_of(name, text))


def call_event(leg: Mapping[str, Any], name: str, **more: Any) -> dict[str, Any]:
    """A webhook about a leg."""
    about = ("call_control_id", "call_leg_id", "call_session_id", "client_state", "from", "to")
    return event_of(name, {"connection_id": CONNECTION, **{field: leg[field] for field in about}, **more})


def event_of(name: str, payload: Mapping[str, Any], *, occurred_at: str | None = None) -> dict[str, Any]:
    """A webhook."""
    about = {"record_type": "event", "event_type": name, "id": str(uuid4()), "occurred_at": occurred_at or _now()}
    return {"data": {**about, "payload": dict(payload)}, "meta": {"attempt": 1}}


def signed(content: bytes, *, key: Ed25519PrivateKey = PRIVATE_KEY, at: float | None = None) -> dict[str, str]:
    """The headers of a webhook."""
    timestamp = str(int(time.time() if at is None else at))
    signature = base64.b64encode(key.sign(f"{timestamp}|".encode() + content)).decode()
    return {"telnyx-signature-ed25519": signature, "telnyx-timestamp": timestamp}


def _check_names(fields: Mapping[str, Any], known: set[str]) -> None:
    unknown = fields.keys() - known
    if unknown:
        raise TelnyxRefusal(422, 10015, f"Unknown parameters {sorted(unknown)}")


def _check_speech(fields: Mapping[str, Any]) -> None:
    if not (fields.get("payload") and fields.get("voice") and len(fields["payload"]) <= SPEECH_MAX):
        raise TelnyxRefusal(422, 10004, "Missing required parameter", "/payload")
    if fields.get("target_legs", "self") not in {"self", "opposite", "both"}:
        raise TelnyxRefusal(422, 10015, "Invalid value", "/target_legs")


def _check_recording(fields: Mapping[str, Any]) -> None:
    if fields.get("format") not in {"wav", "mp3"} or fields.get("channels") not in {"single", "dual"}:
        raise TelnyxRefusal(422, 10004, "Missing required parameter", "/format")
    if not 0 <= fields.get("max_length", 0) <= RECORDING_SECONDS_MAX:
        raise TelnyxRefusal(422, 10015, "Invalid value", "/max_length")


def _check_streaming(fields: Mapping[str, Any]) -> None:
    allowed = {
        "stream_track": {"inbound_track", "outbound_track", "both_tracks"},
        "stream_bidirectional_mode": {"mp3", "rtp"},
        "stream_bidirectional_codec": {"PCMU", "PCMA", "G722", "OPUS", "AMR-WB", "L16"},
    }
    for name, values in allowed.items():
        if fields.get(name, next(iter(values))) not in values:
            raise TelnyxRefusal(422, 10015, "Invalid value", f"/{name}")
    if urlsplit(fields.get("stream_url", "")).scheme not in {"ws", "wss"}:
        raise TelnyxRefusal(422, 10003, "Invalid URL", "/stream_url")
    if not all(one.keys() == {"name", "value"} for one in fields.get("custom_parameters", [])):
        raise TelnyxRefusal(422, 10015, "Invalid value", "/custom_parameters")


def _check_url(fields: Mapping[str, Any]) -> None:
    url = fields.get("webhook_url", "https://x")
    if urlsplit(url).scheme not in {"http", "https"} or len(url) > URL_LENGTH_MAX:
        raise TelnyxRefusal(422, 10003, "Invalid URL", "/webhook_url")


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
