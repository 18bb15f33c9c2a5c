"""Does an account of a carrier's SMPP send each text once, and is each receipt, refusal and lost answer what it means?"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.leases import Lease, under
from adapters.gateway.ports import DeliveryResult, LeaseLostError, NotPlacedError
from adapters.providers.ports import (
    Callback,
    ForgedCallbackError,
    FoundOrder,
    HttpAnswer,
    Listens,
    Order,
    Placed,
    Provider,
    ProviderAccount,
    ProviderFailedError,
    ReceiptReport,
    RefusedOrderError,
    TextReport,
)
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.registry import read_settings, settings_faults
from adapters.providers.smpp import PROVIDER
from adapters.providers.smpp import provider as smpp_provider
from adapters.providers.smpp import session as smpp_session
from adapters.providers.smpp.errors import ORDER_ERRORS, RECEIPT_STATES, STATE_NUMBERS, THROTTLED, UNCLEAR
from adapters.providers.smpp.provider import SmppConnection
from adapters.providers.smpp.texts import in_parts
from adapters.providers.testing import ProviderContract, ScriptedHttp, call_command, sms_command
from engine.contact.schedule.sms_parts import segments
from engine.contact.schedule.text_codings import decode_joined, decode_text
from schemas.commands import SendSms
from schemas.errors import DependencyError
from schemas.instant import MINUTE
from schemas.outcomes import OUTCOMES
from tests.adapters.gateway.world import StillClock, command_of
from tests.adapters.providers.mail_host import trusting
from tests.adapters.providers.smpp_server import DROPS, PASSWORD, SYSTEM_ID, CarrierSession, SmppServer
from tests.pace import bound

WAIT_SECONDS = bound(30.0)
LONG = "Long enough for two parts. " * 8
WIDE = "Привет 😀 " * 20


def account(
    port: int,
    *,
    password: str = PASSWORD,
    tls: ssl.SSLContext | None = None,
    allowed: tuple[str, ...] = ("127.0.0.1",),
    **settings: Any,
) -> SmppConnection:
    given = {"host": "localhost", "port": port, "system_id": SYSTEM_ID, "security": "none", **settings}
    return PROVIDER.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel="sms",
            settings=read_settings(PROVIDER, given),
            secrets={"password": password},
            callback_url=None,
            http=ScriptedHttp(),
            now=wall_now,
            sockets=GuardedProviderSockets(allowed=networks(allowed), tls=tls or trusting()),
        )
    )


class Listening:
    """A connection that listens, and what it has reported; while `fails`, nothing can be stored."""

    def __init__(self, connection: SmppConnection) -> None:
        self.connection = connection
        self.reports: list[ReceiptReport | TextReport] = []
        self.fails = False

    async def take(self, report: ReceiptReport | TextReport) -> None:
        if self.fails:
            raise DependencyError("the database is away")
        self.reports.append(report)

    async def send(self, **fields: Any) -> Placed | DeliveryResult:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.connection.send(command(**fields))


def command(**fields: Any) -> SendSms:
    found: SendSms = command_of("sms", from_number="+12125550199", **fields)
    return found


@asynccontextmanager
async def listening(connection: SmppConnection) -> AsyncIterator[Listening]:
    found = Listening(connection)
    task = asyncio.create_task(connection.listen(found.take))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[SmppServer]:
    async with SmppServer() as served:
        yield served


@pytest_asyncio.fixture
async def line(server: SmppServer) -> AsyncIterator[Listening]:
    async with listening(account(server.port)) as found:
        yield found


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling without the waits of production."""
    monkeypatch.setattr(smpp_provider, "THROTTLED_DELAYS_SECONDS", (0.01, 0.02, 0.04, 0.08))


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_so():
            await asyncio.sleep(0.01)


