"""Does the sandbox carrier do what its page says, number by number?"""

import asyncio
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from adapters.errors import StoreError
from adapters.gateway import sandbox
from adapters.gateway.channels import call_channel, sms_channel
from adapters.gateway.ports import CallProgress, SmsProvider, UnwrittenOrderError, VoiceProvider
from adapters.gateway.sandbox import CALLS, TEXTS, CallScript, MemoryOrders, SandboxSms, SandboxVoice
from schemas.commands import BuyerLeg
from schemas.instant import SECOND, Instant
from schemas.outcomes import CALL_OUTCOMES, SMS_OUTCOMES
from schemas.requests import CallProgressed, CallReceived, OutcomeRecorded, SmsReceived
from tests.adapters.gateway.sms_contract import SmsContract, TextExchange, send
from tests.adapters.gateway.voice_contract import Exchange, VoiceContract, place
from tests.adapters.gateway.world import (
    NOON,
    LeapingClock,
    MemoryDeliveries,
    command_of,
    fast_clock,
    hang_up_of,
    keys_of,
    running,
    town,
    until,
)

PAGE = Path(sandbox.__file__).with_name("sandbox.md")


class Calls:
    answers = "+13055550123"
    busy = "+13055550101"
    rings_out = "+13055550102"
    does_not_exist = "+13055550105"
    is_not_taken = "+13055550111"

    def __init__(self) -> None:
        self.clock = LeapingClock()
        self.provider: VoiceProvider = SandboxVoice(self.clock)


class Texts:
    takes_it = "+13055550123"
    does_not_exist = "+13055550105"
    said_stop = "+13055550108"
    is_not_taken = "+13055550111"

    def __init__(self) -> None:
        self.clock = LeapingClock()
        self.provider: SmsProvider = SandboxSms(self.clock)


class TestSandboxVoice(VoiceContract):
    @pytest.fixture
    def exchange(self) -> Exchange:
        return Calls()


class TestSandboxSms(SmsContract):
    @pytest.fixture
    def exchange(self) -> TextExchange:
        return Texts()


@pytest.mark.parametrize(
    ("ending", "outcome", "seconds"),
    [
        ("00", "connected_human", 34),
        ("01", "busy", 0),
        ("02", "no_answer", 25),
        ("03", "voicemail", 25),
        ("04", "declined", 6),
        ("05", "invalid_number", 0),
        ("06", "congestion", 0),
        ("07", None, 4),
        ("08", "opted_out", 16),
        ("09", "abandoned_by_us", 12),
        ("10", "caller_hung_up", 7),
        ("12", "connected_human", 34),
        ("15", "no_answer", 8),
        ("55", "connected_human", 34),
    ],
)
async def test_the_ending_of_a_number_chooses_what_a_call_does(ending: str, outcome: str | None, seconds: int) -> None:
    exchange = Calls()

    result, _ = await place(exchange, f"+130555501{ending}", ring_timeout_seconds=25)

    assert (result and result.outcome) == outcome
    assert exchange.clock.now() - NOON == seconds * 1000


@pytest.mark.parametrize(
    ("ending", "outcome", "seconds"),
    [
        ("00", "delivered", 2),
        ("04", "undelivered", 5),
        ("05", "invalid_number", 1),
        ("06", "failed", 1),
        ("07", None, 0),
        ("08", "opted_out", 1),
        ("13", "delivered", 2),
        ("14", "delivered", 2),
        ("55", "delivered", 2),
    ],
)
async def test_the_ending_of_a_number_chooses_what_a_text_does(ending: str, outcome: str | None, seconds: int) -> None:
    exchange = Texts()

    result = await send(exchange, f"+130555501{ending}")

    assert (result and result.outcome) == outcome
    assert exchange.clock.now() - NOON == seconds * 1000


@pytest.mark.parametrize("number", ["+12025550208", "+13052227308", "+447911123408", "+61291234508", "+4915112345608"])
@pytest.mark.parametrize("ending", ["05", "08", "11", "14", "15"])
async def test_a_number_that_may_be_somebodys_gets_the_good_outcome_whatever_its_digits(number: str, ending: str) -> None:
    number = number[:-2] + ending

    called, _ = await place(Calls(), number)
    texted = await send(Texts(), number)

    assert called is not None
    assert texted is not None
    assert (called.outcome, called.calls_back) == ("connected_human", None)
    assert (texted.outcome, texted.reply) == ("delivered", None)


async def test_only_a_buyers_number_that_is_reserved_for_fiction_does_not_answer() -> None:
    result, _ = await place(Calls(), Calls.answers, buyer_number="+12025550202", buyer_id=4, buyer_timeout_seconds=15)

    assert result is not None
    assert result.outcome == "connected_buyer"


