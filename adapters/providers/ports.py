"""What must a provider do? Place and send, say what became of an order, and read the callbacks of its vendor.

A provider is an object that an entry point of the group `leadclock.providers` names. It promises what
`adapters.gateway.ports` says of every provider, and:

* `connect` does no I/O. A connection may be used by many tasks at once.
* Every request of a connection goes through `ProviderAccount.http`, which checks the address and the lease. What speaks
  another protocol gets its connections from `ProviderAccount.sockets`, and checks the lease itself.
* It raises `NotPlacedError` only if the vendor certainly did nothing. `RefusedOrderError` says besides whether another
  provider may do better. Any other error means that nobody knows: the order is not given to another provider.
* A callback is trusted only after its signature was checked; `read_callback` raises `ForgedCallbackError`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from socket import socket
from ssl import SSLContext
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.bounces import MailReport
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.gateway.unsubscribe_links import UnsubscribeLinks
from schemas.commands import BuyerLeg, PlaceCall, SendEmail, SendSms
from schemas.errors import DependencyError, SenderError
from schemas.instant import Instant
from schemas.records import ProviderChannel
from schemas.requests import CarrierMeaning, TextPart

OrderCommand = PlaceCall | SendSms | SendEmail

ResumeKind = Literal["exact", "search", "none"]
"""How surely a provider says what became of an order whose answer was lost.

`exact`   it looks the order up by our own command id: where it knows none, nothing was placed.
`search`  it looks for an order that fits: where it finds none or several, the outcome stays unknown.
`none`    it cannot say.
"""

CallState = Literal["initiated", "ringing", "established"]


class RefusedOrderError(NotPlacedError):
    """The vendor refused an order and did nothing; with `tries_next`, another provider may carry it out."""

    def __init__(self, reason: str, *, tries_next: bool) -> None:
        super().__init__(reason)
        self.tries_next = tries_next


class ProviderFailedError(DependencyError):
    """The vendor answered nothing that says what became of a request: it may have been carried out."""


class ForgedCallbackError(SenderError):
    """The signature of a callback is not the vendor's."""


class HttpAnswer(Struct, frozen=True):
    """What a vendor answered."""

    status: int
    body: bytes


class ProviderHttp(Protocol):
    """Sends requests to a vendor: to public addresses, without redirects, in bounded time, while the lease runs.

    No contract suite: one adapter (`adapters.providers.provider_http.GuardedProviderHttp`), tested against real sockets in
    tests/adapters/providers/test_provider_http.py.
    """

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        """Return the answer to a request, whatever its status.

        Raises `NotPlacedError` where nothing was sent, `ProviderFailedError` where something may have arrived.
        """
        ...


class ProviderSockets(Protocol):
    """Connects to a server of a vendor: at public addresses, in bounded time.

    No contract suite: one adapter (`adapters.providers.provider_sockets.GuardedProviderSockets`), tested with the provider
    `smtp` in tests/adapters/providers/test_smtp_accounts.py.
    """

    @property
    def tls(self) -> SSLContext:
        """Return how certificates are verified."""
        ...

    async def connect(self, host: str, port: int) -> socket:
        """Return a connected socket, which its user closes. Raises `NotPlacedError`."""
        ...


class ProviderAccount(Struct, frozen=True, kw_only=True):
    """A provider configuration, opened: what a connection is made of. `callback_url` is where the vendor may call us.

    `now` is wall time, as the vendor's clock. `unsubscribe` are the links that e-mails have; None without a public address.
    `bounces` are the tokens by which a bounce names its e-mail.
    """

    company_id: int
    configuration_id: int
    channel: ProviderChannel
    settings: Any
    secrets: Mapping[str, str]
    callback_url: str | None
    http: ProviderHttp
    now: Callable[[], Instant]
    sockets: ProviderSockets | None = None
    unsubscribe: UnsubscribeLinks | None = None
    bounces: BounceTokens | None = None


class Placed(Struct, frozen=True, kw_only=True):
    """The vendor took an order; its outcome comes by callback, or is found by `resume`.

    `parts` are the names under which the vendor reports about each part of it, where its reports name nothing else.
    """

    provider_ref: str
    parts: Sequence[str] = ()


class Order(Struct, frozen=True, kw_only=True):
    """An order as we know it: `facts` are what callbacks and answers of the vendor said, the newest of each name."""

    command: OrderCommand
    asked_at: Instant
    provider_ref: str | None = None
    facts: Mapping[str, str] = {}
    known_refs: frozenset[str] = frozenset()
    """References of other orders of this configuration since then: none of them is this one."""


class FoundOrder(Struct, frozen=True, kw_only=True):
    """What the vendor knows of an order: its reference, and facts as its callbacks would say them."""

    provider_ref: str
    facts: Mapping[str, str]


