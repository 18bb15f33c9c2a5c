"""What does Telnyx have to do for us? Place a call by Call Control, send a text, and say what became of either.

A call is one leg to the person. When Telnyx reports that it was answered, we have it dial the buyer (`transfer`); it
connects the two by itself. Each command to a call has a `command_id` of ours: Telnyx carries out one of that name once,
however often its webhook comes.

A call of a person waits for its route in the webhook that reports it (`adapters.providers.telnyx.inbound`).

Telnyx lists no orders by a name of ours, and an order is given to nobody twice. So one whose answer was lost is known again
by its first webhook, which carries our command id.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
import structlog
from msgspec import Meta, Struct

from adapters.gateway.ports import DeliveryResult
from adapters.providers.error_meanings import number_to_use, result_of_refusal
from adapters.providers.ports import (
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
from adapters.providers.telnyx.errors import code_of, refusal_of
from adapters.providers.telnyx.events import (
    COMMAND_ID,
    RETRIES,
    InboundState,
    LegState,
    facts_of_text,
    read,
    read_event,
)
from adapters.providers.telnyx.following import MACHINE_DETECTION, CallControl, ring_seconds
from adapters.providers.telnyx.inbound import InboundCalls
from adapters.providers.telnyx.outcomes import call_outcome, text_outcome
from adapters.providers.telnyx.signature import read_key
from adapters.providers.voice_bots import check_stream
from adapters.providers.voicemail_drop import check_message
from schemas.commands import PlaceCall, SendEmail, SendSms

CLIENT_ERROR, SERVER_ERROR, OK = 400, 500, 200
NOT_FOUND, TOO_MANY = 404, 429

RECORDINGS = "recordings"
"""Where an account's recordings are, by their ids."""

Number = Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{6,14}$", description="a number such as +12125550123")]
Target = Annotated[str, Meta(pattern=r"^(\+[1-9][0-9]{6,14}|sips?:[^\s<>]{3,250})$", description="a number, or sip:…")]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="an id as the portal shows it")]

logger = structlog.get_logger(__name__)


class TelnyxSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account. `public_key` checks webhooks.

    `connection_id` is the Voice API application that places calls; `messaging_profile_id` chooses the number to text from
    where a command names none. `agent_number` takes answered calls of steps that name no buyer. With `records` talks are
    recorded, once both have heard `announcement`.
    """

    public_key: Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]{43}=$", description="44 characters, from Keys & Credentials")]
    connection_id: Name | None = None
    messaging_profile_id: Name | None = None
    from_number: Number | None = None
    agent_number: Target | None = None
    base_url: Annotated[str, Meta(pattern=r"^https?://[^\s?#]+$", description="https://host")] = "https://api.telnyx.com"
    records: bool = False
    announcement: Announcement | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` where people would be recorded without their knowledge."""
        check_recording(records=self.records, announcement=self.announcement)


class TelnyxProvider:
    """The provider `telnyx`."""

    name = "telnyx"
    channels = frozenset({"call", "sms"})
    settings = TelnyxSettings
    secrets = ("api_key",)
    resume: ResumeKind = "none"
    presses_keys = True

    def connect(self, account: ProviderAccount) -> Connection:
        """Return a connection. Raises `ValueError` where an account for calls has no `connection_id`."""
        return TelnyxConnection(account)


