"""Which process listens to which vendor? One row each in `work.stream_leases`; see `adapters.providers.streams`."""

from collections.abc import Awaitable
from typing import Any

from adapters.errors import StoreError
from adapters.postgres.pool import FAILURES, Pool
from adapters.postgres.sql import Schemas, queries


class PostgresStreamLeases:
    """Keeps the promises of `adapters.providers.streams.StreamLeases`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("stream_leases", schemas)

    async def hold(self, configuration_id: int, holder: str, seconds: float) -> bool:
        """Take or renew a lease."""
        return bool(await self._run(self._pool.fetchval(self._sql["hold"], configuration_id, holder, seconds)))

    async def release(self, configuration_id: int, holder: str) -> None:
        """Give a lease up."""
        await self._run(self._pool.execute(self._sql["release"], configuration_id, holder))

    async def _run(self, asking: Awaitable[Any]) -> Any:
        try:
            return await asking
        except FAILURES as error:
            raise StoreError(f"{type(error).__name__}: {error}") from error
