"""Does the provider `telnyx` keep the promises of every provider, and its own?"""

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import structs

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import (
    Callback,
    Connection,
    ForgedCallbackError,
    HttpAnswer,
    InboundCallReport,
    InboundRoute,
    Order,
    OrderReport,
    Placed,
    Provider,
    ProviderAccount,
    ProviderFailedError,
    RefusedOrderError,
    TextReport,
)
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.registry import read_settings, settings_faults
from adapters.providers.telnyx import PROVIDER
from adapters.providers.telnyx.errors import OF_ONE_END, ORDER_ERRORS, RECEIPT_ERRORS
from adapters.providers.telnyx.events import InboundState, LegState
from adapters.providers.telnyx.outcomes import UNANSWERED
from adapters.providers.testing import CALLBACK_URL, ProviderContract, call_command, sms_command
from schemas.commands import BuyerLeg
from schemas.instant import MINUTE, SECOND, Instant
from schemas.outcomes import OUTCOMES
from tests.adapters.providers.fake_telnyx import (
    API_KEY,
    CONNECTION,
    PUBLIC_KEY,
    FakeTelnyx,
    TelnyxRefusal,
    call_event,
    event_of,
    signed,
)

LEAD = {
    "call_control_id": "v3:lead", "call_leg_id": "l", "call_session_id": "s", "from": "+12125550199", "to": "+12125550101",
    "client_state": LegState(command_id="c1").encoded(),
}  # fmt: skip
BUYER = {
    **LEAD,
    "call_control_id": "v3:buyer",
    "client_state": LegState(command_id="c1", leg="buyer", lead="v3:lead").encoded(),
}
HANGUP = {"hangup_cause": "normal_clearing", "hangup_source": "callee", "sip_hangup_cause": "200"}


def webhook(event: Mapping[str, Any], **signing: Any) -> Callback:
    """A webhook about the order `c1`, as it comes."""
    content = json.dumps(event).encode()
    url = f"{CALLBACK_URL}?command_id=c1"
    return Callback(url=url, headers=signed(content, **signing), query={"command_id": "c1"}, form={}, body=content)


class TestContract(ProviderContract):
    name = "telnyx"
    settings: Mapping[str, Any] = {"public_key": PUBLIC_KEY, "connection_id": CONNECTION}
    secrets: Mapping[str, str] = {"api_key": API_KEY}

    def provider(self) -> Provider:
        return PROVIDER

    def placed(self) -> HttpAnswer:
        return HttpAnswer(200, json.dumps({"data": {"call_control_id": "v3:lead", "is_alive": False}}).encode())

    def refused(self) -> HttpAnswer:
        return HttpAnswer(401, json.dumps({"errors": [{"code": "10009", "title": "Authentication failed"}]}).encode())

    def callbacks(self) -> Sequence[tuple[Callback, str]]:
        return (
            (webhook(call_event(LEAD, "call.initiated")), ""),
            (webhook(call_event(LEAD, "call.answered")), ""),
            (webhook(call_event(BUYER, "call.initiated")), ""),
            (webhook(call_event(BUYER, "call.bridged")), ""),
            (webhook(call_event(LEAD, "call.hangup", **HANGUP)), "connected_buyer"),
        )


@pytest_asyncio.fixture
async def telnyx() -> AsyncIterator[FakeTelnyx]:
    async with FakeTelnyx() as fake:
        yield fake


@pytest_asyncio.fixture
async def connection(telnyx: FakeTelnyx) -> AsyncIterator[Connection]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    yield connect(telnyx, http)
    await http.close()


def connect(
    telnyx: FakeTelnyx, http: GuardedProviderHttp, *, channel: Any = "call", key: str = API_KEY, **more: Any
) -> Connection:
    settings = {"public_key": PUBLIC_KEY, "connection_id": CONNECTION, "base_url": telnyx.url, **more}
    return PROVIDER.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel=channel,
            settings=read_settings(PROVIDER, {name: value for name, value in settings.items() if value is not None}),
            secrets={"api_key": key},
            callback_url=CALLBACK_URL,
            http=http,
            now=wall_now,
        )
    )


def conclude(connection: Connection, facts: Mapping[str, str], **fields: Any) -> DeliveryResult | None:
    command = sms_command() if any(name.startswith("status.") for name in facts) else call_command(**fields)
    return connection.conclude(Order(command=command, asked_at=wall_now(), provider_ref="v3:lead", facts=facts))


async def order_of(connection: Connection, *events: Mapping[str, Any], **fields: Any) -> Order:
    """The order after some webhooks."""
    facts: dict[str, str] = {}
    for event in events:
        report = connection.read_callback(webhook(event))
        assert isinstance(report, OrderReport)
        facts |= report.facts
    return Order(command=call_command(**fields), asked_at=wall_now(), provider_ref="v3:lead", facts=facts)


@pytest.mark.parametrize("code", ORDER_ERRORS)
async def test_each_code_of_the_table_means_what_it_says(telnyx: FakeTelnyx, connection: Connection, code: int) -> None:
    meaning = ORDER_ERRORS[code]
    title = "Blocked due to STOP message" if meaning.outcome == "opted_out" else "Refused"
    telnyx.refusals["+12125550101"] = TelnyxRefusal(400, code, title, "/to")

    if meaning.outcome == "not_placed":
        with pytest.raises(RefusedOrderError) as refused:
            await connection.send(sms_command())
        assert refused.value.tries_next is meaning.tries_next
    else:
        answer = await connection.send(sms_command())
        assert isinstance(answer, DeliveryResult)
        assert answer.outcome == meaning.outcome
    assert telnyx.messages == {}


