"""Where are the views that users save? In a table of the `work` schema, which no rebuild touches."""

from collections.abc import Mapping, Sequence

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import Row, TooManyViewsError
from schemas.instant import Instant, to_datetime

VIEWS_MAX = 50
"""Views of one user: a menu of more is longer than the search that it replaces."""


class PostgresLeadViews:
    """Keeps the promises of `adapters.reads.ports.LeadViews`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("lead_views", schemas)

    async def of_user(self, company_id: int, user_id: int) -> Sequence[Row]:
        """Return the views of a user by their names."""
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._sql["of_user"], company_id, user_id)
        return rows

    async def save(self, company_id: int, user_id: int, name: str, query: Mapping[str, str], now: Instant) -> Row:
        """Store a view under its name, in the place of one that has it."""
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._sql["lock_user"], company_id, user_id)
            if await connection.fetchval(self._sql["count_others"], company_id, user_id, name) >= VIEWS_MAX:
                raise TooManyViewsError
            given = company_id, user_id, name, dict(query), to_datetime(now)
            row: Row = await connection.fetchrow(self._sql["save"], *given)
            return row

    async def delete(self, company_id: int, user_id: int, view_id: int) -> Row | None:
        """Delete a view of a user and return it, or None where the user has no such view."""
        async with convert_read_errors():
            row: Row | None = await self._pool.fetchrow(self._sql["delete"], company_id, user_id, view_id)
        return row
