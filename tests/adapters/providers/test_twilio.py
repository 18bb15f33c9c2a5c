"""Does the provider `twilio` keep the promises of every provider, and its own?"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree as ET

import pytest
import pytest_asyncio
from msgspec import structs
from twilio.request_validator import RequestValidator

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.providers.ports import (
    Callback,
    Connection,
    HttpAnswer,
    Order,
    OrderReport,
    Placed,
    Provider,
    ProviderAccount,
    ProviderFailedError,
    RefusedOrderError,
)
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.registry import read_settings, settings_faults
from adapters.providers.testing import CALLBACK_URL, ProviderContract, ScriptedHttp, call_command, sms_command
from adapters.providers.twilio import PROVIDER
from adapters.providers.twilio.errors import ORDER_ERRORS, RECEIPT_ERRORS
from schemas.commands import BuyerLeg
from schemas.outcomes import OUTCOMES
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio, read_twiml


class TestContract(ProviderContract):
    name = "twilio"
    settings: Mapping[str, Any] = {"account_sid": ACCOUNT}
    secrets: Mapping[str, str] = {"auth_token": TOKEN}

    def provider(self) -> Provider:
        return PROVIDER

    def placed(self) -> HttpAnswer:
        return HttpAnswer(201, json.dumps({"sid": "CA1", "status": "queued"}).encode())

    def refused(self) -> HttpAnswer:
        return HttpAnswer(401, json.dumps({"code": 20003, "message": "Authenticate"}).encode())

    def callbacks(self) -> Sequence[tuple[Callback, str]]:
        answered = {"CallSid": "CA1", "CallStatus": "in-progress", "AnsweredBy": "human"}
        dialled = {"CallSid": "CA1", "DialCallStatus": "completed", "DialCallDuration": "31"}
        return (
            (_signed("status", {"CallSid": "CA1", "CallStatus": "ringing"}), ""),
            (_signed("answer", answered), ""),
            (_signed("dial", dialled), ""),
            (_signed("status", {"CallSid": "CA1", "CallStatus": "completed", "CallDuration": "40"}), "connected_buyer"),
        )


def _signed(event: str, form: Mapping[str, str]) -> Callback:
    url = f"{CALLBACK_URL}?command_id=c1&event={event}"
    return Callback(
        url=url,
        headers={"x-twilio-signature": RequestValidator(TOKEN).compute_signature(url, dict(form))},
        query={"command_id": "c1", "event": event},
        form=form,
        body=b"",
    )


@pytest_asyncio.fixture
async def twilio() -> AsyncIterator[FakeTwilio]:
    async with FakeTwilio() as fake:
        yield fake


@pytest_asyncio.fixture
async def connection(twilio: FakeTwilio) -> AsyncIterator[Connection]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    yield connect(twilio, http)
    await http.close()


def connect(twilio: FakeTwilio, http: GuardedProviderHttp, token: str = TOKEN, **settings: Any) -> Connection:
    return PROVIDER.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel="call",
            settings=read_settings(PROVIDER, {"account_sid": ACCOUNT, "base_url": twilio.url, **settings}),
            secrets={"auth_token": token},
            callback_url=CALLBACK_URL,
            http=http,
            now=wall_now,
        )
    )


async def test_a_call_and_a_text_are_taken_as_the_api_asks(twilio: FakeTwilio, connection: Connection) -> None:
    call, text = await connection.place(call_command(ring_timeout_seconds=25)), await connection.send(sms_command())

    assert isinstance(call, Placed)
    assert isinstance(text, Placed)
    assert twilio.calls[call.provider_ref]["to"] == twilio.messages[text.provider_ref]["to"] == "+12125550101"
    assert await connection.test() == "account Test is active"


async def test_an_extension_is_dialled_by_twilio_once_the_switchboard_answers(
    twilio: FakeTwilio, connection: Connection
) -> None:
    direct = await connection.place(call_command())
    behind = await connection.place(call_command(command_id="c2", to_dtmf_tones="ww123", machine="continue"))

    assert isinstance(direct, Placed)
    assert isinstance(behind, Placed)
    assert "SendDigits" not in twilio.asked[direct.provider_ref]
    assert twilio.asked[behind.provider_ref]["SendDigits"] == "ww123"
    assert "MachineDetection" not in twilio.asked[behind.provider_ref]


@pytest.mark.parametrize("code", ORDER_ERRORS)
async def test_every_code_of_the_table_refuses_an_order_as_it_says(
    twilio: FakeTwilio, connection: Connection, code: int
) -> None:
    meaning = ORDER_ERRORS[code]
    twilio.refusals["+12125550101"] = (400, code)

    if meaning.outcome == "not_placed":
        with pytest.raises(RefusedOrderError) as refused:
            await connection.send(sms_command())
        assert refused.value.tries_next is meaning.tries_next
    else:
        answer = await connection.send(sms_command())
        assert isinstance(answer, DeliveryResult)
        assert answer.outcome == meaning.outcome
    assert twilio.messages == {}


def test_every_outcome_of_the_tables_is_one() -> None:
    outcomes = {meaning.outcome for meaning in (*ORDER_ERRORS.values(), *RECEIPT_ERRORS.values())}

    assert outcomes <= OUTCOMES["sms"].keys()
    assert not any(meaning.tries_next for meaning in ORDER_ERRORS.values() if meaning.outcome != "not_placed")


async def test_an_unlisted_refusal_is_given_to_nobody_else(twilio: FakeTwilio, connection: Connection) -> None:
    twilio.refusals["+12125550101"] = (400, 99_999)

    with pytest.raises(RefusedOrderError) as refused:
        await connection.place(call_command())

    assert not refused.value.tries_next


async def test_too_many_requests_were_not_placed(twilio: FakeTwilio, connection: Connection) -> None:
    twilio.requests_max = 0

    with pytest.raises(RefusedOrderError) as refused:
        await connection.place(call_command())

    assert refused.value.tries_next


async def test_a_wrong_token_is_refused_by_the_carrier(twilio: FakeTwilio) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))

    with pytest.raises(RefusedOrderError, match="20003"):
        await connect(twilio, http, token="wrong").place(call_command())
    await http.close()


async def test_a_private_address_is_not_reached_unless_the_operator_allows_it(twilio: FakeTwilio) -> None:
    http = GuardedProviderHttp()

    with pytest.raises(NotPlacedError, match="LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS"):
        await connect(twilio, http).place(call_command())
    await http.close()
    assert twilio.requests == []


async def test_a_lost_answer_is_unclear_and_the_call_is_found_again(twilio: FakeTwilio, connection: Connection) -> None:
    asked_at = wall_now()
    twilio.loses = 1
    with pytest.raises(ProviderFailedError):
        await connection.place(call_command())

    found = await connection.find(Order(command=call_command(), asked_at=asked_at))

    assert found is not None
    assert found.provider_ref in twilio.calls


async def test_of_two_calls_that_fit_none_is_taken_unless_the_other_is_known(connection: Connection) -> None:
    first, second = [await connection.place(call_command()) for _ in range(2)]
    order = Order(command=call_command(), asked_at=wall_now())
    assert isinstance(first, Placed)
    assert isinstance(second, Placed)

    among_two = await connection.find(order)
    the_other = await connection.find(
        Order(command=call_command(), asked_at=wall_now(), known_refs=frozenset({first.provider_ref}))
    )

    assert among_two is None
    assert the_other is not None
    assert the_other.provider_ref == second.provider_ref


async def test_an_older_call_to_the_number_is_another_one(twilio: FakeTwilio, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)
    twilio.calls[placed.provider_ref]["date_created"] = format_datetime(datetime.now(UTC) - timedelta(minutes=10))

    assert await connection.find(Order(command=call_command(), asked_at=wall_now())) is None


async def test_a_look_up_says_how_the_buyers_leg_ended_and_what_it_cost(twilio: FakeTwilio, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)
    twilio.calls[placed.provider_ref] |= {"status": "completed", "duration": "60", "price": "-0.0140"}
    twilio.leg(placed.provider_ref, "completed", 42)
    order = Order(command=call_command(), asked_at=wall_now(), provider_ref=placed.provider_ref)

    found = await connection.find(order)
    assert found is not None
    result = connection.conclude(Order(command=call_command(), asked_at=wall_now(), facts=found.facts))

    assert result is not None
    assert (result.outcome, result.talk_seconds, result.cost) == ("connected_buyer", 42, Decimal("0.014"))


async def test_a_call_is_hung_up_and_keys_are_refused(twilio: FakeTwilio, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)

    assert await connection.hang_up(placed.provider_ref)
    assert not await connection.hang_up("CAunknown")
    assert not await connection.press(placed.provider_ref, "1")
    assert twilio.calls[placed.provider_ref]["status"] == "completed"


@pytest.mark.parametrize(("status", "is_ended"), [("queued", True), ("ringing", True), ("in-progress", False)])
async def test_a_call_is_canceled_only_before_it_is_answered(
    twilio: FakeTwilio, connection: Connection, status: str, is_ended: bool
) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)
    twilio.calls[placed.provider_ref]["status"] = status

    assert await connection.cancel(placed.provider_ref) == is_ended
    assert twilio.calls[placed.provider_ref]["status"] == ("canceled" if is_ended else status)


async def test_what_it_cannot_do_is_refused_before_anything_is_sent(twilio: FakeTwilio, connection: Connection) -> None:
    for command in (call_command(machine="voicemail_drop"), _without_buyer()):
        with pytest.raises(RefusedOrderError):
            await connection.place(command)
    assert twilio.requests == []


def _without_buyer() -> Any:

    return structs.replace(call_command(), buyer_number=None)


def test_a_call_that_an_agent_took_is_none_of_a_buyer() -> None:
    connection = TestContract().connect(ScriptedHttp())
    facts = {"status.completed": "1", "dial": "1", "dial.completed": "1", "dial.seconds": "30"}

    result = connection.conclude(Order(command=call_command(agent_id=7), asked_at=wall_now(), facts=facts))

    assert result is not None
    assert (result.outcome, result.talk_seconds, result.agent_id) == ("connected_human", 30, 7)


LEGS = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}", timeout_seconds=20) for number in (1, 2))


def _asked(url: str, form: Mapping[str, str]) -> Callback:
    """A signed request to a URL that we named."""
    signature = RequestValidator(TOKEN).compute_signature(url, dict(form))
    query = dict(parse_qsl(urlsplit(url).query))
    return Callback(url=url, headers={"x-twilio-signature": signature}, query=query, form=form, body=b"")


async def _reply(connection: Connection, callback: Callback, **fields: Any) -> ET.Element:
    report = connection.read_callback(callback)
    assert isinstance(report, OrderReport)
    order = Order(command=call_command(**fields), asked_at=wall_now(), provider_ref=report.provider_ref, facts=report.facts)
    return read_twiml((await connection.reply_to(callback, order)).body)


ANSWERED = {"CallSid": "CA1", "CallStatus": "in-progress", "AnsweredBy": "human"}


@pytest.mark.parametrize("several", [{}, {"buyer_legs": LEGS}], ids=["one buyer", "several"])
async def test_who_answers_hears_the_whisper_before_they_are_connected(several: dict[str, Any]) -> None:
    connection = TestContract().connect(ScriptedHttp())
    fields = {"whisper": "Ann from Tampa, about <solar> & more", **several}

    dial = (await _reply(connection, _signed("answer", ANSWERED), **fields))[0]
    urls = {leg.get("url", "") for leg in dial}
    callback = _asked(urls.pop(), {"CallSid": "CA2", "ParentCallSid": "CA1", "CallStatus": "in-progress"})
    heard = await _reply(connection, callback, **fields)
    report = connection.read_callback(callback)

    assert (dial.tag, len(dial), urls) == ("Dial", len(several.get("buyer_legs", "1")), set())
    assert [(one.tag, one.text) for one in heard] == [("Say", fields["whisper"])]  # then Twilio connects them
    assert isinstance(report, OrderReport)
    assert report.provider_ref == "CA1", "the call is the lead's leg, not the buyer's"
    facts = {**report.facts, "status.completed": "1", "dial.completed": "1"}
    result = connection.conclude(Order(command=call_command(**fields), asked_at=wall_now(), facts=facts))
    assert result is not None
    assert "the whisper was said" in (result.detail or "")


async def test_without_a_whisper_nothing_is_asked_about_the_buyers_leg() -> None:
    connection = TestContract().connect(ScriptedHttp())

    dial = (await _reply(connection, _signed("answer", ANSWERED)))[0]

    assert "url" not in dial[0].attrib


def test_a_request_that_names_no_call_says_nothing() -> None:
    connection = TestContract().connect(ScriptedHttp())

    assert connection.read_callback(_signed("whisper", {"CallSid": "CA2"})) is None


def _recording() -> Connection:
    account = TestContract()
    account.settings = {"account_sid": ACCOUNT, "records": True, "announcement": "This call is recorded."}
    return account.connect(ScriptedHttp())


@pytest.mark.parametrize("whisper", [None, "Ann from Tampa"])
async def test_both_hear_that_they_are_recorded_before_they_are(whisper: str | None) -> None:
    connection = _recording()

    said, dial = await _reply(connection, _signed("answer", ANSWERED), whisper=whisper)
    asked = _asked(dial[0].attrib["url"], {"CallSid": "CA2", "CallStatus": "in-progress"})
    heard = await _reply(connection, asked, whisper=whisper)
    form = {"CallSid": "CA1", "RecordingSid": "RE7", "RecordingStatus": "completed", "RecordingDuration": "31"}
    report = connection.read_callback(_asked(dial.attrib["recordingStatusCallback"], form))

    assert (said.tag, said.text) == ("Say", "This call is recorded.")
    assert [one.text for one in heard] == [*([] if whisper is None else [whisper]), "This call is recorded."]
    assert dial.attrib["record"] == "record-from-answer-dual"
    assert isinstance(report, OrderReport)
    order = Order(
        command=call_command(whisper=whisper), asked_at=wall_now(), facts={"status.completed": "1", **report.facts}
    )
    result = connection.conclude(order)
    assert result is not None
    source = await connection.find_recording(result.recording_url or "")  # type: ignore[attr-defined]
    assert source.url.endswith(f"/Accounts/{ACCOUNT}/Recordings/RE7.wav")


@pytest.mark.parametrize("more", [{"RecordingStatus": "absent"}, {"RecordingSid": "../Calls/CA1"}, {"RecordingSid": ""}])
def test_a_recording_that_is_not_there_is_not_reported(more: dict[str, str]) -> None:
    form = {"CallSid": "CA1", "RecordingSid": "RE7", "RecordingStatus": "completed", **more}

    assert _recording().read_callback(_signed("recording", form)) is None


async def test_an_account_that_does_not_record_asks_for_no_recording() -> None:
    (dial,) = await _reply(TestContract().connect(ScriptedHttp()), _signed("answer", ANSWERED))

    assert "record" not in dial.attrib


@pytest.mark.parametrize("settings", [{"records": True}, {"announcement": "This call is recorded."}])
def test_nobody_is_recorded_without_their_knowledge(settings: dict[str, Any]) -> None:
    assert list(settings_faults(PROVIDER, {"account_sid": ACCOUNT, **settings})) == ["settings"]


BOT: dict[str, Any] = {"stream": "wss://bot.example.com/calls", "buyer_number": None}


async def _connected(connection: Connection, form: Mapping[str, str] = ANSWERED) -> ET.Element:
    callback = _signed("answer", form)
    report = connection.read_callback(callback)
    assert isinstance(report, OrderReport)
    order = Order(command=structs.replace(call_command(), **BOT), asked_at=wall_now(), facts=report.facts)
    return read_twiml((await connection.reply_to(callback, order)).body)


async def test_a_voice_bot_takes_the_call(twilio: FakeTwilio, connection: Connection) -> None:
    assert isinstance(await connection.place(structs.replace(call_command(), **BOT)), Placed)

    connected, then = await _connected(connection)

    (stream,) = connected
    assert (connected.tag, stream.attrib["url"], then.tag) == ("Connect", BOT["stream"], "Hangup")
    assert {one.attrib["name"]: one.attrib["value"] for one in stream}["lead_id"] == "7"
    assert len(twilio.calls) == 1


async def test_no_voice_bot_talks_to_a_machine(connection: Connection) -> None:
    (only,) = await _connected(connection, {**ANSWERED, "AnsweredBy": "machine_start"})

    assert only.tag == "Hangup"


@pytest.mark.parametrize(
    ("events", "outcome", "said"),
    [
        (["stream-started", "stream-stopped"], "connected_human", "the voice bot: completed"),
        (["stream-error"], "abandoned_by_us", "the voice bot: error, no route"),
        ([], None, ""),
    ],
)
async def test_what_is_said_of_the_stream_makes_the_outcome(
    connection: Connection, events: list[str], outcome: str | None, said: str
) -> None:
    (stream,) = (await _connected(connection))[0]
    facts: dict[str, str] = {}
    for event in events:
        form = {"CallSid": "CA1", "StreamSid": "MZ1", "StreamEvent": event, "Timestamp": "2026-11-25T12:00:00.000Z"}
        form |= {"StreamError": "no route"} if event == "stream-error" else {}
        report = connection.read_callback(_asked(stream.attrib["statusCallback"], form))
        assert isinstance(report, OrderReport)
        facts |= report.facts
    answered = connection.read_callback(_signed("answer", ANSWERED))
    completed = connection.read_callback(_signed("status", {"CallSid": "CA1", "CallStatus": "completed"}))
    assert isinstance(answered, OrderReport)
    assert isinstance(completed, OrderReport)
    facts |= {**answered.facts, **completed.facts}
    order = Order(command=structs.replace(call_command(), **BOT), asked_at=wall_now(), facts=facts)

    result = connection.conclude(order)

    assert (None if result is None else result.outcome) == outcome, "a stream that is not reported yet is waited for"
    assert said in ("" if result is None else result.detail or "")


def test_how_long_a_voice_bot_talked_is_from_its_stream() -> None:
    facts = {"status.completed": "60000", "dial": "1", "stream.started": "12000", "stream.stopped": "43000"}
    command = structs.replace(call_command(), **BOT)

    result = TestContract().connect(ScriptedHttp()).conclude(Order(command=command, asked_at=wall_now(), facts=facts))

    assert result is not None
    assert (result.outcome, result.talk_seconds) == ("connected_human", 31)


def test_an_unknown_state_of_a_stream_is_of_no_use(connection: Connection) -> None:
    assert connection.read_callback(_signed("stream", {"CallSid": "CA1", "StreamEvent": "stream-paused"})) is None


async def test_a_voice_bot_of_an_account_that_records_is_refused() -> None:
    with pytest.raises(RefusedOrderError, match="not recorded"):
        await _recording().place(structs.replace(call_command(), **BOT))