class Callback(Struct, frozen=True, kw_only=True):
    """A request of a vendor. `url` is the one that we gave it, with its query; `form` is a decoded form body."""

    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    body: bytes


class ProviderReply(Struct, frozen=True, kw_only=True):
    """What a vendor is answered."""

    body: bytes = b""
    content_type: str = "text/plain"


class OrderReport(Struct, frozen=True, kw_only=True):
    """A callback about an order of ours: `facts` are added to those of the order.

    `event_id` is the vendor's own name of the event, the same in each repetition. `state` is how far a call is.
    """

    command_id: str
    event_id: str
    provider_ref: str
    facts: Mapping[str, str]
    state: CallState | None = None
    buyer_id: int | None = None
    """Of several buyers that ring at once, the one that has answered."""
    check_after_seconds: float | None = None
    """When the vendor is to be asked, if nothing else is reported until then."""


class ReceiptReport(Struct, frozen=True):
    """A receipt that names a part of an order by one of `Placed.parts` alone; `state` and `error` are the vendor's words."""

    reference: str
    state: str
    error: str = ""

    def facts(self, part: int) -> Mapping[str, str]:
        """Return what it adds to the facts of the order: `<number of the part>.<state>`, the first part being 1."""
        return {f"{part}.{self.state}": self.error}


CARRIER_WORDS: Mapping[str, CarrierMeaning] = {
    **dict.fromkeys(("STOP", "OPT_OUT"), "opt_out"),
    **dict.fromkeys(("START", "OPT_IN"), "opt_in"),
    "HELP": "help",
}
"""What carriers that act on a text by themselves took it for: `OptOutType` of Twilio, `autoresponse_type` of Telnyx."""


class TextReport(Struct, frozen=True, kw_only=True):
    """A text of a person to one of the company's numbers; `carrier_meaning`: the carrier has acted on it and answered.

    `part`: it is one part of a longer text, which the contact joins. Twilio and Telnyx join the parts themselves.
    """

    event_id: str
    from_number: str
    to_number: str
    body: str
    carrier_meaning: CarrierMeaning | None = None
    part: TextPart | None = None


WITHHELD = "+0"
"""Stands for the number of a caller without one where a carrier is given something to remember the call by."""


class InboundCallReport(Struct, frozen=True, kw_only=True):
    """A call of a person to one of the company's numbers; `call_ref` names it in every report.

    `from_number` is what the carrier says, which may be a word or nothing. `asks` says that the vendor waits for what to do
    with the call.
    """

    call_ref: str
    event_id: str
    from_number: str
    to_number: str
    state: Literal["ringing", "connected", "ended"]
    asks: bool = False
    asked_before: int = 0
    """How often it was sent back to ask again."""

    asks_again: bool = True
    """Whether the vendor can ask again; else its callback is answered once the route is decided."""

    report: Mapping[str, Any] = {}
    """Fields of `CallReceived` that are known, such as `talk_seconds`."""

    @property
    def number_to_show(self) -> str:
        """Return the number from which a buyer or agent is rung: the caller's, else the one that they called."""
        return self.to_number if self.from_number == WITHHELD else self.from_number


class MailReports(Struct, frozen=True):
    """What became of e-mails of this company; a report without an outcome changes nothing."""

    reports: Sequence[MailReport]


Reading = OrderReport | TextReport | InboundCallReport | MailReports


class InboundRoute(Struct, frozen=True, kw_only=True):
    """What is to be done with an inbound call; `action` is one of those of the API, or `wait`: ask again.

    With `agent_id` it is connected to that agent, whose telephone is the `buyer_number`. `buyer_legs` are several buyers to
    ring at once, for a report that said `rings_several`; then there is no `buyer_id`.
    """

    action: str
    buyer_id: int | None = None
    buyer_number: str | None = None
    buyer_timeout_seconds: int | None = None
    buyer_dtmf_tones: str | None = None
    message: str | None = None
    agent_id: int | None = None
    buyer_legs: tuple[BuyerLeg, ...] = ()

    def through(self, agent_number: str | None) -> "InboundRoute":
        """Return the route by an account whose `agent_number` reaches agents without a telephone; else it is a voicemail."""
        if self.agent_id is None or self.buyer_number is not None:
            return self
        if agent_number is None:
            return replace(self, action="voicemail", agent_id=None)
        return replace(self, buyer_number=agent_number)


