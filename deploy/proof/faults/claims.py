"""Which orders were under way when a gateway was struck? Only of them nobody may know whether the provider has them."""

import asyncpg

from deploy.proof.evidence import CONNECT_SECONDS

OPEN = "SELECT command_id FROM work.deliveries WHERE posted_at IS NULL"
UNKNOWN = "SELECT command_id FROM work.deliveries WHERE state = 'unknown'"


class Claims:
    """Looks at the claims of one database."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.struck: set[str] = set()
        """Commands that were claimed and not done when a gateway was killed or paused."""
        self.faults: list[str] = []
        """Gateways that did not end in order."""

    async def note_open(self) -> None:
        """Remember what is under way now."""
        self.struck |= await self._ids(OPEN)

    async def open(self) -> set[str]:
        """Return the commands whose claim is not done."""
        return await self._ids(OPEN)

    async def unknown(self) -> set[str]:
        """Return the commands of which nobody knows what came of them."""
        return await self._ids(UNKNOWN)

    async def _ids(self, query: str) -> set[str]:
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS)
        try:
            return {row[0] for row in await connection.fetch(query)}
        finally:
            await connection.close()
