"""A carrier with Twilio's API on a port of this machine: it refuses what Twilio would refuse, and signs what it reports.

Parameters, their forms and error codes are those of Twilio's published OpenAPI (twilio_api_v2010) and its list of errors.
Callbacks are signed by the vendor's own package. It remembers what it placed, but a client can lose its answer (`loses`).
"""

import asyncio
import base64
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlsplit
from uuid import uuid4
from xml.etree import ElementTree as ET

from twilio.request_validator import RequestValidator
from twilio.twiml import voice_response

ACCOUNT = "AC0123456789abcdef0123456789abcdef"
TOKEN = "a-token-of-the-account"
BASIC = base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
CALL_PARAMETERS = {
    *("To", "From", "Url", "Method", "Twiml", "StatusCallback", "StatusCallbackEvent", "StatusCallbackMethod", "Timeout"),
    *("MachineDetection", "MachineDetectionTimeout", "Record", "SendDigits", "CallerId"),
}
MESSAGE_PARAMETERS = {"To", "From", "MessagingServiceSid", "Body", "StatusCallback", "MediaUrl", "ValidityPeriod"}
CALL_EVENTS = {"initiated", "ringing", "answered", "completed"}
TIMEOUT_MAX = 600
BODY_LENGTH_MAX = 1_600

Post = Callable[[str, bytes, Mapping[str, str]], Awaitable[Any]]


