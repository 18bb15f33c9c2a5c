"""How does a company text by the account that a carrier gave it for SMPP? Over one session of each gateway, kept open.

The session is bound to send and receive. So receipts and texts of people come to any gateway that is bound, and the orders
are found there by the carrier's ids of their parts. A text is given once: again only where the carrier said that it did not
take it, because there were too many at once. After a lost answer nobody knows, and no list of the carrier could say.
"""

import asyncio
from typing import Annotated, Literal

import smpp34
import structlog
from msgspec import Meta, Struct

from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.providers.error_meanings import number_to_use, result_of_refusal
from adapters.providers.message_connection import MessageConnection
from adapters.providers.ports import (
    FoundOrder,
    Order,
    Placed,
    ProviderAccount,
    ProviderFailedError,
    ProviderSockets,
    ReceiptReport,
    RefusedOrderError,
    ResumeKind,
    TakeReport,
)
from adapters.providers.provider_sockets import HostName, sockets_of
from adapters.providers.smpp import pdus
from adapters.providers.smpp.errors import ORDER_ERRORS, STATE_NUMBERS, THROTTLED, UNCLEAR
from adapters.providers.smpp.outcomes import text_outcome
from adapters.providers.smpp.receipts import HAS_HEADER, INTERNATIONAL, ReceiptIds, name_of_answer, read_delivery
from adapters.providers.smpp.session import CarrierAnswer, Login, SmppSession, bound
from adapters.providers.smpp.texts import EncodedText, encoded, in_parts, is_long
from adapters.retry import BACKOFF_MAX_SECONDS, Backoff
from schemas.commands import SendEmail, SendSms
from schemas.errors import DependencyError

THROTTLED_DELAYS_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""When a text is given again that was too many at once. Carriers count by the second; a queue drains within some."""

BOUND_WAIT_SECONDS = 10.0
"""For a session that is about to be bound: after a start of the gateway, or an interruption of the connection."""

RECEIPT_WANTED = 0x01

E164_NPI = 1
SHORT_CODE_TON, NAME_TON = 3, 5
SHORT_CODE_DIGITS_MAX = 8

Printable = Meta(pattern=r"^[!-~]+$", description="printable ASCII without blanks")
OptOutCode = Annotated[str, Meta(pattern=r"^(0x[0-9A-Fa-f]{1,8}|[0-9A-Za-z]{1,8})$", description="0x45E, or 1104")]
OPT_OUT_CODES_MAX = 20
"""A carrier has one or two."""

Sender = Annotated[
    str, Meta(pattern=r"^(\+[1-9][0-9]{6,14}|[0-9]{3,8}|[A-Za-z0-9][A-Za-z0-9 ]{0,10})$", description="a number or a name")
]

logger = structlog.get_logger(__name__)


class SmppSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account, as the carrier's letter has them. `security` `none` is for a private line or a tunnel.

    `window` is how many requests of one session may wait for an answer. `receipt_ids`: how receipts write the id of a text
    that its answer wrote the other way round. `opt_out_codes`: the carrier's own codes for a person who has opted out there,
    `0x...` a status of its answer, any other an error of a receipt.
    """

    host: HostName
    port: Annotated[int, Meta(ge=1, le=65_535)]
    system_id: Annotated[str, Meta(min_length=1, max_length=15), Printable]
    security: Literal["tls", "none"] = "tls"
    system_type: Annotated[str, Meta(pattern=r"^[!-~]{0,12}$", description="at most 12 characters of ASCII")] = ""
    from_number: Sender | None = None
    source_ton: Annotated[int, Meta(ge=0, le=6)] | None = None
    source_npi: Annotated[int, Meta(ge=0, le=18)] | None = None
    window: Annotated[int, Meta(ge=1, le=100)] = 10
    long_messages: Literal["parts", "payload"] = "parts"
    receipt_ids: ReceiptIds = "same"
    opt_out_codes: Annotated[tuple[OptOutCode, ...], Meta(max_length=OPT_OUT_CODES_MAX)] = ()


class SmppProvider:
    """The provider `smpp`."""

    name = "smpp"
    channels = frozenset({"sms"})
    settings: type[Struct] = SmppSettings
    secrets = ("password",)
    resume: ResumeKind = "none"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> "SmppConnection":
        """Return a connection. Raises `ValueError`."""
        return SmppConnection(account, sockets_of(account))


