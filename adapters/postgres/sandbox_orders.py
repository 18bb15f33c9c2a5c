"""What was given to the sandbox? One row each in `work.sandbox_orders`; see `adapters.gateway.ports.SandboxOrders`."""

from adapters.postgres.database_errors import run_statement
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from schemas.instant import Instant

FORGET_ROWS = 2_000


class PostgresSandboxOrders:
    """Keeps the promises of `adapters.gateway.ports.SandboxOrders`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("sandbox_orders", schemas)

    async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:
        """Note an order while the command is claimed under `claim_id`; return whether it is."""
        return bool(await run_statement(self._pool.fetchval(self._sql["begin"], command_id, given_at, claim_id)))

    async def find(self, command_id: str) -> Instant | None:
        """Return when an order was given."""
        found = await run_statement(self._pool.fetchval(self._sql["find"], command_id))
        return None if found is None else Instant(found)

    async def forget(self, before: Instant) -> int:
        """Delete orders that were given before an instant, in small steps; return how many."""
        return await delete_in_steps(
            lambda: run_statement(self._pool.execute(self._sql["forget"], before, FORGET_ROWS)), FORGET_ROWS
        )