class TestContract(ProviderContract):
    """The suite of every provider, the scripted answers given by the server over a session."""

    name = "smpp"
    settings: Mapping[str, Any] = {"host": "localhost", "port": 2775, "system_id": SYSTEM_ID}
    secrets: Mapping[str, str] = {"password": PASSWORD}

    def provider(self) -> Provider:
        return PROVIDER

    def placed(self) -> HttpAnswer:
        return HttpAnswer(0, b"")

    def refused(self) -> HttpAnswer:
        return HttpAnswer(0x45, b"")

    def callbacks(self) -> Sequence[tuple[Callback, str]]:
        return ()

    def connect(self, http: ScriptedHttp) -> SmppConnection:
        return account(2775)

    async def order(self, http: ScriptedHttp) -> Placed | DeliveryResult:
        answer = http.answers.pop(0)
        async with SmppServer() as server:
            if isinstance(answer, NotPlacedError):
                await server.stop()
            elif isinstance(answer, HttpAnswer) and answer.status < 0x100 and answer.status != 200:
                server.statuses.append(answer.status)
            elif isinstance(answer, HttpAnswer) and answer.status == 200:
                server.gives_ids = False
            else:
                server.statuses.append(DROPS)
            async with listening(account(server.port)) as found:
                try:
                    return await found.send()
                finally:
                    http.requests += [("submit_sm", "", b"")] * server.requests.count("submit_sm")

    def test_callbacks_end_in_the_same_outcome_in_any_order_and_twice(self) -> None:
        receipts = [ReceiptReport("1A", "ENROUTE"), ReceiptReport("1A", "DELIVRD", "000")]
        connection = account(2775)
        for sequence in (receipts, receipts[::-1], receipts + receipts):
            facts: dict[str, str] = {}
            for receipt in sequence:
                facts |= receipt.facts(1)
            result = connection.conclude(Order(command=sms_command(), asked_at=wall_now(), provider_ref="1A", facts=facts))
            assert result is not None
            assert result.outcome == "delivered"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "a host"),
        ("port", 0),
        ("system_id", "sixteen characters"),
        ("system_id", ""),
        ("security", "starttls"),
        ("from_number", "Sunny Solar GmbH"),
        ("window", 0),
        ("window", 101),
        ("long_messages", "never"),
        ("receipt_ids", "octal"),
        ("opt_out_codes", ["no code"]),
        ("source_ton", 7),
        ("password", "in the clear"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: Any) -> None:
    settings = {"host": "smpp.example.com", "port": 3550, "system_id": "leads"}
    assert list(settings_faults(PROVIDER, {**settings, name: value})) == [f"settings.{name}"]


async def test_a_text_is_submitted_with_a_receipt_asked_for(server: SmppServer, line: Listening) -> None:
    answer = await line.send(body="Hello {you} for 5€", to="+13055550001")

    (message_id,) = server.texts
    assert answer == Placed(provider_ref=message_id, parts=[message_id])
    pdu = server.texts[message_id]
    assert (pdu.source_addr, pdu.source_addr_ton, pdu.source_addr_npi) == (b"12125550199", 1, 1)
    assert (pdu.destination_addr, pdu.registered_delivery, pdu.esm_class, pdu.data_coding) == (b"13055550001", 1, 0, 0)
    assert decode_text(pdu.short_message, 0) == "Hello {you} for 5€"


@pytest.mark.parametrize(("sender", "kind"), [("+442079460123", (1, 1)), ("72345", (3, 0)), ("Sunny Solar", (5, 0))])
async def test_the_kind_of_a_sender_is_said(server: SmppServer, sender: str, kind: tuple[int, int]) -> None:
    async with listening(account(server.port, from_number=sender)) as line:
        await line.connection.send(command_of("sms"))

    (pdu,) = server.texts.values()
    assert (pdu.source_addr.decode(), (pdu.source_addr_ton, pdu.source_addr_npi)) == (sender.lstrip("+"), kind)


async def test_the_carriers_letter_may_name_another_kind(server: SmppServer) -> None:
    async with listening(account(server.port, source_ton=2, source_npi=8)) as line:
        await line.send()

    (pdu,) = server.texts.values()
    assert (pdu.source_addr_ton, pdu.source_addr_npi) == (2, 8)