class SmppConnection(MessageConnection):
    """One account with a carrier. It sends while it `listen`s."""

    name = "smpp"

    def __init__(self, account: ProviderAccount, sockets: ProviderSockets) -> None:
        settings: SmppSettings = account.settings
        self._account = account
        self._settings = settings
        self._sockets = sockets
        self._session: SmppSession | None = None
        self._bound = asyncio.Event()
        self._absence = "this process keeps no session with the carrier"
        self._throttled_until = 0.0
        self._login = Login(
            host=settings.host,
            port=settings.port,
            has_tls=settings.security == "tls",
            system_id=settings.system_id,
            password=account.secrets["password"],
            system_type=settings.system_type,
            window=settings.window,
        )

    async def listen(self, take: TakeReport) -> None:
        """Keep a session bound until cancelled; see the port."""

        async def deliver(pdu: smpp34.DeliverSm) -> None:
            report = read_delivery(pdu, ids=self._settings.receipt_ids, now=self._account.now())
            if report is not None:
                await take(report)

        backoff, loop = Backoff(), asyncio.get_running_loop()
        about = {"configuration_id": self._account.configuration_id, "company_id": self._account.company_id}
        while True:
            bound_at = loop.time()
            try:
                async with bound(self._sockets, self._login, deliver) as session:
                    bound_at = loop.time()
                    logger.info("session.bound", **about)
                    await self._serve(session)
                    self._absence = session.reason
            except NotPlacedError as error:
                self._absence = str(error)
            if loop.time() - bound_at > BACKOFF_MAX_SECONDS:  # one that is bound and ended at once is no success
                backoff.reset()
            seconds = backoff.next_seconds()
            logger.warning("session.ended", reason=self._absence, retry_seconds=seconds, **about)
            await asyncio.sleep(seconds)

    async def _serve(self, session: SmppSession) -> None:
        """Let orders use a session until it ends."""
        self._session = session
        self._bound.set()
        try:
            await session.ended.wait()
        finally:
            self._session = None
            self._bound.clear()

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:
        """Send a text, once."""
        if not isinstance(command, SendSms):
            raise RefusedOrderError("it sends no e-mails", tries_next=True)
        source = number_to_use(command.from_number, self._settings.from_number)
        try:
            texts = self._texts(command)
        except ValueError as error:
            raise RefusedOrderError(str(error), tries_next=False) from error
        ids: list[str] = []
        for text in texts:
            answer = await self._give(self._submit(command, source, text), has_begun=bool(ids))
            if answer.status != pdus.OK:
                if ids:
                    return _incomplete(ids, len(texts), answer.status)
                return self._refused(answer.status)
            ids.append(_message_id(answer))
        names = [name_of_answer(message_id, self._settings.receipt_ids) for message_id in ids]
        return Placed(provider_ref=" ".join(ids), parts=names)

    async def _give(self, body: bytes, *, has_begun: bool) -> CarrierAnswer:
        """Have the carrier take one part; again where it says that it did not, because there are too many.

        Raises `NotPlacedError` where nothing of the text was placed, `ProviderFailedError` where nobody knows.
        """
        for seconds in (*THROTTLED_DELAYS_SECONDS, None):
            await self._wait_for_throttling()
            try:
                session = await self._bound_session()
                answer = await session.request(pdus.SUBMIT_SM, body, sends=True)
            except NotPlacedError as error:
                if has_begun:
                    raise ProviderFailedError(f"only a part of the text was taken: {error}") from error
                raise
            if answer.status in UNCLEAR:
                raise ProviderFailedError(f"the carrier answered with status 0x{answer.status:02X}")
            if answer.status not in THROTTLED or seconds is None:
                break
            self._throttled_until = max(self._throttled_until, asyncio.get_running_loop().time() + seconds)
        return answer

    async def _wait_for_throttling(self) -> None:
        """Wait while the carrier wants fewer texts: after one that is too many, all of the account wait."""
        seconds = self._throttled_until - asyncio.get_running_loop().time()
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _bound_session(self) -> SmppSession:
        """Return the session, waiting a while for it. Raises `NotPlacedError`."""
        try:
            async with asyncio.timeout(BOUND_WAIT_SECONDS):
                await self._bound.wait()
        except TimeoutError as error:
            raise NotPlacedError(f"not bound: {self._absence}") from error
        if self._session is None:
            raise NotPlacedError(f"not bound: {self._absence}")
        return self._session

    def _texts(self, command: SendSms) -> list[EncodedText]:
        if self._settings.long_messages == "payload":
            return [encoded(command.body)]
        return list(in_parts(command.body, command.command_id))

    def _submit(self, command: SendSms, source: str, text: EncodedText) -> bytes:
        """Return the body of a request to send."""
        ton, npi = self._kind_of(source)
        in_payload = self._settings.long_messages == "payload" and is_long(command.body)
        pdu = smpp34.SubmitSm(
            source.lstrip("+"),
            command.to.lstrip("+"),
            b"" if in_payload else text.octets,
            source_addr_ton=ton,
            source_addr_npi=npi,
            dest_addr_ton=INTERNATIONAL,
            dest_addr_npi=E164_NPI,
            esm_class=HAS_HEADER if text.has_header else 0,
            registered_delivery=RECEIPT_WANTED,
            data_coding=text.data_coding,
            tlvs=[smpp34.Tlv(pdus.MESSAGE_PAYLOAD, text.octets)] if in_payload else [],
        )
        return pdu.encode()[pdus.HEADER.size :]

    def _kind_of(self, source: str) -> tuple[int, int]:
        """Return type of number and numbering plan of a sender."""
        if source.startswith("+"):
            ton, npi = INTERNATIONAL, E164_NPI
        elif source.isdigit() and len(source) <= SHORT_CODE_DIGITS_MAX:
            ton, npi = SHORT_CODE_TON, 0
        else:
            ton, npi = NAME_TON, 0
        settings = self._settings
        return (
            ton if settings.source_ton is None else settings.source_ton,
            npi if settings.source_npi is None else settings.source_npi,
        )

    async def find(self, order: Order) -> FoundOrder | None:
        """Ask for the state of each part of a text, where its ids are known: `query_sm`, which not every carrier has."""
        if order.provider_ref is None or not isinstance(order.command, SendSms):
            return None
        ids = order.provider_ref.split()
        source = number_to_use(order.command.from_number, self._settings.from_number)
        facts: dict[str, str] = {}
        session = await self._bound_session()
        for part, message_id in enumerate(ids, start=1):
            body = pdus.query_sm(message_id, *self._kind_of(source), source.lstrip("+"))
            answer = await session.request(pdus.QUERY_SM, body)
            if answer.status == pdus.OK:
                state, error = _state(answer)
                facts |= ReceiptReport(message_id, STATE_NUMBERS.get(state, str(state)), str(error)).facts(part)
        return FoundOrder(provider_ref=order.provider_ref, facts=facts)

    def conclude(self, order: Order) -> DeliveryResult | None:
        """Return the outcome that all receipts together say."""
        return text_outcome(order, now=self._account.now(), opt_out_codes=frozenset(self._settings.opt_out_codes))

    def _refused(self, status: int) -> DeliveryResult:
        """Return what a refusal means: by the carrier's own codes first."""
        if any(code.startswith("0x") and int(code, 16) == status for code in self._settings.opt_out_codes):
            return DeliveryResult(outcome="opted_out", rang=False, detail=f"SMPP 0x{status:02X}: opted out at the carrier")
        return _refused(status)

    async def test(self) -> str:
        """Log in beside the sessions of the gateways, ask whether the carrier is there, and take nothing."""

        async def take_nothing(_: smpp34.DeliverSm) -> None:
            raise DependencyError("a test takes no deliveries")

        async with bound(self._sockets, self._login, take_nothing) as session:
            answer = await session.request(pdus.ENQUIRE_LINK, b"")
        tls = "by TLS" if self._login.has_tls else "without TLS"
        return f"{self._login.host}:{self._login.port} takes the login of {self._login.system_id}, {tls} ({answer.status})"


def _message_id(answer: CarrierAnswer) -> str:
    """Return the carrier's id of a text. Raises `ProviderFailedError` where the answer has none that can be used."""
    found = pdus.first_string(answer.body)
    if not found or found.split() != [found]:
        raise ProviderFailedError("the carrier took the text and gave it no id")
    return found


def _state(answer: CarrierAnswer) -> tuple[int, int]:
    try:
        return pdus.state_of_query(answer.body)
    except pdus.BrokenPduError as error:
        raise ProviderFailedError(str(error)) from error


def _refused(status: int) -> DeliveryResult:
    meaning = ORDER_ERRORS.get(status)
    detail = f"SMPP 0x{status:02X}: {meaning.says if meaning else 'refused'}"
    return result_of_refusal(meaning, status, detail, known=("invalid_number",), is_busy=False)


def _incomplete(ids: list[str], parts: int, status: int) -> DeliveryResult:
    """Return what became of a text whose later part is refused: no other account sends it, as its beginning may arrive."""
    detail = f"SMPP 0x{status:02X}: the carrier took {len(ids)} of {parts} parts"
    return DeliveryResult(outcome="undelivered", provider_ref=" ".join(ids), rang=False, detail=detail)