@pytest.mark.parametrize("code", sorted(OF_ONE_END))
async def test_a_bad_number_of_ours_is_not_the_persons(telnyx: FakeTelnyx, connection: Connection, code: int) -> None:
    telnyx.refusals["+12125550101"] = TelnyxRefusal(422, code, "Invalid phone number", "/from")

    with pytest.raises(RefusedOrderError) as refused:
        await connection.place(call_command())
    assert refused.value.tries_next


async def test_a_block_that_does_not_speak_of_stop_is_no_opt_out(telnyx: FakeTelnyx, connection: Connection) -> None:
    telnyx.refusals["+12125550101"] = TelnyxRefusal(403, 40300, "The number is on no messaging profile")

    with pytest.raises(RefusedOrderError):
        await connection.send(sms_command())
    receipt = {"status.delivery_failed": "1", "error": "40300", "error.says": "Blocked by the carrier"}
    result = conclude(connection, receipt)
    assert result is not None
    assert result.outcome == "undelivered"


def test_every_outcome_of_the_tables_is_one() -> None:
    outcomes = {meaning.outcome for meaning in (*ORDER_ERRORS.values(), *RECEIPT_ERRORS.values())}

    assert outcomes <= OUTCOMES["sms"].keys()
    assert {*UNANSWERED.values(), "congestion", "abandoned_by_us", "caller_hung_up"} <= OUTCOMES["call"].keys()
    assert not any(meaning.tries_next for meaning in ORDER_ERRORS.values() if meaning.outcome != "not_placed")


async def test_an_unlisted_refusal_is_given_to_nobody_else(telnyx: FakeTelnyx, connection: Connection) -> None:
    telnyx.refusals["+12125550101"] = TelnyxRefusal(422, 99_999, "Something new")

    with pytest.raises(RefusedOrderError) as refused:
        await connection.place(call_command())
    assert not refused.value.tries_next


async def test_a_wrong_key_is_refused_by_the_carrier(telnyx: FakeTelnyx) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))

    with pytest.raises(RefusedOrderError, match="10009"):
        await connect(telnyx, http, key="wrong").place(call_command())
    with pytest.raises(ProviderFailedError, match="Authentication failed"):
        await connect(telnyx, http, key="wrong").test()
    assert "300.00 USD" in await connect(telnyx, http).test()
    await http.close()


async def test_an_account_for_calls_needs_its_application_and_one_for_texts_does_not(telnyx: FakeTelnyx) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))

    with pytest.raises(ValueError, match="connection_id"):
        connect(telnyx, http, connection_id=None)
    placed = await connect(telnyx, http, channel="sms", connection_id=None).send(sms_command())
    await http.close()

    assert isinstance(placed, Placed)
    assert telnyx.messages[placed.provider_ref]["text"] == "Hello"


async def test_what_it_cannot_do_is_refused_before_anything_is_sent(telnyx: FakeTelnyx, connection: Connection) -> None:
    legs = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}", timeout_seconds=20) for number in (1, 2))
    nobody = structs.replace(call_command(), buyer_number=None)
    for command in (call_command(machine="voicemail_drop"), call_command(buyer_legs=legs), nobody):
        with pytest.raises(RefusedOrderError) as refused:
            await connection.place(command)
        assert refused.value.tries_next
    assert telnyx.requests == []


async def test_a_lost_answer_is_unclear(telnyx: FakeTelnyx, connection: Connection) -> None:
    telnyx.loses = 1

    with pytest.raises(ProviderFailedError):
        await connection.place(call_command())
    assert len(telnyx.legs) == 1


async def test_a_webhook_of_another_key_or_of_another_time_is_forged(connection: Connection) -> None:
    event = call_event(LEAD, "call.answered")
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    good = webhook(event)

    for forged in (
        webhook(event, key=other),
        webhook(event, at=time.time() - 3_600),
        webhook(event, at=time.time() + 3_600),
        structs.replace(good, body=good.body.replace(b"v3:lead", b"v3:LEAD")),
        structs.replace(good, headers={**good.headers, "telnyx-timestamp": "²"}),
        structs.replace(good, headers={**good.headers, "telnyx-signature-ed25519": "?"}),
        structs.replace(good, query={"command_id": "c2"}),
    ):
        with pytest.raises(ForgedCallbackError):
            connection.read_callback(forged)
    assert connection.read_callback(good) is not None


@pytest.mark.parametrize(
    "event",
    [
        [],
        {"data": None},
        {"data": {"event_type": "call.answered", "id": "e", "payload": []}},
        event_of("call.answered", {"call_control_id": "v3:x", "client_state": "not base64"}),
        event_of("call.initiated", {"call_control_id": "v3:x", "direction": "outgoing", "client_state": None}),
        event_of("call.answered", {"call_control_id": "v3:x", "client_state": None}),
        event_of("message.finalized", {"id": "m", "webhook_url": None}),
        event_of("call.playback.ended", {**LEAD}),
    ],
)
def test_a_webhook_about_none_of_our_orders_is_of_no_use(connection: Connection, event: Any) -> None:
    assert connection.read_callback(webhook(event)) is None


