"""Which process listens to which vendor? One row each in `work.stream_leases`; see `adapters.providers.streams`."""

from collections.abc import Collection

from adapters.postgres.database_errors import run_statement
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries


class PostgresStreamLeases:
    """Keeps the promises of `adapters.providers.streams.StreamLeases`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("stream_leases", schemas)

    async def hold(self, configuration_ids: Collection[int], holder: str, *, seconds: float, most: int) -> frozenset[int]:
        """Renew and take leases."""
        rows = await run_statement(self._pool.fetch(self._sql["hold"], list(configuration_ids), holder, seconds, most))
        return frozenset(row["provider_configuration_id"] for row in rows)

    async def release(self, configuration_id: int, holder: str) -> None:
        """Give a lease up."""
        await run_statement(self._pool.execute(self._sql["release"], configuration_id, holder))
