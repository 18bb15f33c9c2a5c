"""What does the HTTP interface need to change anything? A way to append requests, and the account records as read so far."""

from typing import Protocol

from adapters.reads.ports import Result
from engine.rules import Rules
from schemas.errors import DependencyError
from schemas.wire import Message


class EventsUnavailableError(DependencyError):
    """The event log did not acknowledge in time. Sending again under the same request id is safe."""


class Requests(Protocol):
    """The one way to change anything."""

    async def submit(self, topic: str, key: str, message: Message, *, request_id: str, company_id: int) -> None:
        """Append a request and return when it is durable.

        `request_id` becomes its `ce_id`: sent again under the same id it changes nothing. `ce_rules` says how far this
        process has read the rules of the company. Raises `EventsUnavailableError`, and `RecordRefusedError` where the record
        would be too large: it was not stored, and sending it again does not help.
        """
        ...

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return what came of a request as soon as the projection shows it, or None when the time is up.

        With `timeout_seconds` 0 it only looks. Raises `ReadsUnavailableError`.
        """
        ...


class RulesSource(Protocol):
    """The account records as this process has read them from `accounts.rules`."""

    @property
    def rules(self) -> Rules:
        """Everything read so far."""
        ...

    async def refresh(self) -> None:
        """Read on to the end that `accounts.rules` has now; a token is not refused as unknown before.

        Raises `EventsUnavailableError` where the log does not answer.
        """
        ...
