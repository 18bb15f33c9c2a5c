"""What does the HTTP API need for changes? Ports that append requests and impressions, and the account records so far."""

from collections.abc import Sequence
from typing import Protocol

from adapters.reads.ports import Result
from engine.rules import Rules
from schemas.errors import DependencyError
from schemas.impressions import Impression
from schemas.wire import Message


class EventsUnavailableError(DependencyError):
    """The event log did not acknowledge in time. A repeat with the same request id is safe."""


class TooManyAppendsError(DependencyError):
    """The company has its share of what may wait for the log. Nothing was stored."""


class Requests(Protocol):
    """Appends requests to the log: the only way to change anything.

    No contract suite: one adapter (`adapters.http.exchange.requests.LogRequests`); the tests of the API run it.
    """

    async def submit(
        self, topic: str, key: str, message: Message, *, request_id: str, company_id: int, actor: str | None = None
    ) -> None:
        """Append a request and return when it is durable.

        `request_id` becomes its `ce_id`: a repeat with the same id changes nothing. `actor` becomes its `ce_actor`.
        `ce_rules` says how far this process has read the rules of the company. Raises `EventsUnavailableError`; raises
        `RecordRefusedError` if the record is too large: it was not stored, and a repeat does not help.
        """
        ...

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return the result of a request as soon as the projection shows it, or None after the timeout.

        With `timeout_seconds` 0 it reads once and does not wait. Raises `ReadsUnavailableError`.
        """
        ...


class Impressions(Protocol):
    """Appends impressions to their topic.

    No contract suite: one adapter (`adapters.http.exchange.impression_log.LogImpressions`); the tests of the API run it.
    """

    async def append(self, impressions: Sequence[Impression]) -> None:
        """Append the impressions of one company and return when all are durable.

        Raises `EventsUnavailableError`: some of them may be stored then; a repeat with the same uuids is safe. Raises
        `TooManyAppendsError` if the company has too many impressions waiting for the log: none is stored.
        """
        ...


class RulesSource(Protocol):
    """The account records that this process has read from `accounts.rules`.

    No contract suite: one adapter (`adapters.partitions.feed.RulesTopic`), tested in tests/adapters/partitions/test_feed.py.
    """

    @property
    def rules(self) -> Rules:
        """Everything read so far."""
        ...

    async def refresh(self) -> None:
        """Read `accounts.rules` to its current end. No token is refused as unknown before that.

        Raises `EventsUnavailableError` if the log does not answer.
        """
        ...
