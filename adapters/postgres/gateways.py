"""Which gateways serve which channels, and what do they spare? Gateways write it into `work.gateways`, the API reads it.

Times are of the database's clock, so that the clocks of processes do not matter.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from adapters.gateway.circuit import CircuitReport
from adapters.gateway.ports import Kind
from adapters.gateway.providers import ACCOUNTS, SANDBOX
from adapters.postgres.database_errors import convert_read_errors, run_statement
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.providers.registry import installed
from adapters.reads.ports import Serving
from schemas.instant import Instant, from_datetime, to_datetime
from schemas.requests import RulesPlace
from schemas.wire import to_json

T = TypeVar("T")

RENEW_SECONDS = 15.0

LIVE_SECONDS = 4 * RENEW_SECONDS
"""A gateway whose row is older than this, or that has said that it stops, counts as gone."""

SERVED_SECONDS = 86_400.0
"""A channel counts as served for a day after its last gateway: no schedule is refused for a restart or a night's repair."""

RETENTION_SECONDS = 7 * SERVED_SECONDS
"""Rows of stopped processes help to find out what ran last week."""


class PostgresGateways:
    """Keeps the promises of `adapters.gateway.ports.GatewayRegistry`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("gateways", schemas)

    async def renew(
        self,
        process: str,
        providers: Mapping[Kind, str],
        circuits: Mapping[Kind, CircuitReport] | None = None,
        rules_read: Mapping[int, int] | None = None,
    ) -> Instant:
        """Store that a process serves these channels, what it spares and obeys, and return the database's time."""
        reports = [_stored((circuits or {}).get(kind)) for kind in providers]
        read = {str(partition): sequence for partition, sequence in (rules_read or {}).items()}
        await self._execute("renew", process, list(providers), list(providers.values()), reports, read)
        return from_datetime(await run_statement(self._pool.fetchval(self._sql["time"])))

    async def stop(self, process: str) -> None:
        """Store that a process has stopped."""
        await self._execute("stop", process)

    async def forget(self) -> None:
        """Delete the rows of processes that stopped a week ago."""
        await self._execute("forget", RETENTION_SECONDS)

    async def _execute(self, name: str, *values: object) -> None:
        await run_statement(self._pool.execute(self._sql[name], *values))


class RunningGateway(Struct, frozen=True):
    """A process that serves channels, and up to where it obeys the rules (partition of `accounts.rules` -> sequence)."""

    process: str
    channels: tuple[str, ...]
    rules_read: dict[str, int]

    def obeys(self, place: RulesPlace) -> bool:
        """Return whether it has read the rules up to there."""
        return self.rules_read.get(str(place.partition), 0) >= place.sequence


async def running_gateways(
    pool: Pool,
    known: Sequence[str] = (),
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
) -> list[RunningGateway]:
    """Return the gateways that count as running, and those processes of `known` that have not stopped in order.

    Raises `ReadsUnavailableError`.
    """
    async with convert_read_errors():
        rows = await pool.fetch(queries("gateways", schemas)["running"], LIVE_SECONDS, list(known))
    return [RunningGateway(row["process"], tuple(row["channels"]), row["rules_read"] or {}) for row in rows]


async def count_held(
    pool: Pool,
    company_id: int | None,
    since: Instant,
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
) -> dict[str, int]:
    """Return how many leads (None: of all) wait for a hold, and have expired since. Raises `ReadsUnavailableError`."""
    async with convert_read_errors():
        return dict(await pool.fetchrow(queries("gateways", schemas)["held"], company_id, to_datetime(since)))


class PostgresServing:
    """Keeps the promises of `adapters.reads.ports.ServedChannels`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("gateways", schemas)
        self._last = Serving()

    @property
    def last(self) -> Serving:
        """Return the result of the last read."""
        return self._last

    async def read(self) -> Serving:
        """Read which channels are served. Raises `ReadsUnavailableError`."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["served"], SERVED_SECONDS, LIVE_SECONDS)
        self._last = Serving(
            channels=frozenset(row["channel"] for row in rows),
            sandbox=tuple(sorted(row["channel"] for row in rows if SANDBOX in row["providers"])),
            configured=frozenset(row["channel"] for row in rows if _is_configured(row["channel"], row["providers"])),
        )
        return self._last


def _stored(report: CircuitReport | None) -> str | None:
    """Return a report as JSON; None where every circuit is closed."""
    return to_json(report).decode() if report is not None and report.circuits else None


def _is_configured(channel: str, served_by: Sequence[str]) -> bool:
    """Return whether all gateways of a channel go by installed providers, which companies configure."""
    if channel == "email":
        return all(names.split(",")[0] == ACCOUNTS for names in served_by)
    return all(set(names.split(",")) <= installed().keys() for names in served_by)