@pytest.mark.parametrize("text", [LONG, WIDE, "€" * 100, "a" * 152 + "€" + "b" * 10, "😀" * 67, "]" * 153])
async def test_a_long_text_goes_in_parts_that_join_to_it(server: SmppServer, line: Listening, text: str) -> None:
    answer = await line.send(body=text)

    assert isinstance(answer, Placed)
    assert answer.parts == list(server.texts)
    parts = [server.texts[name] for name in answer.parts]
    headers = [part.short_message[:6] for part in parts]
    assert len({header[3] for header in headers}) == 1
    assert [tuple(header[:3]) + tuple(header[4:]) for header in headers] == [
        (5, 0, 3, len(parts), number) for number in range(1, len(parts) + 1)
    ]
    assert {part.esm_class for part in parts} == {0x40}
    assert decode_joined((part.short_message[6:], part.data_coding) for part in parts) == text
    assert all(len(part.short_message) <= 159 for part in parts)
    assert segments(text) == len(parts)


async def test_a_long_text_goes_as_payload_where_the_carrier_takes_one(server: SmppServer) -> None:
    async with listening(account(server.port, long_messages="payload")) as line:
        answer = await line.send(body=LONG)
        await line.send(number=2, body="short")

    long, short = server.texts.values()
    assert isinstance(answer, Placed)
    assert len(answer.parts) == 1
    assert (decode_text(long.message_payload or b"", 0), long.short_message) == (LONG, b"")
    assert short.short_message == b"short"


def test_a_text_of_too_many_parts_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="255"):
        in_parts("a" * 40_000, "c1")


@pytest.mark.parametrize("status", sorted(ORDER_ERRORS.keys() - THROTTLED))
async def test_each_status_of_the_table_means_what_it_says(server: SmppServer, line: Listening, status: int) -> None:
    server.statuses.append(status)
    meaning = ORDER_ERRORS[status]
    if meaning.outcome == "not_placed":
        with pytest.raises(RefusedOrderError) as refused:
            await line.send()
        assert refused.value.tries_next is meaning.tries_next
        assert meaning.says in str(refused.value)
    else:
        result = await line.send()
        assert isinstance(result, DeliveryResult)
        assert result.outcome == meaning.outcome
    assert server.requests.count("submit_sm") == 1


async def test_another_status_is_given_to_no_other_account(server: SmppServer, line: Listening) -> None:
    server.statuses.append(0x410)
    with pytest.raises(RefusedOrderError) as refused:
        await line.send()
    assert not refused.value.tries_next


@pytest.mark.parametrize("status", sorted(UNCLEAR))
async def test_a_status_after_which_a_text_may_be_on_its_way_is_unclear(
    server: SmppServer, line: Listening, status: int
) -> None:
    server.statuses.append(status)
    with pytest.raises(ProviderFailedError):
        await line.send()
    assert server.requests.count("submit_sm") == 1


def test_every_outcome_of_the_tables_is_one() -> None:
    assert {row.outcome for row in ORDER_ERRORS.values()} <= OUTCOMES["sms"].keys()
    assert set(RECEIPT_STATES.values()) <= OUTCOMES["sms"].keys()
    assert RECEIPT_STATES.keys() <= set(STATE_NUMBERS.values())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("status", sorted(THROTTLED))
async def test_a_text_that_is_too_many_at_once_is_given_again_and_placed_once(
    server: SmppServer, line: Listening, status: int
) -> None:
    server.statuses += [status, status]

    assert isinstance(await line.send(), Placed)
    assert (server.requests.count("submit_sm"), len(server.texts)) == (3, 1)


@pytest.mark.usefixtures("quick")
async def test_a_carrier_that_never_takes_it_lets_the_next_account_try(server: SmppServer, line: Listening) -> None:
    server.statuses += [0x58] * 20
    with pytest.raises(RefusedOrderError) as refused:
        await line.send()
    assert refused.value.tries_next
    assert server.requests.count("submit_sm") == 1 + len(smpp_provider.THROTTLED_DELAYS_SECONDS)