@pytest.mark.parametrize("number", ["+447700900008", "+353209100008", "+33199000008", "+493023125008", "+61270100008"])
async def test_the_numbers_that_other_countries_reserve_for_fiction_behave_by_their_ending(number: str) -> None:
    called, _ = await place(Calls(), number)
    texted = await send(Texts(), number)

    assert called is not None
    assert texted is not None
    assert (called.outcome, texted.outcome) == ("opted_out", "opted_out")


@pytest.mark.parametrize(("ending", "body"), [("13", "yes"), ("14", "STOP")])
async def test_a_person_who_answers_is_heard_behind_the_receipt_of_the_text(ending: str, body: str) -> None:
    channel = sms_channel(SandboxSms(LeapingClock()))
    async with town("sms") as place_, running(place_, channel, MemoryDeliveries()):
        await place_.append(command_of("sms", to=f"+130555501{ending}"))
        await place_.outcome()
        outcome, reply = await until(place_.said, lambda found: len(found) == 2)

    assert isinstance(outcome, OutcomeRecorded)
    assert isinstance(reply, SmsReceived)
    assert (reply.body, reply.contact_key, reply.provider_ref) == (
        body,
        outcome.contact_key,
        f"{outcome.provider_ref}/reply",
    )


async def test_a_person_who_calls_back_is_reported_after_the_outcome_of_our_call() -> None:
    clock = fast_clock(speed=600)
    channel = call_channel(SandboxVoice(clock))
    async with town("call") as place_, running(place_, channel, MemoryDeliveries(), clock=clock):
        await place_.append(command_of("call", to="+13055550115", contact_key="1|+13055550115", from_number="+12125550150"))
        sent = await until(place_.said, lambda found: sum(isinstance(one, CallReceived) for one in found) == 3)

    reports = [one for one in sent if isinstance(one, CallReceived)]
    assert [report.state for report in reports] == ["ringing", "connected", "ended"]
    assert isinstance(sent[-4], OutcomeRecorded)
    assert len({report.gateway_ref for report in reports}) == 1
    assert (reports[-1].from_number, reports[-1].number_called, reports[-1].talk_seconds) == (
        *("+13055550115", "+12125550150"),
        20,
    )


async def test_an_answered_call_is_put_through_where_there_is_a_buyer() -> None:
    result, _ = await place(Calls(), Calls.answers, buyer_number="+13055550199", buyer_id=4)

    assert result is not None
    assert result.outcome == "connected_buyer"


@pytest.mark.parametrize(
    ("machine", "buyer", "outcome", "talks"),
    [
        ("hangup", "+12125550140", "voicemail", 5),
        ("voicemail_drop", "+12125550140", "voicemail", 20),
        ("continue", None, "voicemail", 30),
        ("continue", "+12125550140", "connected_buyer", 30),
    ],
)
async def test_a_machine_hears_what_the_step_says(machine: str, buyer: str | None, outcome: str, talks: int) -> None:
    result, _ = await place(Calls(), "+13055550103", machine=machine, buyer_number=buyer)

    assert result is not None
    assert (result.outcome, result.answered_by, result.talk_seconds) == (outcome, "machine", talks)


@pytest.mark.parametrize(("buyer", "is_said"), [("+12125550140", True), ("+12125550102", False)])
async def test_what_a_buyer_hears_first_is_said_where_they_answer(buyer: str, is_said: bool) -> None:
    result, _ = await place(Calls(), Calls.answers, buyer_number=buyer, buyer_timeout_seconds=9, whisper="Ann, about solar")

    assert result is not None
    assert (result.detail or "").endswith("; heard before: Ann, about solar") is is_said


async def test_a_voice_bot_is_noted_and_talks_as_a_person_of_ours() -> None:
    result, _ = await place(Calls(), Calls.answers, stream="wss://bot.example.com")

    assert result is not None
    assert (result.outcome, (result.detail or "").endswith("; talked to wss://bot.example.com")) == ("connected_human", True)


@pytest.mark.parametrize("timeout_seconds", [12, 120])
async def test_the_telephone_of_an_absent_buyer_rings_as_long_as_the_order_says(timeout_seconds: int) -> None:
    exchange = Calls()

    result, reported = await place(
        exchange, Calls.answers, buyer_number="+12125550102", buyer_id=4, buyer_timeout_seconds=timeout_seconds
    )

    assert result is not None
    assert (result.outcome, result.talk_seconds, result.hung_up_by) == ("abandoned_by_us", 0, "us")
    assert [progress.state for progress in reported][-3:] == ["established", "on-hold", "resumed"]
    assert exchange.clock.now() - NOON == (4 + timeout_seconds) * 1000