class Refused(Exception):  # noqa: N818 - what the API answers
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class FakeTwilio:
    """The API, and the telephones behind it. `post` sends a callback to us."""

    def __init__(self, post: Post | None = None) -> None:
        self.post = post
        self.calls: dict[str, dict[str, Any]] = {}
        self.asked: dict[str, dict[str, str]] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.recordings: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.refusals: dict[str, tuple[int, int]] = {}
        """Number -> status and code of the answer to an order."""
        self.own_numbers: set[str] | None = None
        self.loses = 0
        """So many orders are carried out and their answers lost: the connection is reset."""
        self.fails = 0
        """So many requests are answered 503, and nothing is done."""
        self.requests_max: int | None = None
        self.before_answer: Callable[[dict[str, Any]], Awaitable[None]] | None = None
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
        if not await self.accept():
            writer.transport.abort()
            return
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        headers = dict(_header(line) for line in head.split("\r\n")[1:-2])
        body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        self.requests.append((method, target))
        file = None if self.fails else self._recording(method, target, headers)
        answer: tuple[int, dict[str, Any]] | None
        try:
            answer = (200, {}) if file is not None else await self._answer(method, target, headers, body)
        except Refused as refused:
            answer = refused.status, {"code": refused.code, "message": str(refused), "status": refused.status}
        if answer is None:
            writer.transport.abort()  # a reset: the client cannot know what was done
            return
        content = json.dumps(answer[1]).encode() if file is None else file
        lines = f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        await self.write(writer, lines.encode() + content)
        writer.close()

    async def accept(self) -> bool:
        """Return whether a connection is read from; it may take a while."""
        return True

    async def write(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        """Send an answer."""
        writer.write(answer)
        await writer.drain()

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: str
    ) -> tuple[int, dict[str, Any]] | None:
        if self.requests_max is not None and len(self.requests) > self.requests_max:
            raise Refused(429, 20429, "Too Many Requests")
        if self.fails:
            self.fails -= 1
            return 503, {"message": "Service unavailable"}
        if headers.get("authorization") != f"Basic {BASIC}":
            raise Refused(401, 20003, "Authenticate")
        parts = urlsplit(target)
        path = parts.path.removeprefix(f"/2010-04-01/Accounts/{ACCOUNT}")
        if path == ".json" and method == "GET":
            return 200, {"sid": ACCOUNT, "friendly_name": "Test", "status": "active"}
        if method == "POST" and path in {"/Calls.json", "/Messages.json"}:
            assert headers["content-type"] == "application/x-www-form-urlencoded"
            fields = parse_qs(body, keep_blank_values=True)
            made = self._call(fields) if path == "/Calls.json" else self._message(fields)
            if self.before_answer is not None:
                await self.before_answer(made)
            if self.loses:
                self.loses -= 1
                return None
            return 201, made
        return self._look_up(method, path, dict(parse_qsl(parts.query)), dict(parse_qsl(body)))

    def _recording(self, method: str, target: str, headers: Mapping[str, str]) -> bytes | None:
        """The file of a recording, to who signs in; None where there is none."""
        path = urlsplit(target).path.removeprefix(f"/2010-04-01/Accounts/{ACCOUNT}/Recordings/")
        sid, _, suffix = path.partition(".")
        may_read = headers.get("authorization") == f"Basic {BASIC}"
        return self.recordings.get(sid) if method == "GET" and may_read and suffix in {"wav", "mp3"} else None

    def _look_up(
        self, method: str, path: str, query: Mapping[str, str], form: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        collection, _, rest = path.removeprefix("/").partition("/")
        if path in {"/Calls.json", "/Messages.json"}:
            known = self.calls if path == "/Calls.json" else self.messages
            wanted = {"To": "to", "From": "from", "ParentCallSid": "parent_call_sid"}
            found = [
                one
                for one in known.values()
                if all(one.get(field) == query[name] for name, field in wanted.items() if name in query)
            ]
            return 200, {path.removeprefix("/").removesuffix(".json").lower(): found[::-1]}
        known = self.calls if collection == "Calls" else self.messages
        one = known.get(rest.removesuffix(".json"))
        if one is None:
            raise Refused(404, 20404, "The requested resource was not found")
        if method == "POST" and form.get("Status") == "completed":
            one["status"] = "completed"
        if method == "POST" and form.get("Status") == "canceled":
            if one["status"] not in {"queued", "initiated", "ringing"}:
                raise Refused(400, 21220, "Invalid call state. Call is not in-progress. Cannot redirect.")
            one["status"] = "canceled"
        return 200, one

    def _call(self, fields: Mapping[str, list[str]]) -> dict[str, Any]:
        unknown = fields.keys() - CALL_PARAMETERS
        if unknown:
            raise Refused(400, 20001, f"Unknown parameters {unknown}")
        one = {name: values[-1] for name, values in fields.items()}
        self._check_numbers(one)
        if not ("Url" in one or "Twiml" in one):
            raise Refused(400, 21205, "Url parameter is required.")
        for name in ("Url", "StatusCallback"):
            if urlsplit(one.get(name, "https://x")).scheme not in {"http", "https"}:
                raise Refused(400, 21205, f"{name} is invalid")
        if not set(fields.get("StatusCallbackEvent", [])) <= CALL_EVENTS:
            raise Refused(400, 21626, "Invalid statusCallbackEvents")
        if not 0 < int(one.get("Timeout", "60")) <= TIMEOUT_MAX:
            raise Refused(400, 21225, "Timeout is invalid")
        if one.get("MachineDetection", "Enable") not in {"Enable", "DetectMessageEnd"}:
            raise Refused(400, 21229, "MachineDetection is invalid")
        made = {**self._made("CA", one, self.calls), "direction": "outbound-api", "duration": None, "answered_by": None}
        made["machine_detection"] = one.get("MachineDetection")
        self.calls[made["sid"]] = made
        self.asked[made["sid"]] = dict(one)
        return made

    def _message(self, fields: Mapping[str, list[str]]) -> dict[str, Any]:
        unknown = fields.keys() - MESSAGE_PARAMETERS
        if unknown:
            raise Refused(400, 20001, f"Unknown parameters {unknown}")
        one = {name: values[-1] for name, values in fields.items()}
        if "MessagingServiceSid" not in one:
            self._check_numbers(one)
        if not one.get("Body"):
            raise Refused(400, 21602, "Message body is required.")
        if len(one["Body"]) > BODY_LENGTH_MAX:
            raise Refused(400, 21617, "The concatenated message body exceeds the 1600 character limit")
        made = {**self._made("SM", one, self.messages), "direction": "outbound-api", "body": one["Body"], "error_code": None}
        self.messages[made["sid"]] = made
        return made

    def _check_numbers(self, one: Mapping[str, str]) -> None:
        if E164.fullmatch(one.get("To", "")) is None:
            raise Refused(400, 21211, "Invalid 'To' Phone Number")
        if E164.fullmatch(one.get("From", "")) is None:
            raise Refused(400, 21212, "Invalid From Number")
        if self.own_numbers is not None and one["From"] not in self.own_numbers:
            raise Refused(400, 21659, "From is not a number of this account")
        if one["To"] in self.refusals:
            status, code = self.refusals[one["To"]]
            raise Refused(status, code, "refused")

    def _made(self, prefix: str, one: Mapping[str, str], _known: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "sid": f"{prefix}{uuid4().hex}",
            "to": one["To"],
            "from": one.get("From"),
            "status": "queued",
            "price": None,
            "date_created": format_datetime(datetime.now(UTC)),
            "parent_call_sid": None,
            "url": one.get("Url"),
            "status_callback": one.get("StatusCallback"),
        }

    def leg(self, parent: str, status: str, seconds: int = 0) -> None:
        """A leg that was dialled from a call."""
        sid = f"CA{uuid4().hex}"
        now = format_datetime(datetime.now(UTC))
        self.calls[sid] = {
            "sid": sid, "parent_call_sid": parent, "status": status, "duration": str(seconds), "to": "+1", "from": "+1",
            "direction": "outbound-dial", "date_created": now, "end_time": now,
        }  # fmt: skip

    async def report(self, url: str, form: Mapping[str, str], *, token: str = TOKEN, signature: str | None = None) -> Any:
        """Send a callback, signed for the URL that we were given."""
        assert self.post is not None
        signed = RequestValidator(token).compute_signature(url, dict(form)) if signature is None else signature
        content = "&".join(f"{name}={quote_plus(value)}" for name, value in form.items()).encode()
        headers = {"X-Twilio-Signature": signed, "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
        return await self.post(url, content, headers)

    async def status(self, sid: str, status: str, **more: str) -> Any:
        """Report that a call is in a status."""
        call = self.calls[sid]
        call["status"] = status
        form = {"CallSid": sid, "AccountSid": ACCOUNT, "CallStatus": status, "To": call["to"], "From": call["from"], **more}
        return await self.report(call["status_callback"], {"Direction": "outbound-api", **form})

    async def recorded(self, callback: str, call_sid: str, content: bytes) -> Any:
        """Report that a recording is complete, as `recordingStatusCallback` says: without the numbers of the call."""
        sid = f"RE{uuid4().hex}"
        self.recordings[sid] = content
        form = {
            "AccountSid": ACCOUNT, "CallSid": call_sid, "RecordingSid": sid, "RecordingStatus": "completed",
            "RecordingUrl": f"{self.url}/2010-04-01/Accounts/{ACCOUNT}/Recordings/{sid}", "RecordingDuration": "7",
            "RecordingChannels": "1", "RecordingSource": "RecordVerb", "ErrorCode": "0",
        }  # fmt: skip
        return await self.report(callback, form)

    async def receipt(self, sid: str, status: str, **more: str) -> Any:
        """Report what became of a text."""
        text = self.messages[sid]
        text["status"] = status
        form = {"MessageSid": sid, "SmsSid": sid, "MessageStatus": status, "To": text["to"], "AccountSid": ACCOUNT, **more}
        return await self.report(text["status_callback"], form)


def read_twiml(body: bytes | str) -> ET.Element:
    """Return what we answer, once each verb, noun and attribute of it is one that the vendor's own package can write."""
    document = ET.fromstring(body)  # noqa: S314 - what we wrote ourselves
    assert document.tag == "Response"
    _check_twiml(document, voice_response.VoiceResponse)
    return document


def _check_twiml(element: ET.Element, known: type) -> None:
    for child in element:
        write = getattr(known, child.tag.lower(), None)
        assert write is not None, f"<{element.tag}> has no <{child.tag}>"
        attributes = {
            re.sub(r"_([a-z])", lambda found: found[1].upper(), name) for name in inspect.signature(write).parameters
        }
        assert child.attrib.keys() <= attributes, f"<{child.tag}> has no {child.attrib.keys() - attributes}"
        _check_twiml(child, getattr(voice_response, child.tag))


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    return name.lower(), value
