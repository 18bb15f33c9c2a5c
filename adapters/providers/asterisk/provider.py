"""What does an Asterisk of the company's own have to do for us? Place a call by ARI, and report what becomes of it.

A call is one channel to the person, named by its command: Asterisk refuses a second one of that name, and a restarted
gateway finds it by that name. When the person answers, each buyer gets a channel as well; the first to answer is put into a
bridge with the person (`adapters.providers.asterisk.following`).

Asterisk sends its events to one who listens. So a gateway does (`adapters.providers.asterisk.listening`), and hands each to
the API as a callback. A leg that is over is looked up in Asterisk's own database (`adapters.providers.asterisk.finding`).
"""

from collections.abc import AsyncGenerator

import structlog

from adapters.gateway.ports import DeliveryResult
from adapters.providers.asterisk.ari import (
    CLIENT_ERROR,
    CONFLICT,
    FORBIDDEN,
    SERVER_ERROR,
    UNAUTHORIZED,
    Ari,
    is_unallocated,
    object_of,
    said,
)
from adapters.providers.asterisk.events import LEAD, ends_person, event_key, read, read_event
from adapters.providers.asterisk.finding import EndedLeg, ended_leg, has_restarted, place_of, remembered
from adapters.providers.asterisk.following import OrderCalls
from adapters.providers.asterisk.inbound import PersonCalls
from adapters.providers.asterisk.legs import COMMAND, InboundThing, MessageNames, OrderLeg, read_name
from adapters.providers.asterisk.listening import Listener
from adapters.providers.asterisk.outcomes import call_outcome
from adapters.providers.asterisk.settings import AsteriskSettings
from adapters.providers.error_meanings import number_to_use
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
    StreamedEvent,
)
from schemas.commands import PlaceCall, SendEmail, SendSms

CANCELED = "31"
UNANSWERED_STATES = frozenset({"Down", "Rsrved", "OffHook", "Dialing", "Ring", "Ringing"})
"""States of a channel that is not up (Asterisk 22, `channelstate.h`)."""
"""The Q.850 cause of a call that we end by hand."""

logger = structlog.get_logger(__name__)


class AsteriskProvider:
    """The provider `asterisk`."""

    name = "asterisk"
    channels = frozenset({"call"})
    settings = AsteriskSettings
    secrets = ("password",)
    resume: ResumeKind = "exact"
    presses_keys = True

    def connect(self, account: ProviderAccount) -> Connection:
        """Return a connection. Raises `ValueError` where settings contradict each other."""
        return AsteriskConnection(account)