class TelnyxConnection:
    """A `Connection`."""

    def __init__(self, account: ProviderAccount) -> None:
        settings: TelnyxSettings = account.settings
        if account.channel == "call" and settings.connection_id is None:
            raise ValueError("set connection_id: calls are placed by a Voice API application")
        self._account = account
        self._settings = settings
        self._key = read_key(settings.public_key)
        self._url = f"{settings.base_url.rstrip('/')}/v2"
        self._inbound = InboundCalls(self._act_once, account.callback_url)
        self._orders = CallControl(
            act=self._act_once,
            dial=self._dial,
            callback=self._callback,
            connection_id=settings.connection_id,
            from_number=settings.from_number,
            agent_number=settings.agent_number,
            announcement=settings.announcement,
        )
        self._headers = {"authorization": f"Bearer {account.secrets['api_key']}", "accept": "application/json"}

    async def place(self, command: PlaceCall) -> Placed | DeliveryResult:
        """Ask for a call; what follows is asked for once it is answered."""
        if self._orders.target(command) is None and command.stream is None:
            raise RefusedOrderError("nobody would talk: let the step connect a buyer, or set agent_number", tries_next=True)
        check_message(command)
        check_stream(command, records=self._settings.records)
        if command.buyer_legs:
            raise RefusedOrderError("it rings one buyer at a time: dial the buyers of the group in turn", tries_next=True)
        fields = {
            "connection_id": self._settings.connection_id,
            "to": command.to,
            "from": number_to_use(command.from_number, self._settings.from_number),
            "timeout_secs": ring_seconds(command.ring_timeout_seconds),
            "command_id": command.command_id,
            "client_state": LegState(command_id=command.command_id).encoded(),
            "webhook_url": self._callback(command.command_id),
            "webhook_retries_policies": RETRIES,
        }
        if command.machine in MACHINE_DETECTION:
            fields["answering_machine_detection"] = MACHINE_DETECTION[command.machine]
        return await self._order("calls", fields, reference="call_control_id", known=("invalid_number",))

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:
        """Ask for a text."""
        if not isinstance(command, SendSms):
            raise RefusedOrderError("it sends no e-mails", tries_next=True)
        fields = {"to": command.to, "text": command.body, "webhook_url": self._callback(command.command_id)}
        if command.from_number is None and self._settings.messaging_profile_id is not None:
            fields["messaging_profile_id"] = self._settings.messaging_profile_id
        else:
            fields["from"] = number_to_use(command.from_number, self._settings.from_number)
        return await self._order("messages", fields, reference="id", known=("invalid_number", "opted_out"))

    async def press(self, provider_ref: str, digits: str) -> bool:
        """Press keys on the lead's leg."""
        return await self._has_acted(provider_ref, "send_dtmf", {"digits": digits})

    async def hang_up(self, provider_ref: str) -> bool:
        """End a call."""
        return await self._has_acted(provider_ref, "hangup", {})

    async def cancel(self, provider_ref: str) -> bool:  # noqa: ARG002
        """Let it ring: a hang-up ends an answered call as well, and a look-up does not say whether one was answered."""
        return False

    async def find(self, order: Order) -> FoundOrder | None:
        """Return what Telnyx knows of an order by its reference; it lists none without."""
        reference = order.provider_ref
        if reference is None:
            return None
        if isinstance(order.command, SendSms):
            text = await self._read(f"messages/{quote(reference, safe='')}")
            return None if text is None else FoundOrder(provider_ref=reference, facts=facts_of_text(text, self._now()))
        call = await self._read(f"calls/{quote(reference, safe='')}")
        if call is None:
            return None
        # A call that is still being dialled is not alive either; only one that is over has an end.
        has_ended = call.get("is_alive") is False and bool(call.get("end_time"))
        return FoundOrder(provider_ref=reference, facts={"closed": self._now()} if has_ended else {})

    def conclude(self, order: Order) -> DeliveryResult | None:
        """Return the outcome that all reports together say."""
        if isinstance(order.command, PlaceCall):
            return call_outcome(order, f"{self._url}/{RECORDINGS}", now=self._account.now())
        return text_outcome(order, now=self._account.now())

    def read_callback(self, callback: Callback) -> Reading | None:
        """Return what a webhook says. Raises `ForgedCallbackError`."""
        return read(callback, self._key, now=self._account.now(), recordings_url=f"{self._url}/{RECORDINGS}")

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:
        """Have Telnyx do what follows from a webhook. Raises `ProviderFailedError` or `NotPlacedError` where it is away."""
        event = read_event(callback)
        match None if event is None else event.state:
            case InboundState() as state if event is not None:
                await self._inbound.follow(event, state)
            case LegState() as state if event is not None and order is not None and isinstance(order.command, PlaceCall):
                await self._orders.follow(event, state, order, order.command)
        return ProviderReply()

    async def reply_with_route(self, callback: Callback, report: InboundCallReport, route: InboundRoute) -> ProviderReply:  # noqa: ARG002
        """Have Telnyx do with an inbound call what was decided."""
        await self._inbound.route(report, route.through(self._settings.agent_number))
        return ProviderReply()

    async def _act_once(self, leg: str, action: str, fields: Mapping[str, Any], name: str) -> bool:
        return await self._act(leg, action, fields, name=name)

    async def find_recording(self, recording_url: str) -> RecordingSource | None:
        """Return the address at which Telnyx has a recording for some minutes: it names one each time that it is asked."""
        if not recording_url.startswith(f"{self._url}/{RECORDINGS}/"):
            return None
        found = await self._read(recording_url.removeprefix(f"{self._url}/"))
        urls = (found or {}).get("download_urls")
        url = urls.get("wav") or urls.get("mp3") if isinstance(urls, dict) else None
        return RecordingSource(url) if isinstance(url, str) else None

    async def test(self) -> str:
        """Read the balance."""
        about = await self._read("balance") or {}
        return f"the account's balance is {about.get('balance')} {about.get('currency')}"

    def _callback(self, command_id: str) -> str:
        if self._account.callback_url is None:
            raise RefusedOrderError("Telnyx must be able to report to us: set LEADCLOCK_PUBLIC_URL", tries_next=True)
        return f"{self._account.callback_url}?{urlencode({COMMAND_ID: command_id})}"

    def _now(self) -> str:
        return str(self._account.now())

    async def _order(
        self, path: str, fields: Mapping[str, Any], *, reference: str, known: tuple[str, ...]
    ) -> Placed | DeliveryResult:
        """Give an order. Raises `RefusedOrderError` where Telnyx refuses it without having done anything."""
        answer = await self._send("POST", path, fields)
        if CLIENT_ERROR <= answer.status < SERVER_ERROR:
            return _refused(answer, known)
        found = _data(answer).get(reference)
        if answer.status >= SERVER_ERROR or not isinstance(found, str) or not found:
            raise ProviderFailedError(f"Telnyx answered {answer.status}")
        return Placed(provider_ref=found)

    async def _dial(self, fields: Mapping[str, Any]) -> bool:
        """Have Telnyx dial a further leg; False where it refuses. A leg of a name is dialled once."""
        return _was_taken(await self._send("POST", "calls", fields), "dial")

    async def _has_acted(self, leg: str, action: str, fields: Mapping[str, Any]) -> bool:
        """Have Telnyx do something by hand: each time it is asked."""
        return await self._act(leg, action, fields, name=None)

    async def _act(self, leg: str, action: str, fields: Mapping[str, Any], *, name: str | None) -> bool:
        """Have Telnyx do something to a leg; False where that is over, or it refuses. A command of a name is done once."""
        named = {} if name is None else {"command_id": name}
        answer = await self._send("POST", f"calls/{quote(leg, safe='')}/actions/{action}", {**fields, **named})
        return _was_taken(answer, action)

    async def _read(self, path: str) -> dict[str, Any] | None:
        """Return an object of the API, or None where there is none. Raises `ProviderFailedError`."""
        answer = await self._send("GET", path, {})
        if answer.status == NOT_FOUND:
            return None
        if answer.status != OK:
            raise ProviderFailedError(f"Telnyx answered {answer.status}: {_error(answer).get('title')}")
        return _data(answer)

    async def _send(self, method: str, path: str, fields: Mapping[str, Any]) -> HttpAnswer:
        content = msgspec.json.encode(fields) if method == "POST" else b""
        headers = {**self._headers, "content-type": "application/json"} if content else self._headers
        return await self._account.http.send(method, f"{self._url}/{path}", headers=headers, content=content)


