"""What does Twilio have to do for us? Place a call, send a text, say what became of either; and read what it reports.

A call is one leg to the person. When that answers, Twilio asks us (`answer`), and we name the buyer to dial; when that leg
ends it reports (`dial`); the `status` reports follow the first leg. All carry our command id in their URL.
Reports come in any order and twice: facts are only added, and the outcome is computed from all of them.

Twilio knows no name of ours for an order, so one whose answer was lost is searched by numbers, text and time.
"""

import base64
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta, Struct

from adapters.gateway.ports import DeliveryResult
from adapters.providers.error_meanings import number_to_use, result_of_refusal
from adapters.providers.ports import (
    WITHHELD,
    Callback,
    Connection,
    FoundOrder,
    HttpAnswer,
    InboundCallReport,
    InboundRoute,
    Order,
    Placed,
    ProviderAccount,
    ProviderFailedError,
    ProviderReply,
    Reading,
    RecordingSource,
    RefusedOrderError,
    ResumeKind,
)
from adapters.providers.talk_recording import Announcement, check_recording
from adapters.providers.twilio import twiml
from adapters.providers.twilio.callbacks import CallbackReader
from adapters.providers.twilio.calls import SealedCalls
from adapters.providers.twilio.errors import ORDER_ERRORS
from adapters.providers.twilio.outcomes import (
    call_outcome,
    facts_of_call,
    facts_of_text,
    find_match,
    takes_message,
    text_outcome,
)
from adapters.providers.voice_bots import check_stream, names_of
from adapters.providers.voicemail_drop import check_message
from schemas.commands import BuyerLeg, PlaceCall, SendEmail, SendSms

MACHINE_DETECTION = {"hangup": "Enable", "voicemail_drop": "DetectMessageEnd"}
"""What a step says about machines -> what Twilio listens for before it asks us: who answers, or the end of a greeting."""

FORM = "application/x-www-form-urlencoded"

SEARCHED_MAX = 50
"""Calls or texts between two numbers that are looked through, newest first: those of minutes."""

MULTIPLE_OF_HUNDRED = 100
CLIENT_ERROR, SERVER_ERROR = 4, 5
NOT_FOUND, TOO_MANY = 404, 429

UNANSWERED_BUYER_SECONDS = 30

RECORDINGS = "Recordings"
"""Where an account's recordings are, by their ids."""

Number = Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{6,14}$", description="a number such as +12125550123")]
Target = Annotated[str, Meta(pattern=r"^(\+[1-9][0-9]{6,14}|sips?:[^\s<>]{3,250})$", description="a number, or sip:…")]
ServiceSid = Annotated[str, Meta(pattern=r"^MG[0-9a-fA-F]{32}$", description="MG and 32 characters")]


class TwilioSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account. `base_url` is that of a carrier with Twilio's API.

    `agent_number` takes answered calls of steps that name no buyer. `messaging_service_sid` chooses the number to text from.
    With `records` talks are recorded, once both have heard `announcement`.
    """

    account_sid: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="AC and 32 characters")]
    base_url: Annotated[str, Meta(pattern=r"^https?://[^\s?#]+$", description="https://host")] = "https://api.twilio.com"
    from_number: Number | None = None
    messaging_service_sid: (
        Annotated[str, Meta(pattern=r"^MG[0-9a-fA-F]{32}$", description="MG and 32 characters")] | None
    ) = None
    agent_number: Target | None = None
    records: bool = False
    announcement: Announcement | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` where people would be recorded without their knowledge."""
        check_recording(records=self.records, announcement=self.announcement)


class TwilioProvider:
    """The provider `twilio`."""

    name = "twilio"
    channels = frozenset({"call", "sms"})
    settings = TwilioSettings
    secrets = ("auth_token",)
    resume: ResumeKind = "search"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> Connection:
        """Return a connection."""
        return TwilioConnection(account)