def test_a_text_of_a_person_is_read(connection: Connection) -> None:
    payload = {
        "id": "m1", "direction": "inbound", "text": "STOP", "from": {"phone_number": "+12125550101"},
        "to": [{"phone_number": "+12125550199", "status": "webhook_delivered"}],
    }  # fmt: skip

    assert connection.read_callback(webhook(event_of("message.received", payload))) == TextReport(
        event_id="m1", from_number="+12125550101", to_number="+12125550199", body="STOP"
    )


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("STOP", "opt_out"), ("OPT_OUT", "opt_out"), ("START", "opt_in"), ("HELP", "help"), (None, None), ("NEW", None)],
)
def test_what_telnyx_took_a_text_for_is_read(connection: Connection, word: str | None, meaning: str | None) -> None:
    payload = {"id": "m1", "direction": "inbound", "text": "x", "autoresponse_type": word}

    report = connection.read_callback(webhook(event_of("message.received", payload)))

    assert isinstance(report, TextReport)
    assert report.carrier_meaning == meaning


@pytest.mark.parametrize(
    ("cause", "sip", "outcome", "rang"),
    [
        ("user_busy", "486", "busy", True),
        ("timeout", "487", "no_answer", True),
        ("call_rejected", "603", "declined", True),
        ("not_found", "404", "invalid_number", False),
        ("unspecified", "484", "invalid_number", False),
        ("originator_cancel", "487", "canceled", False),
        ("unspecified", "503", "congestion", False),
    ],
)
def test_each_end_of_a_call_without_an_answer_is_an_outcome(
    connection: Connection, cause: str, sip: str, outcome: str, rang: bool
) -> None:
    result = conclude(connection, {"initiated": "1", "ended": "2", "cause": cause, "sip": sip})

    assert result is not None
    assert (result.outcome, result.rang, result.hangup_cause) == (outcome, rang, f"{cause} {sip}")


def test_the_talk_is_from_the_connection_to_the_first_leg_that_ends(connection: Connection) -> None:
    at = wall_now() - MINUTE
    facts = {"answered": str(at), "dialled": str(at), "bridged": str(at + 5 * SECOND), "ended": str(at + 47 * SECOND)}
    facts |= {"buyer.ended": str(at + 46 * SECOND), "cause": "normal_clearing", "machine": "human"}

    result = conclude(connection, facts)
    of_agent = conclude(connection, facts, agent_id=7)

    assert result is not None
    assert of_agent is not None
    assert (result.outcome, result.talk_seconds, result.answered_by) == ("connected_buyer", 41, "human")
    assert (of_agent.outcome, of_agent.agent_id, of_agent.buyer_answered_at) == ("connected_human", 7, None)


def test_who_hangs_up_before_the_buyer_answers_is_said(connection: Connection) -> None:
    ended = {"answered": "1", "ended": "9", "cause": "normal_clearing"}

    for facts, outcome in (
        ({"source": "callee"}, "caller_hung_up"),
        ({"source": "caller"}, "abandoned_by_us"),
        ({"dialled": "2", "buyer.ended": "8", "buyer.cause": "user_busy", "source": "caller"}, "abandoned_by_us"),
        ({"machine": "machine", "source": "caller"}, "voicemail"),
    ):
        result = conclude(connection, {**ended, **facts})
        assert result is not None
        assert result.outcome == outcome


def test_reports_about_the_buyer_are_waited_for_only_for_a_while(connection: Connection) -> None:
    def after(ended_at: Instant) -> DeliveryResult | None:
        return conclude(connection, {"answered": "1", "dialled": "2", "ended": str(ended_at), "source": "callee"})

    late = after(wall_now() - MINUTE)
    assert after(wall_now()) is None
    assert late is not None
    assert late.outcome == "caller_hung_up"


async def test_a_look_up_of_a_call_says_that_it_is_over_and_not_how(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)
    order = Order(command=call_command(), asked_at=wall_now(), provider_ref=placed.provider_ref)

    dialling = await connection.find(order)
    telnyx.legs[placed.provider_ref]["end_time"] = "2026-01-01T00:00:00Z"
    over = await connection.find(order)
    later = conclude(connection, {"closed": str(wall_now() - MINUTE)})

    assert dialling is not None
    assert over is not None
    assert (dialling.facts, list(over.facts)) == ({}, ["closed"])
    assert conclude(connection, over.facts) is None  # its report may still come
    assert later is not None
    assert later.outcome == "unknown"
    assert await connection.find(structs.replace(order, provider_ref="v3:other")) is None
    assert await connection.find(structs.replace(order, provider_ref=None)) is None


async def test_a_look_up_of_a_text_says_its_receipt_and_its_cost(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.send(sms_command())
    assert isinstance(placed, Placed)
    text = telnyx.messages[placed.provider_ref]
    text |= {"to": [{"status": "delivery_failed"}], "errors": [{"code": "40001", "title": "Not routable"}]}
    text |= {"cost": {"amount": "0.0051", "currency": "USD"}}
    order = Order(command=sms_command(), asked_at=wall_now(), provider_ref=placed.provider_ref)

    found = await connection.find(order)

    assert found is not None
    result = connection.conclude(structs.replace(order, facts=found.facts))
    assert result is not None
    assert (result.outcome, result.cost) == ("invalid_number", Decimal("0.0051"))


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("delivered", "delivered"),
        ("delivery_failed", "undelivered"),
        ("sending_failed", "failed"),
        ("expired", "failed"),
        ("delivery_unconfirmed", "sent"),
    ],
)
def test_each_end_of_a_text_is_an_outcome(connection: Connection, status: str, outcome: str) -> None:
    result = conclude(connection, {f"status.{status}": "1"})

    assert result is not None
    assert result.outcome == outcome


