"""Which circuits are not closed? What live gateways said with their last heartbeat, read from `work.gateways`.

A gateway that stopped or died takes its circuits with it: it spares nothing any more.
"""

from collections.abc import Sequence

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.gateways import LIVE_SECONDS
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import CircuitPage, Row

CIRCUITS_SHOWN_MAX = 1_000
"""Rows of a list without pages: ten gateways that report all that they may."""


class PostgresCircuits:
    """Keeps the promises of `adapters.reads.ports.CircuitReads`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("circuits", schemas)

    async def of_all(self) -> CircuitPage:
        """Return the circuits of all companies, one row for each gateway."""
        async with convert_read_errors():
            return _page(await self._pool.fetch(self._sql["of_all"], LIVE_SECONDS, CIRCUITS_SHOWN_MAX))

    async def of_company(self, company_id: int) -> CircuitPage:
        """Return the circuits of one company, one row for each endpoint."""
        async with convert_read_errors():
            return _page(await self._pool.fetch(self._sql["of_company"], LIVE_SECONDS, CIRCUITS_SHOWN_MAX, company_id))


def _page(rows: Sequence[Row]) -> CircuitPage:
    shown = [row for row in rows if row["endpoint"] is not None]
    left_out = rows[0]["unreported_count"] + rows[0]["reported_count"] - len(shown)
    return CircuitPage(rows=shown, left_out=left_out)
