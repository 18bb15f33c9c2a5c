"""Where is the last heartbeat of each agent's page? In `work.agent_heartbeats`: only its absence becomes a fact."""

from collections.abc import Sequence

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import SilentAgent


class PostgresHeartbeats:
    """Keeps the promises of `adapters.reads.ports.Heartbeats`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("heartbeats", schemas)

    async def hear(self, company_id: int, agent_id: int) -> None:
        """Store that the page of an agent is open now."""
        async with convert_read_errors():
            await self._pool.execute(self._sql["hear"], agent_id, company_id)

    async def renew(self, agent_id: int) -> None:
        """Store a sign of life of an agent whose page sends heartbeats; nothing for any other."""
        async with convert_read_errors():
            await self._pool.execute(self._sql["renew"], agent_id)

    async def claim_silent(self, after_seconds: float, lease_seconds: float, limit: int) -> Sequence[SilentAgent]:
        """Return agents without a heartbeat for so long, and keep them from other processes for the lease."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["claim"], after_seconds, limit, lease_seconds)
        return [SilentAgent(row["company_id"], row["agent_id"], row["heard_at"]) for row in rows]

    async def forget(self, agent: SilentAgent) -> None:
        """Expect no heartbeat of an agent that was reported; one that came meanwhile counts."""
        async with convert_read_errors():
            await self._pool.execute(self._sql["forget"], agent.agent_id, agent.heard_at)