def test_a_text_that_was_only_sent_is_waited_for_five_minutes(connection: Connection) -> None:
    assert conclude(connection, {"status.sent": str(wall_now())}) is None
    late = conclude(connection, {"status.sent": str(wall_now() - 6 * MINUTE)})
    assert late is not None
    assert late.outcome == "sent"


async def test_an_answered_call_dials_the_buyer_once_however_often_that_is_reported(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    command = call_command(machine="continue")
    placed = await connection.place(command)
    assert isinstance(placed, Placed)
    event = call_event(telnyx.legs[placed.provider_ref], "call.answered")
    order = await order_of(connection, event, machine="continue")

    for _ in range(3):
        await connection.reply_to(webhook(event), order)

    assert [(action, fields["to"]) for _, action, fields in telnyx.actions] == [("transfer", "+12125550177")]
    assert len(telnyx.legs) == 2


@pytest.mark.parametrize(("result", "action"), [("human", "transfer"), ("not_sure", "transfer"), ("machine", "hangup")])
async def test_a_machine_is_listened_for_before_anybody_is_dialled(
    telnyx: FakeTelnyx, connection: Connection, result: str, action: str
) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)
    leg = telnyx.legs[placed.provider_ref]
    answered = call_event(leg, "call.answered")
    detected = call_event(leg, "call.machine.detection.ended", result=result)

    await connection.reply_to(webhook(answered), await order_of(connection, answered))
    assert telnyx.actions == []
    await connection.reply_to(webhook(detected), await order_of(connection, answered, detected))

    assert [done for _, done, _ in telnyx.actions] == [action]


DROP = {"machine": "voicemail_drop", "voicemail_message": "We will call again tomorrow."}


async def test_a_machine_is_left_a_message_once_it_takes_one(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command(**DROP))
    assert isinstance(placed, Placed)
    leg = telnyx.legs[placed.provider_ref]
    events = [
        call_event(leg, "call.answered"),
        call_event(leg, "call.machine.detection.ended", result="machine"),
        call_event(leg, "call.machine.greeting.ended", result="beep_detected"),
        call_event(leg, "call.speak.ended"),
    ]
    done: list[list[str]] = []
    for number, event in enumerate(events, 1):
        for _ in range(2):  # each webhook may come again
            await connection.reply_to(webhook(event), await order_of(connection, *events[:number], **DROP))
        done.append([action for _, action, _ in telnyx.actions])

    assert done == [[], [], ["speak"], ["speak", "hangup"]]
    assert telnyx.actions[0][2]["payload"] == DROP["voicemail_message"]
    ended = call_event(leg, "call.hangup", hangup_cause="normal_clearing", hangup_source="caller")
    result = connection.conclude(await order_of(connection, *events, ended, **DROP))
    assert result is not None
    assert (result.outcome, result.answered_by, result.hung_up_by) == ("voicemail", "machine", "us")
    assert "was left a message" in (result.detail or "")


@pytest.mark.parametrize("result", ["human", "not_sure"])
async def test_a_person_is_connected_where_machines_are_left_a_message(
    telnyx: FakeTelnyx, connection: Connection, result: str
) -> None:
    placed = await connection.place(call_command(**DROP))
    assert isinstance(placed, Placed)
    detected = call_event(telnyx.legs[placed.provider_ref], "call.machine.detection.ended", result=result)

    await connection.reply_to(webhook(detected), await order_of(connection, detected, **DROP))

    assert [done for _, done, _ in telnyx.actions] == ["transfer"]


