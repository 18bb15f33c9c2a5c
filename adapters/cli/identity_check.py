"""How does a command write to a deployment? Once it has compared whose it is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.roles.context import Context, open_context
from adapters.roles.identity import check
from adapters.settings import Settings


@asynccontextmanager
async def open_checked(settings: Settings, *, with_database: bool = False) -> AsyncIterator[Context]:
    """Connect to a deployment to write to it, once its identity was compared. Raises `IdentityError`, `NotPreparedError`."""
    async with open_context(settings) as context:
        await check(context, with_database=with_database)
        yield context
