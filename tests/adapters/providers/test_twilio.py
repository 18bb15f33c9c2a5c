"""Does the provider `twilio` keep the promises of every provider, and its own?"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

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
    Placed,
    Provider,
    ProviderAccount,
    ProviderFailedError,
    RefusedOrderError,
)
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.registry import read_settings
from adapters.providers.testing import CALLBACK_URL, ProviderContract, ScriptedHttp, call_command, sms_command
from adapters.providers.twilio import PROVIDER
from adapters.providers.twilio.errors import ORDER_ERRORS, RECEIPT_ERRORS
from schemas.outcomes import OUTCOMES
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio


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
    assert (result.outcome, result.talk_seconds, result.cost) == ("connected_buyer", 42, 0.014)


async def test_a_call_is_hung_up_and_keys_are_refused(twilio: FakeTwilio, connection: Connection) -> None:
    placed = await connection.place(call_command())
    assert isinstance(placed, Placed)

    assert await connection.hang_up(placed.provider_ref)
    assert not await connection.hang_up("CAunknown")
    assert not await connection.press(placed.provider_ref, "1")
    assert twilio.calls[placed.provider_ref]["status"] == "completed"


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