async def test_a_machine_hears_no_silence_where_the_message_cannot_be_said(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    placed = await connection.place(call_command(**{**DROP, "voicemail_message": "x"}))
    assert isinstance(placed, Placed)
    greeted = call_event(telnyx.legs[placed.provider_ref], "call.machine.greeting.ended", result="ended")
    blank = await order_of(connection, greeted, machine="voicemail_drop", voicemail_message="")

    await connection.reply_to(webhook(greeted), blank)

    assert [done for _, done, _ in telnyx.actions] == ["hangup"], "Telnyx refuses to say nothing"


WHISPER = {"machine": "continue", "whisper": "Ann from Tampa, about solar"}


class Whispered:
    """A call whose buyer hears a whisper; each webhook comes twice."""

    def __init__(self, telnyx: FakeTelnyx, connection: Connection, lead: Mapping[str, Any]) -> None:
        self.telnyx, self.connection, self.lead = telnyx, connection, lead
        self.events: list[dict[str, Any]] = []

    async def hears(self, leg: Mapping[str, Any], name: str, **more: Any) -> list[str]:
        """Report an event of a leg; return what Telnyx was asked since."""
        count, known = len(self.telnyx.actions), self.telnyx.legs[leg["call_control_id"]]
        known["end_time"] = "2026-01-01T00:00:00Z" if name == "call.hangup" else known["end_time"]
        self.events.append(call_event(known, name, **more))
        for _ in range(2):
            await self.connection.reply_to(webhook(self.events[-1]), await self.order())
        return [action for _, action, _ in self.telnyx.actions[count:]]

    async def order(self) -> Order:
        return await order_of(self.connection, *self.events, **WHISPER)

    async def result(self) -> DeliveryResult:
        found = self.connection.conclude(await self.order())
        assert found is not None
        return found

    def buyer(self) -> dict[str, Any]:
        return self.telnyx.leg_to("+12125550177")


@pytest_asyncio.fixture
async def whispered(telnyx: FakeTelnyx, connection: Connection) -> Whispered:
    placed = await connection.place(call_command(**WHISPER))
    assert isinstance(placed, Placed)
    found = Whispered(telnyx, connection, telnyx.legs[placed.provider_ref])
    assert await found.hears(found.lead, "call.answered") == ["speak"], "the person is asked to wait"
    assert len(telnyx.legs) == 2, "the buyer is dialled once"
    return found


async def test_a_buyer_hears_the_whisper_before_the_two_are_connected(whispered: Whispered) -> None:
    lead, buyer = whispered.lead, whispered.buyer()

    assert await whispered.hears(lead, "call.speak.ended") == []
    assert await whispered.hears(buyer, "call.initiated") == []
    assert await whispered.hears(buyer, "call.answered") == ["speak"]
    leg, _, said = whispered.telnyx.actions[-1]
    assert await whispered.hears(buyer, "call.speak.ended") == ["bridge"]
    bridged = whispered.telnyx.actions[-1]
    for one in (buyer, lead):
        assert await whispered.hears(one, "call.bridged") == []
    assert await whispered.hears(lead, "call.hangup", **HANGUP) == []

    assert (leg, said["payload"]) == (buyer["call_control_id"], WHISPER["whisper"])
    assert (bridged[0], bridged[2]["call_control_id"]) == (lead["call_control_id"], buyer["call_control_id"])
    result = await whispered.result()
    assert result.outcome == "connected_buyer"
    assert "the whisper was said" in (result.detail or "")
    assert "was left a message" not in (result.detail or "")


async def test_the_telephone_of_a_buyer_stops_when_the_person_hangs_up(whispered: Whispered) -> None:
    await whispered.hears(whispered.buyer(), "call.initiated")
    waits = await whispered.hears(whispered.lead, "call.hangup", **HANGUP)
    await whispered.hears(whispered.buyer(), "call.hangup", hangup_cause="originator_cancel")

    assert waits == ["hangup"]
    assert whispered.telnyx.actions[-1][0] == whispered.buyer()["call_control_id"]
    assert (await whispered.result()).outcome == "caller_hung_up"


@pytest.mark.parametrize("event", ["call.initiated", "call.answered"])
async def test_a_buyer_who_comes_after_the_person_has_gone_is_hung_up_on(whispered: Whispered, event: str) -> None:
    await whispered.hears(whispered.lead, "call.hangup", **HANGUP)

    assert await whispered.hears(whispered.buyer(), event) == ["hangup"]


async def test_a_person_whose_buyer_goes_during_the_whisper_is_hung_up_on(whispered: Whispered) -> None:
    await whispered.hears(whispered.buyer(), "call.answered")

    assert await whispered.hears(whispered.buyer(), "call.hangup", hangup_cause="normal_clearing") == ["hangup"]
    assert whispered.telnyx.actions[-1][0] == whispered.lead["call_control_id"]


async def test_two_that_cannot_be_connected_do_not_wait_in_silence(whispered: Whispered) -> None:
    await whispered.hears(whispered.buyer(), "call.answered")
    whispered.telnyx.legs[whispered.lead["call_control_id"]]["end_time"] = "2026-01-01T00:00:00Z"

    assert await whispered.hears(whispered.buyer(), "call.speak.ended") == ["hangup"]
    assert whispered.telnyx.actions[-1][0] == whispered.buyer()["call_control_id"]


async def test_a_whisper_that_telnyx_refuses_keeps_no_person_waiting(whispered: Whispered) -> None:
    event = call_event(whispered.buyer(), "call.answered")
    long = {**WHISPER, "whisper": "x" * 3_001}

    await whispered.connection.reply_to(webhook(event), await order_of(whispered.connection, event, **long))

    assert [action for _, action, _ in whispered.telnyx.actions] == ["speak", "bridge"]


async def test_a_refused_buyer_of_a_whisper_ends_the_call(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command(**WHISPER))
    assert isinstance(placed, Placed)
    telnyx.refusals["+12125550177"] = TelnyxRefusal(422, 10016, "Phone number must be in +E.164 format", "/to")
    event = call_event(telnyx.legs[placed.provider_ref], "call.answered")

    await connection.reply_to(webhook(event), await order_of(connection, event, **WHISPER))

    assert [done for _, done, _ in telnyx.actions] == ["hangup"]


RECORDED: dict[str, Any] = {"records": True, "announcement": "This call is recorded."}


async def test_a_talk_is_recorded_once_both_have_heard_so(telnyx: FakeTelnyx) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    connection = connect(telnyx, http, **RECORDED)
    placed = await connection.place(call_command(machine="continue"))
    assert isinstance(placed, Placed)
    lead = telnyx.legs[placed.provider_ref]
    events: list[dict[str, Any]] = []
    for name in ("call.answered", "call.bridged", "call.speak.ended"):
        events.append(call_event(lead, name))
        for _ in range(2):
            await connection.reply_to(webhook(events[-1]), await order_of(connection, *events, machine="continue"))
    events += [call_event(lead, "call.hangup", **HANGUP), telnyx.saved(lead, b"RIFF")]
    result = connection.conclude(await order_of(connection, *events, machine="continue"))

    assert did(telnyx) == ["transfer", "speak", "record_start"]
    said, recording = telnyx.actions[1][2], telnyx.actions[2][2]
    assert (said["payload"], said["target_legs"]) == (RECORDED["announcement"], "both")
    assert recording["channels"] == "dual"
    assert result is not None
    assert result.outcome == "connected_buyer"
    source = await connection.find_recording(result.recording_url or "")  # type: ignore[attr-defined]
    assert source is not None
    assert next(iter(telnyx.recordings)) in source.url
    await http.close()


async def test_what_was_not_announced_is_not_recorded(telnyx: FakeTelnyx) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    lead = telnyx._leg({"to": "+12125550101"}, LegState(command_id="c1").encoded())
    bridged, over = call_event(lead, "call.bridged"), call_event(lead, "call.speak.ended")
    silent, recording = connect(telnyx, http), connect(telnyx, http, **RECORDED)

    await silent.reply_to(webhook(bridged), await order_of(silent, bridged))
    assert did(telnyx) == []
    lead["end_time"] = "2026-01-01T00:00:00Z"
    await recording.reply_to(webhook(bridged), await order_of(recording, bridged))
    await recording.reply_to(webhook(over), await order_of(recording, bridged, over, machine="continue"))
    await http.close()

    assert "record_start" not in did(telnyx)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"records": True}, "records needs an announcement"),
        ({"announcement": "This call is recorded."}, "announcement needs records"),
        ({"records": True, "announcement": " "}, "regex"),
        ({"records": True, "announcement": "x" * 301}, "length <= 300"),
    ],
)
def test_nobody_is_recorded_without_their_knowledge(settings: dict[str, Any], said: str) -> None:
    (fault,) = settings_faults(PROVIDER, {"public_key": PUBLIC_KEY, **settings}).values()

    assert said in fault[0]


