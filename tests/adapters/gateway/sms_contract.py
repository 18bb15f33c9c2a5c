"""What does every SMS provider promise?"""

from typing import Protocol

import pytest

from adapters.gateway.ports import DeliveryResult, NotPlacedError, SmsProvider
from tests.adapters.gateway.world import command_of


class TextExchange(Protocol):
    """A provider under test, and numbers that behave as named."""

    provider: SmsProvider
    takes_it: str
    does_not_exist: str
    said_stop: str
    is_not_taken: str


async def send(exchange: TextExchange, number: str) -> DeliveryResult | None:
    return await exchange.provider.send(command_of("sms", to=number))


class SmsContract:
    """Run by the test class of every provider, with its fixture `exchange`."""

    async def test_the_outcome_says_what_became_of_the_text(self, exchange: TextExchange) -> None:
        for number, outcome in (
            (exchange.takes_it, "delivered"),
            (exchange.does_not_exist, "invalid_number"),
            (exchange.said_stop, "opted_out"),
        ):
            result = await send(exchange, number)
            assert result is not None
            assert (result.outcome, result.provider_ref is not None) == (outcome, True)

    async def test_an_order_that_is_not_taken_was_surely_not_carried_out(self, exchange: TextExchange) -> None:
        with pytest.raises(NotPlacedError):
            await send(exchange, exchange.is_not_taken)
