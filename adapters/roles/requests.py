"""How does the API change anything? It appends a request to the log and waits until the projection shows what came of it."""

import asyncio
from typing import Protocol

from adapters.http.ports import EventsUnavailableError, Result
from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.partition.ports import Appender, Log, LogError, Outgoing
from engine.partition.runner import Names
from schemas.envelope import Envelope, to_headers
from schemas.requests import REQUEST_TYPES
from schemas.wire import Message, to_json

APPEND_SECONDS = 5.0
"""How long a client is kept waiting for the broker before it is told 503; the request may still be appended then."""


class Results(Protocol):
    """Where the projection shows what came of requests."""

    async def wait_for_result(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return the result as soon as it is there, or None when the time is up."""
        ...


class LogRequests:
    """The write path; keeps the promises of `adapters.http.ports.Requests`."""

    def __init__(self, log: Log, names: Names, rules: RulesTopic, appender: Appender, results: Results) -> None:
        self._log = log
        self._names = names
        self._rules = rules
        self._appender = appender
        self._results = results
        self._counts: dict[str, int] = {}

    async def submit(self, topic: str, key: str, message: Message, *, request_id: str, company_id: int) -> None:
        """Append a request; returns when it is durable. Raises `EventsUnavailableError`."""
        partition_seen, sequence_seen = self._rules.seen(company_id)
        envelope = Envelope(
            id=request_id,
            type=REQUEST_TYPES[type(message)],
            source="/api",
            rules_partition=partition_seen,
            rules_sequence=sequence_seen,
        )
        name = self._names.of(topic)
        outgoing = Outgoing(name, key.encode(), to_json(message), to_headers(envelope))
        try:
            async with asyncio.timeout(APPEND_SECONDS):
                count = self._counts.get(name) or await self._log.partition_count(name)
                self._counts[name] = count
                await self._appender.append(partition_of(key.encode(), count), [outgoing])
        except (LogError, TimeoutError) as error:
            raise EventsUnavailableError(str(error) or "the event log did not answer in time") from error

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return what came of a request as soon as the projection shows it, or None when the time is up."""
        return await self._results.wait_for_result(request_id, timeout_seconds)