class TwilioConnection:
    """A `Connection`."""

    def __init__(self, account: ProviderAccount) -> None:
        settings: TwilioSettings = account.settings
        self._account = account
        self._settings = settings
        self._url = f"{settings.base_url.rstrip('/')}/2010-04-01/Accounts/{quote(settings.account_sid, safe='')}"
        credentials = f"{settings.account_sid}:{account.secrets['auth_token']}".encode()
        self._headers = {"authorization": f"Basic {base64.b64encode(credentials).decode()}", "accept": "application/json"}
        self._calls = SealedCalls(account.secrets["auth_token"])
        self._callbacks = CallbackReader(account.secrets["auth_token"], f"{self._url}/{RECORDINGS}", self._calls)

    async def place(self, command: PlaceCall) -> Placed | DeliveryResult:
        """Ask for a call; Twilio asks what to do once it is answered."""
        target = command.buyer_number or self._settings.agent_number
        if target is None and command.stream is None:
            raise RefusedOrderError("nobody would talk: let the step connect a buyer, or set agent_number", tries_next=True)
        check_message(command)
        check_stream(command, records=self._settings.records)
        fields = {
            "To": command.to,
            "From": number_to_use(command.from_number, self._settings.from_number),
            "Url": self._callback(command.command_id, "answer"),
            "StatusCallback": self._callback(command.command_id, "status"),
            "Timeout": str(command.ring_timeout_seconds),
        }
        if command.to_dtmf_tones is not None:
            fields["SendDigits"] = command.to_dtmf_tones
        if command.machine in MACHINE_DETECTION:
            fields["MachineDetection"] = MACHINE_DETECTION[command.machine]
        events = [("StatusCallbackEvent", event) for event in ("initiated", "ringing", "answered", "completed")]
        return await self._order("Calls", [*fields.items(), *events], known=("invalid_number",))

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:
        """Ask for a text."""
        if not isinstance(command, SendSms):
            raise RefusedOrderError("it sends no e-mails", tries_next=True)
        fields = {"To": command.to, "Body": command.body, "StatusCallback": self._callback(command.command_id, "message")}
        if command.from_number is None and self._settings.messaging_service_sid is not None:
            fields["MessagingServiceSid"] = self._settings.messaging_service_sid
        else:
            fields["From"] = number_to_use(command.from_number, self._settings.from_number)
        return await self._order("Messages", list(fields.items()), known=("invalid_number", "opted_out"))

    async def press(self, provider_ref: str, digits: str) -> bool:  # noqa: ARG002
        """Press no keys: a command to a live call ends its connection with the buyer."""
        return False

    async def hang_up(self, provider_ref: str) -> bool:
        """End a call."""
        return await self._set_status(provider_ref, "completed")

    async def cancel(self, provider_ref: str) -> bool:
        """End a call that is queued or rings: `canceled` leaves one in progress as it is (Twilio, Call resource)."""
        return await self._set_status(provider_ref, "canceled")

    async def _set_status(self, provider_ref: str, status: str) -> bool:
        answer = await self._send("POST", f"Calls/{quote(provider_ref, safe='')}.json", [("Status", status)])
        return answer.status < CLIENT_ERROR * MULTIPLE_OF_HUNDRED

    async def find(self, order: Order) -> FoundOrder | None:
        """Return what Twilio knows of an order: by its reference, else the one call or text that fits."""
        is_call = isinstance(order.command, PlaceCall)
        collection = "Calls" if is_call else "Messages"
        if order.provider_ref is not None:
            found: Mapping[str, Any] | None = await self._read(
                f"{collection}/{quote(order.provider_ref, safe='')}.json", missing={}
            )
        else:
            query = urlencode({**self._searched(order), "PageSize": SEARCHED_MAX})
            page = await self._read(f"{collection}.json?{query}", missing={})
            found = find_match(page.get(collection.lower(), []), order)
        if not found:
            return None
        if not is_call:
            return FoundOrder(provider_ref=str(found["sid"]), facts=facts_of_text(found))
        children = await self._read(f"Calls.json?{urlencode({'ParentCallSid': found['sid']})}", missing={})
        legs = order.command.buyer_legs if isinstance(order.command, PlaceCall) else ()
        facts = facts_of_call(found, children.get("calls", []), {leg.number: leg.buyer_id for leg in legs})
        return FoundOrder(provider_ref=str(found["sid"]), facts=facts)

    def conclude(self, order: Order) -> DeliveryResult | None:
        """Return the outcome that all reports together say."""
        if isinstance(order.command, PlaceCall):
            return call_outcome(order, f"{self._url}/{RECORDINGS}", now=self._account.now())
        return text_outcome(order, now=self._account.now())

    def read_callback(self, callback: Callback) -> Reading | None:
        """Return what a callback says. Raises `ForgedCallbackError`."""
        return self._callbacks.read(callback)

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:
        """Return what is to be done with an answered call; nothing for other callbacks."""
        body = twiml.nothing()
        event = callback.query.get("event")
        if event == "answer" and order is not None and isinstance(order.command, PlaceCall):
            body = self._answered(order.command, callback.form)
        elif event == "whisper" and order is not None and isinstance(order.command, PlaceCall):
            body = twiml.whisper(*(text for text in (order.command.whisper, self._settings.announcement) if text))
        elif event in {"dial", "routed", "recorded"}:
            body = twiml.hang_up()
        return ProviderReply(body=body, content_type=twiml.CONTENT_TYPE)

    def _answered(self, command: PlaceCall, form: Mapping[str, str]) -> bytes:
        is_machine = form.get("AnsweredBy", "").startswith(("machine", "fax"))
        target = command.buyer_number or self._settings.agent_number
        if command.machine == "voicemail_drop" and takes_message(form.get("AnsweredBy", "")):
            return twiml.say(command.voicemail_message or "")
        if is_machine and command.machine != "continue":
            return twiml.hang_up()
        if command.stream is not None:
            status = self._callback(command.command_id, "stream")
            return twiml.stream(command.stream, status=status, names=names_of(command))
        if target is None:
            return twiml.hang_up()
        return self._dial(command, target, form)

    def _dial(self, command: PlaceCall, target: str, form: Mapping[str, str]) -> bytes:
        heard = self._heard(command, form.get("CallSid", ""))
        legs = [self._leg(command.command_id, leg, heard) for leg in command.buyer_legs]
        seconds = max((leg.timeout_seconds for leg in command.buyer_legs), default=command.buyer_timeout_seconds)
        return twiml.dial(
            legs or [twiml.Leg(target, command.buyer_dtmf_tones, heard=heard)],
            timeout_seconds=seconds or UNANSWERED_BUYER_SECONDS,
            caller_id=command.from_number or self._settings.from_number,
            action=self._callback(command.command_id, "dial"),
            recording=self._talk_recording(command.command_id),
        )

    def _talk_recording(self, command_id: str) -> twiml.TalkRecording | None:
        announcement = self._settings.announcement
        return None if announcement is None else twiml.TalkRecording(announcement, self._callback(command_id, "recording"))

    def _heard(self, command: PlaceCall, call_sid: str) -> str | None:
        """Return the URL at which Twilio asks what a buyer hears. It names the call: the request is about their leg."""
        if command.whisper is None and self._settings.announcement is None:
            return None
        fields = {"command_id": command.command_id, "event": "whisper", "call": call_sid}
        return twiml.with_query(self._public(), fields)

    def _leg(self, command_id: str, leg: BuyerLeg, heard: str | None) -> twiml.Leg:
        """Return one of several buyers to ring at once; Twilio says which one answered."""
        fields = {"command_id": command_id, "event": "buyer", "buyer_id": str(leg.buyer_id)}
        return twiml.Leg(leg.number, leg.dtmf_tones, twiml.with_query(self._public(), fields), heard)

    async def reply_with_route(self, callback: Callback, report: InboundCallReport, route: InboundRoute) -> ProviderReply:  # noqa: ARG002
        """Return what is to be done with an inbound call."""
        body = self._routed(report, route.through(self._settings.agent_number))
        return ProviderReply(body=body, content_type=twiml.CONTENT_TYPE)

    def _routed(self, report: InboundCallReport, route: InboundRoute) -> bytes:
        match route.action:
            case "wait":
                return twiml.ask_again(self._inbound("route", asked=str(report.asked_before + 1)))
            case "connect" if route.buyer_legs or route.buyer_number is not None:
                return self._dial_takers(report, route)
            case "voicemail":
                recorded = self._inbound("recording", call=self._calls.seal(report))
                return twiml.record(route.message, then=self._inbound("recorded"), recorded=recorded)
            case "message" | "callback":
                return twiml.say(route.message or "Nobody can take your call now. Goodbye.")
            case "reject":
                return twiml.reject()
            case _:
                return twiml.hang_up()

    def _dial_takers(self, report: InboundCallReport, route: InboundRoute) -> bytes:
        """Return the instruction to ring a buyer or agent, or several buyers: all until one answers, or the time is over."""
        legs = route.buyer_legs
        seconds = max((leg.timeout_seconds for leg in legs), default=route.buyer_timeout_seconds)
        named = {"buyer_id": legs[0].buyer_id if legs else route.buyer_id, "agent_id": route.agent_id}
        taker = {name: str(record_id) for name, record_id in named.items() if record_id is not None}
        one = twiml.Leg(route.buyer_number or "", route.buyer_dtmf_tones, self._connected(report, taker))
        return twiml.dial(
            [self._leg_of_person(report, leg) for leg in legs] or [one],
            timeout_seconds=seconds or UNANSWERED_BUYER_SECONDS,
            caller_id=report.number_to_show,
            action=self._inbound("routed", **taker),  # of several, any one: none of them has answered then
        )

    def _leg_of_person(self, report: InboundCallReport, leg: BuyerLeg) -> twiml.Leg:
        return twiml.Leg(leg.number, leg.dtmf_tones, self._connected(report, {"buyer_id": str(leg.buyer_id)}))

    def _connected(self, report: InboundCallReport, taker: Mapping[str, str]) -> str:
        """Return the URL at which Twilio says who has taken the call of a person."""
        withheld = {"withheld": "1"} if report.from_number == WITHHELD else {}
        return self._inbound("connected", call_ref=report.call_ref, **withheld, **taker)

    async def find_recording(self, recording_url: str) -> RecordingSource | None:
        """Return where a recording of this account is, as WAV."""
        is_own = recording_url.startswith(f"{self._url}/{RECORDINGS}/")
        return RecordingSource(f"{recording_url}.wav", self._headers) if is_own else None

    async def test(self) -> str:
        """Read the account."""
        about = await self._read(".json", missing={}, whole=True)
        return f"account {about.get('friendly_name')} is {about.get('status')}"

    def _searched(self, order: Order) -> dict[str, str]:
        command = order.command
        assert not isinstance(command, SendEmail)  # noqa: S101 - `send` refuses them
        number = command.from_number or self._settings.from_number
        return {"To": command.to, **({} if number is None else {"From": number})}

    def _callback(self, command_id: str, event: str) -> str:
        return twiml.with_query(self._public(), {"command_id": command_id, "event": event})

    def _inbound(self, event: str, **fields: str) -> str:
        return twiml.with_query(self._public(), {"event": event, **fields})

    def _public(self) -> str:
        if self._account.callback_url is None:
            raise RefusedOrderError("Twilio must be able to report to us: set LEADCLOCK_PUBLIC_URL", tries_next=True)
        return self._account.callback_url

    async def _order(
        self, collection: str, fields: list[tuple[str, str]], *, known: tuple[str, ...]
    ) -> Placed | DeliveryResult:
        """Give an order. Raises `RefusedOrderError` where Twilio refuses it without having done anything."""
        answer = await self._send("POST", f"{collection}.json", fields)
        said = _object(answer)
        if answer.status // MULTIPLE_OF_HUNDRED == CLIENT_ERROR:
            return self._refused(answer.status, said, known)
        if answer.status >= SERVER_ERROR * MULTIPLE_OF_HUNDRED or not isinstance(said.get("sid"), str):
            raise ProviderFailedError(f"Twilio answered {answer.status}")
        return Placed(provider_ref=said["sid"])

    def _refused(self, status: int, said: Mapping[str, Any], known: tuple[str, ...]) -> DeliveryResult:
        code = said.get("code")
        meaning = ORDER_ERRORS.get(code) if isinstance(code, int) else None
        detail = f"Twilio {status} {code}: {said.get('message') or (meaning.says if meaning else 'refused')}"
        return result_of_refusal(meaning, code, detail, known=known, is_busy=status == TOO_MANY)

    async def _read(self, path: str, *, missing: dict[str, Any], whole: bool = False) -> dict[str, Any]:
        """Return an object of the API, or `missing` where there is none. Raises `ProviderFailedError`."""
        answer = await self._send("GET", path, [], whole=whole)
        if answer.status == NOT_FOUND:
            return missing
        said = _object(answer)
        if answer.status // MULTIPLE_OF_HUNDRED != 2:  # noqa: PLR2004 - 2xx
            raise ProviderFailedError(f"Twilio answered {answer.status}: {said.get('message')}")
        return said

    async def _send(self, method: str, path: str, fields: list[tuple[str, str]], *, whole: bool = False) -> HttpAnswer:
        url = f"{self._url}{path}" if whole else f"{self._url}/{path}"
        headers = {**self._headers, "content-type": FORM} if fields else self._headers
        return await self._account.http.send(method, url, headers=headers, content=urlencode(fields).encode())


def _object(answer: HttpAnswer) -> dict[str, Any]:
    """Return the JSON object of an answer, empty where it is none."""
    try:
        found = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