class Connection(Protocol):
    """One account with a vendor. Contract: `adapters.providers.testing.ProviderContract`."""

    async def place(self, command: PlaceCall) -> Placed | DeliveryResult:
        """Ask the vendor to call, once."""
        ...

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:
        """Ask the vendor to send, once."""
        ...

    async def press(self, provider_ref: str, digits: str) -> bool:
        """Press keys on a call in progress; False where that is over, or cannot be done."""
        ...

    async def hang_up(self, provider_ref: str) -> bool:
        """End a call; False where it has ended."""
        ...

    async def cancel(self, provider_ref: str) -> bool:
        """End a call that nobody has answered; False where it was answered, has ended, or the vendor cannot tell."""
        ...

    async def find(self, order: Order) -> FoundOrder | None:
        """Return what the vendor knows of an order. Raises `NotPlacedError` or `ProviderFailedError` where it is away."""
        ...

    def conclude(self, order: Order) -> DeliveryResult | None:
        """Return the outcome that the facts of an order say, or None while they say none."""
        ...

    def read_callback(self, callback: Callback) -> Reading | None:
        """Return what a callback says; None for what is of no use. Raises `ForgedCallbackError`."""
        ...

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:
        """Return the answer to a callback that was taken: instructions where the vendor asks for some.

        A vendor that takes instructions as requests is sent them here; each must do no harm when its callback comes again.
        Raises `NotPlacedError` or `ProviderFailedError` where the vendor is away: then the callback is not confirmed.
        """
        ...

    async def reply_with_route(self, callback: Callback, report: InboundCallReport, route: InboundRoute) -> ProviderReply:
        """Return the instructions for an inbound call."""
        ...

    async def test(self) -> str:
        """Make a harmless request that needs the account's secrets; return what the vendor says about the account."""
        ...


class StreamedEvent(Struct, frozen=True, kw_only=True):
    """An event that was listened for, as the signed callback that it becomes; those of one `key` in their order."""

    key: str
    callback: Callback


@runtime_checkable
class EventSource(Protocol):
    """A `Connection` whose vendor sends nothing to us: a gateway listens, and hands each event to the callback URL.

    No contract suite: one adapter (`adapters.providers.asterisk`), tested against a fake of Asterisk in
    tests/adapters/providers/test_asterisk.py; what it yields are callbacks, which `ProviderContract` tests.
    """

    def events(self) -> AsyncGenerator[StreamedEvent, None]:
        """Yield events until the vendor closes the connection. Raises `NotPlacedError` or `ProviderFailedError`."""
        ...


@runtime_checkable
class FetchesKeys(Protocol):
    """A `Connection` whose vendor publishes the key that it signs with: it is fetched before a callback is read.

    No contract suite: one adapter (`adapters.providers.mail_vendors.ses`), tested with a key of its own in
    tests/adapters/providers/test_mail_vendors.py.
    """

    async def fetch_keys(self, callback: Callback) -> None:
        """Fetch what reading a callback needs, unless it is there.

        Raises `ForgedCallbackError` for a key of another host, and `NotPlacedError` or `ProviderFailedError` where the
        vendor is away.
        """
        ...


class RecordingSource(Struct, frozen=True):
    """Where the file of a recording is now, and with which headers it is fetched."""

    url: str
    headers: Mapping[str, str] = {}


@runtime_checkable
class KeepsRecordings(Protocol):
    """A connection whose vendor records calls, and keeps each recording until it is fetched.

    No contract suite: what differs between its adapters is the vendor, so the same tests run on a fake of each in
    tests/adapters/http/test_recordings.py.
    """

    async def find_recording(self, recording_url: str) -> RecordingSource | None:
        """Return where a recording is fetched that this account has reported; None for any other URL.

        So the secrets of the account go to nobody else. Raises `NotPlacedError` or `ProviderFailedError`.
        """
        ...


TakeReport = Callable[[ReceiptReport | TextReport], Awaitable[None]]
"""Stores what a vendor reports; returns once that is durable. Raises `DependencyError` where it is not: report it again."""


@runtime_checkable
class Listens(Protocol):
    """A connection whose vendor reports over a session that we keep open, and sends over it.

    No contract suite: one adapter (`adapters.providers.smpp.provider.SmppConnection`), tested against a server of its
    protocol in tests/adapters/providers/test_smpp.py.
    """

    async def listen(self, take: TakeReport) -> None:
        """Keep the session open until cancelled, and open it again when it ends; report what it brings."""
        ...


class Provider(Protocol):
    """A kind of provider. `settings` is a struct that forbids unknown fields; every name of `secrets` must be set.

    `presses_keys`: it can press keys on a call in progress, on one that it placed and on one of a person.
    """

    name: str
    channels: frozenset[str]
    resume: ResumeKind
    presses_keys: bool

    @property
    def settings(self) -> type[Struct]:
        """Return the struct of an account's settings."""
        ...

    @property
    def secrets(self) -> Sequence[str]:
        """Return the names of an account's secrets."""
        ...

    def connect(self, account: ProviderAccount) -> Connection:
        """Return a connection. Raises `ValueError` where settings contradict each other."""
        ...
