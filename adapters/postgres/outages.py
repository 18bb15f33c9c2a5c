"""What is told where the database fails? That reads are not to be had, or take too long."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from adapters.http.ports import ReadsTooSlowError, ReadsUnavailableError
from adapters.postgres.pool import FAILURES


@asynccontextmanager
async def reading() -> AsyncIterator[None]:
    """Turn every failure of the database into `ReadsUnavailableError`."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise ReadsTooSlowError(str(error)) from error
    except FAILURES as error:
        raise ReadsUnavailableError(f"{type(error).__name__}: {error}") from error