async def test_no_more_requests_are_under_way_than_the_window_has(server: SmppServer) -> None:
    server.holds = asyncio.Event()
    async with listening(account(server.port, window=3)) as line:
        sending = [asyncio.create_task(line.send(number=number)) for number in range(1, 9)]
        await until(lambda: server.unanswered_most == 3)
        server.holds.set()
        answers = await asyncio.gather(*sending)

    assert server.unanswered_most == 3
    assert len({answer.provider_ref for answer in answers}) == len(server.texts) == 8


async def test_a_lost_answer_is_unclear_and_the_text_is_not_given_again(server: SmppServer, line: Listening) -> None:
    server.statuses.append(DROPS)
    with pytest.raises(ProviderFailedError):
        await line.send()
    await server.bound.wait()
    await until(lambda: server.requests.count("bind_transceiver") == 2)
    assert server.requests.count("submit_sm") == 1


async def test_silence_is_unclear(server: SmppServer, line: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    await until(server.bound.is_set)
    monkeypatch.setattr(smpp_session, "ANSWER_SECONDS", 0.1)
    server.statuses.append(None)
    with pytest.raises(ProviderFailedError, match="in time"):
        await line.send()


async def test_a_text_of_which_a_part_was_taken_is_given_to_no_other_account(server: SmppServer, line: Listening) -> None:
    server.statuses += [0, 0x45]
    result = await line.send(body=LONG)
    assert isinstance(result, DeliveryResult)
    assert (result.outcome, "1 of 2 parts" in str(result.detail)) == ("undelivered", True)


@pytest.mark.usefixtures("quick")
async def test_a_text_whose_second_part_finds_no_session_is_unclear(
    server: SmppServer, line: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    await until(server.bound.is_set)
    monkeypatch.setattr(smpp_provider, "BOUND_WAIT_SECONDS", 0.1)

    def then_away(session: CarrierSession, _: Any) -> int:
        if server.requests.count("submit_sm") == 1:
            return 0
        server.close()
        asyncio.get_running_loop().call_soon(session.writer.close)
        return 0x58

    monkeypatch.setattr(server, "status_of", then_away)
    with pytest.raises(ProviderFailedError):
        await line.send(body=LONG)


async def test_a_sender_whose_lease_has_run_out_gives_nothing(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    with under(Lease("command-1", "attempt-1", StillClock())), pytest.raises(LeaseLostError):
        await line.send()
    assert server.texts == {}


async def test_without_a_session_nothing_was_placed(server: SmppServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smpp_provider, "BOUND_WAIT_SECONDS", 0.1)
    with pytest.raises(NotPlacedError, match="keeps no session"):
        await account(server.port).send(command())
    async with listening(account(server.port, password="wrong")) as line:
        await until(lambda: "bind_transceiver" in server.requests)
        await until(lambda: "0x0E" in line.connection._absence)
        with pytest.raises(NotPlacedError, match="0x0E"):
            await line.send()
    assert server.texts == {}


async def test_a_session_that_ends_is_bound_again(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    server.hang_up()
    await until(lambda: server.requests.count("bind_transceiver") == 2)
    assert isinstance(await line.send(), Placed)


async def test_a_silent_carrier_is_asked_and_left_where_it_does_not_answer(
    server: SmppServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smpp_session, "ENQUIRE_SECONDS", 0.05)
    async with listening(account(server.port)):
        await until(lambda: server.requests.count("enquire_link") >= 2)
        assert len(server.sessions) == 1
        server.answers_enquiries = False
        monkeypatch.setattr(smpp_session, "ANSWER_SECONDS", 0.1)
        await until(lambda: len(server.sessions) >= 2)


async def test_what_is_under_way_ends_before_the_session_is_unbound(server: SmppServer) -> None:
    server.holds = asyncio.Event()
    connection = account(server.port)
    listener = asyncio.create_task(connection.listen(Listening(connection).take))
    sending = asyncio.create_task(connection.send(command()))
    await until(lambda: server.requests.count("submit_sm") == 1)

    listener.cancel()
    await asyncio.sleep(0)
    server.holds.set()

    assert isinstance(await sending, Placed)
    await asyncio.gather(listener, return_exceptions=True)
    assert server.sessions[0].unbound.is_set()


@pytest.mark.parametrize("state", [*RECEIPT_STATES, "ENROUTE", "ACCEPTD"])
async def test_each_state_of_a_receipt_is_reported(server: SmppServer, line: Listening, state: str) -> None:
    await until(server.bound.is_set)
    assert await server.receipt("1A", state, "011") == 0
    assert line.reports == [ReceiptReport("1A", state, "011")]
    result = conclude({f"1.{state}": "011"})
    assert (None if result is None else result.outcome) == RECEIPT_STATES.get(state)


def conclude(facts: Mapping[str, str], *, reference: str | None = "1A", age: int = 0) -> DeliveryResult | None:
    order = Order(command=sms_command(), asked_at=wall_now() - age, provider_ref=reference, facts=facts)
    return account(2775).conclude(order)


def test_a_long_text_is_delivered_once_each_part_is_and_lost_with_the_first_part_that_is() -> None:
    assert conclude({"1.DELIVRD": "000"}, reference="1A 1B") is None
    lost = conclude({"1.DELIVRD": "000", "2.UNDELIV": "034"}, reference="1A 1B")
    both = conclude({"1.DELIVRD": "000", "2.DELIVRD": "000"}, reference="1A 1B")
    assert lost is not None
    assert both is not None
    assert (lost.outcome, lost.detail, both.outcome) == ("undelivered", "SMPP: UNDELIV, error 034", "delivered")


CODES = ["0x45E", "1104"]


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({"1.UNDELIV": "1104"}, "opted_out"),
        ({"1.REJECTD": "1104"}, "opted_out"),
        ({"1.DELIVRD": "000", "2.UNDELIV": "1104"}, "opted_out"),
        ({"1.UNDELIV": "034", "2.UNDELIV": "1104"}, "opted_out"),
        ({"1.DELIVRD": "1104", "2.DELIVRD": "1104"}, "delivered"),
        ({"1.UNDELIV": "110", "2.DELIVRD": "000"}, "undelivered"),
    ],
)
def test_the_carriers_own_code_for_an_opt_out_is_one(facts: Mapping[str, str], outcome: str) -> None:
    order = Order(command=sms_command(), asked_at=wall_now(), provider_ref="1A 1B", facts=facts)
    result = account(2775, opt_out_codes=CODES).conclude(order)
    assert result is not None
    assert result.outcome == outcome


async def test_a_refusal_by_the_carriers_own_code_is_an_opt_out(server: SmppServer) -> None:
    async with listening(account(server.port, opt_out_codes=CODES)) as line:
        server.statuses.extend([0x45E, 0x0B])
        refused, invalid = await line.send(), await line.send()
    assert isinstance(refused, DeliveryResult)
    assert isinstance(invalid, DeliveryResult)
    assert (refused.outcome, invalid.outcome) == ("opted_out", "invalid_number")


def test_a_text_without_a_receipt_counts_as_sent_after_five_minutes() -> None:
    assert conclude({}, age=4 * MINUTE) is None
    assert conclude({}, reference=None, age=6 * MINUTE) is None
    sent = conclude({"1.ACCEPTD": ""}, age=6 * MINUTE)
    assert sent is not None
    assert sent.outcome == "sent"


@pytest.mark.parametrize(("ids", "answered", "receipted"), [("decimal", "1A", "0026"), ("hexadecimal", "26", "1a")])
async def test_ids_that_receipts_write_in_another_base_are_the_same(
    server: SmppServer, ids: str, answered: str, receipted: str
) -> None:
    from adapters.providers.smpp.receipts import name_of_answer  # noqa: PLC0415 - of this test alone

    async with listening(account(server.port, receipt_ids=ids)) as line:
        await until(server.bound.is_set)
        await server.receipt(receipted)
    (report,) = line.reports
    assert isinstance(report, ReceiptReport)
    assert report.reference == name_of_answer(answered, ids)  # type: ignore[arg-type]


async def test_optional_parameters_of_a_receipt_say_more_than_its_words(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    await server.receipt(
        "cut off", "STRANGE", receipted_message_id="1A", message_state=5, network_error_code=b"\x03\x00\x22"
    )
    assert line.reports == [ReceiptReport("1A", "UNDELIV", "34")]


async def test_what_cannot_be_stored_is_left_to_the_carrier_to_deliver_again(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    line.fails = True
    assert await server.receipt("1A") == 0x64
    line.fails = False
    assert await server.receipt("1A") == 0
    assert len(line.reports) == 1


async def test_a_text_of_a_person_is_reported_and_the_same_one_again_has_the_same_id(
    server: SmppServer, line: Listening
) -> None:
    await until(server.bound.is_set)
    now = wall_now()
    object.__setattr__(line.connection, "_account", _at(line.connection, lambda: now))
    said = {"source_addr": "13055550001", "source_addr_ton": 1, "destination_addr": "12125550199", "short_message": b"STOP"}
    assert [await server.session.deliver(**said), await server.session.deliver(**said)] == [0, 0]
    await server.session.deliver(**{**said, "short_message": b"START"})

    first, again, other = line.reports
    assert isinstance(first, TextReport)
    assert (first.from_number, first.to_number, first.body) == ("+13055550001", "+12125550199", "STOP")
    assert first == again
    assert isinstance(other, TextReport)
    assert other.event_id != first.event_id


def _at(connection: SmppConnection, now: Callable[[], Any]) -> ProviderAccount:
    import msgspec  # noqa: PLC0415 - of this test alone

    return msgspec.structs.replace(connection._account, now=now)


FIRST, SECOND = b"Please ST", b"OP"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x2a\x02\x01" + FIRST}, ("udh1-42", 1, 2)),
        ({"esm_class": 0x40, "short_message": b"\x06\x08\x04\x01\x02\x02\x01" + FIRST}, ("udh2-258", 1, 2)),
        (
            {"esm_class": 0x40, "short_message": b"\x08\x24\x01\x03\x00\x03\x2a\x02\x01" + FIRST},
            ("udh1-42", 1, 2),
        ),  # behind another element: a national alphabet
        (
            {"sar_msg_ref_num": 258, "sar_total_segments": 2, "sar_segment_seqnum": 1, "short_message": FIRST},
            ("sar-258", 1, 2),
        ),
        (
            {"sar_msg_ref_num": 7, "sar_total_segments": 2, "sar_segment_seqnum": 2, "message_payload": FIRST},
            ("sar-7", 2, 2),
        ),
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x2a\x01\x01" + FIRST}, None),  # one part of one
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x2a\x02\x03" + FIRST}, None),  # the third of two
        ({"esm_class": 0x40, "short_message": b"\x05\x00\x03\x2a\x02\x00" + FIRST}, None),
        ({"sar_msg_ref_num": 7, "sar_total_segments": 2, "short_message": FIRST}, None),
        ({"esm_class": 0x40, "short_message": b"\x03\x24\x01\x03" + FIRST}, None),
        ({"short_message": FIRST}, None),
    ],
)
async def test_a_part_of_a_text_says_which_it_is(
    server: SmppServer, line: Listening, fields: dict[str, Any], part: tuple[str, int, int] | None
) -> None:
    await until(server.bound.is_set)
    said = {"source_addr": "13055550001", "source_addr_ton": 1, "destination_addr": "12125550199", "short_message": b""}
    assert await server.session.deliver(**{**said, **fields}) == 0
    (report,) = line.reports
    assert isinstance(report, TextReport)
    assert report.body == FIRST.decode()
    found = None if report.part is None else (report.part.reference, report.part.number, report.part.count)
    assert found == part
    assert report.part is None or report.part.octets == FIRST


async def test_two_parts_of_the_same_words_are_two_reports(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    said = {"source_addr": "13055550001", "destination_addr": "1", "short_message": b"ha", "sar_msg_ref_num": 1}
    for number in (1, 2):
        await server.session.deliver(**said, sar_total_segments=2, sar_segment_seqnum=number)
    assert len({report.event_id for report in line.reports if isinstance(report, TextReport)}) == 2


async def test_what_is_for_a_program_on_the_telephone_is_no_text(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    push = {"esm_class": 0x40, "short_message": b"\x06\x05\x04\x0b\x84\x23\xf0ping", "data_coding": 4}
    assert await server.session.deliver(source_addr="13055550001", destination_addr="1", **push) == 0
    assert line.reports == []


async def test_a_message_without_text_is_confirmed_and_of_no_use(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    binary = {"source_addr": "13055550001", "destination_addr": "1", "data_coding": 4, "short_message": b"\x01"}
    assert await server.session.deliver(**binary) == 0
    assert line.reports == []


async def test_bytes_that_are_no_smpp_end_the_session_and_it_is_bound_again(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    server.session.writer.write(b"\xff" * 64)
    await until(lambda: server.requests.count("bind_transceiver") == 2)
    assert isinstance(await line.send(), Placed)


async def test_a_delivery_that_is_cut_off_is_refused_and_the_session_goes_on(server: SmppServer, line: Listening) -> None:
    await until(server.bound.is_set)
    session = server.session
    session.writer.write(b"\x00\x00\x00\x14\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x63abcd")
    assert await server.receipt("1A") == 0
    assert len(line.reports) == 1


async def test_a_look_up_asks_for_each_part(server: SmppServer, line: Listening) -> None:
    placed = await line.send(body=LONG)
    assert isinstance(placed, Placed)
    first, second = placed.parts
    server.states[first] = 2
    order = Order(command=command(), asked_at=wall_now(), provider_ref=placed.provider_ref)

    assert await line.connection.find(order) == FoundOrder(provider_ref=placed.provider_ref, facts={"1.DELIVRD": "0"})
    server.states[second] = 5
    found = await line.connection.find(order)
    assert found is not None
    assert found.facts == {"1.DELIVRD": "0", "2.UNDELIV": "0"}
    assert await line.connection.find(Order(command=command(), asked_at=wall_now())) is None


async def test_a_session_by_tls_is_with_the_named_host_alone() -> None:
    async with SmppServer(has_tls=True) as server:
        async with listening(account(server.port, security="tls")) as line:
            assert isinstance(await line.send(), Placed)
        assert "by TLS" in await account(server.port, security="tls").test()
        for bad in (
            account(server.port, security="tls", tls=ssl.create_default_context()),
            account(server.port, security="tls", host="127.0.0.1"),
        ):
            with pytest.raises(NotPlacedError):
                await bad.test()


async def test_a_test_logs_in_and_takes_no_deliveries(server: SmppServer) -> None:
    assert "takes the login of leads, without TLS" in await account(server.port).test()
    assert server.sessions[0].unbound.is_set()
    with pytest.raises(NotPlacedError, match="0x0E"):
        await account(server.port, password="wrong").test()


async def test_addresses_of_our_own_network_are_not_connected_to(server: SmppServer) -> None:
    with pytest.raises(NotPlacedError, match="not on the public internet"):
        await account(server.port, allowed=()).test()
    assert server.sessions == []


async def test_what_it_cannot_do_is_refused(server: SmppServer) -> None:
    connection = account(server.port)
    assert isinstance(connection, Listens)
    for refused in (connection.place(call_command()), connection.send(command_of("email"))):
        with pytest.raises(RefusedOrderError):
            await refused
    with pytest.raises(RefusedOrderError, match="from_number"):
        await connection.send(command_of("sms"))
    with pytest.raises(ForgedCallbackError):
        connection.read_callback(Callback(url="", headers={}, query={}, form={}, body=b"x"))
