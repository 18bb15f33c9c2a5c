"""Which commands were under way when a gateway was struck? Only theirs may be the outcome `unknown`."""

import asyncio
from datetime import datetime

import asyncpg

from deploy.proof.evidence import CONNECT_SECONDS

OPEN = "SELECT command_id FROM work.deliveries WHERE posted_at IS NULL"
OPEN_BEFORE = f"{OPEN} AND claimed_at <= $1"
UNKNOWN = "SELECT command_id FROM work.deliveries WHERE state = 'unknown'"

COMMIT_SECONDS = 1.0
"""A claim that a struck gateway asked for may be committed a moment after the gateway was struck."""


class Claims:
    """Looks at the claims of one database."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.struck: set[str] = set()
        """Commands that were claimed and not done when a gateway was killed or paused."""
        self.faults: list[str] = []
        """Gateways that did not end in order."""

    async def note_open(self, struck_at: datetime) -> None:
        """Remember what was claimed and not done when a gateway was struck, a moment ago."""
        await asyncio.sleep(COMMIT_SECONDS)
        self.struck |= await self._ids(OPEN_BEFORE, struck_at)

    async def open(self) -> set[str]:
        """Return the commands whose claim is not done."""
        return await self._ids(OPEN)

    async def unknown(self) -> set[str]:
        """Return the commands whose outcome is unknown."""
        return await self._ids(UNKNOWN)

    async def _ids(self, query: str, *arguments: datetime) -> set[str]:
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS)
        try:
            return {row[0] for row in await connection.fetch(query, *arguments)}
        finally:
            await connection.close()