def legs(*numbers: str, timeout_seconds: int = 20) -> dict[str, Any]:
    """The fields of a command that rings several buyers at once: 1, 2, 3."""
    found = tuple(
        BuyerLeg(buyer_id=place_, number=number, timeout_seconds=timeout_seconds) for place_, number in enumerate(numbers, 1)
    )
    return {"buyer_legs": found, "buyer_id": 1, "buyer_number": numbers[0], "buyer_timeout_seconds": timeout_seconds}


@pytest.mark.parametrize(
    ("numbers", "winner", "seconds"),
    [
        (("+12125550102", "+12125550103", "+12125550100"), 3, 34),
        (("+12125550102", "+12125550103", "+12125550102"), 2, 42),
        (("+12125550100", "+12125550199"), 1, 34),
    ],
)
async def test_of_several_buyers_the_first_that_answers_gets_the_call(
    numbers: tuple[str, ...], winner: int, seconds: int
) -> None:
    exchange = Calls()

    result, reported = await place(exchange, Calls.answers, **legs(*numbers))

    assert result is not None
    assert (result.outcome, result.buyer_id) == ("connected_buyer", winner)
    assert [progress.buyer_id for progress in reported if progress.buyer_id is not None] == [winner]
    assert (reported[-1].state, reported[-1].buyer_id) == ("established", winner)
    assert exchange.clock.now() - NOON == seconds * 1000
    assert f"{len(numbers)} buyers rung, {winner} answered first" in (result.detail or "")


async def test_where_none_of_several_buyers_answers_the_call_is_abandoned_when_the_last_has_rung_out() -> None:
    exchange = Calls()

    result, reported = await place(exchange, Calls.answers, **legs("+12125550102", "+12125550102", timeout_seconds=15))

    assert result is not None
    assert (result.outcome, result.buyer_id, result.hung_up_by) == ("abandoned_by_us", None, "us")
    assert all(progress.buyer_id is None for progress in reported)
    assert exchange.clock.now() - NOON == (4 + 15) * 1000


async def test_a_person_who_does_not_answer_lets_no_buyer_ring() -> None:
    result, _ = await place(Calls(), Calls.busy, **legs("+12125550100", "+12125550199"))

    assert result is not None
    assert (result.outcome, result.buyer_id) == ("busy", None)


@pytest.mark.parametrize(("person", "outcome", "buyer_id"), [("23", "connected_buyer", 2), ("01", "busy", None)])
async def test_the_gateway_reports_which_of_several_buyers_answered(person: str, outcome: str, buyer_id: int | None) -> None:
    channel = call_channel(SandboxVoice(LeapingClock()))
    async with town("call") as place_, running(place_, channel, MemoryDeliveries()):
        await place_.append(command_of("call", to=f"+130555501{person}", **legs("+12125550102", "+12125550100")))
        sent = await until(place_.said, lambda found: any(isinstance(one, OutcomeRecorded) for one in found))

    reports = [one for one in sent if isinstance(one, CallProgressed) and one.buyer_id is not None]
    assert [(report.state, report.buyer_id) for report in reports] == ([] if buyer_id is None else [("established", 2)])
    (reported,) = (one for one in sent if isinstance(one, OutcomeRecorded))
    assert (reported.outcome, reported.buyer_id) == (outcome, buyer_id)


async def test_a_call_that_was_on_hold_says_so_and_who_hung_up_and_what_it_cost() -> None:
    result, reported = await place(Calls(), "+13055550112")

    assert [progress.state for progress in reported] == ["initiated", "ringing", "established", "on-hold", "resumed"]
    assert result is not None
    assert (result.hung_up_by, result.hangup_cause, result.cost) == ("caller", "normal clearing", Decimal("0.01"))


async def test_keys_stand_in_the_detail_of_the_call_and_are_refused_when_it_is_over() -> None:
    clock = fast_clock(speed=600)
    voice = SandboxVoice(clock)
    command = command_of("call", to="+13055550123")

    async def report(progress: CallProgress) -> None:
        if progress.state == "established":
            assert await voice.press(keys_of(command, "1"))
            assert await voice.press(keys_of(command, "#"))

    result = await voice.place(command, report)

    assert result is not None
    assert result.detail == "answered; keys 1#"
    assert not await voice.press(keys_of(command, "1"))