BOT = {"machine": "continue", "stream": "wss://bot.example.com/calls", "buyer_number": None}


async def streamed(connection: Connection, *events: Mapping[str, Any]) -> Order:
    order = await order_of(connection, *events)
    return structs.replace(order, command=structs.replace(call_command(), **BOT))


@pytest.mark.parametrize(
    ("reports", "actions", "outcome"),
    [
        (["streaming.started"], ["streaming_start"], "connected_human"),
        (["streaming.started", "streaming.stopped"], ["streaming_start", "hangup"], "connected_human"),
        (["streaming.failed"], ["streaming_start", "hangup"], "abandoned_by_us"),
    ],
)
async def test_a_voice_bot_takes_the_call(
    telnyx: FakeTelnyx, connection: Connection, reports: list[str], actions: list[str], outcome: str
) -> None:
    placed = await connection.place(structs.replace(call_command(), **BOT))
    assert isinstance(placed, Placed)
    lead = telnyx.legs[placed.provider_ref]
    events: list[dict[str, Any]] = []
    for name in ("call.answered", *reports):
        events.append(call_event(lead, name, failure_reason="connection refused"))
        for _ in range(2):
            await connection.reply_to(webhook(events[-1]), await streamed(connection, *events))
    ended = call_event(lead, "call.hangup", **{**HANGUP, "hangup_source": "caller"})
    result = connection.conclude(await streamed(connection, *events, ended))

    assert did(telnyx) == actions
    fields = telnyx.actions[0][2]
    assert fields["stream_url"] == BOT["stream"]
    assert {one["name"]: one["value"] for one in fields["custom_parameters"]}["lead_id"] == "7"
    assert len(telnyx.legs) == 1, "nobody is rung"
    assert result is not None
    assert (result.outcome, result.buyer_answered_at) == (outcome, None)
    assert ("no voice bot: connection refused" in (result.detail or "")) is (outcome == "abandoned_by_us")


async def test_how_long_a_voice_bot_talked_is_from_its_stream(connection: Connection) -> None:
    at = wall_now() - MINUTE
    facts = {"answered": str(at), "stream.started": str(at + 2 * SECOND), "ended": str(at + 40 * SECOND)}
    order = structs.replace(await streamed(connection), facts=facts)

    result = connection.conclude(order)

    assert result is not None
    assert (result.outcome, result.talk_seconds) == ("connected_human", 38)


async def test_reports_about_a_voice_bot_are_waited_for_only_for_a_while(connection: Connection) -> None:
    def ended(at: Instant) -> Mapping[str, str]:
        return {"answered": "1", "ended": str(at), "source": "callee"}

    order = await streamed(connection)
    late = connection.conclude(structs.replace(order, facts=ended(wall_now() - MINUTE)))

    assert connection.conclude(structs.replace(order, facts=ended(wall_now()))) is None
    assert late is not None
    assert late.outcome == "caller_hung_up"


async def test_a_stream_that_telnyx_refuses_leaves_no_person_in_silence(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command(machine="continue"))
    assert isinstance(placed, Placed)
    answered = call_event(telnyx.legs[placed.provider_ref], "call.answered")
    order = await streamed(connection, answered)

    await connection.reply_to(
        webhook(answered), structs.replace(order, command=structs.replace(order.command, stream="ftp://bot"))
    )

    assert did(telnyx) == ["hangup"]