def _refused(answer: HttpAnswer, known: tuple[str, ...]) -> DeliveryResult:
    error = _error(answer)
    code, meaning = code_of(error), refusal_of(error)
    words = error.get("detail") or error.get("title") or (meaning.says if meaning else "refused")
    detail = f"Telnyx {answer.status} {code}: {words}"
    return result_of_refusal(meaning, code, detail, known=known, is_busy=answer.status == TOO_MANY)


def _was_taken(answer: HttpAnswer, action: str) -> bool:
    """Return whether Telnyx does what it was asked. Raises `ProviderFailedError`."""
    if answer.status >= SERVER_ERROR or answer.status == TOO_MANY:
        raise ProviderFailedError(f"Telnyx answered {answer.status} to {action}")
    if answer.status >= CLIENT_ERROR:
        logger.info("call.action_refused", action=action, status=answer.status, code=code_of(_error(answer)))
    return answer.status < CLIENT_ERROR


def _data(answer: HttpAnswer) -> dict[str, Any]:
    """Return the object of an answer, empty where it has none."""
    found = _object(answer).get("data")
    return found if isinstance(found, dict) else {}


def _error(answer: HttpAnswer) -> Mapping[str, Any]:
    """Return the first error of an answer, empty where it has none."""
    errors = _object(answer).get("errors")
    return errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}


def _object(answer: HttpAnswer) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