@pytest.mark.parametrize(("state", "outcome"), [("ringing", "canceled"), ("established", "connected_human")])
async def test_a_call_that_we_hang_up_is_over_at_once_and_says_so(state: str, outcome: str) -> None:
    clock = fast_clock(speed=600)
    voice = SandboxVoice(clock)
    command = command_of("call", to="+13055550123")

    async def report(progress: CallProgress) -> None:
        if progress.state == state:
            assert await voice.hang_up(hang_up_of(command))

    result = await voice.place(command, report)

    assert result is not None
    assert (result.outcome, result.hung_up_by, result.talk_seconds) == (outcome, "us", 0)
    assert not await voice.hang_up(hang_up_of(command))


@pytest.mark.parametrize(("state", "outcome"), [("ringing", "canceled"), ("established", "connected_human")])
async def test_a_call_that_is_to_end_unanswered_goes_on_once_it_is_answered(state: str, outcome: str) -> None:
    voice = SandboxVoice(fast_clock(speed=600))
    command = command_of("call", to="+13055550123")
    done: list[bool] = []

    async def report(progress: CallProgress) -> None:
        if progress.state == state:
            done.append(await voice.hang_up(structs.replace(hang_up_of(command), only_unanswered=True)))

    result = await voice.place(command, report)

    assert result is not None
    assert (result.outcome, done) == (outcome, [state == "ringing"])
    assert (result.talk_seconds > 0) == (state == "established")


@pytest.mark.parametrize("ending", sorted(CALLS.keys() - {"07"}))
@pytest.mark.parametrize("seconds", [0, 5, 600])
async def test_a_call_goes_on_where_its_gateway_ends_and_can_be_asked_about(ending: str, seconds: int) -> None:
    command, orders = command_of("call", to=f"+130555501{ending}"), MemoryOrders()

    async def nothing(_: CallProgress) -> None: ...

    async def killed(_: CallProgress) -> None:
        raise asyncio.CancelledError

    whole = await SandboxVoice(LeapingClock()).place(command, nothing)
    clock = LeapingClock()
    with pytest.raises(asyncio.CancelledError):
        await SandboxVoice(clock, orders).place(command, killed)
    clock.instant += seconds * SECOND
    after = SandboxVoice(clock, orders)

    assert await after.was_given(command)
    assert await after.resume(command) == whole
    assert clock.now() - NOON == max(seconds * SECOND, _lasts(CALLS[ending]))
    assert not await after.was_given(command_of("call", 2))


def _lasts(script: CallScript) -> int:
    """Return how long a call lasts, in milliseconds."""
    rings = min(script.rings_for or 0.0, command_of("call").ring_timeout_seconds)
    return int((rings + script.holds_for + script.talks_for) * SECOND)


@pytest.mark.parametrize("ending", sorted(TEXTS))
async def test_a_text_can_be_asked_about_once_its_gateway_has_ended(ending: str) -> None:
    command, orders, clock = command_of("sms", to=f"+130555501{ending}"), MemoryOrders(), LeapingClock()
    whole = await SandboxSms(clock, orders).send(command)
    assert await SandboxSms(clock, orders).resume(command) == whole


async def test_an_order_that_cannot_be_written_down_is_not_taken() -> None:
    class Away(MemoryOrders):
        async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:
            raise StoreError(f"{command_id} at {given_at} under {claim_id}")

    with pytest.raises(UnwrittenOrderError, match="could not be written down"):
        await SandboxSms(LeapingClock(), Away()).send(command_of("sms", to="+13055550123"))


async def test_the_same_number_does_the_same_twice() -> None:
    first, second = [await place(Calls(), Calls.answers) for _ in range(2)]

    assert first == second


def test_every_script_ends_in_an_outcome_of_its_channel() -> None:
    assert {script.outcome for script in CALLS.values()} - {None} <= set(CALL_OUTCOMES)
    assert {script.outcome for script in TEXTS.values()} - {None} <= set(SMS_OUTCOMES)


def test_the_page_names_every_ending_with_its_outcome() -> None:
    calls, texts = PAGE.read_text().split("## Texts")

    for scripts, part in ((CALLS, calls), (TEXTS, texts)):
        rows = dict(re.findall(r"^\| `(\d\d)`[^|]*\|[^|]*\| (.*?) \|", part, re.MULTILINE))
        assert set(rows) == {*scripts, sandbox.REFUSED}
        for ending, script in scripts.items():
            assert (script.outcome or "(none)") in rows[ending]


async def test_a_fast_clock_makes_a_long_call_short() -> None:
    clock = fast_clock(speed=600)

    async with town("call") as place_, running(place_, call_channel(SandboxVoice(clock)), MemoryDeliveries(), clock=clock):
        await place_.append(command_of("call", to="+13055550100"))
        outcomes = await place_.outcome()

    assert outcomes == [("command-1", "connected_human")]
