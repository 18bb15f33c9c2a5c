"""Does a record that a request refers to exist? It must be live and of the same company; read the rules before a refusal."""

from collections.abc import Callable
from typing import TypeVar

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.parameters import Parameters

T = TypeVar("T")

UNKNOWN_REFERENCE = "names no "
"""Beginning of each sentence that refuses a reference."""


def is_own(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Return whether a live record of the company exists."""
    return exchange.services.source.rules.owns(exchange.company_id, record_type, record_id)


async def is_known(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Return whether a live record of the company exists; read the rules to their current end before False."""
    if is_own(exchange, record_type, record_id):
        return True
    await exchange.services.authenticator.refresh()
    return is_own(exchange, record_type, record_id)


async def has_been_own(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Return whether the company has or had a record; read the rules to their current end before False."""
    if _was_own(exchange, record_type, record_id):
        return True
    await exchange.services.authenticator.refresh()
    return _was_own(exchange, record_type, record_id)


def _was_own(exchange: Exchange, record_type: str, record_id: int) -> bool:
    record = exchange.services.source.rules.record(record_type, record_id)
    return record is not None and record.company_id == exchange.company_id


async def read_with_references(exchange: Exchange, read: Callable[[Parameters], T]) -> T:
    """Read the fields and return the result; if a record is unknown, read the rules to their current end and try again."""
    parameters = Parameters(exchange.fields)
    found = read(parameters)
    if any(sentence.startswith(UNKNOWN_REFERENCE) for sentences in parameters.errors.values() for sentence in sentences):
        await exchange.services.authenticator.refresh()
        parameters = Parameters(exchange.fields)
        found = read(parameters)
    parameters.finish()
    return found
