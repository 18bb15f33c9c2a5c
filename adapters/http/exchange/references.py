"""Is what a sender refers to there? A record of their own company, looked for again once the rules are read to their end."""

from collections.abc import Callable
from typing import TypeVar

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.parameters import Parameters

T = TypeVar("T")

UNKNOWN_REFERENCE = "names no "
"""How a sentence begins that refuses a reference."""


def is_own(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Return whether a live record of the company is there."""
    return exchange.services.source.rules.owns(exchange.company_id, record_type, record_id)


async def is_known(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Return whether a live record of the company is there, having read the rules to their end before saying no."""
    if is_own(exchange, record_type, record_id):
        return True
    await exchange.services.authenticator.refresh()
    return is_own(exchange, record_type, record_id)


async def read_with_references(exchange: Exchange, read: Callable[[Parameters], T]) -> T:
    """Return what is read of the fields; before a record is refused as unknown, the rules are read to their end."""
    parameters = Parameters(exchange.fields)
    found = read(parameters)
    if any(said.startswith(UNKNOWN_REFERENCE) for sentences in parameters.errors.values() for said in sentences):
        await exchange.services.authenticator.refresh()
        parameters = Parameters(exchange.fields)
        found = read(parameters)
    parameters.finish()
    return found
