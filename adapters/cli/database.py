"""How does a command reach the database? Over a pool of its own; a database that is away gives one sentence with the fix."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from adapters.errors import StoreError
from adapters.postgres.database_errors import DatabaseAwayError, convert_connection_errors, describe_database_error
from adapters.postgres.migrate import check_digests
from adapters.postgres.pool import Pool, open_pool
from adapters.settings import Settings


@asynccontextmanager
async def open_database(settings: Settings, *, size: int = 1, **more: Any) -> AsyncIterator[Pool]:
    """Yield a pool; `more` goes to `open_pool`. Raises `DatabaseAwayError` where the block fails for the database.

    Raises `OtherDataError` where another development version filled the database.
    """
    dsn = settings.postgres_dsn
    with convert_connection_errors(dsn):
        pool = await open_pool(dsn, size=size, **more)
        try:
            async with pool.acquire() as connection:
                await check_digests(connection, dsn)
            yield pool
        except StoreError as error:
            raise DatabaseAwayError(describe_database_error(dsn, error.__cause__ or error)) from error
        finally:
            await pool.close()
