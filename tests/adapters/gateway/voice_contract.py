"""What does every voice provider promise? Each one is asked to place a call that is answered, one that is not, and more."""

from typing import Any, Protocol

import pytest

from adapters.gateway.ports import CallProgress, DeliveryResult, NotPlacedError, VoiceProvider
from schemas.commands import PlaceCall
from schemas.outcomes import CALL_OUTCOMES
from tests.adapters.gateway.world import command_of


class Exchange(Protocol):
    """A provider under test, and numbers that behave as named."""

    provider: VoiceProvider
    answers: str
    busy: str
    rings_out: str
    does_not_exist: str
    is_not_taken: str


async def place(exchange: Exchange, number: str, **given: Any) -> tuple[DeliveryResult | None, list[CallProgress]]:
    reported: list[CallProgress] = []

    async def report(progress: CallProgress) -> None:
        reported.append(progress)

    command: PlaceCall = command_of("call", to=number, **given)
    return await exchange.provider.place(command, report), reported


class VoiceContract:
    """Run by the test class of every provider, with its fixture `exchange`."""

    async def test_an_answered_call_is_reported_step_by_step(self, exchange: Exchange) -> None:
        result, reported = await place(exchange, exchange.answers)

        assert [progress.state for progress in reported] == ["initiated", "ringing", "established"]
        assert result is not None
        assert (result.outcome, result.answered_by, result.rang) == ("connected_human", "human", True)
        assert result.talk_seconds > 0
        assert result.ringing_at is not None
        assert result.answered_at is not None
        assert result.ringing_at <= result.answered_at

    async def test_the_reference_is_the_same_in_every_report(self, exchange: Exchange) -> None:
        result, reported = await place(exchange, exchange.answers)

        assert result is not None
        assert {progress.provider_ref for progress in reported} == {result.provider_ref} != {None}

    async def test_a_call_that_rings_out_was_heard(self, exchange: Exchange) -> None:
        result, reported = await place(exchange, exchange.rings_out, ring_timeout_seconds=20)

        assert result is not None
        assert (result.outcome, result.rang, result.answered_at, result.talk_seconds) == ("no_answer", True, None, 0)
        assert [progress.state for progress in reported] == ["initiated", "ringing"]

    async def test_a_busy_line_and_a_wrong_number_do_not_ring(self, exchange: Exchange) -> None:
        for number, outcome in ((exchange.busy, "busy"), (exchange.does_not_exist, "invalid_number")):
            result, reported = await place(exchange, number)

            assert result is not None
            assert (result.outcome, result.rang) == (outcome, False)
            assert [progress.state for progress in reported] == ["initiated"]

    async def test_an_order_that_is_not_taken_was_surely_not_carried_out(self, exchange: Exchange) -> None:
        with pytest.raises(NotPlacedError):
            await place(exchange, exchange.is_not_taken)

    async def test_every_outcome_is_one_of_ours(self, exchange: Exchange) -> None:
        for number in (exchange.answers, exchange.busy, exchange.rings_out, exchange.does_not_exist):
            result, _ = await place(exchange, number)
            assert result is not None
            assert result.outcome in CALL_OUTCOMES