async def test_a_voice_bot_of_an_account_that_records_is_refused(telnyx: FakeTelnyx) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))

    with pytest.raises(RefusedOrderError, match="not recorded") as refused:
        await connect(telnyx, http, **RECORDED).place(structs.replace(call_command(), **BOT))
    await http.close()

    assert refused.value.tries_next
    assert telnyx.requests == []


async def test_an_extension_is_pressed_once_the_switchboard_answers_and_then_the_buyer_is_dialled(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    command = call_command(machine="continue", to_dtmf_tones="ww123")
    placed = await connection.place(command)
    assert isinstance(placed, Placed)
    event = call_event(telnyx.legs[placed.provider_ref], "call.answered")
    order = await order_of(connection, event, machine="continue", to_dtmf_tones="ww123")

    for _ in range(2):
        await connection.reply_to(webhook(event), order)

    assert [(action, fields.get("digits")) for _, action, fields in telnyx.actions] == [
        ("send_dtmf", "ww123"),
        ("transfer", None),
    ]


async def test_a_buyers_keys_are_pressed_when_they_answer(telnyx: FakeTelnyx, connection: Connection) -> None:
    leg = telnyx._leg({"to": "+12125550177"}, LegState(command_id="c1", leg="buyer", lead="v3:lead").encoded())
    event = call_event(leg, "call.answered")

    await connection.reply_to(webhook(event), await order_of(connection, event, buyer_dtmf_tones="1w#"))

    assert [(done, fields["digits"]) for _, done, fields in telnyx.actions] == [("send_dtmf", "1w#")]


async def test_a_person_whose_buyer_does_not_answer_is_hung_up_on(telnyx: FakeTelnyx, connection: Connection) -> None:
    lead = telnyx._leg({"to": "+12125550101"}, LegState(command_id="c1").encoded())
    state = LegState(command_id="c1", leg="buyer", lead=lead["call_control_id"]).encoded()
    event = call_event({**lead, "call_control_id": "v3:buyer", "client_state": state}, "call.hangup", hangup_cause="timeout")

    await connection.reply_to(webhook(event), await order_of(connection, event))
    talked = await order_of(connection, call_event(BUYER, "call.bridged"), event)
    await connection.reply_to(webhook(event), talked)

    assert [(leg, done) for leg, done, _ in telnyx.actions] == [(lead["call_control_id"], "hangup")]


async def test_a_refused_transfer_ends_the_call(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command(machine="continue"))
    assert isinstance(placed, Placed)
    telnyx.refusals["+12125550177"] = TelnyxRefusal(422, 10016, "Phone number must be in +E.164 format", "/to")
    event = call_event(telnyx.legs[placed.provider_ref], "call.answered")

    await connection.reply_to(webhook(event), await order_of(connection, event, machine="continue"))

    assert [done for _, done, _ in telnyx.actions] == ["hangup"]


async def test_a_vendor_that_is_away_has_not_done_what_it_was_asked(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command(machine="continue"))
    assert isinstance(placed, Placed)
    event = call_event(telnyx.legs[placed.provider_ref], "call.answered")
    telnyx.fails = 1

    with pytest.raises(ProviderFailedError):
        await connection.reply_to(webhook(event), await order_of(connection, event, machine="continue"))


async def test_keys_are_pressed_on_a_call_and_it_is_hung_up(telnyx: FakeTelnyx, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)

    assert await connection.press(placed.provider_ref, "12#")
    assert await connection.press(placed.provider_ref, "12#")
    assert not await connection.cancel(placed.provider_ref)  # it may have been answered: let it ring
    assert await connection.hang_up(placed.provider_ref)
    telnyx.legs[placed.provider_ref]["end_time"] = "2026-01-01T00:00:00Z"
    assert not await connection.hang_up(placed.provider_ref)
    assert not await connection.press("v3:unknown", "1")
    assert [done for _, done, _ in telnyx.actions] == ["send_dtmf", "send_dtmf", "hangup"]


PERSON = {"call_ref": "v3:in", "person": "+12125550101", "number": "+12125550199"}


def rings(telnyx: FakeTelnyx) -> tuple[dict[str, Any], InboundCallReport]:
    """A call of a person, and how it is reported."""
    leg = telnyx.rings("+12125550101", "+12125550199", CALLBACK_URL)
    return leg, _ringing(leg["call_control_id"])


def _ringing(call_ref: str, **more: Any) -> InboundCallReport:
    about: dict[str, Any] = {"from_number": "+12125550101", "to_number": "+12125550199", "state": "ringing", "asks": True}
    return InboundCallReport(call_ref=call_ref, event_id=f"{call_ref}.ringing", asks_again=False, **about, **more)


def unasked(event: Mapping[str, Any]) -> Callback:
    """A webhook to the URL of the account."""
    return structs.replace(webhook(event), url=CALLBACK_URL, query={})


def did(telnyx: FakeTelnyx) -> list[str]:
    return [action for _, action, _ in telnyx.actions]


async def test_a_call_of_a_person_is_answered_for_its_buyer_and_their_keys_are_pressed(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    leg, report = rings(telnyx)
    route = InboundRoute(action="connect", buyer_id=5, buyer_number="+12125550155", buyer_dtmf_tones="1")

    assert connection.read_callback(unasked(call_event(leg, "call.initiated", direction="incoming"))) == report
    await connection.reply_with_route(unasked({}), report, route)
    assert did(telnyx) == ["answer"]  # nobody is dialled before it is
    for _ in range(2):
        await connection.reply_to(unasked(call_event(leg, "call.answered")), None)
    buyer = telnyx.leg_to("+12125550155")
    await connection.reply_to(unasked(call_event(buyer, "call.answered")), None)
    connected = connection.read_callback(unasked(call_event(buyer, "call.bridged")))

    assert did(telnyx) == ["answer", "transfer", "send_dtmf"]
    assert buyer["from"] == "+12125550101"
    assert isinstance(connected, InboundCallReport)
    assert (connected.state, connected.from_number, connected.report["buyer_id"]) == ("connected", "+12125550101", 5)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("voicemail", ["answer", "speak", "record_start"]),
        ("message", ["answer", "speak", "hangup"]),
        ("callback", ["answer", "speak", "hangup"]),
    ],
)
async def test_a_caller_without_a_buyer_hears_a_message(
    telnyx: FakeTelnyx, connection: Connection, action: str, expected: list[str]
) -> None:
    leg, report = rings(telnyx)

    await connection.reply_with_route(unasked({}), report, InboundRoute(action=action, message="We are closed."))
    await connection.reply_to(unasked(call_event(leg, "call.answered")), None)
    await connection.reply_to(unasked(call_event(leg, "call.speak.ended")), None)

    assert did(telnyx) == expected
    assert telnyx.actions[1][2]["payload"] == "We are closed."