class AsteriskConnection:
    """A `Connection`, and an `EventSource`."""

    def __init__(self, account: ProviderAccount) -> None:
        settings: AsteriskSettings = account.settings
        settings.check()
        self._account = account
        self._settings = settings
        self._ari = Ari(account.http, settings.url, settings.user, account.secrets["password"])
        self._key = event_key(account.secrets["password"])
        self._orders = OrderCalls(self._ari, settings)
        self._messages = MessageNames(self._key)
        self._inbound = PersonCalls(self._ari, settings, self._messages)

    async def place(self, command: PlaceCall) -> Placed | DeliveryResult:
        """Ask for a channel to the person; what follows is done once it is answered."""
        self._check(command)
        lead = OrderLeg(command.command_id)
        body = {
            **self._settings.originated(
                command.to,
                caller_id=number_to_use(command.from_number, self._settings.from_number),
                seconds=command.ring_timeout_seconds,
                as_whom=LEAD,
            ),
            "variables": remembered(self._settings.context, lead.name, command.decided_at),
        }
        answer = await self._ari.send("POST", "channels", lead.name, body=body)
        if answer.status != CONFLICT:  # it was placed before: Asterisk has this channel
            _check_placed(answer, lead)
        return Placed(provider_ref=lead.name)

    def _check(self, command: PlaceCall) -> None:
        """Raise `RefusedOrderError` for what could not be done as it was ordered."""
        if self._account.callback_url is None:
            raise RefusedOrderError("its events must be reported to us: set LEADCLOCK_PUBLIC_URL", tries_next=True)
        if COMMAND.fullmatch(command.command_id) is None:
            raise RefusedOrderError("no channel can be named by this command's id", tries_next=True)
        if command.stream is not None:
            raise RefusedOrderError("it has no media streams: leave out stream of the step's connect", tries_next=True)
        buyers = self._orders.buyers(command)
        if not buyers:
            raise RefusedOrderError("nobody would talk: let the step connect a buyer, or set agent_number", tries_next=True)
        if command.whisper is not None and self._settings.whisper_sound is None:
            raise RefusedOrderError(
                "it speaks no texts: set whisper_sound, or leave out whisper of the step", tries_next=True
            )
        if command.machine == "voicemail_drop" and self._settings.drop_sound is None:
            raise RefusedOrderError("it speaks no texts: set drop_sound, or machine of the step to hangup", tries_next=True)
        if command.machine == "hangup" and not self._settings.detects_machines:
            raise RefusedOrderError(
                "it does not listen for machines: set detects_machines, or machine of the step to continue", tries_next=True
            )
        for buyer in buyers:
            self._settings.dial_string(buyer.number)

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:  # noqa: ARG002
        """Refuse: it carries calls."""
        raise RefusedOrderError("it carries calls only", tries_next=True)

    async def press(self, provider_ref: str, digits: str) -> bool:
        """Press keys on the lead's leg."""
        return await self._ari.act("POST", "channels", provider_ref, "dtmf", dtmf=digits)

    async def hang_up(self, provider_ref: str) -> bool:
        """End a call; the buyer's leg ends with the lead's."""
        return await self._ari.act("DELETE", "channels", provider_ref, reason_code=CANCELED)

    async def cancel(self, provider_ref: str) -> bool:
        """End a call whose channel is not up yet."""
        channel = await self._ari.read("channels", provider_ref)
        is_unanswered = isinstance(channel, dict) and channel.get("state") in UNANSWERED_STATES
        return is_unanswered and await self.hang_up(provider_ref)

    async def find(self, order: Order) -> FoundOrder | None:
        """Return what Asterisk knows of an order: its channel, or how that ended."""
        command = order.command
        if not isinstance(command, PlaceCall) or COMMAND.fullmatch(command.command_id) is None:
            return None
        lead = OrderLeg(command.command_id)
        channel = await self._ari.read("channels", lead.name)
        if channel is not None:
            return FoundOrder(provider_ref=lead.name, facts=self._facts_of(channel))
        ended = await self._ended(lead, command)
        if ended is None:
            lost = {"lost": str(self._account.now())}
            return FoundOrder(provider_ref=lead.name, facts=lost) if await self._may_be_lost(order) else None
        facts = {"ended": ended.at, "cause": ended.cause, **({"was_up": "1"} if ended.was_up else {})}
        return FoundOrder(provider_ref=lead.name, facts={**await self._ended_buyers(command, ended), **facts, **order.facts})

    def _facts_of(self, channel: object) -> dict[str, str]:
        """Return how far a channel is; an event tells the rest."""
        state = channel.get("state") if isinstance(channel, dict) else None
        return {"ringing": str(self._account.now())} if state == "Ringing" else {}

    async def _ended(self, leg: OrderLeg, command: PlaceCall) -> EndedLeg | None:
        place = place_of(leg.name, command.decided_at)
        return await ended_leg(self._ari, self._settings.app, self._settings.context, place)

    async def _ended_buyers(self, command: PlaceCall, lead: EndedLeg) -> dict[str, str]:
        """Return which buyers' legs had been answered, where the lead's had."""
        facts: dict[str, str] = {}
        for buyer in self._orders.buyers(command) if lead.was_up else ():
            leg = await self._ended(OrderLeg(command.command_id, buyer.buyer_id), command)
            if leg is not None and leg.was_up:
                facts[f"b{buyer.buyer_id}.was_up"] = "1"
        return facts

    async def _may_be_lost(self, order: Order) -> bool:
        """Return whether Asterisk may have forgotten the order: we know that it took it, or it has restarted since."""
        return order.provider_ref is not None or await has_restarted(self._ari, order.asked_at)

    def conclude(self, order: Order) -> DeliveryResult | None:
        """Return the outcome that all events together say."""
        recording = self._ari.recording_url(OrderLeg(order.command.command_id).name)
        return call_outcome(order, recording, now=self._account.now())

    def read_callback(self, callback: Callback) -> Reading | None:
        """Return what an event says. Raises `ForgedCallbackError`."""
        return read(callback, self._key, self._message)

    def _message(self, name: str) -> tuple[InboundThing, str] | None:
        """Return whose message a recording is, and where; None for another one."""
        thing = self._messages.read(name)
        return None if thing is None else (thing, self._ari.recording_url(name))

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:
        """Have Asterisk do what follows from an event. Raises `ProviderFailedError` or `NotPlacedError` where it is away."""
        turned = read_event(callback)
        if turned is None:
            return ProviderReply()
        event = turned.event
        match read_name(event.about):
            case OrderLeg() as leg if order is not None and isinstance(order.command, PlaceCall):
                await self._orders.follow(event, leg, order, order.command)
            case InboundThing() as thing:
                await self._inbound.follow(event, thing)
            case None if (message := self._messages.read(event.about)) is not None:
                await self._inbound.follow(event, message)
            case None if ends_person(event):
                await self._inbound.person_ended(event.about)
        return ProviderReply()

    async def reply_with_route(self, callback: Callback, report: InboundCallReport, route: InboundRoute) -> ProviderReply:  # noqa: ARG002
        """Have Asterisk do with an inbound call what was decided."""
        await self._inbound.route(report, route.through(self._settings.agent_number))
        return ProviderReply()

    async def test(self) -> str:
        """Read Asterisk's version, and have its dialplan look for a row."""
        about = await self._ari.read("asterisk", "info", only="system") or {}
        await ended_leg(self._ari, self._settings.app, self._settings.context, "test")
        return f"Asterisk {(about.get('system') or {}).get('version')}, with the dialplan of {self._settings.context}"

    async def find_recording(self, recording_url: str) -> RecordingSource | None:
        """Return where a recording of this Asterisk is: as it was reported."""
        is_own = recording_url.startswith(f"{self._ari.url}/recordings/stored/")
        return RecordingSource(recording_url, {"authorization": self._ari.authorization}) if is_own else None

    def events(self) -> AsyncGenerator[StreamedEvent, None]:
        """Yield Asterisk's events, for as long as it is listened to. Raises `NotPlacedError` or `ProviderFailedError`."""
        return Listener(self._account, self._ari, self._settings, self._key).events()


def _check_placed(answer: HttpAnswer, lead: OrderLeg) -> None:
    """Raise `RefusedOrderError` where Asterisk made no channel, `ProviderFailedError` where nobody knows."""
    words = f"Asterisk {answer.status}: {said(answer)}"
    if is_unallocated(answer):
        raise RefusedOrderError(f"{words}: it knows no such endpoint, or nobody is registered there", tries_next=True)
    if CLIENT_ERROR <= answer.status < SERVER_ERROR:
        raise RefusedOrderError(words, tries_next=answer.status in {UNAUTHORIZED, FORBIDDEN})
    found = object_of(answer)
    if answer.status >= SERVER_ERROR or not isinstance(found, dict) or found.get("id") != lead.name:
        raise ProviderFailedError(f"Asterisk answered {answer.status}")
