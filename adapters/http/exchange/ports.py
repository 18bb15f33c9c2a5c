"""What does the HTTP API need for changes? Ports that append requests and impressions, and the account records so far."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from adapters.reads.ports import Result
from engine.rules import Rules
from schemas.errors import DependencyError, SenderError
from schemas.impressions import Impression
from schemas.instant import Instant
from schemas.wire import Message


class EventsUnavailableError(DependencyError):
    """The event log did not take a request. A repeat with the same request id is safe."""


class UnconfirmedError(EventsUnavailableError):
    """The event log did not acknowledge a request that it was sent: it may be stored."""


class TooManyAppendsError(DependencyError):
    """The company has its share of what may wait for the log. Nothing was stored."""


class Mail(Protocol):
    """Sends e-mails of the deployment itself, such as invitations.

    No contract suite: one adapter (`adapters.gateway.own_mail.OwnMail`), tested in tests/adapters/gateway/test_own_mail.py
    against a real mail server.
    """

    @property
    def is_set_up(self) -> bool:
        """Return whether there is a mail server."""
        ...

    async def send(self, to: str, subject: str, body: str) -> None:
        """Send an e-mail, once. Raises `adapters.gateway.ports.MailError` where the server does not take it."""
        ...


class Requests(Protocol):
    """Appends requests to the log: the only way to change anything.

    No contract suite: one adapter (`adapters.http.exchange.requests.LogRequests`); the tests of the API run it.
    """

    async def submit(
        self,
        topic: str,
        key: str,
        message: Message,
        *,
        request_id: str,
        company_id: int,
        actor: str | None = None,
        source: str = "/api",
    ) -> None:
        """Append a request and return when it is durable.

        `request_id` becomes its `ce_id`, `source` its `ce_source`: a repeat with both changes nothing. `actor` becomes its
        `ce_actor`. `ce_rules` says how far this process has read the rules of the company. Raises `UnconfirmedError`
        if it may be stored all the same, another `EventsUnavailableError` if it is not, and `RecordRefusedError` if the
        record is too large: it was not stored, and a repeat does not help.
        """
        ...

    async def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has. Raises `EventsUnavailableError`."""
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


class RedriveRefusedError(SenderError):
    """A dead letter cannot be sent again; `str(error)` says why."""


class Unshown(Struct, frozen=True, kw_only=True):
    """Decisions that the database does not show yet, for long: the first was made at `decided_at`.

    `is_standing`: it was the first one some seconds ago, too, so that the projector stands still.
    """

    decided_at: Instant
    is_standing: bool


class HoldRefusedError(SenderError):
    """A hold cannot be made; `errors` says of each field why."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{name} {sentence}" for name, found in errors.items() for sentence in found))
        self.errors = errors


class HoldAnswer(Struct, frozen=True, kw_only=True):
    """A hold that was made or released, and which gateways obey that.

    `hold` is None where it is not decided yet; `detail` says why, and what to do by hand.
    """

    hold: Mapping[str, Any] | None
    obeying: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    detail: str = ""


class DeploymentReads(Protocol):
    """What an operator looks at, of all companies: from the log, its consumer groups and the projection.

    One question is answered at a time, but for `unshown`. Methods raise `LogError`, `ReadsUnavailableError`.
    No contract suite: one adapter (`adapters.operator.deployment.LogDeployment`), tested in
    tests/adapters/http/test_operator.py.
    """

    async def partitions(self) -> Mapping[str, Any]:
        """Return each partition of each role: its owner, its offsets, its lag, and what is not known here."""
        ...

    async def lags(self) -> Mapping[str, Any]:
        """Return how far each role is behind on each of its topics, and what is not known here."""
        ...

    async def projection(self, *, with_checksums: bool) -> Mapping[str, Any]:
        """Return how far each partition is projected; the checksums read every row."""
        ...

    async def unshown(self) -> Unshown | None:
        """Return which decisions every page lacks; None where the projection is up to date."""
        ...

    async def dead_letters(
        self, limit: int, *, partition: int | None, before: int | None
    ) -> tuple[Sequence[Mapping[str, Any]], Mapping[int, int]]:
        """Return the newest dead letters, newest first, and from which offset on each partition was read."""
        ...

    async def dead_letter(self, partition: int, offset: int) -> Mapping[str, Any] | None:
        """Return one dead letter in full, or None."""
        ...

    async def redrive(self, partition: int, offset: int, value: Any) -> tuple[str, int] | None:
        """Send a dead letter again, with a new value unless that is None; return topic and offset, or None without it.

        Raises `RedriveRefusedError`.
        """
        ...

    async def contact_holds(self) -> Sequence[Mapping[str, Any]]:
        """Return the holds in force, of all companies, the oldest first."""
        ...

    async def hold(self, company_id: int | None, fields: Mapping[str, Any], *, actor: str) -> HoldAnswer:
        """Hold the contacting of a company, or (None) of all. Raises `HoldRefusedError`."""
        ...

    async def release(self, hold_id: int, *, actor: str) -> HoldAnswer | None:
        """Release a hold; None where none of this id is in force."""
        ...