@pytest.mark.parametrize("action", ["reject", "hang_up"])
async def test_a_call_that_nobody_is_to_take_is_rejected_unanswered(
    telnyx: FakeTelnyx, connection: Connection, action: str
) -> None:
    _, report = rings(telnyx)

    await connection.reply_with_route(unasked({}), report, InboundRoute(action=action))

    assert did(telnyx) == ["reject"]


async def test_a_buyer_who_does_not_answer_is_followed_by_the_next(telnyx: FakeTelnyx, connection: Connection) -> None:
    leg, _ = rings(telnyx)
    state = InboundState(**{**PERSON, "call_ref": leg["call_control_id"]}, leg="buyer", target="+12125550155", buyer_id=5)
    buyer = {**leg, "call_control_id": "v3:buyer", "client_state": state.encoded()}
    unanswered = call_event(buyer, "call.hangup", hangup_cause="timeout")

    report = connection.read_callback(unasked(unanswered))
    assert isinstance(report, InboundCallReport)
    await connection.reply_to(unasked(unanswered), None)
    await connection.reply_with_route(
        unasked(unanswered), report, InboundRoute(action="connect", buyer_id=6, buyer_number="+12125550156")
    )
    await connection.reply_with_route(unasked(unanswered), report, InboundRoute(action="hang_up"))

    assert (report.asks, report.report) == (True, {"unanswered_buyer_id": 5})
    assert did(telnyx) == ["transfer", "hangup"]


async def test_a_call_ends_with_the_talk_and_with_the_person(telnyx: FakeTelnyx, connection: Connection) -> None:
    leg, _ = rings(telnyx)
    state = InboundState(**{**PERSON, "call_ref": leg["call_control_id"]}, leg="buyer", buyer_id=5)
    buyer = {**leg, "call_control_id": "v3:buyer", "client_state": state.encoded()}
    over = call_event(buyer, "call.hangup", hangup_cause="normal_clearing")
    given_up = call_event(leg, "call.hangup", hangup_cause="originator_cancel", hangup_source="caller")

    await connection.reply_to(unasked(over), None)
    report = connection.read_callback(unasked(given_up))

    assert connection.read_callback(unasked(over)) is None
    assert did(telnyx) == ["hangup"]
    assert isinstance(report, InboundCallReport)
    assert (report.state, report.report) == ("ended", {"hangup_cause": "originator_cancel", "hung_up_by": "caller"})


async def test_a_buyer_that_telnyx_does_not_dial_leaves_no_caller_in_silence(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    leg, report = rings(telnyx)
    telnyx.refusals["+12125550155"] = TelnyxRefusal(422, 10016, "Phone number must be in +E.164 format", "/to")

    await connection.reply_with_route(
        unasked({}), report, InboundRoute(action="connect", buyer_id=5, buyer_number="+12125550155")
    )
    await connection.reply_to(unasked(call_event(leg, "call.answered")), None)

    assert did(telnyx) == ["answer", "speak"]


async def test_webhooks_that_say_how_a_call_went_are_posted_again_for_a_minute(
    telnyx: FakeTelnyx, connection: Connection
) -> None:
    placed = await connection.place(call_command(machine="continue"))
    assert isinstance(placed, Placed)
    lead = telnyx.legs[placed.provider_ref]
    answered = webhook(call_event(lead, "call.answered"))
    await connection.reply_to(answered, await order_of(connection, machine="continue"))

    for leg in (lead, telnyx.leg_to("+12125550177")):
        assert {"call.answered", "call.bridged", "call.hangup"} <= leg["retries"].keys()
        assert {sum(policy["retries_ms"]) for policy in leg["retries"].values()} == {60_000}
